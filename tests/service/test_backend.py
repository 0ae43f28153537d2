"""Tests of efface.service.backend."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from service_cases import FEATURES, Running, add_demand, add_sales, rows

from efface import Ridge
from efface.errors import InvalidValue, StoreStopped, UnknownModel
from efface.service.backend import Backend, chain_verdict
from efface.service.bodies import Erasure, NewModel
from efface.service.metrics import Metrics
from efface.service.problems import RefusedRequest
from efface.store import Store
from efface.store.learning import LearnRequest


def with_backend(folder, use, failures=None):
    """Call an async function with the backend of a store, then close both."""

    async def run():
        failed = [] if failures is None else failures
        backend = Backend(Store(folder), Metrics(), lambda: failed.append(True))
        try:
            return await use(backend)
        finally:
            await backend.close()

    return asyncio.run(run())


def request(count=5, **more):
    content = rows(count)
    X = np.array([row["x"] for row in content])
    return LearnRequest("demand", X, np.array([row["y"] for row in content]), **more)


def test_what_was_learned_is_published_and_predicts_as_the_store(tmp_path):
    add_demand(tmp_path / "orders", 30)

    async def use(backend):
        before = backend.model("demand")
        await backend.learn(request)
        after = backend.model("demand")
        assert (before.rows, after.rows, after.commit) == (30, 35, before.commit + 1)
        X = np.ones((1, 2))
        assert np.array_equal(after.predict(X), backend._store.predict("demand", X))

    with_backend(tmp_path / "orders", use)


def test_a_model_is_created_once_and_another_of_its_name_is_refused(tmp_path):
    async def use(backend):
        body = NewModel(kind="Ridge", parameters={"window": "90d"}, features=FEATURES)
        assert await backend.create("demand", body)
        assert not await backend.create("demand", body)
        with pytest.raises(RefusedRequest, match="Another model is named 'demand'"):
            await backend.create("demand", NewModel(kind="OLS", features=FEATURES))
        with pytest.raises(InvalidValue, match="'kind' is 'Lasso'"):
            await backend.create("other", NewModel(kind="Lasso", features=2))
        with pytest.raises(InvalidValue, match="cannot be used by AutoRidge"):
            await backend.create("other", NewModel(parameters={"beta": 1}, features=2))
        with pytest.raises(UnknownModel):
            backend.model("other")
        return list(backend.models)

    assert with_backend(tmp_path / "orders", use) == ["demand"]


def test_rows_leave_when_they_are_due_and_most_of_a_model_never_at_once(tmp_path):
    folder = tmp_path / "orders"
    with Store(folder) as store:
        store.add("demand", Ridge(), features=FEATURES)
    soon = datetime.now(UTC) + timedelta(seconds=0.3)
    late = datetime.now(UTC) + timedelta(hours=1)

    async def use(backend):
        await backend.learn(lambda: request(5, until=[soon, soon, late, late, late]))
        await asyncio.sleep(0.4)
        await backend.expire()
        assert backend.model("demand").rows == 3
        end = datetime.now(UTC) + timedelta(seconds=0.2)
        await backend.learn(lambda: request(5, until=[end] * 5))
        await asyncio.sleep(0.3)
        await backend.expire()
        return backend.model("demand").rows, backend._metrics.text().decode()

    count, text = with_backend(folder, use)
    assert count == 8  # five of eight were due: the clock may be wrong
    assert "efface_expiry_refused 1.0" in text
    assert "efface_rows_expired_total 2.0" in text


def test_a_failed_store_is_told_once(tmp_path, monkeypatch):
    add_demand(tmp_path / "orders", 5)
    failures = []

    async def use(backend):
        store = backend._store

        def stopped(*_, **__):
            raise StoreStopped("'orders' stopped after a failure: open the store again.")

        monkeypatch.setattr(store, "held", stopped)
        for _ in range(2):
            with pytest.raises(StoreStopped):
                await backend.held("person 0")
        assert backend.failed

    with_backend(tmp_path / "orders", use, failures)
    assert failures == [True]


def test_an_erasure_draws_a_secret_if_none_is_given(tmp_path):
    add_demand(tmp_path / "orders", 10)

    async def use(backend):
        receipt, secret = await backend.forget(Erasure(owner="person 1"))
        assert receipt.names(secret, "person 1")
        status, found = await backend.chain()
        assert [each.number for each in found] == [1]
        assert chain_verdict(found, status["public_key"]) is None
        assert "another key" in chain_verdict(found, "00" * 32)

    with_backend(tmp_path / "orders", use)


def test_coverage_is_looked_at_now_and_then(tmp_path):
    add_demand(tmp_path / "orders", 50)

    async def use(backend):
        for _ in range(3):
            await backend.learn(lambda: request(20))
        return [point["covered"] for point in backend.past.of("demand")["points"]]

    first, *later = with_backend(tmp_path / "orders", use)
    assert 0.5 < first <= 1.0
    assert later == [None, None]


def test_the_models_of_keys_are_published_as_they_change(tmp_path):
    add_sales(tmp_path / "orders")

    async def use(backend):
        X, y, keys = np.ones((2, 2)), np.array([1.0, 2.0]), ["shop 1", "new"]
        predicted = backend._store.predict
        await backend.learn(lambda: LearnRequest("sales", X, y, keys=keys, owners=["ann", "ann"]))
        model = backend.model("sales")
        assert np.allclose(model.predict(X, keys), predicted("sales", X, keys=keys), rtol=1e-12)
        assert (model.rows, len(model.fits)) == (14, 4)
        await backend.forget(Erasure(owner="ann"))
        after = backend.model("sales")
        assert "new" not in after.fits
        assert np.allclose(
            after.predict(X[:1], ["shop 1"]), predicted("sales", X[:1], keys=["shop 1"])
        )
        await backend.forget(Erasure(ids=["s0"], model="sales"))
        assert backend.model("sales").fits["shop 0"].rows == 3
        points = backend.past.of("sales")["points"]
        assert [point["rows"] for point in points] == [11]
        details = await backend.details("sales")
        assert (details["keys"], details["next_due"], details["rank"]) == (3, None, None)

    with_backend(tmp_path / "orders", use)


def test_predictions_do_not_wait_for_the_writer(tmp_path):
    add_demand(tmp_path / "orders", 20)
    with Running(tmp_path / "orders") as running:
        held = running.store._writer.lock
        client = running.client()
        client.get("/health")
        with held:  # as a long commit would
            start = time.monotonic()
            found = client.post("/models/demand/predictions", json={"rows": [{"x": [1.0, 2.0]}]})
            assert found.status_code == 200
            assert client.get("/models").status_code == 200
            assert time.monotonic() - start < 30  # they would wait for ever

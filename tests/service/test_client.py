"""Tests of efface.service.client: the same calls on a store and on a service give the same."""

from __future__ import annotations

import os

import numpy as np
import pandas as pd
import pytest
from service_cases import Running, add_demand

from efface import Ridge
from efface.errors import InvalidValue, RefusedRow, RepeatedId, StoreError, UnknownKey, UnknownOwner
from efface.service import Client
from efface.service.application import Options
from efface.store import Store, restore
from efface.store.receipts import verify_chain

NAMES = ["temp", "hum"]


@pytest.fixture(params=["store", "service"])
def opened(request, tmp_path):
    """A store, or a client of a service of one."""
    if request.param == "store":
        with Store(tmp_path / "orders") as store:
            yield store
    else:
        with (
            Running(tmp_path / "orders") as running,
            Client(running.url, running.all) as client,
        ):
            yield client


def data(count=30):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(count, 2))
    return X, X.sum(axis=1) + 0.1 * rng.normal(size=count)


def test_the_verbs_are_those_of_the_store(opened):
    X, y = data()
    at = np.datetime64("2026-01-01", "ns") + np.arange(30) * np.timedelta64(1, "h")
    owners = [f"person {k % 3}" for k in range(30)]
    opened.add("demand", Ridge(window="90d"), features=NAMES)
    learned = opened.learn("demand", X, y, ids=range(30), owners=owners, at=at)
    assert learned == (list(range(30)), 30, 0)
    assert opened.learn("demand", X, y, ids=range(30), owners=owners, at=at).skipped == 30
    expected = Ridge().fit(X, y)
    assert np.allclose(opened.predict("demand", X), expected.predict(X), rtol=1e-12)
    found = opened.predict_interval("demand", X[:3], 0.9)
    assert np.allclose(found.upper, expected.predict_interval(X[:3], 0.9).upper, rtol=1e-12)
    coefficients, intercept = opened.coefficients("demand")
    assert np.allclose(list(coefficients.values()), expected.coef_)
    assert intercept == pytest.approx(expected.intercept_)
    held = opened.held("person 1")["demand"]
    assert (held.ids, held.owner) == (list(range(1, 30, 3)), "person 1")
    assert np.array_equal(held.times, at[1::3])
    assert np.array_equal(held.features["hum"], X[1::3, 1])
    secret = os.urandom(32)
    receipt = opened.forget(owner="person 1", secret=secret)
    assert receipt.rows == 10
    assert receipt.names(secret, "person 1")
    assert opened.forget(owner="person 1", secret=secret) == receipt
    assert opened.audit(forgotten_owners="person 1")["demand"].holds
    assert not opened.audit(forgotten=[0], model="demand")["demand"].holds
    assert opened.models()["demand"]["rows"] == 20
    status = opened.status()
    assert (status["rows"], status["receipts"], status["head"]) == (20, 1, receipt.head)
    assert verify_chain(opened.receipts(), status["public_key"]) == 1


def test_a_keyed_model_has_one_model_per_key(opened):
    (X, y), keys = data(), [f"shop {k % 3}" for k in range(30)]
    opened.add("sales", Ridge(), features=NAMES, keyed=True)
    opened.learn("sales", X, y, keys=keys, owners=keys)
    alone = Ridge().fit(X[1::3], y[1::3])
    asked = ["shop 1"] * 3
    assert np.allclose(opened.predict("sales", X[:3], keys=asked), alone.predict(X[:3]))
    found = opened.predict_interval("sales", X[:3], 0.9, keys=asked)
    assert np.allclose(found.upper, alone.predict_interval(X[:3], 0.9).upper)
    coefficients, intercept = opened.coefficients("sales", "shop 1")
    assert np.allclose([*coefficients.values(), intercept], [*alone.coef_, alone.intercept_])
    assert opened.held("shop 2")["sales"].keys == ["shop 2"] * 10
    assert opened.forget(owner="shop 1").rows == 10
    assert (opened.models()["sales"]["keys"], opened.models()["sales"]["rows"]) == (2, 20)
    with pytest.raises(UnknownKey):
        opened.predict("sales", X[:1], keys=["shop 1"])
    assert opened.predict("sales", X[:1], keys=["shop 1"], missing="ok") == [0.0]
    with pytest.raises(InvalidValue):
        opened.predict("sales", X[:1])
    assert opened.audit()["sales"].holds


def test_the_errors_are_those_of_the_store(opened):
    X, y = data(4)
    opened.add("demand", Ridge(), features=NAMES)
    opened.learn("demand", X, y, ids=range(4), owners=["ann"] * 4)
    with pytest.raises(RepeatedId):
        opened.learn("demand", X, y + 1.0, ids=range(4), owners=["ann"] * 4)
    with pytest.raises(UnknownOwner):
        opened.held("bob")
    with pytest.raises(UnknownOwner):
        opened.forget(owner="bob")
    with pytest.raises(InvalidValue):
        opened.learn("demand", X[:, :1], y)
    opened.forget(owner="ann", forever=True)
    with pytest.raises(RefusedRow):
        opened.learn("demand", X, y, owners=["ann"] * 4)


def test_frames_are_sent_by_name_and_long_ones_in_parts(opened):
    X, y = data(4_500)
    frame = pd.DataFrame({"hum": X[:, 1], "other": 1.0, "temp": X[:, 0]})
    opened.add("demand", Ridge(), features=NAMES)
    assert opened.learn("demand", frame, y, sample_weight=np.full(4_500, 2.0)).learned == 4_500
    assert np.allclose(opened.predict("demand", frame), X.sum(axis=1), atol=0.1)
    untils = [None] * 4_499 + [3.0]
    opened.add("ends", Ridge(), features=NAMES)
    assert opened.learn("ends", X, y, at=np.arange(4_500.0) / 4_500, until=untils).learned == 4_500


def test_infinite_intervals_keep_their_reason(opened):
    opened.add("demand", Ridge(), features=1)
    found = opened.predict_interval("demand", [[1.0]])
    assert np.isinf(found.upper).all()
    assert "no row is alive" in found.reason


def test_a_token_never_travels_in_the_clear_and_a_missing_service_is_told():
    with pytest.raises(InvalidValue, match="must not travel in the clear"):
        Client("http://efface.example", "eff_x")
    with Client("http://127.0.0.1:9", "eff_x") as client:
        with pytest.raises(StoreError, match="did not answer"):
            client.models()
        assert "eff_x" not in repr(client)


def test_a_wrong_token_and_another_server_are_told(tmp_path):
    with Running(tmp_path / "orders") as running:
        with Client(running.url, "eff_x") as client, pytest.raises(InvalidValue, match="token"):
            client.models()
        other = Client(f"{running.url}/assets", running.all)
        with other as client, pytest.raises(InvalidValue, match="no such file"):
            client.models()


def test_a_model_is_removed_and_a_copy_written_through_a_service(tmp_path):
    add_demand(tmp_path / "orders")
    (tmp_path / "copies").mkdir()
    options = Options(expire_every=3600.0, backups=tmp_path / "copies")
    running = Running(tmp_path / "orders", options=options)
    with running, Client(running.url, running.all) as client:
        client.backup("monday", keys=True)
        for target in ("../out", "a/b", "..", "monday"):
            with pytest.raises(InvalidValue):
                client.backup(target)
        secret = os.urandom(32)
        receipt = client.remove("demand", secret=secret)
        assert (receipt.rows, receipt.fields["removed"]) == (20, "demand")
        assert client.remove("demand", secret=secret) == receipt
        assert client.models() == {}
    assert restore(tmp_path / "new", tmp_path / "copies" / "monday").kept == 20

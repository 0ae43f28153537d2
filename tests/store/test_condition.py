"""A full disk leaves predictions and access requests working; a hanging write is seen."""

from __future__ import annotations

import os
import subprocess
import time

import httpx
import pytest
from service_cases import Running
from store_cases import data, filled

from efface.errors import StorageFull, StoreStopped
from efface.store import Store
from efface.store.condition import HANGS, Condition
from efface.store.receipts import verify_chain


@pytest.fixture
def small(tmp_path):
    """A file system of 8 MB in memory; skips where mounting is not allowed."""
    place = tmp_path / "small"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(place)]
    if os.geteuid() or subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("mounting a file system is not allowed here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def fill(place):
    """Take all space that is left."""
    with open(place / "filler", "wb", buffering=0) as file:
        for size in (65_536, 4_096):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                pass


def learn_until_full(learn):
    for k in range(3_000):
        try:
            learn(k)
        except StorageFull:
            return
    raise AssertionError("the disk did not become full")


@pytest.mark.parametrize("count", [1, 40])
def test_a_full_disk_refuses_rows_and_the_store_goes_on(small, count):
    store = filled(small / "orders")
    assert store.state().state == "writable"
    fill(small)
    learned = []

    def learn(k):
        ids = [f"{k}-{i}" for i in range(count)]
        store.learn("demand", *data(count, seed=k), ids=ids)
        learned.extend(ids)

    learn_until_full(learn)
    found = store.state()
    assert (found.state, found.reason) == ("read-only", "the disk is full")
    assert store.predict("demand", data(2)[0]).shape == (2,)
    assert len(store.held("person 3")["demand"]) == 5
    rows = store.status()["rows"]
    assert rows == 40 + len(learned)
    for owner in ("person 1", "person 2"):  # it is done, or refused before anything changed
        try:
            assert store.forget(owner=owner).rows == 5
            rows -= 5
        except StorageFull:
            assert len(store.held(owner)["demand"]) == 5
    (small / "filler").unlink()
    learn(9_999)
    assert store.state().state == "writable"
    store.forget(owner="person 3")
    rows += count - 5
    assert all(each.holds for each in store.audit().values())
    store.close()
    with Store(small / "orders") as again:
        assert again.status()["rows"] == rows
        receipts = again.receipts()
        assert verify_chain(receipts) == len(receipts)


def test_a_service_on_a_full_disk_answers_507_to_rows_and_goes_on(small):
    filled(small / "orders").close()
    with Running(small / "orders") as running:
        client = running.client()
        fill(small)

        def learn(k):
            X, y = data(5, seed=k)
            rows = [{"x": x, "y": v} for x, v in zip(X.tolist(), y.tolist(), strict=True)]
            response = client.post("/models/demand/rows", json={"rows": rows})
            if response.status_code == 507:
                assert response.json()["error"] == "StorageFull"
                raise StorageFull
            response.raise_for_status()

        learn_until_full(learn)
        question = {"rows": [{"x": [1, 2, 3]}]}
        for body in (question, {**question, "interval": 0.9}):
            assert client.post("/models/demand/predictions", json=body).status_code == 200
        assert client.post("/access-requests", json={"owner": "person 3"}).status_code == 200
        (small / "filler").unlink()
        learn(5_000)
        erased: httpx.Response = client.post("/erasures", json={"owner": "person 3"})
        assert erased.json()["rows"] == 5


def test_a_write_that_hangs_is_seen_without_waiting_for_it(monkeypatch):
    noted, now = Condition(), time.monotonic()
    noted.began()
    monkeypatch.setattr("efface.store.condition.time.monotonic", lambda: now + HANGS + 1)
    found = noted.state(None)
    assert (found.state, found.reason) == ("read-only", "a write hangs")
    assert found.oldest_write > HANGS
    noted.ended()
    assert noted.state(None)[:3] == ("writable", None, 0.0)
    assert noted.state(OSError()).state == "stopped"


def test_the_state_of_a_closed_store_is_refused(tmp_path):
    store = filled(tmp_path / "orders")
    store.close()
    with pytest.raises(StoreStopped):
        store.state()

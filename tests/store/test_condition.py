"""A full disk leaves predictions and access requests working; a hanging write is seen."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

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


@contextmanager
def frozen(monkeypatch):
    """A disk on which no sync returns, until the block ends."""
    thaws, real = threading.Event(), os.fdatasync

    def hangs(descriptor):
        thaws.wait(60)
        real(descriptor)

    monkeypatch.setattr(os, "fdatasync", hangs)
    try:
        yield thaws
    finally:
        thaws.set()


@pytest.mark.parametrize("write", ["learn", "forget"])
def test_a_frozen_disk_leaves_access_requests_and_predictions(tmp_path, monkeypatch, write):
    filled(tmp_path / "orders").close()
    bodies = {"learn": ("/models/demand/rows", {"rows": [{"x": [1, 2, 3], "y": 1, "owner": "z"}]})}
    bodies["forget"] = ("/erasures", {"owner": "person 3"})
    with Running(tmp_path / "orders") as running, ThreadPoolExecutor(1) as pool:
        client, other = running.client(), running.client()
        with frozen(monkeypatch):
            waiting = pool.submit(other.post, bodies[write][0], json=bodies[write][1])
            until = time.monotonic() + 30
            while running.store.state().oldest_write == 0.0:
                assert time.monotonic() < until
                time.sleep(0.01)
            began = time.monotonic()
            found = client.post("/access-requests", json={"owner": "person 3"})
            assert (found.status_code, found.json()["rows"]) == (200, 5)  # no receipt yet
            asked = client.post("/models/demand/predictions", json={"rows": [{"x": [1, 2, 3]}]})
            assert asked.status_code == 200
            assert time.monotonic() - began < 5
            assert not waiting.done()
        assert waiting.result(30).status_code == 200
        gone = client.post("/access-requests", json={"owner": "person 3"}).status_code
        assert gone == (404 if write == "forget" else 200)
    with Store(tmp_path / "orders") as store:
        assert store.audit()["demand"].holds


def test_an_access_request_waits_for_what_is_no_write(tmp_path):
    store, asked = filled(tmp_path / "orders"), []
    reader = threading.Thread(target=lambda: asked.append(store.held("person 3")))
    with store._writer.lock:
        reader.start()
        reader.join(1.5)
        assert asked == []  # such as an audit, which is over soon
    reader.join(30)
    assert len(asked[0]["demand"]) == 5
    store.close()


def test_the_state_of_a_closed_store_is_refused(tmp_path):
    store = filled(tmp_path / "orders")
    store.close()
    with pytest.raises(StoreStopped):
        store.state()

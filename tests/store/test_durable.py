"""``Store``: the same results as the library, to the last bit, and after opening again."""

from __future__ import annotations

import io
import logging
import os
import threading
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from store_cases import NAMES, counted, data, filled, slots

from efface import OLS, AddDrop, Ridge
from efface.errors import (
    InvalidValue,
    StoreInUse,
    StoreStopped,
    TooManyDue,
    UnknownId,
    UnknownModel,
    UnknownOwner,
)
from efface.live.snapshot import same
from efface.store import LearnRequest, Store, restore
from efface.store.receipts import verify_chain

CALLS = st.lists(
    st.one_of(
        st.tuples(st.just("learn"), st.integers(1, 7)),
        st.tuples(st.just("forget"), st.integers(0, 3)),
        st.tuples(st.just("expire"), st.integers(0, 40)),
        st.just(("reopen", 0)),
    ),
    max_size=9,
)


@settings(deadline=None, max_examples=12, suppress_health_check=list(HealthCheck))
@given(CALLS, st.sampled_from([Ridge(window=9), OLS(window=AddDrop(3, 2)), Ridge()]), st.booleans())
def test_results_are_those_of_the_library(tmp_path_factory, calls, model, timed):
    folder, twin = tmp_path_factory.mktemp("store") / "orders", model.empty(3)
    store, rows = Store(folder), 0
    store.add("demand", model, features=NAMES)
    for what, number in calls:
        if what == "learn":
            X, y = data(number, seed=rows)
            ids = list(range(rows, rows + number))
            about = {"ids": ids, "owners": [f"p{k % 4}" for k in ids]}
            if timed:
                about |= {"at": [k + (k % 3) for k in map(float, ids)]}
                about |= {"until": [k + 12.0 if k % 5 else None for k in ids]}
            store.learn("demand", X, y, **about)
            twin.partial_fit(X, y, **about)
            rows += number
        elif what == "forget":
            wanted = {"owner": f"p{number}", "missing": "ok"}
            left = store.forget(**wanted).rows
            assert left == len(twin.live_rows.named((), wanted["owner"], lenient=True))
            if left:  # a store does not touch a model that none of its rows leave
                twin.forget(**wanted)
        elif what == "expire" and timed:
            left = sum(store.expire(float(number), force=True).values())
            assert left == len(twin.live_rows.overdue(float(number)))
            if left:
                twin.expire(float(number))
        elif what == "reopen":
            store.close()
            store = Store(folder)
            twin.live_rows.rebuild()  # as ``save`` and ``load`` do
        found = store._models["demand"].model
        assert same(found._snapshot(), twin._snapshot())
        assert found.coef_.tobytes() == twin.coef_.tobytes()
        assert (store.predict("demand", np.ones((2, 3))) == twin.predict(np.ones((2, 3)))).all()
    assert all(audit.holds for audit in store.audit().values())
    store.close()
    assert len(slots(folder)) == twin.n_rows_


def test_many_models_share_a_store(tmp_path):
    X, y = data(10)
    with Store(tmp_path / "orders") as store:
        store.add("one", Ridge(window=5), features=NAMES)
        store.add("two", OLS(), features=3)
        for name in ("one", "two"):
            store.learn(name, X, y, ids=range(10), owners=["ann", "bob"] * 5)
        assert store.forget(owner="ann").fields["rows"] == {"one": 2, "two": 5}
        assert store.forget(ids=[9], model="one").fields["rows"] == {"one": 1}
        assert store.forget(ids=[9, 7]).fields["rows"] == {"one": 1, "two": 2}
        with pytest.raises(UnknownId):
            store.forget(ids=[9])
        assert {name: len(held) for name, held in store.held("bob").items()} == {"one": 1, "two": 3}
        assert list(store.held("bob", model="two")) == ["two"]
    with Store(tmp_path / "orders") as store:
        assert {name: about["rows"] for name, about in store.models().items()} == {
            "one": 1,
            "two": 3,
        }
        assert store.models()["one"]["features"] == NAMES
        assert store.models()["two"]["features"] == ["x0", "x1", "x2"]
        assert store.coefficients("two")[0].keys() == {"x0", "x1", "x2"}


def test_what_is_held_is_what_was_learned(tmp_path):
    X, y = data(40)
    with filled(tmp_path / "orders") as store:
        held = store.held("person 3")["demand"]
        assert held.ids == [f"order-{k}" for k in range(3, 40, 8)]
        assert (held.features["hum"] == X[3::8, 1]).all()
        assert (held.responses == y[3::8]).all()
        with pytest.raises(UnknownOwner):
            store.held("nobody")


def test_rows_without_ids_get_uuids(tmp_path):
    with Store(tmp_path / "orders") as store:
        store.add("demand", Ridge(), features=NAMES)
        learned = store.learn("demand", *data(3))
        assert len(set(learned.ids)) == 3
        assert store.forget(ids=learned.ids[0]).rows == 1


def test_unknown_names(tmp_path):
    with filled(tmp_path / "orders") as store:
        for wrong, error in (
            (lambda: store.forget(owner="nobody"), UnknownOwner),
            (lambda: store.forget(ids=["order-0", "x"]), UnknownId),
            (lambda: store.predict("other", [[1.0, 1.0, 1.0]]), UnknownModel),
            (lambda: store.forget(owner="person 1", model="other"), UnknownModel),
            (lambda: store.forget(), InvalidValue),
            (lambda: store.forget(ids=["order-0"], forever=True), InvalidValue),
            (lambda: store.forget(owner="person 1", secret=b"short"), InvalidValue),
            (lambda: store.add("demand", Ridge(), features=2), InvalidValue),
            (lambda: store.add("", Ridge(), features=2), InvalidValue),
            (lambda: store.add("a\nb", Ridge(), features=2), InvalidValue),
        ):
            with pytest.raises(error):
                wrong()
        assert store.status()["receipts"] == 0
        assert store.forget(owner="nobody", missing="ok").rows == 0
        assert store.forget(ids=["order-0", "x"], missing="ok").rows == 1


def test_a_request_that_is_repeated_finds_its_receipt(tmp_path):
    secret = os.urandom(32)
    with filled(tmp_path / "orders") as store:
        receipt = store.forget(owner="person 1", secret=secret)
        assert receipt.names(secret, "person 1")
        assert store.forget(owner="person 1", missing="ok", secret=secret) == receipt
        store.learn("demand", *data(1), owners=["person 1"])
        again = store.forget(owner="person 1", secret=secret)  # there was something to do
        assert again.rows == 1
        assert store.status()["receipts"] == 2
    with Store(tmp_path / "orders") as store:
        assert store.forget(owner="person 1", missing="ok", secret=secret) == again
        forever = store.forget(owner="person 1", missing="ok", secret=secret, forever=True)
        assert forever.number == 3
        assert verify_chain(store.receipts(), store.status()["public_key"]) == 3


def test_the_digest_of_a_receipt_is_that_of_the_state_after(tmp_path):
    secret = bytes(32)
    digests = []
    for name in ("one", "two"):
        with filled(tmp_path / name) as store:
            if name == "two":  # another history, the same rows in the end
                store.learn("demand", *data(1, seed=9), ids=["x"], owners=["person 1"])
            digests.append(store.forget(owner="person 1", secret=secret).fields["digest"])
            other = store.forget(owner="person 2", secret=secret).fields["digest"]
    assert digests[0] == digests[1] != other


def test_an_expiry_of_more_than_half_needs_force(tmp_path):
    now = datetime.now(UTC)
    with Store(tmp_path / "orders") as store:
        store.add("demand", Ridge(window="1d"), features=NAMES)
        store.learn("demand", *data(4), at=[now - timedelta(hours=20)] * 3 + [now])
        later = now + timedelta(hours=5)
        with pytest.raises(TooManyDue, match="3 of 4 rows"):
            store.expire(later)
        assert store.expire(later, force=True) == {"demand": 3}
        assert store.expire() == {}


def test_a_wrong_clock_at_open_removes_at_most_half(tmp_path, monkeypatch):
    past = datetime(2011, 1, 1, tzinfo=UTC)
    with Store(tmp_path / "orders") as store:
        store.add("demand", Ridge(window="30d"), features=NAMES)
        store.learn("demand", *data(4), at=[past] * 4)
    with Store(tmp_path / "orders") as store:
        assert store.status()["overdue"] == {"demand": 4}
        assert store.status()["rows"] == 4


def test_one_process_and_one_object_own_a_store(tmp_path):
    with filled(tmp_path / "orders"), pytest.raises(StoreInUse):
        Store(tmp_path / "orders")
    store = Store(tmp_path / "orders")
    store.close()
    store.close()
    with pytest.raises(StoreStopped, match="closed"):
        store.predict("demand", [[1.0] * 3])
    assert "closed" in repr(store)


def test_threads_share_commits_and_a_forget_covers_what_waits(tmp_path):
    store = filled(tmp_path / "orders", 8)
    commits, threads = counted(store), []
    with store._writer.lock:  # as if a commit were under way
        for k in range(20):
            about = {"ids": [f"new-{k}"], "owners": ["ann"]}
            call = {"target": store.learn, "args": ("demand", *data(1, seed=k)), "kwargs": about}
            threads.append(threading.Thread(**call))
            threads[-1].start()
        while len(store._queue._waiting) < 20:
            pass
        assert store.forget(owner="ann").rows == 20
        assert len(commits) == 2
    for thread in threads:
        thread.join()
    assert store.status()["rows"] == 8
    store.close()


def test_many_requests_in_one_commit_have_their_own_results(tmp_path):
    X, y = data(2, seed=3)
    with filled(tmp_path / "orders") as store:
        store.add("other", OLS(), features=3)
        commits = counted(store)
        good = [LearnRequest("demand", X, y), LearnRequest("other", X, y, ids=["a", "b"])]
        bad = [LearnRequest("none", X, y), LearnRequest("demand", X, y * np.inf)]
        store.learn_many([good[0], bad[0], good[1], bad[1]])
        assert [each.outcome().learned for each in good] == [2, 2]
        for each, error in zip(bad, (UnknownModel, InvalidValue), strict=True):
            with pytest.raises(error):
                each.outcome()
        assert len(commits) == 1


@pytest.mark.parametrize("keyed", [False, True])
def test_keys_and_plaintext_are_in_no_log_error_or_repr(tmp_path, keyed):
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    logging.getLogger().addHandler(handler)
    old, texts = logging.getLogger().level, []
    logging.getLogger().setLevel(logging.DEBUG)
    try:
        store = filled(tmp_path / "orders", master_key=b"m" * 32, keyed=keyed)
        secret, keys = b"s" * 32, ["shop 9"] if keyed else None
        receipt = store.forget(owner="person 1", secret=secret, forever=True)
        parts = (
            store,
            store._disk.keys,
            store._disk.secrets,
            store._disk.refused,
            store._disk.left,
        )
        texts += [repr(each) for each in (*parts, store._writer, store._models, receipt)]
        texts += [str(store.status()), str(store.models())]
        for wrong in (
            lambda: store.learn("demand", *data(1), owners=["person 1"], keys=keys),
            lambda: store.learn("demand", *data(1, seed=1), ids=["order-0"], keys=keys),
            lambda: store.forget(owner="person 1"),
            lambda: store.held("person 1"),
            lambda: store.predict("demand", data(1)[0], keys=["shop 9"]),
            lambda: store.coefficients("demand", "shop 9"),
        ):
            with pytest.raises(InvalidValue) as caught:
                wrong()
            texts.append(repr(caught.value))
        signing, blind = (
            (tmp_path / "orders" / name).read_bytes() for name in ("signing.key", "blind.key")
        )
        store.close()
    finally:
        logging.getLogger().removeHandler(handler)
        logging.getLogger().setLevel(old)
    text = "\n".join([*texts, stream.getvalue()])
    X, _ = data(40)
    planted = [
        "person 1",
        "order-",
        "shop",
        (b"m" * 32).hex(),
        secret.hex(),
        signing.hex(),
        blind.hex(),
    ]
    planted += [
        repr(b"m" * 32),
        repr(secret),
        repr(signing),
        repr(blind),
        *map(str, X.ravel().tolist()),
    ]
    assert [each for each in planted if each in text] == []


def test_a_store_that_is_closed_keeps_no_rows_in_memory(tmp_path):
    store = filled(tmp_path / "orders")
    assert store._models
    store.close()
    assert not store._models


# Models leave


@pytest.mark.parametrize("keyed", [False, True])
def test_a_model_is_removed_with_all_its_rows_and_keys(tmp_path, keyed):
    folder, secret = tmp_path / "orders", os.urandom(32)
    with filled(folder, keyed=keyed, model=Ridge(window=AddDrop(7, 4))) as store:
        store.add("other", Ridge(), features=NAMES)
        store.learn("other", *data(6, seed=3))
        rows = store.status()["models"]["demand"]
        receipt = store.remove("demand", secret=secret)
        assert (receipt.rows, receipt.fields["removed"]) == (rows, "demand")
        assert store.remove("demand", secret=secret) == receipt
        with pytest.raises(UnknownModel):
            store.remove("demand")
        with pytest.raises(InvalidValue, match="secret"):
            store.remove("other", secret=b"short")
        assert list(store.models()) == ["other"]
        assert store.audit()["other"].holds
        assert len(slots(folder)) == 6
        store.add("demand", Ridge(), features=NAMES)
        assert store._models["demand"].definition.number == 3  # no number comes again
        store.learn("demand", *data(3), ids=["order-1", "order-2", "order-3"])
    with Store(folder) as store:
        assert store.status()["models"] == {"other": 6, "demand": 3}
        assert verify_chain(store.receipts()) == 1
        store.remove("demand")
    with Store(folder) as store:
        store.add("last", Ridge(), features=NAMES)
        assert store._models["last"].definition.number == 4


@pytest.mark.parametrize("method", ["zero_keys", "sync_keys", "sign_receipt"])
def test_a_removal_that_was_interrupted_is_finished_at_open(tmp_path, monkeypatch, method):
    folder = tmp_path / "orders"
    store = filled(folder)

    def crash(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(store._disk, method, crash)
    with pytest.raises(KeyboardInterrupt):
        store.remove("demand")
    store._disk.close()
    with Store(folder) as store:
        assert store.models() == {}
        (receipt,) = store.receipts()
        assert (receipt.rows, receipt.fields["removed"]) == (40, "demand")
    assert slots(folder) == {}


# Copies are made while rows come


def backup_under_load(folder, *, keys, rows=None):
    """A copy while another thread learns and forgets; how often that was, and who is forgotten."""
    store, calls, forgotten = filled(folder, 30_000, owners=1_000, rows=rows), [], []
    stop = threading.Event()

    def work():
        for k in range(1, 900):
            if stop.is_set():
                return
            store.learn("demand", *data(20, seed=k), ids=[f"{k}-{i}" for i in range(20)])
            forgotten.append(f"person {k}")
            store.forget(owner=forgotten[-1])
            calls.append(k)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        while not calls:
            stop.wait(0.005)
        before = len(calls)
        store.backup(folder.with_name("copy"), keys=keys)
        during = len(calls) - before
    finally:
        stop.set()
        thread.join()
        store.close()
    return during, forgotten


def test_a_copy_that_is_made_under_load_is_of_one_moment(tmp_path):
    during, forgotten = backup_under_load(tmp_path / "orders", keys=True)
    assert during > 0  # rows came meanwhile
    counts = restore(tmp_path / "new", tmp_path / "copy")
    assert counts[1:] == (0, 0, 0)
    with Store(tmp_path / "new") as store:
        assert store.audit()["demand"].holds
        receipts = store.receipts()
        assert verify_chain(receipts) == len(receipts)
        assert 0 < len(receipts) <= len(forgotten)
        assert store.audit(forgotten_owners=forgotten[: len(receipts)])["demand"].holds


def test_rows_that_were_copied_under_load_are_restored_without_the_forgotten(tmp_path):
    _, forgotten = backup_under_load(tmp_path / "orders", keys=False)
    (tmp_path / "orders" / "rows.db").unlink()
    counts = restore(tmp_path / "orders", tmp_path / "copy")
    assert counts.unreadable == 0
    with Store(tmp_path / "orders") as store:
        assert store.audit(forgotten_owners=forgotten)["demand"].holds


def test_closing_ends_a_copy(tmp_path):
    store = filled(tmp_path / "orders")
    store._closing = True
    with pytest.raises(StoreStopped, match="given up"):
        store.backup(tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
    store.close()

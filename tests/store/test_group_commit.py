"""Requests that share a commit end as they would one by one."""

from __future__ import annotations

import pytest
from store_cases import NAMES, counted, data

from efface import Ridge
from efface.errors import RefusedRow, RepeatedId, UnknownModel
from efface.live.snapshot import same
from efface.store import LearnRequest, Store
from efface.store.group_commit import find_model


def started(folder, window=None):
    store = Store(folder)
    store.add("demand", Ridge(window=window), features=NAMES)
    return store


@pytest.mark.parametrize("window", [None, 6])
def test_a_group_gives_the_rows_of_its_requests_in_their_order(tmp_path, window):
    parts = [(*data(k + 1, seed=k), [f"{k}-{j}" for j in range(k + 1)]) for k in range(5)]
    twin = Ridge(window=window).empty(3)
    for X, y, ids in parts:
        twin.partial_fit(X, y, ids=ids)
    with started(tmp_path / "orders", window) as store:
        store.learn_many([LearnRequest("demand", X, y, ids=ids) for X, y, ids in parts])
        assert same(store._models["demand"].model._snapshot(), twin._snapshot())


def test_requests_that_do_not_go_together_are_committed_one_by_one(tmp_path):
    X, y = data(2)
    with started(tmp_path / "orders") as store:
        first = LearnRequest("demand", X, y, ids=["a", "b"])
        equal = LearnRequest("demand", X, y, ids=["a", "b"])  # a retry, while the first one waits
        other = LearnRequest("demand", X, y + 1.0, ids=["b", "c"])
        timed = LearnRequest("demand", X, y, ids=["d", "e"], at=[1.0, 2.0])
        last = LearnRequest("demand", X, y, ids=["f", "g"])
        store.learn_many([first, equal, other, timed, last])
        assert first.outcome().learned == last.outcome().learned == 2
        assert equal.outcome()[1:] == (0, 2)
        with pytest.raises(RepeatedId):
            other.outcome()
        assert timed.error is not None
        assert store._models["demand"].model.ids_ == ["a", "b", "f", "g"]


def test_a_request_that_is_refused_does_not_touch_the_others(tmp_path):
    X, y = data(2)
    with started(tmp_path / "orders") as store:
        store.learn("demand", X, y, ids=["a", "b"])
        store.forget(ids=["a"])
        gone, fine = LearnRequest("demand", X, y, ids=["a", "z"]), LearnRequest("demand", X, y)
        store.learn_many([gone, fine])
        with pytest.raises(RefusedRow):
            gone.outcome()
        assert fine.outcome().learned == 2
        assert store.status()["rows"] == 3


def test_large_groups_are_divided(tmp_path, monkeypatch):
    monkeypatch.setattr("efface.store.group_commit.SLOTS", 5)
    with started(tmp_path / "orders") as store:
        commits = counted(store)
        store.learn_many([LearnRequest("demand", *data(3, seed=k)) for k in range(4)])
        assert len(commits) == 2
        assert store.status()["rows"] == 12


def test_an_unknown_model_is_named():
    with pytest.raises(UnknownModel, match="none"):
        find_model({}, "demand")

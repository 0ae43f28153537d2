"""Models of groups: what is counted per group equals a count group by group."""

from __future__ import annotations

import numpy as np
import pytest

from efface import OLS, Ridge
from efface.files.answers import answer
from efface.files.group_models import GroupModels
from efface.files.requests import Request, Requests
from efface.files.row_batches import RowBatch
from efface.files.streaming import StreamRun

RNG = np.random.default_rng(8)


def test_places_and_last_values_follow_each_group():
    groups, seen, last = GroupModels(OLS, dict), {}, {}
    for _ in range(4):
        names = [f"g{k}" for k in RNG.integers(0, 5, 30)]
        y, shown = RNG.normal(size=30), RNG.random(30) < 0.8
        numbers = groups.numbers(names)
        places = groups.places(numbers)
        before = groups.last_values(numbers, y, shown)
        for row, name in enumerate(names):
            assert places[row] == seen.get(name, 0)
            seen[name] = places[row] + 1
            if shown[row]:
                assert before[row] == last.get(name, 0.0)
                last[name] = y[row]
            else:
                assert np.isnan(before[row])
    assert len(groups) == len(seen)


def test_the_value_before_is_predicted_without_groups():
    groups, zeros = GroupModels(OLS, dict, OLS()), np.zeros(2, np.int64)
    seen = np.ones(2, bool)
    assert groups.last_values(zeros, np.array([3.0, 4.0]), seen).tolist() == [0.0, 3.0]
    assert groups.last_values(zeros[:1], np.array([5.0]), seen[:1]).tolist() == [4.0]
    assert list(groups.models) == [None]


def test_rows_that_leave_after_53_half_lives_left_a_full_window():
    at = np.arange(60.0)
    until, ones = at + 1000.0, np.ones((60, 1))
    run = StreamRun(lambda: Ridge(halflife=1), "Ridge")
    run.advance(RowBatch(np.arange(60), ones, at, at=at, until=until))
    assert (run.groups.held.n_rows_, run.groups.full) == (53, 7)


def rows(n, groups, ids, owners):
    X = RNG.normal(size=(n, 2))
    return RowBatch(np.arange(n), X, X.sum(axis=1), ids, None, groups, None, owners)


def test_an_id_may_live_in_two_groups():
    requests = Requests("end", (Request("x1"), Request(owner="ann"), Request("zz")))
    run = StreamRun(lambda: Ridge(9, alpha=0.1), "Ridge", requests=requests, grouped=True)
    groups, ids = ["a", "b"] * 6, [f"x{k // 2}" for k in range(12)]
    owners = ["ann" if k in (4, 7) else None for k in range(12)]
    run.advance(rows(12, groups, ids, owners))
    run.finish()
    found = [(each.status, each.rows, each.holds) for each in run.log.outcomes]
    assert found == [("forgotten", 1, True), ("forgotten", 2, True), ("unknown", 0, False)]
    assert run.groups.held.n_rows_ == 9
    assert run.groups.held.owners_ == []


def test_a_group_that_loses_its_last_row_holds():
    groups = GroupModels(lambda: Ridge(9), dict)
    numbers = groups.numbers(["a"])
    groups.held.learn(numbers, [[1.0]], [2.0], owners=["ann"])
    request = Request(owner="ann")
    found = answer(request, groups.holder(request, ["a"]), row=1, arrived=0)
    assert (found.rows, found.holds) == (1, True)
    assert found.verdict == "holds: no row of its groups is alive"
    assert groups.models["a"].n_rows_ == 0


def test_a_shared_array_that_keeps_a_value_fails_the_audit():
    groups = GroupModels(lambda: Ridge(9), dict)
    numbers = groups.numbers(["a", "a", "b"])
    groups.held.learn(numbers, [[1.0], [2.0], [3.0]], [2.0, 1.0, 4.0], owners=["ann", "u", "v"])
    held = groups.held._held.rows
    free = np.setdiff1d(np.arange(len(held.table)), held.live())
    held.table.y[free[-1]] = 2.0
    request = Request(owner="ann")
    found = answer(request, groups.holder(request, ["a"]), row=3, arrived=0)
    assert not found.holds
    assert found.verdict == "fails: rows hold more than the live rows of all groups"


@pytest.mark.parametrize("count", [1, 3])
def test_baselines_are_compared_group_by_group(count):
    class Count:
        def __init__(self):
            self.rows = 0

        def predict(self, X, y, at, weights=None):
            self.rows += len(y)
            return np.full(len(y), float(self.rows))

    groups = GroupModels(OLS, lambda: {"count": Count()})
    names = ["a", "b", "a", "a"]
    numbers = groups.numbers(names)
    batch = rows(4, names, None, None)
    for turn in range(count):
        found = groups.compared(numbers, batch, np.ones(4, bool))
        assert found["count"].tolist() == [
            3.0 * turn + 3,
            turn + 1.0,
            3.0 * turn + 3,
            3.0 * turn + 3,
        ]

"""Rows of many keys before they are learned: what is refused, and how they are sorted."""

from __future__ import annotations

import numpy as np
import pytest

from efface import Fleet, KeepFor, Ridge
from efface.errors import BadTime, InvalidValue, RepeatedId
from efface.live.keyed_arrivals import GroupedArrivals, RowMarksGiven, keyed_arrivals
from efface.live.keyed_rows import KeyedRows
from efface.live.policies import FIFD

X, Y = np.arange(8.0).reshape(4, 2), np.arange(4.0)


def arrivals(held, keys, **given):
    return keyed_arrivals(held, FIFD(3), keys, (X, Y, None), RowMarksGiven(**given))


def test_rows_are_sorted_by_key_behind_the_live_rows():
    fleet = Fleet(Ridge(window=3))
    fleet.learn(["b", "a"], X[:2], Y[:2])
    held = fleet._held.rows
    new = arrivals(held, ["a", "c", "a", "b"])
    grouped = GroupedArrivals.of(held, new)
    assert grouped.alive.tolist() in ([1, 1, 0], [1, 1, 0][::-1], [1, 0, 1])
    for g, code in enumerate(grouped.keys):
        rows = slice(grouped.bounds[g], grouped.bounds[g + 1])
        came = grouped.came[rows]
        assert not came[: grouped.alive[g]].any()
        assert came[grouped.alive[g] :].all()
        assert (new.keys.codes[new.keys.codes == code]).size == came.sum()
    assert sorted(grouped.order.tolist()) == [0, 1, 2, 3]
    assert not grouped.irregular().any()


def test_late_and_due_rows_make_a_key_irregular():
    held = KeyedRows(2)
    new = arrivals(held, [1, 1, 2, 3], at=[5.0, 4.0, 1.0, 1.0], until=[None, None, None, 1.0])
    grouped = GroupedArrivals.of(held, new)
    assert grouped.irregular().tolist() == [True, False, True]
    odd = grouped.part(grouped.irregular())
    assert odd.rows.y.tolist() == [0.0, 1.0, 3.0]
    assert odd.order.tolist() == [0, 1, 3]
    assert odd.bounds.tolist() == [0, 2, 3]


def test_ids_are_unique_across_keys():
    fleet = Fleet(Ridge(window=2))
    fleet.learn(["a", "b"], X[:2], Y[:2], ids=["x", 7])
    before = fleet._held.rows.table.take(fleet._held.rows.live())
    for ids in (["y", "x"], [7, 8], ["z", "z"]):
        with pytest.raises(RepeatedId, match="a live row has it"):
            fleet.learn(["b", "b"], X[:2], Y[:2], ids=ids)
    after = fleet._held.rows.table.take(fleet._held.rows.live())
    assert np.array_equal(before.X, after.X)
    assert fleet.residues() == []
    # Once its row has left, an id may come again, also in the same call and under another key.
    fleet.learn(["a", "a", "b"], X[:3], Y[:3], ids=["p", "q", "x"])
    assert fleet["b"].ids_ == [7, "x"]
    assert fleet["a"].ids_ == ["p", "q"]


def test_what_is_refused_changes_nothing():
    fleet = Fleet(Ridge(window=2))
    with pytest.raises(InvalidValue, match="'keys' is '1 long'"):
        fleet.learn(["a"], X[:2], Y[:2])
    with pytest.raises(InvalidValue, match=r"'key' is 1\.5"):
        fleet.learn([1.5, 2], X[:2], Y[:2])
    assert len(fleet) == 0
    fleet.learn(["a"], X[:1], Y[:1], at=[1.0])
    for given in ({"at": None}, {"at": np.array(["2024-01-01"], "M8[ns]")}):
        with pytest.raises(BadTime, match="'at' is"):
            fleet.learn(["b"], X[:1], Y[:1], **given)
    with pytest.raises(BadTime, match="'until' is"):
        fleet.learn(["b"], X[:1], Y[:1], at=[2.0], until=np.array(["2024-01-01"], "M8[ns]"))
    assert fleet.keys() == ["a"]
    assert fleet.residues() == []
    with pytest.raises(BadTime, match="'at' is None"):
        Fleet(Ridge(window=KeepFor(3))).learn(["a"], X[:1], Y[:1])

"""Rows as columns: some of them, many batches as one, and equal content."""

from __future__ import annotations

import numpy as np

from efface.store.stored_rows import StoredRows, joined


def rows(ids, times=None, owners=None, untils=None, keys=None):
    count = len(ids)
    values = np.ones((count, 1)), np.ones(count), np.ones(count)
    return StoredRows(*values, ids, times, untils, owners, keys)


def test_batches_are_joined_in_their_order():
    ends = np.array([5.0])
    one = rows(["a", "b"], owners=["x", None], keys=["k", 2])
    two = rows(["c"], untils=ends, keys=["m"])
    both = joined([one, two])
    assert both.ids == ["a", "b", "c"]
    assert both.owners == ["x", None, None]
    assert both.keys == ["k", 2, "m"]
    assert both.untils.tolist() == [np.inf, np.inf, 5.0]
    assert joined([one]) is one
    assert joined([rows(["a"], np.array([1.0])), two]) is None
    assert joined([rows(["a", "b"]), rows(["c"])]).owners is None


def test_some_rows_of_a_batch():
    batch = rows(["a", "b", "c"], np.arange(3.0), ["x", None, "z"], keys=[1, 2, 3])
    some = batch.take(np.array([0, 2]))
    assert some.ids == ["a", "c"]
    assert some.owners == ["x", "z"]
    assert some.keys == [1, 3]
    assert some.times.tolist() == [0.0, 2.0]
    assert some.untils is None
    back = StoredRows.of(some.arrivals(), some.keys)
    assert back.equal(some).all()


def test_rows_are_equal_if_all_of_their_content_is():
    times, ends = np.arange(2.0), np.array([5.0, np.inf])
    given = {"times": times, "owners": ["x", None], "untils": ends, "keys": ["k", "m"]}
    one = rows(["a", "b"], **given)
    assert one.equal(rows(["a", "b"], **given)).all()
    for name, other, equal in (
        ("times", np.array([0.0, 2.0]), [True, False]),
        ("times", None, [False, False]),
        ("owners", None, [False, True]),
        ("untils", None, [False, True]),
        ("untils", np.array([5.0, 6.0]), [True, False]),
        ("keys", ["k", "k"], [True, False]),
    ):
        assert one.equal(rows(["a", "b"], **{**given, name: other})).tolist() == equal
    no_end = np.iinfo(np.int64).max
    assert rows(["a"], untils=np.array([np.inf])).equal(rows(["a"])).all()
    assert not rows(["a"], untils=np.array([no_end // 2])).equal(rows(["a"])).any()

"""The tree of sums, as the solver uses it, against a tree that is made anew."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_trees import small_trees

from efface.engine.jit.views import weighed
from efface.engine.tree.shape import open_tree, refresh_tree, root_of
from efface.engine.tree.walls import walls_among
from efface.live.summation import SummationTree

ROOM = 600


def empty_tree():
    with small_trees():
        return SummationTree(2, True)


class Rows:
    """Rows in arrays, with a key each, and their tree."""

    def __init__(self, count):
        rng = np.random.default_rng(count)
        self.X, self.y = rng.normal(size=(ROOM, 2)) + 9.0, weighed(rng.normal(size=ROOM), None)
        self.keys = rng.permutation(10 * ROOM)[:ROOM].astype(np.uint64)
        self.head, self.end, self.tree = 0, count, empty_tree()

    def walls(self, first, bits, count=None):
        start = self.head + first
        stop = self.end if count is None else start + count
        places, heights = walls_among(self.keys[start:stop], bits)
        return places + first, heights

    def root(self, tree):
        t = open_tree(tree.cover(self.head, self.end, self.walls))
        refresh_tree(t, self.X, self.y, self.head)
        return root_of(t).tobytes()

    def drop(self, count):
        self.X[self.head : self.head + count] = 0.0
        self.head += count
        self.tree.release(self.head)

    def compact(self):
        by = self.head
        for part in (self.X, self.y, self.keys):
            part[:] = np.roll(part, -by, axis=0)
        self.head, self.end = 0, self.end - by
        self.tree.shift(by)

    def insert(self, position):
        place = self.head + position
        for part in (self.X, self.y, self.keys):
            part[place : self.end + 1] = np.roll(part[place : self.end + 1], 1, axis=0)
        self.end += 1
        self.tree.insert(position, self.head, self.walls)


EVENTS = ["come", "drop", "compact", "insert", "clear"]


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.sampled_from(EVENTS), st.integers(0, 999)), max_size=15))
def test_after_any_events_the_sums_are_those_of_a_new_tree(events):
    rows = Rows(60)
    for name, number in events:
        if name == "come":
            rows.end += number % 30
        elif name == "drop":
            rows.drop(number % ((rows.end - rows.head) // 2))
        elif name == "compact":
            rows.compact()
        elif name == "insert":
            rows.insert(number % (rows.end - rows.head))
        else:
            rows.tree.clear()
        if number % 2:
            assert rows.root(rows.tree) == rows.root(empty_tree())
    assert rows.root(rows.tree) == rows.root(empty_tree())


@pytest.mark.parametrize("count", [1, 7, 64])
def test_without_walls_rows_are_numbered_by_position(count):
    X, y = np.arange(2.0 * count).reshape(count, 2), weighed(np.ones(count), None)
    t = open_tree(empty_tree().cover(0, count, None))
    refresh_tree(t, X, y, 0)
    np.testing.assert_allclose(root_of(t)[:2], X.mean(axis=0), rtol=1e-14)


def test_a_tree_is_cut_only_where_it_has_rows():
    rows = Rows(40)
    rows.root(rows.tree)
    store = rows.tree.store.copy()
    rows.tree.cut(50)
    assert (rows.tree.covered, rows.tree.store.tobytes()) == (40, store.tobytes())


def test_a_cleared_tree_keeps_no_sum():
    rows = Rows(40)
    rows.root(rows.tree)
    store = rows.tree.store
    rows.tree.clear()
    assert not store.any()
    assert (rows.tree.covered, rows.tree.store.size) == (-1, 0)

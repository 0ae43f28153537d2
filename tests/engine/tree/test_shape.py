"""The tree against a slow twin that builds it anew from the live rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from twins.summation_tree import wrong_levels

from efface.engine.events.fold import blank_rows
from efface.engine.events.rows import SPAN, span_of
from efface.engine.events.state import Rule, allocate, reset
from efface.engine.jit.views import weighed
from efface.engine.tree.shape import (
    CURRENT,
    allocate_tree,
    cut_tree,
    extend_tree,
    insert_in_tree,
    open_tree,
    refresh_tree,
    release_tree,
    root_of,
    shift_tree,
)
from efface.engine.tree.tree_checks import wrong_nodes
from efface.engine.tree.walls import walls_among

ROOM, BITS, LEVELS = 400, 2, 9


def empty_tree():
    return allocate_tree(2, True, np.full(LEVELS, ROOM))


class Rows:
    """Rows in arrays with gaps; the key of a row is its number."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.x, self.y = np.zeros((ROOM, 2)), weighed(np.zeros(ROOM), np.zeros(ROOM))
        self.keys = np.full(ROOM, -1)  # -1: a gap
        self.head = self.end = self.came = 0
        self.tree, self.covered = empty_tree(), 0
        self.state = allocate(2, True, False, ROOM)
        reset(self.state, Rule(), False)

    @property
    def live(self):
        return self.head + np.flatnonzero(self.keys[self.head : self.end] >= 0)

    def walls(self, lo, hi):
        places = lo + np.flatnonzero(self.keys[lo:hi] >= 0)
        found, heights = walls_among(self.keys[places].astype(np.uint64), BITS)
        return places[found], heights

    def cover(self):
        lo = max(self.covered, self.head)
        if self.covered < self.end:
            assert extend_tree(self.tree, *self.walls(lo, self.end), self.head, self.end)
        self.covered = self.end

    def put(self, place):
        self.x[place] = self.rng.normal(size=2) + 100.0
        weight = float(self.rng.choice([0.0, 1.0, 2.5]))
        self.y[place] = self.rng.normal(), np.sqrt(weight), weight
        self.keys[place] = self.came
        self.came += 1

    def append(self, count):
        for _ in range(min(count, ROOM - self.end)):
            self.put(self.end)
            self.end += 1

    def remove(self, numbers):
        self.cover()
        places = np.unique(self.live[np.array(numbers) % len(self.live)])
        span = np.zeros(SPAN, np.int64)
        span_of(span).head, span_of(span).end = 0, self.end
        blank_rows(self.x, self.y, span, self.state, self.tree, places)
        self.keys[places] = -1
        self.trim()

    def drop(self, count):
        for place in self.live[:count]:
            self.x[place], self.y[place], self.keys[place] = 0.0, 0.0, -1
        self.trim()

    def trim(self):
        live = self.live
        self.head, self.end = (live[0], live[-1] + 1) if live.size else (self.end, self.end)
        release_tree(self.tree, self.head)
        if self.covered > self.end:
            cut_tree(self.tree, self.end)
            self.covered = self.end

    def insert(self, number):
        place = self.head + 1 + number % max(self.end - self.head - 1, 1)
        if self.end == ROOM or place > self.end:
            return
        for part in (self.x, self.y, self.keys):
            part[place + 1 : self.end + 1] = part[place : self.end].copy()
        self.end += 1
        self.put(place)
        if place < self.covered:
            if walls_among(self.keys[place : place + 1].astype(np.uint64), BITS)[0].size:
                self.tree, self.covered = empty_tree(), 0
            else:
                insert_in_tree(self.tree, place)
                self.covered += 1

    def compact(self):
        by = self.head
        for part, nothing in ((self.x, 0.0), (self.y, 0.0), (self.keys, -1)):
            part[: self.end - by] = part[by : self.end].copy()
            part[self.end - by : self.end] = nothing
        self.head, self.end, self.covered = 0, self.end - by, max(self.covered - by, 0)
        shift_tree(self.tree, by)

    def root(self):
        self.cover()
        refresh_tree(open_tree(self.tree), self.x, self.y, self.head)
        return root_of(open_tree(self.tree)).tobytes()

    def fresh_root(self):
        live, tree = self.live, empty_tree()
        found, heights = walls_among(self.keys[live].astype(np.uint64), BITS)
        assert extend_tree(tree, found, heights, 0, live.size)
        x, y = self.x[live].copy(), self.y[live].copy()
        refresh_tree(open_tree(tree), x, y, 0)
        return root_of(open_tree(tree)).tobytes()


EVENTS = ["append", "append", "remove", "remove", "drop", "insert", "compact", "sum"]


@settings(deadline=None, max_examples=150)
@given(
    st.lists(st.tuples(st.sampled_from(EVENTS), st.integers(0, 10**6)), max_size=40),
    st.integers(0, 99),
)
def test_sums_equal_those_of_a_fresh_tree_to_the_last_bit(events, seed):
    rows = Rows(seed)
    rows.append(60)
    for name, number in events:
        if name == "append":
            rows.append(number % 30)
        elif rows.live.size < 4:
            rows.append(10)
        elif name == "remove":
            rows.remove([number, number // 7, number // 31][: 1 + number % 3])
        elif name == "drop":
            rows.drop(number % (rows.live.size // 2))
        elif name == "insert":
            rows.insert(number)
        elif name == "compact":
            rows.compact()
        elif rows.live.size:
            assert rows.root() == rows.fresh_root()
        assert not list(wrong_nodes(rows.tree, rows.x, rows.y, rows.head))
        assert not list(wrong_levels(rows.tree, rows.x, rows.y, rows.head, rows.end))
    if rows.live.size:
        assert rows.root() == rows.fresh_root()


def test_one_row_that_leaves_makes_one_path_stale():
    rows = Rows(0)
    rows.append(300)
    rows.root()
    rows.remove([150])
    t = open_tree(rows.tree)
    stale = int(t.waiting.sum())
    assert LEVELS <= stale <= 2 * LEVELS
    assert np.count_nonzero(t.status == CURRENT) > 60


@pytest.mark.parametrize("counts", [[3, 9, 2], [60, 60]])
def test_a_tree_without_room_says_so(counts):
    store = allocate_tree(1, False, np.array(counts))
    heights = np.full(20, len(counts))
    assert not extend_tree(store, np.arange(0, 100, 5), heights, 0, 100)

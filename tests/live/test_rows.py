"""The row store against a plain list of rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from efface.engine.jit.views import weighed
from efface.live.rows import RowStore

EVENTS = ("extend", "extend", "drop", "remove", "replace", "compact", "reserve", "move_newest")


class Rows:
    """Distinct random rows, in order."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def new(self, count):
        weights = self.rng.choice([0.0, 0.5, 1.0, 4.0], size=count)
        return self.rng.normal(size=(count, 2)), weighed(self.rng.normal(size=count), weights)


def as_list(X, responses):
    return np.hstack([X, responses]).tolist()


def extend(store, X, responses):
    """Add rows as a solver does: where there is no free place, make one."""
    store.reserve(store.n_rows + len(X))
    if store.span[1] + len(X) > store.capacity:
        store.compact()
    store.extend(X, responses)


def run(store, live, kind, number, source):
    """Let an event happen to the store; return the list of live rows after it."""
    if kind in ("extend", "replace"):
        X, responses = source.new(number % 30)
        if kind == "extend":
            extend(store, X, responses)
            return live + as_list(X, responses)
        store.reserve(len(X))
        store.replace(X, responses)
        return as_list(X, responses)
    if kind == "drop":
        count = number % (len(live) + 1)
        store.drop(count)
        return live[count:]
    if kind == "remove":
        gone = np.unique(np.array([number, number // 7, number // 31])) % max(len(live), 1)
        gone = gone[: len(live)]
        store.keep(np.delete(np.arange(len(live)), gone))
        return [row for place, row in enumerate(live) if place not in gone]
    if kind == "compact":
        head = store.span[0]
        assert store.compact() == head
        assert store.span == (0, len(live))
    elif kind == "reserve":
        arrays, room = store.arrays[:2], number % 200
        is_new = store.reserve(room)
        assert store.most >= room
        assert store.capacity > store.most
        assert is_new == (store.arrays[0] is not arrays[0])
        assert not is_new or not any(old.any() for old in arrays)
    elif live:
        position = number % len(live)
        assert store.move_newest(position) == store.span[0] + position
        return [*live[:position], live[-1], *live[position:-1]]
    return live


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.sampled_from(EVENTS), st.integers(0, 10**6)), max_size=30))
def test_random_events_equal_a_plain_list(events):
    store, live, source = RowStore(2), [], Rows(len(events))
    for kind, number in events:
        live = run(store, live, kind, number, source)
        assert as_list(store.features, store.responses) == live
        assert store.n_rows == len(live)
        assert store.weightless == sum(row[-1] == 0.0 for row in live)
        assert store.clean  # free places are zero


def test_views_are_of_the_live_rows():
    store = RowStore(1)
    store.extend(np.array([[1.0], [2.0], [3.0]]), weighed(np.arange(3.0), np.array([1.0, 4.0, 0])))
    store.drop(1)
    assert store.span == (1, 3)
    assert store.features.tolist() == [[2.0], [3.0]]
    assert store.y.tolist() == [1.0, 2.0]
    assert store.weights.tolist() == [4.0, 0.0]
    assert store.weightless == 1
    assert store.nbytes == sum(array.nbytes for array in store.arrays)
    store.features[0] = 7.0
    assert store.arrays[0][1, 0] == 7.0


def test_a_wiped_store_is_all_zeros():
    store = RowStore(3)
    store.extend(np.ones((5, 3)), weighed(np.ones(5)))
    store.wipe()
    assert store.n_rows == 0
    assert not any(array.any() for array in store.arrays)


def test_a_count_follows_a_span_that_a_kernel_has_changed():
    store = RowStore(1)
    store.extend(np.ones((5, 1)), weighed(np.ones(5)))
    store.arrays[2][0] = 2
    store.count()
    assert store.n_rows == 3


@pytest.mark.parametrize(("array", "place"), [(0, (70, 0)), (1, (70, 2)), (1, (2, 1))])
def test_a_store_that_is_not_clean_says_so(array, place):
    store = RowStore(1)
    store.extend(np.ones((5, 1)), weighed(np.ones(5)))
    assert store.clean
    store.arrays[array][place] = 0.5
    assert not store.clean

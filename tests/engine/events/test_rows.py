"""The live rows in compiled code: append and drop."""

from __future__ import annotations

import numba
import numpy as np

from efface.engine.events.rows import SPAN, append, drop, open_rows, span_of
from efface.engine.jit.compilation import KERNEL
from efface.engine.jit.views import ROOT, VALUE, WEIGHT

UNCACHED = {**KERNEL, "cache": False}
PLACES = 40


@numba.njit(**UNCACHED)
def append_row(x, y, span, row, response, weight):
    return append(open_rows(x, y, span), row, response, weight)


@numba.njit(**UNCACHED)
def drop_oldest(x, y, span, count):
    drop(open_rows(x, y, span), count)


def no_rows():
    return np.zeros((PLACES, 2)), np.zeros((PLACES, 3)), np.zeros(SPAN, np.int64)


def test_a_row_is_stored_with_the_root_of_its_weight():
    x, y, span = no_rows()
    append_row(x, y, span, np.array([1.0, 2.0]), 5.0, 9.0)
    assert x[0].tolist() == [1.0, 2.0]
    assert (y[0, VALUE], y[0, ROOT], y[0, WEIGHT]) == (5.0, 3.0, 9.0)
    assert span.tolist() == [0, 1, 0]
    assert not x[1:].any()
    assert not y[1:].any()


def test_random_appends_and_drops_equal_a_plain_list():
    rng = np.random.default_rng(0)
    x, y, span = arrays = no_rows()
    rows, head = [], 0
    for _ in range(PLACES):
        row, response, weight = rng.normal(size=2), rng.normal(), rng.choice([0.0, 0.25, 4.0])
        assert append_row(*arrays, row, response, weight)
        rows.append([*row, response, np.sqrt(weight), weight])
        count = int(rng.integers(0, min(3, len(rows)) + 1)) if rng.random() < 0.4 else 0
        drop_oldest(*arrays, count)
        rows, head = rows[count:], head + count
        at, live = span_of(span), slice(head, head + len(rows))
        assert (at.head, at.end) == (live.start, live.stop)
        assert at.weightless == sum(row[-1] == 0.0 for row in rows)
        assert np.hstack([x[live], y[live]]).tolist() == rows
        free = np.ones(PLACES, dtype=bool)
        free[live] = False
        assert not x[free].any()
        assert not y[free].any()


def test_a_row_without_a_free_place_changes_nothing():
    x, _, span = arrays = no_rows()
    while append_row(*arrays, np.ones(2), 1.0, 0.0):
        pass
    assert span.tolist() == [0, PLACES, PLACES]
    assert np.all(x == 1.0)

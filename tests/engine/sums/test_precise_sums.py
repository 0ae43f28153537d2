"""Sums in double-double precision over a range that slides, against exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from efface.engine.jit.compilation import KERNEL
from efface.engine.jit.views import weighed
from efface.engine.linalg.exact_products import padded_columns
from efface.engine.sums.precise_sums import (
    allocate_precise,
    follow_precise,
    open_precise,
    seen_by,
    slide_precise,
)
from efface.engine.sums.sliding import NEVER
from efface.engine.sums.sum_checks import wrong_precise_sums

ROWS = 200


@numba.njit(**KERNEL)
def slide(store, x, y, a, b):
    slide_precise(open_precise(store), x, y, a, b)


def rows(d, weighted=False):
    rng = np.random.default_rng(d)
    X, y = rng.normal(size=(ROWS, d)) + np.arange(d) * 1e3, rng.normal(size=ROWS)
    return X, weighed(y, rng.choice([0.0, 1.0, 4.0], size=ROWS) if weighted else None)


def total(store, d):
    q, w = d + 2, padded_columns(d + 2)
    high, low = open_precise(store).total.reshape(2, q, w)[:, :, :q]
    return high, low


moves = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=20)


@settings(deadline=None, max_examples=30)
@given(moves=moves, d=st.integers(1, 8), centred=st.booleans(), weighted=st.booleans())
def test_sums_equal_a_direct_sum_wherever_the_range_slides(moves, d, centred, weighted):
    (X, y), store, (a, b) = rows(d, weighted), allocate_precise(d, centred, ROWS), (0, 1)
    for leave, come in moves:
        b += come
        a = min(a + leave, b - 1)
        slide(store, X, y, a, b)
    centre, (high, low) = open_precise(store).centre, total(store, d)
    values = np.column_stack([X, np.ones(ROWS), y[:, 0]])[a:b]
    values = y[a:b, 1, np.newaxis] * (values - centre)
    for i, j in [(0, 0), (d, 0), (d + 1, 0), (d + 1, d), (d + 1, d + 1)]:
        terms = [Fraction(u) * Fraction(v) for u, v in values[:, [i, j]].tolist()]
        error = abs(Fraction(high[i, j]) + Fraction(low[i, j]) - sum(terms))
        assert error <= Fraction(2) ** -96 * sum(map(abs, terms))


def test_only_features_far_from_zero_are_centred():
    X = np.column_stack([np.arange(20.0), 1e6 + np.arange(20.0), np.full(20, 0.1)])
    store = allocate_precise(3, True, 20)
    slide(store, X, weighed(np.zeros(20)), 0, 20)
    assert open_precise(store).centre.tolist() == [0.0, 1e6 + 9.5, 0.1, 0.0, 0.0]
    store = allocate_precise(3, False, 20)
    slide(store, X, weighed(np.ones(20)), 0, 20)
    assert not open_precise(store).centre.any()


@pytest.mark.parametrize("head", [20, 31, 60, 61])
def test_rows_that_left_are_in_no_sum(head):
    (X, y), store = rows(3), allocate_precise(3, True, ROWS)
    for a in range(20):
        slide(store, X, y, a, a + 60)
    open_precise(store).total[:] = 0.0
    assert follow_precise(store, head, 80, 0) == (head < 60)
    assert list(wrong_precise_sums(store, X, y, head)) == []
    if head >= 60:
        assert not open_precise(store).recent.any()
        assert not open_precise(store).stack.any()


def test_damage_is_found():
    (X, y), store = rows(3), allocate_precise(3, True, ROWS)
    for a in range(5):
        slide(store, X, y, a, a + 60)
    sums = open_precise(store)
    assert list(wrong_precise_sums(store, X, y, 4)) == ["precise sums.total"]
    sums.total[:] = 0.0
    assert list(wrong_precise_sums(store, X, y, 4)) == []
    sums.recent[8] += 1e-3
    sums.stack[0, 0] += 1.0
    sums.rows[0, 0] = sums.system.theta[0] = 1.0
    found = set(wrong_precise_sums(store, X, y, 4))
    assert found == {f"precise sums.{name}" for name in ("recent", "stack[0]", "rows", "system")}


def test_sums_follow_rows_that_move_and_are_discarded_when_unused():
    (X, y), store = rows(2), allocate_precise(2, True, ROWS)
    slide(store, X, y, 30, 90)
    open_precise(store).total[:] = 0.0
    assert follow_precise(store, 30, 90, 30)
    assert seen_by(store) == 60
    assert list(wrong_precise_sums(store, X[30:], y[30:], 0)) == []
    assert follow_precise(store, 0, 60 + 64 + 15, 0)
    assert not follow_precise(store, 0, 60 + 64 + 50, 0)
    assert seen_by(store) == NEVER

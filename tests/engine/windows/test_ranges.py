"""Ranges of rows, eight at once: each equals a fit of its own rows."""

from __future__ import annotations

import numpy as np
import pytest

from efface.engine.events.state import FIXED, Rule
from efface.engine.jit.views import weighed
from efface.engine.linalg.dense import SAFE
from efface.engine.linalg.refit import refit
from efface.engine.windows.lane_fits import LaneFits
from efface.engine.windows.ranges import ALONE, Ranges, solve_ranges

RNG = np.random.default_rng(5)


def rows(n, d, shift=0.0, weights=None):
    X = RNG.normal(size=(n, d)) + shift
    y = X @ RNG.normal(size=d) + RNG.normal(size=n)
    return X, weighed(y, weights)


def windows(keys, n, s):
    """Windows of at most s rows before each row, for keys of n rows each."""
    hi = np.arange(keys * n)
    return np.maximum(hi // n * n, hi - s), hi


def solved(X, y, lo, hi, alpha, intercept, unit=1, **wanted):
    chosen = {"coef": True, "gauges": False, "rank": False, **wanted}
    found = LaneFits.empty(lo.size, X.shape[1], **chosen)
    solve_ranges(Ranges(X, y, lo, hi, X, hi), Rule(FIXED, alpha), intercept, found, unit=unit)
    return found


@pytest.mark.parametrize("alpha", [0.0, 0.7])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(("d", "shift"), [(1, 0.0), (3, 1e4), (6, 0.0)])
@pytest.mark.parametrize("weighted", [False, True])
def test_each_range_equals_a_fit_of_its_rows(alpha, intercept, d, shift, weighted):
    weights = RNG.choice([0.0, 0.5, 2.0], size=60) if weighted else None
    X, y = rows(60, d, shift, weights)
    lo, hi = windows(3, 20, 9)
    found = solved(X, y, lo, hi, alpha, intercept)
    safe = np.flatnonzero(found.margin >= SAFE)
    assert safe.size >= (0 if shift and not intercept else 20)
    for k in safe:
        coef = np.empty(d)
        level, _ = refit(X[lo[k] : hi[k]], y[lo[k] : hi[k]], alpha, intercept, coef)
        scale = max(np.abs(coef).max(), 1e-3)
        np.testing.assert_allclose(found.coef[k], coef, rtol=0, atol=1e-9 * scale)
        np.testing.assert_allclose(found.states[2, k], level, rtol=1e-9, atol=1e-9 * (1 + shift))
        expected = X[hi[k]] @ coef + level
        np.testing.assert_allclose(found.states[0, k], expected, rtol=1e-8, atol=1e-9 * (1 + shift))


def test_ranges_without_rows_and_singular_ones_are_not_safe():
    X, y = np.ones((6, 2)), weighed(np.arange(6.0))
    lo, hi = np.array([0, 0, 2]), np.array([0, 4, 5])
    found = solved(X, y, lo, hi, 0.0, False)
    assert (found.margin < SAFE).all()


def test_the_result_of_a_range_does_not_depend_on_other_keys():
    X, y = rows(40, 3)
    lo, hi = windows(2, 20, 8)
    both = solved(X, y, lo, hi, 0.5, True)
    alone = solved(X[20:], y[20:], lo[20:] - 20, hi[20:] - 20, 0.5, True)
    assert np.array_equal(both.states[:, 20:], alone.states, equal_nan=True)
    assert np.array_equal(both.coef[20:], alone.coef, equal_nan=True)


def test_ranges_that_share_no_rows_need_no_sliding_sums():
    X, y = rows(40, 3)
    lo, hi = np.array([0, 10, 25]), np.array([9, 22, 39])
    one = solved(X, y, lo, hi, 0.5, True)
    other = solved(X, y, lo, hi, 0.5, True, unit=ALONE)
    np.testing.assert_allclose(one.coef, other.coef, rtol=0, atol=1e-13)


@pytest.mark.parametrize("length", [9, 40])
def test_ranges_may_come_in_any_order(length):
    X, y = rows(400, 3)
    lo = np.arange(0, 400 - length, 7)
    order = RNG.permutation(lo.size)
    sorted_, mixed = (
        solved(X, y, starts, starts + length, 0.5, True) for starts in (lo, lo[order])
    )
    np.testing.assert_allclose(mixed.coef, sorted_.coef[order], rtol=0, atol=1e-12)

"""Ranges of rows equal a model that learns them one by one, whichever way they are solved."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_models import MODELS

from efface.live.policies import KeepAll
from efface.live.range_replay import RangeReplay, RowRanges
from efface.live.trace import Asked

MEASURES = (
    "n_rows",
    "penalty",
    "leverage",
    "image_square",
    "unexplained",
    "scatter",
    "size",
    "total_weight",
)
EVERYTHING = Asked(coef=True, diagnostics=True, gauges=True)


def ranges(seed, d=2, keys=3, n=12, s=7, weights=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(keys * n, d))
    y = X @ rng.normal(size=d) + rng.normal(size=keys * n)
    w = rng.choice([0.0, 1.0, 2.5], size=keys * n) if weights else np.ones(keys * n)
    hi = np.arange(keys * n)
    return RowRanges(X, y, w, np.maximum(hi // n * n, hi - s), hi)


def rows_of(windows, k):
    rows = slice(windows.lo[k], windows.hi[k])
    return windows.X[rows], windows.y[rows], windows.weights[rows]


def solver(kind, d, intercept, standardize=False):
    model = MODELS[kind](window=KeepAll(), fit_intercept=intercept, standardize=standardize)
    return model._start(d).solver


def close(one, other):
    scale = max(1.0, np.abs(np.where(np.isfinite(other), other, 0.0)).max(initial=0.0))
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-9 * scale)


@settings(deadline=None, max_examples=40)
@given(
    st.sampled_from(sorted(MODELS)),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.integers(0, 9999),
)
def test_a_replay_equals_the_solver_row_by_row(kind, intercept, weights, standardize, seed):
    windows = ranges(seed, weights=weights and kind in ("OLS", "Ridge"))  # see docs/weights.md
    mine = solver(kind, 2, intercept, standardize)
    trace = RangeReplay(mine).replay(windows, EVERYTHING, [20, 35])
    own = solver(kind, 2, intercept, standardize)
    none = np.zeros(1, np.int64)
    for k in range(windows.lo.size):
        X, y, w = rows_of(windows, k)
        own.replace(X, y, w)
        at = windows.hi[k]
        row = windows.X[at : at + 1], windows.y[at : at + 1], none, none
        right = own.replay(*row, EVERYTHING)
        for name in ("prediction", "penalty", "intercept", "coef"):
            close(getattr(trace, name)[k], getattr(right, name)[0])
        assert trace.n_rows[k] == right.n_rows[0]
        assert trace.rank[k] == right.rank[0]
        if right.gauges.n_rows[0] > 2 + intercept:
            close(trace.leverage_new[k], right.leverage_new[0])
            close(trace.frt[k], right.frt[0])
        for name in MEASURES if right.gauges.n_rows[0] > 2 + intercept else ():
            close(getattr(trace.gauges, name)[k], getattr(right.gauges, name)[0])
    assert np.flatnonzero(~np.isnan(trace.condition)).tolist() in ([20, 35], [35])
    assert mine.n_rows == 0


@pytest.mark.parametrize("kind", sorted(MODELS))
def test_fits_and_gauges_equal_the_solver(kind):
    windows, rows = ranges(3), np.random.default_rng(1).normal(size=(36, 2))
    mine, own = solver(kind, 2, True), solver(kind, 2, True)
    fits = RangeReplay(mine, workers=2).fit(windows)
    prediction, gauges = RangeReplay(mine).gauge(windows, rows, np.arange(36))
    for k in range(windows.lo.size):
        X, y, w = rows_of(windows, k)
        own.replace(X, y, w)
        close(fits.coef[k], own.coef)
        close(fits.intercept[k], own.intercept)
        close(fits.penalty[k], own.penalty_value)
        close(prediction[k], rows[k] @ own.coef + own.intercept)
        if len(y) > 3:  # rows that are fitted exactly have no spread
            right = own.gauge(rows[k : k + 1])
            for name in MEASURES:
                close(getattr(gauges, name)[k], getattr(right, name)[0])


@pytest.mark.parametrize("kind", ["Ridge", "AutoRidge"])
def test_threads_change_no_bit(kind):
    windows = ranges(5, keys=900, n=12)
    nothing = Asked(False, False, False)
    one, two = (
        RangeReplay(solver(kind, 2, True), workers).replay(windows, nothing) for workers in (1, 2)
    )
    assert np.array_equal(one.prediction, two.prediction)

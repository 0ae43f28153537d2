"""Windows with a half-life equal weighted refits of their rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import polars_ds
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from twins import half_life as naive

from efface import KeepFor, Ridge, replay, rolling
from efface.batch.fading_windows import blocks


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = 120, draw(st.integers(1, 4))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4, size=d)
    y = X @ rng.normal(size=d) + rng.normal(size=n)
    if draw(st.booleans()):
        X[30] *= 1e6  # and later nothing of it remains
    weights = rng.uniform(0.2, 4.0, size=n) if draw(st.booleans()) else None
    return X, y, weights


def assert_same(found, X, y, expected, t, weights=1.0):
    coef, level = expected
    unit = max(np.abs(coef * np.abs(X).max(axis=0)).max(), abs(level), 1e-300)
    weighted = X * np.sqrt(weights * np.ones(len(X)))[:, np.newaxis]
    condition = np.linalg.cond(weighted / np.linalg.norm(weighted, axis=0))
    unit *= max(1.0, condition / 1e4)  # the refit loses as many digits
    assert np.abs((found.coef[t] - coef) * np.abs(X).max(axis=0)).max() <= 1e-9 * unit
    assert abs(found.intercept[t] - level) <= 1e-9 * unit


@given(
    problems(),
    st.sampled_from([None, 12, 40]),
    st.sampled_from([0.3, 1.0, 4.5, 30.0, 1000.0]),
    st.booleans(),
    st.sampled_from([0.0, 0.0, 0.5]),
)
@settings(deadline=None, max_examples=60)
def test_every_window_equals_a_weighted_refit(problem, window, halflife, intercept, alpha):
    X, y, w = problem
    d = X.shape[1]
    options = {"alpha": alpha, "fit_intercept": intercept, "sample_weight": w}
    found = rolling(X, y, window, halflife=halflife, min_rows=1, **options)
    times = np.arange(len(y))
    parts = naive.windows(times, window or len(y), halflife, np.ones(len(y)) if w is None else w)
    for t, (rows, weights) in enumerate(parts):
        # Rows whose weights are far below those of d + 1 others cannot be told from rounding.
        enough = np.sort(weights)[::-1][: d + 1 + intercept]
        if (len(enough) == d + 1 + intercept and enough[-1] > 1e-3) or (alpha and t % 7 == 0):
            refit = naive.refit(X[rows], y[rows], weights, alpha, intercept)
            assert_same(found, X[rows], y, refit, t, weights)


@pytest.mark.parametrize("window", [None, "40s", KeepFor("15s")])
def test_a_half_life_in_time_equals_a_weighted_refit(window):
    rng = np.random.default_rng(1)
    n = 400
    X, y = rng.normal(size=(n, 2)), rng.normal(size=n)
    seconds = np.cumsum(rng.integers(0, 5, size=n)).astype(float)
    at = np.datetime64("2024-01-01", "s") + seconds.astype(int)
    found = rolling(X, y, window, halflife="6s", at=at, fit_intercept=True, min_rows=6)
    length = {None: np.inf, "40s": 40.0}.get(window, 15.0)
    parts = list(naive.windows(seconds, length, 6.0, np.ones(n)))
    for t in range(30, n, 5):
        rows, weights = parts[t]
        if len(rows) >= 6:
            assert_same(found, X[rows], y, naive.refit(X[rows], y[rows], weights, 0.0, True), t)
    numeric = rolling(X, y, KeepFor(15.0), halflife=6.0, at=seconds, min_rows=6)
    exact = rolling(X, y, "15s", halflife="6s", at=at, min_rows=6)
    np.testing.assert_allclose(numeric.coef, exact.coef, rtol=1e-9)


def test_statistics_are_those_of_weighted_least_squares():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(900, 2)), rng.normal(size=900)
    found = rolling(X, y, 40, halflife=4.0, fit_intercept=True, stats=True)
    robust = rolling(X, y, 40, halflife=4.0, fit_intercept=True, stats="HC1").stats
    weights = 2.0 ** (-np.arange(40)[::-1] / 4.0)
    for t in (39, 200, 633, 640, 899):
        rows = slice(t - 39, t + 1)
        model = sm.WLS(y[rows], sm.add_constant(X[rows], prepend=False), weights=weights)
        theirs, hc1 = model.fit(), model.fit(cov_type="HC1")
        np.testing.assert_allclose(found.stats.bse[t], theirs.bse[:2], rtol=1e-9)
        np.testing.assert_allclose(found.stats.intercept_bse[t], theirs.bse[2], rtol=1e-9)
        np.testing.assert_allclose(found.stats.scale[t], theirs.scale, rtol=1e-9)
        np.testing.assert_allclose(found.stats.rsquared[t], theirs.rsquared, rtol=1e-9)
        np.testing.assert_allclose(robust.bse[t], hc1.bse[:2], rtol=1e-9)


def test_a_window_with_a_half_life_equals_polars_ds():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(500, 3)), rng.normal(size=500)
    frame = pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": y})
    fit = polars_ds.rolling_lin_reg("a", "b", "c", target="y", window_size=60, half_life=10.0)
    theirs = frame.select(fit.alias("f"))["f"].struct.field("coeffs")[59:].to_list()
    ours = rolling(X, y, 60, halflife=10.0, fit_intercept=False).coef[59:]
    np.testing.assert_allclose(ours, np.array(theirs), rtol=1e-6)


def test_the_mean_equals_that_of_pandas():
    y = np.random.default_rng(4).normal(size=300)
    theirs = pd.Series(y).ewm(halflife=7.0).mean()
    ones = np.ones((300, 1))
    ours = rolling(ones, y, None, halflife=7.0, fit_intercept=False).coef[:, 0]
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


def test_groups_fade_each_for_itself():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(300, 2)), rng.normal(size=300)
    groups = rng.integers(0, 3, size=300)
    found = rolling(X, y, 30, halflife=3.0, groups=groups)
    for group in range(3):
        rows = groups == group
        alone = rolling(X[rows], y[rows], 30, halflife=3.0)
        np.testing.assert_array_equal(found.coef[rows], alone.coef)


def test_nothing_remains_of_a_huge_row_after_53_half_lives():
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(400, 2)), rng.normal(size=400)
    clean = rolling(X[101:], y[101:], None, halflife=2.0).coef[200]
    X[100] *= 1e12
    y[100] = 1e12
    assert rolling(X, y, None, halflife=2.0).coef[301] == pytest.approx(clean, rel=1e-12)


def test_blocks_contain_their_windows():
    ages, starts = np.arange(1000) / 2.0, np.maximum(np.arange(1000) - 105, 0)
    found = list(blocks(ages, starts))
    assert [block.start for block in found] == [0, *(block.stop for block in found[:-1])]
    assert found[-1].stop == 1000
    for first, start, stop in found:
        assert first == starts[start]
        assert ages[stop - 1] - ages[first] <= 160


@pytest.mark.parametrize(("alpha", "window"), [(0.0, 40), (0.7, None)])
def test_intervals_are_those_of_a_model_with_the_half_life(alpha, window):
    rng = np.random.default_rng(8)
    X, y = rng.normal(size=(200, 2)), rng.normal(size=200)
    options = {"interval": 0.9, "method": "gaussian"}
    found = rolling(X, y, window, halflife=9.0, alpha=alpha, min_rows=3, **options)
    model = Ridge(window, alpha=alpha, halflife=9.0)
    expected = replay(model, X, y, **options)
    np.testing.assert_allclose(found.lower[3:], expected.lower[3:], rtol=1e-9)
    np.testing.assert_allclose(found.upper[3:], expected.upper[3:], rtol=1e-9)
    X[150, 0] = np.nan  # predicted by no one, learned by no one
    skipped = rolling(X, y, window, halflife=9.0, alpha=alpha, missing="skip", **options)
    assert np.isnan(skipped.lower[150])
    assert np.isfinite(skipped.lower[151])

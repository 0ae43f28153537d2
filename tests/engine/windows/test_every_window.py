"""Coefficients of every window of an array, against exact refits."""

import numpy as np
import pytest
from designs import kahan
from twins import regression as naive

from efface.engine.windows import every_window
from efface.engine.windows.every_window import slide_windows

SHAPES = [(1, 1), (1, 4), (3, 2), (4, 4), (5, 6), (6, 30), (30, 12), (31, 70)]


def windows(X, s, first):
    return ((t, slice(max(0, t - s + 1), t + 1)) for t in range(first, len(X)))


def assert_equal_to_refits(X, y, s, penalty, intercept, tolerance=1e-9):
    coef, level, rank = slide_windows(X, y, s, penalty, intercept, 0)
    for t, rows in list(windows(X, s, 0))[:: 1 + X.shape[1] // 4]:
        exact, b, r = naive.regress(X[rows], y[rows], penalty, intercept)
        unit = np.abs(X[rows] - X[rows].mean(0) * intercept).max(axis=0)
        unit[unit == 0] = 1.0
        scale = max(np.abs(exact * unit).max(), 1e-3 * np.abs(y[rows]).max(), 1e-300)
        assert np.abs((coef[t] - exact) * unit).max() <= tolerance * scale, (t, coef[t], exact)
        assert abs(level[t] - b) <= tolerance * max(scale, abs(b), *np.abs(X[t] * exact))
        if penalty == 0.0:
            assert rank[t] == r, t


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("penalty", [0.0, 1e-3, 1.0])
@pytest.mark.parametrize(("d", "s"), SHAPES)
def test_every_window_equals_a_refit(d, s, penalty, intercept):
    rng = np.random.default_rng(d * 100 + s)
    n = min(2 * s + 25, 90)
    X = rng.normal(size=(n, d))
    assert_equal_to_refits(X, X @ rng.normal(size=d) + rng.normal(size=n), s, penalty, intercept)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(("d", "s", "sine"), [(12, 60, 0.7), (25, 90, 0.84), (34, 110, 0.92)])
def test_windows_far_closer_to_singular_than_their_pivots_show(d, s, sine, intercept):
    rng = np.random.default_rng(d)
    X = rng.normal(size=(s + 20, d)) @ kahan(d, sine)
    y = X @ rng.normal(size=d) + rng.normal(size=s + 20)
    coef, _, rank = slide_windows(X, y, s, 0.0, intercept, s - 1)
    for t in range(s - 1, s + 20, 7):
        exact, _ = naive.solve_exactly(X[t - s + 1 : t + 1], y[t - s + 1 : t + 1], 0.0, intercept)
        np.testing.assert_allclose(coef[t], exact, atol=1e-12 * np.abs(exact).max())
        assert rank[t] == d


def test_a_row_1e8_times_larger_has_no_effect_after_it_left():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 6)), rng.normal(size=120)
    X[30] *= 1e8
    coef, _, _ = slide_windows(X, y, 40, 0.0, False, 39)
    for t in range(70, 120):
        exact, _ = naive.solve_exactly(X[t - 39 : t + 1], y[t - 39 : t + 1], 0.0, False)
        np.testing.assert_allclose(coef[t], exact, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(("s", "rows"), [(20, 60), (60, 130)])
@pytest.mark.parametrize("kind", ["plain", "scaled", "rotated"])
def test_rank_that_rises_and_falls(s, rows, kind):
    rng = np.random.default_rng(s)
    X = np.eye(20)[rng.integers(0, 20, size=rows)]
    if kind == "scaled":
        X = X * rng.uniform(0.1, 10.0, size=(rows, 1))
    if kind == "rotated":
        X = X @ np.linalg.qr(rng.normal(size=(20, 20)))[0]
    y = rng.normal(size=rows)
    coef, _, rank = slide_windows(X, y, s, 0.0, False, 0)
    for t, window in windows(X, s, 0):
        answer, _, r, _ = np.linalg.lstsq(X[window], y[window], rcond=None)
        np.testing.assert_allclose(coef[t], answer, atol=1e-10)
        assert rank[t] == r


def test_windows_before_the_first_row_are_nan():
    coef, level, rank = slide_windows(np.ones((9, 2)), np.ones(9), 4, 1.0, True, 3)
    assert np.isnan(coef[:3]).all()
    assert np.isnan(level[:3]).all()
    assert not np.isnan(coef[3:]).any()
    assert rank[:3].tolist() == [0, 0, 0]


@pytest.mark.parametrize("d", [3, 40])
def test_windows_do_not_depend_on_earlier_rows(d):
    """The same window in a shorter array has the same coefficients."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(160, d)), rng.normal(size=160)
    late = slide_windows(X, y, 60, 0.0, False, 59)[0]
    early = slide_windows(np.ascontiguousarray(X[37:]), y[37:].copy(), 60, 0.0, False, 59)[0]
    np.testing.assert_allclose(late[96:], early[59:], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("penalty", [0.0, 0.5])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("d", [2, 40])
def test_windows_without_weight_have_zero_coefficients(d, intercept, penalty):
    rng = np.random.default_rng(3)
    X, y, w = rng.normal(size=(40, d)), rng.normal(size=40), np.ones(40)
    w[10:30] = 0.0
    coef, level, rank = slide_windows(X, y, 8, penalty, intercept, 2, w)
    assert np.isnan(coef[:2]).all()
    assert (coef[17:30] == 0.0).all()
    assert (level[17:30] == 0.0).all()
    assert (rank[17:30] == 0).all()
    assert np.isfinite(coef[2:]).all()


@pytest.mark.parametrize("d", [6, 40])
@pytest.mark.parametrize("penalty", [0.0, 0.5])
def test_features_that_depend_on_each_other_in_all_rows_need_no_refit(d, penalty, monkeypatch):
    rng = np.random.default_rng(d)
    n, s = 300, 3 * d
    X = np.hstack([np.eye(4)[rng.integers(0, 4, n)], rng.normal(size=(n, d - 4))])
    y = X @ rng.normal(size=d) + rng.normal(size=n)
    left = []

    def fit_precisely(starts, ends, *_):
        left.extend(ends)
        return ends[:0]

    monkeypatch.setattr(every_window, "fit_precisely", fit_precisely)
    coef, level, rank = slide_windows(X, y, s, penalty, True, s - 1)
    assert left == []
    for t in range(s - 1, n, 37):
        rows = slice(t + 1 - s, t + 1)
        Z, around = X[rows] - X[rows].mean(axis=0), y[rows] - y[rows].mean()
        if penalty:
            right = np.linalg.solve(Z.T @ Z + penalty * np.eye(d), Z.T @ around)
        else:
            right = np.linalg.lstsq(Z, around, rcond=1e-12)[0]
            assert rank[t] == d - 1
        assert coef[t] == pytest.approx(right, rel=1e-8, abs=1e-9)
        assert level[t] == pytest.approx(y[rows].mean() - X[rows].mean(axis=0) @ right, abs=1e-8)

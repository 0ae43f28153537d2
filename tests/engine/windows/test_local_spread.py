"""The regression of the spread: its link, its parts, and the noise that it finds."""

from __future__ import annotations

import numpy as np
import pytest
from twins import intervals as naive

from efface.engine.windows.local_widths import Fits, Penalisation, local_widths

PLAIN = Penalisation(True, True, 0)


def windows(n, s, d, seed=0, noise=lambda X: np.ones(len(X))):
    """Rows, and a window of s rows before each row from the s-th on, fitted by least squares."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = 2.0 + X @ np.ones(d) + noise(X) * rng.normal(size=n)
    last = np.arange(s, n)
    found = [naive.Window(X[t - s : t], y[t - s : t], ("OLS", {}), True) for t in last]
    coef = np.array([window.coef for window in found])
    level = np.array([window.level for window in found])
    fits = Fits(X[last], last - s, last, coef, level, np.zeros(last.size))
    return X, y, fits, found


def half_widths(X, y, fits, alpha=0.1, normal=1.6448536269514722, weights=None):
    weights = np.ones(len(y)) if weights is None else weights
    return local_widths(X, y, weights, fits, PLAIN, alpha, normal)


def test_widths_equal_those_of_whole_hat_matrices():
    X, y, fits, found = windows(90, 60, 3, noise=lambda X: np.exp(0.5 * X[:, 0]))
    got = half_widths(X, y, fits)
    for t, window in enumerate(found):
        x = fits.rows[t]
        student = naive.stats.t.ppf(0.95, window.freedom()) / naive.stats.norm.ppf(0.95)
        want = naive.local(window, x, 0.9) / student / np.sqrt(1 + window.leverage(x))
        assert got[t] == pytest.approx(want, rel=1e-10)


def test_the_spread_follows_the_noise_of_a_row():
    """Noise of deviation exp(x) grows by e^2 from x = -1 to x = 1; its estimate is shrunk."""
    X, y, fits, _ = windows(401, 400, 3, seed=3, noise=lambda X: np.exp(X[:, 0]))
    rows = np.zeros((2, 3))
    rows[:, 0] = -1.0, 1.0
    twice = Fits(rows, *(np.repeat(each, 2, axis=0) for each in fits[1:]))
    quiet, loud = half_widths(X, y, twice)
    assert 2.5 < loud / quiet < 9.0


def test_noise_of_constant_spread_has_nearly_constant_widths():
    X, y, fits, _ = windows(500, 400, 3)
    widths = half_widths(X, y, fits)
    assert np.median(widths) == pytest.approx(1.645, rel=0.15)
    assert widths.std() / widths.mean() < 0.15


def test_new_rows_of_one_window_share_its_regression():
    X, y, fits, _ = windows(62, 60, 2)
    one = Fits(*(each[:1] for each in fits))
    many = Fits(X[:5], *(np.repeat(each[:1], 5, axis=0) for each in fits[1:]))
    together = half_widths(X, y, many)
    for t in range(5):
        assert half_widths(X, y, one._replace(rows=X[t : t + 1]))[0] == together[t]


@pytest.mark.parametrize("origin", [1e3, 1e7])
def test_features_far_from_zero_keep_their_digits(origin):
    """Sums are around a mean of earlier rows: where digits are lost, rows are summed again."""
    X, y, fits, _ = windows(90, 60, 2)
    away = np.array([origin, 0.0])
    moved = fits._replace(rows=fits.rows + away, intercept=fits.intercept - fits.coef @ away)
    assert half_widths(X + away, y, moved) == pytest.approx(half_widths(X, y, fits), rel=1e-6)


def test_a_jump_of_the_features_keeps_their_digits():
    X, y, _, _ = windows(90, 60, 2)
    X[45:] += 1e9
    fits = Fits(X[89:], np.array([46]), np.array([89]), *(np.ones((1, 2)), np.zeros(1), np.ones(1)))
    alone = half_widths(X[46:], y[46:], fits._replace(first=fits.first - 46, last=fits.last - 46))
    both = Fits(*(np.concatenate([each, each]) for each in fits))
    both.first[0], both.last[0] = 20, 60
    assert half_widths(X, y, both)[1] == pytest.approx(alone[0], rel=1e-6)


def test_exact_fits_have_no_width():
    X, _, fits, _ = windows(62, 60, 2)
    flat = fits._replace(coef=np.zeros_like(fits.coef), intercept=np.full(2, 5.0))
    assert (half_widths(X, np.full(62, 5.0), flat) == 0.0).all()

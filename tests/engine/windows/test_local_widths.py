"""Windows of local widths: which rows are used, and what no window keeps."""

from __future__ import annotations

import numpy as np
import pytest

from efface.engine.windows.local_widths import LEAST_ROWS, Fits, Penalisation, local_widths

PLAIN = Penalisation(True, True, 0)


def data(n, d=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=n)


def one_window(X, first, last, row=0):
    d = X.shape[1]
    bounds = np.array([first]), np.array([last])
    return Fits(X[row : row + 1], *bounds, np.zeros((1, d)), np.zeros(1), np.zeros(1))


def width(X, y, fits, weights=None, form=PLAIN):
    weights = np.ones(len(y)) if weights is None else weights
    return local_widths(X, y, weights, fits, form, 0.1, 1.6448536269514722)[0]


def test_a_window_has_the_same_width_alone_and_among_others():
    """Nothing of one window reaches the next: not even a row 1e8 times larger."""
    X, y = data(80)
    X[10], y[10] = 1e8, 1e8
    many = Fits(
        *(np.concatenate([one_window(X, t, t + 40)[k] for t in range(30)]) for k in range(6))
    )
    together = local_widths(X, y, np.ones(80), many, PLAIN, 0.1, 1.6448536269514722)
    for t in range(11, 30):
        assert together[t] == pytest.approx(width(X, y, one_window(X, t, t + 40)), rel=1e-9)


def test_rows_of_weight_zero_count_for_their_age_alone():
    X, y = data(60)
    weights = np.ones(60)
    weights[::7] = 0.0
    wild = np.where(weights > 0.0, y, 1e9)
    fits = one_window(X, 0, 60)
    assert width(X, wild, fits, weights) == width(X, y, fits, weights)


def test_too_few_rows_have_no_width():
    X, y = data(60)
    assert np.isnan(width(X, y, one_window(X, 0, LEAST_ROWS - 1)))
    assert np.isfinite(width(X, y, one_window(X, 0, LEAST_ROWS)))


def test_the_newest_thousand_rows_of_a_large_window_are_used():
    X, y = data(1_500)
    fits = one_window(X, 0, 1_500)
    far = y.copy()
    far[:500] = 1e6
    assert width(X, far, fits) == width(X, y, fits)
    far[500] = 1e6
    assert width(X, far, fits) != width(X, y, fits)


def test_a_row_that_no_other_row_predicts_is_left_out():
    X, y = data(60)
    X[:, 1] = np.arange(60) == 30
    level = y.mean()
    fits = one_window(X, 0, 60, row=1)
    fits = fits._replace(coef=np.array([[0.0, y[30] - level]]), intercept=np.array([level]))
    other = fits._replace(coef=np.array([[0.0, 1e6 - level]]))
    far = np.where(np.arange(60) == 30, 1e6, y)
    assert width(X, far, other) == pytest.approx(width(X, y, fits), rel=1e-9)


@pytest.mark.parametrize("power", [0, 1, 2])
def test_a_penalty_is_scaled_by_deviations(power):
    """Features in other units, and a penalty that follows them, have the same widths."""
    X, y = data(60)
    form = Penalisation(True, True, power)
    units = np.array([1.0, 1e3])
    fits = one_window(X, 0, 60)._replace(penalty=np.array([5.0]))
    scaled = fits._replace(rows=fits.rows * units)
    if power == 2:
        assert width(X * units, y, scaled, None, form) == pytest.approx(
            width(X, y, fits, None, form), rel=1e-9
        )
    else:
        assert width(X * units, y, scaled, None, form) != width(X, y, fits, None, form)

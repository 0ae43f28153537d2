"""Designs without their constant features, against the designs as they are."""

import numpy as np
import pytest
from twins import regression as naive

from efface.engine.windows.constants import varying_features
from efface.engine.windows.every_window import slide_windows


def design(constants, n=40, seed=0):
    """Two features that vary, around 100, and constant features between them."""
    X = np.random.default_rng(seed).normal(100.0, 1.0, size=(n, 2 + len(constants)))
    X[:, 1:-1] = constants
    return X


@pytest.mark.parametrize("penalty", [0.0, 0.5])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("constants", [[3.0], [0.0], [1.0, -2.0], [0.0, 4.0], [1e-170], [1e140]])
@pytest.mark.parametrize("s", [2, 3, 4, 12])
def test_windows_with_constant_features_equal_a_refit(s, constants, intercept, penalty):
    X, y = design(constants), np.random.default_rng(1).normal(size=40)
    coef, level, rank = slide_windows(X, y, s, penalty, intercept, 0)
    for t in range(0, 40, 3):
        rows = slice(max(0, t - s + 1), t + 1)
        exact, b, r = naive.regress(X[rows], y[rows], penalty, intercept)
        unit = np.abs(X[0])
        assert np.abs((coef[t] - exact) * unit).max() <= 1e-9 * max(np.abs(exact * unit).max(), 1.0)
        assert level[t] == pytest.approx(b, abs=1e-9 * max(np.abs(exact * unit).max(), 1.0))
        if penalty == 0.0:
            assert rank[t] == r


def test_a_column_that_is_constant_in_a_window_alone_is_kept():
    X = design([5.0])
    X[20, 1] = 6.0
    assert varying_features(X, 10, 0.0, False).varying.all()
    coef, _, rank = slide_windows(X, X[:, 0], 6, 0.0, False, 0)
    assert (rank[5:] == 3).all()
    np.testing.assert_allclose(coef[5:], [[1.0, 0.0, 0.0]] * 35, atol=1e-9)


@pytest.mark.parametrize("rows", [0, 1])
def test_columns_of_too_few_rows_are_kept(rows):
    assert varying_features(np.ones((rows, 2)), 5, 0.0, False).varying.all()


def test_a_penalised_constant_is_no_intercept():
    assert varying_features(design([5.0]), 10, 1.0, False).varying.all()
    assert not varying_features(design([5.0]), 10, 1.0, True).varying.all()

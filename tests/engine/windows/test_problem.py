"""One problem, two ways to solve it: both fill the same estimates."""

import numba
import numpy as np
import pytest

from efface.engine.jit.compilation import KERNEL
from efface.engine.jit.views import weighed
from efface.engine.linalg.dense import SAFE
from efface.engine.windows.few_features import slide_few_features
from efface.engine.windows.many_features import slide_many_features
from efface.engine.windows.problem import Estimates, Problem, add_null, free_directions


def estimates(n, d):
    return Estimates(np.full((n, d), np.nan), np.full(n, np.nan), np.zeros(n))


@pytest.mark.parametrize("intercept", [False, True])
def test_few_and_many_features_give_the_same_estimates(intercept):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    problem = Problem(X, weighed(y), 20, 0.5, intercept)
    few, many = estimates(60, 3), estimates(60, 3)
    slide_few_features(problem, 10, few)
    assert slide_many_features(problem, 10, 60, many) == 60
    assert (few.margin[10:] >= SAFE).all()
    assert (many.margin[10:] >= SAFE).all()
    np.testing.assert_allclose(few.coef[10:], many.coef[10:], rtol=1e-10)
    np.testing.assert_allclose(few.level[10:], many.level[10:], rtol=1e-10, atol=1e-12)
    assert np.isnan(few.coef[:10]).all()


@numba.njit(**KERNEL)
def added(null, total, penalty):
    add_null(null, total)
    return free_directions(null, penalty)


def test_null_directions_are_added_and_their_degrees_of_freedom_are_known():
    v = np.array([[1.0, 2.0, 2.0]]) / 3.0
    total, null = np.ones((5, 5)), 7.0 * v.T @ v
    missing = added(null, total, 0.5)
    assert np.tril(total[:3, :3]) == pytest.approx(np.tril(1.0 + null))
    assert (total[3:] == 1.0).all()
    assert missing == pytest.approx(0.5 * (1.0 / 0.5 - 1.0 / 7.5))
    assert added(np.zeros((0, 1)), total, 0.5) == 0.0

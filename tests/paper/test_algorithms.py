"""Algorithms 1 and 2 as the paper writes them, against the models of the package."""

from __future__ import annotations

import numpy as np
import pytest

from efface import OLS, AdaptiveRidge, replay
from efface.paper.algorithms import fifd_adaptive_ridge, fifd_ols
from efface.theory import slide_inverse


def stream(d, rows, seed=0):
    rng = np.random.default_rng([seed, d, rows])
    X = rng.standard_normal((rows, d))
    return X, X @ rng.standard_normal(d) + 0.5 * rng.standard_normal(rows)


@pytest.mark.parametrize(("d", "s"), [(1, 5), (3, 10), (8, 12), (10, 50), (6, 4)])
def test_algorithm_1_is_the_twin_of_ols(d, s):
    X, y = stream(d, s + 40)
    predictions, estimates = fifd_ols(X, y, s)
    found = replay(OLS(window=s, fit_intercept=False), X, y, coef=True)
    assert predictions == pytest.approx(found.prediction[s:], rel=1e-6, abs=1e-7)
    assert estimates == pytest.approx(found.coef[s:], rel=1e-6, abs=1e-7)


def test_algorithm_1_goes_on_where_the_rank_swings():
    """E34: unit vectors as in Fig. 2; the printed step divides by 0."""
    rng = np.random.default_rng(3)
    X = np.eye(5)[rng.integers(0, 5, 80)]
    y = X @ np.arange(5.0) + rng.standard_normal(80)
    assert len({int(np.linalg.matrix_rank(X[k : k + 6])) for k in range(74)}) > 1
    found = replay(OLS(window=6, fit_intercept=False), X, y)
    assert fifd_ols(X, y, 6)[0] == pytest.approx(found.prediction[6:], abs=1e-8)


def test_the_divisor_of_the_f_step_is_0_in_the_example_m2():
    """E34: e1 leaves the window e1..e4, and e2 comes."""
    e1, e2 = np.eye(4)[:2]
    with np.errstate(divide="ignore", invalid="ignore"):
        slid = slide_inverse(np.eye(4), e1, e2)
    assert not np.isfinite(slid).all()


@pytest.mark.parametrize(("d", "s"), [(1, 5), (3, 10), (30, 12), (10, 50)])
@pytest.mark.parametrize("delta", [0.05, 0.2])
def test_algorithm_2_is_the_twin_of_adaptive_ridge(d, s, delta):
    X, y = stream(d, s + 40)
    predictions, estimates, penalties = fifd_adaptive_ridge(X, y, s, delta=delta)
    model = AdaptiveRidge(window=s, fit_intercept=False, delta=delta)
    found = replay(model, X, y, coef=True)
    assert penalties == pytest.approx(found.penalty[s:], rel=1e-9)
    assert predictions == pytest.approx(found.prediction[s:], rel=1e-8, abs=1e-10)
    assert estimates == pytest.approx(found.coef[s:], rel=1e-8, abs=1e-10)

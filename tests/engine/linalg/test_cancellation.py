"""Coefficients whose terms cancel must still equal a refit."""

import numpy as np
import pytest
from twins import regression as naive

from efface import rolling
from efface.engine.jit.views import weighed
from efface.engine.linalg.cancellation import set_largest_terms
from efface.engine.linalg.refit import refit
from efface.live.event_solver import EventSolver
from efface.live.penalties import Fixed


def test_largest_term_of_each_coefficient():
    terms = np.full(2, 9.0)
    set_largest_terms(np.array([2.0, -3.0]), np.array([[1.0, -5.0], [2.0, 1.0]]), terms)
    assert terms.tolist() == [6.0, 10.0]


def error(coef, exact, X):
    """The largest error relative to the largest coefficient, in units of the features."""
    scale = np.abs(X).max(axis=0)
    return np.abs((coef - exact) * scale).max() / np.abs(exact * scale).max()


@pytest.mark.parametrize(
    ("d", "s", "alpha"),
    [
        *((d, s, a) for a in (0.0, 1.0) for d, s in ((1, 15), (3, 15), (3, 3), (40, 90))),
        (40, 30, 1),
    ],
)
def test_one_value_1e8_times_larger_than_all_others(d, s, alpha):
    """The coefficient of its feature is tiny, but the others are not: they fit the remainder."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(2 * s + 10, d)), rng.normal(size=2 * s + 10)
    giant = s + 5
    X[giant, 0] = 1e8
    solver = EventSolver(d, Fixed(alpha), intercept=False)
    windows = rolling(X, y, s, alpha=alpha, fit_intercept=False)
    for t in range(len(y)):
        solver.learn(X[t], y[t], int(solver.n_rows == s))
        found = solver.coef
        if t in (giant, giant + 1, giant + s // 2, giant + s - 1, giant + s):
            live = slice(t + 1 - s, t + 1)
            exact, _, _ = naive.regress(X[live], y[live], alpha, False)
            assert error(found, exact, X[live]) <= 1e-9
            assert error(windows.coef[t], exact, X[live]) <= 1e-9


@pytest.mark.parametrize("d", [2, 5])
@pytest.mark.parametrize("s", [5, 20])
def test_a_heavy_row_moves_the_mean_far_from_the_centre(d, s):
    """Pivots do not show it: features are tiny, so the penalty dominates the system."""
    rng = np.random.default_rng([d, s])
    X, y, w = 1e-8 * rng.normal(size=(3 * s, d)), rng.normal(size=3 * s), np.ones(3 * s)
    w[s + 2] = 1e8
    solver = EventSolver(d, Fixed(0.7), intercept=True)
    windows = rolling(X, y, s, alpha=0.7, fit_intercept=True, sample_weight=w)
    for t in range(3 * s):
        solver.learn(X[t], y[t], int(solver.n_rows == s), w[t])
        found, live = solver.coef, slice(max(0, t + 1 - s), t + 1)
        exact, _ = naive.solve_exactly(X[live], y[live], 0.7, True, w[live])
        assert np.abs(found - exact).max() <= 1e-9 * np.abs(exact).max()
        if t >= s - 1:
            assert np.abs(windows.coef[t] - exact).max() <= 1e-9 * np.abs(exact).max()


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("n", [2, 4, 7])
def test_few_or_repeated_rows_with_a_penalty_equal_exact_solutions(n, intercept):
    rng = np.random.default_rng(n)
    X = rng.integers(-2, 3, size=(2, 5)).astype(float)[rng.integers(0, 2, size=n)]
    X[:2] = rng.normal(size=(2, 5))
    y, w, coef = rng.normal(size=n), np.ones(n), np.empty(5)
    w[0] = 1e8
    for penalty in (1e-8, 1e-4, 1.0):
        refit(X, weighed(y, w), penalty, intercept, coef)
        exact, _ = naive.solve_exactly(X, y, penalty, intercept, w)
        assert np.abs(coef - exact).max() <= 1e-9 * np.abs(exact).max()

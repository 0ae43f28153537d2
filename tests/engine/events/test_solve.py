"""The solution has the present penalty, near that of the core or far from it."""

import numpy as np
import pytest
from twins import regression as naive

from efface.live.event_solver import EventSolver
from efface.live.penalties import Lemma3


def test_a_solution_after_a_jump_of_the_penalty_equals_a_refit():
    """A response that is 1000 times larger comes and leaves. Both times a new core is formed."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 4)), rng.normal(size=80)
    y[30] = 1000.0
    solver = EventSolver(4, Lemma3(), intercept=True)
    rule = ("AdaptiveRidge", {"delta": 0.05, "theta_max": 1.0})
    for t in range(80):
        solver.learn(X[t], y[t], int(solver.n_rows == 25))
        live = slice(max(0, t - 24), t + 1)
        coef, level, _, _ = naive.refit(X[live], y[live], rule, True)
        np.testing.assert_allclose(solver.coef, coef, rtol=1e-9, atol=1e-11)
        assert solver.intercept == pytest.approx(level, rel=1e-9, abs=1e-10)

import numpy as np
import pytest
from twins import regression as naive

from efface.live.event_solver import EventSolver
from efface.live.penalties import Lemma3


@pytest.mark.parametrize("intercept", [False, True])
def test_the_maximum_follows_the_live_rows_when_the_largest_row_leaves(intercept):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    X[10, 1] = 50.0
    solver = EventSolver(3, Lemma3(delta=0.1, theta_max=2.0), intercept=intercept)
    for t in range(60):
        solver.learn(X[t], y[t], int(solver.n_rows == 12))
        live = slice(max(0, t - 11), t + 1)
        expected = naive.adaptive_penalty(X[live], y[live], 0.1, 2.0, intercept)
        assert solver.penalty_value == pytest.approx(expected, rel=1e-12, abs=1e-300)


def test_with_an_intercept_a_shift_of_the_data_changes_nothing():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(40, 2)), rng.normal(size=40)
    here, there = (EventSolver(2, Lemma3(), intercept=True) for _ in range(2))
    here.extend(X, y)
    there.extend(X + 1000.0, y - 500.0)
    assert here.penalty_value == pytest.approx(there.penalty_value, rel=1e-11)
    np.testing.assert_allclose(here.coef, there.coef, rtol=1e-9)


def test_there_is_no_penalty_past_the_switch():
    rng = np.random.default_rng(2)
    solver = EventSolver(3, Lemma3(switch_at=2.0), intercept=False)
    penalties = []
    for _ in range(9):
        solver.learn(rng.normal(size=3), float(rng.normal()), 0)
        penalties.append(solver.penalty_value)
    assert penalties[0] == 0.0
    assert min(penalties[1:6]) > 0.0
    assert penalties[6:] == [0.0, 0.0, 0.0]


def test_a_constant_response_needs_no_penalty():
    solver = EventSolver(2, Lemma3(), intercept=False)
    solver.extend(np.eye(2), np.ones(2))
    assert solver.penalty_value == 0.0
    np.testing.assert_allclose(solver.coef, [1.0, 1.0])


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("scale", [1.0, 0.2])
def test_the_penalty_of_weighted_rows_equals_that_of_the_twin(intercept, scale):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(80, 3)) + 20.0, rng.normal(size=80) + 1e5
    w = scale * rng.integers(0, 4, size=80)
    X[30], y[30], w[30] = 1e8, 1e8, 0.0  # the largest row has no weight
    solver = EventSolver(3, Lemma3(delta=0.1, theta_max=2.0), intercept=intercept)
    for t in range(80):
        solver.learn(X[t], y[t], int(solver.n_rows == 12), w[t])
        live = slice(max(0, t - 11), t + 1)
        expected = naive.adaptive_penalty(X[live], y[live], 0.1, 2.0, intercept, w[live])
        assert solver.penalty_value == pytest.approx(expected, rel=1e-9, abs=1e-300)


def test_the_switch_is_at_a_sum_of_weights():
    rng = np.random.default_rng(4)
    solver = EventSolver(3, Lemma3(switch_at=2.0), intercept=False)
    penalties = []
    for weight in (0.0, 1.0, 0.5, 2.5, 2.0, 0.0, 0.5):
        solver.learn(rng.normal(size=3), float(rng.normal()), 0, weight)
        penalties.append(solver.penalty_value)
    assert penalties[:3] == [0.0, 0.0, 0.0]  # less than two rows
    assert min(penalties[3:6]) > 0.0
    assert penalties[6] == 0.0

"""A solver with a pilot fit: both are fits of the same rows after any events."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from row_events import event_lists, run_events
from twins import regression as naive

from efface.engine.events.pilot import AUTO, RESIDUAL
from efface.live.event_solver import EventSolver
from efface.live.penalties import Fixed, Lemma3
from efface.live.solvers import solver_for
from efface.live.standardized_solver import StandardizedSolver

PENALTY = Lemma3(theta_max=AUTO, noise=RESIDUAL)
RULE = ("AdaptiveRidge", {"delta": 0.05, "noise": "residual", "theta_max": "auto"})


@pytest.mark.parametrize("penalty", [Fixed(), Lemma3()])
def test_each_penalty_has_a_solver_for_plain_and_for_standardised_features(penalty):
    plain = solver_for(2, penalty, intercept=True, shrinks=True)
    standardised = solver_for(2, penalty, intercept=True, shrinks=True, standardize=True)
    assert type(plain) is EventSolver
    assert type(standardised) is StandardizedSolver


def test_only_a_penalty_that_needs_a_pilot_fit_has_a_store_for_it():
    for penalty in (Fixed(), Lemma3()):
        assert len(solver_for(2, penalty, intercept=True, shrinks=True).stores) == 1
    for penalty in (Lemma3(theta_max=AUTO), Lemma3(noise=RESIDUAL)):
        assert len(solver_for(2, penalty, intercept=True, shrinks=True).stores) == 2


@settings(deadline=None, max_examples=25)
@given(events=event_lists("llllredb", 40), intercept=st.booleans(), seed=st.integers(0, 99))
def test_any_interleaving_of_events_equals_a_refit(events, intercept, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 3)) * [1.0, 10.0, 0.1]
    y = X @ [1.0, -0.2, 3.0] + rng.normal(size=200)
    solver = EventSolver(3, PENALTY, intercept=intercept)
    run_events(solver, events, X, y, partial(check, intercept=intercept))


def check(solver, X, y, intercept):
    coef, level, penalty, _ = naive.refit(X, y, RULE, intercept)
    assert solver.penalty_value == pytest.approx(penalty, rel=1e-9)
    np.testing.assert_allclose(solver.coef, coef, rtol=1e-9, atol=1e-9)
    assert solver.intercept == pytest.approx(level, rel=1e-9, abs=1e-9)
    assert solver.rows.n_rows == len(y)


def test_removed_rows_are_in_neither_the_row_store_nor_the_stores():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(40, 2)), rng.normal(size=40)
    X[7] = 12345.678
    seen, never = (EventSolver(2, PENALTY, intercept=True) for _ in range(2))
    for t in range(40):
        seen.learn(X[t], y[t], 0)
        seen.predict(X[t])
    seen.remove(np.array([7, 30]))
    keep = np.delete(np.arange(40), [7, 30])
    never.extend(X[keep], y[keep])
    for kept in (*seen.rows.arrays, *seen.stores):
        assert 12345.678 not in kept
    assert seen.coef.tolist() == never.coef.tolist()
    for t in range(10):
        seen.learn(X[t], y[t], 1)
        never.learn(X[t], y[t], 1)
        assert seen.coef.tolist() == never.coef.tolist()
        assert seen.penalty_value == never.penalty_value


def test_rows_are_kept_once_with_a_pilot_fit():
    solver, plain = EventSolver(3, PENALTY, intercept=True), EventSolver(3, Fixed(), intercept=True)
    for each in (solver, plain):
        each.extend(np.eye(3), np.ones(3))
    assert solver.rows.nbytes == plain.rows.nbytes
    assert solver.working_store > plain.working_store + plain.stores[0].nbytes - 8


def test_replaced_rows_are_used_by_both_fits():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    solver, never = (EventSolver(2, PENALTY, intercept=True) for _ in range(2))
    solver.extend(X[:30], y[:30])
    solver.predict(X[0])
    solver.replace(X[40:], y[40:])
    never.extend(X[40:], y[40:])
    assert solver.rows.n_rows == 20
    assert solver.penalty_value == never.penalty_value
    assert solver.coef.tolist() == never.coef.tolist()

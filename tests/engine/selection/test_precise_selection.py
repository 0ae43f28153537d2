"""Selected penalties from sums in double-double precision, against sixty digits."""

from __future__ import annotations

import numpy as np
import pytest
from designs import DEPENDENT, DESIGNS, sample
from twins import selection as twin

from efface.engine.selection.precise_selection import refit_selection_precisely
from efface.engine.selection.selection_state import open_selection
from efface.live.penalties import Selected
from efface.live.selection_solver import SelectionSolver, StandardizedSelectionSolver

KINDS = {"halved": SelectionSolver, "standardised": StandardizedSelectionSolver}


def solved(kind, intercept, X, y, w):
    """A solver whose rows were solved from sums in double-double precision."""
    solver = KINDS[kind](X.shape[1], Selected(), intercept=intercept)
    solver.extend(X, y, w)
    sums = solver._precise.store_for(solver.rows)
    assert refit_selection_precisely(*solver.rows.arrays, solver.stores[0], sums)
    return solver


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", sorted({**DESIGNS, **DEPENDENT}))
def test_hard_rows_select_the_penalty_of_sixty_digits(name, kind, intercept):
    X, y = sample(name, 40, seed=7, noise=0.1)
    w = np.random.default_rng(0).choice([0.0, 1.0, 4.0], size=40)
    solver = solved(kind, intercept, X, y, w)
    stream = open_selection(solver.stores[0])
    right, level, penalty = twin.select(X, y, intercept, w, standardize=kind == "standardised")
    assert stream.state.refit == 1
    assert stream.state.penalty == pytest.approx(penalty, rel=1e-8)
    apart = X @ (stream.coef - right) + stream.state.intercept - level
    assert np.abs(apart).max() <= 1e-9 * y.std()


@pytest.mark.parametrize("kind", KINDS)
def test_plain_rows_have_the_same_solution_either_way(kind):
    rng = np.random.default_rng(1)
    X, w = rng.normal(size=(60, 5)) * [1.0, 3.0, 0.1, 20.0, 1.0] + 2.0, np.ones(60)
    y = X @ rng.normal(size=5) + rng.normal(size=60)
    solver = solved(kind, True, X, y, w)
    found = solver.coef, solver.intercept, solver.penalty_value
    usual = KINDS[kind](5, Selected(), intercept=True)
    usual.extend(X, y, w)
    assert found[0] == pytest.approx(usual.coef, rel=1e-10)
    assert found[1] == pytest.approx(usual.intercept, rel=1e-10)
    assert found[2] == pytest.approx(usual.penalty_value, rel=1e-10)


def test_a_constant_response_is_left_to_the_rows():
    X = np.random.default_rng(2).normal(size=(20, 2))
    solver = SelectionSolver(2, Selected(), intercept=True)
    solver.extend(X, np.full(20, 3.5), np.ones(20))
    sums = solver._precise.store_for(solver.rows)
    assert not refit_selection_precisely(*solver.rows.arrays, solver.stores[0], sums)

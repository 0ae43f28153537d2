"""The solver: rows come and leave, and the solution follows."""

from __future__ import annotations

import numpy as np
import pytest

from efface.live.penalties import Fixed, Lemma3, Selected
from efface.live.solver import Solver

RULES = [Fixed(), Fixed(0.5), Lemma3(), Selected()]


def filled(penalty, n=40, d=3, **options):
    rng = np.random.default_rng(n + d)
    solver = Solver(d, penalty, intercept=True, **options)
    X = rng.normal(size=(n, d))
    solver.extend(X, X.sum(axis=1) + rng.normal(size=n), rng.uniform(0.5, 2.0, size=n))
    return solver


@pytest.mark.parametrize("penalty", RULES)
def test_rows_that_leave_are_in_no_memory(penalty):
    solver = filled(penalty)
    gone = [each.copy() for each in solver.values()]
    solver.predict(np.zeros(3))
    solver.drop(20)
    left = {float(v) for each in gone for v in each[:20].ravel()}
    held = {float(v) for each in solver.window.memory() for v in each}
    assert not left & held
    assert solver.residues() == []


@pytest.mark.parametrize("penalty", RULES)
def test_a_copy_has_the_same_solution_and_rows_of_its_own(penalty):
    solver = filled(penalty)
    twin = solver.copy()
    assert (twin.coef == solver.coef).all()
    solver.drop(10)
    assert (twin.n_rows, solver.n_rows) == (40, 30)


@pytest.mark.parametrize("penalty", RULES)
def test_rows_that_are_kept_have_the_solution_of_rows_that_never_had_others(penalty):
    solver, kept = filled(penalty), np.arange(5, 40, 2)
    rows = solver.values(kept)
    solver.predict(np.ones(3))
    solver.keep(kept)
    other = Solver(3, penalty, intercept=True)
    other.extend(*rows)
    assert (solver.coef == other.coef).all()
    assert solver.intercept == other.intercept


def test_without_rows_all_is_zero():
    solver = Solver(2, Fixed(), intercept=True)
    assert solver.predict(np.ones(2)) == 0.0
    assert solver.rank == 0

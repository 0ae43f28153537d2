"""The tree of sums under each of its solvers: kept where rows are forgotten, else discarded."""

from __future__ import annotations

import numpy as np
import pytest
from small_trees import FOLD_FROM, small_trees

from efface.live.event_solver import EventSolver
from efface.live.penalties import Fixed, Selected
from efface.live.selection_solver import SelectionSolver

KINDS = {"event": (EventSolver, Fixed(1.0)), "selection": (SelectionSolver, Selected())}


@pytest.fixture(params=KINDS)
def solver(request):
    kind, penalty = KINDS[request.param]
    rng = np.random.default_rng(0)
    with small_trees():
        made = kind(2, penalty, intercept=True)
        made.extend(rng.normal(size=(FOLD_FROM + 9, 2)), rng.normal(size=FOLD_FROM + 9))
        yield made


def test_sliding_sums_go_on_without_the_tree(solver):
    bare = solver.working_store
    solver.predict(np.zeros(2))
    assert solver.working_store > bare
    for t in range(3):
        solver.learn(np.full(2, float(t)), 1.0, 1)
        solver.predict(np.zeros(2))
    assert solver.working_store == bare
    assert solver.residues() == []


def test_rows_that_leave_gaps_keep_the_tree(solver):
    solver.sum_up()
    solver.blank(np.array([3, 7]), (0, 0))
    before = solver.predict(np.ones(2))
    assert solver.residues() == []
    left = np.delete(np.arange(solver.rows.n_rows), [3, 7])
    X, y = solver.rows.features[left].copy(), solver.rows.y[left].copy()
    fresh = type(solver)(2, solver.penalty, intercept=True)
    fresh.extend(X, y)
    assert before == pytest.approx(fresh.predict(np.ones(2)), rel=1e-11)

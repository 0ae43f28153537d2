"""An audit finds whatever is planted in the state of a selection."""

from __future__ import annotations

import numpy as np
import pytest

from efface.engine.selection.selection_checks import selection_residues
from efface.engine.selection.selection_state import open_selection
from efface.live.penalties import Selected
from efface.live.selection_solver import SelectionSolver


def fresh(rows=20):
    rng = np.random.default_rng(0)
    solver = SelectionSolver(2, Selected(True), intercept=True)
    solver.extend(rng.normal(size=(rows, 2)), rng.normal(size=rows))
    return solver


def residues(solver):
    return selection_residues(*solver.rows.arrays, solver.stores[0])


def test_a_sound_state_has_no_residues():
    solver = fresh()
    assert residues(solver) == []
    solver.predict(np.zeros(2))
    assert residues(solver) == []
    solver.drop(3)
    assert residues(solver) == []


@pytest.mark.parametrize(
    ("plant", "name"),
    [
        (lambda s: s.frame.pull, "frame"),
        (lambda s: s.grid.columns, "grid"),
        (lambda s: s.other.reduced, "grid"),
        (lambda s: s.coef, "coef"),
        (lambda s: s.sums.total, "sums.total"),
        (lambda s: s.sums.rows, "sums.rows"),
        (lambda s: s.sums.centre, "sums.centre"),
    ],
)
def test_a_number_that_remains_is_found(plant, name):
    solver = fresh()
    plant(open_selection(solver.stores[0]))[...] = 3.0
    assert name in residues(solver)

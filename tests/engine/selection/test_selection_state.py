"""The state of a selection: what a row that leaves takes with it."""

from __future__ import annotations

import numpy as np
import pytest

from efface.engine.events.state import reset
from efface.engine.selection.selection_state import allocate_selection, open_selection
from efface.live.penalties import Selected
from efface.live.selection_solver import SelectionSolver


@pytest.mark.parametrize("averages", [False, True])
def test_a_reset_keeps_the_shape_and_nothing_else(averages):
    store = allocate_selection(3, True, 50, averages=averages, standardizes=True)
    reset(store, Selected(averages).rule, True)
    fresh, s = store.copy(), open_selection(store)
    for part in (s.frame.products, s.grid.columns, s.other.reduced, s.sums.total, s.coef):
        part[...] = 7.0
    s.state.rank = s.state.folded = 5
    reset(store, Selected(averages).rule, True)
    assert store.tobytes() == fresh.tobytes()
    assert (s.state.width, s.state.has_intercept, s.state.standardizes) == (3, 1, 1)
    assert s.other.scale.size == 3 * averages


def test_nothing_derived_remains_when_a_row_leaves():
    rng = np.random.default_rng(0)
    solver = SelectionSolver(2, Selected(True), intercept=True)
    solver.extend(rng.normal(size=(12, 2)), rng.normal(size=12))
    solver.predict(np.zeros(2))
    s = open_selection(solver.stores[0])
    assert s.grid.reduced.any()
    assert s.frame.products.any()
    solver.drop(1)
    kept = (s.grid.reduced, s.other.columns, s.frame.products, s.frame.scratch, s.coef)
    assert not any(part.any() for part in kept)

"""The compiled selection equals that from the rows, where both apply."""

from __future__ import annotations

import numpy as np
import pytest

from efface.engine.selection.direct import refit_selection
from efface.engine.selection.selection_state import open_selection
from efface.live.penalties import Selected
from efface.live.selection_solver import SelectionSolver, StandardizedSelectionSolver

KINDS = {"halved": SelectionSolver, "standardised": StandardizedSelectionSolver}


def solved(kind, average, intercept, X, y, w):
    solver = KINDS[kind](X.shape[1], Selected(average), intercept=intercept)
    solver.extend(X, y, w)
    solver.predict(X[0])
    return solver


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(("d", "n", "noise"), [(1, 9, 1.0), (3, 30, 1e-6), (6, 40, 5.0), (6, 9, 1)])
@pytest.mark.parametrize("scale", [0.0, 4.0])
def test_both_ways_give_the_same_solution(kind, average, intercept, d, n, noise, scale):
    rng = np.random.default_rng([d, n])
    X = (rng.normal(size=(n, d)) + 1.0) * 10.0 ** np.linspace(-scale, scale, d)
    y = X @ (1.0 / X.std(axis=0)) + noise * rng.normal(size=n)
    w = rng.choice([0.5, 1.0, 2.0], size=n)
    solver = solved(kind, average, intercept, X, y, w)
    assert open_selection(solver.stores[0]).state.refit == 0
    found = solver.coef, solver.intercept, solver.penalty_value
    refit_selection(*solver.rows.arrays, solver.stores[0])
    stream = open_selection(solver.stores[0])
    places = np.vstack([X, X.mean(axis=0) + 3.0 * X.std(axis=0)])
    apart = places @ (found[0] - stream.coef) + found[1] - stream.state.intercept
    assert np.abs(apart).max() <= 1e-10 * y.std()
    assert stream.state.penalty == pytest.approx(found[2], rel=1e-8)


def test_rows_that_are_as_many_as_features_are_refitted():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4, 3)), rng.normal(size=4)
    solver = solved("halved", False, True, X, y, np.ones(4))
    assert open_selection(solver.stores[0]).state.refit == 1

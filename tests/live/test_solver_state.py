"""The state of a solver: a copy of it is independent."""

from __future__ import annotations

import numpy as np
import pytest

from efface.live.event_solver import EventSolver
from efface.live.penalties import Fixed, Lemma3
from efface.live.standardized_solver import StandardizedSolver


@pytest.mark.parametrize("kind", [EventSolver, StandardizedSolver])
@pytest.mark.parametrize("penalty", [Fixed(1.0), Lemma3()], ids=["fixed", "adaptive"])
def test_a_copy_is_solved_without_a_change_of_the_solver(kind, penalty):
    rng = np.random.default_rng(1)
    solver = kind(3, penalty, intercept=True)
    solver.extend(rng.normal(size=(20, 3)), rng.normal(size=20))
    before = [store.tobytes() for store in solver.stores]
    twin = solver.copy()
    assert twin.rows is solver.rows
    assert np.isfinite(twin.coef).all()
    assert [store.tobytes() for store in solver.stores] == before
    assert twin.coef.tolist() == solver.coef.tolist()

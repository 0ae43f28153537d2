"""Which solver a penalty needs."""

from __future__ import annotations

from efface.live.event_solver import EventSolver
from efface.live.penalties import Fixed, Lemma3, Penalty, Selected
from efface.live.selection_solver import SelectionSolver, StandardizedSelectionSolver
from efface.live.solver import Solver
from efface.live.standardized_solver import StandardizedSolver

# A new rule is a penalty class, and a line here: its solver for features as they are, and its
# solver for standardised features.
SOLVERS: dict[type[Penalty], tuple[type[Solver], type[Solver]]] = {
    Fixed: (EventSolver, StandardizedSolver),
    Lemma3: (EventSolver, StandardizedSolver),
    Selected: (SelectionSolver, StandardizedSelectionSolver),
}


def solver_for(
    width: int,
    penalty: Penalty,
    *,
    intercept: bool,
    shrinks: bool,
    standardize: bool = False,
    fades: bool = False,
) -> Solver:
    """A solver without rows; ``fades``: for weights that fade.

    >>> solver_for(2, Fixed(), intercept=True, shrinks=True).rank
    0
    """
    kind = SOLVERS[type(penalty)][standardize]
    rule = penalty.fading if fades else penalty
    return kind(width, rule, intercept=intercept, shrinks=shrinks, fades=fades)

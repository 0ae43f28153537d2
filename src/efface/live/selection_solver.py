"""The solver of a regression whose penalty is selected by the live rows themselves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from efface.engine.events.event_replay import Events
from efface.engine.events.stream import FOLD
from efface.engine.jit.views import WEIGHT, Vector
from efface.engine.selection import selection_state as kernels
from efface.engine.selection.direct import refit_selection
from efface.engine.selection.precise_selection import refit_selection_precisely
from efface.engine.selection.selection_checks import selection_residues
from efface.engine.selection.selection_fit import predict_selection
from efface.engine.selection.selection_replay import gauge_selection, replay_selection
from efface.engine.standardized.standardized_replay import DIAGNOSED, GAUGED, NOTHING
from efface.engine.windows.ranges import Ranges
from efface.live.penalties import Selected
from efface.live.scaled_solver import ScaledKernels, ScaledSolver
from efface.live.solver_state import Kernels
from efface.live.trace import Asked, Trace
from efface.live.tree_solver import TreeSolver


class SelectionSolver(ScaledSolver, TreeSolver):
    """Regresses on features scaled by the roots of their deviations, with a selected penalty.

    Coefficients and intercept are those of the features as they are. Penalty, rank and gauges are
    those of the scaled features. A solution costs O(width^3).

    >>> solver = SelectionSolver(1, Selected(), intercept=True)
    >>> solver.extend(np.array([[1.0], [2.0], [3.0], [4.0]]), np.array([1.0, 2.0, 3.0, 5.0]))
    >>> round(solver.predict(np.array([5.0])), 2)
    5.88
    """

    walks = True
    _kernels = Kernels(
        kernels.learn_selection,
        kernels.release_selection,
        kernels.disturb_selection,
        selection_residues,
    )
    _scaled_kernels = ScaledKernels(
        replay_selection, gauge_selection, refit_selection, refit_selection_precisely
    )

    @property
    def _predictor(self) -> Callable[..., tuple[float, int]]:
        return predict_selection  # type: ignore[no-any-return]

    def _new_stores(self) -> tuple[Vector, ...]:
        shape = self.width, self.intercepts, self.rows.capacity
        kind = {"averages": self._averages, "standardizes": self.standardizes}
        return (kernels.allocate_selection(*shape, **kind),)

    @property
    def _averages(self) -> bool:
        assert isinstance(self.penalty, Selected)
        return self.penalty.average

    @property
    def _scaling(self) -> int:
        return 2 if self.standardizes or self._averages else 1

    @property
    def _refits_precisely(self) -> bool:
        return not self._averages

    def _blank_rows(self, tree: Vector, positions: NDArray[np.intp]) -> None:
        kernels.blank_selection(*self.rows.arrays, self._store, tree, positions)

    def _answer(self, code: int) -> None:
        if code != FOLD:
            super()._answer(code)
            return
        sliding = kernels.fold_selection(*self.rows.arrays, self._store, self._covering_tree())
        if sliding and not self._forgets:
            self._discard_tree()  # the sliding sums go on without it

    def walk(self, ranges: Ranges, asked: Asked) -> Trace:
        rows, nothing = ranges.rows[ranges.at], np.zeros((ranges.lo.size, 3))
        empty = np.zeros(ranges.lo.size, np.int64)
        coef, diagnostics, gauges = asked
        events = Events.of(rows, nothing, empty, coef=coef, gauges=gauges)
        wanted = DIAGNOSED if diagnostics else GAUGED if gauges else NOTHING
        upto = np.concatenate([[0], np.cumsum(ranges.y[:, WEIGHT] == 0.0)])
        places = np.column_stack([ranges.lo, ranges.hi, upto[ranges.hi] - upto[ranges.lo]])
        self.rows.borrow(ranges.x, ranges.y)
        try:
            self._allocate()
            self._replay(events, 0, len(rows), wanted, places)
        finally:
            self.rows.give_back()
            self._allocate()
        return self._trace_of(events, asked)


class StandardizedSelectionSolver(SelectionSolver):
    """The same on standardised features, as other models have them with ``standardize``."""

    standardizes = True

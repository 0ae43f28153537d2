"""The solver of a regression whose penalty is selected by the live rows themselves."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from efface.engine.events.event_replay import Events
from efface.engine.events.state import stream_state
from efface.engine.events.stream import COMPACT, FOLD
from efface.engine.jit.records import Record
from efface.engine.jit.views import WEIGHT, Ints, Matrix, Vector
from efface.engine.selection import selection_state as kernels
from efface.engine.selection.direct import refit_selection, scaled_rows
from efface.engine.selection.precise_selection import refit_selection_precisely
from efface.engine.selection.selection_checks import selection_residues
from efface.engine.selection.selection_fit import predict_selection
from efface.engine.selection.selection_replay import gauge_selection, replay_selection
from efface.engine.standardized.standardized_replay import DIAGNOSED, GAUGED, NOTHING
from efface.engine.standardized.zscores import Scores
from efface.engine.tree.walls import fold_from
from efface.engine.windows.ranges import Ranges
from efface.live.precise_fits import PreciseFits
from efface.live.scaled_solver import Bounds, ReplayKernel, ScaledSolver
from efface.live.selected_penalty import Selected
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

    standardizes: ClassVar[bool] = False
    walks = True
    _bounded = True

    def _allocate(self) -> None:
        assert isinstance(self.penalty, Selected)
        self._average = self.penalty.average
        self._centred = self.intercepts or self.standardizes
        self._scaling = 2 if self.standardizes or self._average else 1
        shape = self.width, self.intercepts, self.rows.capacity
        self._store = kernels.allocate_selection(
            *shape, averages=self._average, standardizes=self.standardizes
        )
        self.stores = (self._store,)
        self._predict, self._learn = predict_selection, kernels.learn_selection
        self._precise = PreciseFits(self.width, centred=self._centred)
        self.gaps_from = fold_from(self.width)
        self._discard_tree()
        self._reset()

    def _reset(self) -> None:
        self._precise.clear()
        self._clear_tree()
        kernels.reset_selection(self._store, self._ruled(self.penalty.rule))

    @property
    def _state(self) -> Record:
        return stream_state(self._store)

    @property
    def _coef(self) -> Vector:
        coef: Vector = kernels.open_selection(self._store).coef
        return coef

    def residues(self) -> list[str]:
        found = selection_residues(*self.rows.arrays, self._store)
        return [*found, *self._precise.residues(self.rows), *self._wrong_nodes()]

    def _blank_rows(self, tree: Vector, positions: NDArray[np.intp]) -> None:
        kernels.blank_selection(*self.rows.arrays, self._store, tree, positions)
        self._precise.clear()

    def _release(self) -> None:
        kernels.release_selection(self.rows.arrays[2], self._store)
        self._release_tree()
        self._release_precise()

    def _disturb(self, place: int) -> None:
        kernels.disturb_selection(self._store, place)
        self._precise.disturb(place)
        self._insert_in_tree(place)

    def _shift(self, by: int) -> None:
        kernels.shift_selection(self._store, by)
        self._shift_tree(by)

    def _answer(self, code: int) -> None:
        rows, store = self.rows.arrays, self._store
        if code == COMPACT:
            self._compact()
        elif code == FOLD:
            sliding = kernels.fold_selection(*rows, store, self._covering_tree())
            if sliding and not self._forgets:
                self._discard_tree()  # the sliding sums go on without it
        elif not self._refit_precisely():
            refit_selection(*rows, store)

    def _refit_precisely(self) -> bool:
        """Refit from the sums in double-double precision; False where rows must be refitted."""
        if self._average or not self._precise.serve(self.rows):
            return False
        sums, self._releases = self._precise.store_for(self.rows), True
        return bool(refit_selection_precisely(*self.rows.arrays, self._store, sums))

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
            self._replay(events, 0, len(rows), self._kernel(events, wanted, places))
        finally:
            self.rows.give_back()
            self._allocate()
        return self._trace_of(events, asked)

    def _kernel(self, events: Events, wanted: int, places: Ints | None = None) -> ReplayKernel:
        def replay(bounds: Bounds) -> tuple[int, int]:
            rows, stores = self.rows.arrays, (self._store, self._precise.kept)
            return replay_selection(*rows, *stores, events, bounds, wanted, places)  # type: ignore[no-any-return]

        return replay

    def _gauge_rows(self, X: Matrix, columns: Matrix) -> bool:
        return bool(gauge_selection(*self.rows.arrays, self._store, X, columns))

    @property
    def _scaled(self) -> tuple[bool, bool]:
        return self.standardizes, not self.standardizes

    def _scores(self) -> Scores:
        rows = self.rows
        if not rows.weights.any():
            return super()._scores()
        halved = not (self.standardizes or self._average)
        return scaled_rows(rows.features, rows.weights, centred=self._centred, halved=halved)


class StandardizedSelectionSolver(SelectionSolver):
    """The same on standardised features, as other models have them with ``standardize``."""

    standardizes = True

"""The solver of events: a core of rows that is solved now and then, and the rows outside it.

Where many rows are alive, a tree of sums lets rows leave from anywhere (see ``summation``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import final

import numpy as np
from numpy.typing import NDArray

from efface.engine.events import stream
from efface.engine.events.event_replay import Events, diagnose_rows, replay_rows
from efface.engine.events.fold import blank_rows, discard_rows, fold_rows
from efface.engine.events.leverage import SPECTRAL, UNRANKED, gauge_rows, room_for
from efface.engine.events.pilot import (
    ASKED_BY_PILOT,
    predict_adaptive,
    predict_fixed,
    predict_piloted,
    refit_pilot,
)
from efface.engine.events.precise_refit import refit_precisely
from efface.engine.events.state import Rule, allocate, disturb, tail_for
from efface.engine.events.state_checks import residues
from efface.engine.events.stream import COMPACT, FOLD, FORM, FORM_DUAL, REFIT
from efface.engine.jit.views import Ints, Matrix, Vector
from efface.engine.linalg.spectrum import interpolated, rank_of
from efface.live.solver_state import Kernels
from efface.live.trace import Asked
from efface.live.tree_solver import TreeSolver


@final
class EventSolver(TreeSolver):
    """Solves by a core of rows and the rows outside it; with a pilot fit if the penalty needs one.

    >>> from efface.live.penalties import Fixed
    >>> solver = EventSolver(1, Fixed(), intercept=False)
    >>> solver.learn(np.array([2.0]), 6.0, 0)
    >>> solver.predict(np.array([1.0]))
    3.0
    """

    batched = True
    _kernels = Kernels(stream.learn_row, stream.release_rows, disturb, residues)

    @property
    def _predictor(self) -> Callable[..., tuple[float, int]]:
        if self.penalty.pilot is not None:
            return predict_piloted  # type: ignore[no-any-return]
        return predict_adaptive if self.penalty.adapts else predict_fixed  # type: ignore[no-any-return]

    def _new_stores(self) -> tuple[Vector, ...]:
        shape = self.width, self.intercepts, self._shrinks, self.rows.capacity
        return tuple(allocate(*shape) for _ in self._rules)

    @property
    def _rules(self) -> tuple[Rule, ...]:
        pilot = self.penalty.pilot
        return (self.penalty.applied,) if pilot is None else (self.penalty.applied, pilot)

    def _allocate(self) -> None:
        super()._allocate()
        self._pilot = self.stores[1] if len(self.stores) > 1 else None

    def _blank_rows(self, tree: Vector, positions: NDArray[np.intp]) -> None:
        blank_rows(*self.rows.arrays, self._store, tree, positions)
        if self._pilot is not None:
            discard_rows(self._pilot)

    def _answer(self, code: int) -> None:
        rows, store, watched = self.rows.arrays, self._store, self._watched
        if code >= ASKED_BY_PILOT and self._pilot is not None:
            code, store, watched = code - ASKED_BY_PILOT, self._pilot, True
        if code == FORM:
            stream.form_rows(*rows, store, watched)
        elif code == FOLD:
            independent = fold_rows(*rows, store, self._covering_tree(), watched)
            if independent and store is self._store and not self._forgets:
                self._discard_tree()  # the sliding sums go on without it
        elif code == FORM_DUAL:
            stream.form_dual_rows(*rows, store, watched)
        elif code == REFIT:
            self._refit(store)
        elif code == COMPACT:
            self._compact()

    def _refit(self, store: Vector) -> None:
        """Refit from the sums in double-double precision, or else from the rows."""
        rows, pilot = self.rows.arrays, store is self._pilot
        sums = self._sums_for_refit()
        if sums is None or not refit_precisely(*rows, store, sums, pilot):
            (refit_pilot if pilot else stream.refit_rows)(*rows, store)

    def _run(self, events: Events) -> None:
        def step(row: int) -> tuple[int, int]:
            rows, stores = self.rows.arrays, (self._store, self._pilot, self._precise.kept)
            return replay_rows(*rows, *stores, events, row, self._watched)  # type: ignore[no-any-return]

        self._serve(step, *step(0))

    def _measure_until(self, end: int, row: int, events: Events, asked: Asked) -> int:
        room, count = self._room(), 2 if asked.diagnostics else 1
        measured = certain = -1  # a row that is measured; rows from this place on have full rank
        refitted = False

        def step(row: int) -> tuple[int, int]:
            bounds, last = (row, end, measured), (count, self._watched)
            rows, stores = self.rows.arrays, (self._store, self._pilot)
            return diagnose_rows(*rows, *stores, events, room, bounds, certain, *last)  # type: ignore[no-any-return]

        def note(row: int, code: int) -> None:
            nonlocal measured, certain, refitted
            if code == SPECTRAL:
                self._measure_apart(row, events, refitted)
            elif code == UNRANKED:
                certain = self._rank_at(row, events.counts)
            elif code == COMPACT:
                certain = max(certain - self.rows.span[0], -1)
            measured = row if code in (SPECTRAL, UNRANKED, COMPACT) else measured
            refitted = code == REFIT

        return int(self._serve(step, *step(row), note)) if row < end else row

    def _rank_at(self, row: int, counts: Ints) -> int:
        """Write the rank of the live rows; from which place on rows have full rank for sure."""
        rows = self.rows
        counts[1, row], newest = rank_of(rows.features, rows.weights, self.intercepts)
        return rows.span[1] - newest if newest and counts[1, row] == self.width else -1

    def _measure_apart(self, row: int, events: Events, refitted: bool) -> None:
        """Measure one row where the core does not: it interpolates, or by singular values."""
        rows, state = self.rows, self._state
        exact = state.rank == len(rows.y) - self.intercepts and not rows.weightless
        if not exact or refitted or state.refit:
            self._measure_by_spectrum(row, events)
            return
        products = interpolated(rows.features, rows.weights, self.intercepts, events.rows[row])
        weight = rows.weights.sum()
        leverage = products.new_or_infinite
        events.gauges[row : row + 1] = leverage, 0.0, 0.0, 0.0, 0.0, weight  # no residual
        self._write(row, events, products, state.rank)

    def _gauge(self, X: Matrix, columns: Matrix) -> bool:
        refits: list[int] = []
        self._unsolve()
        self._settle(lambda row, code: refits.append(code) if code == REFIT else None)
        rows = self.rows.arrays
        return not refits and bool(gauge_rows(*rows, self._store, X, columns, self._room()))

    def _room(self) -> Matrix:
        return room_for(self.width, self.intercepts, 2 * tail_for(self.width))

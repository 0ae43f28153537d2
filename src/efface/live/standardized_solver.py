"""The solver of a regression on features standardised by the live rows themselves."""

from __future__ import annotations

from typing import final

from efface.engine.events.event_replay import Events
from efface.engine.events.state import stream_state
from efface.engine.events.stream import COMPACT
from efface.engine.jit.records import Record
from efface.engine.jit.views import Matrix, Vector
from efface.engine.standardized import standardized_fit as kernels
from efface.engine.standardized.standardized_checks import standard_residues
from efface.engine.standardized.standardized_replay import gauge_standard, replay_standard
from efface.engine.standardized.zscores import Scores, scores
from efface.live.precise_fits import PreciseFits
from efface.live.scaled_solver import Bounds, ReplayKernel, ScaledSolver


@final
class StandardizedSolver(ScaledSolver):
    """Regresses on z = (x - mean) / deviation of the live rows, at every step.

    Coefficients and intercept are those of the features as they are. Penalty, rank and gauges are
    those of the standardised features. A solution costs O(width^3).

    >>> import numpy as np
    >>> from efface.live.penalties import Fixed
    >>> solver = StandardizedSolver(1, Fixed(3.0), intercept=True)
    >>> solver.extend(np.array([[10.0], [20.0], [30.0]]), np.array([1.0, 2.0, 3.0]))
    >>> solver.coef, solver.predict(np.array([20.0]))  # half of those without a penalty
    (array([0.05]), 2.0)
    """

    _centred = True
    _scaling = 2

    def _allocate(self) -> None:
        self._store = kernels.allocate_standard(self.width, self.intercepts, self.rows.capacity)
        self.stores = (self._store,)
        adaptive, fixed = kernels.predict_standard_adaptive, kernels.predict_standard_fixed
        self._predict = adaptive if self.penalty.adapts else fixed
        self._learn = kernels.learn_standard
        self._precise = PreciseFits(self.width, centred=True)
        self._reset()

    def _reset(self) -> None:
        self._precise.clear()
        self._note_releases()
        kernels.reset_standard(self._store, self._ruled(self.penalty.rule))

    @property
    def _state(self) -> Record:
        return stream_state(self._store)

    @property
    def _coef(self) -> Vector:
        coef: Vector = kernels.open_standard(self._store).coef
        return coef

    def residues(self) -> list[str]:
        found = standard_residues(*self.rows.arrays, self._store)
        return [*found, *self._precise.residues(self.rows)]

    def _release(self) -> None:
        kernels.release_standard(self.rows.arrays[2], self._store)
        self._release_precise()

    def _disturb(self, place: int) -> None:
        kernels.disturb_standard(self._store, place)
        self._precise.disturb(place)

    def _shift(self, by: int) -> None:
        kernels.shift_standard(self._store, by)

    def _answer(self, code: int) -> None:
        if code == COMPACT:
            self._compact()
        elif not self._refit_precisely():
            kernels.refit_standard(*self.rows.arrays, self._store)

    def _refit_precisely(self) -> bool:
        """Refit from the sums in double-double precision; False where rows must be refitted."""
        if self.penalty.adapts or not self._precise.serve(self.rows):
            return False
        sums, self._releases = self._precise.store_for(self.rows), True
        return bool(kernels.refit_standard_precisely(*self.rows.arrays, self._store, sums))

    def _kernel(self, events: Events, wanted: int) -> ReplayKernel:
        def replay(bounds: Bounds) -> tuple[int, int]:
            stores, last = (self._store, self._precise.kept), (wanted, self._watched)
            return replay_standard(*self.rows.arrays, *stores, events, bounds, *last)  # type: ignore[no-any-return]

        return replay

    def _gauge_rows(self, X: Matrix, columns: Matrix) -> bool:
        return bool(gauge_standard(*self.rows.arrays, self._store, X, columns))

    @property
    def _scaled(self) -> tuple[bool, bool]:
        return True, False

    def _scores(self) -> Scores:
        rows = self.rows
        return scores(rows.features, rows.weights) if rows.weights.any() else super()._scores()

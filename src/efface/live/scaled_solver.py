"""The part that solvers on scaled features share: rows are replayed and measured one by one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar, NamedTuple

from efface.engine.events.event_replay import Events
from efface.engine.events.leverage import SPECTRAL, UNRANKED
from efface.engine.events.stream import COMPACT
from efface.engine.jit.views import Ints, Matrix
from efface.engine.selection.direct import scaled_rows
from efface.engine.standardized.standardized_replay import DIAGNOSED, GAUGED, NOTHING
from efface.engine.standardized.zscores import Scores
from efface.live.solver import Solver
from efface.live.trace import Asked


class ScaledKernels(NamedTuple):
    """How the engine replays, measures and refits the rows of one kind of solver."""

    replay: Callable[..., tuple[int, int]]  # the row that was reached, and a code
    gauge: Callable[..., bool]  # gauges of rows of a stream that is up to date; False if refitted
    refit: Callable[..., None]
    refit_precisely: Callable[..., bool]  # False where the rows must be refitted


class ScaledSolver(Solver):
    """A solver whose kernels solve, measure and learn one row after the other."""

    _bounded = True
    _scaled_kernels: ClassVar[ScaledKernels]

    @property
    @abstractmethod
    def _refits_precisely(self) -> bool:
        """Can sums in double-double precision take the place of rows in a refit?"""

    def _answer(self, code: int) -> None:
        if code == COMPACT:
            self._compact()
            return
        rows, store, kernels = self.rows.arrays, self._store, self._scaled_kernels
        sums = self._sums_for_refit() if self._refits_precisely else None
        if sums is None or not kernels.refit_precisely(*rows, store, sums):
            kernels.refit(*rows, store)

    def _run(self, events: Events) -> None:
        self._replay(events, 0, len(events.responses), NOTHING)

    def _measure_until(self, end: int, row: int, events: Events, asked: Asked) -> int:
        return self._replay(events, row, end, DIAGNOSED if asked.diagnostics else GAUGED)

    def _replay(
        self, events: Events, row: int, end: int, wanted: int, places: Ints | None = None
    ) -> int:
        """Replay events from a row on, and measure as much as is wanted; the row that was reached.

        ``places`` are those of the rows that predict each row, for a kernel that walks.
        """
        measured, last = -1, places if self.walks else self._watched

        def step(row: int) -> tuple[int, int]:
            stores, bounds = (self._store, self._precise.kept), (row, end, measured)
            kernel, rows = self._scaled_kernels.replay, self.rows.arrays
            return kernel(*rows, *stores, events, bounds, wanted, last)

        def note(row: int, code: int) -> None:
            nonlocal measured
            if code == SPECTRAL:
                self._measure_by_spectrum(row, events)
            elif code == UNRANKED:
                events.counts[1, row] = self.rank
            measured = row if code in (SPECTRAL, UNRANKED, COMPACT) else measured

        return int(self._serve(step, *step(row), note)) if row < end else row

    def _gauge(self, X: Matrix, columns: Matrix) -> bool:
        self._unsolve()  # so that what is measured is what was just solved
        self._settle()
        if self.rows.n_rows == self.rows.weightless:
            return True  # NaN
        return bool(self._scaled_kernels.gauge(*self.rows.arrays, self._store, X, columns))

    @property
    def _scaled(self) -> tuple[bool, bool]:
        return self.standardizes, not self.standardizes

    def _scores(self) -> Scores:
        rows, halved = self.rows, self._scaling == 1
        if not rows.weights.any():
            return super()._scores()
        return scaled_rows(rows.features, rows.weights, centred=self._centred, halved=halved)

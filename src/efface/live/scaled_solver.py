"""The part that solvers on scaled features share: rows are replayed and measured one by one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

from efface.engine.events.event_replay import Events
from efface.engine.events.leverage import SPECTRAL, UNRANKED
from efface.engine.events.stream import COMPACT
from efface.engine.jit.views import Matrix
from efface.engine.standardized.standardized_replay import DIAGNOSED, GAUGED, NOTHING
from efface.live.solver import Solver
from efface.live.trace import Asked

Bounds = tuple[int, int, int]  # from, up to, and the row that is measured already
ReplayKernel = Callable[[Bounds], tuple[int, int]]  # the row that was reached, and a code


class ScaledSolver(Solver):
    """A solver whose kernels solve, measure and learn one row after the other."""

    @abstractmethod
    def _kernel(self, events: Events, wanted: int) -> ReplayKernel:
        """What replays events, and measures as much as is wanted."""

    @abstractmethod
    def _gauge_rows(self, X: Matrix, columns: Matrix) -> bool:
        """Gauges of rows of a stream that is up to date; False if it was refitted."""

    def _run(self, events: Events) -> None:
        self._replay(events, 0, len(events.responses), self._kernel(events, NOTHING))

    def _measure_until(self, end: int, row: int, events: Events, asked: Asked) -> int:
        wanted = DIAGNOSED if asked.diagnostics else GAUGED
        return self._replay(events, row, end, self._kernel(events, wanted))

    def _replay(self, events: Events, row: int, end: int, kernel: ReplayKernel) -> int:
        """Serve a kernel from a row on; the row that it has reached."""
        measured = -1

        def step(row: int) -> tuple[int, int]:
            return kernel((row, end, measured))

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
        return self._gauge_rows(X, columns)

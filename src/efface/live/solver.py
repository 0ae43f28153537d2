"""The solver: what follows from the live rows, and one loop that serves what kernels ask for.

A kernel does the frequent work. Where it needs something rare, such as a new core or a refit, it
returns a code. The solver does what the code asks for and calls the kernel again. So each rare
routine is compiled once, and only when it is needed.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.engine.events.event_replay import Events
from efface.engine.events.leverage import GAUGES, SPECTRAL, UNRANKED
from efface.engine.events.stream import DONE, append_row
from efface.engine.jit.records import Record
from efface.engine.jit.views import Ints, Matrix, Vector, weighed
from efface.engine.linalg.spectrum import conditioning, numerical_rank
from efface.engine.windows.ranges import Ranges
from efface.live.departures import departures
from efface.live.solver_state import SolverState
from efface.live.summation import Walls
from efface.live.trace import Asked, Gauges, Trace, in_units

_EVERY, _LEAST_EVERY = 20, 500
Step = Callable[[Any], tuple[Any, int]]  # what was reached -> what is reached now, code
Note = Callable[[int, int], None]  # (row, code)


class Solver(SolverState):
    """Coefficients, penalty, rank and predictions of the rows in a row store.

    Rows come and leave through it. It trusts what it is given.
    """

    batched = False  # can windows be solved side by side, see ``batches``?
    walks = False  # can ``walk`` go through ranges of rows?
    gaps_from: int | None = None  # from how many rows on ``blank`` may leave gaps between rows

    # -- what a kind of solver must know ---------------------------------------------------------

    @abstractmethod
    def _answer(self, code: int) -> None:
        """Do what a kernel asks for."""

    @abstractmethod
    def _run(self, events: Events) -> None:
        """``replay`` with predictions alone."""

    @abstractmethod
    def _measure_until(self, end: int, row: int, events: Events, asked: Asked) -> int:
        """``replay`` with leverages, gauges, or both, up to the state that predicts row ``end``."""

    @abstractmethod
    def _gauge(self, X: Matrix, columns: Matrix) -> bool:
        """Solve and fill gauges; False where singular values are needed."""

    # -- rows come and leave ---------------------------------------------------------------------

    def learn(self, x: Vector, y: float, leaving: int, weight: float = 1.0) -> None:
        """Learn the newest row; then the oldest ``leaving`` rows leave."""
        rows = self.rows
        if rows.n_rows == rows.most and rows.reserve(rows.n_rows + 1):
            self._allocate()
        features, responses, span = rows.arrays  # a call without * is faster
        if leaving:
            placed = self._learn(features, responses, span, self.stores[0], x, y, weight, leaving)
        else:
            placed = append_row(features, responses, span, x, y, weight)
        if not placed:
            self._compact()
            return self.learn(x, y, leaving, weight)
        if leaving and self._releases:
            self._release()
        rows.n_rows += 1 - leaving

    def insert(self, position: int, x: Vector, y: float, weight: float = 1.0) -> None:
        """Learn a row that belongs before others."""
        self.learn(x, y, 0, weight)
        if self.fades:
            self.rows.note_weight(weight)
        self._disturb(self.rows.move_newest(position))

    def extend(
        self, X: Matrix, y: Vector, weights: Vector | None = None, fades: Vector | None = None
    ) -> None:
        """Learn many newest rows, whose weights are multiplied by fades; nothing is solved."""
        rows, n = self.rows, y.size
        if n == 1 and fades is None:  # in a fraction of the time
            weight = 1.0 if weights is None else float(weights[0])
            return self.learn(X[0], float(y[0]), 0, weight)
        if rows.reserve(rows.n_rows + n):
            self._allocate()
        if rows.span[1] + n > rows.capacity:
            self._compact()
        rows.extend(X, rows.weighed(y, weights, fades))
        if fades is not None and n:
            self._set_unit(float(fades[-1]))

    def note_newest(self, weight: float, fade: float) -> None:
        """Note the own weight and the fade of a row that was just learned with their product."""
        if self.rows.n_rows:
            self.rows.note_weight(weight)
        self._set_unit(fade)

    def fade(self, fades: Vector) -> None:
        """Give all rows new fades; the state is as if the rows had just been learned."""
        self.rows.fade(fades)
        self.unit = float(fades[-1]) if fades.size else 1.0
        self._reset()

    def drop(self, count: int) -> None:
        """The oldest rows leave."""
        self.rows.drop(count)
        self._release()

    def use_walls(self, walls: Walls | None) -> None:
        """Say which rows are walls of the tree of sums; a tree with other walls is discarded."""
        self.walls = walls

    def sum_up(self) -> None:
        """Take all live rows into the tree of sums."""
        raise NotImplementedError

    def blank(self, positions: NDArray[np.intp], cut: tuple[int, int]) -> None:
        """Rows leave from anywhere, and leave gaps; the state is as if they had never come.

        ``sum_up`` comes first. ``cut`` says how many of the oldest and of the newest places have no
        row any more.
        """
        raise NotImplementedError

    def keep(self, positions: NDArray[np.intp]) -> None:
        """All rows leave but these; the state is as if the others had never come."""
        self.rows.keep(positions)
        self._reset()

    def remove(self, positions: NDArray[np.intp]) -> None:
        """Rows leave from anywhere; the others move together."""
        self.keep(np.delete(np.arange(self.rows.n_rows), positions))

    def rebuild(self) -> None:
        """Make the state a function of the live rows alone."""
        self.keep(np.arange(self.rows.n_rows))

    def replace(self, X: Matrix, y: Vector, weights: Vector | None = None) -> None:
        """Other rows in the place of all, of which nothing remains."""
        if self.rows.reserve(y.size):
            self._allocate()
        self.rows.replace(X, weighed(y, weights))
        self._reset()

    def values(self, at: NDArray[np.intp] | None = None) -> tuple[Matrix, Vector, Vector]:
        """Copies of the rows, or of those at some places, their responses and weights."""
        X, y, weights = self.views()
        return (X.copy(), y.copy(), weights.copy()) if at is None else (X[at], y[at], weights[at])

    def views(self) -> tuple[Matrix, Vector, Vector]:
        """The rows, their responses and own weights, where they lie."""
        return self.rows.features, self.rows.y, self.rows.own_weights

    # -- the solution ----------------------------------------------------------------------------

    def predict(self, x: Vector) -> float:
        value, code = self._step(x)
        return value if code == DONE else float(self._serve(lambda _: self._step(x), value, code))

    def _step(self, x: Vector) -> tuple[float, int]:
        """The prediction of a row, and the code of the kernel."""
        if len(self.stores) > 1:
            return self._predict(*self.rows.arrays, *self.stores, x)
        features, responses, span = self.rows.arrays
        return self._predict(features, responses, span, self.stores[0], x)

    @property
    def coef(self) -> Vector:
        self._settle()
        return self._coef.copy()

    @property
    def intercept(self) -> float:
        return float(self._settle().intercept)

    @property
    def penalty_value(self) -> float:
        constant = self.penalty.constant
        return float(self._settle().penalty) / self.unit if constant is None else constant

    @property
    def rank(self) -> int:
        """The rank of the live rows, around their mean if there is an intercept."""
        rank = int(self._settle().rank)
        if rank >= 0:
            return rank
        return numerical_rank(self._scores().rows, self.rows.weights, self._centred)

    def _settle(self, note: Note | None = None) -> Record:
        """Bring the solution up to date; the state."""
        nothing = np.zeros(self.width)
        self._serve(lambda _: self._step(nothing), *self._step(nothing), note)
        return self._state

    def _serve(self, step: Step, reached: Any, code: int, note: Note | None = None) -> Any:
        """Call a kernel until it is done, and do between calls what it asks for."""
        while code != DONE:
            if note is not None:
                note(reached, code)
            if code not in (SPECTRAL, UNRANKED):
                self._answer(code)
            reached, code = step(reached)
        return reached

    # -- replay and gauges -----------------------------------------------------------------------

    def replay(
        self,
        X: Matrix,
        y: Vector,
        before: Ints,
        after: Ints,
        asked: Asked,
        weights: Vector | None = None,
        fades: Vector | None = None,
    ) -> Trace:
        """Predict, then learn, row by row; weights are multiplied by fades.

        ``before[t]`` of the oldest rows leave before row t is predicted, ``after[t]`` once it is
        learned. phi2 and condition are given at the rows of ``marks``, and NaN between them.
        """
        past = np.zeros(0) if fades is None else np.append(self.rows.fades, self.unit)
        leaving = self._prepare(before, after)
        coef, diagnostics, gauges = asked
        faded = weights if fades is None else fades * (1.0 if weights is None else weights)
        responses = weighed(y, faded)
        events = Events.of(X, responses, leaving, coef=coef, gauges=gauges, units=fades)
        if diagnostics or gauges:
            self._measure(events, asked)
        else:
            self._run(events)
        self.rows.count()
        self._release()
        trace = self._trace_of(events, asked)
        if fades is None:
            return trace
        own = np.ones(y.size) if weights is None else weights
        self.rows.note_weights(own[y.size - min(self.rows.n_rows, y.size) :])
        self.unit = float(fades[-1]) if y.size else self.unit
        return in_units(trace, past, fades, own > 0.0, self.penalty.constant)

    def _trace_of(self, events: Events, asked: Asked) -> Trace:
        states, counts, measures = events.states, events.counts, events.gauges.T
        shown = asked.diagnostics or self.penalty.unpenalised
        return Trace.of(
            states,
            counts[0],
            asked,
            rank=counts[1] if shown else None,
            coef=events.coef if asked.coef else None,
            gauges=Gauges(counts[2], counts[1], states[1], *measures) if asked.gauges else None,
        )

    def walk(self, ranges: Ranges, asked: Asked) -> Trace:
        """Solve each of some ranges of rows, and predict its row; no row may be alive."""
        raise NotImplementedError

    def marks(self, n: int) -> list[int]:
        """The rows of a replay of n at which phi2 and condition are given: every m-th and the last.

        m is 20 times the width, at least 500, as eigenvalues cost as much as some hundred rows.
        """
        every = max(_EVERY * self.width, _LEAST_EVERY)
        return [*range(every - 1, n - 1, every), n - 1]

    def gauge(self, X: Matrix) -> Gauges:
        """How far the live rows lie from their regression, and rows of X from them."""
        columns, rows = np.full((len(X), GAUGES), np.nan), self.rows
        if rows.n_rows and len(X) and not self._gauge(X, columns):
            self._gauge_by_spectrum(X, columns, self._measured())
        state, weighted = self._settle(), rows.n_rows - rows.weightless
        counted = float(rows.fades.sum()) / self.unit if self.fades else weighted
        n_rows, rank = (np.full(len(X), value) for value in (counted, state.rank))
        gauges = Gauges(n_rows, rank, np.full(len(X), state.penalty / self.unit), *columns.T)
        return gauges.in_units(self.unit) if self.fades else gauges

    def conditioning(self) -> tuple[float, float]:
        """phi2 and condition of the live rows, by their singular values."""
        return conditioning(self._scores().rows, self.rows.weights, self._centred)

    @property
    def refits(self) -> bool:
        """Do the live rows need sums in double-double precision?"""
        return self._precise.active

    def _prepare(self, before: Ints, after: Ints) -> Ints:
        """Make room for a replay; how many rows leave once each row is learned."""
        came, n_rows = np.arange(1, after.size + 1), self.rows.n_rows
        alive = n_rows + came - np.cumsum(before) - np.cumsum(after) + after
        if self.rows.reserve(int(alive.max(initial=n_rows))):
            self._allocate()
        if before[:1].any():
            self.drop(int(before[0]))
        return departures(before, after)

    def _measure(self, events: Events, asked: Asked) -> None:
        """Replay with leverages and the like, gauges, or both."""
        self._unsolve()  # so that what is measured is what was just solved
        n, row = len(events.responses), 0
        for end in [*(self.marks(n) if asked.diagnostics else []), n]:
            row = self._measure_until(end, row, events, asked)
            if asked.diagnostics and row < n:
                events.states[6:, row] = self.conditioning()

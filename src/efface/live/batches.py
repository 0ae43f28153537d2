"""Replay of many rows through a window that slides by one row at a time, in batches of windows.

Where exactly one row leaves as one comes, eight neighbouring windows are solved side by side (see
``efface.engine.windows.batched_replay``). Where features are many, windows are solved in blocks if
features depend on each other in all rows. All other rows, and the windows for which that is not
safe, are replayed one by one. The solver ends with the same rows either way, and its state follows
from them alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from efface.engine.events.leverage import GAUGES
from efface.engine.jit.views import Ints, Matrix, Vector, weighed
from efface.engine.linalg.dense import SAFE
from efface.engine.linalg.spectrum import conditioning, rank_of
from efface.engine.sums.precise_windows import NO_DIRECTIONS, null_directions
from efface.engine.windows.batched_replay import replay_windows
from efface.engine.windows.many_features import slide_many_features
from efface.engine.windows.problem import Estimates, Problem
from efface.engine.windows.systems import MOST_UNKNOWNS
from efface.live.departures import departures
from efface.live.solver import Solver
from efface.live.trace import Asked, Gauges, Trace, joined

LONG = 10_000  # rows, from which on a batched replay is worth the time to compile its kernel
_FEW = 256  # rows in a run: fewer are replayed faster one by one
_SHARE = 8  # batch only runs of at least window / 8 rows
_NEAR = 32  # rows between two unsafe windows: these are replayed one by one with them
_COPIED = 1 << 14  # rows that are copied behind the live rows
_TRIED = 128  # rows of many features that are replayed one by one: do they need refits?


class Run(NamedTuple):
    """Rows first..last - 1 of the arrivals, each of them predicted by ``size`` rows."""

    first: int
    last: int
    size: int


@final
@dataclass(frozen=True)
class SlidingReplay:
    """A replay of rows through a solver.

    >>> from efface.live.penalties import Fixed
    >>> from efface.live.solver import Solver
    >>> solver = Solver(1, Fixed(), intercept=False)
    >>> replay = SlidingReplay(solver, Asked(False, False, False))
    >>> none, one = np.zeros(300, np.int64), np.ones(300, np.int64)
    >>> solver.extend(np.ones((2, 1)), np.array([1.0, 3.0]))
    >>> replay.batched(np.ones((300, 1)), np.arange(300.0), none, one, np.ones(300)).prediction[:4]
    array([2. , 1.5, 0.5, 1.5])
    """

    solver: Solver
    asked: Asked

    def batched(self, X: Matrix, y: Vector, before: Ints, after: Ints, weights: Vector) -> Trace:
        """``Solver.replay``, in batches where that is possible and worth it."""
        solver = self.solver
        run = longest_run(solver.n_rows, before, after)
        even = bool((weights == 1.0).all() and (solver.weights == 1.0).all())
        if not (solver.batched and even and self._worth(run)):
            return self.one_by_one(X, y, before, after, weights)
        solver.drop(int(before[0]))
        past, leaving = (solver.features.copy(), solver.y.copy()), departures(before, after)
        tried = run._replace(first=run.first + _TRIED) if self._many else run
        trace = joined(
            [
                *self._rest(X, y, leaving, slice(0, tried.first)),
                *self._batches(X, y, past, tried),
                *self._rest(X, y, leaving, slice(run.last, y.size)),
            ]
        )
        return self._conditioned(trace, X, past[0]) if self.asked.diagnostics else trace

    def _worth(self, run: Run) -> bool:
        """Are the rows of a run many enough, and their features few enough?"""
        few = run.last - run.first < max(_FEW, run.size // _SHARE) + (_TRIED if self._many else 0)
        return not few and run.size > self._unknowns and (self._fixed or not self._many)

    @property
    def _unknowns(self) -> int:
        return self.solver.width + self.solver.intercepts

    @property
    def _many(self) -> bool:
        """Are features so many that only dependent ones are solved in batches?"""
        return self._unknowns > MOST_UNKNOWNS

    @property
    def _fixed(self) -> bool:
        """Is the penalty fixed, and are only predictions and coefficients asked for?"""
        return not (self.solver.penalty.adapts or self.asked.diagnostics or self.asked.gauges)

    def one_by_one(
        self, X: Matrix, y: Vector, before: Ints, after: Ints, weights: Vector | None = None
    ) -> Trace:
        """``Solver.replay``."""
        return self.solver.replay(X, y, before, after, self.asked, weights)

    def _rest(self, X: Matrix, y: Vector, leaving: Ints, part: slice) -> Iterator[Trace]:
        """Rows before or after a run, if there are any."""
        if part.start < part.stop:
            none = np.zeros(part.stop - part.start, np.int64)
            yield self.one_by_one(X[part], y[part], none, leaving[part])

    def _batches(
        self, X: Matrix, y: Vector, past: tuple[Matrix, Vector], run: Run
    ) -> Iterator[Trace]:
        """Replay a run: first the windows that contain rows from before it, then the others."""
        first, last, s = run
        if self._many and not self.solver.refits:  # the rows before were replayed as they are
            none, one = np.zeros(last - first, np.int64), np.ones(last - first, np.int64)
            yield self.one_by_one(X[first:last], y[first:last], none, one)
            return
        middle = min(last, max(s, _COPIED)) if first < s else first
        if first < middle:
            ago = len(past[1]) + first - s
            rows = np.concatenate([past[0][ago:], X[:middle]])
            yield self._batch(rows, np.concatenate([past[1][ago:], y[:middle]]), s)
        if middle < last:
            yield self._batch(X[middle - s : last], y[middle - s : last], s)

    def _batch(self, X: Matrix, y: Vector, s: int) -> Trace:
        """Replay the rows after the first s, each predicted by the s before it; the last s stay."""
        n, solver, asked = y.size - s, self.solver, self.asked
        states, coef, gauges, margin, rank = self._solve(X, y, s)
        if asked.diagnostics:
            self._rank(rank, X, s, margin)
        n_rows = np.full(n, s)
        trace = Trace.of(
            states,
            n_rows,
            asked,
            rank=rank if asked.diagnostics or solver.penalty.unpenalised else None,
            coef=coef.T if asked.coef else None,
            gauges=Gauges(n_rows, rank, states[1], *gauges) if asked.gauges else None,
        )
        for first, last in unsafe_runs(margin):
            solver.replace(X[first : first + s], y[first : first + s])
            self._correct(trace, first, X[first + s : last + s], y[first + s : last + s])
        solver.replace(X[n:], y[n:])
        return trace

    def _solve(self, X: Matrix, y: Vector, s: int) -> tuple[Matrix, Matrix, Matrix, Vector, Ints]:
        """States, coefficients, gauges, margin and rank of the windows."""
        if self._many:
            return self._solve_blocks(X, y, s)
        first = self._windows(X, y, s, NO_DIRECTIONS)
        rank = np.where(first[0][1] == 0.0, self.solver.width, -1)
        unsafe = ~(first[-1] >= SAFE)
        if self.asked.diagnostics or self.asked.gauges or 2 * unsafe.sum() <= rank.size:
            return *first, rank
        null = null_directions(X, weighed(y), s, self.solver.intercepts)
        if null.size:
            again = self._windows(X, y, s, null)
            for target, source in zip(first, again, strict=True):
                if target.size:
                    target.T[unsafe] = source.T[unsafe]
            found = rank[unsafe] - np.linalg.matrix_rank(null)
            rank[unsafe] = np.where(first[0][1, unsafe] == 0.0, found, -1)
        return *first, rank

    def _solve_blocks(
        self, X: Matrix, y: Vector, s: int
    ) -> tuple[Matrix, Matrix, Matrix, Vector, Ints]:
        """``_solve`` where features are many: without null directions, no window is safe."""
        n, solver = y.size - s, self.solver
        states, margin = np.full((8, n), np.nan), np.zeros(n)
        coef = np.empty((n if self.asked.coef else 0, solver.width))
        null = null_directions(X, weighed(y), s, solver.intercepts)
        alpha = float(solver.penalty.rule.alpha)
        for first in range(0, n if null.size else 0, max(s, _COPIED)):
            at = slice(first, min(first + max(s, _COPIED), n))
            rows, responses = X[first : at.stop + s - 1], y[first : at.stop + s - 1]
            problem = Problem(rows, weighed(responses), s, alpha, solver.intercepts, null)
            found = Estimates(np.empty(rows.shape), np.empty(len(rows)), np.zeros(len(rows)))
            slide_many_features(problem, s - 1, len(rows), found)
            theta, level = found.coef[s - 1 :], found.level[s - 1 :]
            if not solver.intercepts:
                level[:] = 0.0
            states[0, at] = np.einsum("ij,ij->i", theta, X[first + s : at.stop + s]) + level
            states[1, at], states[2, at], margin[at] = alpha, level, found.margin[s - 1 :]
            if self.asked.coef:
                coef[at] = theta
        lost = np.linalg.matrix_rank(null) if null.size else 0
        rank = np.full(n, solver.width - lost if alpha == 0.0 else -1)
        return states, coef.T, np.empty((GAUGES, 0)), margin, rank

    def _windows(
        self, X: Matrix, y: Vector, s: int, null: Matrix
    ) -> tuple[Matrix, Matrix, Matrix, Vector]:
        """States, coefficients, gauges and margin of the windows, in batches."""
        n, solver, asked = y.size - s, self.solver, self.asked
        states, coef = np.full((8, n), np.nan), np.empty((n if asked.coef else 0, solver.width))
        gauges = np.empty((GAUGES, n if asked.gauges else 0))
        rule, into = solver.penalty.for_rows(s, solver.width), (states[:6], coef, gauges)
        margin = replay_windows(X, y, s, rule, solver.intercepts, *into, null)
        return states, coef.T, gauges, margin

    def _correct(self, trace: Trace, first: int, X: Matrix, y: Vector) -> None:
        """Overwrite the trace from row ``first`` on by a replay one by one."""
        none, one = np.zeros(y.size, np.int64), np.ones(y.size, np.int64)
        right = self.one_by_one(X, y, none, one)
        for target, source in zip(trace.arrays, right.arrays, strict=True):
            target[first : first + y.size] = source

    def _rank(self, rank: Ints, X: Matrix, s: int, margin: Vector) -> None:
        """Fill in the rank of windows whose penalty hides it.

        Where some rows have full rank, so have all windows that contain them.
        """
        hidden, i = np.flatnonzero((rank < 0) & (margin >= SAFE)), 0
        while i < hidden.size:
            t = int(hidden[i])
            found, newest = rank_of(X[t : t + s], np.ones(s), self.solver.intercepts)
            last = t + s - newest if newest and found == X.shape[1] else t
            rank[t : last + 1] = found
            i = int(np.searchsorted(hidden, last + 1))

    def _conditioned(self, trace: Trace, X: Matrix, past: Matrix) -> Trace:
        """The trace with phi2 and condition at the rows at which ``Solver.replay`` gives them."""
        found = np.full((2, len(X)), np.nan)
        for t in self.solver.marks(len(X)):
            first = t - int(trace.n_rows[t])
            window = X[first:t] if first >= 0 else np.concatenate([past[first:], X[:t]])
            found[:, t] = conditioning(window, np.ones(len(window)), self.solver.intercepts)
        return trace._replace(phi2=found[0], condition=found[1])


def longest_run(n_rows: int, before: Ints, after: Ints) -> Run:
    """The longest run of rows each of which makes one row leave; ``n_rows`` are alive at first.

    >>> longest_run(0, np.zeros(5, np.int64), np.array([0, 0, 1, 1, 1]))
    Run(first=2, last=5, size=2)
    """
    leaving = departures(before, after)
    edges = np.concatenate([[-1], np.flatnonzero(leaving != 1), [leaving.size]])
    longest = int(np.diff(edges).argmax())
    first, last = int(edges[longest]) + 1, int(edges[longest + 1])
    return Run(first, last, n_rows - int(before[:1].sum()) + first - int(leaving[:first].sum()))


def unsafe_runs(margin: Vector, chain: Ints | None = None) -> Iterator[tuple[int, int]]:
    """Runs of windows that are not safe, joined where only a few safe ones lie between.

    Windows with different numbers in ``chain`` are never joined.

    >>> list(unsafe_runs(np.array([0.0, 1.0, 0.0]))), list(unsafe_runs(np.zeros(2), np.arange(2)))
    ([(0, 3)], [(0, 1), (1, 2)])
    """
    places = np.flatnonzero(~(margin >= SAFE))
    if not places.size:
        return
    apart = np.diff(places) > _NEAR
    if chain is not None:
        apart |= np.diff(chain[places]) > 0
    for run in np.split(places, np.flatnonzero(apart) + 1):
        yield int(run[0]), int(run[-1]) + 1

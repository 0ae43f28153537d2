"""Regressions on ranges of rows, many at once: the windows of many keys.

Ranges are solved in compiled batches (see ``efface.engine.windows.ranges``). Those for which that
is not safe, and all ranges of a penalty without such a kernel, are handed to a solver, one after
the other, or go through it (``Solver.walk``). The solver holds no row afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from efface.engine.jit.views import Ints, Matrix, Vector, weighed
from efface.engine.linalg.dense import SAFE
from efface.engine.linalg.spectrum import numerical_rank
from efface.engine.windows.lane_fits import LaneFits
from efface.engine.windows.ranges import ALONE, Ranges, solve_ranges
from efface.engine.windows.systems import MOST_UNKNOWNS
from efface.live.batches import unsafe_runs
from efface.live.penalties import Fixed, Lemma3
from efface.live.solver import Solver
from efface.live.threads import share_out
from efface.live.trace import Asked, Gauges, Trace, joined

_SHARE = 4096  # ranges that a thread takes at once


@final
@dataclass(frozen=True, eq=False)
class RowRanges:
    """Ranges lo..hi of rows; neither end moves back within a key."""

    X: Matrix
    y: Vector
    weights: Vector
    lo: Ints
    hi: Ints

    def __iter__(self) -> Iterator[tuple[Matrix, Vector, Vector]]:
        for a, b in zip(self.lo.tolist(), self.hi.tolist(), strict=True):
            yield self.X[a:b], self.y[a:b], self.weights[a:b]

    @property
    def empty(self) -> NDArray[np.bool_]:
        """Which ranges have no row."""
        return np.asarray(self.lo == self.hi)

    @property
    def weighted(self) -> Ints:
        """How many rows of each range have weight."""
        return self._count(self.weights > 0.0)

    @property
    def uneven(self) -> Ints:
        """How many rows of each range have another weight than 1."""
        return self._count(self.weights != 1.0)

    @property
    def follows(self) -> NDArray[np.bool_]:
        """Which ranges, from the second on, end one row later than the range before them."""
        later = (self.hi[1:] == self.hi[:-1] + 1) & (self.lo[1:] <= self.hi[:-1])
        return np.asarray(later)

    @property
    def chain(self) -> Ints:
        """The same number for all ranges that follow each other."""
        return np.concatenate([[0], np.cumsum(~self.follows)])

    def shares(self) -> Ints:
        """Bounds of shares for threads: none divides ranges that follow each other."""
        starts = np.concatenate([[0], 1 + np.flatnonzero(~self.follows), [self.lo.size]])
        wanted = np.arange(0, self.lo.size, _SHARE)
        return np.unique(np.append(starts[np.searchsorted(starts, wanted)], self.lo.size))

    def _count(self, rows: NDArray[np.bool_]) -> Ints:
        upto = np.concatenate([[0], np.cumsum(rows)])
        return np.asarray(upto[self.hi] - upto[self.lo])


class KeyFits(NamedTuple):
    """The regression on each of some ranges."""

    coef: Matrix
    intercept: Vector
    penalty: Vector


@final
@dataclass(frozen=True)
class RangeReplay:
    """Solves ranges of rows on up to ``workers`` threads.

    >>> from efface.live.solver import Solver
    >>> solver = Solver(1, Fixed(1.0), intercept=False)
    >>> rows, ends = (np.ones((3, 1)), np.arange(3.0), np.ones(3)), np.array([0, 1, 2])
    >>> windows = RowRanges(*rows, np.array([0, 0, 1]), ends)
    >>> nothing = Asked(False, False, False)
    >>> RangeReplay(solver).replay(windows, nothing).prediction
    array([0. , 0. , 0.5])
    """

    solver: Solver
    workers: int = 1

    @property
    def _compiled(self) -> bool:
        solver = self.solver
        few = solver.width + solver.intercepts <= MOST_UNKNOWNS
        return few and solver.batched and isinstance(solver.penalty, Fixed | Lemma3)

    def replay(self, windows: RowRanges, asked: Asked, marks: Sequence[int] = ()) -> Trace:
        """What predicts row hi of each range, and the prediction.

        phi2 and condition are given for the ranges ``marks``.
        """
        if self.solver.walks:
            trace = self._walk(windows, windows.X, windows.hi, asked)
        else:
            fits = self._solve(windows, windows.X, windows.hi, asked, unit=1)
            trace = self._trace(windows, fits, asked)
            margin = np.where(windows.empty, np.inf, fits.margin)
            for run in unsafe_runs(margin, windows.chain):
                self._correct(windows, trace, asked, *run)
        if asked.diagnostics:
            trace = self._conditioned(windows, trace, marks)
        self._wipe()
        return trace

    def fit(self, windows: RowRanges) -> KeyFits:
        """The regression on each range."""
        asked = Asked(coef=True, diagnostics=False, gauges=False)
        first = np.minimum(windows.lo, len(windows.y) - 1)  # any row: its prediction is not used
        if self.solver.walks:
            trace = self._walk(windows, windows.X, first, asked)
            assert trace.coef is not None
            return KeyFits(trace.coef, trace.intercept, trace.penalty)
        fits = self._solve(windows, windows.X, first, asked, unit=1)
        found = KeyFits(fits.coef, fits.states[2], fits.states[1])
        for k in np.flatnonzero(~(fits.margin >= SAFE)).tolist():
            solver = self._holding(windows, k)
            found.coef[k], found.intercept[k] = solver.coef, solver.intercept
            found.penalty[k] = solver.penalty_value
        self._wipe()
        return found

    def gauge(self, windows: RowRanges, rows: Matrix, at: Ints) -> tuple[Vector, Gauges]:
        """The predictions of rows[at[k]] by range k, and what an interval around it needs."""
        asked, d = Asked(coef=False, diagnostics=False, gauges=True), self.solver.width
        if self.solver.walks:
            trace = self._walk(windows, rows, at, asked)
            assert trace.gauges is not None
            return trace.prediction, trace.gauges
        fits = self._solve(windows, rows, at, asked)
        prediction, penalty = fits.states[0], fits.states[1]
        rank = np.where(penalty == 0.0, d, -1)
        gauges = Gauges(windows.weighted, rank, penalty, *fits.gauges)
        for k in np.flatnonzero(~(fits.margin >= SAFE)).tolist():
            solver, x = self._holding(windows, k), rows[at[k]]
            prediction[k] = x @ solver.coef + solver.intercept
            for target, source in zip(gauges, solver.gauge(x[np.newaxis]), strict=True):
                target[k] = source[0]
        self._wipe()
        return prediction, gauges

    # -- compiled batches ------------------------------------------------------------------------

    def _solve(
        self, windows: RowRanges, rows: Matrix, at: Ints, asked: Asked, *, unit: int = ALONE
    ) -> LaneFits:
        solver, n = self.solver, windows.lo.size
        wanted = {"coef": asked.coef, "gauges": asked.gauges, "rank": asked.diagnostics}
        found = LaneFits.empty(n, solver.width, **wanted)
        if not self._compiled or not n:
            return found
        penalty, responses = solver.penalty, weighed(windows.y, windows.weights)
        rule, measured = penalty.pilot or penalty.rule, asked.diagnostics or asked.gauges

        def work(bounds: Sequence[int]) -> None:
            first, last = bounds[0], bounds[-1]
            part, here = found.part(first, last), slice(first, last)
            ends = windows.lo[here], windows.hi[here]
            ranges = Ranges(windows.X, responses, *ends, rows, at[here])
            solve_ranges(ranges, rule, solver.intercepts, part, unit=unit, measured=measured)

        share_out(work, windows.shares(), self.workers if n > _SHARE else 1)
        if penalty.adapts:
            found.margin[windows.uneven > 0] = 0.0
        return found

    def _trace(self, windows: RowRanges, fits: LaneFits, asked: Asked) -> Trace:
        """The trace of the ranges that were solved; for a range without rows, of zeros."""
        solver, empty = self.solver, windows.empty
        states = fits.states
        if asked.diagnostics:
            states = np.concatenate([states, np.full((2, empty.size), np.nan)])
        states[:3, empty] = 0.0
        states[1, empty] = 0.0 if solver.penalty.adapts else solver.penalty.rule.alpha
        fits.coef[empty[: len(fits.coef)]] = 0.0
        rank = np.where(states[1] == 0.0, solver.width, -1)
        rank[empty] = 0
        if asked.diagnostics:
            self._rank(windows, fits, rank)
        shown, gauges = asked.diagnostics or solver.penalty.unpenalised, None
        if asked.gauges:
            gauges = Gauges(windows.weighted, rank, states[1], *fits.gauges)
        return Trace.of(
            states,
            windows.hi - windows.lo,
            asked,
            rank=rank if shown else None,
            coef=fits.coef if asked.coef else None,
            gauges=gauges,
        )

    def _rank(self, windows: RowRanges, fits: LaneFits, rank: Ints) -> None:
        """Fill in the rank of ranges whose penalty hides it."""
        hidden = (rank < 0) & (fits.margin >= SAFE)
        rank[hidden & (fits.unpenalised >= SAFE)] = self.solver.width
        for k in np.flatnonzero(hidden & ~(fits.unpenalised >= SAFE)).tolist():
            rows = slice(windows.lo[k], windows.hi[k])
            rank[k] = numerical_rank(windows.X[rows], windows.weights[rows], self.solver.intercepts)

    # -- by a solver -----------------------------------------------------------------------------

    def _walk(self, windows: RowRanges, rows: Matrix, at: Ints, asked: Asked) -> Trace:
        """All ranges by a solver that goes through them; each share of them has its own."""
        solver, n = self.solver, windows.lo.size
        responses, found = weighed(windows.y, windows.weights), {}

        def work(bounds: Sequence[int]) -> None:
            here = slice(bounds[0], bounds[-1])
            ends = windows.lo[here], windows.hi[here]
            ranges = Ranges(windows.X, responses, *ends, rows, at[here])
            mine = Solver(solver.width, solver.penalty, intercept=solver.intercepts)
            found[bounds[0]] = mine.walk(ranges, asked)

        share_out(work, windows.shares(), self.workers if n > _SHARE else 1)
        return joined([found[first] for first in sorted(found)])

    def _correct(
        self, windows: RowRanges, trace: Trace, asked: Asked, first: int, last: int
    ) -> None:
        """Overwrite the trace of a run by a replay of its rows one by one."""
        solver, came = self._holding(windows, first), windows.hi[first:last]
        after = np.diff(windows.lo[first:last], append=windows.lo[last - 1])
        rows = windows.X[came], windows.y[came], np.zeros_like(after), after
        right = solver.replay(*rows, asked, windows.weights[came])
        for target, source in zip(trace.arrays, right.arrays, strict=True):
            target[first:last] = source

    def _holding(self, windows: RowRanges, k: int) -> Solver:
        """The solver, with the rows of range k."""
        rows = slice(windows.lo[k], windows.hi[k])
        self.solver.replace(windows.X[rows], windows.y[rows], windows.weights[rows])
        return self.solver

    def _wipe(self) -> None:
        self.solver.replace(np.zeros((0, self.solver.width)), np.zeros(0))

    def _conditioned(self, windows: RowRanges, trace: Trace, marks: Sequence[int]) -> Trace:
        found = np.full((2, windows.lo.size), np.nan)
        for k in marks:
            if windows.hi[k] > windows.lo[k]:
                found[:, k] = self._holding(windows, k).conditioning()
        return trace._replace(phi2=found[0], condition=found[1])

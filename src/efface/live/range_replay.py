"""Regressions on ranges of rows, many at once: the windows of a replay, or of many keys.

The core solves and measures all ranges (``core.solve_ranges``, ``core.measure_ranges``). Where the
weights of rows fade, ranges are solved in blocks, so that no weight becomes too small or too large.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, final

import numpy as np

from efface.core import core
from efface.inputs.types import Ints, Matrix, Vector
from efface.live.measures import conditioning
from efface.live.penalties import Fixed
from efface.live.solver import Solver
from efface.live.threads import share_out
from efface.live.trace import Asked, Gauges, Trace

_SHARE = 4096  # ranges that a thread takes at once
_EVERY, _LEAST_EVERY = 20, 500
_SPAN = 64.0  # half-lives between the newest rows of the ranges of a block


@final
@dataclass(frozen=True, eq=False)
class RowRanges:
    """Ranges lo..hi of rows; neither end moves back within a key.

    ``halvings`` says how often each row is halved, less those of another row. None: none fade.
    """

    X: Matrix
    y: Vector
    weights: Vector
    lo: Ints
    hi: Ints
    halvings: Vector | None = None

    @property
    def arrays(self) -> tuple[Matrix, Matrix, Vector, Ints, Ints]:
        """Rows and ranges as the core takes them: a column per response."""
        rows = self.X, self.y[:, np.newaxis], self.weights
        X, y, weights = map(np.ascontiguousarray, rows)
        lo, hi = (np.ascontiguousarray(ends, np.int64) for ends in (self.lo, self.hi))
        return X, y, weights, lo, hi

    @property
    def weighted(self) -> Ints:
        """How many rows of each range have weight."""
        upto = np.concatenate([[0], np.cumsum(self.weights > 0.0)])
        return np.asarray(upto[self.hi] - upto[self.lo])

    @property
    def counted(self) -> Ints | Vector:
        """How many rows of each range have weight, where each counts by its fade."""
        if self.halvings is None:
            return self.weighted
        shares = np.where(self.weights > 0.0, np.exp2(self.halvings - self.halvings.max()), 0.0)
        upto = np.concatenate([[0.0], np.cumsum(shares)])
        newest = shares[np.maximum(self.hi - 1, 0)] if shares.size else np.ones(self.lo.size)
        unit = np.where(self.hi > self.lo, newest, 1.0)
        return np.asarray((upto[self.hi] - upto[self.lo]) / unit)

    def part(self, first: int, last: int) -> RowRanges:
        """Some of the ranges."""
        return replace(self, lo=self.lo[first:last], hi=self.hi[first:last])

    def shares(self) -> Ints:
        """Bounds of shares for threads: none divides ranges that follow each other."""
        apart = (self.lo[1:] >= self.hi[:-1]) | (self.lo[1:] < self.lo[:-1])
        starts = np.concatenate([[0], 1 + np.flatnonzero(apart), [self.lo.size]])
        wanted = np.arange(0, self.lo.size, _SHARE)
        return np.unique(np.append(starts[np.searchsorted(starts, wanted)], self.lo.size))


def marked(n: int, width: int) -> list[int]:
    """The rows of a replay of n at which phi2 and condition are given: every m-th and the last.

    m is 20 times the width, at least 500, as eigenvalues cost as much as some hundred rows.

    >>> marked(1200, 3)
    [499, 999, 1199]
    """
    every = max(_EVERY * width, _LEAST_EVERY)
    return [*range(every - 1, n - 1, every), n - 1] if n else []


class KeyFits(NamedTuple):
    """The regression on each of some ranges."""

    coef: Matrix
    intercept: Vector
    penalty: Vector


class _Fits(NamedTuple):
    """What the core returns for some ranges."""

    coef: Matrix | None
    intercept: Vector
    penalty: Vector
    rank: Ints
    prediction: Vector | None


@final
@dataclass(frozen=True)
class RangeReplay:
    """Solves ranges of rows on up to ``workers`` threads, as the regression of a solver.

    >>> solver = Solver(1, Fixed(1.0), intercept=False)
    >>> rows, ends = (np.ones((3, 1)), np.arange(3.0), np.ones(3)), np.array([0, 1, 2])
    >>> windows = RowRanges(*rows, np.array([0, 0, 1]), ends)
    >>> nothing = Asked(False, False, False)
    >>> RangeReplay(solver).replay(windows, nothing).prediction
    array([0. , 0. , 0.5])
    """

    solver: Solver
    workers: int = 1

    def replay(
        self,
        windows: RowRanges,
        asked: Asked,
        marks: Sequence[int] = (),
        new: tuple[Matrix, Ints] | None = None,
    ) -> Trace:
        """What predicts row hi of each range, or rows[at] of the ``new`` ones, and the prediction.

        phi2 and condition are given for the ranges ``marks``.
        """
        new = (windows.X, windows.hi) if new is None else new
        fits = self._solve(windows, coef=asked.coef, new=new)
        assert fits.prediction is not None
        shown = asked.diagnostics or self.solver.penalty.unpenalised
        trace = Trace(
            fits.prediction,
            fits.penalty,
            fits.intercept,
            windows.hi - windows.lo,
            rank=fits.rank if shown else None,
            coef=fits.coef,
        )
        if asked.diagnostics or asked.gauges:
            trace = self._measured(windows, trace, fits, asked, new)
        return self._conditioned(windows, trace, marks) if asked.diagnostics else trace

    def fit(self, windows: RowRanges) -> KeyFits:
        """The regression on each range."""
        coef, intercept, penalty = self._solve(windows, coef=True)[:3]
        assert coef is not None
        return KeyFits(coef, intercept, penalty)

    def fit_in_units(
        self, windows: RowRanges, unit: Vector | None, *, coef: bool = True
    ) -> tuple[Matrix | None, Vector, Ints]:
        """Coefficients, intercepts and ranks of ranges; a rank is -1 where a penalty hides it.

        ``unit`` is the weight that counts as one row in each range.
        """
        found = self._solve(windows, coef=coef, unit=unit)
        return found.coef, found.intercept, found.rank

    def gauge(self, windows: RowRanges, rows: Matrix, at: Ints) -> tuple[Vector, Gauges]:
        """The predictions of rows[at[k]] by range k, and what an interval around it needs."""
        asked = Asked(coef=False, diagnostics=False, gauges=True)
        trace = self.replay(windows, asked, (), (rows, at))
        assert trace.gauges is not None
        return trace.prediction, trace.gauges

    # -- by the core -----------------------------------------------------------------------------

    def _solve(
        self,
        windows: RowRanges,
        *,
        coef: bool,
        new: tuple[Matrix, Ints] | None = None,
        unit: Vector | None = None,
    ) -> _Fits:
        solver, d = self.solver, self.solver.width
        kind = solver.intercepts, solver.power, *solver.penalty.code
        rows = None if new is None else np.ascontiguousarray(new[0])

        def solve(block: _Block) -> Any:
            at = None if new is None else new[1][block.places]
            units = block.unit if unit is None else unit[block.places]
            X, y, weights, *ends = block.ranges.arrays
            plain = bool((weights == 1.0).all())  # rows without weights take less time
            given = X, y, None if plain else weights
            return core.solve_ranges(*given, *ends, *kind, units, coef, rows, at)

        found = self._each_block(windows, solve)
        theta, level, penalty, rank, prediction = map(_joined, zip(*found, strict=True))
        return _Fits(
            None if theta is None else theta.reshape(-1, d),
            level[:, 0],
            penalty[:, 0],
            rank,
            None if prediction is None else prediction[:, 0],
        )

    def _each_block(self, windows: RowRanges, work: Callable[[_Block], Any]) -> list[Any]:
        """What ``work`` returns for blocks of the ranges, in their order."""
        found: dict[int, Any] = {}
        n = windows.lo.size

        def share(bounds: Sequence[int]) -> None:
            first, last = bounds[0], bounds[-1]
            for block in _blocks(windows.part(first, last)):
                here = block._replace(first=first + block.first)
                found[here.first] = work(here)

        bounds = windows.shares() if n > _SHARE else np.array([0, n])
        share_out(share, bounds, self.workers if n > _SHARE else 1)
        return [found[first] for first in sorted(found)]

    def _measured(
        self,
        windows: RowRanges,
        trace: Trace,
        fits: _Fits,
        asked: Asked,
        new: tuple[Matrix, Ints],
    ) -> Trace:
        """The trace with leverages and the like, gauges, or both."""
        solver, rows = self.solver, np.ascontiguousarray(new[0])

        def measure(block: _Block) -> Any:
            here, count = block.places, block.ranges.lo.size
            unit = np.ones(count) if block.unit is None else block.unit
            lam = np.ascontiguousarray((fits.penalty[here] * unit)[:, np.newaxis])
            kind, wanted = (solver.intercepts, solver.power), (asked.diagnostics, asked.diagnostics)
            gauges, terms, rank = core.measure_ranges(
                *block.ranges.arrays, rows, new[1][here], lam, *kind, *wanted
            )
            return *gauges[:, :, 0], *terms[:, :, 0], rank, unit

        found = self._each_block(windows, measure)
        columns = [np.concatenate(parts) for parts in zip(*found, strict=True)]
        gauges, (new_leverage, old, frt), rank, unit = columns[:6], columns[6:9], *columns[9:]
        if asked.diagnostics:
            # FRT = old (apart + 1), where apart grows with the unit, as the new row's leverage.
            frt = frt * unit + old * (1.0 - unit)
            terms = {"leverage_new": new_leverage * unit, "leverage_old": old, "frt": frt}
            trace = trace._replace(rank=self._ranks(windows, fits), **terms)
        if not asked.gauges:
            return trace
        known = np.where((fits.rank < 0) & (fits.penalty == 0.0), rank, fits.rank)
        measured = Gauges(windows.counted, known, fits.penalty, *gauges)
        return trace._replace(gauges=measured.in_units(unit))

    def _ranks(self, windows: RowRanges, fits: _Fits) -> Ints:
        """The rank of each range, also where a penalty hides it."""
        if not (fits.rank < 0).any():
            return fits.rank
        plain = Solver(self.solver.width, Fixed(), intercept=self.solver.centred)
        return RangeReplay(plain, self.workers)._solve(windows, coef=False).rank

    def _conditioned(self, windows: RowRanges, trace: Trace, marks: Sequence[int]) -> Trace:
        found = np.full((2, windows.lo.size), np.nan)
        for k in marks:
            found[:, k] = _conditioning(windows, k, self.solver)
        return trace._replace(phi2=found[0], condition=found[1])


def _joined(parts: Sequence[Any]) -> Any:
    """Arrays one after the other; None if they were not asked for."""
    return parts[0] if parts[0] is None or len(parts) == 1 else np.concatenate(parts)


def _conditioning(ranges: RowRanges, k: int, solver: Solver) -> tuple[float, float]:
    """phi2 and condition of range k, by singular values."""
    rows = slice(ranges.lo[k], ranges.hi[k])
    weights = ranges.weights[rows]
    if ranges.halvings is not None:
        halved = ranges.halvings[rows]
        weights = weights * np.exp2(halved - halved[-1:])
    return conditioning(ranges.X[rows], weights, solver.way)


class _Block(NamedTuple):
    """Ranges that are solved with the same weights."""

    first: int  # of the ranges
    ranges: RowRanges  # of the block, and the rows that they need
    unit: Vector | None  # the fade of the newest row of each range

    @property
    def places(self) -> slice:
        """The places of its ranges among all."""
        return slice(self.first, self.first + self.ranges.lo.size)


def _blocks(ranges: RowRanges) -> Iterator[_Block]:
    """All ranges; those of rows that fade in blocks whose newest rows are few half-lives apart."""
    n = ranges.lo.size
    if ranges.halvings is None or not n:
        yield _Block(0, ranges, None)
        return
    filled = ranges.hi > ranges.lo
    newest = ranges.halvings[np.maximum(ranges.hi - 1, 0)]
    first = 0
    while first < n:
        far = np.flatnonzero(np.abs(newest[first:] - newest[first]) > _SPAN)
        last = first + int(far[0]) if far.size else n
        at, top = slice(first, last), newest[first:last].max()
        unit = np.where(filled[at], np.exp2(newest[at] - top), 1.0)
        yield _Block(first, _faded(ranges, at, top), unit)
        first = last


def _faded(ranges: RowRanges, at: slice, top: float) -> RowRanges:
    """Some ranges and their rows, with weights that have faded since ``top`` halvings."""
    assert ranges.halvings is not None
    lo, hi = ranges.lo[at], ranges.hi[at]
    start, stop = int(lo.min()), int(max(hi.max(), lo.min()))
    rows = slice(start, stop)
    fades = np.exp2(np.minimum(ranges.halvings[rows] - top, 0.0))
    weights = ranges.weights[rows] * fades
    return RowRanges(ranges.X[rows], ranges.y[rows], weights, lo - start, hi - start)

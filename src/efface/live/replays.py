"""Replays: predict, then learn, row by row, with the live rows as they are at each row.

The live rows and those that come lie in one array: the rows that predict a row are a range of it.
All ranges are solved at once. Then the rows are learned.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from efface.inputs.types import Vector
from efface.live.arrivals import Arrivals
from efface.live.live_rows import LiveRows
from efface.live.policies import Schedule
from efface.live.range_replay import RangeReplay, RowRanges
from efface.live.trace import Asked, Gauges, RowWindows, Trace, joined

_PART = 1 << 14  # rows whose coefficients are kept at a time, if only intervals need them


class Intervals(Protocol):
    """What computes prediction intervals."""

    @property
    def needs_coef(self) -> bool:
        """Does it need the coefficients that predicted each row?"""

    def widths(self, gauges: Gauges, live: LiveRows, windows: RowWindows) -> Vector:
        """Half the width of each interval."""

    def bounds(
        self, prediction: Vector, gauges: Gauges, live: LiveRows, windows: RowWindows
    ) -> tuple[Vector, Vector]:
        """The lower and upper bound of each row."""


def replay_rows(
    live: LiveRows,
    new: Arrivals,
    *,
    coef: bool,
    diagnostics: bool,
    intervals: Intervals | None = None,
) -> Trace:
    """Predict, then learn, row by row; rows that are too old or due by then leave first."""
    asked = Asked(coef, diagnostics, intervals is not None)
    return joined([_replay_run(live, *run, asked, intervals) for run in live.runs(new)])


def _replay_run(
    live: LiveRows, new: Arrivals, plan: Schedule | None, asked: Asked, intervals: Intervals | None
) -> Trace:
    """Replay one of the runs, with bounds if there are intervals."""
    bounded = None if intervals is None else _Bounded(intervals, live, new, asked)
    if bounded is not None:
        asked = bounded.needed
    if plan is None:
        trace = _replay_late(live, new, asked)
        return trace if bounded is None else bounded.part(trace, 0)
    return _replay_in_order(live, new, plan, asked, bounded)


class _Bounded:
    """Adds the bounds of intervals to parts of a run."""

    def __init__(self, intervals: Intervals, live: LiveRows, new: Arrivals, asked: Asked) -> None:
        past = live.values()
        X, y, weights = zip(past, (new.X, new.y, new.weights), strict=True)
        self._rows = np.concatenate(X), np.concatenate(y), np.concatenate(weights)
        self._intervals, self._live, self._new, self._asked = intervals, live, new, asked
        self._start = len(past[1])
        self._halvings = None if live.fading is None else live.fading.halvings(len(new), new.times)

    @property
    def needed(self) -> Asked:
        """What the replay must return for each row."""
        return self._asked._replace(coef=self._asked.coef or self._intervals.needs_coef)

    @property
    def size(self) -> int:
        """Rows per part: all, unless their coefficients would be kept for intervals alone."""
        whole = self._asked.diagnostics or self.needed == self._asked
        return max(1, len(self._new)) if whole else _PART

    def part(self, trace: Trace, first: int) -> Trace:
        """The trace of rows from ``first`` on, with bounds, and only what was asked for."""
        assert trace.gauges is not None
        count = len(trace.prediction)
        last = np.arange(self._start + first, self._start + first + count)
        rows, new = self._rows, self._new.X[first : first + count]
        fit = trace.coef, trace.intercept
        windows = RowWindows(*rows, last - trace.n_rows, last, new, *fit, self._halvings)
        bounds = self._intervals.bounds(trace.prediction, trace.gauges, self._live, windows)
        lower, upper = bounds
        coef = trace.coef if self._asked.coef else None
        return trace._replace(lower=lower, upper=upper, gauges=None, coef=coef)


def _replay_in_order(
    live: LiveRows, new: Arrivals, plan: Schedule, asked: Asked, bounded: _Bounded | None
) -> Trace:
    """Replay rows that come in order of time."""
    windows, solver = _windows(live, new, plan), live.solver
    marks = np.array(solver.marks(len(new)) if asked.diagnostics and len(new) else [], np.int64)
    replay, parts = RangeReplay(solver), []
    size = max(1, len(new)) if bounded is None else bounded.size
    for first in range(0, max(1, len(new)), size):
        last = first + size
        here = marks[(marks >= first) & (marks < last)] - first
        trace = replay.replay(windows.part(first, last), asked, here.tolist())
        parts.append(trace if bounded is None else bounded.part(trace, first))
    live.learn(new, plan)
    return joined(parts)


def _windows(live: LiveRows, new: Arrivals, plan: Schedule) -> RowRanges:
    """The rows that are alive as each new row is predicted."""
    pairs = zip(live.values(), (new.X, new.y, new.weights), strict=True)
    X, y, weights = (np.concatenate(pair) for pair in pairs)
    hi = np.arange(len(y) - len(new), len(y))
    lo = np.cumsum(plan.before) + np.cumsum(plan.after) - plan.after
    halvings = None if live.fading is None else live.fading.halvings(len(new), new.times)
    return RowRanges(X, y, weights, lo, hi, halvings)


def _replay_late(live: LiveRows, new: Arrivals, asked: Asked) -> Trace:
    """Replay a single row at its place in time: all live rows predict it."""
    rows, none = live.values(), np.zeros(1, np.int64)
    halvings = None if live.fading is None else live.fading.halvings()
    windows = RowRanges(*rows, none, none + len(rows[1]), halvings)
    trace = RangeReplay(live.solver).replay(windows, asked, [0], (new.X, none))
    live.learn_single(new)
    return trace

"""Replays: predict, then learn, row by row, with the live rows as they are at each row.

Rows that come in order of time are replayed by compiled code; a late row by a copy of the solver.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from efface.engine.jit.views import Ints, Vector
from efface.live.arrivals import Arrivals
from efface.live.batches import LONG, SlidingReplay
from efface.live.fading import FadingReplay
from efface.live.live_rows import LiveRows
from efface.live.policies import Schedule
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
    """Replay rows that come in order of time; a long stream in batches of windows."""
    live.replayed += len(new)
    live.solver.use_walls(None)  # the index follows at the end: until then rows have no ids
    step, parts = _steps(live, asked), []
    size = max(1, len(new)) if bounded is None else bounded.size
    for first in range(0, max(1, len(new)), size):
        some, at = new.part(first, first + size), slice(first, first + size)
        trace = step(some, plan.before[at], plan.after[at])
        parts.append(trace if bounded is None else bounded.part(trace, first))
    live.settle(new, plan)
    live.solver.use_walls(live.index.walls)
    return joined(parts)


def _steps(live: LiveRows, asked: Asked) -> Callable[[Arrivals, Ints, Ints], Trace]:
    """What replays some rows after the other."""
    if live.fading is not None:
        return FadingReplay(live.fading, asked, live.index.times).replay
    replay = SlidingReplay(live.solver, asked)
    step = replay.batched if live.replayed >= LONG else replay.one_by_one
    return lambda new, before, after: step(new.X, new.y, before, after, new.weights)


def _replay_late(live: LiveRows, new: Arrivals, asked: Asked) -> Trace:
    """Replay a single row at its place in time, by a copy of the solver."""
    solver, none = live.twin(), np.zeros(1, dtype=np.int64)
    fades = np.full(1, solver.unit) if solver.fades else None
    trace = solver.replay(new.X, new.y, none, none, asked, new.weights, fades)
    solver.drop(solver.n_rows)
    live.learn_single(new)
    return trace

"""The regression that is fitted to windows, and the prediction intervals of rolling regressions.

For intervals, rows are replayed: each row is predicted, then learned, then the rows leave that its
window does not contain.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from efface.batch.groups import RowArrays
from efface.batch.inference import Inference, RobustVariances
from efface.inputs.times import Times
from efface.inputs.types import Ints, Matrix, Vector
from efface.live.half_life import HalfLife
from efface.live.live_rows import LiveRows
from efface.live.penalties import Fixed, Penalty, Selected
from efface.live.policies import KeepAll, Policy, Schedule
from efface.live.range_replay import RangeReplay, RowRanges
from efface.live.replays import replay_rows
from efface.models.intervals import Method


class WindowFits(NamedTuple):
    """The regression on the window that ends at each row, and the interval for that row before it.

    NaN, and a rank of -1, where a window has too few rows. None for what was not computed.
    """

    coef: Matrix
    intercept: Vector
    rank: Ints | None
    lower: Vector | None
    upper: Vector | None
    inference: Inference | None = None
    robust: RobustVariances | None = None

    @property
    def arrays(self) -> list[NDArray[Any]]:
        """All arrays that are not None."""
        found = *self[:-2], *(self.inference or ()), *(self.robust or ())
        return [each for each in found if each is not None]

    def with_arrays(self, arrays: list[NDArray[Any]]) -> WindowFits:
        """The same with others in the place of ``arrays``."""
        left = iter(arrays)
        plain: Any = [None if each is None else next(left) for each in self[:5]]
        inference = None if self.inference is None else Inference(*islice(left, 4))
        robust = None if self.robust is None else RobustVariances(*islice(left, 2))
        return WindowFits._make([*plain, inference, robust])


class Regression(NamedTuple):
    """The regression that is fitted to every window."""

    alpha: float | None  # None: selected by the rows of each window
    fit_intercept: bool
    standardize: bool = False

    @property
    def penalised(self) -> bool:
        """Is there a penalty, so that the rank is not known?"""
        return self.alpha is None or self.alpha > 0.0

    def solve(
        self, ranges: RowRanges, unit: Vector | None, *, coef: bool = True
    ) -> tuple[Matrix | None, Vector, Ints]:
        """Coefficients, intercept and rank of each range; see ``RangeReplay.fit_in_units``."""
        solver = self.start(ranges.X.shape[1], KeepAll()).solver
        return RangeReplay(solver).fit_in_units(ranges, unit, coef=coef)

    def start(self, width: int, policy: Policy, halflife: HalfLife | None = None) -> LiveRows:
        """A model of ``width`` features without rows."""
        penalty: Penalty = Selected() if self.alpha is None else Fixed(self.alpha)
        way = {"intercept": self.fit_intercept, "standardize": self.standardize}
        return LiveRows(width, penalty, policy=policy, halflife=halflife, **way)


@final
class PlannedDepartures(Policy):
    """A policy that is told how many of the oldest rows leave after each arrival.

    >>> PlannedDepartures(np.array([0, 0, 2])).after(3, 2)
    (2, 3)
    """

    def __init__(self, leaving: Ints) -> None:
        self.leaving = leaving

    def after(self, n_rows: int, phase: int) -> tuple[int, int]:
        return int(self.leaving[phase]), phase + 1

    def schedule(self, n_rows: int, arrivals: int, phase: int, times: Times | None) -> Schedule:
        last = phase + arrivals
        return Schedule(np.zeros(arrivals, dtype=np.int64), self.leaving[phase:last], last)


def window_intervals(
    rows: RowArrays,
    starts: Ints,
    regression: Regression,
    method: Method | None,
    halflife: HalfLife | None = None,
) -> tuple[Vector, Vector]:
    """The bounds of each row t by the rows ``starts[t - 1]`` to t - 1; starts must not decrease."""
    d = rows.X.shape[1]
    live = regression.start(d, PlannedDepartures(np.diff(starts, prepend=0)), halflife)
    arrivals = live.arrivals(rows.X, rows.y, None, None, rows.weights)
    arrivals = replace(arrivals, times=rows.times if halflife is not None else None)
    trace = replay_rows(live, arrivals, coef=False, diagnostics=False, intervals=method)
    assert trace.lower is not None
    assert trace.upper is not None
    return trace.lower, trace.upper


def interval_after(
    x: Vector,
    rows: RowArrays,
    regression: Regression,
    method: Method,
    halflife: HalfLife | None = None,
) -> tuple[float, float]:
    """The prediction interval of a row ``x`` that follows some rows."""
    live = regression.start(x.size, KeepAll(), halflife)
    arrivals = live.arrivals(rows.X, rows.y, None, None, rows.weights)
    live.learn(replace(arrivals, times=rows.times))
    found = method.around(live, x[np.newaxis])
    return float(found.lower[0]), float(found.upper[0])

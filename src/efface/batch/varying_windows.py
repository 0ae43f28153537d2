"""Windows of varying length, such as durations, and the intervals of all rolling regressions.

Windows of a fixed number of rows have kernels of their own (``efface.engine.windows``). All others
are replayed: each row is learned, then the rows leave that its window does not contain.
"""

from __future__ import annotations

from dataclasses import replace
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


class Regression(NamedTuple):
    """The regression that is fitted to every window."""

    alpha: float | None  # None: selected by the rows of each window
    fit_intercept: bool
    standardize: bool = False

    @property
    def penalised(self) -> bool:
        """Is there a penalty, so that the rank is not known?"""
        return self.alpha is None or self.alpha > 0.0

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


def fit_varying_windows(
    X: Matrix,
    y: Vector,
    starts: Ints,
    regression: Regression,
    method: Method | None = None,
    weights: Vector | None = None,
    fading: tuple[HalfLife | None, Times | None] = (None, None),
) -> WindowFits:
    """Fit the rows ``starts[t]`` to t, for every row t; ``starts`` must not decrease.

    The rank is None if there is a penalty. ``fading`` is a half-life with the times of the rows.

    >>> X, y = np.ones((3, 1)), np.array([1.0, 3.0, 7.0])
    >>> fit_varying_windows(X, y, np.array([0, 0, 1]), Regression(0.0, False)).coef.ravel()
    array([1., 2., 5.])
    """
    (n, d), (halflife, times) = X.shape, fading
    live = regression.start(d, PlannedDepartures(np.diff(starts, prepend=0)), halflife)
    arrivals = replace(live.arrivals(X, y, None, None, weights), times=times)
    trace = replay_rows(live, arrivals, coef=True, diagnostics=False, intervals=method)
    if not n:
        none = np.zeros(0)
        return WindowFits(np.zeros((0, d)), none, np.zeros(0, dtype=np.int64), none, none)
    assert trace.coef is not None
    solver = live.solver
    return WindowFits(
        np.vstack([trace.coef[1:], solver.coef]),
        np.append(trace.intercept[1:], solver.intercept),
        None if trace.rank is None else np.append(trace.rank[1:], solver.rank),
        trace.lower,
        trace.upper,
    )


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

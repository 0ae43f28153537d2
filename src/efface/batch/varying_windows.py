"""Windows that start where they like, such as those of a duration, and intervals for the next row.

Where ``windows`` regresses on windows of so many rows, here a memory learns row by row and lets go
what is too old by then: the state that predicts a row is the window that ends before it.
"""

from __future__ import annotations

from typing import NamedTuple, final

import numpy as np

from efface.engine.jit.views import Ints, Matrix, Vector
from efface.inputs.times import Times
from efface.live.live_rows import LiveRows
from efface.live.penalties import Fixed
from efface.live.policies import KeepAll, Policy, Schedule
from efface.models.intervals import Method


class Fits(NamedTuple):
    """The regression on the window that ends at each row, and the interval for that row before."""

    coef: Matrix
    level: Vector
    rank: Ints | None  # None where a penalty hides it
    lower: Vector | None
    upper: Vector | None


class Regression(NamedTuple):
    """What is fitted to every window."""

    alpha: float
    intercept: bool
    standardize: bool = False

    def start(self, width: int, policy: Policy) -> LiveRows:
        """No rows yet."""
        way = {"intercept": self.intercept, "standardize": self.standardize}
        return LiveRows(width, Fixed(self.alpha), policy=policy, **way)


@final
class Planned(Policy):
    """How many of the oldest rows leave after each arrival is known beforehand.

    >>> Planned(np.array([0, 0, 2])).after(3, 2)
    (2, 3)
    """

    def __init__(self, leaving: Ints) -> None:
        self.leaving = leaving

    def after(self, n_rows: int, phase: int) -> tuple[int, int]:
        return int(self.leaving[phase]), phase + 1

    def schedule(self, n_rows: int, arrivals: int, phase: int, times: Times | None) -> Schedule:
        last = phase + arrivals
        return Schedule(np.zeros(arrivals, dtype=np.int64), self.leaving[phase:last], last)


def slide_spans(
    X: Matrix,
    y: Vector,
    starts: Ints,
    fit: Regression,
    method: Method | None = None,
    weights: Vector | None = None,
) -> Fits:
    """Regress on the rows ``starts[t]`` to t, at every row t; ``starts`` never go back.

    >>> X, y = np.ones((3, 1)), np.array([1.0, 3.0, 7.0])
    >>> slide_spans(X, y, np.array([0, 0, 1]), Regression(0.0, False)).coef.ravel()
    array([1., 2., 5.])
    """
    n, d = X.shape
    live = fit.start(d, Planned(np.diff(starts, prepend=0)))
    arrivals = live.arrivals(X, y, None, None, weights)
    widths = None if method is None else method.widths
    trace = live.replay(arrivals, coef=True, diagnostics=False, widths=widths)
    if not n:
        none = np.zeros(0)
        return Fits(np.zeros((0, d)), none, np.zeros(0, dtype=np.int64), none, none)
    assert trace.coef is not None
    memory = live.solver
    return Fits(
        np.vstack([trace.coef[1:], memory.coef]),
        np.append(trace.intercept[1:], memory.intercept),
        None if trace.rank is None else np.append(trace.rank[1:], memory.rank),
        trace.lower,
        trace.upper,
    )


def interval_of(
    x: Vector, X: Matrix, y: Vector, weights: Vector | None, fit: Regression, method: Method
) -> tuple[float, float]:
    """Where the response of a row lies that comes after some others."""
    live = fit.start(X.shape[1], KeepAll())
    live.learn(live.arrivals(X, y, None, None, weights))
    found = method.around(live, x[np.newaxis])
    return float(found.lower[0]), float(found.upper[0])

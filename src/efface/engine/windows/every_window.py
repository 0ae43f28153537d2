"""Coefficients of the window that ends at each row of an array.

``few_features`` and ``many_features`` are the two ways to solve the windows. Both sum by addition
alone. A window whose margin is below SAFE is fitted again from sums in double-double precision, or
from its own rows where that is not enough either. Features that are constant over all rows are set
aside first. Where most windows are not safe, null directions that all rows share are looked for.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from efface.engine.events.state import FIXED, Rule
from efface.engine.jit.views import Ints, Matrix, Responses, Vector, weighed
from efface.engine.linalg.dense import SAFE
from efface.engine.linalg.refit import refit
from efface.engine.sums.precise_windows import fit_precisely, null_directions
from efface.engine.windows.constants import varying_features
from efface.engine.windows.few_features import slide_few_features
from efface.engine.windows.lane_fits import LaneFits
from efface.engine.windows.many_features import slide_many_features
from efface.engine.windows.problem import Estimates, Problem
from efface.engine.windows.ranges import Ranges, solve_ranges
from efface.engine.windows.systems import MOST_UNKNOWNS


def slide_windows(
    x: Matrix,
    y: Vector,
    s: int,
    penalty: float,
    intercept: bool,
    first: int,
    weights: Vector | None = None,
) -> tuple[Matrix, Vector, Ints]:
    """Coefficients, intercept and rank of the window of s rows that ends at each row.

    Before row ``first`` they are NaN and 0. Can run in several threads at once.
    """
    n, penalty = len(x), float(penalty)
    design = varying_features(x, min(n, s), penalty, intercept)
    responses = weighed(y, weights)
    problem = Problem(design.x, responses, s, penalty, design.intercept)
    found = _estimates(problem, first)
    if weights is not None:
        found.margin[first:][_weightless(weights, s)[first:]] = 0.0
    d = design.x.shape[1]
    if design.replaced:  # the minimum norm and the rank of so few rows depend on the constant
        found.margin[first : d + 1] = 0.0
    rank = np.minimum(np.minimum(np.arange(1, n + 1), s) - int(intercept), d + design.replaced)
    rank[:first] = 0
    unsafe = np.flatnonzero(~(found.margin >= SAFE))
    if unsafe.size > (n - first) // 2 and s > d + int(design.intercept):
        unsafe = _without_null_directions(unsafe, problem, first, found, rank)
    coef, level = design.restored(found.coef, found.level)
    if not unsafe.size:
        return coef, level, rank
    starts, given = np.maximum(np.arange(1, n + 1) - s, 0), (x, responses, penalty, intercept)
    return _refitted(unsafe, starts, given, coef, level, rank)


def _refitted(
    unsafe: Ints,
    starts: Ints,
    given: tuple[Matrix, Responses, float, bool],
    coef: Matrix,
    level: Vector,
    rank: Ints,
) -> tuple[Matrix, Vector, Ints]:
    """Refit unsafe windows, from sums in double-double precision or else from their rows."""
    x, y, penalty, intercept = given
    for e in fit_precisely(starts[unsafe], unsafe, *given, coef, level, rank).tolist():
        rows = slice(starts[e], e + 1)
        level[e], rank[e] = refit(x[rows], y[rows], penalty, intercept, coef[e])
    return coef, level, rank


def _without_null_directions(
    unsafe: Ints, problem: Problem, first: int, out: Estimates, rank: Ints
) -> Ints:
    """Solve the unsafe windows once more, if features depend on each other in all rows.

    Returns the windows that are still not safe.
    """
    null = null_directions(problem.x, problem.y, problem.s, problem.intercept)
    if not null.size:
        return unsafe
    found = _estimates(problem._replace(null=null), first)
    safe = found.margin[unsafe] >= SAFE
    done = unsafe[safe]
    out.coef[done], out.level[done] = found.coef[done], found.level[done]
    rank[done] -= np.linalg.matrix_rank(null)
    return unsafe[~safe]


def solve_windows(
    x: Matrix,
    y: Vector,
    starts: Ints,
    penalty: float,
    intercept: bool,
    least: int,
    weights: Vector | None = None,
) -> tuple[Matrix, Vector, Ints]:
    """Coefficients, intercept and rank of the window from row ``starts[t]`` to each row t.

    ``starts`` must not decrease. Windows of fewer than ``least`` rows have NaN and 0. For at most
    MOST_UNKNOWNS unknowns. Can run in several threads at once.

    >>> y, starts = np.array([1.0, 3.0, 7.0]), np.array([0, 0, 2])
    >>> solve_windows(np.ones((3, 1)), y, starts, 0.0, False, 1)[0]
    array([[1.],
           [2.],
           [7.]])
    """
    ends = np.arange(1, len(x) + 1)
    count = ends - starts
    design = varying_features(x, int(count.max(initial=1)), penalty, intercept)
    responses, d = weighed(y, weights), design.x.shape[1]
    found = LaneFits.empty(len(x), d, coef=True, gauges=False, rank=False)
    solved = np.where(count < least, starts, ends)
    ranges = Ranges(design.x, responses, starts, solved, design.x, starts)
    solve_ranges(ranges, Rule(FIXED, penalty), design.intercept, found, measured=False)
    margin = np.where(count < least, np.inf, found.margin)
    if design.replaced:
        margin[(count >= least) & (count <= d + 1)] = 0.0
    rank = np.where(count < least, 0, np.minimum(count - int(intercept), d + design.replaced))
    coef, level = design.restored(found.coef, found.states[2].copy())
    coef[count < least], level[count < least] = np.nan, np.nan
    unsafe, given = np.flatnonzero(~(margin >= SAFE)), (x, responses, penalty, intercept)
    return _refitted(unsafe, starts, given, coef, level, rank)


def _estimates(problem: Problem, first: int) -> Estimates:
    """The estimates of all windows; NaN before row ``first``."""
    n, d = problem.x.shape
    p = d + int(problem.intercept)
    found = Estimates(np.empty((n, d)), np.empty(n), np.full(n, np.inf))
    found.coef[:first], found.level[:first] = np.nan, np.nan
    # Each of the two is compiled only when windows need it.
    many = min(p, n) if p <= MOST_UNKNOWNS and problem.s > p else n
    t = slide_many_features(problem, first, many, found) if first < many else first
    if t < n:
        slide_few_features(problem, t, found)
    return found


def _weightless(weights: Vector, s: int) -> NDArray[np.bool]:
    """Which windows have no row with a weight; with a penalty, their pivots do not show it."""
    weighted = np.concatenate([[0], np.cumsum(weights > 0.0)])
    ends = np.arange(1, weighted.size)
    return np.asarray(weighted[ends] == weighted[np.maximum(ends - s, 0)])

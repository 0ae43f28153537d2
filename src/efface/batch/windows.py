"""The regression on the window that ends at each row, for every group.

Windows of a fixed number of rows are solved by ``engine.windows``. All others, and those that
select their penalty, are solved by ``varying_windows``.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from efface.batch.fading_windows import fit_fading
from efface.batch.groups import GroupedRows, RowArrays
from efface.batch.inference import (
    Inference,
    RobustErrors,
    RobustVariances,
    infer_windows,
    robust_variances,
)
from efface.batch.varying_windows import Regression, WindowFits, fit_varying_windows
from efface.engine.standardized.standardized_windows import slide_standardized
from efface.engine.windows.every_window import slide_windows, solve_windows
from efface.engine.windows.systems import MOST_UNKNOWNS
from efface.inputs.types import Ints
from efface.live.departures import plan_departures
from efface.live.half_life import HalfLife
from efface.live.policies import FIFD, KeepAll, Policy
from efface.live.range_replay import RangeReplay, RowRanges
from efface.live.threads import share_out
from efface.models.intervals import Method

_FEW_ROWS = 64  # per group: below this, threads mostly wait for the interpreter lock
_MANY_GROUPS, _SHORT = 64, 1_024  # so many groups of at most so many rows are solved together


class Task(NamedTuple):
    """What to compute for every window."""

    policy: Policy
    regression: Regression
    min_rows: int  # a window with fewer rows has no result
    rank: bool = True
    stats: bool = False
    robust: RobustErrors | None = None  # the kind of standard errors
    method: Method | None = None  # of the prediction intervals
    halflife: HalfLife | None = None  # of the weights of rows

    def window_rows(self, n: int) -> int | None:
        """The number of rows of a window among n rows; None if it varies."""
        if isinstance(self.policy, FIFD):
            return self.policy.rows
        return max(n, 1) if isinstance(self.policy, KeepAll) else None

    def empty(self, n: int, d: int) -> WindowFits:
        """Uninitialised results for n rows of d features."""
        return WindowFits(
            np.empty((n, d)),
            np.empty(n),
            np.empty(n, np.int64) if self.rank else None,
            np.empty(n) if self.method else None,
            np.empty(n) if self.method else None,
            Inference(np.empty((n, d)), *(np.empty(n) for _ in range(3))) if self.stats else None,
            RobustVariances(np.empty((n, d)), np.empty(n)) if self.robust else None,
        )


def fit_windows(task: Task, grouped: GroupedRows, workers: int) -> WindowFits:
    """Fit the windows of every group, on up to ``workers`` threads.

    >>> task = Task(FIFD(2), Regression(0.0, fit_intercept=False), min_rows=2)
    >>> rows = RowArrays(np.ones((3, 1)), np.array([1.0, 3.0, 5.0]))
    >>> grouped = GroupedRows(rows, np.array([0, 3]), None, None)
    >>> fit_windows(task, grouped, workers=1).coef.ravel()
    array([nan,  2.,  4.])
    """
    if len(grouped.bounds) == 2:
        return _fit_group(task, grouped.rows)
    n, d = grouped.rows.X.shape
    found, many = task.empty(n, d), _many_short(task, grouped)

    def write(a: int, b: int, fits: WindowFits) -> None:
        for target, values in zip(found.arrays, fits.arrays, strict=True):
            target[a:b] = values

    def work(bounds: Sequence[int]) -> None:
        first, last = bounds[0], bounds[-1]
        if many:
            edges = np.array(bounds) - first
            write(first, last, _fit_groups(task, grouped.rows.at(slice(first, last)), edges))
            return
        for a, b in pairwise(bounds):
            write(a, b, _fit_group(task, grouped.rows.at(slice(a, b))))

    small = n < _FEW_ROWS * len(grouped.bounds) and not many
    share_out(work, grouped.bounds, 1 if small else workers)
    return found


def _many_short(task: Task, grouped: GroupedRows) -> bool:
    """Are groups so short that the windows of all of them are solved together?"""
    _, intercept, standardize = task.regression
    X, bounds = grouped.rows.X, grouped.bounds
    if standardize or task.method or task.halflife or X.shape[1] + intercept > MOST_UNKNOWNS:
        return False
    sizes = np.diff(bounds)
    if sizes.size < _MANY_GROUPS or not 0 < len(X) <= _SHORT * sizes.size:
        return False
    # A feature that is constant within a group is set aside group by group.
    long = sizes >= max(task.min_rows, 2)
    starts = bounds[:-1][sizes > 0]
    constant = np.maximum.reduceat(X, starts) == np.minimum.reduceat(X, starts)
    return not (constant[long[sizes > 0]] & (X[0] != X).any(axis=0)).any()


def _fit_groups(task: Task, rows: RowArrays, bounds: Ints) -> WindowFits:
    """Fit the windows of many short groups at once."""
    alpha, intercept, _ = task.regression
    (X, y, weights, _), starts = rows, window_starts(task.policy, rows, bounds)
    least, ends, rank = task.min_rows, np.arange(1, len(y) + 1), None
    if alpha is None:
        ranges = RowRanges(X, y, np.ones(len(y)) if weights is None else weights, starts, ends)
        solver = task.regression.start(X.shape[1], KeepAll()).solver
        coef, level, _ = RangeReplay(solver).fit(ranges)
    else:
        coef, level, rank = solve_windows(X, y, starts, alpha, intercept, least, weights)
    if task.rank and task.regression.penalised:
        rank = solve_windows(X, y, starts, 0.0, intercept, least, weights)[2]
    return _with_statistics(task, rows, starts, WindowFits(coef, level, rank, None, None))


def window_starts(policy: Policy, rows: RowArrays, bounds: Ints) -> Ints:
    """The first row of the window that ends at each row, as an index into the rows of all groups.

    ``bounds`` are those of the groups.
    """
    none = np.zeros(len(bounds) - 1, np.int64)
    return plan_departures(policy, np.asarray(bounds), none, none, rows.times).after


def _starts(policy: Policy, rows: RowArrays) -> Ints:
    plan = policy.schedule(0, len(rows.y), 0, rows.times)
    return np.cumsum(plan.before + plan.after)


def _fit_group(task: Task, rows: RowArrays) -> WindowFits:
    if task.halflife is not None:
        return _fit_half_life(task, task.halflife, rows)
    window, alpha = task.window_rows(len(rows.y)), task.regression.alpha
    if window is None or alpha is None:
        return _fit_varying(task, rows)
    return _fit_fixed(task, rows, window, alpha)


def _fit_half_life(task: Task, halflife: HalfLife, rows: RowArrays) -> WindowFits:
    (n, d), starts = rows.X.shape, _starts(task.policy, rows)
    plain = task._replace(halflife=None, method=None)
    if task.regression.penalised:
        plain = plain._replace(regression=task.regression._replace(alpha=0.0))
    found = plain.empty(n, d)
    if task.rank or not task.regression.penalised:
        found = fit_fading(rows, starts, halflife, found, lambda part: _fit_group(plain, part))
    if task.regression.penalised or task.method:
        way, fading = (task.regression, task.method, rows.weights), (halflife, rows.times)
        fits = fit_varying_windows(rows.X, rows.y, starts, *way, fading)
        found = found._replace(lower=fits.lower, upper=fits.upper)
        if task.regression.penalised:
            short = np.arange(1, n + 1) - starts < task.min_rows
            fits.coef[short], fits.intercept[short] = np.nan, np.nan
            found = found._replace(coef=fits.coef, intercept=fits.intercept)
    return found


def _fit_fixed(task: Task, rows: RowArrays, window: int, alpha: float) -> WindowFits:
    _, intercept, standardize = task.regression
    (X, y, weights, _), starts = rows, _starts(task.policy, rows)
    solve = slide_standardized if standardize else slide_windows
    first, lower, upper = task.min_rows - 1, None, None
    coef, level, rank = solve(X, y, window, alpha, intercept, first, weights=weights)
    if task.rank and alpha > 0:  # the solver with a penalty does not compute the rank
        rank = solve(X, y, window, 0.0, intercept, first, weights=weights)[2]
    if task.method:
        fits = fit_varying_windows(X, y, starts, task.regression, task.method, weights)
        lower, upper = fits.lower, fits.upper
    return _with_statistics(task, rows, starts, WindowFits(coef, level, rank, lower, upper))


def _fit_varying(task: Task, rows: RowArrays) -> WindowFits:
    (X, y, weights, _), starts = rows, _starts(task.policy, rows)
    fits = fit_varying_windows(X, y, starts, task.regression, task.method, weights)
    if task.rank and fits.rank is None:
        plain = task.regression._replace(alpha=0.0)
        fits = fits._replace(rank=fit_varying_windows(X, y, starts, plain, None, weights).rank)
    return _with_statistics(task, rows, starts, fits)


def _with_statistics(task: Task, rows: RowArrays, starts: Ints, fits: WindowFits) -> WindowFits:
    """The fits of windows that have enough rows, with the statistics that the task asks for."""
    intercept, rank = task.regression.fit_intercept, fits.rank
    too_short = np.arange(1, len(rows.y) + 1) - starts < task.min_rows
    for values in fits[:3]:
        if values is not None:
            values[too_short] = -1 if values.dtype.kind == "i" else np.nan
    inference, robust = None, None
    if task.stats and rank is not None:  # statistics need a penalty of 0, which gives the rank
        ends = np.flatnonzero(rank == rows.X.shape[1])
        inference = infer_windows(rows, starts, ends, intercept)
        if task.robust is not None:
            robust = robust_variances(rows, starts, ends, intercept, task.robust)
    return fits._replace(rank=rank if task.rank else None, inference=inference, robust=robust)

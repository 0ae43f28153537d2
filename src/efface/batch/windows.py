"""The regression on the window that ends at each row, for every group.

A window is a range of rows; the windows of all groups are solved together (``range_replay``). Only
intervals need the groups one by one (``varying_windows``).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
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
from efface.batch.varying_windows import Regression, WindowFits, window_intervals
from efface.inputs.types import Ints, Vector
from efface.live.departures import plan_departures
from efface.live.half_life import HalfLife
from efface.live.policies import Policy
from efface.live.range_replay import RowRanges
from efface.live.threads import share_out
from efface.models.intervals import Method


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

    >>> from efface.live.policies import FIFD
    >>> task = Task(FIFD(2), Regression(0.0, fit_intercept=False), min_rows=2)
    >>> rows = RowArrays(np.ones((3, 1)), np.array([1.0, 3.0, 5.0]))
    >>> grouped = GroupedRows(rows, np.array([0, 3]), None, None)
    >>> fit_windows(task, grouped, workers=1).coef.ravel()
    array([nan,  2.,  4.])
    """
    if len(grouped.bounds) == 2:
        return _fit_groups(task, grouped.rows, grouped.bounds)
    n, d = grouped.rows.X.shape
    found = task.empty(n, d)

    def work(bounds: Sequence[int]) -> None:
        first, last = bounds[0], bounds[-1]
        rows, edges = grouped.rows.at(slice(first, last)), np.array(bounds) - first
        fits = _fit_groups(task, rows, edges)
        for target, values in zip(found.arrays, fits.arrays, strict=True):
            target[first:last] = values

    share_out(work, grouped.bounds, workers)
    return found


def _fit_groups(task: Task, rows: RowArrays, bounds: Ints) -> WindowFits:
    """Fit the windows of groups."""
    starts = window_starts(task.policy, rows, bounds)
    if task.halflife is None:
        fits = _fit_ranges(task, rows, starts, None)
    else:
        fits = task._replace(method=None).empty(*rows.X.shape)
        for a, b in pairwise(bounds.tolist()):
            group, here = rows.at(slice(a, b)), slice(a, b)
            part = fit_fading(group, starts[here] - a, task.halflife, partial(_fit_ranges, task))
            for target, values in zip(fits.arrays, part.arrays, strict=True):
                target[here] = values
    return fits if task.method is None else _with_intervals(task, rows, bounds, starts, fits)


def _fit_ranges(task: Task, rows: RowArrays, starts: Ints, unit: Vector | None) -> WindowFits:
    """Fit windows; ``unit`` is the weight that counts as one row in each of them."""
    X, y, weights, _ = rows
    ends = np.arange(1, len(y) + 1)
    stops = np.where(ends - starts < task.min_rows, starts, ends)  # too few rows: not solved
    given = np.ones(len(y)) if weights is None else weights
    ranges = RowRanges(X, y, given, starts, stops)
    coef, level, rank = task.regression.solve(ranges, unit)
    assert coef is not None
    if task.rank and task.regression.penalised:
        rank = task.regression._replace(alpha=0.0).solve(ranges, unit, coef=False)[2]
    return _with_statistics(task, rows, starts, WindowFits(coef, level, rank, None, None))


def _with_intervals(
    task: Task, rows: RowArrays, bounds: Ints, starts: Ints, fits: WindowFits
) -> WindowFits:
    """The same with the prediction interval of each row by the rows before it."""
    lower, upper = np.empty(len(rows.y)), np.empty(len(rows.y))
    for a, b in pairwise(bounds.tolist()):
        group, here = rows.at(slice(a, b)), slice(a, b)
        way = task.regression, task.method, task.halflife
        lower[here], upper[here] = window_intervals(group, starts[here] - a, *way)
    return fits._replace(lower=lower, upper=upper)


def window_starts(policy: Policy, rows: RowArrays, bounds: Ints) -> Ints:
    """The first row of the window that ends at each row, as an index into the rows of all groups.

    ``bounds`` are those of the groups.
    """
    none = np.zeros(len(bounds) - 1, np.int64)
    return plan_departures(policy, np.asarray(bounds), none, none, rows.times).after


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

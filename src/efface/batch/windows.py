"""The regression on the window that ends at each row, for every group.

Windows of a fixed number of rows are solved by ``engine.windows``, all others by
``varying_windows``.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from efface.batch.groups import GroupedRows, RowArrays
from efface.batch.threads import share_out
from efface.batch.varying_windows import Regression, WindowFits, fit_varying_windows
from efface.engine.standardized.standardized_windows import slide_standardized
from efface.engine.windows.every_window import slide_windows
from efface.engine.windows.inference import Inference, infer_windows
from efface.inputs.types import Ints, Matrix, Vector
from efface.live.policies import FIFD, KeepAll, Policy
from efface.models.intervals import Method

_FEW_ROWS = 64  # per group: below this, threads mostly wait for the interpreter lock


class Task(NamedTuple):
    """What to compute for every window."""

    policy: Policy
    regression: Regression
    min_rows: int  # a window with fewer rows has no result
    rank: bool = True
    stats: bool = False
    method: Method | None = None  # of the prediction intervals

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
    found = task.empty(n, d)

    def work(bounds: Sequence[int]) -> None:
        for a, b in pairwise(bounds):
            group = _fit_group(task, grouped.rows.at(slice(a, b))).arrays
            for target, values in zip(found.arrays, group, strict=True):
                target[a:b] = values

    small = n < _FEW_ROWS * len(grouped.bounds)
    share_out(work, grouped.bounds, 1 if small else workers)
    return found


def window_starts(policy: Policy, grouped: GroupedRows) -> Ints:
    """The first row of the window that ends at each row, as an index into all grouped rows."""
    pairs = pairwise(grouped.bounds.tolist())
    return np.concatenate([a + _starts(policy, grouped.rows.at(slice(a, b))) for a, b in pairs])


def _starts(policy: Policy, rows: RowArrays) -> Ints:
    plan = policy.schedule(0, len(rows.y), 0, rows.times)
    return np.cumsum(plan.before + plan.after)


def _fit_group(task: Task, rows: RowArrays) -> WindowFits:
    window = task.window_rows(len(rows.y))
    return _fit_varying(task, rows) if window is None else _fit_fixed(task, rows, window)


def _fit_fixed(task: Task, rows: RowArrays, window: int) -> WindowFits:
    alpha, intercept, standardize = task.regression
    first, (X, y, weights, _) = task.min_rows - 1, rows
    solve = slide_standardized if standardize else slide_windows
    coef, level, rank = solve(X, y, window, alpha, intercept, first, weights=weights)
    lower, upper, inference = None, None, None
    if task.rank:
        if alpha > 0:  # the solver with a penalty does not compute the rank
            rank = solve(X, y, window, 0.0, intercept, first, weights=weights)[2]
        rank[:first] = -1
    if task.method or task.stats:
        starts = _starts(task.policy, rows)
        inference = _inference(task, rows, starts, coef, level, rank)
        if task.method:
            fits = fit_varying_windows(X, y, starts, task.regression, task.method, weights)
            lower, upper = fits.lower, fits.upper
    return WindowFits(coef, level, rank if task.rank else None, lower, upper, inference)


def _fit_varying(task: Task, rows: RowArrays) -> WindowFits:
    (X, y, weights, _), starts = rows, _starts(task.policy, rows)
    fits = fit_varying_windows(X, y, starts, task.regression, task.method, weights)
    rank = fits.rank
    if task.rank and rank is None:
        plain = task.regression._replace(alpha=0.0)
        rank = fit_varying_windows(X, y, starts, plain, None, weights).rank
    inference = _inference(task, rows, starts, fits.coef, fits.intercept, rank)
    too_short = np.arange(1, len(y) + 1) - starts < task.min_rows
    for values in (fits.coef, fits.intercept, rank, *(inference or ())):
        if values is not None:
            values[too_short] = -1 if values.dtype.kind == "i" else np.nan
    return fits._replace(rank=rank if task.rank else None, inference=inference)


def _inference(
    task: Task,
    rows: RowArrays,
    starts: Ints,
    coef: Matrix,
    intercept: Vector,
    rank: Ints | None,
) -> Inference | None:
    if not task.stats or rank is None:  # statistics need a penalty of 0, which gives the rank
        return None
    X, y, weights, _ = rows
    first, with_intercept = task.min_rows - 1, task.regression.fit_intercept
    return infer_windows(X, y, starts, with_intercept, first, coef, intercept, rank, weights)

"""The regression on the window that ends at each row, group by group.

Windows of so many rows are solved by ``kernels.windows``, all others by a memory (``spans``).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from efface.batch.grouped import Panel, Rows
from efface.batch.threads import share_out
from efface.batch.varying_windows import Regression, slide_spans
from efface.engine.standardized.standardized_fit import slide_standardized
from efface.engine.windows.every_window import slide_windows
from efface.engine.windows.inference import Inference, infer_windows
from efface.inputs.arrays import Matrix, Vector
from efface.live.policies import FIFD, KeepAll, Policy
from efface.models.intervals import Method

Ints = NDArray[np.int64]

_SHORT = 64  # rows a group, below which threads would mostly wait for the interpreter


class Task(NamedTuple):
    """What is to be known of every window."""

    policy: Policy
    fit: Regression
    least: int  # rows that an answer needs
    rank: bool = True
    stats: bool = False
    method: Method | None = None  # of intervals

    def window(self, n: int) -> int | None:
        """Of so many rows is a window among n; None if no number says it."""
        if isinstance(self.policy, FIFD):
            return self.policy.rows
        return max(n, 1) if isinstance(self.policy, KeepAll) else None


class Windows(NamedTuple):
    """What is known of the window that ends at each row; NaN and -1 where it has too few rows."""

    coef: Matrix
    level: Vector
    rank: Ints | None
    lower: Vector | None
    upper: Vector | None
    inference: Inference | None

    @classmethod
    def room(cls, task: Task, n: int, d: int) -> Windows:
        """For n rows, yet to be filled."""
        return cls(
            np.empty((n, d)),
            np.empty(n),
            np.empty(n, np.int64) if task.rank else None,
            np.empty(n) if task.method else None,
            np.empty(n) if task.method else None,
            Inference(np.empty((n, d)), *(np.empty(n) for _ in range(3))) if task.stats else None,
        )

    @property
    def arrays(self) -> list[NDArray[Any]]:
        """Those that are there."""
        return [a for a in (*self[:-1], *(self.inference or ())) if a is not None]


def slide(task: Task, panel: Panel, workers: int) -> Windows:
    """The windows of every group, which share so many threads.

    >>> task = Task(FIFD(2), Regression(0.0, intercept=False), least=2)
    >>> rows = Rows(np.ones((3, 1)), np.array([1.0, 3.0, 5.0]))
    >>> slide(task, Panel(rows, np.array([0, 3]), None, None), workers=1).coef.ravel()
    array([nan,  2.,  4.])
    """
    if len(panel.bounds) == 2:
        return _of_group(task, panel.rows)
    n, d = panel.rows.X.shape
    found = Windows.room(task, n, d)

    def work(part: Sequence[int]) -> None:
        for a, b in pairwise(part):
            pieces = _of_group(task, panel.rows.at(slice(a, b))).arrays
            for target, piece in zip(found.arrays, pieces, strict=True):
                target[a:b] = piece

    short = n < _SHORT * len(panel.bounds)
    share_out(work, panel.bounds, 1 if short else workers)
    return found


def starts_of(policy: Policy, panel: Panel) -> Ints:
    """The first row of the window that ends at each row, counted over the rows of all groups."""
    runs = pairwise(panel.bounds.tolist())
    return np.concatenate([a + _starts(policy, panel.rows.at(slice(a, b))) for a, b in runs])


def _starts(policy: Policy, rows: Rows) -> Ints:
    plan = policy.schedule(0, len(rows.y), 0, rows.times)
    return np.cumsum(plan.before + plan.after)


def _of_group(task: Task, rows: Rows) -> Windows:
    window = task.window(len(rows.y))
    return _by_span(task, rows) if window is None else _by_count(task, rows, window)


def _by_count(task: Task, rows: Rows, window: int) -> Windows:
    first, (alpha, intercept, standardize), (X, y, weights, _) = task.least - 1, task.fit, rows
    slide = slide_standardized if standardize else slide_windows
    coef, level, rank = slide(X, y, window, alpha, intercept, first, weights=weights)
    ranked, lower, upper, inference = None, None, None, None
    if task.rank:
        if alpha > 0:
            rank = slide(X, y, window, 0.0, intercept, first, weights=weights)[2]
        ranked = rank
        ranked[:first] = -1
    if task.method or task.stats:
        starts = _starts(task.policy, rows)
        inference = _inferred(task, rows, starts, coef, level)
        if task.method:
            *_, lower, upper = slide_spans(X, y, starts, task.fit, task.method, weights)
    return Windows(coef, level, ranked, lower, upper, inference)


def _by_span(task: Task, rows: Rows) -> Windows:
    (X, y, weights, _), starts = rows, _starts(task.policy, rows)
    coef, level, rank, lower, upper = slide_spans(X, y, starts, task.fit, task.method, weights)
    if task.rank and rank is None:
        rank = slide_spans(X, y, starts, task.fit._replace(alpha=0.0), None, weights).rank
    inference = _inferred(task, rows, starts, coef, level)
    short = np.arange(1, len(y) + 1) - starts < task.least
    for values in (coef, level, rank, *(inference or ())):
        if values is not None:
            values[short] = -1 if values.dtype.kind == "i" else np.nan
    return Windows(coef, level, rank if task.rank else None, lower, upper, inference)


def _inferred(
    task: Task, rows: Rows, starts: Ints, coef: Matrix, level: Vector
) -> Inference | None:
    if not task.stats:
        return None
    X, y, weights, _ = rows
    return infer_windows(X, y, starts, task.fit.intercept, task.least - 1, coef, level, weights)

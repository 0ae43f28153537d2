"""Coefficients of every window of an array.

The windows of a block share a core of rows; each has a few more of its own: the last of those about
to leave (the tail) and the first of those that came after the block's first window (fresh ones).
In the order tail, fresh the rows of a window follow each other, and so they do in the next window,
one place on. Sums are made by addition alone: a row that a window does not have is in none of them.
``equations`` and ``blocks`` are two ways to solve them, for few features and for many.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from efface.engine.jit.views import Ints, Matrix, Vector, weighed
from efface.engine.linalg.dense import SAFE
from efface.engine.linalg.refit import refit
from efface.engine.windows.few_features import MOST_UNKNOWNS, slide_equations
from efface.engine.windows.many_features import slide_blocks


def slide_windows(
    x: Matrix,
    y: Vector,
    s: int,
    penalty: float,
    intercept: bool,
    first: int,
    length: int = 0,
    weights: Vector | None = None,
) -> tuple[Matrix, Vector, Ints]:
    """Coefficients, intercept and rank of the window of s rows that ends at each row.

    Before row ``first`` they are NaN and 0. Can run in several threads at once.
    """
    n, d = x.shape
    p, penalty = d + int(intercept), float(penalty)
    coef, level, margin = np.empty((n, d)), np.empty(n), np.full(n, np.inf)
    coef[:first], level[:first] = np.nan, np.nan
    responses = weighed(y, weights)
    problem, answers = (x, responses, s, penalty, intercept), (coef, level, margin)
    # Each way is compiled only when windows need it.
    begin = min(p, n) if p <= MOST_UNKNOWNS and s > p else n
    t = slide_blocks(*problem, first, begin, *answers, length) if first < begin else first
    if t < n:
        slide_equations(*problem, t, *answers)
    if weights is not None:
        margin[first:][_mute(weights, s)[first:]] = 0.0
    rank = np.minimum(np.minimum(np.arange(1, n + 1), s) - int(intercept), d)
    rank[:first] = 0
    for e in np.flatnonzero(~(margin >= SAFE)):
        window = slice(max(0, e - s + 1), e + 1)
        level[e], rank[e] = refit(x[window], responses[window], penalty, intercept, coef[e])
    return coef, level, rank


def _mute(weights: Vector, s: int) -> NDArray[np.bool]:
    """Which windows have no row that has weight; with a penalty, no pivot would tell."""
    heard = np.concatenate([[0], np.cumsum(weights > 0.0)])
    ends = np.arange(1, heard.size)
    return np.asarray(heard[ends] == heard[np.maximum(ends - s, 0)])

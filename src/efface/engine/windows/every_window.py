"""Coefficients of the window that ends at each row of an array.

``few_features`` and ``many_features`` are the two ways to solve the windows. Both sum by addition
alone. A window whose margin is below SAFE is fitted again from its own rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from efface.engine.jit.views import Ints, Matrix, Vector, weighed
from efface.engine.linalg.dense import SAFE
from efface.engine.linalg.refit import refit, refit_windows
from efface.engine.windows.few_features import slide_few_features
from efface.engine.windows.many_features import slide_many_features
from efface.engine.windows.problem import Estimates, Problem
from efface.engine.windows.systems import MOST_UNKNOWNS


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
    problem = Problem(x, responses, s, penalty, intercept)
    found = Estimates(coef, level, margin)
    # Each of the two is compiled only when windows need it.
    many = min(p, n) if p <= MOST_UNKNOWNS and s > p else n
    t = slide_many_features(problem, first, many, found, length) if first < many else first
    if t < n:
        slide_few_features(problem, t, found)
    if weights is not None:
        margin[first:][_weightless(weights, s)[first:]] = 0.0
    rank = np.minimum(np.minimum(np.arange(1, n + 1), s) - int(intercept), d)
    rank[:first] = 0
    refit_windows(refit, np.flatnonzero(~(margin >= SAFE)), *problem, coef, level, rank)
    return coef, level, rank


def _weightless(weights: Vector, s: int) -> NDArray[np.bool]:
    """Which windows have no row with a weight; with a penalty, their pivots do not show it."""
    weighted = np.concatenate([[0], np.cumsum(weights > 0.0)])
    ends = np.arange(1, weighted.size)
    return np.asarray(weighted[ends] == weighted[np.maximum(ends - s, 0)])

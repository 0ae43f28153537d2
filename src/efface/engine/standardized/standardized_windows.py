"""Regression on standardised features for every window of an array: see ``standardized_fit``."""

from __future__ import annotations

import numba
import numpy as np

from efface.engine.events.precise_refit import TRIED_EVERY
from efface.engine.jit.compilation import KERNEL
from efface.engine.jit.records import words
from efface.engine.jit.views import Ints, Matrix, Responses, Vector, weighed
from efface.engine.standardized.correlations import lay_out_frame, standardise
from efface.engine.standardized.standardized_fit import solve_frame
from efface.engine.standardized.zscores import refit_scores
from efface.engine.sums.precise_windows import fit_precisely
from efface.engine.sums.sliding import depth_for, lay_out_sums, start_sums


@numba.njit(**KERNEL, nogil=True)
def slide_standard(
    x: Matrix,
    y: Responses,
    s: int,
    penalty: float,
    intercept: bool,
    first: int,
    coef: Matrix,
    level: Vector,
    rank: Ints,  # -1 where the window is to be refitted
    store: Vector,
    depth: int,
) -> None:
    """Coefficients, intercept and rank of the window of s rows that ends at each row."""
    n, d = x.shape
    sums, end = lay_out_sums(store, 0, d, depth)
    f = lay_out_frame(store, end, d)[0]
    start_sums(sums, True)
    safe = True
    for t in range(first, n):
        rank[t] = -1
        if not safe and t % TRIED_EVERY > 0:
            continue  # the windows after one that is not safe are hardly ever safe
        safe = standardise(f, sums, x, y, max(0, t - s + 1), t + 1)
        if safe and f.state.weight > 0.0:
            level[t], safe = solve_frame(f, sums, penalty, intercept, coef[t])
            rank[t] = int(f.state.spreading) if safe else -1


def slide_standardized(
    x: Matrix,
    y: Vector,
    s: int,
    penalty: float,
    intercept: bool,
    first: int,
    weights: Vector | None = None,
) -> tuple[Matrix, Vector, Ints]:
    """Coefficients, intercept and rank of the window of s rows that ends at each row.

    Before row ``first`` they are NaN and 0. With a penalty the rank is the number of features with
    a spread. Several threads may call this at once.
    """
    (n, d), responses = x.shape, weighed(y, weights)
    coef, level, rank = np.full((n, d), np.nan), np.full(n, np.nan), np.zeros(n, np.int64)
    depth = depth_for(min(s, n))
    store = np.zeros(words(lay_out_sums, d, depth) + words(lay_out_frame, d))
    answers = coef, level, rank
    slide_standard(x, responses, s, float(penalty), intercept, first, *answers, store, depth)
    unsafe = np.flatnonzero(rank < 0)
    starts = np.maximum(unsafe + 1 - s, 0)
    for e in fit_precisely(starts, unsafe, x, responses, penalty, intercept, *answers, True):
        rows = slice(max(0, e - s + 1), e + 1)
        level[e], rank[e] = refit_scores(x[rows], responses[rows], penalty, intercept, coef[e])
    return coef, level, rank

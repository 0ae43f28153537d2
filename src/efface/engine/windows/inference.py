"""Variances of the coefficients and sums of squares of every least-squares window.

Each window needs the inverse of its own normal equations: O(d^3) per window, where the coefficients
alone take O(d^2). The sums are made by addition alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from efface.engine.events.core import Core, form_primal, gather, lay_out_core
from efface.engine.jit.compilation import INNER, KERNEL
from efface.engine.jit.records import words
from efface.engine.jit.views import VALUE, WEIGHT, Ints, Matrix, Responses, Vector, part, weighed
from efface.engine.linalg.dense import SAFE, dot
from efface.engine.sums.sliding import Sums, depth_for, first_weighted, lay_out_sums, start_sums

_KEPT = 1e-6  # a difference below this share of its first term has lost too many digits


class Inference(NamedTuple):
    """Statistics of the window that ends at each row; NaN where it is rank deficient.

    Variances are in units of the noise variance of a row of weight 1, which is estimated by
    ``unexplained / (rows - unknowns)``, counting the rows that have weight.
    """

    variance: Matrix  # (n, d): variance of each coefficient
    base: Vector  # (n,): variance of the intercept
    unexplained: Vector  # (n,): sum of squared residuals
    total: Vector  # (n,): sum of squared responses, around their mean with an intercept


def infer_windows(
    x: Matrix,
    y: Vector,
    starts: Ints,
    intercept: bool,
    first: int,
    coef: Matrix,
    level: Vector,
    weights: Vector | None = None,
) -> Inference:
    """Variances and sums of squares of the window that ends at each row.

    The window of row t starts at row ``starts[t]``, which never decreases. From row ``first`` on;
    ``coef`` and ``level`` are the coefficients and intercepts of the windows.
    """
    n, d = x.shape
    found = Inference(np.full((n, d), np.nan), *(np.full(n, np.nan) for _ in range(3)))
    depth = depth_for(int((np.arange(1, n + 1) - starts).max(initial=1)))
    size = words(lay_out_sums, d, depth) + words(lay_out_core, d + int(intercept), 1, 0)
    store = np.zeros(size), depth
    problem = x, weighed(y, weights), starts, intercept, max(first, d + int(intercept))
    _infer(*problem, coef, level, *found, *store)
    return found


@numba.njit(**KERNEL, nogil=True)
def _infer(
    x: Matrix,
    y: Responses,
    starts: Ints,
    intercept: bool,
    first: int,
    coef: Matrix,
    level: Vector,
    variance: Matrix,
    base: Vector,
    unexplained: Vector,
    total: Vector,
    store: Vector,
    depth: int,
) -> None:
    n, d = x.shape
    sums, end = lay_out_sums(store, 0, d, depth)
    core = lay_out_core(store, end, d + 1 if intercept else d, 1, sums.centre)[0]
    start_sums(sums, False)
    for t in range(first, n):
        a = starts[t]
        if t + 1 - a < core.inverse.shape[0]:
            continue
        gather(sums, x, y, a, t + 1, 1, intercept)
        if form_primal(core, sums.total, d, 0.0, intercept) >= SAFE:
            for j in range(d):
                variance[t, j] = core.inverse[j, j]
            base[t] = _base_variance(core, d) if intercept else 0.0
            rows, responses = part(x, a, t + 1), part(y, a, t + 1)
            total[t] = _scatter(sums, responses, d, intercept)
            unexplained[t] = _unexplained(sums, core, rows, responses, coef[t], level[t], total[t])


@numba.njit(**INNER)
def _base_variance(core: Core, d: int) -> float:
    """The variance of the intercept: the prediction at x = 0, which is not the centre."""
    value = core.inverse[d, d]
    for i in range(d):
        image = dot(part(core.inverse[i], 0, d), part(core.centre, 0, d))
        value += core.centre[i] * (image - 2.0 * core.inverse[d, i])
    return value


@numba.njit(**INNER)
def _scatter(sums: Sums, y: Responses, d: int, intercept: bool) -> float:
    """The sum of squared responses, around their mean or around zero."""
    n, square, first = sums.total[d, d], sums.total[d + 1, d + 1], sums.total[d + 1, d]
    if not intercept:
        return square + sums.centre[d + 1] * (2.0 * first + n * sums.centre[d + 1])
    value = square - first**2 / n
    if value > _KEPT * square:
        return value
    mean, value, base = 0.0, 0.0, y[first_weighted(y, 0, y.shape[0]), VALUE]
    for i in range(y.shape[0]):
        mean += y[i, WEIGHT] * (y[i, VALUE] - base) / n
    for i in range(y.shape[0]):
        value += y[i, WEIGHT] * (y[i, VALUE] - base - mean) ** 2
    return value


@numba.njit(**INNER)
def _unexplained(
    sums: Sums, core: Core, x: Matrix, y: Responses, coef: Vector, level: float, scatter: float
) -> float:
    """The sum of squared residuals: from the sums, or from the rows where these lose digits."""
    d, p = x.shape[1], core.inverse.shape[0]
    shift = 0.0 if p > d else sums.centre[d + 1]
    square = sums.total[d + 1, d + 1] if p > d else scatter
    value = square
    for j in range(p):
        value -= core.theta[0, j] * (sums.total[d + 1, j] + shift * sums.total[d, j])
    if value > _KEPT * square:
        return value
    value = 0.0
    for i in range(y.shape[0]):
        value += y[i, WEIGHT] * (y[i, VALUE] - level - dot(x[i], coef)) ** 2
    return value

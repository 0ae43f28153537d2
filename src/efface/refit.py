"""Regression from scratch, as exact as the rows allow: for windows where rounding would show.

The normal equations where they are good enough to converge, the singular value decomposition where
they are not, and in both cases refinement: residuals of the rows in doubled precision, corrected
until nothing moves. So the answer is right to the last digits up to a condition of about 1e7.
"""

from __future__ import annotations

import numba
import numpy as np

from efface.blas import Matrix, Vector, add_gram
from efface.dense import EPS, add_row, dot, invert, lopsided, symmetric_times

_CONVERGES = 1e-10  # the margin from which the normal equations' inverse corrects its own errors
_SPLITTER = 134217729.0  # 2^27 + 1, after Dekker
_MOST_STEPS = 12


@numba.njit(cache=True)
def refit(x: Matrix, y: Vector, penalty: float, intercept: bool, coef: Vector) -> tuple[float, int]:
    """Coefficients of the rows; the intercept, and the rank or -1 where a penalty hides it.

    The minimum-norm answer where the rows do not determine one, with NumPy's rule for the rank.
    """
    n, d = x.shape
    coef[:] = 0.0
    if n == 0:
        return 0.0, 0
    x_mean, y_mean = np.zeros(d), 0.0
    if intercept:
        for i in range(n):
            add_row(1.0 / n, x[i], x_mean)
        y_mean = y.mean()
    rows, responses = x - x_mean, y - y_mean
    if intercept:
        _settle_dust(rows, x_mean)
    rank = -1
    determined = n - intercept >= d
    if not determined or not _normal(rows, responses, penalty, coef):
        rank = _spectral(rows, responses, penalty, coef)
    elif penalty == 0.0:
        rank = d
    return y_mean - dot(x_mean, coef), rank


@numba.njit(cache=True)
def _settle_dust(rows: Matrix, mean: Vector) -> None:
    """A feature that is constant but for rounding is constant."""
    for j in range(mean.size):
        if np.abs(rows[:, j]).max() <= 16.0 * EPS * abs(mean[j]):
            rows[:, j] = 0.0


@numba.njit(cache=True)
def _normal(x: Matrix, y: Vector, penalty: float, coef: Vector) -> bool:
    """By the normal equations; False where they do not determine the answer well enough."""
    d = x.shape[1]
    inverse, scale = np.zeros((d, d)), np.empty(d)
    add_gram(x, inverse)
    for j in range(d):
        inverse[j, j] += penalty
        scale[j] = inverse[j, j]
    if penalty == 0.0 and lopsided(scale):
        return False
    if not invert(inverse, scale, np.empty(d * d + 64 * d)) >= _CONVERGES:
        return False
    return _refine(x, y, penalty, inverse, coef)


@numba.njit(cache=True)
def _spectral(x: Matrix, y: Vector, penalty: float, coef: Vector) -> int:
    """By the singular values; the rank."""
    n, d = x.shape
    u, sigma, vt = np.linalg.svd(x, full_matrices=False)
    rank = int((sigma > sigma[0] * max(n, d) * EPS).sum())
    used = sigma.size if penalty > 0.0 and sigma[0] > 0.0 else rank
    start = np.zeros(d)
    for i in range(used):
        weight = dot(u[:, i].copy(), y) * sigma[i] / (sigma[i] * sigma[i] + penalty)
        add_row(weight, vt[i], start)
    coef[:] = start
    if rank == d and n > d:
        inverse = np.zeros((d, d))
        for i in range(d):
            for j in range(d):
                add_row(vt[i, j] / (sigma[i] * sigma[i] + penalty), vt[i], inverse[j])
        if not _refine(x, y, penalty, inverse, coef):
            coef[:] = start
    return rank


@numba.njit(cache=True)
def _refine(x: Matrix, y: Vector, penalty: float, inverse: Matrix, coef: Vector) -> bool:
    """Correct ``coef`` by the rows' own residuals until it stands; False if it does not settle."""
    n, d = x.shape
    high, low, pull, step = np.empty(n), np.empty(n), np.empty(d), np.empty(d)
    before = np.inf
    for i in range(_MOST_STEPS):
        _residuals(x, y, coef, high, low)
        _pull(x, high, low, penalty, coef, pull)
        symmetric_times(inverse, pull, step)
        largest, size = 0.0, 0.0
        for j in range(d):
            # In units of the feature's own spread, so that no feature hides behind another.
            weight = np.sqrt(inverse[j, j])
            largest = max(largest, abs(step[j]) / weight)
            size = max(size, abs(coef[j]) / weight)
        if not largest < np.inf or (i > 1 and largest > 0.5 * before):
            return i > 1 and largest <= 1e-10 * size
        coef += step
        if largest <= 4.0 * EPS * size:
            return True
        before = largest
    return True


@numba.njit(cache=True)
def _two_sum(a: float, b: float) -> tuple[float, float]:
    """a + b and its rounding error (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


@numba.njit(cache=True)
def _two_product(a: float, b: float) -> tuple[float, float]:
    """a b and its rounding error (Dekker)."""
    product = a * b
    c, e = _SPLITTER * a, _SPLITTER * b
    a_high, b_high = c - (c - a), e - (e - b)
    a_low, b_low = a - a_high, b - b_high
    error = a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)
    return product, error


@numba.njit(cache=True)
def _residuals(x: Matrix, y: Vector, coef: Vector, high: Vector, low: Vector) -> None:
    """y - x coef as high + low, in doubled precision."""
    for i in range(y.size):
        total, rest = y[i], 0.0
        for j in range(coef.size):
            product, error = _two_product(-x[i, j], coef[j])
            total, lost = _two_sum(total, product)
            rest += error + lost
        high[i], low[i] = _two_sum(total, rest)


@numba.njit(cache=True)
def _pull(x: Matrix, high: Vector, low: Vector, penalty: float, coef: Vector, out: Vector) -> None:
    """x' (high + low) - penalty coef, in doubled precision: what the optimum makes zero."""
    rest = np.zeros(out.size)
    for j in range(out.size):
        out[j], rest[j] = _two_product(-penalty, coef[j])
    for i in range(high.size):
        for j in range(out.size):
            product, error = _two_product(x[i, j], high[i])
            out[j], lost = _two_sum(out[j], product)
            rest[j] += error + lost + x[i, j] * low[i]
    out += rest

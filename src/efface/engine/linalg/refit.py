"""Regression from scratch in extended precision, for windows where float64 sums are not enough.

The normal equations where iterative refinement on them converges; else, for rows of full rank,
``gram_schmidt``; else the singular value decomposition. All are refined: residuals of the rows in
double-double arithmetic, corrections until the coefficients no longer change. The result has full
float64 precision up to a condition number of about 1e7, with features at a common scale where the
rows have full rank. Rows are centred on their weighted mean, if there is an intercept, and
multiplied by the square roots of their weights.
"""

from __future__ import annotations

import math

import numba
import numpy as np

from efface.engine.jit.blas import add_gram
from efface.engine.jit.compilation import INNER, KERNEL
from efface.engine.jit.records import words
from efface.engine.jit.views import ROOT, VALUE, WEIGHT, Matrix, Responses, Vector, part, take
from efface.engine.linalg.dense import (
    EPS,
    add_row,
    copy,
    dot,
    fill,
    invert,
    lopsided,
    symmetric_times,
)
from efface.engine.linalg.double_double import two_product, two_sum
from efface.engine.linalg.gram_schmidt import lay_out_factor, lay_out_solution, refit_full_rank

_CONVERGES = 1e-10  # the least margin with which refinement by the inverse converges
_CERTAIN = 1e-6  # the least margin that proves full rank: rounding alone can give sqrt(EPS)
_MOST_STEPS = 12
_TINY_EXPONENT = -400  # of two: squares of smaller values lose digits
_MOST_PENALTY = 2.0**900  # for values of about 1: a larger one leaves no digit of their squares


def refit(
    x: Matrix, y: Responses, penalty: float, intercept: bool, coef: Vector
) -> tuple[float, int]:
    """Write the coefficients of the rows; return the intercept and the rank.

    With a penalty the rank may be -1: not computed. Without one, and where the rows do not
    determine the coefficients, they are those of minimum norm; the rank is by NumPy's rule. There
    are three kernels, since the last is slow to compile and rarely needed.
    """
    weighted = y[:, WEIGHT] > 0.0
    if not weighted.all():
        x, y = x[weighted], y[weighted]
    n, d = x.shape
    if n == 0:
        coef[:] = 0.0
        return 0.0, 0
    lift = _lift(x)
    if lift > 0 and (penalty == 0.0 or penalty < math.ldexp(_MOST_PENALTY, -2 * lift)):
        level, rank = refit(np.ldexp(x, lift), y, math.ldexp(penalty, 2 * lift), intercept, coef)
        with np.errstate(over="ignore"):  # beyond the largest number: infinite
            coef[:] = np.ldexp(coef, lift)
        return level, rank
    if penalty == 0.0 and n - intercept <= d:
        level, rank = _spectral(x, _with_even_lengths(x, y, intercept), penalty, intercept, coef)
        if rank == n - intercept:
            return level, rank  # an exact fit of all rows does not depend on their weights
    if n - intercept >= d or penalty > 0.0:
        store = np.empty(n * (d + 3) + d * (2 * d + 98))
        level, done = _normal(x, y, penalty, intercept, coef, store)
        if done:
            return level, d if penalty == 0.0 else -1
    if penalty == 0.0 and n - intercept > d:
        p = d + int(intercept)
        store = np.empty(words(lay_out_factor, d, p, n) + words(lay_out_solution, p, n))
        level = float(refit_full_rank(x, y, intercept, coef, store))
        if not np.isnan(level):
            return level, d
    return _spectral(x, y, penalty, intercept, coef)


def _lift(x: Matrix) -> int:
    """The exponent of two that brings tiny values, whose squares would underflow, to about 1."""
    exponent = math.frexp(float(np.abs(x).max(initial=0.0)))[1]
    return -exponent if exponent < _TINY_EXPONENT else 0


def _with_even_lengths(x: Matrix, y: Responses, intercept: bool) -> Responses:
    """Responses with weights, powers of 1/4, that make no weighted row far longer than most."""
    unit = x / (np.abs(x).max(initial=0.0) or 1.0)  # so that no difference overflows
    length = np.abs(unit - np.median(unit, axis=0) * intercept).max(axis=1, initial=0.0)
    middle = np.median(length)
    halvings = np.ceil(np.log2(np.maximum(length / middle, 1.0))) if middle > 0.0 else 0.0 * length
    return np.column_stack([y[:, VALUE], 2.0**-halvings, 4.0**-halvings])


@numba.njit(**INNER)
def _centre(
    x: Matrix, y: Responses, intercept: bool, rows: Matrix, responses: Vector, mean: Vector
) -> float:
    """Centre rows and responses, if there is an intercept, and multiply by the root weights.

    Returns the mean of the responses.
    """
    n, y_mean, total = y.shape[0], 0.0, 0.0
    fill(mean, 0.0)
    for i in range(n):
        total += y[i, WEIGHT]
    # Twice: the rounding error of a large mean would add one to the rank.
    for _ in range(2 if intercept else 0):
        shift = 0.0
        for i in range(n):
            shift += y[i, WEIGHT] * (y[i, VALUE] - y_mean) / total
        y_mean += shift
        for j in range(mean.size):
            shift = 0.0
            for i in range(n):
                shift += y[i, WEIGHT] * (x[i, j] - mean[j]) / total
            mean[j] += shift
    for i in range(n):
        responses[i] = y[i, ROOT] * (y[i, VALUE] - y_mean)
        for j in range(mean.size):
            rows[i, j] = x[i, j] - mean[j]
    if intercept:
        for j in range(mean.size):
            _clear_rounding(rows, j, 16.0 * EPS * abs(mean[j]))
        # The rounding error of the mean that remains could add one to the rank.
        for j in range(mean.size):
            shift = 0.0
            for i in range(n):
                shift += y[i, WEIGHT] * rows[i, j] / total
            for i in range(n):
                rows[i, j] -= shift
    for i in range(n):
        for j in range(mean.size):
            rows[i, j] *= y[i, ROOT]
    return y_mean


@numba.njit(**INNER)
def _clear_rounding(rows: Matrix, j: int, most: float) -> None:
    """Set a feature to 0 where all its deviations are at most ``most``, which may be rounding."""
    for i in range(rows.shape[0]):
        if not abs(rows[i, j]) <= most:
            return
    for i in range(rows.shape[0]):
        rows[i, j] = 0.0


@numba.njit(**KERNEL, nogil=True)
def _normal(
    x: Matrix, y: Responses, penalty: float, intercept: bool, coef: Vector, store: Vector
) -> tuple[float, bool]:
    """Solve the normal equations; False where they are too ill conditioned."""
    n, d = x.shape
    rows, responses = take(store, 0, n, d), take(store, n * d, 1, n)[0]
    vectors, inverse = take(store, n * (d + 1), 2, d), take(store, n * (d + 1) + 2 * d, d, d)
    scratch = part(store, n * (d + 1) + d * (d + 2), store.size)
    mean, scale = vectors[0], vectors[1]
    y_mean = _centre(x, y, intercept, rows, responses, mean)
    fill(inverse, 0.0)
    fill(coef, 0.0)
    add_gram(rows, inverse)
    for j in range(d):
        inverse[j, j] += penalty
        scale[j] = inverse[j, j]
    if penalty == 0.0 and lopsided(scale):
        return 0.0, False
    if not invert(inverse, scale, scratch) >= (_CERTAIN if penalty == 0.0 else _CONVERGES):
        return 0.0, False
    done = _refine(rows, responses, penalty, inverse, coef, scratch)
    return y_mean - dot(mean, coef), done


@numba.njit(cache=True, nogil=True)
def _spectral(
    x: Matrix, y: Responses, penalty: float, intercept: bool, coef: Vector
) -> tuple[float, int]:
    """Solve by the singular value decomposition; return the intercept and the rank."""
    n, d = x.shape
    rows, responses, mean = np.empty((n, d)), np.empty(n), np.empty(d)
    y_mean = _centre(x, y, intercept, rows, responses, mean)
    u, sigma, vt = np.linalg.svd(rows, full_matrices=False)
    rank = 0
    for i in range(min(sigma.size, n - intercept)):  # centred rows have one rank less
        rank += sigma[i] > sigma[0] * max(n, d) * EPS
    used = sigma.size if penalty > 0.0 and sigma[0] > 0.0 else rank
    start, column, inverse = np.zeros(d), np.empty(n), np.zeros((d, d))
    for i in range(used):
        for j in range(n):
            column[j] = u[j, i]
        weight = dot(column, responses) * sigma[i] / (sigma[i] * sigma[i] + penalty)
        add_row(weight, vt[i], start)
    copy(start, coef)
    if used > 0 and (penalty > 0.0 or (rank == d and n > d)):
        beyond = 1.0 / penalty if used < d else 0.0  # in directions that no row has
        for j in range(d):
            inverse[j, j] = beyond
            for i in range(used):
                share = 1.0 / (sigma[i] * sigma[i] + penalty) - beyond
                add_row(vt[i, j] * share, vt[i], inverse[j])
        if not _refine(rows, responses, penalty, inverse, coef, np.empty(3 * d + 2 * n)):
            copy(start, coef)
    elif rank == n - intercept and penalty == 0.0:
        low = np.empty(n)
        for _ in range(2):  # an exact fit: refine by what the residuals lack
            _residuals(rows, responses, coef, column, low)
            for i in range(rank):
                weight = 0.0
                for j in range(n):
                    weight += u[j, i] * column[j]
                add_row(weight / sigma[i], vt[i], coef)
    _clear_absent(rows, coef)
    return y_mean - dot(mean, coef), rank


@numba.njit(**INNER)
def _clear_absent(rows: Matrix, coef: Vector) -> None:
    """Set the coefficients of features without deviations to 0.

    Their rounding errors, times a large mean, would be errors of the intercept.
    """
    for j in range(coef.size):
        i = 0
        while i < rows.shape[0] and rows[i, j] == 0.0:
            i += 1
        if i == rows.shape[0]:
            coef[j] = 0.0


@numba.njit(**INNER)
def _refine(
    x: Matrix, y: Vector, penalty: float, inverse: Matrix, coef: Vector, scratch: Vector
) -> bool:
    """Iterative refinement of ``coef``; False if it does not converge."""
    n, d = x.shape
    residual, vectors = take(scratch, 0, 2, n), take(scratch, 2 * n, 3, d)
    high, low, gradient, step = residual[0], residual[1], vectors[0], vectors[1]
    before = np.inf
    for i in range(_MOST_STEPS):
        _residuals(x, y, coef, high, low)
        _gradient(x, high, low, penalty, coef, gradient, vectors[2])
        symmetric_times(inverse, gradient, step)
        largest, size = 0.0, 0.0
        for j in range(d):
            # In units of each coefficient's standard error: features may differ in scale.
            weight = np.sqrt(inverse[j, j])
            largest = max(largest, abs(step[j]) / weight)
            size = max(size, abs(coef[j]) / weight)
        if not largest < np.inf or (i > 0 and largest > 0.5 * before):
            return i > 0 and largest <= 1e-10 * size
        add_row(1.0, step, coef)
        if largest <= 4.0 * EPS * size:
            return True
        before = largest
    return True


@numba.njit(**INNER)
def _residuals(x: Matrix, y: Vector, coef: Vector, high: Vector, low: Vector) -> None:
    """y - x coef as high + low, in double-double arithmetic."""
    for i in range(y.size):
        total, rest = y[i], 0.0
        for j in range(coef.size):
            product, error = two_product(-x[i, j], coef[j])
            total, lost = two_sum(total, product)
            rest += error + lost
        high[i], low[i] = two_sum(total, rest)


@numba.njit(**INNER)
def _gradient(
    x: Matrix, high: Vector, low: Vector, penalty: float, coef: Vector, out: Vector, rest: Vector
) -> None:
    """The gradient x' (high + low) - penalty coef, in double-double arithmetic."""
    for j in range(out.size):
        out[j], rest[j] = two_product(-penalty, coef[j])
    for i in range(high.size):
        for j in range(out.size):
            product, error = two_product(x[i, j], high[i])
            out[j], lost = two_sum(out[j], product)
            rest[j] += error + lost + x[i, j] * low[i]
    add_row(1.0, rest, out)

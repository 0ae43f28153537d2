"""Regression from scratch, as exact as the rows allow: for windows where rounding would show.

The normal equations where they are good enough to converge, the singular value decomposition where
they are not, and in both cases refinement: residuals of the rows in doubled precision, corrected
until nothing moves. So the answer is right to the last digits up to a condition of about 1e7.
Rows and responses are multiplied by the roots of their weights, around their weighted mean.
"""

from __future__ import annotations

import numba
import numpy as np

from efface.engine.jit.blas import add_gram
from efface.engine.jit.compilation import INNER, KERNEL
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

# The margin from which the normal equations' inverse corrects its own errors; and from which their
# rank is beyond doubt: rounding can give a singular matrix a margin near the root of EPS.
_CONVERGES, _CERTAIN = 1e-10, 1e-6
_MOST_STEPS = 12


def refit(
    x: Matrix, y: Responses, penalty: float, intercept: bool, coef: Vector
) -> tuple[float, int]:
    """Coefficients of the rows; the intercept, and the rank or -1 where a penalty hides it.

    The minimum-norm answer where the rows do not determine one, with NumPy's rule for the rank.
    Two kernels, since the second is slow to compile and seldom needed.
    """
    heard = y[:, WEIGHT] > 0.0
    if not heard.all():
        x, y = x[heard], y[heard]
    n, d = x.shape
    if n == 0:
        coef[:] = 0.0
        return 0.0, 0
    if penalty == 0.0 and n - intercept <= d:
        level, rank = _spectral(x, _evened(x, y, intercept), penalty, intercept, coef)
        if rank == n - intercept:
            return level, rank  # the rows are met exactly, whatever they weigh
    if n - intercept >= d or penalty > 0.0:
        store = np.empty(n * (d + 3) + d * (2 * d + 98))
        level, done = _normal(x, y, penalty, intercept, coef, store)
        if done:
            return level, d if penalty == 0.0 else -1
    return _spectral(x, y, penalty, intercept, coef)


def _evened(x: Matrix, y: Responses, intercept: bool) -> Responses:
    """Responses with such weights that no row is far longer than most."""
    unit = x / (np.abs(x).max(initial=0.0) or 1.0)  # so that no difference overflows
    length = np.abs(unit - np.median(unit, axis=0) * intercept).max(axis=1, initial=0.0)
    middle = np.median(length)
    halvings = np.ceil(np.log2(np.maximum(length / middle, 1.0))) if middle > 0.0 else 0.0 * length
    return np.column_stack([y[:, VALUE], 2.0**-halvings, 4.0**-halvings])


@numba.njit(**INNER)
def _centre(
    x: Matrix, y: Responses, intercept: bool, rows: Matrix, responses: Vector, mean: Vector
) -> float:
    """The rows and responses around their mean, if there is an intercept, and weighed; y's mean."""
    n, y_mean, total, even = y.shape[0], 0.0, 0.0, True
    fill(mean, 0.0)
    for i in range(n):
        total += y[i, WEIGHT]
        even = even and y[i, WEIGHT] == 1.0
    # Twice: what rounding leaves of a large mean would look like one more rank.
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
            _settle_dust(rows, j, 16.0 * EPS * abs(mean[j]))
        # What the mean has lost to rounding is small, but heavy rows would make much of it.
        for j in range(0 if even else mean.size):
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
def _settle_dust(rows: Matrix, j: int, most: float) -> None:
    """A feature that is constant but for rounding is constant."""
    for i in range(rows.shape[0]):
        if not abs(rows[i, j]) <= most:
            return
    for i in range(rows.shape[0]):
        rows[i, j] = 0.0


@numba.njit(**KERNEL, nogil=True)
def _normal(
    x: Matrix, y: Responses, penalty: float, intercept: bool, coef: Vector, store: Vector
) -> tuple[float, bool]:
    """By the normal equations; False where they do not determine the answer well enough."""
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
    """By the singular values; the intercept and the rank."""
    n, d = x.shape
    rows, responses, mean = np.empty((n, d)), np.empty(n), np.empty(d)
    y_mean = _centre(x, y, intercept, rows, responses, mean)
    u, sigma, vt = np.linalg.svd(rows, full_matrices=False)
    rank = 0
    for i in range(min(sigma.size, n - intercept)):  # one more would be the mean's rounding
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
        beyond = 1.0 / penalty if used < d else 0.0  # where only the penalty decides
        for j in range(d):
            inverse[j, j] = beyond
            for i in range(used):
                share = 1.0 / (sigma[i] * sigma[i] + penalty) - beyond
                add_row(vt[i, j] * share, vt[i], inverse[j])
        if not _refine(rows, responses, penalty, inverse, coef, np.empty(3 * d + 2 * n)):
            copy(start, coef)
    elif rank == n - intercept and penalty == 0.0:
        low = np.empty(n)
        for _ in range(2):  # the rows are met exactly: what is missing is added
            _residuals(rows, responses, coef, column, low)
            for i in range(rank):
                weight = 0.0
                for j in range(n):
                    weight += u[j, i] * column[j]
                add_row(weight / sigma[i], vt[i], coef)
    return y_mean - dot(mean, coef), rank


@numba.njit(**INNER)
def _refine(
    x: Matrix, y: Vector, penalty: float, inverse: Matrix, coef: Vector, scratch: Vector
) -> bool:
    """Correct ``coef`` by the rows' own residuals until it stands; False if it does not settle."""
    n, d = x.shape
    residual, vectors = take(scratch, 0, 2, n), take(scratch, 2 * n, 3, d)
    high, low, pull, step = residual[0], residual[1], vectors[0], vectors[1]
    before = np.inf
    for i in range(_MOST_STEPS):
        _residuals(x, y, coef, high, low)
        _pull(x, high, low, penalty, coef, pull, vectors[2])
        symmetric_times(inverse, pull, step)
        largest, size = 0.0, 0.0
        for j in range(d):
            # In units of the feature's own spread, so that no feature hides behind another.
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
    """y - x coef as high + low, in doubled precision."""
    for i in range(y.size):
        total, rest = y[i], 0.0
        for j in range(coef.size):
            product, error = two_product(-x[i, j], coef[j])
            total, lost = two_sum(total, product)
            rest += error + lost
        high[i], low[i] = two_sum(total, rest)


@numba.njit(**INNER)
def _pull(
    x: Matrix, high: Vector, low: Vector, penalty: float, coef: Vector, out: Vector, rest: Vector
) -> None:
    """x' (high + low) - penalty coef, in doubled precision: what the optimum makes zero."""
    for j in range(out.size):
        out[j], rest[j] = two_product(-penalty, coef[j])
    for i in range(high.size):
        for j in range(out.size):
            product, error = two_product(x[i, j], high[i])
            out[j], lost = two_sum(out[j], product)
            rest[j] += error + lost + x[i, j] * low[i]
    add_row(1.0, rest, out)

"""The errors of the live rows of one window, as if each were predicted by the others.

The error of a live row is its residual divided by sqrt(1 - h), h its leverage. The error of its
prediction without the row is larger by the factor 1 / sqrt(1 - h) = sqrt(1 + h'), where h' is its
leverage as a new row, so both are the same in units of the deviation that is expected.

Arrays are by feature, (d, rows), so that inner loops run along the rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from efface.engine.jit.blas import subtract_products
from efface.engine.jit.compilation import FAST, INNER
from efface.engine.jit.simd import BLOCKS, LANES, quadratic_forms
from efface.engine.jit.views import Matrix, Vector, block, part
from efface.engine.linalg.dense import add_row, copy, dot, fill, invert
from efface.engine.sums.sliding import Sums

FIT, CURVE, LEVEL, ENDS, AGE = range(5)
COLUMNS = 5
ERROR, CENTRED, SPREAD, SCORE, PLACE, WEIGHTS, ROOTS, WORK = range(5, 13)
_VECTORS = 13  # rows of ``Room.columns``
RIDGE = 1e-9  # of the squared length of a feature or column, so that every system has an inverse
_ALONE = 1e-6  # 1 - h of a row that no other row predicts
TINY = 1e-300
_SIDE = BLOCKS * LANES  # columns whose leverages are computed side by side
_KEPT = 1e-6  # of a sum of squares: with less left around the mean, the rows are summed again


class Room(NamedTuple):
    """Scratch, and the result, for windows of up to m rows."""

    z: Matrix  # (d + 1, m): features minus their mean, times the roots of the weights; leverages
    columns: Matrix  # (_VECTORS, m)
    inverse: Matrix  # (d, d)
    features: Matrix  # (4, d): means, diagonal, coefficients of FIT, scratch
    stack: Matrix  # (COLUMNS, COLUMNS): the inverse of the columns' products
    small: Matrix  # (4, COLUMNS): means, coefficients, shrinkage, the new row
    numbers: Vector  # (_NUMBERS,): see below
    work: Vector  # scratch of ``invert``


MEAN_ERROR, MEAN_SIZE, MIDDLE, QUANTILE, NOISE, LOW, HIGH, WIDEST = range(8)
_NUMBERS = 8


def room_for(d: int, rows: int) -> Room:
    """Scratch for windows of d features and up to so many rows."""
    rows = -(-rows // _SIDE) * _SIDE + LANES  # rows 4,096 bytes apart would share cache lines
    most = max(d, COLUMNS)
    return Room(
        np.zeros((d + 1, rows)),
        np.zeros((_VECTORS, rows)),
        np.zeros((d, d)),
        np.zeros((4, d)),
        np.zeros((COLUMNS, COLUMNS)),
        np.zeros((4, COLUMNS)),
        np.zeros(_NUMBERS),
        np.zeros(most * most + 96 * most),
    )


@numba.njit(**INNER, fastmath=FAST)
def feature_products(z: Matrix, values: Vector, out: Vector) -> None:
    """out <- the products of each feature with some values; four features in one pass."""
    n, d = values.size, out.size
    for j in range(0, d - 3, 4):
        a, b, c, e = z[j], z[j + 1], z[j + 2], z[j + 3]
        first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
        for i in range(n):
            first += a[i] * values[i]
            second += b[i] * values[i]
            third += c[i] * values[i]
            fourth += e[i] * values[i]
        out[j], out[j + 1], out[j + 2], out[j + 3] = first, second, third, fourth
    for j in range(d // 4 * 4, d):
        out[j] = dot(part(z[j], 0, n), values)


@numba.njit(**INNER, fastmath=FAST)
def add_features(z: Matrix, weights: Vector, out: Vector) -> None:
    """out += the sum of weighted features; four features in one pass."""
    n, d = out.size, weights.size
    for j in range(0, d - 3, 4):
        a, b, c, e = z[j], z[j + 1], z[j + 2], z[j + 3]
        first, second, third, fourth = weights[j], weights[j + 1], weights[j + 2], weights[j + 3]
        for i in range(n):
            out[i] += first * a[i] + second * b[i] + third * c[i] + fourth * e[i]
    for j in range(d // 4 * 4, d):
        add_row(weights[j], part(z[j], 0, n), out)


@numba.njit(**INNER, fastmath=FAST)
def gather(x: Matrix, lo: int, hi: int, sums: Sums, centred: bool, r: Room) -> int:
    """Copy the rows that have weight into z, minus their mean; how many.

    ``x`` has a row per feature, then the responses, the roots of the weights, and the weights.
    ERROR gets the responses, PLACE the places of the rows, from which ages follow.
    """
    d, c = x.shape[0] - 3, r.columns
    count = _find_rows(x[d + 2], lo, hi, c[PLACE])
    _copy_rows(x[d], lo, hi, c[PLACE], part(c[ERROR], 0, count))
    _copy_rows(x[d + 1], lo, hi, c[PLACE], part(c[ROOTS], 0, count))
    _copy_rows(x[d + 2], lo, hi, c[PLACE], part(c[WEIGHTS], 0, count))
    roots = part(c[ROOTS], 0, count)
    for j in range(d):
        z, mean = part(r.z[j], 0, count), 0.0
        if centred:
            mean = sums.centre[j] + sums.total[d, j] / sums.total[d, d]
        r.features[0, j] = mean
        _copy_rows(x[j], lo, hi, c[PLACE], z)
        for i in range(count):
            z[i] = (z[i] - mean) * roots[i]
    return count


@numba.njit(**INNER)
def _find_rows(weights: Vector, lo: int, hi: int, places: Vector) -> int:
    """places <- those of the rows that have weight; how many."""
    count = 0
    for i in range(lo, hi):
        places[count] = i
        count += 1 if weights[i] > 0.0 else 0
    return count


@numba.njit(**INNER)
def _copy_rows(values: Vector, lo: int, hi: int, places: Vector, out: Vector) -> None:
    """out <- the values at some places of lo..hi; a copy if these are all."""
    if out.size == hi - lo:
        copy(part(values, lo, hi), out)
        return
    for i in range(out.size):
        out[i] = values[int(places[i])]


@numba.njit(**INNER)
def _scatter(r: Room, count: int, sums: Sums, centred: bool) -> None:
    """inverse <- Z'Z, the lower triangle, from the sums unless that loses digits."""
    a, d, total = r.inverse, r.inverse.shape[0], sums.total
    lossy = False
    for j in range(d):
        share = total[d, j] / total[d, d] if centred else 0.0
        for k in range(j + 1):
            a[j, k] = total[j, k] - share * total[d, k]
        lossy |= a[j, j] < _KEPT * total[j, j]
    if lossy:
        fill(a, 0.0)
        subtract_products(block(r.z, 0, d, 0, count), a)
        for j in range(d):
            for k in range(j + 1):
                a[j, k] *= -1.0


@numba.njit(**INNER)
def invert_system(
    r: Room, count: int, sums: Sums, centred: bool, share: float, penalty: float, power: float
) -> bool:
    """inverse <- (Z'Z / share + penalties)^-1; False if it has none.

    ``share`` of the live rows are in Z. The penalty of a feature is multiplied by its deviation to
    the power of ``power``.
    """
    a, d, diagonal, heft = r.inverse, r.inverse.shape[0], r.features[1], sums.total
    _scatter(r, count, sums, centred)
    for j in range(d):
        for k in range(j + 1):
            a[j, k] /= share
        deviation = np.sqrt(a[j, j] * share / heft[d, d])
        a[j, j] += penalty * deviation**power
        a[j, j] = a[j, j] * (1.0 + RIDGE) if a[j, j] > TINY else 1.0
        diagonal[j] = a[j, j]
    return invert(a, diagonal, r.work) > 0.0


@numba.njit(**INNER, fastmath=FAST)
def _predict(r: Room, count: int, coef: Vector, intercept: float) -> None:
    """LEVEL <- the prediction of each row, ERROR <- its residual for a weight of 1."""
    roots, error = part(r.columns[ROOTS], 0, count), part(r.columns[ERROR], 0, count)
    predicted, level = part(r.columns[LEVEL], 0, count), intercept + dot(coef, r.features[0])
    fill(predicted, 0.0)
    add_features(r.z, coef, predicted)
    for i in range(count):
        predicted[i] = predicted[i] / roots[i] + level
        error[i] = abs(error[i] - predicted[i]) * roots[i]


@numba.njit(**INNER, fastmath=FAST)
def measure_errors(
    r: Room, first: int, last: int, coef: Vector, intercept: float, count: int, constant: float
) -> int:
    """Fill ERROR, LEVEL, ENDS and AGE; rows that no other row predicts are left out.

    ``constant`` is 1 / weight of all rows, or 0 without an intercept. Returns the rows that remain.
    Loops are short: a loop over many arrays, or with an extreme, is not compiled to vectors.
    """
    c, d = r.columns, r.inverse.shape[0]
    for at in range(0, count, _SIDE):
        quadratic_forms(r.z, r.inverse, at, r.z.shape[1], d)
    _predict(r, count, coef, intercept)
    own, free, weights = r.z[d], c[WORK], c[WEIGHTS]
    for i in range(count):
        free[i] = 1.0 - own[i] - constant * weights[i]
    if not extremes(part(free, 0, count))[0] > _ALONE:
        count = _leave_out(r, count)
    error, level, place, ends, ages = c[ERROR], c[LEVEL], c[PLACE], c[ENDS], c[AGE]
    for i in range(count):
        error[i] /= np.sqrt(free[i])
        level[i] = abs(level[i])
    for i in range(count):
        ages[i] = (last - 1.0 - place[i]) / (last - first)
        ends[i] = (1.0 - 2.0 * ages[i]) ** 2
    return count


@numba.njit(**INNER)
def _leave_out(r: Room, count: int) -> int:
    """Move the rows that other rows predict together; how many."""
    c, kept = r.columns, 0
    for i in range(count):
        if c[WORK, i] > _ALONE:
            for j in range(r.z.shape[0]):
                r.z[j, kept] = r.z[j, i]
            c[ERROR, kept], c[LEVEL, kept] = c[ERROR, i], c[LEVEL, i]
            c[PLACE, kept], c[ROOTS, kept], c[WORK, kept] = c[PLACE, i], c[ROOTS, i], c[WORK, i]
            kept += 1
    return kept


@numba.njit(**INNER)
def extremes(values: Vector) -> tuple[float, float]:
    """The least and the largest value, in four chains that do not wait for each other."""
    low, high = (np.inf, np.inf, np.inf, np.inf), (-np.inf, -np.inf, -np.inf, -np.inf)
    n = values.size
    for i in range(0, n, 4):
        a, b = values[i], values[min(i + 1, n - 1)]
        c, d = values[min(i + 2, n - 1)], values[min(i + 3, n - 1)]
        low = min(low[0], a), min(low[1], b), min(low[2], c), min(low[3], d)
        high = max(high[0], a), max(high[1], b), max(high[2], c), max(high[3], d)
    return min(min(low[0], low[1]), min(low[2], low[3])), max(
        max(high[0], high[1]), max(high[2], high[3])
    )

"""The local spread of the noise: a regression of the errors of the live rows, for one window.

The error of a live row is its residual divided by sqrt(1 - h), h its leverage. Divided by
sqrt(1 + h') instead, the error of a prediction without the row is the same number. The spread is
regressed on five columns, each without the row that it belongs to:

======  ============================================================================================
FIT     the regression of the errors on the features, with the inverse that the response has
CURVE   its square
LEVEL   the size of the prediction
ENDS    (1 - 2 age)^2: where coefficients drift, errors are largest at both ends of the window
AGE     0 for the newest row, 1 for the oldest
======  ============================================================================================

Each coefficient is multiplied by max(0, 1 - 1/t^2), t its t-statistic, so that columns that explain
nothing have no influence. The regression is in sixteenth roots (``root_of``), which are close to
logarithms and need no library function, so that all machines round alike. It is fitted twice: to
the roots of the errors, then by one scoring step for their mean.

Arrays are by feature, (d, rows), so that inner loops run along the rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from efface.engine.jit.blas import subtract_products
from efface.engine.jit.compilation import FAST, INNER
from efface.engine.jit.simd import BLOCKS, LANES, quadratic_forms
from efface.engine.jit.views import ROOT, VALUE, WEIGHT, Matrix, Responses, Vector, block, part
from efface.engine.linalg.dense import add_row, copy, dot, fill, invert
from efface.engine.sums.sliding import Sums

FIT, CURVE, LEVEL, ENDS, AGE = range(5)
COLUMNS = 5
ERROR, LEVERAGE, CENTRED, SPREAD, SCORE, PLACE, WEIGHTS, ROOTS, WORK = range(5, 14)
_VECTORS = 14  # rows of ``Room.columns``
_LEAST, _MOST = 0.75, 4.0 / 3.0  # of the root of a spread: from 1/100 to 100 mean errors
_OFFSET = 0.05  # mean errors, added before roots are taken
_LARGEST = 4.0  # local spreads: larger errors count as this in the second fit
_RIDGE = 1e-9  # of the squared length of a feature or column, so that every system has an inverse
_ALONE = 1e-6  # 1 - h of a row that no other row predicts
_TINY = 1e-300
_SIDE = BLOCKS * LANES  # columns whose leverages are computed side by side
_KEPT = 1e-6  # of a sum of squares: with less left around the mean, the rows are summed again


class Room(NamedTuple):
    """Scratch, and the result, for windows of up to m rows."""

    z: Matrix  # (d + 1, m): features minus their mean, times the roots of the weights; leverages
    columns: Matrix  # (_VECTORS, m)
    inverse: Matrix  # (d, d)
    features: Matrix  # (4, d): means, diagonal, coefficients of FIT, scratch
    stack: Matrix  # (COLUMNS, COLUMNS): the inverse of the columns' products
    small: Matrix  # (5, COLUMNS): means, diagonal, coefficients, shrinkage, the new row
    numbers: Vector  # (_NUMBERS,): see below
    work: Vector  # scratch of ``invert``


MEAN_ERROR, MEAN_SIZE, MIDDLE, QUANTILE, NOISE, LOW, HIGH, WIDEST = range(8)
_NUMBERS = 8
_MEANS, _DIAGONAL, _COEF, _SHRUNK, _NEW = range(5)


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
        np.zeros((5, COLUMNS)),
        np.zeros(_NUMBERS),
        np.zeros(most * most + 96 * most),
    )


@numba.njit(**INNER)
def root_of(value: float) -> float:
    """The inverse of ``spread_of``: about the logarithm."""
    return 16.0 * (np.sqrt(np.sqrt(np.sqrt(np.sqrt(value)))) - 1.0)


@numba.njit(**INNER)
def spread_of(root: float) -> float:
    """(1 + root / 16)^16, about exp(root), within bounds."""
    power = 1.0 + _bounded(root) / 16.0
    power *= power
    power *= power
    power *= power
    return power * power


@numba.njit(**INNER, fastmath=FAST)
def _mean(values: Vector) -> float:
    total = 0.0
    for i in range(values.size):
        total += values[i]
    return total / values.size


@numba.njit(**INNER)
def _bounded(root: float) -> float:
    """The root of a spread within bounds."""
    return min(max(root, 16.0 * (_LEAST - 1.0)), 16.0 * (_MOST - 1.0))


# -- errors ----------------------------------------------------------------------------------------


@numba.njit(**INNER, fastmath=FAST)
def gather(x: Matrix, y: Responses, lo: int, hi: int, sums: Sums, centred: bool, r: Room) -> int:
    """Copy the rows that have weight into z, minus their mean; how many.

    PLACE gets their places, from which ages follow.
    """
    places, weights, roots = r.columns[PLACE], r.columns[WEIGHTS], r.columns[ROOTS]
    count, d = 0, x.shape[0]
    for i in range(lo, hi):
        if y[i, WEIGHT] > 0.0:
            places[count], weights[count], roots[count] = i, y[i, WEIGHT], y[i, ROOT]
            count += 1
    roots = part(roots, 0, count)
    for j in range(d):
        z, mean = part(r.z[j], 0, count), 0.0
        if count == hi - lo:
            copy(part(x[j], lo, hi), z)
        else:
            for i in range(count):
                z[i] = x[j, int(places[i])]
        if centred:
            mean = sums.centre[j] + sums.total[d, j] / sums.total[d, d]
        r.features[0, j] = mean
        for i in range(count):
            z[i] = (z[i] - mean) * roots[i]
    return count


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
        a[j, j] = a[j, j] * (1.0 + _RIDGE) if a[j, j] > _TINY else 1.0
        diagonal[j] = a[j, j]
    return invert(a, diagonal, r.work) > 0.0


@numba.njit(**INNER, fastmath=FAST)
def _predict(y: Responses, r: Room, count: int, coef: Vector, intercept: float) -> None:
    """LEVEL <- the prediction of each row, ERROR <- its residual for a weight of 1."""
    places, roots = r.columns[PLACE], r.columns[ROOTS]
    predicted, error = part(r.columns[LEVEL], 0, count), r.columns[ERROR]
    level = intercept + dot(coef, r.features[0])
    fill(predicted, 0.0)
    for j in range(coef.size):
        add_row(coef[j], part(r.z[j], 0, count), predicted)
    for i in range(count):
        predicted[i] = predicted[i] / roots[i] + level
        error[i] = abs(y[int(places[i]), VALUE] - predicted[i]) * roots[i]


@numba.njit(**INNER, fastmath=FAST)
def measure_errors(
    x: Matrix,
    y: Responses,
    first: int,
    last: int,
    coef: Vector,
    intercept: float,
    r: Room,
    count: int,
    constant: float,
) -> int:
    """Fill ERROR, LEVEL, ENDS and AGE; rows that no other row predicts are left out.

    ``constant`` is 1 / weight of all rows, or 0 without an intercept. Returns the rows that remain.
    """
    d = x.shape[0]
    for at in range(0, count, _SIDE):
        quadratic_forms(r.z, r.inverse, at, r.z.shape[1], d)
    _predict(y, r, count, coef, intercept)
    c, own, free, least = r.columns, r.z[d], r.columns[WORK], 1.0
    for i in range(count):
        free[i] = 1.0 - own[i] - constant * c[WEIGHTS, i]
        least = min(least, free[i])
    if not least > _ALONE:
        count = _leave_out(r, count)
    error, level, place = c[ERROR], c[LEVEL], c[PLACE]
    leverage, ends, ages = c[LEVERAGE], c[ENDS], c[AGE]
    for i in range(count):
        age = (last - 1.0 - place[i]) / (last - first)
        error[i], level[i], leverage[i] = error[i] / np.sqrt(free[i]), abs(level[i]), own[i]
        ends[i], ages[i] = (1.0 - 2.0 * age) ** 2, age
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


# -- the regression of the spread ------------------------------------------------------------------


@numba.njit(**INNER, fastmath=FAST)
def fit_spread(r: Room, n: int) -> None:
    """SPREAD <- the root of each row's spread by the other rows; scores the errors by it."""
    error, spread = part(r.columns[ERROR], 0, n), part(r.columns[SPREAD], 0, n)
    target = part(r.columns[CENTRED], 0, n)
    level, score = part(r.columns[LEVEL], 0, n), part(r.columns[SCORE], 0, n)
    mean, size = _mean(error), _mean(level)
    r.numbers[MEAN_ERROR], r.numbers[MEAN_SIZE] = mean, size
    for i in range(n):
        error[i] /= max(mean, _TINY)
        target[i] = root_of(error[i] + _OFFSET)
        level[i] = root_of(level[i] / max(size, _TINY) + _OFFSET)
    for k in range(LEVEL, COLUMNS):
        r.small[_MEANS, k] = _centre(part(r.columns[k], 0, n))
    _regress(r, n)
    total = 0.0
    for i in range(n):
        total += error[i] / spread_of(spread[i])
    for i in range(n):
        ratio = min(error[i] / spread_of(spread[i]) * (n / total), _LARGEST)
        target[i] = spread[i] + (ratio - 1.0) * (1.0 + spread[i] / 16.0)
    _regress(r, n)
    low, high = np.inf, -np.inf
    for i in range(n):
        low, high = min(low, spread[i]), max(high, spread[i])
        score[i] = error[i] / spread_of(spread[i])
    r.numbers[LOW], r.numbers[HIGH] = low, high


@numba.njit(**INNER, fastmath=FAST)
def _centre(values: Vector) -> float:
    """Subtract the mean, and return it."""
    mean = _mean(values)
    for i in range(values.size):
        values[i] -= mean
    return mean


@numba.njit(**INNER, fastmath=FAST)
def _regress(r: Room, n: int) -> None:
    """SPREAD <- the regression of the target on the columns, each row by the other rows."""
    target, spread = part(r.columns[CENTRED], 0, n), part(r.columns[SPREAD], 0, n)
    r.numbers[MIDDLE] = _centre(target)
    _fit_features(r, n)
    _shrink(r, n, _solve(r, n))
    coef, shrunk, own = r.small[_COEF], r.small[_SHRUNK], part(r.columns[WORK], 0, n)
    fill(spread, 0.0)
    fill(own, 1.0 / n)
    for k in range(COLUMNS):
        column = part(r.columns[k], 0, n)
        add_row(coef[k], column, spread)
        for j in range(k + 1):
            other = part(r.columns[j], 0, n)
            weight = (shrunk[k] + shrunk[j]) * r.stack[k, j] * (1.0 if j < k else 0.5)
            for i in range(n):
                own[i] += weight * column[i] * other[i]
    middle = r.numbers[MIDDLE]
    for i in range(n):
        spread[i] = _bounded(middle + (spread[i] - own[i] * target[i]) / (1.0 - own[i]))


@numba.njit(**INNER, fastmath=FAST)
def _fit_features(r: Room, n: int) -> None:
    """FIT <- the regression of the target on the features, each row by the other rows; CURVE."""
    c, d = r.columns, r.inverse.shape[0]
    target, root = part(c[CENTRED], 0, n), part(c[ROOTS], 0, n)
    fit, curve, own = part(c[FIT], 0, n), part(c[CURVE], 0, n), part(c[LEVERAGE], 0, n)
    coef, products, weighted = r.features[2], r.features[3], part(c[WORK], 0, n)
    for i in range(n):
        weighted[i] = root[i] * target[i]
    for j in range(d):
        products[j] = dot(part(r.z[j], 0, n), weighted)
    fill(fit, 0.0)
    for j in range(d):
        coef[j] = dot(r.inverse[j], products)
        add_row(coef[j], part(r.z[j], 0, n), fit)
    widest = 0.0
    for i in range(n):
        fit[i] = _bounded((fit[i] / root[i] - own[i] * target[i]) / (1.0 - own[i]))
        curve[i] = fit[i] * fit[i]
        widest = max(widest, curve[i])
    r.numbers[WIDEST] = widest
    r.small[_MEANS, FIT], r.small[_MEANS, CURVE] = _centre(fit), _centre(curve)


@numba.njit(**INNER)
def _solve(r: Room, n: int) -> float:
    """The coefficients of the columns; the variance of the target around their regression."""
    a, diagonal, coef, target = r.stack, r.small[_DIAGONAL], r.small[_COEF], r.columns[CENTRED]
    products = r.small[_NEW]
    target = part(target, 0, n)
    for k in range(COLUMNS):
        column = part(r.columns[k], 0, n)
        products[k] = dot(column, target)
        for j in range(k + 1):
            a[k, j] = dot(column, part(r.columns[j], 0, n))
        a[k, k] = a[k, k] * (1.0 + _RIDGE) if a[k, k] > _TINY else 1.0
        diagonal[k] = a[k, k]
    invert(a, diagonal, r.work)
    explained = 0.0
    for k in range(COLUMNS):
        coef[k] = dot(a[k], products)
        explained += coef[k] * products[k]
    return max(dot(target, target) - explained, 0.0) / (n - COLUMNS - 1)


@numba.njit(**INNER)
def _shrink(r: Room, n: int, variance: float) -> None:
    """Multiply each coefficient by max(0, 1 - 1 / t^2); that of FIT must not be negative."""
    coef, shrunk = r.small[_COEF], r.small[_SHRUNK]
    for k in range(COLUMNS):
        square = variance * r.stack[k, k]
        square *= 0.5 if k == ENDS and coef[k] > 0.0 else 1.0
        shrunk[k] = max(0.0, 1.0 - square / max(coef[k] * coef[k], _TINY))
        if k == FIT and coef[k] < 0.0:
            shrunk[k] = 0.0
        coef[k] *= shrunk[k]
    r.numbers[NOISE] = variance


# -- a new row -------------------------------------------------------------------------------------


@numba.njit(**INNER, fastmath=FAST)
def spread_at(r: Room, n: int, row: Vector, prediction: float, normal: float) -> float:
    """The spread of a new row, in units of the response.

    It is widened for the variance v of its own estimate, as far as that exceeds the mean of the
    live rows: an interval of ``normal`` deviations then loses normal^2 v / 2 of its width.
    """
    new, means, shrunk = r.small[_NEW], r.small[_MEANS], r.small[_SHRUNK]
    fit = 0.0
    for j in range(row.size):
        fit += r.features[2, j] * (row[j] - r.features[0, j])
    fit = _bounded(fit)
    new[FIT], new[CURVE] = fit, min(fit * fit, r.numbers[WIDEST])
    new[LEVEL] = root_of(abs(prediction) / max(r.numbers[MEAN_SIZE], _TINY) + _OFFSET)
    new[ENDS], new[AGE] = 1.0, 0.0
    root, own = r.numbers[MIDDLE], 0.0
    for k in range(COLUMNS):
        new[k] -= means[k]
        root += r.small[_COEF, k] * new[k]
    for k in range(COLUMNS):
        own += shrunk[k] * (new[k] * dot(r.stack[k], new) - 1.0 / n)
    root = min(max(root, r.numbers[LOW]), r.numbers[HIGH])
    wider = 1.0 + 0.5 * normal * normal * r.numbers[NOISE] * max(own, 0.0)
    return r.numbers[MEAN_ERROR] * spread_of(root) * wider

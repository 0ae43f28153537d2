"""The local spread of the noise: a regression of the errors of the live rows, for one window.

The errors are those of ``local_errors``. Their spread is regressed on five columns, each without
the row that it belongs to:

======  ============================================================================================
FIT     the regression of the errors on the features, with the inverse that the response has
CURVE   its square
LEVEL   the size of the prediction
ENDS    (1 - 2 age)^2: where coefficients drift, errors are largest at both ends of the window
AGE     0 for the newest row, 1 for the oldest
======  ============================================================================================

Each coefficient is multiplied by max(0, 1 - 1/t^2), t its t-statistic, so that columns that explain
nothing have no influence; that of ENDS, if positive, by max(0, 1 - 1/2t^2). The regression is in
sixteenth roots (``root_of``), which are close to logarithms and need no library function, so that
all machines round alike. It is fitted twice: to the roots of the errors, then by one scoring step
for their mean.
"""

from __future__ import annotations

import numba
import numpy as np

from efface.engine.jit.compilation import FAST, INNER
from efface.engine.jit.views import Matrix, Vector, part
from efface.engine.linalg.dense import dot, fill, symmetric_times
from efface.engine.windows.local_errors import (
    AGE,
    CENTRED,
    COLUMNS,
    CURVE,
    ENDS,
    ERROR,
    FIT,
    HIGH,
    LEVEL,
    LOW,
    MEAN_ERROR,
    MEAN_SIZE,
    MIDDLE,
    NOISE,
    RIDGE,
    ROOTS,
    SCORE,
    SPREAD,
    TINY,
    WIDEST,
    WORK,
    Room,
    add_features,
    extremes,
    feature_products,
)

_LEAST, _MOST = 0.75, 4.0 / 3.0  # of the root of a spread: from 1/100 to 100 mean errors
_OFFSET = 0.05  # mean errors, added before roots are taken
_LARGEST = 4.0  # local spreads: larger errors count as this in the second fit
_MEANS, _COEF, _SHRUNK, _NEW = range(4)  # rows of ``Room.small``


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


@numba.njit(**INNER, fastmath=FAST)
def fit_spread(r: Room, n: int) -> None:
    """SPREAD <- the root of each row's spread by the other rows; scores the errors by it."""
    error, spread = part(r.columns[ERROR], 0, n), part(r.columns[SPREAD], 0, n)
    target = part(r.columns[CENTRED], 0, n)
    level, score = part(r.columns[LEVEL], 0, n), part(r.columns[SCORE], 0, n)
    mean, size = _mean(error), _mean(level)
    r.numbers[MEAN_ERROR], r.numbers[MEAN_SIZE] = mean, size
    mean, size = max(mean, TINY), max(size, TINY)
    for i in range(n):
        error[i] /= mean
        target[i] = root_of(error[i] + _OFFSET)
    for i in range(n):
        level[i] = root_of(level[i] / size + _OFFSET)
    for k in range(LEVEL, COLUMNS):
        r.small[_MEANS, k] = _centre(part(r.columns[k], 0, n))
    _regress(r, n)
    total = 0.0
    for i in range(n):
        total += error[i] / spread_of(spread[i])
    scale = n / max(total, TINY)
    for i in range(n):
        ratio = min(error[i] / spread_of(spread[i]) * scale, _LARGEST)
        target[i] = spread[i] + (ratio - 1.0) * (1.0 + spread[i] / 16.0)
    _regress(r, n)
    for i in range(n):
        score[i] = error[i] / spread_of(spread[i])
    r.numbers[LOW], r.numbers[HIGH] = extremes(spread)


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
    own, middle = part(r.columns[WORK], 0, n), r.numbers[MIDDLE]
    fill(spread, 0.0)
    fill(own, 1.0 / n)
    add_features(r.columns, r.small[_COEF], spread)
    for k in range(COLUMNS):
        _add_products(r, k, r.small[_SHRUNK, k], own)
    for i in range(n):
        spread[i] = _bounded(middle + (spread[i] - own[i] * target[i]) / (1.0 - own[i]))


@numba.njit(**INNER, fastmath=FAST)
def _add_products(r: Room, k: int, share: float, out: Vector) -> None:
    """out += share times column k times (stack times the columns)."""
    c, w, column = r.columns, r.stack[k], r.columns[k]
    fit, curve, level, ends, age = c[FIT], c[CURVE], c[LEVEL], c[ENDS], c[AGE]
    for i in range(out.size):
        total = w[FIT] * fit[i] + w[CURVE] * curve[i] + w[LEVEL] * level[i]
        out[i] += share * column[i] * (total + w[ENDS] * ends[i] + w[AGE] * age[i])


@numba.njit(**INNER, fastmath=FAST)
def _fit_features(r: Room, n: int) -> None:
    """FIT <- the regression of the target on the features, each row by the other rows; CURVE."""
    c, d = r.columns, r.inverse.shape[0]
    target, root = part(c[CENTRED], 0, n), part(c[ROOTS], 0, n)
    fit, curve, own = part(c[FIT], 0, n), part(c[CURVE], 0, n), part(r.z[d], 0, n)
    coef, products, weighted = r.features[2], r.features[3], part(c[WORK], 0, n)
    for i in range(n):
        weighted[i] = root[i] * target[i]
    feature_products(r.z, weighted, products)
    symmetric_times(r.inverse, products, coef)
    fill(fit, 0.0)
    add_features(r.z, coef, fit)
    for i in range(n):
        fit[i] = _bounded((fit[i] / root[i] - own[i] * target[i]) / (1.0 - own[i]))
    for i in range(n):
        curve[i] = fit[i] * fit[i]
    r.numbers[WIDEST] = extremes(curve)[1]
    r.small[_MEANS, FIT], r.small[_MEANS, CURVE] = _centre(fit), _centre(curve)


@numba.njit(**INNER)
def _solve(r: Room, n: int) -> float:
    """The coefficients of the columns; the variance of the target around their regression."""
    a, coef, products = r.stack, r.small[_COEF], r.small[_NEW]
    target = part(r.columns[CENTRED], 0, n)
    feature_products(r.columns, target, products)
    for k in range(COLUMNS):
        feature_products(r.columns, part(r.columns[k], 0, n), a[k])
        a[k, k] = a[k, k] * (1.0 + RIDGE) if a[k, k] > TINY else 1.0
    _invert_small(a)
    explained = 0.0
    for k in range(COLUMNS):
        coef[k] = dot(a[k], products)
        explained += coef[k] * products[k]
    return max(dot(target, target) - explained, 0.0) / (n - COLUMNS - 1)


@numba.njit(**INNER)
def _invert_small(a: Matrix) -> None:
    """a <- a^-1 of a positive definite matrix, by Gauss-Jordan elimination."""
    n = a.shape[0]
    for p in range(n):
        pivot = 1.0 / a[p, p]
        a[p, p] = 1.0
        for j in range(n):
            a[p, j] *= pivot
        for i in range(n):
            if i != p:
                factor = a[i, p]
                a[i, p] = 0.0
                for j in range(n):
                    a[i, j] -= factor * a[p, j]


@numba.njit(**INNER)
def _shrink(r: Room, n: int, variance: float) -> None:
    """Multiply each coefficient by max(0, 1 - 1 / t^2); that of FIT must not be negative."""
    coef, shrunk = r.small[_COEF], r.small[_SHRUNK]
    for k in range(COLUMNS):
        square = variance * r.stack[k, k]
        square *= 0.5 if k == ENDS and coef[k] > 0.0 else 1.0
        shrunk[k] = max(0.0, 1.0 - square / max(coef[k] * coef[k], TINY))
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
    new[LEVEL] = root_of(abs(prediction) / max(r.numbers[MEAN_SIZE], TINY) + _OFFSET)
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

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
fourth roots (``root_of``), which are between the errors and their logarithms and need no library
function, so that all machines round alike. It is fitted twice: to the roots of the errors, then by
one scoring step for their mean. FIT is in square roots, which vary less for equal spreads.
"""

from __future__ import annotations

import numba
import numpy as np

from efface.engine.jit.compilation import FAST, INNER
from efface.engine.jit.views import Matrix, Vector, part
from efface.engine.linalg.dense import dot, fill, mean
from efface.engine.windows.local_errors import (
    RIDGE,
    TINY,
    add_features,
    extremes,
    feature_products,
    solve_system,
)
from efface.engine.windows.local_rows import (
    AGE,
    COEF,
    COLUMNS,
    CURVE,
    ENDS,
    ERROR,
    FIT,
    INVERSE_ROOT,
    LEVEL,
    LEVERAGE,
    MEAN,
    PRODUCTS,
    ROOT,
    SCORE,
    SHIFT,
    SPREAD,
    TARGET,
    WORK,
    Room,
)

_LEAST, _MOST = 4.0 * (0.1**0.5 - 1.0), 4.0 * (10.0**0.5 - 1.0)  # 1/100 to 100 mean errors
_OFFSET = 0.05  # mean errors, added before roots are taken
_LARGEST = 4.0  # local spreads: larger errors count as this in the second fit
_MEANS, _SLOPES, _SHRUNK, _NEW, _SUMS = range(5)  # rows of ``Room.small``
MEAN_ERROR, MEAN_SIZE, MIDDLE, QUANTILE, NOISE, LOW, HIGH, WIDEST = range(8)  # ``Room.numbers``


@numba.njit(**INNER)
def root_of(value: float) -> float:
    """The inverse of ``spread_of``."""
    return 4.0 * (np.sqrt(np.sqrt(value)) - 1.0)


@numba.njit(**INNER)
def spread_of(root: float) -> float:
    """(1 + root / 4)^4, where root is within bounds."""
    power = 1.0 + 0.25 * root
    power *= power
    return power * power


@numba.njit(**INNER)
def _bounded(root: float) -> float:
    """The root of a spread within bounds."""
    return min(max(root, _LEAST), _MOST)


@numba.njit(**INNER, fastmath=FAST)
def _centre(values: Vector) -> float:
    """Subtract the mean, and return it."""
    middle = mean(values)
    for i in range(values.size):
        values[i] -= middle
    return middle


@numba.njit(**INNER, fastmath=FAST)
def fit_spread(r: Room, n: int) -> None:
    """SPREAD <- the root of each row's spread by the other rows; scores the errors by it."""
    error, spread = part(r.columns[ERROR], 0, n), part(r.columns[SPREAD], 0, n)
    _take_roots(r, n)
    _fit_features(r, n)
    _invert_products(r, n)
    _regress(r, n)
    for i in range(n):
        spread[i] = _bounded(spread[i])
    _score(r, n)
    _regress(r, n)
    _leave_each_out(r, n)
    score = part(r.columns[SCORE], 0, n)
    for i in range(n):
        score[i] = error[i] / spread_of(spread[i])
    r.numbers[LOW], r.numbers[HIGH] = extremes(spread)


@numba.njit(**INNER, fastmath=FAST)
def _take_roots(r: Room, n: int) -> None:
    """TARGET <- the fourth roots of the errors, SCORE <- the square roots; columns but FIT."""
    error, level = part(r.columns[ERROR], 0, n), part(r.columns[LEVEL], 0, n)
    target, square = part(r.columns[TARGET], 0, n), part(r.columns[SCORE], 0, n)
    usual, size = mean(error), mean(level)
    r.numbers[MEAN_ERROR], r.numbers[MEAN_SIZE] = usual, size
    per_mean, per_size = 1.0 / max(usual, TINY), 1.0 / max(size, TINY)
    for i in range(n):
        error[i] *= per_mean
        square[i] = 2.0 * np.sqrt(error[i] + _OFFSET)
    for i in range(n):
        target[i] = 4.0 * (np.sqrt(0.5 * square[i]) - 1.0)
    for i in range(n):
        level[i] = root_of(level[i] * per_size + _OFFSET)
    for k in range(LEVEL, COLUMNS):
        r.small[_MEANS, k] = _centre(part(r.columns[k], 0, n))


@numba.njit(**INNER, fastmath=FAST)
def _fit_features(r: Room, n: int) -> None:
    """FIT <- the regression of SCORE on the features, each row by the other rows; CURVE."""
    c, d = r.columns, r.features.shape[1]
    target, root, inverse = part(c[SCORE], 0, n), part(c[ROOT], 0, n), part(c[INVERSE_ROOT], 0, n)
    fit, curve, own = part(c[FIT], 0, n), part(c[CURVE], 0, n), part(r.z[d + LEVERAGE], 0, n)
    coef, products, shift = r.features[COEF], r.features[PRODUCTS], r.features[SHIFT]
    weighted = part(c[WORK], 0, n)
    _centre(target)
    for i in range(n):
        weighted[i] = root[i] * target[i]
    feature_products(r.z, weighted, products)
    total = dot(weighted, root)
    for j in range(d):
        products[j] -= total * shift[j]
    solve_system(r, products, coef)
    base = dot(shift, coef)
    fill(fit, 0.0)
    add_features(r.z, coef, fit)
    for i in range(n):
        fit[i] = _bounded((fit[i] * inverse[i] - base - own[i] * target[i]) / (1.0 - own[i]))
    for i in range(n):
        curve[i] = fit[i] * fit[i]
    r.numbers[WIDEST] = extremes(curve)[1]
    r.small[_MEANS, FIT], r.small[_MEANS, CURVE] = _centre(fit), _centre(curve)


@numba.njit(**INNER)
def _invert_products(r: Room, n: int) -> None:
    """stack <- the inverse of the products of the columns."""
    a = r.stack
    _multiply_columns(r, n)
    for k in range(COLUMNS):
        for j in range(k):
            a[k, j] = a[j, k]
        a[k, k] = a[k, k] * (1.0 + RIDGE) if a[k, k] > TINY else 1.0
    _invert_small(a)


@numba.njit(**INNER, fastmath=FAST)
def _multiply_columns(r: Room, n: int) -> None:
    """The upper triangle of stack <- the products of the columns, in one pass."""
    a, c = r.stack, r.columns
    fit, curve, level, ends, age = c[FIT], c[CURVE], c[LEVEL], c[ENDS], c[AGE]
    ff, fq, fv, fe, fg = 0.0, 0.0, 0.0, 0.0, 0.0
    qq, qv, qe, qg, vv = 0.0, 0.0, 0.0, 0.0, 0.0
    ve, vg, ee, eg, gg = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        f, q, v, e, g = fit[i], curve[i], level[i], ends[i], age[i]
        ff, fq, fv, fe, fg = ff + f * f, fq + f * q, fv + f * v, fe + f * e, fg + f * g
        qq, qv, qe, qg, vv = qq + q * q, qv + q * v, qe + q * e, qg + q * g, vv + v * v
        ve, vg, ee, eg, gg = ve + v * e, vg + v * g, ee + e * e, eg + e * g, gg + g * g
    a[FIT, FIT], a[FIT, CURVE], a[FIT, LEVEL], a[FIT, ENDS], a[FIT, AGE] = ff, fq, fv, fe, fg
    a[CURVE, CURVE], a[CURVE, LEVEL], a[CURVE, ENDS], a[CURVE, AGE] = qq, qv, qe, qg
    a[LEVEL, LEVEL], a[LEVEL, ENDS], a[LEVEL, AGE] = vv, ve, vg
    a[ENDS, ENDS], a[ENDS, AGE], a[AGE, AGE] = ee, eg, gg


@numba.njit(**INNER, fastmath=FAST)
def _regress(r: Room, n: int) -> None:
    """SPREAD <- the regression of the target on the columns, with coefficients that are shrunk."""
    target, spread = part(r.columns[TARGET], 0, n), part(r.columns[SPREAD], 0, n)
    r.numbers[MIDDLE] = _centre(target)
    slopes, sums, explained = r.small[_SLOPES], r.small[_SUMS], 0.0
    feature_products(r.columns, target, sums)
    for k in range(COLUMNS):
        slopes[k] = dot(r.stack[k], sums)
        explained += slopes[k] * sums[k]
    _shrink(r, max(dot(target, target) - explained, 0.0) / (n - COLUMNS - 1))
    fill(spread, r.numbers[MIDDLE])
    add_features(r.columns, slopes, spread)


@numba.njit(**INNER, fastmath=FAST)
def _score(r: Room, n: int) -> None:
    """TARGET <- one scoring step from the spreads, for the mean of the errors."""
    c = r.columns
    error, spread, score = part(c[ERROR], 0, n), part(c[SPREAD], 0, n), part(c[SCORE], 0, n)
    target = part(c[TARGET], 0, n)
    for i in range(n):
        score[i] = error[i] / spread_of(spread[i])
    scale = 1.0 / max(mean(score), TINY)
    for i in range(n):
        ratio = min(score[i] * scale, _LARGEST)
        target[i] = spread[i] + (ratio - 1.0) * (1.0 + 0.25 * spread[i])


@numba.njit(**INNER, fastmath=FAST)
def _leave_each_out(r: Room, n: int) -> None:
    """SPREAD <- that of each row by the other rows, within bounds."""
    target, spread = part(r.columns[TARGET], 0, n), part(r.columns[SPREAD], 0, n)
    own, middle = part(r.columns[WORK], 0, n), r.numbers[MIDDLE]
    _own_influence(r, n, own)
    for i in range(n):
        others = (spread[i] - middle - own[i] * target[i]) / (1.0 - own[i])
        spread[i] = _bounded(middle + others)


@numba.njit(**INNER, fastmath=FAST)
def _own_influence(r: Room, n: int, own: Vector) -> None:
    """own <- the diagonal of the smoother 1 / n + C diag(shrunk) stack C', C the columns."""
    a, c, shrunk = r.stack, r.columns, r.small[_SHRUNK]
    fit, curve, level, ends, age = c[FIT], c[CURVE], c[LEVEL], c[ENDS], c[AGE]
    aa, ab, ac, ad, ae = _folded(a, shrunk, FIT)
    _, bb, bc, bd, be = _folded(a, shrunk, CURVE)
    _, _, cc, cd, ce = _folded(a, shrunk, LEVEL)
    _, _, _, dd, de = _folded(a, shrunk, ENDS)
    ee, constant = shrunk[AGE] * a[AGE, AGE], 1.0 / n
    for i in range(n):
        f, q, v, e, g = fit[i], curve[i], level[i], ends[i], age[i]
        upper = f * (aa * f + ab * q + ac * v + ad * e + ae * g)
        middle = q * (bb * q + bc * v + bd * e + be * g) + v * (cc * v + cd * e + ce * g)
        own[i] = constant + upper + middle + e * (dd * e + de * g) + ee * g * g


@numba.njit(**INNER)
def _folded(a: Matrix, shrunk: Vector, k: int) -> tuple[float, float, float, float, float]:
    """Row k of diag(shrunk) a, where entries off the diagonal have those below added to them."""
    return (
        _pair(a, shrunk, k, FIT),
        _pair(a, shrunk, k, CURVE),
        _pair(a, shrunk, k, LEVEL),
        _pair(a, shrunk, k, ENDS),
        _pair(a, shrunk, k, AGE),
    )


@numba.njit(**INNER)
def _pair(a: Matrix, shrunk: Vector, k: int, j: int) -> float:
    return a[k, j] * (shrunk[k] if j == k else shrunk[k] + shrunk[j])


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
def _shrink(r: Room, variance: float) -> None:
    """Multiply each coefficient by max(0, 1 - 1 / t^2); that of FIT must not be negative."""
    slopes, shrunk = r.small[_SLOPES], r.small[_SHRUNK]
    for k in range(COLUMNS):
        square = variance * r.stack[k, k]
        square *= 0.5 if k == ENDS and slopes[k] > 0.0 else 1.0
        shrunk[k] = max(0.0, 1.0 - square / max(slopes[k] * slopes[k], TINY))
        if k == FIT and slopes[k] < 0.0:
            shrunk[k] = 0.0
        slopes[k] *= shrunk[k]
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
        fit += r.features[COEF, j] * (row[j] - r.features[MEAN, j])
    fit = _bounded(fit)
    new[FIT], new[CURVE] = fit, min(fit * fit, r.numbers[WIDEST])
    new[LEVEL] = root_of(abs(prediction) / max(r.numbers[MEAN_SIZE], TINY) + _OFFSET)
    new[ENDS], new[AGE] = 1.0, 0.0
    root, own = r.numbers[MIDDLE], 0.0
    for k in range(COLUMNS):
        new[k] -= means[k]
        root += r.small[_SLOPES, k] * new[k]
    for k in range(COLUMNS):
        own += shrunk[k] * (new[k] * dot(r.stack[k], new) - 1.0 / n)
    root = min(max(root, r.numbers[LOW]), r.numbers[HIGH])
    wider = 1.0 + 0.5 * normal * normal * r.numbers[NOISE] * max(own, 0.0)
    return r.numbers[MEAN_ERROR] * spread_of(root) * wider

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

from efface.engine.jit.compilation import APART, FAST, INNER
from efface.engine.jit.views import Matrix, Vector
from efface.engine.linalg.dense import add_row, dot, fill
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
    FIT,
    LEVEL,
    MEAN,
    PRODUCTS,
    SHIFT,
    Columns,
    Room,
    columns_of,
)

_LEAST, _MOST = 4.0 * (0.1**0.5 - 1.0), 4.0 * (10.0**0.5 - 1.0)  # 1/100 to 100 mean errors
_OFFSET = 0.05  # mean errors, added before roots are taken
_LARGEST = 4.0  # local spreads: larger errors count as this in the second fit
_MEANS, _SLOPES, _SHRUNK, _NEW, _SUMS = range(5)  # rows of ``Room.small``
MEAN_ERROR, MEAN_SIZE, MIDDLE, QUANTILE, NOISE, LOW, HIGH, WIDEST = range(8)  # ``Room.numbers``
_SQUARES, _STEP, _NEWEST, _PER_ROW = range(8, 12)  # more of them


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


@numba.njit(**INNER)
def fit_spread(r: Room, first: int, last: int, n: int) -> None:
    """The spread of each row by the other rows; scores <- the errors divided by it.

    The n rows that have errors are among those of the window first..last.
    """
    c = columns_of(r, 0, n)
    r.numbers[_NEWEST], r.numbers[_PER_ROW] = last - 1.0, 1.0 / (last - first)
    _fit_features(r, c, _take_roots(r, c))
    _multiply_columns(r, c)
    _invert_products(r.stack)
    _solve_slopes(r, n)
    _score_step(r, c, 1.0 / max(_score(r, c) / n, TINY))
    _solve_slopes(r, n)
    _leave_each_out(r, c)
    r.numbers[LOW], r.numbers[HIGH] = extremes(c.spread)


@numba.njit(**INNER)
def _take_roots(r: Room, c: Columns) -> float:
    """target <- the fourth roots of the errors, score <- twice the square roots; their mean."""
    usual, size, ends, age = _means(c, r.numbers[_NEWEST], r.numbers[_PER_ROW])
    r.numbers[MEAN_ERROR], r.numbers[MEAN_SIZE] = usual, size
    square, root, level = _set_roots(c, 1.0 / max(usual, TINY), 1.0 / max(size, TINY))
    r.small[_MEANS, LEVEL], r.small[_MEANS, ENDS], r.small[_MEANS, AGE] = level, ends, age
    r.numbers[MIDDLE] = root
    return square


@numba.njit(**INNER)
def _five(values: Vector) -> tuple[float, float, float, float, float]:
    """A number per column."""
    return values[FIT], values[CURVE], values[LEVEL], values[ENDS], values[AGE]


@numba.njit(**INNER, fastmath=FAST)
def _age_and_ends(rows: float, per_row: float) -> tuple[float, float]:
    """The age of a row that has so many after it, and (1 - 2 age)^2."""
    age = rows * per_row
    side = 1.0 - 2.0 * age
    return age, side * side


@numba.njit(**APART, fastmath=FAST)
def _means(c: Columns, newest: float, per_row: float) -> tuple[float, float, float, float]:
    """The means of error, level, ends and age."""
    error, level, ends, ages, n = 0.0, 0.0, 0.0, 0.0, c.error.size
    for i in range(n):
        age, end = _age_and_ends(newest - c.place[i], per_row)
        error += c.error[i]
        level += c.level[i]
        ends += end
        ages += age
    return error / n, level / n, ends / n, ages / n


@numba.njit(**APART, fastmath=FAST)
def _set_roots(c: Columns, per_mean: float, per_size: float) -> tuple[float, float, float]:
    """error <- in units of its mean; score, target and level <- roots; the means of these."""
    squares, roots, levels, n = 0.0, 0.0, 0.0, c.error.size
    for i in range(n):
        error = c.error[i] * per_mean
        square = np.sqrt(error + _OFFSET)
        root, level = 4.0 * (np.sqrt(square) - 1.0), root_of(c.level[i] * per_size + _OFFSET)
        c.error[i], c.score[i], c.target[i], c.level[i] = error, 2.0 * square, root, level
        squares += square
        roots += root
        levels += level
    return 2.0 * squares / n, roots / n, levels / n


@numba.njit(**INNER)
def _fit_features(r: Room, c: Columns, middle: float) -> None:
    """fit <- the regression of score, of mean ``middle``, on the features; curve <- its square."""
    coef, products, shift = r.features[COEF], r.features[PRODUCTS], r.features[SHIFT]
    total = _weigh(c, middle)
    feature_products(r.z, c.work, products)
    add_row(-total, shift, products)
    solve_system(r, products, coef)
    fill(c.fit, 0.0)
    add_features(r.z, coef, c.fit)
    r.small[_MEANS, FIT], r.small[_MEANS, CURVE] = _leave_features_out(c, dot(shift, coef))
    r.numbers[WIDEST] = extremes(c.curve)[1]


@numba.njit(**APART, fastmath=FAST)
def _weigh(c: Columns, middle: float) -> float:
    """score <- score - middle; work <- the same times the weight; the sum of work."""
    total = 0.0
    for i in range(c.score.size):
        score = c.score[i] - middle
        weighted = c.weight[i] * score
        c.score[i], c.work[i] = score, weighted
        total += weighted
    return total


@numba.njit(**APART, fastmath=FAST)
def _leave_features_out(c: Columns, base: float) -> tuple[float, float]:
    """fit <- that of each row by the other rows, curve <- its square; their means."""
    fits, curves, n = 0.0, 0.0, c.fit.size
    for i in range(n):
        own = c.own[i]
        fit = _bounded((c.fit[i] - base - own * c.score[i]) / (1.0 - own))
        c.fit[i], c.curve[i] = fit, fit * fit
        fits += fit
        curves += fit * fit
    return fits / n, curves / n


@numba.njit(**APART, fastmath=FAST)
def _multiply_columns(r: Room, c: Columns) -> None:
    """Centre the columns; the upper triangle of stack <- their products, sums <- the target's."""
    a, sums, middle = r.stack, r.small[_SUMS], r.numbers[MIDDLE]
    newest, per_row = r.numbers[_NEWEST], r.numbers[_PER_ROW]
    fit, curve, level, ends, age = _five(r.small[_MEANS])
    ff, fq, fv, fe, fg = 0.0, 0.0, 0.0, 0.0, 0.0
    qq, qv, qe, qg, vv = 0.0, 0.0, 0.0, 0.0, 0.0
    ve, vg, ee, eg, gg = 0.0, 0.0, 0.0, 0.0, 0.0
    ft, qt, vt, et, gt, tt = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(c.fit.size):
        g, e = _age_and_ends(newest - c.place[i], per_row)
        f, q, v, e, g = c.fit[i] - fit, c.curve[i] - curve, c.level[i] - level, e - ends, g - age
        c.fit[i], c.curve[i], c.level[i], c.ends[i], c.age[i] = f, q, v, e, g
        ff, fq, fv, fe, fg = ff + f * f, fq + f * q, fv + f * v, fe + f * e, fg + f * g
        qq, qv, qe, qg, vv = qq + q * q, qv + q * v, qe + q * e, qg + q * g, vv + v * v
        ve, vg, ee, eg, gg = ve + v * e, vg + v * g, ee + e * e, eg + e * g, gg + g * g
        t = c.target[i] - middle
        ft, qt, vt, et, gt = ft + f * t, qt + q * t, vt + v * t, et + e * t, gt + g * t
        tt += t * t
    a[FIT, FIT], a[FIT, CURVE], a[FIT, LEVEL], a[FIT, ENDS], a[FIT, AGE] = ff, fq, fv, fe, fg
    a[CURVE, CURVE], a[CURVE, LEVEL], a[CURVE, ENDS], a[CURVE, AGE] = qq, qv, qe, qg
    a[LEVEL, LEVEL], a[LEVEL, ENDS], a[LEVEL, AGE] = vv, ve, vg
    a[ENDS, ENDS], a[ENDS, AGE], a[AGE, AGE] = ee, eg, gg
    sums[FIT], sums[CURVE], sums[LEVEL], sums[ENDS], sums[AGE] = ft, qt, vt, et, gt
    r.numbers[_SQUARES] = tt


@numba.njit(**INNER)
def _invert_products(a: Matrix) -> None:
    """a <- the inverse of the products in its upper triangle, by Gauss-Jordan elimination."""
    for k in range(COLUMNS):
        for j in range(k):
            a[k, j] = a[j, k]
        a[k, k] = a[k, k] * (1.0 + RIDGE) if a[k, k] > TINY else 1.0
    for p in range(COLUMNS):
        pivot = 1.0 / a[p, p]
        a[p, p] = 1.0
        for j in range(COLUMNS):
            a[p, j] *= pivot
        for i in range(COLUMNS):
            if i != p:
                factor = a[i, p]
                a[i, p] = 0.0
                for j in range(COLUMNS):
                    a[i, j] -= factor * a[p, j]


@numba.njit(**INNER)
def _solve_slopes(r: Room, n: int) -> None:
    """slopes <- the regression of the target on the columns, each times max(0, 1 - 1 / t^2).

    That of FIT must not be negative.
    """
    slopes, shrunk, sums = r.small[_SLOPES], r.small[_SHRUNK], r.small[_SUMS]
    explained = 0.0
    for k in range(COLUMNS):
        slopes[k] = dot(r.stack[k], sums)
        explained += slopes[k] * sums[k]
    variance = max(r.numbers[_SQUARES] - explained, 0.0) / (n - COLUMNS - 1)
    for k in range(COLUMNS):
        square = variance * r.stack[k, k]
        square *= 0.5 if k == ENDS and slopes[k] > 0.0 else 1.0
        shrunk[k] = max(0.0, 1.0 - square / max(slopes[k] * slopes[k], TINY))
        if k == FIT and slopes[k] < 0.0:
            shrunk[k] = 0.0
        slopes[k] *= shrunk[k]
    r.numbers[NOISE] = variance


@numba.njit(**APART, fastmath=FAST)
def _score(r: Room, c: Columns) -> float:
    """spread <- the regression of the roots, score <- the errors by it; the sum of the scores."""
    middle, total = r.numbers[MIDDLE], 0.0
    fit, curve, level, ends, age = _five(r.small[_SLOPES])
    for i in range(c.fit.size):
        root = middle + fit * c.fit[i] + curve * c.curve[i] + level * c.level[i]
        root = _bounded(root + ends * c.ends[i] + age * c.age[i])
        score = c.error[i] / spread_of(root)
        c.spread[i], c.score[i] = root, score
        total += score
    return total


@numba.njit(**APART, fastmath=FAST)
def _score_step(r: Room, c: Columns, scale: float) -> None:
    """target <- one scoring step from the spreads, for the mean of the errors; sums with it."""
    sums, n, before = r.small[_SUMS], c.fit.size, r.numbers[MIDDLE]
    ft, qt, vt, et, gt, tt, total = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        spread = c.spread[i]
        ratio = min(c.score[i] * scale, _LARGEST)
        t = spread - before + (ratio - 1.0) * (1.0 + 0.25 * spread)
        c.target[i] = t
        ft, qt, vt = ft + c.fit[i] * t, qt + c.curve[i] * t, vt + c.level[i] * t
        et, gt, tt = et + c.ends[i] * t, gt + c.age[i] * t, tt + t * t
        total += t
    sums[FIT], sums[CURVE], sums[LEVEL], sums[ENDS], sums[AGE] = ft, qt, vt, et, gt
    r.numbers[_STEP], r.numbers[MIDDLE] = total / n, before + total / n
    r.numbers[_SQUARES] = tt - total * total / n


@numba.njit(**APART, fastmath=FAST)
def _leave_each_out(r: Room, c: Columns) -> None:
    """spread <- that of each row by the other rows; score <- the error divided by it.

    A row's own influence is on the diagonal of the smoother 1 / n + C diag(shrunk) stack C', C the
    columns.
    """
    a, shrunk = r.stack, r.small[_SHRUNK]
    middle, step = r.numbers[MIDDLE], r.numbers[_STEP]
    aa, ab, ac, ad, ae = _folded(a, shrunk, FIT)
    _, bb, bc, bd, be = _folded(a, shrunk, CURVE)
    _, _, cc, cd, ce = _folded(a, shrunk, LEVEL)
    _, _, _, dd, de = _folded(a, shrunk, ENDS)
    ee, constant = shrunk[AGE] * a[AGE, AGE], 1.0 / c.fit.size
    fit, curve, level, ends, age = _five(r.small[_SLOPES])
    for i in range(c.fit.size):
        f, q, v, e, g = c.fit[i], c.curve[i], c.level[i], c.ends[i], c.age[i]
        own = constant + f * (aa * f + ab * q + ac * v + ad * e + ae * g) + ee * g * g
        own += q * (bb * q + bc * v + bd * e + be * g) + v * (cc * v + cd * e + ce * g)
        own += e * (dd * e + de * g)
        whole = fit * f + curve * q + level * v + ends * e + age * g
        others = (whole - own * (c.target[i] - step)) / (1.0 - own)
        root = _bounded(middle + others)
        c.spread[i], c.score[i] = root, c.error[i] / spread_of(root)


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

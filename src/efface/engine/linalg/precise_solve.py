"""Least squares from the Gram matrix alone, where float64 would not be enough.

The Gram matrix is given in double-double precision. With features scaled by powers of two it is
factorised in float64, and the solution is refined: residuals in double-double arithmetic,
corrections until the coefficients no longer change. That needs no row, and converges where every
feature has at least ``_INDEPENDENT`` of its square left after a regression on the features before
it.

A feature with less left is set aside. Refinement gives its regression on the others. If that leaves
nothing but rounding, it is a null direction of the window. The solution without such features,
minus its part in the null directions, is the one of minimum norm. Features without spread get the
coefficient 0. All other windows are not solved here, but from their rows: see ``refit``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numba
import numpy as np

from efface.engine.jit.compilation import FAST, INNER, carving
from efface.engine.jit.simd import LANES
from efface.engine.jit.views import Matrix, Vector, part, take
from efface.engine.linalg.dense import EPS, add_row, copy, dot, fill, inverse_entry, solve
from efface.engine.linalg.double_double import over, plus, times, two_product, two_sum
from efface.engine.linalg.exact_products import add_exact_products, padded_columns

_INDEPENDENT = 1e-12  # of the square of a feature: less, and it is set aside
_LEAST_SQUARE = 1e-240  # smaller squares have lost digits
_DUST = 16.0 * EPS  # deviations below this share of the mean may be rounding
_DOUBT = 16.0  # squares within this factor of a limit: only the rows can tell
_FAR = 1e4  # variances: beyond, the square of the mean's distance from the centre costs digits
_LOPSIDED = 1e-20  # of the largest square: with less, the rank depends on the units
_MOST_STEPS = 12
_ABREAST = 4  # rows of the factor that are subtracted at once
UNSOLVED = -2  # instead of a rank


class PreciseSystem(NamedTuple):
    """The normal equations of d features at a common scale, and work space; all scratch.

    w is d + 1, padded. High and low parts of a vector lie w numbers apart.
    """

    high: Matrix  # (d, w): the matrix; its column d takes minus the coefficients
    low: Matrix  # (d, w): what it lacks
    target: Vector  # (2 w,)
    residual: Vector  # (2 w,)
    factor: Matrix  # (d, d)
    null: Matrix  # (d, d): an orthonormal basis of the null directions
    theta: Vector  # (d,)
    step: Vector  # (d,)
    row: Vector  # (d,)
    unit: Vector  # (d,): powers of two
    metric: Vector  # (d,): the features are multiplied by it; 0 for a feature without spread
    scratch: Vector  # all of these, as one array


class Window(NamedTuple):
    """What is asked of a window."""

    rows: int  # with weight
    penalty: float
    intercept: bool
    standardized: bool  # are features centred, and divided by their deviations?
    halved: bool  # are they divided by the square roots of their deviations?


@carving
def lay_out_system(f: Vector, at: int, d: int) -> tuple[PreciseSystem, int]:
    """The system that lies in a flat array, and the offset behind it."""
    w = padded_columns(d + 1)
    target, factor = at + 2 * d * w, at + 2 * d * w + 4 * w
    vectors = factor + 2 * d * d
    end = vectors + 5 * d
    system = PreciseSystem(
        take(f, at, d, w),
        take(f, at + d * w, d, w),
        part(f, target, target + 2 * w),
        part(f, target + 2 * w, factor),
        take(f, factor, d, d),
        take(f, factor + d * d, d, d),
        part(f, vectors, vectors + d),
        part(f, vectors + d, vectors + 2 * d),
        part(f, vectors + 2 * d, vectors + 3 * d),
        part(f, vectors + 3 * d, vectors + 4 * d),
        part(f, vectors + 4 * d, end),
        part(f, at, end),
    )
    return system, end


@numba.njit(**INNER)
def solve_precisely(
    s: PreciseSystem, total: Vector, centre: Vector, asked: Window, coef: Vector
) -> tuple[float, int]:
    """coef <- the coefficients; return the intercept and the rank, or UNSOLVED.

    ``total`` is the Gram matrix of the rows q (x - c, 1, y - cy), as ``sums.precise_sums`` has it,
    after ``eliminate_mean`` if features are centred. It is overwritten. With a penalty the rank is
    -1. The system remains, until ``clear_system``.
    """
    d = coef.size
    q, w = d + 2, padded_columns(d + 2)
    high, low = take(total, 0, q, w), take(total, q * w, q, w)
    if not set_metric(s, high, centre, asked):
        return 0.0, UNSOLVED
    present = 0
    for j in range(d):
        present += s.metric[j] != 0.0
    _set_system(s, high, low, asked)
    independent = _factorise(s)
    if asked.penalty == 0.0 and min(present, independent) < d and _is_lopsided(s, high):
        return 0.0, UNSOLVED  # the rank depends on the units
    fill(s.theta, 0.0)
    if not _refine(s, part(s.target, 0, d), True):
        return 0.0, UNSOLVED
    copy(s.theta, coef)
    if independent < d and not _without_null_part(s, asked, coef, d - independent):
        return 0.0, UNSOLVED
    level, n = 0.0, high[d, d]
    if asked.intercept:
        level = centre[d + 1] + high[d + 1, d] / n
    for j in range(d):
        coef[j] *= s.unit[j] * s.metric[j]
        if asked.intercept or asked.standardized:
            level -= coef[j] * (centre[j] + high[d, j] / n)
    return level, present - (d - independent) if asked.penalty == 0.0 else -1


@numba.njit(**INNER)
def clear_system(s: PreciseSystem, total: Vector) -> None:
    """Overwrite what a solution left."""
    fill(s.scratch, 0.0)
    fill(total, 0.0)


@numba.njit(**INNER)
def eliminate_mean(total: Vector, d: int) -> bool:
    """The Gram matrix around the mean: A_ij - A_id A_dj / A_dd. Row d, the sums, is kept.

    False where the mean of a feature is so far from the centre that digits are missing.
    """
    q, w = d + 2, padded_columns(d + 2)
    high, low = take(total, 0, q, w), take(total, q * w, q, w)
    n, rest, far = high[d, d], low[d, d], 0
    for i in range(q):
        if i == d:
            continue
        first, lack = (high[d, i], low[d, i]) if i < d else (high[i, d], low[i, d])
        mean, lack = over(first, lack, n)
        mean, lack = plus(mean, lack, -mean * rest / n, 0.0)
        for j in range(min(i + 1, d)):
            product, error = two_product(mean, high[d, j])
            error += mean * low[d, j] + lack * high[d, j]
            high[i, j], low[i, j] = plus(high[i, j], low[i, j], -product, -error)
        if i > d:
            product, error = times(mean, lack, high[i, d], low[i, d])
            high[i, i], low[i, i] = plus(high[i, i], low[i, i], -product, -error)
    for j in range(d):
        far += high[d, j] * high[d, j] > _FAR * n * high[j, j]
    return far == 0


@numba.njit(**INNER)
def set_metric(s: PreciseSystem, high: Matrix, centre: Vector, asked: Window) -> bool:
    """Which features have spread, and their deviations; False where only the rows can tell."""
    d = s.theta.size
    n = high[d, d]
    for j in range(d):
        square = high[j, j]
        s.metric[j] = 1.0
        if asked.intercept or asked.standardized:
            mean = abs(centre[j]) + abs(high[d, j]) / n
            share = asked.rows * EPS if asked.standardized or asked.halved else _DUST
            limit = n * (share * mean) ** 2
            if square <= limit / _DOUBT or square == 0.0:
                s.metric[j] = 0.0
            elif square <= limit * _DOUBT:
                return False
        elif square == 0.0:
            s.metric[j] = 0.0
        if s.metric[j] != 0.0:
            if not _LEAST_SQUARE < square < np.inf:
                return False
            if asked.standardized:
                s.metric[j] = 1.0 / np.sqrt(square / n)
            elif asked.halved:
                s.metric[j] = 1.0 / np.sqrt(np.sqrt(square / n))
    return n > 0.0 and high[d + 1, d + 1] < np.inf


@numba.njit(**INNER)
def _set_system(s: PreciseSystem, high: Matrix, low: Matrix, asked: Window) -> None:
    """The matrix with its penalty and the target, at a common scale."""
    d, w, metric, unit, penalty = s.theta.size, s.high.shape[1], s.metric, s.unit, asked.penalty
    scaled = asked.standardized or asked.halved
    for j in range(d):
        square = high[j, j] * metric[j] * metric[j] + penalty
        unit[j] = math.ldexp(1.0, -(math.frexp(square)[1] // 2)) if square > 0.0 else 1.0
        s.row[j] = unit[j] * (1.0 if scaled else metric[j])
    for i in range(d):
        if scaled:
            _scale(high[i], low[i], metric[i], part(metric, 0, i + 1))
        _set_scaled(high[i], low[i], s.row[i], part(s.row, 0, i + 1), s.high[i], s.low[i])
        share, less = two_product(penalty * unit[i], unit[i])
        s.high[i, i], s.low[i, i] = plus(s.high[i, i], s.low[i, i], share, less)
        if s.high[i, i] == 0.0:
            s.high[i, i] = 1.0  # without spread: the coefficient is 0
        for j in range(i):
            s.high[j, i], s.low[j, i] = s.high[i, j], s.low[i, j]
    if scaled:
        _scale(high[d + 1], low[d + 1], 1.0, metric)
    _set_scaled(high[d + 1], low[d + 1], 1.0, s.row, s.target, part(s.target, w, 2 * w))


@numba.njit(**INNER)
def _scale(high: Vector, low: Vector, factor: float, metric: Vector) -> None:
    """(high, low) *= factor metric."""
    for j in range(metric.size):
        product, rest = two_product(factor, metric[j])
        high[j], low[j] = times(high[j], low[j], product, rest)


@numba.njit(**INNER)
def _set_scaled(
    high: Vector, low: Vector, unit: float, units: Vector, out: Vector, rest: Vector
) -> None:
    """out + rest <- (high + low) unit units, for powers of two: nothing is rounded."""
    for j in range(units.size):
        out[j] = high[j] * (unit * units[j])
        rest[j] = low[j] * (unit * units[j])


@numba.njit(**INNER)
def _factorise(s: PreciseSystem) -> int:
    """Factorise in float64, for ``dense.solve``; return how many features are independent.

    The others get zeros in the factor, so that a solution has zeros in their place.
    """
    a, row, d, independent = s.factor, s.row, s.theta.size, 0
    pivots = s.step
    for p in range(d):
        rest = part(row, p, d)
        copy(part(s.high[p], p, d), rest)
        for k in range(0, p - p % _ABREAST, _ABREAST):
            _subtract_rows(pivots, a, k, p, rest)
        for k in range(p - p % _ABREAST, p):
            add_row(-pivots[k] * a[k, p], part(a[k], p, d), rest)
        pivot = rest[0]
        aside = not pivot > _INDEPENDENT * s.high[p, p]
        independent += not aside
        pivots[p] = 0.0 if aside else pivot
        inverse = 0.0 if aside else 1.0 / pivot
        for i in range(p + 1, d):
            a[p, i] = row[i] * inverse
        a[p, p] = inverse
    return independent


@numba.njit(**INNER, fastmath=FAST)
def _subtract_rows(pivots: Vector, a: Matrix, k: int, p: int, out: Vector) -> None:
    """Subtract multiples of _ABREAST rows of the factor from what is left of row p."""
    d = a.shape[1]
    first, second, third, fourth = (
        part(a[k], p, d),
        part(a[k + 1], p, d),
        part(a[k + 2], p, d),
        part(a[k + 3], p, d),
    )
    one, two = pivots[k] * first[0], pivots[k + 1] * second[0]
    three, four = pivots[k + 2] * third[0], pivots[k + 3] * fourth[0]
    for j in range(out.size):
        left, right = one * first[j] + two * second[j], three * third[j] + four * fourth[j]
        out[j] -= left + right


@numba.njit(**INNER)
def _set_residual(s: PreciseSystem, targeted: bool) -> None:
    """residual <- target - matrix theta, or minus matrix theta; the high part is all of it."""
    d, w, residual, theta = s.theta.size, s.high.shape[1], s.residual, s.theta
    if targeted:
        copy(s.target, residual)
    else:
        fill(residual, 0.0)
    for j in range(d):
        s.high[j, d] = -theta[j]
    for j in range(0, d, LANES):
        add_exact_products(s.high, residual, j, w + j, j, d, w, d)
    rest = part(residual, w, w + d)
    for j in range(d):
        add_row(-theta[j], part(s.low[j], 0, d), rest)
    for j in range(d):
        residual[j] += rest[j]


@numba.njit(**INNER)
def _refine(s: PreciseSystem, residual: Vector, targeted: bool) -> bool:
    """Correct theta until it no longer changes; False if that does not converge.

    ``residual`` is the first one, in float64.
    """
    theta, step, d, before = s.theta, s.step, s.theta.size, 1.0
    for i in range(_MOST_STEPS):
        if i == 0:
            copy(residual, step)
        else:
            _set_residual(s, targeted)
            copy(part(s.residual, 0, d), step)
        solve(s.factor, step)
        largest, extent = 0.0, 0.0
        for j in range(d):
            largest = max(largest, abs(step[j]))
            theta[j] += step[j]
            extent = max(extent, abs(theta[j]))
        if not extent < np.inf:
            return False
        if largest == 0.0 or (i > 0 and largest * (largest / before) <= EPS * extent):
            return True  # a next step would be as much smaller as this one was
        if i > 0 and largest > 0.25 * before:
            return False
        before = largest
    return False


@numba.njit(**INNER)
def _without_null_part(s: PreciseSystem, asked: Window, coef: Vector, count: int) -> bool:
    """Subtract from a solution its part in the null directions; False if one is not certain."""
    d, found = coef.size, 0
    if asked.penalty > 0.0:
        return False
    for f in range(d):
        if s.factor[f, f] != 0.0:
            continue
        fill(s.theta, 0.0)
        s.theta[f] = -1.0
        if not _refine(s, part(s.high[f], 0, d), False):
            return False
        _set_residual(s, False)
        least = EPS * max(asked.rows, d)
        # The squared length of the rows times theta: errors of theta enter it squared.
        length = abs(dot(s.theta, part(s.residual, 0, d)))
        if not length <= least * least * dot(s.theta, s.theta):
            return False
        for j in range(d):
            s.null[found, j] = s.theta[j] * s.unit[j]
        found += 1
    _orthonormalise(part(s.null, 0, count))
    for j in range(d):
        s.step[j] = coef[j] * s.unit[j]
    for _ in range(2):
        for i in range(count):
            add_row(-dot(s.null[i], s.step), s.null[i], s.step)
    for j in range(d):
        coef[j] = s.step[j] / s.unit[j]
    return True


@numba.njit(**INNER)
def _is_lopsided(s: PreciseSystem, high: Matrix) -> bool:
    """Is a feature with spread so much shorter than another that the rank depends on units?"""
    smallest, largest = np.inf, 0.0
    for j in range(s.theta.size):
        if s.metric[j] != 0.0:
            square = high[j, j] * s.metric[j] * s.metric[j]
            smallest, largest = min(smallest, square), max(largest, square)
    return smallest < _LOPSIDED * largest


@numba.njit(**INNER)
def _orthonormalise(rows: Matrix) -> None:
    """Gram-Schmidt, twice for each row."""
    for i in range(rows.shape[0]):
        for _ in range(2):
            for k in range(i):
                add_row(-dot(rows[k], rows[i]), rows[k], rows[i])
        length = np.sqrt(dot(rows[i], rows[i]))
        for j in range(rows.shape[1]):
            rows[i, j] /= length


@numba.njit(**INNER)
def inverse_trace(s: PreciseSystem) -> float:
    """The trace of the inverse of the matrix as it was before it was scaled; the rank is full."""
    total = 0.0
    for i in range(s.theta.size):
        if s.metric[i] != 0.0:
            total += s.unit[i] * s.unit[i] * inverse_entry(s.factor, s.row, i)
    return total


@numba.njit(**INNER)
def unexplained_square(s: PreciseSystem, square: float, rest: float) -> float:
    """square + rest - target'theta, in double-double arithmetic."""
    w = s.high.shape[1]
    for j in range(s.theta.size):
        product, error = two_product(-s.target[j], s.theta[j])
        square, rest = plus(square, rest, product, error - s.target[w + j] * s.theta[j])
    return two_sum(square, rest)[0]

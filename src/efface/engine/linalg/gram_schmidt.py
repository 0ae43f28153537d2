"""Least squares from the rows themselves by orthogonalisation, for windows close to singular.

The columns of a window are those of A: the constant, if there is an intercept, then the features
measured from a centre, then the response; all multiplied by the square roots of the weights.
Modified Gram-Schmidt gives A = Q R. Its R has the relative error EPS cond(A), where the normal
equations have EPS cond(A)^2, and does not depend on the units of the features. The condition number
is that of the columns at unit length.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from efface.engine.jit.compilation import FAST, INNER, KERNEL, carving, shared
from efface.engine.jit.views import ROOT, VALUE, WEIGHT, Matrix, Responses, Vector, part, take
from efface.engine.linalg.dense import EPS, add_row, copy, dot, fill, invert_upper
from efface.engine.linalg.double_double import two_product, two_sum

_DOUBT = 64.0  # by this factor, a condition number must be below the largest that shows full rank
_ROUNDING = 16.0 * EPS  # deviations below this share of the mean may be rounding
_MOST_STEPS = 8


class Factor(NamedTuple):
    """The columns of a window and their factor; p = d features (+ 1 with an intercept)."""

    columns: Matrix  # (p + 1, n): A, then Q
    r: Matrix  # (p + 1, p + 1): R, the upper triangle
    inverse: Matrix  # (p, p): the inverse of R without the response, the upper triangle
    centre: Vector  # (d + 1,): the origin of the features and of the response


@carving
def lay_out_factor(store: Vector, at: int, d: int, p: int, n: int) -> tuple[Factor, int]:
    """The factor of n rows that lies in a flat array, and the offset behind it."""
    r = at + (p + 1) * n
    inverse = r + (p + 1) * (p + 1)
    centre = inverse + p * p
    factor = Factor(
        take(store, at, p + 1, n),
        take(store, r, p + 1, p + 1),
        take(store, inverse, p, p),
        part(store, centre, centre + d + 1),
    )
    return factor, centre + d + 1


@numba.njit(**INNER)
def place_columns(f: Factor, x: Matrix, y: Responses, intercept: bool) -> None:
    """Copy the rows to the columns, measured from a centre if there is an intercept.

    Without weights nothing is rounded: the centre is the mean where all values are so near to it
    that differences are exact (Sterbenz), else 0.
    """
    n, d, first, total = x.shape[0], x.shape[1], 1 if intercept else 0, 0.0
    fill(f.centre, 0.0)
    for i in range(n):
        total += y[i, WEIGHT]
    total = total if total > 0.0 else 1.0  # without weight, all columns become zeros
    for i in range(n if intercept else 0):
        add_row(y[i, WEIGHT] / total, x[i], part(f.centre, 0, d))
        f.centre[d] += y[i, WEIGHT] / total * y[i, VALUE]
        f.columns[0, i] = y[i, ROOT]
    for j in range(d):
        column = f.columns[first + j]
        for i in range(n):
            column[i] = x[i, j]
        f.centre[j] = _centre(column, y, f.centre[j])
    column = f.columns[first + d]
    for i in range(n):
        column[i] = y[i, VALUE]
    f.centre[d] = _centre(column, y, f.centre[d])


@numba.njit(**INNER)
def _centre(column: Vector, y: Responses, mean: float) -> float:
    """Measure a column from its centre, which is returned, and multiply by the root weights.

    A column that is constant up to rounding becomes zeros; without an intercept the mean is 0.
    """
    near, varies, base = True, mean == 0.0, np.nan
    for i in range(column.size):
        if y[i, WEIGHT] > 0.0:
            # From a value, not from the mean: the rounding error of a mean grows with the rows.
            base = column[i] if np.isnan(base) else base
            near = near and abs(column[i] - mean) <= 0.5 * abs(mean)
            varies = varies or abs(column[i] - base) > _ROUNDING * abs(mean)
    centre = mean if near else 0.0
    for i in range(column.size):
        column[i] = y[i, ROOT] * (column[i] - centre) if varies else 0.0
    return centre


@numba.njit(**INNER)
def orthogonalise(f: Factor) -> bool:
    """R and its inverse, by modified Gram-Schmidt; False where a column is not independent."""
    p, r = f.inverse.shape[0], f.r
    for i in range(p + 1):
        column = f.columns[i]
        r[i, i] = np.sqrt(dot(column, column))
        if i == p:
            break
        if not (r[i, i] > 0.0 and r[i, i] < np.inf):
            return False
        _divide(column, r[i, i])
        for k in range(i + 1, p + 1):
            other = f.columns[k]
            r[i, k] = dot(column, other)
            add_row(-r[i, k], column, other)
    invert_upper(r, f.inverse)
    return True


@numba.njit(**INNER, fastmath=FAST)
def _divide(column: Vector, by: float) -> None:
    for i in range(column.size):
        column[i] /= by


@shared()
def inverse_diagonal(f: Factor, j: int) -> float:
    """(A'A)^-1_jj."""
    p = f.inverse.shape[0]
    return dot(part(f.inverse[j], j, p), part(f.inverse[j], j, p))


@numba.njit(**INNER)
def condition(f: Factor, intercept: bool) -> float:
    """An upper bound of the inverse of the smallest singular value, with columns of unit length.

    (A'A)^-1_jj |A_j|^2 is 1 / (1 - R^2) of a column on all others. The root of their sum is the
    bound. With an intercept the columns are the features around their mean.
    """
    p, first, total = f.inverse.shape[0], 1 if intercept else 0, 0.0
    for j in range(first, p):
        square = 0.0
        for i in range(first, j + 1):
            square += f.r[i, j] ** 2
        total += square * inverse_diagonal(f, j)
    return np.sqrt(total)


@numba.njit(**INNER)
def has_full_rank(f: Factor, intercept: bool, n: int) -> bool:
    """Whether the features have full rank for certain, around their mean with an intercept."""
    return condition(f, intercept) * (_DOUBT * EPS * max(n, f.inverse.shape[0])) < 1.0


@numba.njit(**INNER)
def origin_variance(f: Factor) -> float:
    """u' (A'A)^-1 u for the row of zeros, u = (1, -centre)."""
    p, value = f.inverse.shape[0], 0.0
    for k in range(p):
        entry = f.inverse[0, k]
        for i in range(1, k + 1):
            entry -= f.centre[i - 1] * f.inverse[i, k]
        value += entry * entry
    return value


@numba.njit(**INNER)
def squared_residuals(x: Matrix, y: Responses, coef: Vector, level: float, centred: bool) -> float:
    """The weighted sum of squared residuals, each computed in double-double arithmetic.

    An error of the coefficients enters by its square. With an intercept, which may be large and
    have lost digits, residuals are taken around their mean.
    """
    squares, linear, weight = 0.0, 0.0, 0.0
    for i in range(y.shape[0]):
        high, low = two_sum(y[i, VALUE], -level)
        for j in range(coef.size):
            product, error = two_product(-x[i, j], coef[j])
            high, lost = two_sum(high, product)
            low += error + lost
        residual = high + low
        weight += y[i, WEIGHT]
        linear += y[i, WEIGHT] * residual
        squares += y[i, WEIGHT] * (residual * residual)
    return squares - linear * (linear / weight) if centred else squares


class Solution(NamedTuple):
    """Unknowns of a window, and what their refinement needs; residuals as high + low."""

    columns: Matrix  # (p + 1, n): A
    residual: Matrix  # (2, n)
    theta: Vector  # (p,)
    step: Vector  # (p,)


@carving
def lay_out_solution(store: Vector, at: int, p: int, n: int) -> tuple[Solution, int]:
    """The solution of n rows that lies in a flat array, and the offset behind it."""
    residual = at + (p + 1) * n
    theta = residual + 2 * n
    solution = Solution(
        take(store, at, p + 1, n),
        take(store, residual, 2, n),
        part(store, theta, theta + p),
        part(store, theta + p, theta + 2 * p),
    )
    return solution, theta + 2 * p


@numba.njit(**KERNEL, nogil=True)
def refit_full_rank(x: Matrix, y: Responses, intercept: bool, coef: Vector, store: Vector) -> float:
    """Write the coefficients of the rows; return the intercept, NaN where full rank is uncertain.

    ``store`` has room for a factor and a solution.
    """
    (n, d), first = x.shape, 1 if intercept else 0
    f, end = lay_out_factor(store, 0, d, d + first, n)
    s = lay_out_solution(store, end, d + first, n)[0]
    place_columns(f, x, y, intercept)
    copy(take(f.columns, 0, 1, f.columns.size)[0], take(s.columns, 0, 1, f.columns.size)[0])
    if not (orthogonalise(f) and has_full_rank(f, intercept, n) and _refine(f, s, intercept)):
        return np.nan
    copy(part(s.theta, first, d + first), coef)
    return f.centre[d] + s.theta[0] - dot(part(f.centre, 0, d), coef) if intercept else 0.0


@numba.njit(**INNER)
def _refine(f: Factor, s: Solution, intercept: bool) -> bool:
    """theta from R, refined by double-double residuals; False if it does not converge.

    A step reduces the error by the factor ``gain``, or more.
    """
    p, gain, before = s.theta.size, 8.0 * EPS * s.theta.size * condition(f, intercept), np.inf
    for i in range(p):
        s.theta[i] = f.r[i, p]
    _substitute_back(f.r, s.theta)
    for _ in range(_MOST_STEPS):
        _set_residuals(s)
        _set_gradient(s)
        _substitute_forward(f.r, s.step)
        _substitute_back(f.r, s.step)
        largest, size = 0.0, 0.0
        for j in range(p):
            # In units of each coefficient's standard error: features may differ in scale.
            unit = 1.0 / np.sqrt(inverse_diagonal(f, j))
            largest = max(largest, abs(s.step[j]) * unit)
            size = max(size, abs(s.theta[j]) * unit)
        if not largest <= 0.5 * before:
            return largest <= 1e-10 * size
        add_row(1.0, s.step, s.theta)
        if largest * max(gain, EPS) <= EPS * size or largest <= 4.0 * EPS * size:
            return True
        before = largest
    return True


@numba.njit(**INNER)
def _substitute_back(r: Matrix, b: Vector) -> None:
    """b <- R^-1 b."""
    for i in range(b.size - 1, -1, -1):
        rest = part(r[i], i + 1, b.size)
        b[i] = (b[i] - dot(rest, part(b, i + 1, b.size))) / r[i, i]


@numba.njit(**INNER)
def _substitute_forward(r: Matrix, b: Vector) -> None:
    """b <- R'^-1 b."""
    for i in range(b.size):
        b[i] /= r[i, i]
        add_row(-b[i], part(r[i], i + 1, b.size), part(b, i + 1, b.size))


@numba.njit(**INNER)
def _set_residuals(s: Solution) -> None:
    """The response minus the columns times theta, in double-double arithmetic."""
    p, high, low = s.theta.size, s.residual[0], s.residual[1]
    copy(s.columns[p], high)
    fill(low, 0.0)
    for j in range(p):
        for i in range(high.size):
            product, error = two_product(-s.columns[j, i], s.theta[j])
            high[i], lost = two_sum(high[i], product)
            low[i] += error + lost


@numba.njit(**INNER)
def _set_gradient(s: Solution) -> None:
    """step <- A' residual, in double-double arithmetic."""
    high, low = s.residual[0], s.residual[1]
    for j in range(s.theta.size):
        column, total, rest = s.columns[j], 0.0, 0.0
        for i in range(column.size):
            product, error = two_product(column[i], high[i])
            total, lost = two_sum(total, product)
            rest += error + lost + column[i] * low[i]
        s.step[j] = total + rest

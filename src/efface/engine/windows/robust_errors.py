"""Robust variances of the coefficients of every least-squares window: HC0 to HC3, and HAC.

With A = Q R the columns of a window, the influence of its rows on the coefficients is R^-1 Q'. The
variance of a coefficient is the sum of squares of influence times residual. HC1 to HC3 scale the
residuals (MacKinnon and White 1985). HAC adds products of neighbouring rows (Newey and West 1987).
Each window is factorised from its own rows: O(n d^2) per window of n rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from efface.engine.jit.compilation import FAST, INNER, KERNEL
from efface.engine.jit.records import words
from efface.engine.jit.views import WEIGHT, Ints, Matrix, Responses, Vector, part, weighed
from efface.engine.linalg.dense import EPS, add_row, dot
from efface.engine.linalg.gram_schmidt import Factor, lay_out_factor, orthogonalise, place_columns
from efface.engine.windows.constants import constant_as_intercept

HC0, HC1, HC2, HC3, HAC = range(5)


class RobustErrors(NamedTuple):
    """Which variances; ``lags`` is for HAC, and -1 stands for floor(4 (n / 100)^(2/9))."""

    kind: int
    lags: int = -1


class RobustVariances(NamedTuple):
    """Variances of the window that ends at each row; NaN where there are none."""

    variance: Matrix  # (n, d): of each coefficient
    base: Vector  # (n,): of the intercept


def robust_variances(
    x: Matrix,
    y: Vector,
    starts: Ints,
    ends: Ints,
    intercept: bool,
    errors: RobustErrors,
    weights: Vector | None = None,
) -> RobustVariances:
    """Variances of the windows that end at the rows ``ends``, which have full rank.

    >>> x, y = np.ones((4, 1)), np.array([1.0, 2.0, 3.0, 6.0])
    >>> found = robust_variances(x, y, np.zeros(4, int), np.array([3]), False, RobustErrors(HC0))
    >>> found.variance[3] == ((y - 3.0) ** 2).sum() / 16
    array([ True])
    """
    design = constant_as_intercept(x, intercept)
    n, d = design.x.shape
    found = RobustVariances(np.full((n, d), np.nan), np.full(n, np.nan))
    longest = int((ends + 1 - starts[ends]).max(initial=1))
    store = np.empty(words(lay_out_factor, d, d + int(design.intercept), longest))
    responses = weighed(y, weights)
    _fill(design.x, responses, starts, ends, design.intercept, errors, found, store)
    return RobustVariances(*design.restored_variances(*found))


@numba.njit(**KERNEL, nogil=True)
def _fill(
    x: Matrix,
    y: Responses,
    starts: Ints,
    ends: Ints,
    intercept: bool,
    errors: RobustErrors,
    found: RobustVariances,
    store: Vector,
) -> None:
    d, first = x.shape[1], 1 if intercept else 0
    for e in range(ends.size):
        t = ends[e]
        rows, responses = part(x, starts[t], t + 1), part(y, starts[t], t + 1)
        f = lay_out_factor(store, 0, d, d + first, t + 1 - starts[t])[0]
        place_columns(f, rows, responses, intercept)
        if not orthogonalise(f):
            continue
        _scale_residuals(f, responses, errors.kind)
        count = _newey_west_lags(rows.shape[0], errors.lags) if errors.kind == HAC else 0
        for j in range(first + d):
            _influence(f, j)
        for j in range(d):
            found.variance[t, j] = _long_run(f.columns[first + j], count)
            if intercept:  # the intercept is the prediction at 0, not at the centre
                add_row(-f.centre[j], f.columns[first + j], f.columns[0])
        found.base[t] = _long_run(f.columns[0], count) if intercept else 0.0


@numba.njit(**INNER)
def _newey_west_lags(n: int, lags: int) -> int:
    """The number of lags; by default the rule of statsmodels."""
    return int(np.floor(4.0 * (n / 100.0) ** (2.0 / 9.0))) if lags < 0 else lags


@numba.njit(**INNER)
def _scale_residuals(f: Factor, y: Responses, kind: int) -> None:
    """Multiply the residuals by what HC1 to HC3 ask for; the columns are those of Q."""
    p, residual = f.inverse.shape[0], f.columns[f.inverse.shape[0]]
    if kind == HC1:
        count = 0
        for i in range(residual.size):
            count += y[i, WEIGHT] > 0.0
        scale = np.sqrt(count / (count - p)) if count > p else np.nan
        for i in range(residual.size):
            residual[i] *= scale
    elif kind in (HC2, HC3):
        for i in range(residual.size):
            rest = 1.0  # 1 - leverage
            for k in range(p):
                rest -= f.columns[k, i] * f.columns[k, i]
            if not rest > 64.0 * EPS * p:  # the row alone determines a coefficient
                residual[i] = np.nan
            elif kind == HC2:
                residual[i] /= np.sqrt(rest)
            else:
                residual[i] /= rest


@numba.njit(**INNER, fastmath=FAST)
def _influence(f: Factor, j: int) -> None:
    """Column j <- row j of R^-1 Q' times the residuals; later columns are still those of Q."""
    p, column, residual = f.inverse.shape[0], f.columns[j], f.columns[f.inverse.shape[0]]
    scale = f.inverse[j, j]
    for i in range(column.size):
        column[i] *= scale
    for k in range(j + 1, p):
        add_row(f.inverse[j, k], f.columns[k], column)
    for i in range(column.size):
        column[i] *= residual[i]


@numba.njit(**INNER)
def _long_run(values: Vector, lags: int) -> float:
    """The sum of squares, plus products with earlier values under Bartlett weights."""
    n, total = values.size, dot(values, values)
    for lag in range(1, min(lags, n - 1) + 1):
        product = dot(part(values, lag, n), part(values, 0, n - lag))
        total += 2.0 * (1.0 - lag / (lags + 1.0)) * product
    return total

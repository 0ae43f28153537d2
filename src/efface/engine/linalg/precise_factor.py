"""The triangular factor of a window's rows, from their Gram matrix in double-double precision.

A Gram matrix G = R'R that is known to 32 digits gives R as well as the rows themselves would by
orthogonalisation: a relative error of 1e-32 in G changes singular values of the rows by 1e-16 of
the largest. So what a window of any length needs from its rows, it can take from R.
"""

from __future__ import annotations

import math

import numba

from efface.engine.jit.compilation import INNER
from efface.engine.jit.views import Matrix, Vector, part, take
from efface.engine.linalg.dense import add_row, dot, fill
from efface.engine.linalg.double_double import over, plus, two_product, two_sum
from efface.engine.linalg.exact_products import padded_columns
from efface.engine.linalg.precise_solve import (
    OFF_CENTRE,
    UNSOLVED,
    PreciseSystem,
    Window,
    eliminate_mean,
    off_centre,
    set_metric,
)

LEFT, AROUND = range(2)  # places in ``residual``: what R leaves of the responses; their squares
LEAST_LEFT = 1e-20  # of AROUND: with less, LEFT has lost too many digits
_NOTHING = 1e-28  # of the square of a feature: what is left is rounding


@numba.njit(**INNER)
def factorise_precisely(
    s: PreciseSystem, total: Vector, centre: Vector, asked: Window, settled: bool
) -> int:
    """factor <- R of the features, target <- Q'y; return the rank, or UNSOLVED, or OFF_CENTRE.

    ``total``, ``centre`` and ``settled`` are those of ``solve_precisely``. A feature that is
    dependent on those before it has zeros in its row of R; one without spread in its column, too.
    With a penalty, R is that of the rows and of one more row per feature. Then ``residual`` has
    LEFT, the squares that the features leave of the responses, and AROUND, all squares.
    """
    d = s.theta.size
    q, w = d + 2, padded_columns(d + 2)
    high, low = take(total, 0, q, w), take(total, q * w, q, w)
    if asked.intercept or asked.standardized:
        eliminate_mean(high, low, d)
        if not settled and off_centre(high, d):
            return OFF_CENTRE
    if not set_metric(s, high, centre, asked):
        return UNSOLVED
    s.residual[AROUND] = high[d + 1, d + 1]
    if asked.penalty > 0.0:
        for j in range(d):
            if s.metric[j] != 0.0:
                share = asked.penalty / (s.metric[j] * s.metric[j])
                high[j, j], low[j, j] = plus(high[j, j], low[j, j], share, 0.0)
    rank = _eliminate(s, high, low)
    s.residual[LEFT] = max(high[d + 1, d + 1] + low[d + 1, d + 1], 0.0)
    return rank


@numba.njit(**INNER)
def _eliminate(s: PreciseSystem, high: Matrix, low: Matrix) -> int:
    """Gaussian elimination of the features, one after the other; the rank."""
    d, rank, r = s.theta.size, 0, s.factor
    for j in range(d):
        s.unit[j] = _NOTHING * high[j, j]
    for p in range(d):
        fill(r[p], 0.0)
        s.target[p] = 0.0
        pivot, rest = two_sum(high[p, p], low[p, p])
        if s.metric[p] == 0.0 or not pivot > s.unit[p]:
            continue
        rank += 1
        root = math.sqrt(pivot)
        r[p, p] = root
        for i in range(p + 1, d):
            s.theta[i], s.step[i] = two_sum(high[i, p], low[i, p])
            if s.metric[i] != 0.0:
                r[p, i] = s.theta[i] / root
        for i in range(p + 1, d):
            factor, less = _ratio(s.theta[i], s.step[i], pivot, rest)
            _subtract(
                factor,
                less,
                part(s.theta, p + 1, i + 1),
                part(s.step, p + 1, i + 1),
                part(high[i], p + 1, i + 1),
                part(low[i], p + 1, i + 1),
            )
        first, lack = two_sum(high[d + 1, p], low[d + 1, p])
        s.target[p] = first / root
        factor, less = _ratio(first, lack, pivot, rest)
        _subtract(
            factor,
            less,
            part(s.theta, p + 1, d),
            part(s.step, p + 1, d),
            part(high[d + 1], p + 1, d),
            part(low[d + 1], p + 1, d),
        )
        product, error = two_product(-factor, first)
        error -= factor * lack + less * first
        square = plus(high[d + 1, d + 1], low[d + 1, d + 1], product, error)
        high[d + 1, d + 1], low[d + 1, d + 1] = square
    return rank


@numba.njit(**INNER)
def _ratio(high: float, low: float, pivot: float, rest: float) -> tuple[float, float]:
    """(high + low) / (pivot + rest)."""
    quotient, less = over(high, low, pivot)
    return plus(quotient, less, -quotient * rest / pivot, 0.0)


@numba.njit(**INNER)
def _subtract(
    factor: float, less: float, column: Vector, lack: Vector, high: Vector, low: Vector
) -> None:
    """high + low -= (factor + less) (column + lack)."""
    for j in range(high.size):
        product, error = two_product(factor, column[j])
        high[j], lost = two_sum(high[j], -product)
        low[j] += lost - (error + (factor * lack[j] + less * column[j]))


@numba.njit(**INNER)
def invert_factor(s: PreciseSystem) -> None:
    """null <- the inverse of R, which has full rank."""
    r, out, d = s.factor, s.null, s.theta.size
    fill(out, 0.0)
    for i in range(d - 1, -1, -1):
        out[i, i] = 1.0
        for k in range(i + 1, d):
            add_row(-r[i, k], part(out[k], k, d), part(out[i], k, d))
        inverse = 1.0 / r[i, i]
        for k in range(i, d):
            out[i, k] *= inverse


@numba.njit(**INNER)
def divided_square(s: PreciseSystem, u: Vector) -> float:
    """|R'^-1 u|^2, for the inverse of R in ``null``."""
    d = u.size
    fill(s.theta, 0.0)
    for i in range(d):
        add_row(u[i], part(s.null[i], i, d), part(s.theta, i, d))
    return dot(s.theta, s.theta)

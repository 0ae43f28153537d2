"""The triangular factor of a window's rows, from their Gram matrix in double-double precision.

A Gram matrix G = R'R that is known to 32 digits gives R as well as the rows themselves would by
orthogonalisation: a relative error of 1e-32 in G changes singular values of the rows by 1e-16 of
the largest. So what a window of any length needs from its rows, it can take from R.
"""

from __future__ import annotations

import math

import numba

from efface.engine.jit.compilation import INNER, carving
from efface.engine.jit.simd import LANES
from efface.engine.jit.views import Matrix, Vector, part, take
from efface.engine.linalg.dense import add_row, dot, fill
from efface.engine.linalg.double_double import over, plus, times, two_sum
from efface.engine.linalg.exact_products import add_precise_products, padded_columns
from efface.engine.linalg.precise_solve import UNSOLVED, PreciseSystem, Window, set_metric

LEFT, AROUND = range(2)  # places in ``residual``: what R leaves of the responses; their squares
LEAST_LEFT = 1e-20  # of AROUND: with less, LEFT has lost too many digits
_NOTHING = 1e-28  # of the square of a feature: what is left is rounding


@numba.njit(**INNER)
def factorise_precisely(s: PreciseSystem, total: Vector, centre: Vector, asked: Window) -> int:
    """factor <- R of the features, target <- Q'y; return the rank, or UNSOLVED.

    ``total`` and ``centre`` are those of ``solve_precisely``. A feature that is dependent on those
    before it has zeros in its row of R; one without spread in its column, too.
    With a penalty, R is that of the rows and of one more row per feature. Then ``residual`` has
    LEFT, the squares that the features leave of the responses, and AROUND, all squares.
    """
    d = s.theta.size
    q, w = d + 2, padded_columns(d + 2)
    high, low = take(total, 0, q, w), take(total, q * w, q, w)
    if not set_metric(s, high, centre, asked):
        return UNSOLVED
    _place(s, high, low, asked.penalty)
    rank = _eliminate(s)
    _set_factor(s, high, low)
    return rank


@numba.njit(**INNER)
def _place(s: PreciseSystem, high: Matrix, low: Matrix, penalty: float) -> None:
    """The upper triangle of the Gram matrix, and the response in column d."""
    d = s.theta.size
    for p in range(d):
        fill(s.high[p], 0.0)
        fill(s.low[p], 0.0)
        for i in range(p, d):
            s.high[p, i], s.low[p, i] = high[i, p], low[i, p]
        s.high[p, d], s.low[p, d] = high[d + 1, p], low[d + 1, p]
        if penalty > 0.0 and s.metric[p] != 0.0:
            share = penalty / (s.metric[p] * s.metric[p])
            s.high[p, p], s.low[p, p] = plus(high[p, p], low[p, p], share, 0.0)


@numba.njit(**INNER)
def _eliminate(s: PreciseSystem) -> int:
    """A = L D U, row by row, with U in the place of D U; the rank.

    Minus L' is kept until the end in ``null``, and what it lacks in ``factor``.
    """
    d, w, rank = s.theta.size, s.high.shape[1], 0
    more, less = _offsets(d, w)
    for p in range(d):
        nothing = _NOTHING * s.high[p, p]
        for j in range(p - p % LANES, w, LANES):
            add_precise_products(s.scratch, p * w + j, j, d * w, w, more + p, less + p, d, p)
        pivot, rest = s.high[p, p], s.low[p, p]
        if s.metric[p] == 0.0 or not pivot > nothing:
            s.high[p, p] = 0.0  # set aside
            fill(s.null[p], 0.0)
            fill(s.factor[p], 0.0)
            continue
        rank += 1
        inverse, lack = over(1.0, 0.0, pivot)
        inverse, lack = two_sum(inverse, lack - inverse * inverse * rest)
        for j in range(p, d):
            s.null[p, j], s.factor[p, j] = times(-inverse, -lack, s.high[p, j], s.low[p, j])
    return rank


@carving
def _offsets(d: int, w: int) -> tuple[int, int]:
    """Where ``null`` and ``factor`` begin in the scratch of a system."""
    return 2 * d * w + 4 * w + d * d, 2 * d * w + 4 * w


@numba.njit(**INNER)
def _set_factor(s: PreciseSystem, high: Matrix, low: Matrix) -> None:
    """R and Q'y from D U, and what they leave of the responses."""
    d = s.theta.size
    square, rest = high[d + 1, d + 1], low[d + 1, d + 1]
    s.residual[AROUND] = square
    for p in range(d):
        fill(s.factor[p], 0.0)
        s.target[p], pivot = 0.0, s.high[p, p]
        if pivot == 0.0:
            continue
        root = math.sqrt(pivot)
        for i in range(p, d):
            if s.metric[i] != 0.0:
                s.factor[p, i] = s.high[p, i] / root
        first, lack = s.high[p, d], s.low[p, d]
        s.target[p] = first / root
        share, less = over(first, lack, pivot)
        share, less = plus(share, less, -share * s.low[p, p] / pivot, 0.0)
        product, error = times(share, less, first, lack)
        square, rest = plus(square, rest, -product, -error)
    s.residual[LEFT] = max(square + rest, 0.0)


@numba.njit(**INNER)
def divided_square(s: PreciseSystem, u: Vector) -> float:
    """|R'^-1 u|^2, for the inverse of R in ``null``: see ``dense.invert_upper``."""
    d = u.size
    fill(s.theta, 0.0)
    for i in range(d):
        add_row(u[i], part(s.null[i], i, d), part(s.theta, i, d))
    return dot(s.theta, s.theta)

"""How much is left of the terms that coefficients are sums of: of their rounding, all is.

Coefficients are those of a core plus w_i Z_i for every row outside it (see ``core``); with an
intercept in the dual form, less as much for ones, times a slope. The terms cancel where a row
undoes what the others say: one far heavier or larger than they, or, with an intercept, one that
takes the mean far from the centre. Pivots do not see that. Errors are some EPS of the largest term.
"""

from __future__ import annotations

from typing import NamedTuple

import numba

from efface.engine.jit.compilation import FAST, INNER, shared
from efface.engine.jit.views import Matrix, Vector, part
from efface.engine.linalg.dense import fill

# Of the largest term, what must be left. The primal form's are estimated, and have the errors of an
# inverse too: see ``_square``.
_LEFT, _LEFT_DUAL = 1e-4, 1e-5


class Terms(NamedTuple):
    """The solution for the response and for ones, and what it is a sum of."""

    theta: Vector
    ones: Vector
    slope: float  # coefficients are theta - slope ones; 0 where there are no ones
    core: Matrix  # (2, p): the largest terms of the core, in theta and in ones
    reach: float  # the largest w_i^2 S_ii; in the dual form, for u_i of which Z_i is what is left
    scale: Vector  # (p,): the squared lengths of the core's features
    dual: bool


@shared()
def set_largest_terms(alpha: Vector, rows: Matrix, terms: Vector) -> None:
    """The largest |alpha_i rows_ij| of each j."""
    fill(terms, 0.0)
    for i in range(alpha.size):
        for j in range(terms.size):
            terms[j] = max(terms[j], abs(alpha[i] * rows[i, j]))


@numba.njit(**INNER)
def _coefficient(t: Terms, j: int) -> float:
    return t.theta[j] - t.slope * t.ones[j] if t.slope != 0.0 else t.theta[j]


@numba.njit(**INNER)
def _square(t: Terms, j: int) -> float:
    """The square of the largest term: |Z_ij|^2 <= M_jj S_ii, and M_jj <= 1 in the dual form.

    In the primal form M_jj is 1 / scale_j but for what the features have in common; a core's
    margin keeps that small.
    """
    term = t.core[0, j]
    if t.slope != 0.0:
        term = max(term, abs(t.slope) * t.core[1, j])
    return max(term * term, t.reach if t.dual else t.reach / t.scale[j])


@numba.njit(**INNER)
def each_keeps_digits(t: Terms, d: int) -> bool:
    """Is enough left in every coefficient? That of a constant feature has no terms."""
    if not t.dual:
        return _all_outlast(part(t.theta, 0, d), t.core[0], t.scale, _LEFT**2 * t.reach)
    for j in range(d):
        coef = _coefficient(t, j)
        some = coef != 0.0 or t.core[0, j] != 0.0
        if some and coef * coef < _LEFT_DUAL**2 * _square(t, j):
            return False
    return True


@numba.njit(**INNER, fastmath=FAST)
def _all_outlast(theta: Vector, core: Vector, scale: Vector, least: float) -> bool:
    """The primal form, for every event: one loop that vectorises."""
    lost = 0
    for j in range(theta.size):
        square = theta[j] * theta[j] * scale[j]
        some = (theta[j] != 0.0) | (core[j] != 0.0)
        lost += some & ((square < _LEFT**2 * (core[j] * core[j] * scale[j])) | (square < least))
    return lost == 0


@numba.njit(**INNER)
def largest_keeps_digits(t: Terms, squares: Vector, d: int) -> bool:
    """Is enough left in the largest, features at one scale? ``squares`` are those of all rows."""
    largest, left = 0.0, 0.0
    for j in range(d):
        coef = _coefficient(t, j)
        largest = max(largest, squares[j] * _square(t, j))
        left = max(left, squares[j] * (coef * coef))
    return left >= (_LEFT_DUAL if t.dual else _LEFT) ** 2 * largest

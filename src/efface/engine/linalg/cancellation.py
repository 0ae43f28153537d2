"""Cancellation check: the error of a sum scales with its largest term.

A coefficient is a sum: the core's coefficient plus w_i Z_i for every row outside the core (see
``events.core``). In the dual form with an intercept, a multiple (the slope) of the solution for a
response of ones is subtracted. Where terms cancel, the coefficient keeps their rounding error,
about EPS times the largest term, and few correct digits. This happens when one row outside the core
is far heavier or larger than the others, or moves the mean far from the centre. The pivots do not
show it. The terms have lost digits themselves where the margin is small: the share that must be
left is larger there.
"""

from __future__ import annotations

from typing import NamedTuple

import numba

from efface.engine.jit.compilation import FAST, INNER, shared
from efface.engine.jit.views import Matrix, Vector, part
from efface.engine.linalg.dense import fill

# A coefficient must be at least this share of its largest term. The share is larger in the primal
# form, whose terms are estimated (see ``_largest_square``) and have the errors of an inverse.
_LEAST, _LEAST_DUAL = 1e-4, 1e-5
_DIGITS = 2e-6  # the least product of this share and the margin: errors are EPS over it


class Terms(NamedTuple):
    """The solution for the response and for ones, and the sizes of their terms."""

    theta: Vector
    ones: Vector
    slope: float  # coefficients are theta - slope ones; 0 where there are no ones
    core: Matrix  # (2, p): the largest terms of the core, in theta and in ones
    reach: float  # the largest w_i^2 S_ii of the rows outside; in the dual form w_i^2 |u_i|^2
    scale: Vector  # (p,): the squared lengths of the core's features
    dual: bool
    margin: float  # of the system: see ``dense``


@numba.njit(**INNER)
def _least_2(t: Terms) -> float:
    """The square of the share that must be left."""
    least = max(_LEAST_DUAL if t.dual else _LEAST, _DIGITS / t.margin)
    return least * least


@shared()
def set_largest_terms(alpha: Vector, rows: Matrix, terms: Vector) -> None:
    """terms_j = the largest |alpha_i rows_ij|."""
    fill(terms, 0.0)
    for i in range(alpha.size):
        for j in range(terms.size):
            terms[j] = max(terms[j], abs(alpha[i] * rows[i, j]))


@numba.njit(**INNER)
def _coefficient(t: Terms, j: int) -> float:
    return t.theta[j] - t.slope * t.ones[j] if t.slope != 0.0 else t.theta[j]


@numba.njit(**INNER)
def _largest_square(t: Terms, j: int) -> float:
    """The square of the largest term: |Z_ij|^2 <= M_jj S_ii, and M_jj <= 1 in the dual form.

    In the primal form M_jj is about 1 / scale_j: the correlation of the features adds a factor,
    which the margin of the core bounds.
    """
    term = t.core[0, j]
    if t.slope != 0.0:
        term = max(term, abs(t.slope) * t.core[1, j])
    return max(term * term, t.reach if t.dual else t.reach / t.scale[j])


@numba.njit(**INNER)
def each_keeps_digits(t: Terms, d: int) -> bool:
    """Whether every coefficient is large enough beside its terms; one without terms is."""
    if not t.dual:
        return _all_keep_digits(part(t.theta, 0, d), t.core[0], t.scale, _least_2(t), t.reach)
    least = _least_2(t)
    for j in range(d):
        coef = _coefficient(t, j)
        some = coef != 0.0 or t.core[0, j] != 0.0
        if some and coef * coef < least * _largest_square(t, j):
            return False
    return True


@numba.njit(**INNER, fastmath=FAST)
def _all_keep_digits(
    theta: Vector, core: Vector, scale: Vector, least: float, reach: float
) -> bool:
    """The primal form, which every event needs: one loop that the compiler can vectorise."""
    failed, far = 0, least * reach
    for j in range(theta.size):
        square = theta[j] * theta[j] * scale[j]
        some = (theta[j] != 0.0) | (core[j] != 0.0)
        failed += some & ((square < least * (core[j] * core[j] * scale[j])) | (square < far))
    return failed == 0


@numba.njit(**INNER)
def largest_keeps_digits(t: Terms, squares: Vector, d: int) -> bool:
    """Whether the largest coefficient is large enough, with all features at one scale.

    ``squares`` are the sums of squares of the features over all rows.
    """
    largest, left = 0.0, 0.0
    for j in range(d):
        coef = _coefficient(t, j)
        largest = max(largest, squares[j] * _largest_square(t, j))
        left = max(left, squares[j] * (coef * coef))
    return left >= _least_2(t) * largest

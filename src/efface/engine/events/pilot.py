"""A pilot fit of the live rows, and the penalty of Lemma 3 with its estimates plugged in.

Lemma 3 needs the noise level sigma and max|theta|. A fit of the live rows estimates both, if its
penalty is small. With a large penalty, coefficients are too small and residuals too large, so the
next penalty would be larger still. The pilot fit is a ridge regression with the penalty

    lam0 = PILOT_SHARE 2^rint(log2(tr(Phi) / n)),

a small share of the mean squared length of a row, as a safeguard where there are about as many rows
as features. With H0 its hat matrix (without the share of the intercept),

    sigma^2    = y'(I - H0)y / (n - intercept - tr(H0))
    max|theta| = the largest coefficient, or sigma / sqrt(tr(Phi)) if all are smaller,

both finite for any number of rows. The lower limit is at most the standard error of a coefficient.
It keeps the penalty finite where all coefficients vanish.

With weights, n is their sum, and Phi, H0 and the squares are weighted, as if each row came as often
as its weight says. Where the mean weight is below 1, the degrees of freedom n - intercept - tr(H0)
are those of the m rows that have weight, times n / m.
"""

from __future__ import annotations

import numba
import numpy as np

from efface.engine.events.penalty import KEPT, LEAST_TRACE, lemma_3, live_weight, too_few
from efface.engine.events.rows import Rows, open_rows, span_of
from efface.engine.events.solve import outside_rows, residual_square
from efface.engine.events.state import Stream, open_stream
from efface.engine.events.stream import DONE, refit_rows, refresh, up_to_date
from efface.engine.jit.blas import multiply_transposed
from efface.engine.jit.compilation import INNER, KERNEL, shared
from efface.engine.jit.records import Record
from efface.engine.jit.views import (
    ROOT,
    VALUE,
    WEIGHT,
    Ints,
    Matrix,
    Responses,
    Vector,
    block,
    take,
)
from efface.engine.linalg.dense import EPS, dot, solve
from efface.engine.linalg.spectrum import centred, mean_of
from efface.engine.sums.sliding import first_weighted

AUTO = 0.0  # as ``theta_max``: the largest coefficient of the pilot fit
RESPONSE, RESIDUAL = 0, 1  # whose standard deviation is the noise level
ASKED_BY_PILOT = 16  # added to a code: the pilot stream needs it


@numba.njit(**INNER)
def refresh_both(s: Stream, pilot: Vector | None, r: Rows, watched: bool | None) -> int:
    """``refresh``, with the penalty of a pilot fit where there is a pilot store."""
    if pilot is not None:  # noqa: SIM102 - alone, so that the branch is not even compiled
        if not up_to_date(s.state, r):
            p = open_stream(pilot)
            s.state.alpha, p.state.unit = 0.0, s.state.unit
            if not too_few(r, p.state):
                code = refresh(p, r, True)
                if code != DONE:
                    return code + ASKED_BY_PILOT
                s.state.alpha = p.state.plugged if p.state.refitted == 1 else _plug_in(p, r)
    return refresh(s, r, watched)


@numba.njit(**INNER)
def _predict(
    x: Matrix,
    y: Responses,
    span: Ints,
    store: Vector,
    pilot: Vector | None,
    row: Vector,
    watched: bool | None,
) -> tuple[float, int]:
    """The prediction of one more row from the live rows, if the code is DONE."""
    s = open_stream(store)
    code = refresh_both(s, pilot, open_rows(x, y, span), watched)
    return dot(s.coef, row) + s.state.intercept, code


# One kernel per kind of penalty: an argument that is None costs time in every call.


@numba.njit(**KERNEL)
def predict_fixed(
    x: Matrix, y: Responses, span: Ints, store: Vector, row: Vector
) -> tuple[float, int]:
    """``_predict`` where the penalty is fixed."""
    return _predict(x, y, span, store, None, row, None)


@numba.njit(**KERNEL)
def predict_adaptive(
    x: Matrix, y: Responses, span: Ints, store: Vector, row: Vector
) -> tuple[float, int]:
    """``_predict`` where the penalty follows from the moments of the rows."""
    return _predict(x, y, span, store, None, row, True)


@numba.njit(**KERNEL)
def predict_piloted(
    x: Matrix, y: Responses, span: Ints, store: Vector, pilot: Vector, row: Vector
) -> tuple[float, int]:
    """``_predict`` where the penalty follows from a pilot fit."""
    return _predict(x, y, span, store, pilot, row, True)


@shared()
def penalty_from(
    state: Record, n: float, unexplained: float, freedom: float, theta: float
) -> float:
    """Lemma 3, from the residuals, degrees of freedom and largest coefficient of a pilot fit."""
    noise = np.sqrt(unexplained / freedom if state.noise == RESIDUAL else state.variance)
    if noise == 0.0:
        return 0.0
    theta = max(theta, noise / np.sqrt(state.trace_phi))
    theta = theta if state.theta_max == AUTO else state.theta_max
    return lemma_3(n, state.width, state.delta, noise, state.largest, theta)


@shared()
def constant(state: Record, level: float) -> bool:
    """Is the response constant up to rounding, so that an intercept explains it?"""
    return state.has_intercept == 1 and state.variance <= (16.0 * EPS * level) ** 2


@shared()
def constant_rows(state: Record, y: Responses, lo: int, hi: int) -> bool:
    """``constant`` for rows with weights: one heavy row alone makes the variance small."""
    level = y[first_weighted(y, lo, hi), VALUE]
    if not constant(state, level):
        return False
    for i in range(lo, hi):
        if y[i, WEIGHT] > 0.0 and abs(y[i, VALUE] - level) > 32.0 * EPS * abs(level):
            return False
    return True


@numba.njit(**INNER)
def _plug_in(s: Stream, r: Rows) -> float:
    """The penalty of the live rows, from a pilot fit that is up to date."""
    state = s.state
    if state.trace_phi <= LEAST_TRACE or constant_rows(state, r.y, r.span.head, r.span.end):
        return 0.0
    n, rows, theta = live_weight(s, r) / state.unit, r.span.end - r.span.head, 0.0
    for j in range(state.width):
        theta = max(theta, abs(s.coef[j]))
    unexplained, freedom = 0.0, 1.0
    if state.noise == RESIDUAL:
        freedom = _freedom(s, r)
        # y'(I - H0)y: the squared residuals and the penalty on the coefficients
        unexplained = residual_square(s, r, s.work.vectors[0], KEPT)
        unexplained += state.penalty * dot(s.coef, s.coef)
    return penalty_of_fit(state, rows - r.span.weightless, n, unexplained, freedom, theta)


@shared()
def penalty_of_fit(
    state: Record, rows: int, n: float, unexplained: float, freedom: float, theta: float
) -> float:
    """``penalty_from`` for ``rows`` rows whose weights sum to n units."""
    freedom = freedom + (n - rows) if n >= rows else freedom * (n / rows)
    return state.unit * penalty_from(state, n, unexplained / state.unit, freedom, theta)


@numba.njit(**INNER)
def _freedom(s: Stream, r: Rows) -> float:
    """m - intercept - tr(H0), from the trace of the inverse of the system of the m live rows.

    That inverse is M - Z' S^-1 Z (see ``core``); in the dual form, rho times it.
    """
    c, d, penalty = s.core, s.state.width, s.state.penalty
    p, size, trace = c.inverse.shape[0], c.state.n_rows, 0.0
    if c.state.dual == 0:
        for i in range(d):
            trace += c.inverse[i, i]
        n = r.span.end - r.span.head - r.span.weightless
        return n - p + penalty * (trace - _outer_trace(s, r, d))
    inverse = take(c.inverse, 0, size, size)
    for i in range(size):
        trace += inverse[i, i]
    freedom = penalty * trace + outside_rows(s, r)[1] - _outer_trace(s, r, p) - r.span.weightless
    return freedom - _share_of_ones(s, r) if s.state.has_intercept == 1 else freedom


@numba.njit(**INNER)
def _outer_trace(s: Stream, r: Rows, columns: int) -> float:
    """tr(Z' S^-1 Z), for the first columns of Z."""
    lo, k = outside_rows(s, r)
    images, total = block(s.outside.images, lo, lo + k, 0, columns), 0.0
    factor, products = take(s.work.factor, 0, k, k), take(s.work.weights[1], 0, 1, k)
    for i in range(k):
        multiply_transposed(block(images, i, i + 1, 0, columns), images, products, 1.0, 0.0)
        solve(factor, products[0])
        total += products[0, i]
    return total


@numba.njit(**INNER)
def _share_of_ones(s: Stream, r: Rows) -> float:
    """The share of the intercept, q'G^2 q / q'Gq: q the roots of weights, G the dual inverse."""
    c, d, theta = s.core, s.state.width, s.work.theta[1]
    total, squares = 0.0, 0.0
    for i in range(r.span.head, r.span.end):
        left = 1.0 - c.state.constant * theta[d]
        for j in range(d):
            left -= (r.x[i, j] - c.centre[j]) * theta[j]
        total += r.y[i, WEIGHT] * left
        squares += r.y[i, WEIGHT] * (left * left)
    return squares / total


def refit_pilot(x: Matrix, y: Responses, span: Ints, store: Vector) -> None:
    """Refit the rows of a pilot store, and note the penalty that follows."""
    refit_rows(x, y, span, store)
    s, at = open_stream(store), span_of(span)
    rows = slice(at.head, at.end)
    s.state.plugged = plug_in_directly(x[rows], y[rows], s.state, s.coef)
    s.state.refitted = 1


def plug_in_directly(x: Matrix, y: Responses, state: Record, coef: Vector) -> float:
    """The penalty from the rows themselves and their coefficients under ``state.penalty``."""
    weighted, intercept, penalty = y[:, WEIGHT] > 0.0, bool(state.has_intercept), state.penalty
    x, y = x[weighted], y[weighted]
    m, n = len(y), float(y[:, WEIGHT].sum()) / state.unit
    if state.trace_phi <= LEAST_TRACE or constant_rows(state, y, 0, m):
        return 0.0
    rows = centred(x, y[:, WEIGHT], intercept)
    left = y[:, VALUE] - mean_of(y[:, VALUE], y[:, WEIGHT], intercept) - rows @ coef
    left = y[:, ROOT] * (left - mean_of(left, y[:, WEIGHT], intercept))
    squares = np.linalg.svd(y[:, ROOT, np.newaxis] * rows, compute_uv=False) ** 2
    freedom = m - intercept - squares.size + (penalty / (squares + penalty)).sum()
    unexplained = left @ left + penalty * (coef @ coef)
    return float(penalty_of_fit(state, m, n, unexplained, freedom, np.abs(coef).max()))

"""A pilot fit, and the penalty of Lemma 3 with what it found plugged in.

Lemma 3 asks for the noise level sigma and for max|theta|. A fit of the live rows tells both, if it
is hardly penalised: started from a strong penalty, coefficients are small and residuals large, so
the next penalty is larger still. The pilot fit is a ridge regression with the penalty

    lam0 = PILOT_SHARE 2^rint(log2(tr(Phi) / n)),

a small share of the mean squared length of a row: no more than a safeguard where rows are about as
many as features. With H0 its hat matrix (without the intercept's share),

    sigma^2    = y'(I - H0)y / (n - intercept - tr(H0))
    max|theta| = the largest coefficient, or sigma / sqrt(tr(Phi)) if all are smaller,

both finite for any number of rows. The lower limit is at most the standard error of a coefficient;
it keeps the penalty finite where all coefficients vanish.

With weights, n is their sum, and Phi, H0 and the squares are weighted: as if each row came as often
as it weighs. Rows that weigh less than 1 on average are fewer than the coefficients could use up;
there n - intercept - tr(H0) is that of the m rows that have weight, times n / m.
"""

from __future__ import annotations

import numba
import numpy as np

from efface.engine.events.core import CONSTANT, DUAL, SIZE
from efface.engine.events.penalty import (
    DELTA,
    END,
    FIRST,
    HEAD,
    INTERCEPT,
    KEPT,
    LAMBDA,
    LARGEST,
    MUTE,
    NOISE,
    START,
    STOP,
    SWITCH_AT,
    THETA_MAX,
    TRACE,
    VARIANCE,
    WIDTH,
    live_weight,
    plugged,
    weight_upto,
)
from efface.engine.events.stream import COMPACT, DONE, Stream, learn_row, open_stream, refresh
from efface.engine.jit.blas import multiply_transposed
from efface.engine.jit.compilation import INNER, KERNEL
from efface.engine.jit.views import (
    ROOT,
    VALUE,
    WEIGHT,
    Ints,
    Matrix,
    Responses,
    Vector,
    block,
    part,
    take,
)
from efface.engine.linalg.dense import EPS, copy, dot, solve
from efface.engine.linalg.spectrum import centred, mean_of
from efface.engine.sums.sliding import first_heard

AUTO = 0.0  # in the place of a largest coefficient: that of the pilot fit
RESPONSE, RESIDUAL = 0, 1  # whose standard deviation stands for the noise


@numba.njit(**KERNEL)
def plug_in(x: Matrix, y: Responses, floats: Vector, ints: Ints) -> float:
    """The penalty of the live rows, from a pilot fit that is up to date."""
    return _plug_in(open_stream(floats, ints), x, y)


@numba.njit(**KERNEL, nogil=True)
def plug_in_rows(
    x: Matrix,
    y: Responses,
    floats: Vector,
    ints: Ints,
    rows: Matrix,
    responses: Responses,
    leaving: Ints,  # (n,): how many of the oldest rows go once row t is learned
    penalties: Vector,  # (n,): NaN where it is not known yet
    start: int,
) -> tuple[int, int]:
    """The penalty before each row, which is then learned.

    The row at which something else is to be done first, and what; or the end, DONE.
    """
    s = open_stream(floats, ints)
    for t in range(start, responses.shape[0]):
        if np.isnan(penalties[t]):
            penalties[t] = 0.0
            if not idle(y, s.dials, s.values):
                code = refresh(s, x, y, True)
                penalties[t] = _plug_in(s, x, y) if code == DONE else np.nan
                if code != DONE:
                    return t, code
        response, weight = responses[t, VALUE], responses[t, WEIGHT]
        if not learn_row(x, y, s.dials, rows[t], response, weight, leaving[t]):
            return t, COMPACT
    return responses.shape[0], DONE


@numba.njit(**KERNEL)
def idle(y: Responses, dials: Ints, values: Vector) -> bool:
    """Is there no penalty, whatever the fit?"""
    if weight_upto(y, dials, 2.0) < 2.0:
        return True
    most = values[SWITCH_AT] * dials[WIDTH]
    return most < np.inf and weight_upto(y, dials, most) > most


@numba.njit(**KERNEL)
def penalty_from(
    values: Vector, n: float, d: int, unexplained: float, freedom: float, theta: float
) -> float:
    """Lemma 3, for what a pilot fit left unexplained and its largest coefficient."""
    square = unexplained / freedom if values[NOISE] == RESIDUAL else values[VARIANCE]
    noise = np.sqrt(square)
    if noise == 0.0:
        return 0.0
    if values[THETA_MAX] != AUTO:
        theta = values[THETA_MAX]
    else:
        theta = max(theta, noise / np.sqrt(values[TRACE]))
    return plugged(n, d, values[DELTA], noise, values[LARGEST], theta)


@numba.njit(**KERNEL)
def constant(values: Vector, level: float, intercept: bool) -> bool:
    """Is the response constant but for rounding, so that an intercept explains it?"""
    return intercept and values[VARIANCE] <= (16.0 * EPS * level) ** 2


@numba.njit(**INNER)
def _plug_in(s: Stream, x: Matrix, y: Responses) -> float:
    dials, d = s.dials, s.dials[WIDTH]
    intercept, first = dials[INTERCEPT] == 1, first_heard(y, dials[HEAD], dials[END])
    if s.values[TRACE] == 0.0 or constant(s.values, y[first, VALUE], intercept):
        return 0.0
    n = live_weight(s.stats, dials)
    theta = 0.0
    for j in range(d):
        theta = max(theta, abs(s.coef[j]))
    unexplained, freedom = 0.0, 1.0
    if s.values[NOISE] == RESIDUAL:
        freedom = counted(_freedom(s, x, y), dials[END] - dials[HEAD] - dials[MUTE], n)
        unexplained = _unexplained(s, x, y)
    return penalty_from(s.values, n, d, unexplained, freedom, theta)


@numba.njit(**KERNEL)
def counted(freedom: float, rows: int, n: float) -> float:
    """Degrees of freedom, those of ``rows`` rows, where these count for n."""
    return freedom + (n - rows) if n >= rows else freedom * (n / rows)


@numba.njit(**INNER)
def _unexplained(s: Stream, x: Matrix, y: Responses) -> float:
    """y'(I - H0)y: the squared residuals and the penalty on the coefficients."""
    if s.core.dials[DUAL] == 0:
        before, after = _unexplained_by_sums(s)
        if after > KEPT * before:
            return after
    c, d, intercept = s.core, s.dials[WIDTH], s.dials[INTERCEPT] == 1
    level, total = 0.0, s.values[LAMBDA] * dot(s.coef, s.coef)
    if intercept:
        level = s.work.theta[0, d]
        if c.dials[DUAL] == 1:
            level /= s.work.theta[1, d]
        level += c.centre[d + 1]
    for i in range(s.dials[HEAD], s.dials[END]):
        left = y[i, VALUE] - level
        for j in range(d):
            left -= (x[i, j] - c.centre[j]) * s.coef[j]
        total += y[i, WEIGHT] * (left * left)
    return total


@numba.njit(**INNER)
def _unexplained_by_sums(s: Stream) -> tuple[float, float]:
    """y'y and y'(I - H0)y, from a core in primal form and the rows outside it."""
    c, total, theta = s.core, s.sums.total, s.core.theta[0]
    d, n = s.dials[WIDTH], total[s.dials[WIDTH], s.dials[WIDTH]]
    shift = 0.0 if s.dials[INTERCEPT] == 1 else c.centre[d + 1]
    before = total[d + 1, d + 1] + shift * (2.0 * total[d + 1, d] + shift * n)
    explained = 0.0
    for i in range(theta.size):
        explained += theta[i] * (total[d + 1, i] + shift * total[d, i])
    lo, k = _outside(s)
    residual, weights = part(s.outside.residual[0], lo, lo + k), part(s.work.weights[1], 0, k)
    copy(residual, weights)
    solve(take(s.work.factor, 0, k, k), weights)
    added = dot(residual, weights)
    return before + added, before - explained + added


@numba.njit(**INNER)
def _outside(s: Stream) -> tuple[int, int]:
    """The first of the live rows outside the core, and their number."""
    lo = s.dials[HEAD] - s.dials[FIRST]
    return lo, s.dials[START] - s.dials[HEAD] + s.dials[END] - s.dials[STOP]


@numba.njit(**INNER)
def _freedom(s: Stream, x: Matrix, y: Responses) -> float:
    """m - intercept - tr(H0), from the trace of the inverse of the system of the m live rows.

    That inverse is M - Z' S^-1 Z (see ``core``); in the dual form, rho times it.
    """
    c, d, penalty = s.core, s.dials[WIDTH], s.values[LAMBDA]
    p, size, trace = c.inverse.shape[0], c.dials[SIZE], 0.0
    if c.dials[DUAL] == 0:
        for i in range(d):
            trace += c.inverse[i, i]
        n = s.dials[END] - s.dials[HEAD] - s.dials[MUTE]
        return n - p + penalty * (trace - _outer_trace(s, d))
    inverse = take(c.inverse, 0, size, size)
    for i in range(size):
        trace += inverse[i, i]
    freedom = penalty * trace + _outside(s)[1] - _outer_trace(s, p) - s.dials[MUTE]
    return freedom - _share_of_ones(s, x, y) if s.dials[INTERCEPT] == 1 else freedom


@numba.njit(**INNER)
def _outer_trace(s: Stream, columns: int) -> float:
    """tr(Z' S^-1 Z), for the first columns of Z."""
    lo, k = _outside(s)
    images, total = block(s.outside.images, lo, lo + k, 0, columns), 0.0
    factor, products = take(s.work.factor, 0, k, k), take(s.work.weights[1], 0, 1, k)
    for i in range(k):
        multiply_transposed(block(images, i, i + 1, 0, columns), images, products, 1.0, 0.0)
        solve(factor, products[0])
        total += products[0, i]
    return total


@numba.njit(**INNER)
def _share_of_ones(s: Stream, x: Matrix, y: Responses) -> float:
    """What the intercept takes: q'G^2 q / q'Gq, q the roots of the weights, G the dual inverse."""
    c, d, theta = s.core, s.dials[WIDTH], s.work.theta[1]
    total, squares = 0.0, 0.0
    for i in range(s.dials[HEAD], s.dials[END]):
        left = 1.0 - c.values[CONSTANT] * theta[d]
        for j in range(d):
            left -= (x[i, j] - c.centre[j]) * theta[j]
        total += y[i, WEIGHT] * left
        squares += y[i, WEIGHT] * (left * left)
    return squares / total


def plug_in_directly(
    x: Matrix, y: Responses, values: Vector, coef: Vector, intercept: bool
) -> float:
    """``plug_in`` from the rows themselves, where they had to be refitted."""
    heard = y[:, WEIGHT] > 0.0
    x, y = x[heard], y[heard]
    (m, d), n = x.shape, float(y[:, WEIGHT].sum())
    if values[TRACE] == 0.0 or constant(values, y[0, VALUE], intercept):
        return 0.0
    rows, penalty = centred(x, y[:, WEIGHT], intercept), values[LAMBDA]
    left = y[:, VALUE] - mean_of(y[:, VALUE], y[:, WEIGHT], intercept) - rows @ coef
    left = y[:, ROOT] * (left - mean_of(left, y[:, WEIGHT], intercept))
    squares = np.linalg.svd(y[:, ROOT, np.newaxis] * rows, compute_uv=False) ** 2
    freedom = m - intercept - squares.size + (penalty / (squares + penalty)).sum()
    unexplained = left @ left + penalty * (coef @ coef)
    freedom = counted(freedom, m, n)
    return float(penalty_from(values, n, d, unexplained, freedom, np.abs(coef).max()))

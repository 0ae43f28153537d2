"""A core of rows that is solved once, and the rows outside it, which come and go.

M is the inverse of the core's system. For the rows U outside the core, Z = U M,
S = rho I + Z U' and r = y - U theta. With those of them whose indices are J, the coefficients are

    theta_J = theta + r_J' S_JJ^-1 Z_J.

So a row joins by one row of Z and S, and leaves by not being in J. Rows are only ever added, and no
number depends on a row that has left. There are two forms.
Primal: M = (X'X + penalty I)^-1 and rho = 1. The intercept is a feature without penalty.
Dual, for at most as many rows as features: M = I - X' (XX' + penalty I)^-1 X and rho = penalty, so
that M / rho is the inverse again, and penalty 0 gives the minimum-norm answer. The intercept is
then a penalised constant. A second response of ones undoes that penalty: the coefficients are
theta_y - beta theta_1, with beta such that the constant has the coefficient 0.

Rows are weighted when they are placed: the features, the constant and the responses of a row are
multiplied by the square root of its weight. A row of weight 0 becomes zeros.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from efface.engine.jit.blas import multiply, multiply_transposed
from efface.engine.jit.compilation import INNER, carving, shared
from efface.engine.jit.records import Record, record
from efface.engine.jit.views import (
    ROOT,
    VALUE,
    WEIGHT,
    Matrix,
    Responses,
    Vector,
    block,
    part,
    take,
)
from efface.engine.linalg.cancellation import set_largest_terms
from efface.engine.linalg.dense import (
    EPS,
    SAFE,
    add_row,
    copy,
    dot,
    fill,
    invert,
    lopsided,
    symmetric_times,
)
from efface.engine.sums.sliding import NEVER, Sums, slide_to, turn_over, weight_of

_LEAST_PENALTY = float(np.finfo(np.float64).tiny) / EPS  # per row: larger than what underflowed
FAR = 100.0  # variances: beyond, the square of the mean's distance from the centre costs digits

core_state, _STATE = record(
    ints=["dual", "n_rows", "responses"], floats=["penalty", "rho", "constant", "margin", "reached"]
)


class Core(NamedTuple):
    """A solved core; p = d features (+ 1 with an intercept)."""

    # dual form?; its rows, in the dual form; responses (2 with an intercept in the dual form);
    # penalty, rho, the value of the constant feature, the smallest margin to be trusted, and the
    # margin of the core
    state: Record
    inverse: Matrix  # (p, p): M, or (XX' + penalty I)^-1 in the dual form
    rows: Matrix  # (p, p): X, in the dual form
    theta: Matrix  # (2, p)
    terms: Matrix  # (2, p): the largest term that each entry of theta is a sum of
    scale: Vector  # (p,): the squared lengths of the features
    scratch: Vector  # (p^2 + 2 p k + 96 p,)
    centre: Vector  # (d + 2,): the origin of x and y, shared with the sums


class Outside(NamedTuple):
    """The rows outside the core; room for k."""

    rows: Matrix  # (k, p): U
    images: Matrix  # (k, p): Z
    schur: Matrix  # (k, k): S
    weight: Vector  # (k,): what the pivots of S are compared with
    residual: Matrix  # (2, k): r, for the response and for ones


@carving
def lay_out_core(store: Vector, at: int, p: int, k: int, centre: Vector) -> tuple[Core, int]:
    """The core that lies in a flat array, and the offset behind it."""
    scratch = at + _STATE
    rows = scratch + p * p + 2 * p * k + 96 * p
    inverse = rows + p * p
    theta = inverse + p * p
    end = theta + 5 * p
    core = Core(
        core_state(part(store, at, scratch)),
        take(store, inverse, p, p),
        take(store, rows, p, p),
        take(store, theta, 2, p),
        take(store, theta + 2 * p, 2, p),
        part(store, end - p, end),
        part(store, scratch, rows),
        centre,
    )
    return core, end


@carving
def lay_out_outside(store: Vector, at: int, p: int, k: int) -> tuple[Outside, int]:
    """The rows outside a core that lie in a flat array, and the offset behind them."""
    schur = at + 2 * k * p
    weight = schur + k * k
    outside = Outside(
        take(store, at, k, p),
        take(store, at + k * p, k, p),
        take(store, schur, k, k),
        part(store, weight, weight + k),
        take(store, weight + k, 2, k),
    )
    return outside, weight + 3 * k


@shared()
def gather(s: Sums, x: Matrix, y: Responses, a: int, b: int, unit: int, intercept: bool) -> None:
    """The sums over the core [a, b), around a centre near enough to the mean to lose no digits."""
    for _ in range(2):
        slide_to(s, x, y, a, b, unit, intercept)
        if not off_centre(s, x.shape[1], b, intercept):
            return
        turn_over(s, x, y, a, b, intercept)


@numba.njit(**INNER)
def off_centre(s: Sums, d: int, b: int, intercept: bool) -> bool:
    """Is the mean of the response or of a feature so far from the centre that sums lose digits?"""
    n = s.total[d, d]
    if s.state.turn == b or n == 0.0:
        return False
    for j in range(0 if intercept else d + 1, d + 2):
        mean = (s.total[d, j] if j <= d else s.total[j, d]) / n
        if j != d and mean * mean > FAR * (s.total[j, j] / n - mean * mean):
            return True
    return False


@numba.njit(**INNER)
def carried_off(s: Sums, d: int, outside: float, intercept: bool) -> bool:
    """Can rows outside the core, of total weight ``outside``, move the mean too far away?

    In variances of all rows, the squared shift is at most their weight over that of the core.
    """
    return intercept and outside > FAR * s.total[d, d]


@shared()
def form_primal(c: Core, total: Matrix, d: int, penalty: float, intercept: bool) -> float:
    """Solve a core of at least p rows from its sums; return the margin."""
    p = c.inverse.shape[0]
    for i in range(p):
        for j in range(i + 1):
            c.inverse[i, j] = total[i, j]
        if i < d:
            c.inverse[i, i] += penalty
        c.scale[i] = c.inverse[i, i]
    margin = trusted(c.scale, total, c.centre, d, penalty, intercept)
    if margin > 0.0:
        margin = invert(c.inverse, c.scale, c.scratch)
    shift = 0.0 if intercept else c.centre[d + 1]
    target, step, theta = part(c.scratch, 0, p), part(c.scratch, p, 2 * p), c.theta[0]
    for i in range(p):
        target[i] = total[d + 1, i] + shift * total[d, i]
    symmetric_times(c.inverse, target, theta)
    # A product with an inverse loses twice the digits of a solve; one refinement restores them.
    for i in range(p):
        below = dot(part(total[i], 0, i + 1), part(theta, 0, i + 1))
        for j in range(i + 1, p):
            below += total[j, i] * theta[j]
        target[i] -= below + (penalty * theta[i] if i < d else 0.0)
    symmetric_times(c.inverse, target, step)
    add_row(1.0, step, theta)
    for i in range(p):
        c.terms[0, i] = abs(theta[i])
    c.state.penalty, c.state.rho, c.state.constant = penalty, 1.0, 1.0
    c.state.margin, c.state.reached = SAFE, margin
    c.state.dual, c.state.n_rows, c.state.responses = 0, 0, 1
    return margin


@numba.njit(**INNER)
def trusted(
    scale: Vector, total: Matrix, centre: Vector, d: int, penalty: float, intercept: bool
) -> float:
    """0 if a feature is constant up to rounding, or far smaller than another, or no row has weight.

    Else 1. A feature that is 0 in all rows is harmless if it is penalised.
    """
    n = total[d, d]
    if n == 0.0:
        return 0.0
    if intercept:
        harmless = penalty > n * _LEAST_PENALTY
        for j in range(d):
            dust = 16.0 * EPS * (abs(centre[j]) + abs(total[d, j]) / n)
            spread = total[j, j] - total[d, j] ** 2 / n
            if spread <= n * dust * dust and not (harmless and total[j, j] == 0.0):
                return 0.0
    return 0.0 if penalty == 0.0 and lopsided(part(scale, 0, d)) else 1.0


@shared()
def centre_dual(s: Sums, x: Matrix, y: Responses, a: int, b: int, intercept: bool) -> None:
    """Centre on the mean of [a, b). The dual form keeps no sums: they start anew."""
    turn_over(s, x, y, a, b, intercept)
    s.state.seen = NEVER


@shared()
def form_dual(
    c: Core, x: Matrix, y: Responses, a: int, b: int, first: int, penalty: float, intercept: bool
) -> float:
    """Solve the core [a, b) of at most p rows, centred before; return the margin.

    The constant feature is made about as large as the rows from ``first`` on.
    """
    d, n = x.shape[1], b - a
    constant = _place_core(c, x, y, a, b, first, intercept)
    rows, inverse = part(c.rows, 0, n), take(c.inverse, 0, n, n)
    scale = part(c.scale, 0, n)
    multiply_transposed(rows, rows, inverse, 1.0, 0.0)
    for i in range(n):
        inverse[i, i] += penalty
        scale[i] = inverse[i, i]
    margin = invert(inverse, scale, c.scratch) if n > 0 else 1.0
    if penalty == 0.0 and lopsided(scale):
        margin = 0.0
    target, alpha = part(c.scratch, 0, n), part(c.scratch, n, 2 * n)
    step = part(c.scratch, 2 * n, 3 * n)
    shift = c.centre[d + 1] if intercept else 0.0
    responses = 2 if intercept else 1
    for response in range(responses):
        theta = c.theta[response]
        for i in range(n):
            target[i] = y[a + i, ROOT] * (y[a + i, VALUE] - shift if response == 0 else 1.0)
        symmetric_times(inverse, target, alpha)
        fill(theta, 0.0)
        add_rows(alpha, rows, 1.0, theta)
        for i in range(n):
            target[i] -= dot(rows[i], theta) + penalty * alpha[i]
        symmetric_times(inverse, target, step)
        add_rows(step, rows, 1.0, theta)
        set_largest_terms(alpha, rows, c.terms[response])
    c.state.penalty, c.state.rho, c.state.constant = penalty, penalty, constant
    # Z is a difference, and has lost digits already.
    c.state.margin, c.state.reached = 10.0 * SAFE, margin
    c.state.dual, c.state.n_rows, c.state.responses = 1, n, responses
    fill(c.scale, 0.0)
    for i in range(n):
        for j in range(c.scale.size):
            c.scale[j] += rows[i, j] ** 2
    return margin


@numba.njit(**INNER)
def _place_core(
    c: Core, x: Matrix, y: Responses, a: int, b: int, first: int, intercept: bool
) -> float:
    """Copy the rows of the core, centred and weighted; return the constant feature."""
    d = x.shape[1]
    fill(c.rows, 0.0)
    for i in range(a, b):
        for j in range(d):
            c.rows[i - a, j] = y[i, ROOT] * (x[i, j] - c.centre[j])
    if not intercept:
        return 0.0
    constant = constant_for(x, y, c.centre, first, b)
    for i in range(a, b):
        c.rows[i - a, d] = y[i, ROOT] * constant
    return constant


@numba.njit(**INNER)
def constant_for(x: Matrix, y: Responses, centre: Vector, lo: int, hi: int) -> float:
    """A constant feature about as large as one of the rows lo..hi."""
    square, total = 0.0, weight_of(y, lo, hi)
    for i in range(lo, hi):
        for j in range(x.shape[1]):
            square += y[i, WEIGHT] * (x[i, j] - centre[j]) ** 2 / total
    return np.sqrt(square) if square > 0.0 else 1.0


@numba.njit(**INNER)
def add_rows(w: Vector, rows: Matrix, sign: float, out: Vector) -> None:
    """out += sign w' rows."""
    for i in range(w.size):
        add_row(sign * w[i], rows[i], out)


@shared()
def place(
    c: Core, o: Outside, x: Matrix, y: Responses, row: int, count: int, at: int, intercept: bool
) -> None:
    """Copy ``count`` rows, from ``row`` on, to the places from ``at`` on outside the core: U, r."""
    d, centre, theta = x.shape[1], c.centre, c.theta
    dual, constant = c.state.dual == 1, c.state.constant
    shift = centre[d + 1] if intercept else 0.0
    for i in range(count):
        u, root = o.rows[at + i], y[row + i, ROOT]
        for j in range(d):
            u[j] = root * (x[row + i, j] - centre[j])
        if intercept:
            u[d] = root * constant
        o.residual[0, at + i] = root * (y[row + i, VALUE] - shift) - dot(u, theta[0])
        if dual:
            o.residual[1, at + i] = root - dot(u, theta[1])


@numba.njit(**INNER)
def apply(c: Core, u: Vector, z: Vector) -> None:
    """z = M u."""
    if c.state.dual == 0:
        symmetric_times(c.inverse, u, z)
        return
    n = c.state.n_rows
    inside, alpha = part(c.scratch, 0, n), part(c.scratch, n, 2 * n)
    for i in range(n):
        inside[i] = dot(c.rows[i], u)
    symmetric_times(take(c.inverse, 0, n, n), inside, alpha)
    copy(u, z)
    add_rows(alpha, c.rows, -1.0, z)


@shared()
def join(c: Core, o: Outside, lo: int, at: int, count: int) -> None:
    """Z and S of the rows placed at ``at``; S against the rows from ``lo`` on."""
    rho, dual = c.state.rho, c.state.dual == 1
    for i in range(at, at + count):
        apply(c, o.rows[i], o.images[i])
        for j in range(lo, i + 1):
            o.schur[i, j] = dot(o.images[i], o.rows[j])
            o.schur[j, i] = o.schur[i, j]
    weigh(o, rho, dual, at, at + count)


@shared()
def join_all(c: Core, o: Outside, k: int) -> None:
    """Z = U M and S = rho I + Z U' for the first k rows outside the core."""
    u, z = part(o.rows, 0, k), part(o.images, 0, k)
    if c.state.dual == 0:
        multiply(u, c.inverse, z, 1.0, 0.0)
    else:
        n = c.state.n_rows
        rows, inverse = part(c.rows, 0, n), take(c.inverse, 0, n, n)
        inside, alpha = take(c.scratch, 0, k, n), take(c.scratch, k * n, k, n)
        multiply_transposed(u, rows, inside, 1.0, 0.0)
        multiply(inside, inverse, alpha, 1.0, 0.0)
        for i in range(k):
            copy(u[i], z[i])
        multiply(alpha, rows, z, -1.0, 1.0)
    multiply_transposed(z, u, block(o.schur, 0, k, 0, k), 1.0, 0.0)
    at = k - u.shape[0]  # 0, but no literal: Numba would compile ``weigh`` once more for that
    weigh(o, c.state.rho, c.state.dual == 1, at, k)


@numba.njit(**INNER)
def weigh(o: Outside, rho: float, dual: bool, lo: int, hi: int) -> None:
    """Add rho I to S, and note its diagonal before other rows are projected out."""
    for i in range(lo, hi):
        o.schur[i, i] += rho
        o.weight[i] = dot(o.rows[i], o.rows[i]) + rho if dual else o.schur[i, i]


@shared()
def finish(c: Core, theta: Matrix, d: int, intercept: bool, coef: Vector) -> float:
    """Coefficients and intercept of the features as they are, from those of centred features."""
    for j in range(d):
        coef[j] = theta[0, j]
    if not intercept:
        return 0.0
    level = theta[0, d]
    if c.state.dual == 1:
        level = theta[0, d] / theta[1, d]
        for j in range(d):
            coef[j] -= level * theta[1, j]
    return level + c.centre[d + 1] - dot(coef, part(c.centre, 0, d))

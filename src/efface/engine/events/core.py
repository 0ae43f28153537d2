"""A core of rows, solved once, and the rows outside it, which come and go.

M is the inverse of the core's system. For the rows U outside the core, Z = U M,
S = rho I + Z U' and r = y - U theta; with those of them whose indices are J, the coefficients are

    theta_J = theta + r_J' S_JJ^-1 Z_J.

So a row joins by a row of Z and S, and leaves by not being in J: rows are only ever added, and
nothing of a row that has left is in any number. There are two forms of the same thing.
Primal: M = (X'X + penalty I)^-1 and rho = 1, the intercept being a feature without penalty.
Dual, for at most as many rows as features: M = I - X' (XX' + penalty I)^-1 X and rho = penalty, so
that M / rho is the inverse again, and penalty 0 is the minimum-norm answer. The intercept is then a
penalised constant, undone by a second response of ones: coefficients theta_y - beta theta_1, with
beta such that the constant has the coefficient 0.

Rows are weighed as they are placed: all of a row, its constant and its responses are multiplied by
the root of its weight. One without weight is zeros, which say nothing, or a pivot of 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from efface.engine.jit.blas import multiply, multiply_transposed
from efface.engine.jit.compilation import INNER, carving, shared
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
from efface.engine.sums.sliding import (
    NEVER,
    SEEN,
    TURN,
    Sums,
    carve_sums,
    room_for_sums,
    slide_to,
    turn_over,
    weight_of,
)

PENALTY, RHO, CONSTANT, LEAST = 0, 1, 2, 3
DUAL, SIZE, RESPONSES = 0, 1, 2
_LEAST_PENALTY = float(np.finfo(np.float64).tiny) / EPS  # for each row: hides what underflowed
FAR = 100.0  # variances: the square of a mean that far from the centre costs digits


class Core(NamedTuple):
    """A solved core; p = d features (+ 1 with an intercept)."""

    inverse: Matrix  # (p, p): M, or (XX' + penalty I)^-1 in the dual form
    rows: Matrix  # (p, p): X, in the dual form
    theta: Matrix  # (2, p)
    terms: Matrix  # (2, p): the largest of what each entry of theta is a sum of
    centre: Vector  # (d + 2,): what x and y are measured from, shared with the sums
    values: Vector  # penalty, rho, the constant feature, the least margin to be trusted
    dials: Ints  # dual?, rows in the core if so, responses (2 with an intercept in the dual form)
    scale: Vector  # (p,): the squared lengths of the features
    scratch: Vector  # (p^2 + 2 p k + 96 p,)


class Outside(NamedTuple):
    """The rows outside the core; room for k."""

    rows: Matrix  # (k, p): U
    images: Matrix  # (k, p): Z
    schur: Matrix  # (k, k): S
    weight: Vector  # (k,): what the pivots of S are measured against
    residual: Matrix  # (2, k): r, for the response and for ones


@carving
def room_for(d: int, p: int, k: int, depth: int) -> tuple[int, int]:
    """How many floats and ints ``carve`` needs."""
    sums, ints = room_for_sums(d, depth)
    core = 2 * p * p + 5 * p + 4 + (p * p + 2 * p * k + 96 * p)
    return sums + core + 2 * k * p + k * k + 3 * k, 3 + ints


@carving
def carve(
    floats: Vector, ints: Ints, d: int, p: int, k: int, depth: int
) -> tuple[Sums, Core, Outside]:
    """Lay it all out in two flat arrays: one pair crosses from Python faster than thirty."""
    f, i = floats, ints
    o, _ = room_for_sums(d, depth)
    sums = carve_sums(f, part(i, 3, i.size), d, depth)
    theta, terms = take(f, o + 2 * p * p, 2, p), take(f, o + 2 * p * p + 2 * p, 2, p)
    scratch = o + 2 * p * p + 5 * p + 4
    values, scale = part(f, scratch - p - 4, scratch - p), part(f, scratch - p, scratch)
    end = scratch + p * p + 2 * p * k + 96 * p
    inverse, rows = take(f, o, p, p), take(f, o + p * p, p, p)
    dials, scratch = part(i, 0, 3), part(f, scratch, end)
    core = Core(inverse, rows, theta, terms, sums.centre, values, dials, scale, scratch)
    o = end + 2 * k * p
    outside = Outside(
        take(f, end, k, p),
        take(f, end + k * p, k, p),
        take(f, o, k, k),
        part(f, o + k * k, o + k * k + k),
        take(f, o + k * k + k, 2, k),
    )
    return sums, core, outside


@shared()
def gather(s: Sums, x: Matrix, y: Responses, a: int, b: int, unit: int, intercept: bool) -> None:
    """The sums over the core [a, b), around a centre that costs no digits."""
    for _ in range(2):
        slide_to(s, x, y, a, b, unit, intercept)
        if not _off_centre(s, x.shape[1], b, intercept):
            return
        turn_over(s, x, y, a, b, intercept)


@numba.njit(**INNER)
def _off_centre(s: Sums, d: int, b: int, intercept: bool) -> bool:
    """Has the response, or a feature, wandered so far from the centre that sums lose digits?"""
    n = s.total[d, d]
    if s.dials[TURN] == b or n == 0.0:
        return False
    for j in range(0 if intercept else d + 1, d + 2):
        mean = (s.total[d, j] if j <= d else s.total[j, d]) / n
        if j != d and mean * mean > FAR * (s.total[j, j] / n - mean * mean):
            return True
    return False


@numba.njit(**INNER)
def carried_off(s: Sums, d: int, outside: float, intercept: bool) -> bool:
    """Can rows outside the core, which weigh so much, take the mean too far from its centre?

    The square of their pull is at most their weight over the core's, in variances of all rows.
    """
    return intercept and outside > FAR * s.total[d, d]


@shared()
def form_primal(c: Core, total: Matrix, d: int, penalty: float, intercept: bool) -> float:
    """Solve a core of at least p rows from the total of its sums; the margin."""
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
    # The product with an inverse loses twice the digits of a solve; its own residual returns them.
    for i in range(p):
        below = dot(part(total[i], 0, i + 1), part(theta, 0, i + 1))
        for j in range(i + 1, p):
            below += total[j, i] * theta[j]
        target[i] -= below + (penalty * theta[i] if i < d else 0.0)
    symmetric_times(c.inverse, target, step)
    add_row(1.0, step, theta)
    for i in range(p):
        c.terms[0, i] = abs(theta[i])
    c.values[PENALTY], c.values[RHO], c.values[CONSTANT] = penalty, 1.0, 1.0
    c.values[LEAST] = SAFE
    c.dials[DUAL], c.dials[SIZE], c.dials[RESPONSES] = 0, 0, 1
    return margin


@numba.njit(**INNER)
def trusted(
    scale: Vector, total: Matrix, centre: Vector, d: int, penalty: float, intercept: bool
) -> float:
    """0 where a feature is constant but for rounding, or too small beside another; else 1.

    And 0 where no row has weight. One that is 0 in all rows does no harm if it is penalised.
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
    """Centre on the mean of [a, b); the sums are not kept in this form: they start anew."""
    turn_over(s, x, y, a, b, intercept)
    s.dials[SEEN] = NEVER


@shared()
def form_dual(
    c: Core, x: Matrix, y: Responses, a: int, b: int, first: int, penalty: float, intercept: bool
) -> float:
    """Solve the core [a, b) of at most p rows, centred before; the margin.

    The rows from ``first`` on are those that the constant feature is to resemble.
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
    c.values[PENALTY], c.values[RHO], c.values[CONSTANT] = penalty, penalty, constant
    c.values[LEAST] = 10.0 * SAFE  # Z is what is left of a row: it has lost digits already
    c.dials[DUAL], c.dials[SIZE], c.dials[RESPONSES] = 1, n, responses
    fill(c.scale, 0.0)
    for i in range(n):
        for j in range(c.scale.size):
            c.scale[j] += rows[i, j] ** 2
    return margin


@numba.njit(**INNER)
def _place_core(
    c: Core, x: Matrix, y: Responses, a: int, b: int, first: int, intercept: bool
) -> float:
    """Copy the core's rows, centred and weighed; the constant feature."""
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
    """Put ``count`` rows of x, from ``row`` on, outside the core from place ``at`` on: U and r."""
    d, centre, theta = x.shape[1], c.centre, c.theta
    dual, constant = c.dials[DUAL] == 1, c.values[CONSTANT]
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
    if c.dials[DUAL] == 0:
        symmetric_times(c.inverse, u, z)
        return
    n = c.dials[SIZE]
    inside, alpha = part(c.scratch, 0, n), part(c.scratch, n, 2 * n)
    for i in range(n):
        inside[i] = dot(c.rows[i], u)
    symmetric_times(take(c.inverse, 0, n, n), inside, alpha)
    copy(u, z)
    add_rows(alpha, c.rows, -1.0, z)


@shared()
def join(c: Core, o: Outside, lo: int, at: int, count: int) -> None:
    """Rows of Z and S for the rows placed at ``at``; S against those from ``lo`` on."""
    rho, dual = c.values[RHO], c.dials[DUAL] == 1
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
    if c.dials[DUAL] == 0:
        multiply(u, c.inverse, z, 1.0, 0.0)
    else:
        n = c.dials[SIZE]
        rows, inverse = part(c.rows, 0, n), take(c.inverse, 0, n, n)
        inside, alpha = take(c.scratch, 0, k, n), take(c.scratch, k * n, k, n)
        multiply_transposed(u, rows, inside, 1.0, 0.0)
        multiply(inside, inverse, alpha, 1.0, 0.0)
        for i in range(k):
            copy(u[i], z[i])
        multiply(alpha, rows, z, -1.0, 1.0)
    multiply_transposed(z, u, block(o.schur, 0, k, 0, k), 1.0, 0.0)
    weigh(o, c.values[RHO], c.dials[DUAL] == 1, k - u.shape[0], k)


@numba.njit(**INNER)
def weigh(o: Outside, rho: float, dual: bool, lo: int, hi: int) -> None:
    """Add rho I to S, and note what its pivots were before other rows were projected out."""
    for i in range(lo, hi):
        o.schur[i, i] += rho
        o.weight[i] = dot(o.rows[i], o.rows[i]) + rho if dual else o.schur[i, i]


@shared()
def finish(c: Core, theta: Matrix, d: int, intercept: bool, coef: Vector) -> float:
    """From the solution in centred features to coefficients and intercept."""
    for j in range(d):
        coef[j] = theta[0, j]
    if not intercept:
        return 0.0
    level = theta[0, d]
    if c.dials[DUAL] == 1:
        level = theta[0, d] / theta[1, d]
        for j in range(d):
            coef[j] -= level * theta[1, j]
    return level + c.centre[d + 1] - dot(coef, part(c.centre, 0, d))

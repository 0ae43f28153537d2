"""Coefficients of the live rows: from a core and the rows outside it, to the penalty of the moment.

See ``core`` for the first step. The core keeps the penalty that it was formed with; for the second
step, to another penalty, it is a nearly perfect preconditioner of conjugate gradients.
"""

from __future__ import annotations

from typing import NamedTuple

import numba

from efface.engine.events.core import (
    DUAL,
    LEAST,
    PENALTY,
    RESPONSES,
    RHO,
    Core,
    Outside,
    add_rows,
    apply,
)
from efface.engine.events.penalty import END, FIRST, HEAD, START, STOP, WIDTH
from efface.engine.jit.compilation import INNER
from efface.engine.jit.views import Ints, Matrix, Vector, part, take
from efface.engine.linalg.cancellation import Terms, each_keeps_digits, largest_keeps_digits
from efface.engine.linalg.dense import add_row, copy, dot, factorise, fill, lopsided, solve

_CLOSE = 1e-12  # of the solution, in norm: where conjugate gradients stop
_MOST_STEPS = 40


class Work(NamedTuple):
    """Where the rows outside the core are solved."""

    theta: Matrix  # (2, p)
    factor: Matrix  # (k, k)
    weights: Matrix  # (2, k)
    vectors: Matrix  # (4, p)


@numba.njit(**INNER)
def solve_outside(c: Core, o: Outside, w: Work, dials: Ints, penalty: float) -> bool:
    """theta from the core and the rows outside it; False where rounding would show."""
    lo = dials[HEAD] - dials[FIRST]
    k = dials[START] - dials[FIRST] + dials[END] - dials[STOP] - lo
    factor, weight = take(w.factor, 0, k, k), part(o.weight, lo, lo + k)
    images = part(o.images, lo, lo + k)
    for i in range(k):
        for j in range(i, k):
            factor[i, j] = o.schur[lo + i, lo + j]
    if not factorise(factor, w.weights[0], weight) >= c.values[LEAST]:
        return False
    if penalty == 0.0 and lopsided(weight):
        return False
    for g in range(c.dials[RESPONSES]):
        theta, weights = w.theta[g], part(w.weights[g], 0, k)
        copy(part(o.residual[g], lo, lo + k), weights)
        solve(factor, weights)
        copy(c.theta[g], theta)
        add_rows(weights, images, 1.0, theta)
    return _outlasts(c, o, w.theta, w.weights, lo, k, dials[WIDTH])


@numba.njit(**INNER)
def _outlasts(c: Core, o: Outside, theta: Matrix, weights: Matrix, lo: int, k: int, d: int) -> bool:
    """Is enough left of the terms of the coefficients, for k rows outside the core from ``lo`` on?

    See ``cancellation``.
    """
    slope = theta[0, d] / theta[1, d] if c.dials[RESPONSES] == 2 else 0.0
    reach = 0.0
    for i in range(k):
        w = max(abs(weights[0, i]), abs(slope * weights[1, i]))
        reach = max(reach, w * w * o.weight[lo + i])
    t = Terms(theta[0], theta[1], slope, c.terms, reach, c.scale, c.dials[DUAL] == 1)
    if each_keeps_digits(t, d):
        return True
    squares = part(c.scratch, 0, d)
    for j in range(d):
        squares[j] = c.scale[j]
        for i in range(lo, lo + k):
            squares[j] += o.rows[i, j] ** 2
    done = largest_keeps_digits(t, squares, d)
    fill(squares, 0.0)
    return done


@numba.njit(**INNER)
def bridge_all(c: Core, o: Outside, w: Work, dials: Ints, penalty: float) -> bool:
    """From the core's penalty to that of the moment, for every response just solved."""
    if penalty == c.values[PENALTY]:
        return True
    lo = dials[HEAD] - dials[FIRST]
    k = dials[START] - dials[FIRST] + dials[END] - dials[STOP] - lo
    images, factor = part(o.images, lo, lo + k), take(w.factor, 0, k, k)
    free = w.theta.shape[1] if c.dials[DUAL] == 1 else dials[WIDTH]
    for g in range(c.dials[RESPONSES]):
        if not _bridge(c, images, factor, w, w.theta[g], penalty, free):
            return False
    return c.dials[RESPONSES] == 1 or _stands_out(w.theta, dials[WIDTH])


@numba.njit(**INNER)
def _stands_out(theta: Matrix, d: int) -> bool:
    """Is a hundredth left of a solution once that of ones is taken away?

    For one that conjugate gradients brought to a penalty: it has some digits less, and what the
    slope lacks of them comes back with ones.
    """
    slope, before, after, ones = theta[0, d] / theta[1, d], 0.0, 0.0, 0.0
    for j in range(d):
        before += theta[0, j] ** 2
        ones += theta[1, j] ** 2
        after += (theta[0, j] - slope * theta[1, j]) ** 2
    behind = before + theta[0, d] ** 2 + slope * slope * (ones + theta[1, d] ** 2)
    return after >= 1e-4 * (before + behind * ones / theta[1, d] ** 2)


@numba.njit(**INNER)
def _precondition(
    c: Core, images: Matrix, factor: Matrix, weights: Vector, g: Vector, out: Vector
) -> None:
    """out = H0^-1 g, H0 being the system of all live rows with the core's penalty."""
    apply(c, g, out)
    withdraw(c, images, factor, weights, g, out)


@numba.njit(**INNER)
def withdraw(
    c: Core, images: Matrix, factor: Matrix, weights: Vector, g: Vector, out: Vector
) -> None:
    """From M g to H0^-1 g: what the rows outside the core take away."""
    for i in range(weights.size):
        weights[i] = dot(images[i], g)
    solve(factor, weights)
    add_rows(weights, images, -1.0, out)
    if c.values[RHO] != 1.0:
        for j in range(out.size):
            out[j] /= c.values[RHO]


@numba.njit(**INNER)
def _bridge(
    c: Core, images: Matrix, factor: Matrix, w: Work, theta: Vector, penalty: float, free: int
) -> bool:
    """From the solution for the core's penalty to that for ``penalty``, by conjugate gradients.

    H = H0 + shift J, so H z = r + shift J z for z = H0^-1 r: no product with H is ever formed. J
    is the identity on the first ``free`` entries: not on the intercept of the primal form.
    """
    shift, weights = penalty - c.values[PENALTY], part(w.weights[1], 0, factor.shape[0])
    r, z, step, image = w.vectors[0], w.vectors[1], w.vectors[2], w.vectors[3]
    fill(w.vectors, 0.0)
    for j in range(free):
        r[j] = -shift * theta[j]
    size = part(theta, 0, free)
    before, floor = 1.0, c.values[PENALTY] if free == r.size else 0.0
    for i in range(_MOST_STEPS):
        enough = _CLOSE**2 * penalty * dot(size, size)
        if dot(r, r) <= enough * floor:  # no eigenvalue of H0 is below its penalty: energy is less
            return True
        _precondition(c, images, factor, weights, r, z)
        energy = dot(r, z)
        if energy <= enough:
            return True
        ratio = energy / before if i > 0 else 0.0
        for j in range(r.size):
            step[j] = z[j] + ratio * step[j]
            image[j] = r[j] + (shift * z[j] if j < free else 0.0) + ratio * image[j]
        length = energy / dot(step, image)
        add_row(length, step, theta)
        add_row(-length, image, r)
        before = energy
    return False

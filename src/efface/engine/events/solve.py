"""Coefficients of the live rows: from the core and the rows outside it, to the present penalty.

See ``core`` for the first step. The core keeps the penalty that it was formed with. For the second
step, to another penalty, the core is a nearly perfect preconditioner of conjugate gradients.
"""

from __future__ import annotations

import numba

from efface.engine.events.core import Core, Outside, add_rows, apply
from efface.engine.events.rows import Rows
from efface.engine.events.state import Stream, Work
from efface.engine.jit.compilation import INNER
from efface.engine.jit.views import ROOT, VALUE, WEIGHT, Matrix, Vector, part, take
from efface.engine.linalg.cancellation import Terms, each_keeps_digits, largest_keeps_digits
from efface.engine.linalg.dense import add_row, copy, dot, factorise, fill, lopsided, solve

_CLOSE = 1e-12  # of the solution, in norm: where conjugate gradients stop
_MOST_STEPS = 40


@numba.njit(**INNER)
def outside_rows(s: Stream, r: Rows) -> tuple[int, int]:
    """The place of the first live row outside the core, and how many there are."""
    state, head = s.state, r.span.head
    return head - state.tail_start, state.core_start - head + r.span.end - state.core_end


@numba.njit(**INNER)
def solve_outside(s: Stream, r: Rows, penalty: float) -> bool:
    """theta from the core and the rows outside it; False where rounding would show."""
    c, o, w = s.core, s.outside, s.work
    lo, k = outside_rows(s, r)
    factor, weight = take(w.factor, 0, k, k), part(o.weight, lo, lo + k)
    images = part(o.images, lo, lo + k)
    for i in range(k):
        for j in range(i, k):
            factor[i, j] = o.schur[lo + i, lo + j]
    margin = factorise(factor, w.weights[0], weight)
    if not margin >= c.state.margin:
        return False
    if penalty == 0.0 and lopsided(weight):
        return False
    for g in range(c.state.responses):
        theta, weights = w.theta[g], part(w.weights[g], 0, k)
        copy(part(o.residual[g], lo, lo + k), weights)
        solve(factor, weights)
        copy(c.theta[g], theta)
        add_rows(weights, images, 1.0, theta)
    return _outlasts(s, o, lo, k, min(margin, c.state.reached))


@numba.njit(**INNER)
def _outlasts(s: Stream, o: Outside, lo: int, k: int, margin: float) -> bool:
    """Do the coefficients keep enough digits after their terms cancel? See ``cancellation``.

    For k rows outside the core, from ``lo`` on.
    """
    c, theta, weights, d = s.core, s.work.theta, s.work.weights, s.state.width
    slope = theta[0, d] / theta[1, d] if c.state.responses == 2 else 0.0
    reach = 0.0
    for i in range(k):
        w = max(abs(weights[0, i]), abs(slope * weights[1, i]))
        reach = max(reach, w * w * o.weight[lo + i])
    t = Terms(theta[0], theta[1], slope, c.terms, reach, c.scale, c.state.dual == 1, margin)
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
def change_penalty(s: Stream, r: Rows, penalty: float) -> bool:
    """From the core's penalty to the present one, for every response just solved."""
    c, w, d = s.core, s.work, s.state.width
    if penalty == c.state.penalty:
        return True
    lo, k = outside_rows(s, r)
    images, factor = part(s.outside.images, lo, lo + k), take(w.factor, 0, k, k)
    free = w.theta.shape[1] if c.state.dual == 1 else d
    for g in range(c.state.responses):
        if not _descend(c, images, factor, w, w.theta[g], penalty, free):
            return False
    return c.state.responses == 1 or _keeps_digits(w.theta, d)


@numba.njit(**INNER)
def _keeps_digits(theta: Matrix, d: int) -> bool:
    """Is a hundredth left of a solution after that for ones is subtracted?

    For solutions from conjugate gradients, which have fewer digits: an error of the slope is
    multiplied by the solution for ones.
    """
    slope, before, after, ones = theta[0, d] / theta[1, d], 0.0, 0.0, 0.0
    for j in range(d):
        before += theta[0, j] ** 2
        ones += theta[1, j] ** 2
        after += (theta[0, j] - slope * theta[1, j]) ** 2
    behind = before + theta[0, d] ** 2 + slope * slope * (ones + theta[1, d] ** 2)
    return after >= 1e-4 * (before + behind * ones / theta[1, d] ** 2)


@numba.njit(**INNER)
def withdraw(
    c: Core, images: Matrix, factor: Matrix, weights: Vector, g: Vector, out: Vector
) -> None:
    """From M g to H0^-1 g: subtract the share of the rows outside the core."""
    for i in range(weights.size):
        weights[i] = dot(images[i], g)
    solve(factor, weights)
    add_rows(weights, images, -1.0, out)
    if c.state.rho != 1.0:
        for j in range(out.size):
            out[j] /= c.state.rho


@numba.njit(**INNER)
def _descend(
    c: Core, images: Matrix, factor: Matrix, w: Work, theta: Vector, penalty: float, free: int
) -> bool:
    """From the solution for the core's penalty to that for ``penalty``, by conjugate gradients.

    H = H0 + shift J, so H z = r + shift J z for z = H0^-1 r: no product with H is ever formed. J
    is the identity on the first ``free`` entries, which excludes the intercept of the primal form.
    """
    shift, weights = penalty - c.state.penalty, part(w.weights[1], 0, factor.shape[0])
    r, z, step, image = w.vectors[0], w.vectors[1], w.vectors[2], w.vectors[3]
    fill(w.vectors, 0.0)
    for j in range(free):
        r[j] = -shift * theta[j]
    size = part(theta, 0, free)
    before, floor = 1.0, c.state.penalty if free == r.size else 0.0
    for i in range(_MOST_STEPS):
        enough = _CLOSE**2 * penalty * dot(size, size)
        if dot(r, r) <= enough * floor:  # no eigenvalue of H0 is below its penalty: energy is less
            return True
        apply(c, r, z)
        withdraw(c, images, factor, weights, r, z)
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


@numba.njit(**INNER)
def residual_square(s: Stream, r: Rows, start: Vector, kept: float) -> float:
    """The weighted residual sum of squares of the live rows; ``start`` is scratch of length p.

    The core leaves y'y - b'theta_0, and the rows outside it add r' S^-1 r. A penalty that moved by
    ``shift`` adds shift theta_0'theta to the penalised sum. Where less than ``kept`` of the squared
    responses is left, residuals are summed by row.
    """
    c, w, state, total = s.core, s.work, s.state, s.sums.total
    if c.state.dual == 1:
        return _residual_square_by_row(s, r, start)
    d, p, (lo, k) = state.width, start.size, outside_rows(s, r)
    offset = 0.0 if state.has_intercept == 1 else c.centre[d + 1]
    middle = c.centre[d + 1] - offset
    count, linear = total[d, d], total[d + 1, d]
    squares = total[d + 1, d + 1] + offset * (2.0 * linear + offset * count)
    left = squares
    for j in range(p):
        left -= (total[d + 1, j] + offset * total[d, j]) * c.theta[0, j]
    copy(c.theta[0], start)
    for i in range(k):
        weight = w.weights[0, i]
        left += s.outside.residual[0, lo + i] * weight
        add_row(weight, s.outside.images[lo + i], start)
        at = place_of(s, r, i, k)
        squares += (r.y[at, ROOT] * (r.y[at, VALUE] - middle)) ** 2
    shift = state.penalty - c.state.penalty
    if shift != 0.0:
        left += shift * dot(part(start, 0, d), part(w.theta[0], 0, d))
    left -= state.penalty * dot(s.coef, s.coef)
    return left if left > kept * squares else _residual_square_by_row(s, r, start)


@numba.njit(**INNER)
def place_of(s: Stream, r: Rows, i: int, k: int) -> int:
    """Where the i-th of the k live rows outside the core lies."""
    head = r.span.head
    return head + i if i < s.state.core_start - head else r.span.end - k + i


@numba.njit(**INNER)
def _residual_square_by_row(s: Stream, r: Rows, away: Vector) -> float:
    c, d, theta = s.core, s.state.width, s.work.theta
    middle, level, total = 0.0, 0.0, 0.0
    if s.state.has_intercept == 1:
        middle = c.centre[d + 1]
        level = theta[0, d] / theta[1, d] if c.state.dual == 1 else theta[0, d]
    for i in range(r.span.head, r.span.end):
        for j in range(d):
            away[j] = r.x[i, j] - c.centre[j]
        residual = r.y[i, VALUE] - middle - level - dot(part(away, 0, d), s.coef)
        total += r.y[i, WEIGHT] * (residual * residual)
    return total

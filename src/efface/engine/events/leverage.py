"""How far a row lies from the live rows, and how far those lie from their regression.

A row u has the leverage u' H^-1 u, H being the system of the live rows: Phi + penalty I, and the
unpenalised constant where there is an intercept. Live rows are those of the system, multiplied by
the roots of their weights; a new row weighs 1. Rows outside the core have their images under its
inverse already, a row that comes costs one product with it, and conjugate gradients take the
products to the penalty of the moment, all rows in one pass over the inverse. Where the core does
not hold, or says nothing about the rank, the singular values of the rows do (see ``spectrum``).
"""

from __future__ import annotations

import numba
import numpy as np

from efface.engine.events.core import CONSTANT, DUAL, PENALTY, RHO, SIZE, Core, apply
from efface.engine.events.penalty import (
    END,
    FIRST,
    HARD,
    HEAD,
    INTERCEPT,
    LAMBDA,
    START,
    STOP,
    VALID,
    WIDTH,
)
from efface.engine.events.solve import withdraw
from efface.engine.events.stream import COMPACT, Stream, open_stream
from efface.engine.jit.compilation import FAST, INNER, KERNEL
from efface.engine.jit.views import ROOT, VALUE, WEIGHT, Ints, Matrix, Responses, Vector, part, take
from efface.engine.linalg.dense import add_row, copy, dot, fill, solve

# Beside what a stream needs: singular values of the rows, their rank.
SPECTRAL, UNRANKED = COMPACT + 1, COMPACT + 2
REACH, STRETCH, UNEXPLAINED, SCATTER, SIZE_2, HEFT = range(6)  # places in a column of gauges
GAUGES = 6
_ROOM = 14
GAUGES_KEPT = 1e-6  # of the responses' squares: less left, and residuals are summed from the rows
_CLOSE = 1e-11  # of a leverage
_MOST_STEPS = 40


def room_for(width: int, intercept: int, outside: int) -> Matrix:
    """Scratch for the kernels below, and weights for as many rows as may be outside a core."""
    p = width + intercept
    return np.zeros((_ROOM + 2 * (1 + outside // p), p))


@numba.njit(**INNER)
def within_core(s: Stream, solved: bool) -> bool:
    """Do the core and the rows outside it tell leverages? Else ``spectrum`` does."""
    bare = s.core.dials[DUAL] == 1 and s.values[LAMBDA] == 0.0
    return solved and s.dials[VALID] == 1 and s.dials[HARD] == 0 and not bare


@numba.njit(**INNER)
def leverages(
    s: Stream, x: Matrix, y: Responses, row: Vector, room: Matrix, count: int
) -> tuple[float, float]:
    """<row, row> and, if ``count`` is 2, <row, oldest> in the inverse of the live rows' system.

    Leaves rows in room[:2], their images in room[2:4], and what those lack in room[4:6].
    """
    c, w, dials, d, p = s.core, s.work, s.dials, s.dials[WIDTH], room.shape[1]
    head, penalty = dials[HEAD], s.values[LAMBDA]
    lo, k = head - dials[FIRST], dials[START] - head + dials[END] - dials[STOP]
    images, factor = part(s.outside.images, lo, lo + k), take(w.factor, 0, k, k)
    work, dual = take(room, _ROOM * p, 2, max(p, k)), c.dials[DUAL] == 1
    u, z = part(room, 0, count), part(room, 2, 2 + count)
    for j in range(d):
        u[0, j] = row[j] - c.centre[j]
    if count == 2:
        for j in range(d):
            u[1, j] = y[head, ROOT] * (x[head, j] - c.centre[j])
    for i in range(count):
        if p > d:
            u[i, d] = (y[head, ROOT] if i == 1 else 1.0) * c.values[CONSTANT]
        if i == 1 and k > 0 and dials[START] > head:
            copy(images[0], z[i])
        else:
            apply(c, u[i], z[i])
    _withdraw_all(c, images, factor, work, u, z)
    fill(part(room, 4, 6), 0.0)
    if penalty != c.values[PENALTY]:
        _bridge(c, images, factor, work, room, count, penalty, p if dual else d)
    new, cross = _product(room, 0, 0), _product(room, 0, 1) if count == 2 else 0.0
    if dual and p > d:
        new += _constant(s, u[0], u[0])
        cross += _constant(s, u[0], u[1]) if count == 2 else 0.0
    return new, cross


@numba.njit(**INNER)
def oldest_leverage(s: Stream, room: Matrix) -> float:
    """<oldest, oldest>, after ``leverages`` with a count of 2."""
    old = _product(room, 1, 1)
    if s.core.dials[DUAL] == 1 and room.shape[1] > s.dials[WIDTH]:
        old += _constant(s, room[1], room[1])
    return old


@numba.njit(**INNER)
def _product(room: Matrix, i: int, j: int) -> float:
    """u_i' H^-1 u_j from approximate images: what is left out is a product of two residuals."""
    return dot(room[i], room[2 + j]) + dot(room[2 + i], room[4 + j])


@numba.njit(**INNER)
def _constant(s: Stream, u: Vector, v: Vector) -> float:
    """What the dual form's penalty on the constant takes from a product, by Sherman and Morrison.

    With theta_1, the solution for ones, penalty H^-1 e = e - constant theta_1.
    """
    d, ones, constant = s.dials[WIDTH], s.work.theta[1], s.core.values[CONSTANT]
    weight = constant / (s.values[LAMBDA] * ones[d])
    return weight * (u[d] / constant - dot(u, ones)) * (v[d] / constant - dot(v, ones))


@numba.njit(**INNER)
def _apply_all(c: Core, rows: Matrix, out: Matrix) -> None:
    """``apply`` for each row; for two of them the inverse is read once, two of its rows a time."""
    if c.dials[DUAL] == 1 or rows.shape[0] == 1:
        for i in range(rows.shape[0]):
            apply(c, rows[i], out[i])
        return
    last = out.shape[1] - 1
    for j in range(0, last + 1, 2):
        k = min(j + 1, last)
        u, v = c.inverse[j], c.inverse[k]
        out[0, j], out[1, j], out[0, k], out[1, k] = _dots(u, v, rows[0], rows[1])


@numba.njit(**INNER, fastmath=FAST)
def _dots(a: Vector, b: Vector, u: Vector, v: Vector) -> tuple[float, float, float, float]:
    au, av, bu, bv = 0.0, 0.0, 0.0, 0.0
    for j in range(a.size):
        au += a[j] * u[j]
        av += a[j] * v[j]
        bu += b[j] * u[j]
        bv += b[j] * v[j]
    return au, av, bu, bv


@numba.njit(**INNER)
def _withdraw_all(
    c: Core, images: Matrix, factor: Matrix, work: Matrix, g: Matrix, out: Matrix
) -> None:
    """``withdraw`` for each row of g; for two of them the images are read once."""
    k = images.shape[0]
    if g.shape[0] == 1:
        withdraw(c, images, factor, part(work[0], 0, k), g[0], out[0])
        return
    first, second = part(work[0], 0, k), part(work[1], 0, k)
    for j in range(0, k, 2):
        i = min(j + 1, k - 1)
        first[j], second[j], first[i], second[i] = _dots(images[j], images[i], g[0], g[1])
    solve(factor, first)
    solve(factor, second)
    for j in range(k):
        _add_rows(first[j], second[j], images[j], out[0], out[1])
    if c.values[RHO] != 1.0:
        for j in range(out.shape[1]):
            out[0, j] /= c.values[RHO]
            out[1, j] /= c.values[RHO]


@numba.njit(**INNER, fastmath=FAST)
def _add_rows(a: float, b: float, row: Vector, first: Vector, second: Vector) -> None:
    for j in range(row.size):
        first[j] -= a * row[j]
        second[j] -= b * row[j]


@numba.njit(**INNER)
def _bridge(
    c: Core,
    images: Matrix,
    factor: Matrix,
    work: Matrix,
    room: Matrix,
    count: int,
    penalty: float,
    free: int,
) -> None:
    """A bridge for images, until the leverages stand: half the steps that a vector needs."""
    shift = penalty - c.values[PENALTY]
    z, r, y = part(room, 2, 2 + count), part(room, 4, 4 + count), part(room, 6, 6 + count)
    step, image, past = part(room, 8, 8 + count), part(room, 10, 10 + count), part(room, 12, 14)
    fill(part(room, 8, 12), 0.0)
    for i in range(count):
        for j in range(free):
            r[i, j] = -shift * z[i, j]
    for turn in range(_MOST_STEPS):
        _apply_all(c, r, y)
        _withdraw_all(c, images, factor, work, r, y)
        running = False
        for i in range(count):
            energy, close = dot(r[i], y[i]), _CLOSE * dot(room[i], z[i])
            if energy <= close:
                continue
            ratio = energy / past[i, 0] if turn > 0 else 0.0
            _advance(y[i], r[i], step[i], image[i], z[i], shift, free, ratio, energy)
            past[i, 0] = energy
            # The next step gains at least as much as this one did, and need not be seen to.
            running |= turn == 0 or energy * ratio > close
        if not running:
            return


@numba.njit(**INNER, fastmath=FAST)
def _advance(
    y: Vector,
    r: Vector,
    step: Vector,
    image: Vector,
    z: Vector,
    shift: float,
    free: int,
    ratio: float,
    energy: float,
) -> None:
    """One step of conjugate gradients; H y = r + shift J y is never formed."""
    for j in range(r.size):
        step[j] = y[j] + ratio * step[j]
        image[j] = r[j] + ratio * image[j]
    for j in range(free):
        image[j] += shift * y[j]
    length = energy / dot(step, image)
    add_row(length, step, z)
    add_row(-length, image, r)


@numba.njit(**INNER)
def summarise(s: Stream, x: Matrix, y: Responses, room: Matrix, gauge: Vector) -> None:
    """The residuals' squares, scatter and weight of the rows, the squares of the coefficients."""
    c, d, dials = s.core, s.dials[WIDTH], s.dials
    lo, k = dials[HEAD] - dials[FIRST], dials[START] - dials[HEAD] + dials[END] - dials[STOP]
    rows, start = part(s.outside.rows, lo, lo + k), dials[START]
    total, sums, dual = s.sums.total, room[_ROOM - 1], c.dials[DUAL] == 1
    scatter, heft = 0.0, 0.0 if dual else total[d, d]
    for j in range(d):
        scatter += 0.0 if dual else total[j, j]
        sums[j] = 0.0 if dual else total[d, j]
    for i in range(k):
        at = _place_of(dials, i, k)
        scatter += dot(part(rows[i], 0, d), part(rows[i], 0, d))
        add_row(y[at, ROOT], part(rows[i], 0, d), part(sums, 0, d))
        heft += y[at, WEIGHT]
    for i in range(c.dials[SIZE] if dual else 0):
        scatter += dot(part(c.rows[i], 0, d), part(c.rows[i], 0, d))
        add_row(y[start + i, ROOT], part(c.rows[i], 0, d), part(sums, 0, d))
        heft += y[start + i, WEIGHT]
    if dials[INTERCEPT] == 1:
        scatter -= dot(part(sums, 0, d), part(sums, 0, d)) / heft
    gauge[SCATTER], gauge[HEFT] = max(scatter, 0.0), heft
    gauge[SIZE_2] = dot(s.coef, s.coef)
    gauge[UNEXPLAINED] = _unexplained(s, x, y, room, gauge[SIZE_2], k)


@numba.njit(**INNER)
def _place_of(dials: Ints, i: int, k: int) -> int:
    """Where the i-th of the k live rows outside the core lies."""
    return dials[HEAD] + i if i < dials[START] - dials[HEAD] else dials[END] - k + i


@numba.njit(**INNER)
def _unexplained(s: Stream, x: Matrix, y: Responses, room: Matrix, size: float, k: int) -> float:
    """The residual sum of squares: what the core leaves, and r' S^-1 r for the rows outside it.

    A penalty that moved by ``shift`` moves the penalised sum by shift theta_0' theta.
    """
    c, w, dials, total = s.core, s.work, s.dials, s.sums.total
    if c.dials[DUAL] == 1:
        return _summed(s, x, y, room[_ROOM - 1])
    d, p, lo = dials[WIDTH], room.shape[1], dials[HEAD] - dials[FIRST]
    penalty, theta, start = s.values[LAMBDA], w.theta[0], room[_ROOM - 1]
    offset = 0.0 if dials[INTERCEPT] == 1 else c.centre[d + 1]
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
        at = _place_of(dials, i, k)
        squares += (y[at, ROOT] * (y[at, VALUE] - middle)) ** 2
    shift = penalty - c.values[PENALTY]
    if shift != 0.0:
        left += shift * dot(part(start, 0, d), part(theta, 0, d))
    left -= penalty * size
    return left if left > GAUGES_KEPT * squares else _summed(s, x, y, start)


@numba.njit(**INNER)
def _summed(s: Stream, x: Matrix, y: Responses, away: Vector) -> float:
    """The residual sum of squares, row by row."""
    c, d, theta = s.core, s.dials[WIDTH], s.work.theta
    middle, level = 0.0, 0.0
    if s.dials[INTERCEPT] == 1:
        middle = c.centre[d + 1]
        level = theta[0, d] / theta[1, d] if c.dials[DUAL] == 1 else theta[0, d]
    total = 0.0
    for i in range(s.dials[HEAD], s.dials[END]):
        for j in range(d):
            away[j] = x[i, j] - c.centre[j]
        residual = y[i, VALUE] - middle - level - dot(part(away, 0, d), s.coef)
        total += y[i, WEIGHT] * (residual * residual)
    return total


@numba.njit(**KERNEL, nogil=True)
def gauge_rows(
    x: Matrix, y: Responses, floats: Vector, ints: Ints, rows: Matrix, gauges: Matrix, room: Matrix
) -> bool:
    """Gauges, one column for each of ``rows``, of a stream solved by its core; or False."""
    s = open_stream(floats, ints)
    if not within_core(s, True):
        return False
    summarise(s, x, y, room, gauges[0])
    for t in range(rows.shape[0]):
        gauges[t, REACH], _ = leverages(s, x, y, rows[t], room, 1)
        gauges[t, STRETCH] = stretch(s, room)
        for i in range(UNEXPLAINED, GAUGES):
            gauges[t, i] = gauges[0, i]
    return True


@numba.njit(**INNER)
def stretch(s: Stream, room: Matrix) -> float:
    """The squared length of the row's image, after ``leverages``."""
    image = part(room[2], 0, s.dials[WIDTH])
    return dot(image, image)

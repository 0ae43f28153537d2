"""Leverages of rows, and the residuals of the live rows, from the core and the rows outside it.

A row u has the leverage u' H^-1 u, where H is the system of the live rows: Phi + penalty I, and the
unpenalised constant where there is an intercept. Live rows are multiplied by the square roots of
their weights; a new row has weight 1. Rows outside the core have their images under its inverse
already. A new row costs one product with it. Conjugate gradients take the products to the present
penalty, all rows in one pass over the inverse. Where there is no usable core, or the core does not
show the rank, the singular values of the rows are used (see ``spectrum``).
"""

from __future__ import annotations

import numba
import numpy as np

from efface.engine.events.core import Core, apply
from efface.engine.events.rows import Rows, open_rows
from efface.engine.events.solve import outside_rows, place_of, residual_square, withdraw
from efface.engine.events.state import Stream, open_stream
from efface.engine.events.stream import FOLD
from efface.engine.jit.compilation import FAST, INNER, KERNEL
from efface.engine.jit.views import ROOT, WEIGHT, Ints, Matrix, Responses, Vector, part, take
from efface.engine.linalg.dense import add_row, copy, dot, fill, solve

# Further codes: the row is to be measured by singular values; the rank is missing.
SPECTRAL, UNRANKED = FOLD + 1, FOLD + 2
# Places in a column of gauges.
LEVERAGE, IMAGE_2, UNEXPLAINED, SCATTER, SIZE_2, TOTAL_WEIGHT = range(6)
GAUGES = 6
_ROOM = 14
GAUGES_KEPT = 1e-6  # of the squared responses: with less left, residuals are summed by row
_CLOSE = 1e-11  # of a leverage
_MOST_STEPS = 40


def room_for(width: int, intercept: int, outside: int) -> Matrix:
    """Scratch for the kernels below, and weights for as many rows as may be outside a core."""
    p = width + intercept
    return np.zeros((_ROOM + 2 * (1 + outside // p), p))


@numba.njit(**INNER)
def within_core(s: Stream, solved: bool) -> bool:
    """Do leverages follow from the core and the rows outside it? Else from ``spectrum``."""
    state = s.state
    unpenalised = s.core.state.dual == 1 and state.penalty == 0.0
    return solved and state.valid == 1 and state.refit == 0 and not unpenalised


@numba.njit(**INNER)
def leverages(s: Stream, r: Rows, row: Vector, room: Matrix, count: int) -> tuple[float, float]:
    """<row, row> and, if ``count`` is 2, <row, oldest> in the inverse of the live rows' system.

    Leaves the rows in room[:2], their images in room[2:4], and the residuals of those in room[4:6].
    """
    c, w, d, p = s.core, s.work, s.state.width, room.shape[1]
    x, y, head, penalty = r.x, r.y, r.span.head, s.state.penalty
    lo, k = outside_rows(s, r)
    images, factor = part(s.outside.images, lo, lo + k), take(w.factor, 0, k, k)
    work, dual = take(room, _ROOM * p, 2, max(p, k)), c.state.dual == 1
    u, z = part(room, 0, count), part(room, 2, 2 + count)
    for j in range(d):
        u[0, j] = row[j] - c.centre[j]
    if count == 2:
        for j in range(d):
            u[1, j] = y[head, ROOT] * (x[head, j] - c.centre[j])
    for i in range(count):
        if p > d:
            u[i, d] = (y[head, ROOT] if i == 1 else 1.0) * c.state.constant
        if i == 1 and k > 0 and s.state.core_start > head:
            copy(images[0], z[i])
        else:
            apply(c, u[i], z[i])
    _withdraw_all(c, images, factor, work, u, z)
    fill(part(room, 4, 6), 0.0)
    if penalty != c.state.penalty:
        _descend(c, images, factor, work, room, count, penalty, p if dual else d)
    new, cross = _product(room, 0, 0), _product(room, 0, 1) if count == 2 else 0.0
    if dual and p > d:
        new += _constant(s, u[0], u[0])
        cross += _constant(s, u[0], u[1]) if count == 2 else 0.0
    return new, cross


@numba.njit(**INNER)
def oldest_leverage(s: Stream, room: Matrix) -> float:
    """<oldest, oldest>, after ``leverages`` with a count of 2."""
    old = _product(room, 1, 1)
    if s.core.state.dual == 1 and room.shape[1] > s.state.width:
        old += _constant(s, room[1], room[1])
    return old


@numba.njit(**INNER)
def _product(room: Matrix, i: int, j: int) -> float:
    """u_i' H^-1 u_j from approximate images; the error is a product of two residuals."""
    return dot(room[i], room[2 + j]) + dot(room[2 + i], room[4 + j])


@numba.njit(**INNER)
def _constant(s: Stream, u: Vector, v: Vector) -> float:
    """The correction of a product for the dual form's penalty on the constant (Sherman-Morrison).

    With theta_1, the solution for ones, penalty H^-1 e = e - constant theta_1.
    """
    d, ones, constant = s.state.width, s.work.theta[1], s.core.state.constant
    weight = constant / (s.state.penalty * ones[d])
    return weight * (u[d] / constant - dot(u, ones)) * (v[d] / constant - dot(v, ones))


@numba.njit(**INNER)
def _apply_all(c: Core, rows: Matrix, out: Matrix) -> None:
    """``apply`` for each row; for two of them the inverse is read once, two of its rows a time."""
    if c.state.dual == 1 or rows.shape[0] == 1:
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
    if c.state.rho != 1.0:
        for j in range(out.shape[1]):
            out[0, j] /= c.state.rho
            out[1, j] /= c.state.rho


@numba.njit(**INNER, fastmath=FAST)
def _add_rows(a: float, b: float, row: Vector, first: Vector, second: Vector) -> None:
    for j in range(row.size):
        first[j] -= a * row[j]
        second[j] -= b * row[j]


@numba.njit(**INNER)
def _descend(
    c: Core,
    images: Matrix,
    factor: Matrix,
    work: Matrix,
    room: Matrix,
    count: int,
    penalty: float,
    free: int,
) -> None:
    """Conjugate gradients for images, until the leverages converge: half the steps of a vector."""
    shift = penalty - c.state.penalty
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
            # The next step gains at least as much as this one did, and needs no check.
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
def summarise(s: Stream, r: Rows, room: Matrix, gauge: Vector) -> None:
    """Squared residuals, scatter and weight of the live rows, and squared coefficients."""
    c, d, y, (lo, k) = s.core, s.state.width, r.y, outside_rows(s, r)
    rows, start = part(s.outside.rows, lo, lo + k), s.state.core_start
    total, sums, dual = s.sums.total, room[_ROOM - 1], c.state.dual == 1
    scatter, weight = 0.0, 0.0 if dual else total[d, d]
    for j in range(d):
        scatter += 0.0 if dual else total[j, j]
        sums[j] = 0.0 if dual else total[d, j]
    for i in range(k):
        at = place_of(s, r, i, k)
        scatter += dot(part(rows[i], 0, d), part(rows[i], 0, d))
        add_row(y[at, ROOT], part(rows[i], 0, d), part(sums, 0, d))
        weight += y[at, WEIGHT]
    for i in range(c.state.n_rows if dual else 0):
        scatter += dot(part(c.rows[i], 0, d), part(c.rows[i], 0, d))
        add_row(y[start + i, ROOT], part(c.rows[i], 0, d), part(sums, 0, d))
        weight += y[start + i, WEIGHT]
    if s.state.has_intercept == 1:
        scatter -= dot(part(sums, 0, d), part(sums, 0, d)) / weight
    gauge[SCATTER], gauge[TOTAL_WEIGHT] = max(scatter, 0.0), weight
    gauge[SIZE_2] = dot(s.coef, s.coef)
    gauge[UNEXPLAINED] = residual_square(s, r, sums, GAUGES_KEPT)


@numba.njit(**KERNEL, nogil=True)
def gauge_rows(
    x: Matrix, y: Responses, span: Ints, store: Vector, rows: Matrix, gauges: Matrix, room: Matrix
) -> bool:
    """Gauges of each of ``rows``, of a stream that was solved by its core; False if it was not."""
    s, r = open_stream(store), open_rows(x, y, span)
    if not within_core(s, True):
        return False
    summarise(s, r, room, gauges[0])
    for t in range(rows.shape[0]):
        gauges[t, LEVERAGE], _ = leverages(s, r, rows[t], room, 1)
        gauges[t, IMAGE_2] = image_square(s, room)
        for i in range(UNEXPLAINED, GAUGES):
            gauges[t, i] = gauges[0, i]
    return True


@numba.njit(**INNER)
def image_square(s: Stream, room: Matrix) -> float:
    """The squared length of the row's image, after ``leverages``."""
    image = part(room[2], 0, s.state.width)
    return dot(image, image)

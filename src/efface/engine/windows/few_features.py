"""Few features: each window's own normal equations, eight windows side by side.

The windows share a core of rows, whose sums are in every lane; a window's few rows more, the last
of those about to leave and the first of those that came, are added in its own.
"""

from __future__ import annotations

import numba
import numpy as np

from efface.engine.events.core import carried_off, gather, trusted
from efface.engine.jit.compilation import INNER, KERNEL
from efface.engine.jit.simd import (
    LANES,
    TILE,
    add_dot,
    aligned,
    entries_for,
    padded,
    set_all,
    set_inverse,
    set_split,
    solve_lanes,
)
from efface.engine.jit.views import ROOT, VALUE, Ints, Matrix, Responses, Vector, part, take
from efface.engine.linalg.dense import fill
from efface.engine.sums.sliding import (
    NEVER,
    SEEN,
    Sums,
    carve_sums,
    depth_for,
    room_for_sums,
    weight_of,
)

OWN = LANES - 1
MOST_UNKNOWNS = 28  # unknowns: with more, windows are solved faster from their core


def slide_equations(
    x: Matrix,
    y: Responses,
    s: int,
    penalty: float,
    intercept: bool,
    first: int,
    coef: Matrix,
    level: Vector,
    margin: Vector,
) -> None:
    """Coefficients, intercept and margin of the window of s rows that ends at each row.

    From row ``first`` on, up to the end, for windows of more rows than unknowns.
    """
    d, p = x.shape[1], x.shape[1] + int(intercept)
    depth = depth_for(min(s, len(y)), LANES)
    floats, ints = room_for_sums(d, depth)
    lanes = (entries_for(p) + (padded(p) + TILE) * OWN) * LANES
    store, dials = aligned(lanes + floats), np.zeros(ints, np.int64)
    problem, answers = (x, y, s, penalty, intercept, first), (coef, level, margin)
    _slide_equations(*problem, *answers, store, lanes, dials, depth)


@numba.njit(**KERNEL, nogil=True)
def _slide_equations(
    x: Matrix,
    y: Responses,
    s: int,
    penalty: float,
    intercept: bool,
    first: int,
    coef: Matrix,
    level: Vector,
    margin: Vector,
    store: Vector,
    lanes: int,
    ints: Ints,
    depth: int,
) -> None:
    n, d = x.shape
    f = take(store, 0, lanes // LANES, LANES)
    sums = carve_sums(part(store, lanes, store.size), ints, d, depth)
    sums.dials[SEEN] = NEVER
    t = first
    while t < n:
        count = min(LANES, n - t, max(1, min(t + 1, s) // 2))
        _solve(f, sums, x, y, t, count, s, penalty, intercept, coef, level, margin)
        t += count


@numba.njit(**INNER)
def _solve(
    f: Matrix,
    sums: Sums,
    x: Matrix,
    y: Responses,
    t: int,
    count: int,
    s: int,
    penalty: float,
    intercept: bool,
    coef: Matrix,
    level: Vector,
    margin: Vector,
) -> None:
    """Windows that end at rows t .. t + count - 1, each from its own normal equations."""
    d = x.shape[1]
    p = d + 1 if intercept else d
    m = padded(p)
    own = entries_for(m)
    gather(sums, x, y, max(0, t + count - s), t + 1, count, intercept)
    own_weight = weight_of(y, max(0, t - s + 1), max(0, t + count - s))
    own_weight += weight_of(y, t + 1, t + count)
    scale = take(f, 0, 1, p)[0]  # the lanes are not filled yet
    for i in range(p):
        scale[i] = sums.total[i, i]
    sound = trusted(scale, sums.total, sums.centre, d, penalty, intercept) > 0.0
    if not sound or carried_off(sums, d, own_weight, intercept):
        fill(part(margin, t, t + count), 0.0)
        return
    _spread_core(f, sums.total, d, p, penalty, 0.0 if intercept else sums.centre[d + 1])
    _spread_rows(f, own, x, y, sums.centre, t, count, s, p)
    _weigh_lanes(f, m, own)
    solve_lanes(f, m, 1, own, OWN)
    _collect(f, m, sums.centre, t, count, intercept, coef, level, margin)


@numba.njit(**INNER)
def _spread_core(f: Matrix, total: Matrix, d: int, p: int, penalty: float, shift: float) -> None:
    """The core's sums in every lane: matrix and right-hand side, padded by the identity."""
    m = padded(p)
    step = m + 1
    for i in range(p):
        for j in range(i):
            set_all(f, i * step + j, total[i, j])
        set_all(f, i * step + i, total[i, i] + (penalty if i < d else 0.0))
        set_all(f, m * step + i, total[d + 1, i] + shift * total[d, i])
    for i in range(p, m):
        for j in range(i):
            set_all(f, i * step + j, 0.0)
        set_all(f, i * step + i, 1.0)
        set_all(f, m * step + i, 0.0)
    for i in range((m + 1) * step, (m + TILE) * step):
        set_all(f, i, 0.0)


@numba.njit(**INNER)
def _spread_rows(
    f: Matrix,
    own: int,
    x: Matrix,
    y: Responses,
    centre: Vector,
    t: int,
    count: int,
    s: int,
    p: int,
) -> None:
    """Each lane's own rows: place i has a tail row in lanes up to i, a fresh row in those after."""
    d = x.shape[1]
    m = padded(p)
    shift = centre[d + 1] if p > d else 0.0
    for i in range(OWN):
        old, new = t - s + 1 + i, t + 1 + i
        there = old >= 0 and i < count - 1
        old, new = min(max(old, 0), t + count - 1), min(new, t + count - 1)
        has = y[old, ROOT] if there else 0.0
        comes = y[new, ROOT] if i < count - 1 else 0.0
        for j in range(d):
            before, after = has * (x[old, j] - centre[j]), comes * (x[new, j] - centre[j])
            set_split(f, own + j * OWN + i, before, after, i)
        for j in range(d, m + TILE):
            set_split(f, own + j * OWN + i, has if j < p else 0.0, comes if j < p else 0.0, i)
        before, after = has * (y[old, VALUE] - shift), comes * (y[new, VALUE] - shift)
        set_split(f, own + m * OWN + i, before, after, i)


@numba.njit(**INNER)
def _weigh_lanes(f: Matrix, m: int, own: int) -> None:
    """What the pivots are measured against: the diagonal of each lane's matrix."""
    step = m + 1
    weights = (m + TILE) * step
    for i in range(m):
        set_all(f, weights + i, f[i * step + i, 0])
        add_dot(f, weights + i, own + i * OWN, own + i * OWN, OWN)
        set_inverse(f, weights + i, weights + i)


@numba.njit(**INNER)
def _collect(
    f: Matrix,
    m: int,
    centre: Vector,
    t: int,
    count: int,
    intercept: bool,
    coef: Matrix,
    level: Vector,
    margin: Vector,
) -> None:
    d, answers = coef.shape[1], m * (m + 1)
    for i in range(count):
        margin[t + i] = f[(m + TILE) * (m + 1) + m, i]
        total = f[answers + d, i] + centre[d + 1] if intercept else 0.0
        for j in range(d):
            coef[t + i, j] = f[answers + j, i]
            total -= centre[j] * f[answers + j, i]
        level[t + i] = total if intercept else 0.0

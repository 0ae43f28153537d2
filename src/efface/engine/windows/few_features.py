"""Coefficients of every window where features are few: from each window's own normal equations.

Eight windows are solved at once: see ``systems``.
"""

from __future__ import annotations

import numba
import numpy as np

from efface.engine.jit.compilation import INNER, KERNEL
from efface.engine.jit.simd import LANES, aligned, set_all
from efface.engine.jit.views import Ints, Matrix, Responses, Vector, part, take
from efface.engine.linalg.dense import fill
from efface.engine.sums.sliding import NEVER, SEEN, carve_sums, depth_for, room_for_sums
from efface.engine.windows.systems import (
    LEVEL,
    MARGIN,
    PENALTY,
    Batch,
    Offsets,
    factorise,
    form,
    offsets_for,
    set_level,
    solve,
    uncentre_level,
)


def slide_few_features(
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

    From row ``first`` to the end, for windows of more rows than unknowns. An answer is to be used
    only where its margin is at least SAFE.
    """
    d, depth = x.shape[1], depth_for(min(s, len(y)), LANES)
    floats, ints = room_for_sums(d, depth)
    lanes = offsets_for(d, intercept, True).size * LANES
    store, dials = aligned(lanes + floats), np.zeros(ints, np.int64)
    problem, answers = (x, y, s, penalty, intercept, first), (coef, level, margin)
    _slide(*problem, *answers, store, lanes, dials, depth)


@numba.njit(**KERNEL, nogil=True)
def _slide(
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
    f, at = take(store, 0, lanes // LANES, LANES), offsets_for(d, intercept, True)
    sums = carve_sums(part(store, lanes, store.size), ints, d, depth)
    sums.dials[SEEN] = NEVER
    set_all(f, at.numbers + PENALTY, penalty)
    t = first
    while t < n:
        batch = Batch(t + 1, min(LANES, n - t, max(1, min(t + 1, s) // 2)), s)
        if form(f, at, sums, x, y, batch, penalty, intercept):
            factorise(f, at, 0)
            solve(f, at)
            _collect(f, at, sums.centre, batch, intercept, coef, level, margin)
        else:
            fill(part(margin, t, t + batch.windows), 0.0)
        t += batch.windows


@numba.njit(**INNER)
def _collect(
    f: Matrix,
    at: Offsets,
    centre: Vector,
    batch: Batch,
    intercept: bool,
    coef: Matrix,
    level: Vector,
    margin: Vector,
) -> None:
    """Copy the answers from the lanes."""
    d, theta = coef.shape[1], at.factor + at.m * at.step + 1
    if intercept:
        set_level(f, at, d)
        uncentre_level(f, at, centre, d)
    for i in range(batch.windows):
        t = batch.first - 1 + i
        margin[t] = f[at.numbers + MARGIN, i]
        level[t] = f[at.numbers + LEVEL, i] + centre[d + 1] if intercept else 0.0
        for j in range(d):
            coef[t, j] = f[theta + j, i]

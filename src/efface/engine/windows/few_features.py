"""Coefficients of every window where features are few: from each window's own normal equations.

Eight windows are solved at once: see ``systems``.
"""

from __future__ import annotations

import numba

from efface.engine.jit.compilation import INNER, KERNEL
from efface.engine.jit.records import words
from efface.engine.jit.simd import LANES, aligned, set_all
from efface.engine.jit.views import Matrix, Vector, part, take
from efface.engine.linalg.batched_cholesky import solve_row
from efface.engine.linalg.dense import fill
from efface.engine.sums.sliding import depth_for, lay_out_sums, start_sums
from efface.engine.windows.problem import Estimates, Problem
from efface.engine.windows.systems import (
    LEVEL,
    Batch,
    Offsets,
    factorise,
    form,
    offsets_for,
    set_level,
)


def slide_few_features(problem: Problem, first: int, out: Estimates) -> None:
    """The estimates from row ``first`` to the end, for windows of more rows than unknowns."""
    d, depth = problem.x.shape[1], depth_for(min(problem.s, len(problem.y)), LANES)
    lanes = offsets_for(d, problem.intercept, True).size * LANES
    store = aligned(lanes + words(lay_out_sums, d, depth))
    _slide(problem, first, out, store, lanes, depth)


@numba.njit(**KERNEL, nogil=True)
def _slide(
    problem: Problem, first: int, out: Estimates, store: Vector, lanes: int, depth: int
) -> None:
    (n, d), s, intercept = problem.x.shape, problem.s, problem.intercept
    f, at = take(store, 0, lanes // LANES, LANES), offsets_for(d, intercept, True)
    sums = lay_out_sums(store, lanes, d, depth)[0]
    start_sums(sums, False)
    set_all(f, at.penalty, problem.penalty)
    t = first
    while t < n:
        batch = Batch(t + 1, min(min(LANES, n - t), max(1, min(t + 1, s) // 2)))
        if form(f, at, sums, problem, batch):
            factorise(f, at, 0)
            solve_row(f, at, at.factor + at.m * at.step)
            if intercept:
                set_level(f, at, sums.centre, d)
            _collect(f, at, sums.centre[d + 1], batch, out)
        else:
            fill(part(out.margin, t, t + batch.windows), 0.0)
        t += batch.windows


@numba.njit(**INNER)
def _collect(f: Matrix, at: Offsets, middle: float, batch: Batch, out: Estimates) -> None:
    """Copy the answers from the lanes; ``middle`` is the centre of the responses."""
    theta, intercept = at.factor + at.m * at.step, at.eliminated == 1
    for i in range(batch.windows):
        t = batch.first - 1 + i
        out.margin[t] = f[at.margin, i]
        out.level[t] = f[at.numbers + LEVEL, i] + middle if intercept else 0.0
        for j in range(out.coef.shape[1]):
            out.coef[t, j] = f[theta + j, i]

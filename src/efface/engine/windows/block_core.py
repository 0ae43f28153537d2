"""The core of rows that the windows of a block share, the rows outside it, and their arrays.

See ``events.core`` for the primal and the dual form, and ``many_features`` for the windows.
"""

from __future__ import annotations

from typing import NamedTuple

import numba

from efface.engine.events.core import centre_dual, constant_for, gather, trusted
from efface.engine.jit.blas import multiply_transposed
from efface.engine.jit.compilation import INNER
from efface.engine.jit.simd import LANES
from efface.engine.jit.views import ROOT, VALUE, Ints, Matrix, Responses, Vector, block, part, take
from efface.engine.linalg.batched_cholesky import entries_for
from efface.engine.linalg.dense import ROWS_SCRATCH, lopsided
from efface.engine.sums.sliding import Sums, carve_sums

BAND = 32  # rows per product: a triangle by bands costs little more than half a square
DIALS = 6
DUAL, SIZE, COUNT, FIRST, TAIL, OUTSIDE = range(DIALS)


class Workspace(NamedTuple):
    """The arrays for a block of windows: p unknowns, at most k rows outside the core."""

    sums: Sums
    lanes: Matrix  # the small systems of eight windows
    rows: Matrix  # (p + k, p): X in the dual form only, U after it
    raw: Matrix  # (p + k + 2, p): A; U, or U X'; right-hand sides. Then L^-T has been applied.
    scaled: Matrix  # the same, times D^-1
    scale: Vector  # (p,)
    scratch: Vector
    schur: Matrix  # (k, k): S, the lower triangle, where two rows share a window
    diagonals: Matrix  # (length, k): S by diagonals, in which neighbouring windows are contiguous
    weight: Vector  # (k,): the inverse of what the pivots of S are compared with
    residual: Matrix  # (2, k): r, for the response and for ones
    weights: Matrix  # (2 count, k): W
    inner: Matrix  # (2 count, p): coefficients before the last step
    thetas: Matrix  # (2 count, p)
    terms: Matrix  # (3, p): the core's terms of the coefficients, see ``cancellation``; scratch
    margins: Vector  # (count,)
    dials: Ints  # dual?, rows of A, windows, first row, rows that leave, rows outside the core


def block_length(p: int) -> int:
    """Windows per block: enough to share the cost of a core, few enough rows outside it."""
    return LANES if p <= 28 else 16 if p <= 64 else 24 if p <= 160 else 48


def shapes(p: int, length: int) -> tuple[tuple[int, int], ...]:
    """The shapes of the arrays of a workspace, in the order in which they are stored."""
    k = 2 * (length - 1)
    return (
        (entries_for(length), LANES), (p + k, p), (p + k + 2, p), (p + k + 2, p), (1, p),
        (1, ROWS_SCRATCH), (k, k), (length, k), (1, k), (2, k), (2 * length, k), (2 * length, p),
        (2 * length, p), (3, p), (1, length),
    )  # fmt: skip


@numba.njit(**INNER)
def workspace(
    f: Vector, floats: Vector, ints: Ints, o: Ints, d: int, p: int, length: int, depth: int
) -> Workspace:
    """The workspace as views of flat arrays; ``o`` is where each part of ``f`` begins."""
    k = 2 * (length - 1)
    return Workspace(
        carve_sums(floats, part(ints, DIALS, ints.size), d, depth),
        take(f, o[0], (o[1] - o[0]) // LANES, LANES),
        take(f, o[1], p + k, p),
        take(f, o[2], p + k + 2, p),
        take(f, o[3], p + k + 2, p),
        part(f, o[4], o[5]),
        part(f, o[5], o[6]),
        take(f, o[6], k, k),
        take(f, o[7], length, k),
        part(f, o[8], o[9]),
        take(f, o[9], 2, k),
        take(f, o[10], 2 * length, k),
        take(f, o[11], 2 * length, p),
        take(f, o[12], 2 * length, p),
        take(f, o[13], 3, p),
        part(f, o[14], o[15]),
        part(ints, 0, DIALS),
    )


@numba.njit(**INNER)
def form_core(
    w: Workspace,
    x: Matrix,
    y: Responses,
    t: int,
    count: int,
    s: int,
    penalty: float,
    intercept: bool,
) -> None:
    """Form the core of the windows that end at rows t .. t + count - 1, and the rows outside."""
    p, dials = w.raw.shape[1], w.dials
    first, a = max(0, t - s + 1), max(0, t + count - s)
    b = max(a, t + 1)
    primal = b - a > p or (b - a == p and penalty == 0.0 and min(t + count, s) > p)
    dials[DUAL], dials[SIZE], dials[COUNT] = 0 if primal else 1, p if primal else b - a, count
    dials[FIRST], dials[TAIL], dials[OUTSIDE] = first, a - first, a - first + t + count - b
    if primal:
        gather(w.sums, x, y, a, b, count, intercept)
        _form_primal(w, x, y, b, penalty, intercept)
    else:
        _form_dual(w, x, y, a, penalty, intercept)


@numba.njit(**INNER)
def _copy_rows(
    x: Matrix,
    y: Responses,
    row: int,
    count: int,
    sums: Sums,
    constant: float,
    u: Matrix,
    r: Vector,
) -> None:
    """Copy ``count`` rows from ``row`` on, centred, times the root of their weight: x to u, y to r.

    A ``constant`` other than 0 is added as a feature.
    """
    d, centre = x.shape[1], sums.centre
    shift = centre[d + 1] if constant > 0.0 else 0.0
    for i in range(count):
        root = y[row + i, ROOT]
        for j in range(d):
            u[i, j] = root * (x[row + i, j] - centre[j])
        if constant > 0.0:
            u[i, d] = root * constant
        r[i] = root * (y[row + i, VALUE] - shift)


@numba.njit(**INNER)
def _form_primal(
    w: Workspace, x: Matrix, y: Responses, b: int, penalty: float, intercept: bool
) -> None:
    """Form A from the sums of the core, then the rows outside it and the right-hand side."""
    raw, total, d, p = w.raw, w.sums.total, x.shape[1], w.raw.shape[1]
    first, tail, k = w.dials[FIRST], w.dials[TAIL], w.dials[OUTSIDE]
    shift = 0.0 if intercept else w.sums.centre[d + 1]
    for i in range(p):
        for j in range(i + 1):
            raw[i, j] = total[i, j]
        if i < d:
            raw[i, i] += penalty
        w.scale[i] = raw[i, i]
        raw[p + k, i] = total[d + 1, i] + shift * total[d, i]
    constant = 1.0 if intercept else 0.0
    old, new = part(raw, p, p + tail), part(raw, p + tail, p + k)
    _copy_rows(x, y, first, tail, w.sums, constant, old, w.residual[0])
    _copy_rows(x, y, b, k - tail, w.sums, constant, new, part(w.residual[0], tail, k))


@numba.njit(**INNER)
def _form_dual(
    w: Workspace, x: Matrix, y: Responses, a: int, penalty: float, intercept: bool
) -> None:
    """Form A from the rows of the core, then the rows outside it and the right-hand sides."""
    raw, rows, n = w.raw, w.rows, w.dials[SIZE]
    first, tail, k = w.dials[FIRST], w.dials[TAIL], w.dials[OUTSIDE]
    b, end = a + n, n + k
    last = b if n > 0 else first + k
    start = a if n > 0 else first
    centre_dual(w.sums, x, y, start, last, intercept)
    constant = constant_for(x, y, w.sums.centre, start, last) if intercept else 0.0
    _copy_rows(x, y, a, n, w.sums, constant, rows, raw[end])
    old, new = part(rows, n, n + tail), part(rows, n + tail, end)
    _copy_rows(x, y, first, tail, w.sums, constant, old, w.residual[0])
    _copy_rows(x, y, b, k - tail, w.sums, constant, new, part(w.residual[0], tail, k))
    for i in range(n):
        raw[end + 1, i] = y[a + i, ROOT]
    for i in range(k):
        w.residual[1, i] = y[first + i if i < tail else b + i - tail, ROOT]
    for h in range(0, end, BAND):
        m = min(h + BAND, end)
        out = block(raw, h, m, 0, min(m, n))
        multiply_transposed(part(rows, h, m), part(rows, 0, min(m, n)), out, 1.0, 0.0)
    for i in range(n):
        raw[i, i] += penalty
        w.scale[i] = raw[i, i]


@numba.njit(**INNER)
def is_sound(w: Workspace, d: int, penalty: float, intercept: bool) -> bool:
    """Whether the core has full rank for certain; otherwise singular values must decide."""
    if w.dials[DUAL] == 1:
        return penalty > 0.0 or not lopsided(part(w.scale, 0, w.dials[SIZE]))
    return trusted(w.scale, w.sums.total, w.sums.centre, d, penalty, intercept) > 0.0

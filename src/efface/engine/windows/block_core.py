"""The core of rows that the windows of a block share, the rows outside it, and their arrays.

See ``events.core`` for the primal and the dual form, and ``many_features`` for the windows.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from efface.engine.events.core import centre_dual, constant_for, gather, trusted
from efface.engine.jit.blas import multiply_transposed
from efface.engine.jit.compilation import INNER
from efface.engine.jit.simd import LANES
from efface.engine.jit.views import ROOT, VALUE, Ints, Matrix, Vector, block, part, take
from efface.engine.linalg.batched_cholesky import entries_for
from efface.engine.linalg.dense import ROWS_SCRATCH, divide_rows, lopsided
from efface.engine.sums.sliding import Sums, lay_out_sums
from efface.engine.windows.problem import Problem, add_null

BAND = 32  # rows per product: a triangle by bands costs little more than half a square


class Block(NamedTuple):
    """Windows that end at row t and the rows after it; their core are rows start .. stop - 1."""

    t: int
    windows: int
    first: int  # the oldest row of the first window
    start: int
    stop: int
    outside: int  # rows outside the core
    n: int  # rows of A
    dual: bool
    responses: int  # 2 in the dual form with an intercept, else 1


class Workspace(NamedTuple):
    """The arrays for a block of windows: p unknowns, at most k rows outside the core."""

    sums: Sums
    lanes: Matrix  # the small systems of eight windows
    rows: Matrix  # (p + k, p): X in the dual form only, U after it
    raw: Matrix  # (p + k + 3, p): A; U, or U X'; right-hand sides. Then L^-T has been applied.
    scaled: Matrix  # the same, times D^-1
    scale: Vector  # (p,)
    scratch: Vector
    schur: Matrix  # (k, k): S, the lower triangle, where two rows share a window
    diagonals: Matrix  # (length, k): S by diagonals, in which neighbouring windows are contiguous
    weight: Vector  # (k,): the inverse of what the pivots of S are compared with
    residual: Matrix  # (2, k): r, for the response and for ones
    weights: Matrix  # (2 windows, k): W
    inner: Matrix  # (2 windows, p): coefficients before the last step
    thetas: Matrix  # (2 windows, p)
    terms: Matrix  # (3, p): the core's terms of the coefficients, see ``cancellation``; scratch
    margins: Vector  # (windows,)


def block_length(p: int) -> int:
    """Windows per block: enough to share the cost of a core, few enough rows outside it."""
    return LANES if p <= 28 else 16 if p <= 64 else 24 if p <= 160 else 48


def shapes(p: int, length: int) -> tuple[tuple[int, int], ...]:
    """The shapes of the arrays of a workspace, in the order in which they are stored."""
    k = 2 * (length - 1)
    return (
        (entries_for(length), LANES), (p + k, p), (p + k + 3, p), (p + k + 3, p), (1, p),
        (1, ROWS_SCRATCH), (k, k), (length, k), (1, k), (2, k), (2 * length, k), (2 * length, p),
        (2 * length, p), (3, p), (1, length),
    )  # fmt: skip


@numba.njit(**INNER)
def workspace(
    f: Vector, floats: Vector, o: Ints, d: int, p: int, length: int, depth: int
) -> Workspace:
    """The workspace as views of flat arrays; ``o`` is where each part of ``f`` begins."""
    k = 2 * (length - 1)
    return Workspace(
        lay_out_sums(floats, 0, d, depth)[0],
        take(f, o[0], (o[1] - o[0]) // LANES, LANES),
        take(f, o[1], p + k, p),
        take(f, o[2], p + k + 3, p),
        take(f, o[3], p + k + 3, p),
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
    )


@numba.njit(**INNER)
def block_at(problem: Problem, t: int, windows: int) -> Block:
    """The rows of a block, and the form that its core has."""
    s, intercept = problem.s, problem.intercept
    p = problem.x.shape[1] + (1 if intercept else 0)
    first, start = max(0, t - s + 1), max(0, t + windows - s)
    stop = max(start, t + 1)
    rows, outside = stop - start, start - first + t + windows - stop
    dual = rows < p or (rows == p and (problem.penalty > 0.0 or min(t + windows, s) <= p))
    n, responses = rows if dual else p, 2 if dual and intercept else 1
    return Block(t, windows, first, start, stop, outside, n, dual, responses)


@numba.njit(**INNER)
def form_core(w: Workspace, problem: Problem, b: Block) -> None:
    """Form A, the rows outside the core, and the right-hand sides.

    The last one, signs times the roots of A's diagonal, shows how large the inverse of A is.
    """
    x, y, _, penalty, intercept, null = problem
    if b.dual:
        _form_dual(w, problem, b)
    else:
        gather(w.sums, x, y, b.start, b.stop, b.windows, intercept)
        add_null(null, w.sums.total)
        _form_primal(w, problem, b)
    for i in range(b.n):
        if b.dual or i < x.shape[1]:
            w.raw[i, i] += penalty
        w.scale[i] = w.raw[i, i]
        sign = 1.0 if i * 40503 % 65536 < 32768 else -1.0  # without a pattern (Knuth's hash)
        w.raw[b.n + b.outside + b.responses, i] = sign * np.sqrt(w.scale[i])


@numba.njit(**INNER)
def _copy_rows(
    w: Workspace, problem: Problem, row: int, constant: float, u: Matrix, r: Vector
) -> None:
    """Copy rows from ``row`` on, centred, times the root of their weight: x to u, y to r.

    A ``constant`` other than 0 is added as a feature.
    """
    x, y, d, centre = problem.x, problem.y, problem.x.shape[1], w.sums.centre
    shift = centre[d + 1] if constant > 0.0 else 0.0
    for i in range(u.shape[0]):
        root = y[row + i, ROOT]
        for j in range(d):
            u[i, j] = root * (x[row + i, j] - centre[j])
        if constant > 0.0:
            u[i, d] = root * constant
        r[i] = root * (y[row + i, VALUE] - shift)


@numba.njit(**INNER)
def _copy_outside(w: Workspace, problem: Problem, b: Block, constant: float, u: Matrix) -> None:
    """The rows outside the core, the oldest first, and their responses."""
    old, k, residual = b.start - b.first, b.outside, w.residual[0]
    _copy_rows(w, problem, b.first, constant, part(u, 0, old), residual)
    _copy_rows(w, problem, b.stop, constant, part(u, old, k), part(residual, old, k))


@numba.njit(**INNER)
def _form_primal(w: Workspace, problem: Problem, b: Block) -> None:
    """From the sums of the core."""
    raw, total, d, k = w.raw, w.sums.total, problem.x.shape[1], b.outside
    shift = 0.0 if problem.intercept else w.sums.centre[d + 1]
    for i in range(b.n):
        for j in range(i + 1):
            raw[i, j] = total[i, j]
        raw[b.n + k, i] = total[d + 1, i] + shift * total[d, i]
    _copy_outside(w, problem, b, 1.0 if problem.intercept else 0.0, part(raw, b.n, b.n + k))


@numba.njit(**INNER)
def _form_dual(w: Workspace, problem: Problem, b: Block) -> None:
    """From the rows of the core."""
    x, y, intercept = problem.x, problem.y, problem.intercept
    raw, rows, n, end = w.raw, w.rows, b.n, b.n + b.outside
    start, stop = (b.start, b.stop) if n > 0 else (b.first, b.first + b.outside)
    centre_dual(w.sums, x, y, start, stop, intercept)
    constant = constant_for(x, y, w.sums.centre, start, stop) if intercept else 0.0
    _copy_rows(w, problem, b.start, constant, part(rows, 0, n), raw[end])
    _copy_outside(w, problem, b, constant, part(rows, n, end))
    for i in range(n):
        raw[end + 1, i] = y[b.start + i, ROOT]
    for i in range(b.outside):
        w.residual[1, i] = y[b.first + i if b.first + i < b.start else i + b.first + n, ROOT]
    for h in range(0, end, BAND):
        m = min(h + BAND, end)
        out = block(raw, h, m, 0, min(m, n))
        multiply_transposed(part(rows, h, m), part(rows, 0, min(m, n)), out, 1.0, 0.0)


@numba.njit(**INNER)
def probed_margin(w: Workspace, b: Block) -> float:
    """An estimate of the margin from the solution for the last right-hand side.

    With A at a unit diagonal and v the direction in which A is smallest, lambda: the solution has
    about the length |v'signs| / lambda.
    """
    at, square = b.n + b.outside + b.responses, 0.0
    row = block(w.scaled, at, at + 1, 0, b.n)
    divide_rows(row, w.scaled, b.n)
    for i in range(b.n):
        square += w.scale[i] * row[0, i] ** 2
    return 1.0 / np.sqrt(square) if square > 0.0 else 1.0


@numba.njit(**INNER)
def is_sound(w: Workspace, problem: Problem, b: Block) -> bool:
    """Whether the core has full rank for certain; otherwise singular values must decide."""
    d, penalty, intercept = problem.x.shape[1], problem.penalty, problem.intercept
    if b.dual:
        return penalty > 0.0 or not lopsided(part(w.scale, 0, b.n))
    return trusted(w.scale, w.sums.total, w.sums.centre, d, penalty, intercept) > 0.0

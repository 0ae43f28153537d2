"""Coefficients of every window where features are many or rows are few: a block at a time.

The windows of a block share a core of rows. With the core's system A = L D L' and the rows U
outside it (see ``events.core``), S = rho I + U M U' follows from U L^-T. The small systems
S_JJ w = r_J of eight windows are solved at once. The coefficients of the block are
(g L^-T D^-1 + W U L^-T D^-1) L^-1, where g A^-1 solves the core. The dual form has
A = XX' + penalty I, and X U' in place of U.
"""

from __future__ import annotations

import numba
import numpy as np

from efface.engine.jit.blas import multiply, multiply_transposed
from efface.engine.jit.compilation import FAST, INNER, KERNEL
from efface.engine.jit.records import words
from efface.engine.jit.simd import LANES, TILE, aligned, set_all, set_from
from efface.engine.jit.views import ROOT, Ints, Matrix, Vector, block, part
from efface.engine.linalg.batched_cholesky import padded, solve_lanes
from efface.engine.linalg.cancellation import (
    Terms,
    each_keeps_digits,
    largest_keeps_digits,
    set_largest_terms,
)
from efface.engine.linalg.dense import CLEAR, SAFE, copy, divide_rows, dot, factorise_rows, fill
from efface.engine.sums.sliding import depth_for, lay_out_sums, start_sums
from efface.engine.windows.block_core import (
    BAND,
    Block,
    Workspace,
    block_at,
    block_length,
    form_core,
    is_sound,
    probed_margin,
    shapes,
    workspace,
)
from efface.engine.windows.problem import Estimates, Problem


def slide_many_features(
    problem: Problem, first: int, stop: int, out: Estimates, length: int = 0
) -> int:
    """The estimates of the windows from row ``first`` on, a block at a time.

    The last block is the one that reaches row ``stop``. Returns the row after it.
    """
    d, p = problem.x.shape[1], problem.x.shape[1] + int(problem.intercept)
    length = length or block_length(p)
    depth = depth_for(min(problem.s, len(problem.y)), length)
    ends = np.cumsum([0] + [rows * columns for rows, columns in shapes(p, length)])
    held = aligned(int(ends[-1])), np.zeros(words(lay_out_sums, d, depth)), ends
    return int(_slide(problem, first, stop, out, *held, length, depth))


@numba.njit(**KERNEL, nogil=True)
def _slide(
    problem: Problem,
    first: int,
    stop: int,
    out: Estimates,
    store: Vector,
    floats: Vector,
    ends: Ints,
    length: int,
    depth: int,
) -> int:
    n, d = problem.x.shape
    p = d + 1 if problem.intercept else d
    w = workspace(store, floats, ends, d, p, length, depth)
    start_sums(w.sums, False)
    t = first
    while t < stop:
        b = block_at(problem, t, _windows_here(t, problem.s, p, problem.penalty, length, n))
        _solve_block(w, problem, b, out)
        copy(w.margins, part(out.margin, t, t + b.windows))
        t += b.windows
    return t


@numba.njit(**INNER)
def _windows_here(t: int, s: int, p: int, penalty: float, length: int, stop: int) -> int:
    """How many windows from row t on can share a core that has full rank."""
    most = min(length, stop - t)
    if penalty > 0.0:
        return most
    rows = min(t + 1, s)
    if rows > p:
        return max(1, min(most, (rows - p) // 2 + 1))
    return most if s <= p else max(1, min(most, p - rows + 1))


@numba.njit(**INNER)
def _solve_block(w: Workspace, problem: Problem, b: Block, out: Estimates) -> None:
    """Solve the windows of a block."""
    form_core(w, problem, b)
    fill(w.margins, 0.0)
    if not is_sound(w, problem, b):
        return
    n, end, s = b.n, b.n + b.outside + b.responses + 1, problem.s
    least = 10.0 * SAFE if b.dual else SAFE  # in the dual form, Z = U M has already lost digits
    raw, scaled = block(w.raw, 0, end, 0, n), block(w.scaled, 0, end, 0, n)
    margin = factorise_rows(raw, scaled, n, w.scale, w.scratch)
    if least <= margin < CLEAR:
        margin = min(margin, probed_margin(w, b))
    if margin >= least:
        _complement(w, b, s, problem.penalty if b.dual else 1.0)
        fill(w.weights, 0.0)
        for j in range(0, b.windows, LANES):
            _solve_eight(w, b, j, s)
        _combine(w, b)
        _set_core_terms(w, b)
        for i in range(b.windows):
            w.margins[i] = min(w.margins[i], margin)
            if not (w.margins[i] >= least and _keeps_digits(w, problem, b, i)):
                w.margins[i] = 0.0
        _finish(w, problem, b, out)


@numba.njit(**INNER)
def _complement(w: Workspace, b: Block, s: int, rho: float) -> None:
    """S for rows that share a window, and r, from the factorised core."""
    n, k, dual, last = b.n, b.outside, b.dual, b.windows - 1
    raw, scaled = block(w.raw, n, n + k, 0, n), block(w.scaled, n, n + k, 0, n)
    u = part(w.rows, n, n + k)
    for h in range(0, k, BAND):
        m = min(h + BAND, k)
        window = max(0, h - (k - last) + 1)  # the first window that has row h
        lo = min(h, max(0, b.t + window - s + 1) - b.first)
        out = block(w.schur, h, m, lo, m)
        if dual:
            multiply_transposed(part(u, h, m), part(u, lo, m), out, 1.0, 0.0)
            for i in range(h, m):
                size = w.schur[i, i] + rho
                w.weight[i] = 1.0 / size if size > 0.0 else 0.0  # a row without weight: margin 0
        sign, keep = (-1.0, 1.0) if dual else (1.0, 0.0)
        left, right = block(scaled, h, m, 0, n), block(raw, lo, m, 0, n)
        multiply_transposed(left, right, out, sign, keep)
        for i in range(h, m):
            w.schur[i, i] += rho
            if not dual:
                w.weight[i] = 1.0 / w.schur[i, i]
            for j in range(max(lo, i - w.diagonals.shape[0] + 1), i + 1):
                w.diagonals[i - j, j] = w.schur[i, j]
    targets = block(w.raw, n + k, n + k + b.responses, 0, n)
    multiply_transposed(targets, scaled, block(w.residual, 0, b.responses, 0, k), -1.0, 1.0)


@numba.njit(**INNER)
def _solve_eight(w: Workspace, b: Block, j: int, s: int) -> None:
    """W and the margins of up to eight windows of a block, from window j on."""
    f, t, first, k, count = w.lanes, b.t, b.first, b.outside, b.windows
    width, length = min(LANES, count - j), w.margins.size
    last = j + width - 1  # a window never has fewer rows than the one before
    most = k - count + 1 + last - (max(0, t + last - s + 1) - first)
    m = padded(most)
    answers = m * (m + 1)
    if width == LANES and t + j - s + 1 >= 0:
        lo = t + j - s + 1 - first
        _write_eight(f, m, lo, most, w.diagonals, w.weight, w.residual)
    else:
        for lane in range(LANES):
            i = min(lane, width - 1)
            lo = max(0, t + j + i - s + 1) - first
            size = k - count + 1 + j + i - lo
            _write_one(f, m, lane, w.schur, lo, size, w.weight, w.residual)
    solve_lanes(f, m, b.responses)
    for lane in range(width):
        lo = max(0, t + j + lane - s + 1) - first
        w.margins[j + lane] = f[(m + TILE) * (m + 1) + m, lane]
        for g in range(b.responses):
            for i in range(k - count + 1 + j + lane - lo):
                w.weights[g * length + j + lane, lo + i] = f[answers + g * (m + 1) + i, lane]


@numba.njit(**INNER)
def _write_one(
    f: Matrix,
    m: int,
    lane: int,
    schur: Matrix,
    lo: int,
    size: int,
    weight: Vector,
    residual: Matrix,
) -> None:
    """Write one window's system to its lane, padded by the identity."""
    step = m + 1
    for i in range(m):
        for j in range(i + 1):
            padding = 1.0 if i == j else 0.0
            f[i * step + j, lane] = schur[lo + i, lo + j] if i < size else padding
        f[(m + TILE) * step + i, lane] = weight[lo + i] if i < size else 1.0
        for g in range(TILE):
            f[(m + g) * step + i, lane] = residual[g, lo + i] if g < 2 and i < size else 0.0


@numba.njit(**INNER)
def _write_eight(
    f: Matrix, m: int, lo: int, size: int, diagonals: Matrix, weight: Vector, residual: Matrix
) -> None:
    """Write the systems of eight windows of one size; the first begins at row ``lo``."""
    step, k = m + 1, weight.size
    for i in range(size):
        for j in range(i + 1):
            set_from(f, i * step + j, diagonals, (i - j) * k + lo + j)
        set_from(f, (m + TILE) * step + i, weight, lo + i)
        set_from(f, m * step + i, residual, lo + i)
        set_from(f, (m + 1) * step + i, residual, k + lo + i)
    for i in range(size, m):
        for j in range(i):
            set_all(f, i * step + j, 0.0)
        set_all(f, i * step + i, 1.0)
        set_all(f, (m + TILE) * step + i, 1.0)
        set_all(f, m * step + i, 0.0)
        set_all(f, (m + 1) * step + i, 0.0)
    for i in range((m + 2) * step, (m + TILE) * step):
        set_all(f, i, 0.0)


@numba.njit(**INNER)
def _combine(w: Workspace, b: Block) -> None:
    """The coefficients of all windows of the block, for centred features."""
    n, k, count, dual = b.n, b.outside, b.windows, b.dual
    outside = block(w.scaled, n, n + k, 0, n)
    for g in range(b.responses):
        lo = g * w.margins.size
        hi = lo + count
        weights, theta = block(w.weights, lo, hi, 0, k), part(w.thetas, lo, hi)
        inner = block(w.inner if dual else w.thetas, lo, hi, 0, n)
        for i in range(count):
            copy(w.scaled[n + k + g], part(inner[i], 0, n))
        multiply(weights, outside, inner, -1.0 if dual else 1.0, 1.0)
        divide_rows(inner, w.scaled, n)
        if dual:
            multiply(weights, part(w.rows, n, n + k), theta, 1.0, 0.0)
            multiply(inner, part(w.rows, 0, n), theta, 1.0, 1.0)


@numba.njit(**INNER)
def _set_core_terms(w: Workspace, b: Block) -> None:
    """The largest terms of the core in each coefficient: see ``cancellation``."""
    n, k = b.n, b.outside
    alpha = block(w.inner, 0, 1, 0, n)  # as scratch: it has been combined
    for g in range(b.responses):
        copy(w.scaled[n + k + g], part(alpha[0], 0, n))
        divide_rows(alpha, w.scaled, n)
        if b.dual:
            set_largest_terms(part(alpha[0], 0, n), part(w.rows, 0, n), w.terms[g])
        else:
            for j in range(n):
                w.terms[g, j] = abs(alpha[0, j])


@numba.njit(**INNER)
def _keeps_digits(w: Workspace, problem: Problem, b: Block, i: int) -> bool:
    """Whether the terms of the coefficients of window i do not cancel."""
    x, y, s, e = problem.x, problem.y, problem.s, b.t + i
    d, length = x.shape[1], w.margins.size
    theta, ones, slope, reach = w.thetas[i], w.thetas[length + i], 0.0, 0.0
    if b.responses == 2:
        slope = theta[d] / ones[d] if ones[d] != 0.0 else 0.0
    for h in range(b.outside):  # weights are 0 for rows outside the window
        weight = abs(w.weights[i, h])
        if b.responses == 2:
            weight = max(weight, abs(slope * w.weights[length + i, h]))
        if weight > 0.0:
            reach = max(reach, weight * weight / w.weight[h])
    terms = Terms(theta, ones, slope, w.terms, reach, w.scale, b.dual, w.margins[i])
    if each_keeps_digits(terms, d):
        return True
    squares = w.terms[2]
    fill(squares, 0.0)
    for row in range(max(b.first, e - s + 1), e + 1):
        for j in range(d):
            value = y[row, ROOT] * (x[row, j] - w.sums.centre[j])
            squares[j] += value * value
    return largest_keeps_digits(terms, squares, d)


@numba.njit(**INNER, fastmath=FAST)
def _finish(w: Workspace, problem: Problem, b: Block, out: Estimates) -> None:
    """Coefficients and intercepts for the original features."""
    thetas, centre, d = w.thetas, w.sums.centre, problem.x.shape[1]
    for i in range(b.windows):
        coef, ones = out.coef[b.t + i], thetas[w.margins.size + i]
        level, slope = 0.0, 0.0
        if problem.intercept:
            level = thetas[i, d]
            if b.dual:
                level = level / ones[d] if ones[d] != 0.0 else 0.0  # no row has weight: refitted
                slope = level
        for j in range(d):
            coef[j] = thetas[i, j]
        if b.responses == 2:
            for j in range(d):
                coef[j] -= slope * ones[j]
        if problem.intercept:
            level += centre[d + 1] - dot(coef, part(centre, 0, d))
        out.level[b.t + i] = level

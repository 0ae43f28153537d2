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
from efface.engine.jit.simd import (
    LANES,
    TILE,
    aligned,
    set_all,
    set_from,
)
from efface.engine.jit.views import ROOT, Ints, Matrix, Responses, Vector, block, part
from efface.engine.linalg.batched_cholesky import padded, solve_lanes
from efface.engine.linalg.cancellation import (
    Terms,
    each_keeps_digits,
    largest_keeps_digits,
    set_largest_terms,
)
from efface.engine.linalg.dense import (
    SAFE,
    copy,
    divide_rows,
    dot,
    factorise_rows,
    fill,
)
from efface.engine.sums.sliding import NEVER, SEEN, depth_for, room_for_sums
from efface.engine.windows.block_core import (
    BAND,
    COUNT,
    DIALS,
    DUAL,
    FIRST,
    OUTSIDE,
    SIZE,
    Workspace,
    block_length,
    form_core,
    is_sound,
    shapes,
    workspace,
)


def slide_many_features(
    x: Matrix,
    y: Responses,
    s: int,
    penalty: float,
    intercept: bool,
    first: int,
    stop: int,
    coef: Matrix,
    level: Vector,
    margin: Vector,
    length: int = 0,
) -> int:
    """Coefficients, intercept and margin of the window of s rows that ends at each row.

    From row ``first`` on; the last block is the one that reaches row ``stop``. Returns the row
    after it. An answer is to be used only where its margin is at least SAFE.
    """
    d, p = x.shape[1], x.shape[1] + int(intercept)
    length = length or block_length(p)
    depth = depth_for(min(s, len(y)), length)
    ends = np.cumsum([0] + [rows * columns for rows, columns in shapes(p, length)])
    floats, ints = room_for_sums(d, depth)
    held = aligned(int(ends[-1])), np.zeros(floats), np.zeros(ints + DIALS, np.int64), ends
    problem, answers = (x, y, s, penalty, intercept, first, stop), (coef, level, margin)
    return int(_slide(*problem, *answers, *held, length, depth))


@numba.njit(**KERNEL, nogil=True)
def _slide(
    x: Matrix,
    y: Responses,
    s: int,
    penalty: float,
    intercept: bool,
    first: int,
    stop: int,
    coef: Matrix,
    level: Vector,
    margin: Vector,
    store: Vector,
    floats: Vector,
    ints: Ints,
    ends: Ints,
    length: int,
    depth: int,
) -> int:
    n, d = x.shape
    p = d + 1 if intercept else d
    w = workspace(store, floats, ints, ends, d, p, length, depth)
    w.sums.dials[SEEN] = NEVER
    t = first
    while t < stop:
        count = _windows_here(t, s, p, penalty, length, n)
        _solve_block(w, x, y, t, count, s, penalty, intercept, coef, level)
        copy(w.margins, part(margin, t, t + count))
        t += count
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
def _solve_block(
    w: Workspace,
    x: Matrix,
    y: Responses,
    t: int,
    count: int,
    s: int,
    penalty: float,
    intercept: bool,
    coef: Matrix,
    level: Vector,
) -> None:
    """Solve the windows that end at rows t .. t + count - 1."""
    form_core(w, x, y, t, count, s, penalty, intercept)
    n, primal = w.dials[SIZE], w.dials[DUAL] == 0
    responses = 1 if primal or not intercept else 2
    end = n + w.dials[OUTSIDE] + responses
    fill(w.margins, 0.0)
    least = SAFE if primal else 10.0 * SAFE  # Z = U M has already lost digits
    if not is_sound(w, x.shape[1], penalty, intercept):
        return
    raw, scaled = block(w.raw, 0, end, 0, n), block(w.scaled, 0, end, 0, n)
    margin = factorise_rows(raw, scaled, n, w.scale, w.scratch)
    if margin >= least:
        _complement(w, t, s, 1.0 if primal else penalty, responses)
        fill(w.weights, 0.0)
        for j in range(0, count, LANES):
            _solve_eight(w, t, j, s, responses)
        for i in range(count):
            if not w.margins[i] >= least:
                w.margins[i] = 0.0
        _combine(w, responses)
        _set_core_terms(w, responses)
        for i in range(count):
            if not _keeps_digits(w, x, y, t + i, i, s, responses):
                w.margins[i] = 0.0
        out = part(coef, t, t + count)
        _finish(w.thetas, not primal, w.sums.centre, intercept, out, part(level, t, t + count))


@numba.njit(**INNER)
def _complement(w: Workspace, t: int, s: int, rho: float, responses: int) -> None:
    """S for rows that share a window, and r, from the factorised core."""
    n, k, first = w.dials[SIZE], w.dials[OUTSIDE], w.dials[FIRST]
    dual, last = w.dials[DUAL] == 1, w.dials[COUNT] - 1
    raw, scaled = block(w.raw, n, n + k, 0, n), block(w.scaled, n, n + k, 0, n)
    u = part(w.rows, n, n + k)
    for h in range(0, k, BAND):
        m = min(h + BAND, k)
        window = max(0, h - (k - last) + 1)  # the first window that has row h
        lo = min(h, max(0, t + window - s + 1) - first)
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
    targets = block(w.raw, n + k, n + k + responses, 0, n)
    multiply_transposed(targets, scaled, block(w.residual, 0, responses, 0, k), -1.0, 1.0)


@numba.njit(**INNER)
def _solve_eight(w: Workspace, t: int, j: int, s: int, responses: int) -> None:
    """W and the margins of up to eight windows of the block at t, from window j on."""
    f, first, k, count = w.lanes, w.dials[FIRST], w.dials[OUTSIDE], w.dials[COUNT]
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
    solve_lanes(f, m, responses)
    for lane in range(width):
        lo = max(0, t + j + lane - s + 1) - first
        w.margins[j + lane] = f[(m + TILE) * (m + 1) + m, lane]
        for g in range(responses):
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
    for i in range(size):
        for j in range(i + 1):
            f[i * step + j, lane] = schur[lo + i, lo + j]
    for i in range(size, m):
        for j in range(i + 1):
            f[i * step + j, lane] = 1.0 if i == j else 0.0
    for i in range(m):
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
def _combine(w: Workspace, responses: int) -> None:
    """The coefficients of all windows of the block, for centred features."""
    n, k, count = w.dials[SIZE], w.dials[OUTSIDE], w.dials[COUNT]
    dual, outside = w.dials[DUAL] == 1, block(w.scaled, n, n + k, 0, n)
    for g in range(responses):
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
def _set_core_terms(w: Workspace, responses: int) -> None:
    """The largest terms of the core in each coefficient: see ``cancellation``."""
    n, k, dual = w.dials[SIZE], w.dials[OUTSIDE], w.dials[DUAL] == 1
    alpha = block(w.inner, 0, 1, 0, n)  # as scratch: it has been combined
    for g in range(responses):
        copy(w.scaled[n + k + g], part(alpha[0], 0, n))
        divide_rows(alpha, w.scaled, n)
        if dual:
            set_largest_terms(part(alpha[0], 0, n), part(w.rows, 0, n), w.terms[g])
        else:
            for j in range(n):
                w.terms[g, j] = abs(alpha[0, j])


@numba.njit(**INNER)
def _keeps_digits(
    w: Workspace, x: Matrix, y: Responses, e: int, i: int, s: int, responses: int
) -> bool:
    """Whether the terms of the coefficients of window i, which ends at row e, do not cancel."""
    d, k, length, first = x.shape[1], w.dials[OUTSIDE], w.margins.size, w.dials[FIRST]
    theta, ones, slope, reach = w.thetas[i], w.thetas[length + i], 0.0, 0.0
    if responses == 2:
        slope = theta[d] / ones[d] if ones[d] != 0.0 else 0.0
    for h in range(k):  # weights are 0 for rows outside the window
        weight = abs(w.weights[i, h])
        if responses == 2:
            weight = max(weight, abs(slope * w.weights[length + i, h]))
        if weight > 0.0:
            reach = max(reach, weight * weight / w.weight[h])
    terms = Terms(theta, ones, slope, w.terms, reach, w.scale, w.dials[DUAL] == 1)
    if each_keeps_digits(terms, d):
        return True
    squares = w.terms[2]
    fill(squares, 0.0)
    for row in range(max(first, e - s + 1), e + 1):
        for j in range(d):
            squares[j] += (y[row, ROOT] * (x[row, j] - w.sums.centre[j])) ** 2
    return largest_keeps_digits(terms, squares, d)


@numba.njit(**INNER, fastmath=FAST)
def _finish(
    thetas: Matrix, dual: bool, centre: Vector, intercept: bool, coef: Matrix, level: Vector
) -> None:
    """Coefficients and intercepts for the original features."""
    (count, d), ones = coef.shape, thetas.shape[0] // 2
    for i in range(count):
        slope = 0.0
        level[i] = 0.0
        if intercept:
            level[i] = thetas[i, d]
            if dual:
                one = thetas[ones + i, d]
                level[i] = level[i] / one if one != 0.0 else 0.0  # no row has weight: refitted
                slope = level[i]
        for j in range(d):
            coef[i, j] = thetas[i, j]
        if dual and intercept:
            for j in range(d):
                coef[i, j] -= slope * thetas[ones + i, j]
        if intercept:
            level[i] += centre[d + 1] - dot(coef[i], part(centre, 0, d))

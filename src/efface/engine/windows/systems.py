"""The systems of eight neighbouring windows, one lane each: formed, factorised, solved.

The windows share a core of rows, whose sums are in every lane; a window's few rows more, the last
of those about to leave and the first of those that came, are added in its own. The constant is
eliminated first, so that it takes a column and no tile. A system is formed once and may be
factorised with one penalty after the other. Forward substitution of a row tells its leverage.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from efface.engine.jit.compilation import INNER, KERNEL, shared
from efface.engine.jit.simd import (
    LANES,
    TILE,
    add_dot,
    divide_tile,
    factorise_tile,
    multiply_by,
    padded,
    set_all,
    set_inverse,
    set_split,
    set_sum,
    subtract_product,
    update_tile,
)
from efface.engine.jit.views import VALUE, Matrix, Responses, Vector
from efface.engine.sums.sliding import Sums

OWN = LANES - 1
# Beside the systems, one number a window: the smallest margin of a pivot; the penalty; 1 / sqrt(n);
# sum and squares of y around the centre's; squares of y; of x, around the centre and the mean; ...
(
    MARGIN, PENALTY, ROOT, TOTAL, AROUND, SQUARES, LENGTH, SPREAD, HIGH, LOW, FAR, AWAY, WORK,
    LEVEL, PREDICTION, EXPLAINED, NEW, OLD, CROSS, IMAGE, SIZE, INVERSE,
) = range(22)  # fmt: skip
NUMBERS = 22


class Places(NamedTuple):
    """Where things lie, in entries; m = d padded, and a row takes m + 1.

    The constant's column comes first in a row of the factor, then the tiles. Below the m rows of
    matrix and factor are those of the response, the row that comes, the oldest row, and zeros.
    """

    m: int
    step: int
    matrix: int
    factor: int
    inverse: int  # TILE rows of it at a time
    unit: int  # a tile of the identity, then one of zeros
    own: int  # OWN entries of each feature, the response, the constant, the response around cy
    weights: int
    numbers: int
    size: int


class Block(NamedTuple):
    """Neighbouring windows of s rows; the first ends before row ``first``."""

    first: int
    windows: int
    s: int


@numba.njit(**KERNEL)
def places_for(d: int) -> Places:
    m = padded(d)
    step = m + 1
    size = (m + TILE) * step
    inverse, own = 2 * size, 2 * size + 3 * TILE * step
    weights = own + (m + 3) * OWN
    unit, numbers = inverse + TILE * step, weights + m
    return Places(m, step, 0, size, inverse, unit, own, weights, numbers, numbers + NUMBERS)


@shared()
def prepare(f: Matrix, at: Places, d: int, s: int, intercept: bool) -> None:
    """In zeros, what all windows have in common: padding, the constant's share of rows, units."""
    for i in range(d, at.m):
        set_all(f, at.matrix + i * at.step + 1 + i, 1.0)
    for i in range(TILE):
        set_all(f, at.unit + i * (at.step + 1), 1.0)
    root = 1.0 / np.sqrt(s)
    set_all(f, at.numbers + ROOT, root)
    for i in range(at.m + 1, at.m + 3):
        set_all(f, at.factor + i * at.step, root if intercept else 0.0)


@shared()
def form(
    f: Matrix, at: Places, sums: Sums, x: Matrix, y: Responses, block: Block, intercept: bool
) -> None:
    """The systems and right-hand sides of a block of windows, and the rows to be measured."""
    d, m, step, own = x.shape[1], at.m, at.step, at.own
    _spread_core(f, at, sums, d, intercept)
    _spread_rows(f, at, sums.centre, x, y, block, intercept)
    _spread_measured(f, at, sums.centre, x, block)
    for j in range(0, m, TILE):
        for i in range(j, m, TILE):
            out = at.matrix + i * step + 1 + j
            update_tile(f, out, out, step, 0, 0, 0, own + i * OWN, own + j * OWN, OWN)
    response, one = own + m * OWN, own + (m + 1) * OWN
    for i in range(d):
        add_dot(f, at.matrix + m * step + 1 + i, own + i * OWN, response, OWN)
    if intercept:
        for i in range(d):
            add_dot(f, at.factor + i * step, own + i * OWN, one, OWN)
            multiply_by(f, at.factor + i * step, at.numbers + ROOT)
        add_dot(f, at.factor + m * step, response, one, OWN)
        multiply_by(f, at.factor + m * step, at.numbers + ROOT)
    _add_moments(f, at, d)


@numba.njit(**INNER)
def _spread_core(f: Matrix, at: Places, sums: Sums, d: int, intercept: bool) -> None:
    """The core's sums in every lane."""
    total, shift, step = sums.total, 0.0 if intercept else sums.centre[d + 1], at.step
    for i in range(d):
        row = at.matrix + i * step + 1
        for j in range(i + 1):
            set_all(f, row + j, total[i, j])
        for j in range((i + TILE) // TILE * TILE - i - 1):  # the rest of a tile is not read
            set_all(f, row + i + 1 + j, 0.0)
        set_all(f, at.matrix + at.m * step + 1 + i, total[d + 1, i] + shift * total[d, i])
    if intercept:
        for i in range(d):
            set_all(f, at.factor + i * step, total[d, i])
        set_all(f, at.factor + at.m * step, total[d + 1, d])
    square, linear = total[d + 1, d + 1], total[d + 1, d]
    set_all(f, at.numbers + SQUARES, square + shift * (2.0 * linear + shift * total[d, d]))
    set_all(f, at.numbers + TOTAL, linear)
    set_all(f, at.numbers + AROUND, square)


@numba.njit(**INNER)
def _spread_rows(
    f: Matrix, at: Places, centre: Vector, x: Matrix, y: Responses, block: Block, intercept: bool
) -> None:
    """Each lane's own rows: place i has a tail row in lanes up to i, a fresh row in those after."""
    d, m, own = x.shape[1], at.m, at.own
    middle = centre[d + 1]
    shift = middle if intercept else 0.0
    for i in range(OWN):
        there = 1.0 if i < block.windows - 1 else 0.0
        new = block.first + (i if i < block.windows - 1 else 0)
        old = new - block.s
        for j in range(d):
            before, after = there * (x[old, j] - centre[j]), there * (x[new, j] - centre[j])
            set_split(f, own + j * OWN + i, before, after, i)
        before, after = there * (y[old, VALUE] - shift), there * (y[new, VALUE] - shift)
        set_split(f, own + m * OWN + i, before, after, i)
        set_all(f, own + (m + 1) * OWN + i, there)
        before, after = there * (y[old, VALUE] - middle), there * (y[new, VALUE] - middle)
        set_split(f, own + (m + 2) * OWN + i, before, after, i)


@numba.njit(**INNER)
def _spread_measured(f: Matrix, at: Places, centre: Vector, x: Matrix, block: Block) -> None:
    """The row that comes to each window, and the oldest in it, below the response's."""
    rows = at.matrix + (at.m + 1) * at.step + 1
    for i in range(LANES):
        new = block.first + min(i, block.windows - 1)
        for j in range(x.shape[1]):
            f[rows + j, i] = x[new, j] - centre[j]
            f[rows + at.step + j, i] = x[new - block.s, j] - centre[j]


@numba.njit(**INNER)
def _add_moments(f: Matrix, at: Places, d: int) -> None:
    """Complete the sums of squares of the responses; those of all features."""
    m, step, numbers = at.m, at.step, at.numbers
    response, one, around = at.own + m * OWN, at.own + (m + 1) * OWN, at.own + (m + 2) * OWN
    add_dot(f, numbers + SQUARES, response, response, OWN)
    add_dot(f, numbers + TOTAL, around, one, OWN)
    add_dot(f, numbers + AROUND, around, around, OWN)
    set_all(f, numbers + LENGTH, 0.0)
    set_all(f, numbers + SPREAD, 0.0)
    for i in range(d):
        set_sum(f, numbers + LENGTH, numbers + LENGTH, at.matrix + i * step + 1 + i)
        subtract_product(f, numbers + SPREAD, at.factor + i * step, at.factor + i * step)
    set_sum(f, numbers + SPREAD, numbers + SPREAD, numbers + LENGTH)


@shared()
def factorise(f: Matrix, at: Places) -> None:
    """The factor of the systems with their penalties; the rows below it substituted forward."""
    m, step, numbers = at.m, at.step, at.numbers
    set_all(f, numbers + MARGIN, 1.0)
    for i in range(m):
        set_sum(f, at.weights + i, at.matrix + i * step + 1 + i, numbers + PENALTY)
        set_inverse(f, at.weights + i, at.weights + i)
    for j in range(0, m, TILE):
        corner = at.factor + j * step + 1 + j
        for i in range(j, m + TILE, TILE):
            out, left, right = i * step + 1 + j, at.factor + i * step, at.factor + j * step
            start = at.matrix + out
            update_tile(f, at.factor + out, start, step, left, right, j + 1, 0, 0, 0)
            if i > j:
                divide_tile(f, at.factor + out, corner, step)
                continue
            for k in range(TILE):
                diagonal = corner + k * (step + 1)
                set_sum(f, diagonal, diagonal, numbers + PENALTY)
            factorise_tile(f, corner, step, at.weights + j, numbers + MARGIN)


@shared()
def solve(f: Matrix, at: Places) -> None:
    """What constant and features explain of the responses; the coefficients in their place."""
    row = at.factor + at.m * at.step
    set_all(f, at.numbers + EXPLAINED, 0.0)
    add_dot(f, at.numbers + EXPLAINED, row, row, at.m + 1)
    substitute_back(f, at, row + 1)


@numba.njit(**INNER)
def substitute_back(f: Matrix, at: Places, row: int) -> None:
    """The solution for a row that was substituted forward."""
    for i in range(at.m - 1, -1, -1):
        factor = at.factor + i * at.step + 1
        multiply_by(f, row + i, factor + i)
        for j in range(i):
            subtract_product(f, row + j, factor + j, row + i)


@shared()
def trace_inverse(f: Matrix, at: Places, d: int) -> None:
    """The trace of the inverse: the squares of the factor's inverse, TILE rows at a time."""
    step, trace = at.step, at.numbers + INVERSE
    set_all(f, trace, 0.0)
    for i in range(0, at.m, TILE):
        for j in range(i, at.m, TILE):
            start = at.unit if i == j else at.unit + TILE * step
            out, left = at.inverse + 1 + j, at.inverse + 1 + i
            right, corner = at.factor + j * step + 1 + i, at.factor + j * step + 1 + j
            update_tile(f, out, start, step, left, right, j - i, 0, 0, 0)
            divide_tile(f, out, corner, step)
        for k in range(min(TILE, d - i)):
            row = at.inverse + k * step + 1 + i
            add_dot(f, trace, row, row, at.m - i)

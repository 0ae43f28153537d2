"""Cholesky factorisation of eight small systems at once, one SIMD lane each.

All numbers of the eight systems are in one array (entries, LANES): see ``jit.simd``. An entry is
one number of each system. A matrix has m rows, m a multiple of TILE, and is factorised by tiles of
TILE x TILE entries. ``step`` entries lie between the starts of two rows; it is m + 1, so that rows
do not all fall on the same cache lines.
"""

from __future__ import annotations

from typing import NamedTuple

import numba

from efface.engine.jit.compilation import INNER, carving, shared
from efface.engine.jit.simd import (
    TILE,
    divide_tile,
    factorise_tile,
    multiply_by,
    set_all,
    set_sum,
    subtract_product,
    subtract_tile_products,
)
from efface.engine.jit.views import Matrix


class System(NamedTuple):
    """Where the parts of the systems begin, in entries.

    Any record with these fields will do. ``eliminated`` columns of the factor are given; they lie
    before ``factor``. Matrix and factor may be the same place. The right-hand sides are the rows
    below the matrix.
    """

    m: int
    step: int
    eliminated: int
    matrix: int
    factor: int
    penalty: int  # one entry, added to the diagonal
    weights: int  # m entries: the inverse of what each pivot is compared with
    margin: int  # one entry: the smallest pivot * weight; 0 where a pivot is not positive


@carving
def padded(m: int) -> int:
    """The next multiple of TILE."""
    return (m + TILE - 1) // TILE * TILE


@numba.njit(**INNER)
def plain_system(m: int) -> System:
    """m rows (a multiple of TILE), TILE right-hand sides, weights, margin and penalty."""
    weights = (m + TILE) * (m + 1)
    return System(m, m + 1, 0, 0, 0, weights + m + 1, weights, weights + m)


def entries_for(m: int) -> int:
    """How many entries ``plain_system`` needs for at most m rows."""
    m = padded(m)
    return (m + TILE) * (m + 1) + m + 2


@numba.njit(**INNER)
def factorise_lanes(f: Matrix, c: System, rows: int) -> None:
    """The Cholesky factor L, its diagonal inverted; forward substitution of ``rows`` rows below it.

    ``rows`` is a multiple of TILE. In a lane whose pivot fails, the rest of L is of no use.
    """
    m, step = c.m, c.step
    set_all(f, c.margin, 1.0)
    for j in range(0, m, TILE):
        corner, right = c.factor + j * (step + 1), c.factor + j * step - c.eliminated
        for i in range(j, m + rows, TILE):
            out, start = c.factor + i * step + j, c.matrix + i * step + j
            left = c.factor + i * step - c.eliminated
            subtract_tile_products(f, out, start, step, left, right, step, j + c.eliminated)
            if i > j:
                divide_tile(f, out, corner, step)
                continue
            for k in range(TILE):
                diagonal = corner + k * (step + 1)
                set_sum(f, diagonal, diagonal, c.penalty)
            factorise_tile(f, corner, step, c.weights + j, c.margin)


@numba.njit(**INNER)
def solve_row(f: Matrix, c: System, row: int) -> None:
    """row <- (L L')^-1 row; before it lie the entries for the eliminated columns."""
    for i in range(-c.eliminated, c.m):
        if i >= 0:
            multiply_by(f, row + i, c.factor + i * c.step + i)
        for j in range(i + 1, c.m):
            subtract_product(f, row + j, c.factor + j * c.step + i, row + i)
    substitute_back(f, c, row)


@numba.njit(**INNER)
def substitute_back(f: Matrix, c: System, row: int) -> None:
    """row <- L'^-1 row."""
    for i in range(c.m - 1, -1, -1):
        factor = c.factor + i * c.step
        multiply_by(f, row + i, factor + i)
        for j in range(i):
            subtract_product(f, row + j, factor + j, row + i)


@shared()
def solve_lanes(f: Matrix, m: int, responses: int) -> None:
    """Solve the plain systems of m rows, in place."""
    c = plain_system(m)
    set_all(f, c.penalty, 0.0)
    factorise_lanes(f, c, 0)
    for g in range(responses):
        solve_row(f, c, (m + g) * c.step)

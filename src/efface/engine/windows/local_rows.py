"""The live rows of one window after the other, by feature, for local intervals.

Rows that stay in the window keep their column. A new row is one more column, and the last column
takes the place of a row that leaves, so columns are in no order; each knows the place of its row.

Features are differences from a centre, which changes when the mean of the window has moved away
from it; what is computed from them allows for the distance.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from efface.engine.jit.compilation import INNER
from efface.engine.jit.simd import BLOCKS, LANES, aligned
from efface.engine.jit.views import Ints, Matrix, Vector, part
from efface.engine.linalg.dense import EPS
from efface.engine.sums.sliding import Sums

FIT, CURVE, LEVEL, ENDS, AGE = range(5)
COLUMNS = 5
ERROR, TARGET, SPREAD, SCORE, WORK = range(5, 10)
RESPONSE, WEIGHT_OF, PLACE = range(10, 13)
_VECTORS = 13  # rows of ``Room.columns``
MEAN, CENTRE, SHIFT, DIAGONAL, COEF, PRODUCTS = range(6)  # rows of ``Room.features``
LEVERAGE, PREDICTED = range(2)  # rows of ``Room.z`` behind the features
SIDE = BLOCKS * LANES  # columns whose forms are computed side by side
_FIRST, _LAST, _COUNT = range(3)
_NUMBERS = 12  # see ``local_spread``


class Room(NamedTuple):
    """The rows of the current window, scratch, and the result, for windows of up to m rows."""

    z: Matrix  # (d + 2, m): features minus the centre; forms
    columns: Matrix  # (_VECTORS, m)
    slots: Ints  # (m,): the column of the row at a place, modulo m; -1 for a row without weight
    held: Ints  # (3,): the columns are of rows first..last - 1; how many
    root: Matrix  # (d + 2, d): W, see ``local_errors``, b and c of ``column_forms``
    features: Matrix  # (6, d)
    stack: Matrix  # (COLUMNS, COLUMNS): the inverse of the columns' products
    small: Matrix  # (5, COLUMNS): see ``local_spread``
    numbers: Vector  # (_NUMBERS,)
    work: Vector  # scratch of ``invert_root``


class Columns(NamedTuple):
    """What is known of the rows of the current window, a number per row; see ``Room``."""

    fit: Vector
    curve: Vector
    level: Vector
    ends: Vector
    age: Vector
    error: Vector
    target: Vector
    spread: Vector
    score: Vector
    work: Vector
    response: Vector
    weight: Vector
    place: Vector
    own: Vector  # leverages
    predicted: Vector


def room_for(d: int, rows: int) -> Room:
    """Scratch for windows of d features and up to so many rows."""
    rows = -(-rows // SIDE) * SIDE + LANES  # rows 4,096 bytes apart would share cache lines
    most = max(d, COLUMNS)
    return Room(
        aligned((d + 2) * rows).reshape(d + 2, rows),
        aligned(_VECTORS * rows).reshape(_VECTORS, rows),
        np.zeros(rows, np.int64),
        np.zeros(3, np.int64),
        np.zeros((d + 2, d)),
        np.zeros((6, d)),
        np.zeros((COLUMNS, COLUMNS)),
        np.zeros((5, COLUMNS)),
        np.zeros(_NUMBERS),
        np.zeros(most * most + 96 * most),
    )


@numba.njit(**INNER)
def columns_of(r: Room, start: int, stop: int) -> Columns:
    """The columns of some rows; they do not overlap."""
    c, d = r.columns, r.features.shape[1]
    return Columns(
        part(c[FIT], start, stop),
        part(c[CURVE], start, stop),
        part(c[LEVEL], start, stop),
        part(c[ENDS], start, stop),
        part(c[AGE], start, stop),
        part(c[ERROR], start, stop),
        part(c[TARGET], start, stop),
        part(c[SPREAD], start, stop),
        part(c[SCORE], start, stop),
        part(c[WORK], start, stop),
        part(c[RESPONSE], start, stop),
        part(c[WEIGHT_OF], start, stop),
        part(c[PLACE], start, stop),
        part(r.z[d + LEVERAGE], start, stop),
        part(r.z[d + PREDICTED], start, stop),
    )


@numba.njit(**INNER)
def hold_rows(x: Matrix, lo: int, hi: int, sums: Sums, centred: bool, r: Room) -> int:
    """Let the columns be those of the rows lo..hi that have weight; how many.

    ``x`` has a row per feature, then the responses and the weights.
    """
    held, d = r.held, r.features.shape[1]
    weight = sums.total[d, d]
    for j in range(d if centred else 0):
        r.features[MEAN, j] = sums.centre[j] + (sums.total[d, j] / weight if weight > 0.0 else 0.0)
    apart = lo < held[_FIRST] or lo >= held[_LAST] or hi < held[_LAST]
    if apart or not weight > 0.0 or _is_far(r, sums):
        for j in range(d):
            r.features[CENTRE, j] = r.features[MEAN, j]
        held[_FIRST] = held[_LAST] = lo
        held[_COUNT] = 0
    for place in range(held[_FIRST], lo):
        _take_out(r, place)
    for place in range(held[_LAST], hi):
        _put_in(r, x, place)
    held[_FIRST], held[_LAST] = lo, hi
    for j in range(d):
        r.features[SHIFT, j] = r.features[MEAN, j] - r.features[CENTRE, j]
    return held[_COUNT]


@numba.njit(**INNER)
def hold_nothing(r: Room) -> None:
    """Let the next window begin anew."""
    r.held[_FIRST] = r.held[_LAST] = 0


@numba.njit(**INNER)
def _is_far(r: Room, sums: Sums) -> bool:
    """Is a mean further than a deviation, and than its rounding, from the centre?"""
    d, total = r.features.shape[1], sums.total
    for j in range(d):
        mean = r.features[MEAN, j]
        shift = mean - r.features[CENTRE, j]
        scatter = total[j, j] - total[d, j] / total[d, d] * total[d, j]
        near = total[d, d] * shift * shift <= scatter or abs(shift) <= 4.0 * EPS * abs(mean)
        if not near:
            return True
    return False


@numba.njit(**INNER)
def _put_in(r: Room, x: Matrix, place: int) -> None:
    """One more column, if the row has weight."""
    d, c, m = r.features.shape[1], r.columns, r.slots.size
    if not x[d + 1, place] > 0.0:
        r.slots[place % m] = -1
        return
    i = r.held[_COUNT]
    for j in range(d):
        r.z[j, i] = x[j, place] - r.features[CENTRE, j]
    c[RESPONSE, i], c[WEIGHT_OF, i], c[PLACE, i] = x[d, place], x[d + 1, place], place
    r.slots[place % m] = i
    r.held[_COUNT] = i + 1


@numba.njit(**INNER)
def _take_out(r: Room, place: int) -> None:
    """Move the last column over that of a row."""
    m = r.slots.size
    i = r.slots[place % m]
    if i < 0:
        return
    last = r.held[_COUNT] - 1
    move_column(r, last, i)
    r.slots[int(r.columns[PLACE, i]) % m] = i
    r.held[_COUNT] = last


@numba.njit(**INNER)
def move_column(r: Room, source: int, target: int) -> None:
    """Copy all that is known of one row over that of another."""
    for j in range(r.z.shape[0]):
        r.z[j, target] = r.z[j, source]
    for k in range(_VECTORS):
        r.columns[k, target] = r.columns[k, source]

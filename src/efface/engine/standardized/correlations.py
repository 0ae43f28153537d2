"""Standardised rows from sums over the rows: mean, deviation, Z'Z and Z'y.

Z'Z is the correlation matrix of the rows times their number. It follows from the same sums as all
else (see ``sliding``), so no row is standardised when rows come or leave.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from efface.engine.events.penalty import KEPT
from efface.engine.jit.compilation import INNER, carving
from efface.engine.jit.records import Record, record
from efface.engine.jit.views import VALUE, WEIGHT, Matrix, Responses, Vector, part, take
from efface.engine.linalg.dense import EPS
from efface.engine.sums.sliding import Sums, first_weighted, slide_to, turn_over

_LEAST_KEPT = 1e-3  # of a feature's squares around the centre: with less, digits are missing
_LEAST_SQUARES = 1e-240  # sums of squares below it have lost digits
_VECTORS = 8

frame_state, _STATE = record(
    floats=[
        "weight",  # the sum of the weights
        *("middle", "scatter"),  # of the responses: mean, from the centre of the sums; squares
        *("largest", "spreading"),  # the largest |z|; how many features have a spread
    ]
)


class Frame(NamedTuple):
    """Standardised rows: their mean, deviation and products, and the space to solve them."""

    state: Record
    products: Matrix  # (d, d), upper triangle: Z'Z
    system: Matrix  # (d, d): the factors of Z'Z + penalty I
    shift: Vector  # (d,): the mean, from the centre of the sums
    deviation: Vector  # (d,), or its square root; 1 where there is no spread
    spreads: Vector  # (d,): 1, or 0 where there is no spread
    pull: Vector  # (d,): Z'y
    inflation: Vector  # (d,): squares around the centre over those around the mean
    coef: Vector  # (d,): of the standardised features
    scale: Vector  # (d,)
    row: Vector  # (d,) scratch
    scratch: Vector  # (d^2 + 96 d,)
    everything: Vector  # all of it, as one array


@carving
def lay_out_frame(store: Vector, at: int, d: int) -> tuple[Frame, int]:
    """The frame that lies in a flat array, and the offset behind it."""
    f, products = store, at + _STATE
    o = products + 2 * d * d
    scratch = o + _VECTORS * d
    end = scratch + d * d + 96 * d
    v = take(f, o, _VECTORS, d)
    vectors = v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]
    frame = Frame(
        frame_state(part(f, at, products)),
        take(f, products, d, d),
        take(f, products + d * d, d, d),
        *vectors,
        part(f, scratch, end),
        part(f, at, end),
    )
    return frame, end


@numba.njit(**INNER)
def _off_centre(s: Sums) -> bool:
    """Is the mean of a feature or of the response so far from the centre that sums lose digits?

    Not if it is as near as a mean can be rounded, as for a constant feature.
    """
    q, total = s.centre.size, s.total
    n = total[q - 2, q - 2]
    for j in range(q):
        away = (total[q - 2, j] if j < q - 2 else total[j, q - 2]) / n
        far = away * away > 100.0 * (total[j, j] / n - away * away)
        if j != q - 2 and far and abs(away) > n * EPS * abs(s.centre[j]):
            return True
    return False


@numba.njit(**INNER)
def _describe(f: Frame, s: Sums, n: int) -> bool:
    """Mean and deviation of the n rows of the sums; False where digits are missing."""
    d, total = f.shift.size, s.total
    weight, largest, spreading = total[d, d], 0.0, 0.0
    for j in range(d):
        high, low, square = s.bounds[0, j], s.bounds[1, j], total[j, j]
        f.shift[j], f.deviation[j], f.spreads[j] = total[d, j] / weight, 1.0, 0.0
        f.inflation[j] = 1.0
        if high == low:
            f.shift[j] = high - s.centre[j]
            continue
        scatter = square - f.shift[j] * total[d, j]
        if not scatter > _LEAST_KEPT * square:
            return False
        dust = n * (s.centre[j] + f.shift[j]) * EPS
        if scatter <= n * EPS * scatter + weight * dust * dust:
            continue
        f.inflation[j], f.spreads[j] = square / scatter, 1.0
        f.deviation[j] = np.sqrt(scatter / weight)
        high, low = high - s.centre[j] - f.shift[j], f.shift[j] - (low - s.centre[j])
        largest = max(largest, high / f.deviation[j], low / f.deviation[j])
        spreading += 1.0
    f.state.weight, f.state.largest, f.state.spreading = weight, largest, spreading
    return largest < np.inf


@numba.njit(**INNER)
def scale_sums(f: Frame, s: Sums, y: Responses, a: int, b: int, halved: bool) -> bool:
    """The frame of rows that are divided by their root mean squares, and not centred.

    The sums are up to date, around 0 for features. False where digits are missing.
    """
    d, total = f.shift.size, s.total
    weight, largest, spreading = total[d, d], 0.0, 0.0
    for j in range(d):
        f.shift[j], f.deviation[j], f.spreads[j], f.inflation[j] = 0.0, 1.0, 0.0, 1.0
        reach = max(abs(s.bounds[0, j]), abs(s.bounds[1, j]))
        if reach == 0.0:
            continue
        if not total[j, j] > _LEAST_SQUARES:
            return False
        f.deviation[j], f.spreads[j] = np.sqrt(total[j, j] / weight), 1.0
        largest = max(largest, reach / f.deviation[j])
        spreading += 1.0
    f.state.weight, f.state.largest, f.state.spreading = weight, largest, spreading
    for j in range(d):
        f.products[j, j] = _set_unit(f, j, halved)
        f.pull[j] = (total[d + 1, j] + s.centre[d + 1] * total[d, j]) * f.scale[j]
        for i in range(j):
            f.products[i, j] = total[j, i] * f.scale[i] * f.scale[j]
    _describe_responses(f, s, y, a, b)
    return largest < np.inf


@numba.njit(**INNER)
def _set_unit(f: Frame, j: int, halved: bool) -> float:
    """scale[j] <- what feature j is multiplied by; return its sum of squares then.

    ``halved`` features are scaled by the square roots of their deviations.
    """
    square = f.state.weight * f.spreads[j]
    if halved:
        square *= f.deviation[j]
        f.deviation[j] = np.sqrt(f.deviation[j])
    f.scale[j] = f.spreads[j] / f.deviation[j]
    return square


@numba.njit(**INNER)
def _correlate(f: Frame, s: Sums, halved: bool) -> None:
    """Z'Z and Z'y from the sums."""
    d, total, weight = f.shift.size, s.total, f.state.weight
    middle = total[d + 1, d] / weight
    for j in range(d):
        f.products[j, j] = _set_unit(f, j, halved)
        f.pull[j] = (total[d + 1, j] - total[d, j] * middle) * f.scale[j]
        for i in range(j):
            joint = total[j, i] - f.shift[i] * total[d, j]
            f.products[i, j] = joint * f.scale[i] * f.scale[j]


@numba.njit(**INNER)
def _describe_responses(f: Frame, s: Sums, y: Responses, a: int, b: int) -> None:
    """Mean and scatter of the responses; from the rows where the sums have lost digits."""
    d = f.shift.size
    first, square = s.total[d + 1, d], s.total[d + 1, d + 1]
    f.state.middle = first / f.state.weight
    f.state.scatter = square - first * f.state.middle
    if f.state.scatter < KEPT * square:
        mean, scatter, base = 0.0, 0.0, y[first_weighted(y, a, b), VALUE]
        for i in range(a, b):
            mean += y[i, WEIGHT] * (y[i, VALUE] - base) / f.state.weight
        for i in range(a, b):
            scatter += y[i, WEIGHT] * (y[i, VALUE] - base - mean) ** 2
        f.state.scatter = scatter


@numba.njit(**INNER)
def standardise(
    f: Frame, s: Sums, x: Matrix, y: Responses, a: int, b: int, halved: bool = False
) -> bool:
    """The frame of the rows [a, b); False where digits are missing."""
    for _ in range(2):
        slide_to(s, x, y, a, b, 1, True)
        if s.state.turn == b or not _off_centre(s):
            break
        turn_over(s, x, y, a, b, True)
    return standardise_sums(f, s, y, a, b, halved)


@numba.njit(**INNER)
def standardise_sums(f: Frame, s: Sums, y: Responses, a: int, b: int, halved: bool) -> bool:
    """The frame of the rows [a, b), whose sums are up to date; False where digits are missing."""
    if not _describe(f, s, b - a):
        return False
    _correlate(f, s, halved)
    _describe_responses(f, s, y, a, b)
    return True

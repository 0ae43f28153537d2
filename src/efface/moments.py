"""What the adaptive penalty needs to know of the live rows: their sums and their bounds.

Kept like the rows themselves: of the core, of the tail from each of its rows on, and of the fresh
rows. So the largest row takes its maximum along when it leaves, without a look at the others.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from efface.blas import INNER, Ints, Matrix, Vector, copy, fill, part, take
from efface.sums import Sums, clear_bounds, widen

FIXED, ADAPTIVE, SWITCHING = 0, 1, 2
# Places in a stream's values and dials.
KIND, ALPHA, DELTA, THETA_MAX, SWITCH_AT, LEVEL, LAMBDA = 0, 1, 2, 3, 4, 5, 6
(
    HEAD, END, FIRST, START, STOP, PLACED, WIPED, VALID, HARD, DIRTY, RANK, WIDTH, INTERCEPT, BLOCK,
    SHRINKS, DEPTH,
) = range(16)  # fmt: skip


_KEPT = 1e-4  # of a sum of squares: less left after a subtraction, and digits are missing


class Stats(NamedTuple):
    """Sums and bounds of the live rows, from which the adaptive penalty follows."""

    moments: Matrix  # (2, d + 3): core, fresh: sums of x, 1, y, y^2 around the origin
    tail_moments: Matrix  # (t + 1, d + 3): of the tail from its i-th row on
    bounds: Matrix  # (2, 2 d): core, fresh: the largest and the smallest of each feature
    tail_bounds: Matrix  # (t + 1, 2 d)
    origin: Vector  # (d + 1,)


@numba.njit(**INNER)
def unpenalised(values: Vector, n: int, d: int) -> bool:
    if values[KIND] == FIXED:
        return values[ALPHA] == 0.0
    return values[KIND] == SWITCHING and n > values[SWITCH_AT] * d


@numba.njit(**INNER)
def observe(moments: Vector, bounds: Vector, origin: Vector, row: Vector, y: float) -> None:
    d, away = row.size, y - origin[row.size]
    for j in range(d):
        moments[j] += row[j] - origin[j]
    moments[d] += 1.0
    moments[d + 1] += away
    moments[d + 2] += away * away
    widen(take(bounds, 0, 2, d), row, row)


@numba.njit(**INNER, inline="always")
def observe_all(stats: Stats, sums: Sums, dials: Ints, x: Matrix, y: Vector, primal: bool) -> None:
    """Moments and bounds of the core, of each end piece of the tail, and of no fresh rows."""
    d, first, t = dials[WIDTH], dials[FIRST], dials[START] - dials[FIRST]
    for kept in (stats.moments, stats.tail_moments, stats.bounds, stats.tail_bounds):
        fill(kept, 0.0)
    fill(stats.origin, 0.0)
    for i in range(2):
        clear_bounds(take(stats.bounds, i * 2 * d, 2, d))
    if primal:
        copy(sums.centre, part(stats.origin, 0, d))
        stats.origin[d] = sums.centre[d + 1]
        copy(sums.total[d], part(stats.moments[0], 0, d + 1))
        stats.moments[0, d + 1] = sums.total[d + 1, d]
        stats.moments[0, d + 2] = sums.total[d + 1, d + 1]
        copy(take(sums.bounds, 0, 1, 2 * d)[0], stats.bounds[0])
    else:
        if dials[INTERCEPT] == 1:
            copy(x[first], part(stats.origin, 0, d))
        stats.origin[d] = y[first]
        for row in range(dials[START], dials[STOP]):
            observe(stats.moments[0], stats.bounds[0], stats.origin, x[row], y[row])
    moments, bounds = stats.tail_moments, stats.tail_bounds
    clear_bounds(take(bounds, t * 2 * d, 2, d))
    for i in range(t - 1, -1, -1):
        copy(moments[i + 1], moments[i])
        copy(bounds[i + 1], bounds[i])
        observe(moments[i], bounds[i], stats.origin, x[first + i], y[first + i])


@numba.njit(**INNER)
def _directly(x: Matrix, y: Vector, dials: Ints, n: int) -> tuple[float, float]:
    """Variance and largest deviation by two passes: the rows have moved far from the origin."""
    lo, hi, d = dials[HEAD], dials[END], dials[WIDTH]
    mean, variance, largest = 0.0, 0.0, 0.0
    for i in range(lo, hi):
        mean += (y[i] - y[lo]) / n
    for i in range(lo, hi):
        variance += (y[i] - y[lo] - mean) ** 2 / (n - 1)
    for j in range(d):
        base, middle = 0.0, 0.0
        if dials[INTERCEPT] == 1:
            base = x[lo, j]
            for i in range(lo, hi):
                middle += (x[i, j] - base) / n
        for i in range(lo, hi):
            largest = max(largest, abs(x[i, j] - base - middle))
    return variance, largest


@numba.njit(**INNER)
def penalty_of(
    stats: Stats, dials: Ints, values: Vector, n: int, d: int, x: Matrix, y: Vector
) -> float:
    """Lemma 3, from the live rows alone: sqrt(2 n log(2 d / delta)) sd(y) max|x| / max|theta|."""
    if values[KIND] == FIXED:
        return values[ALPHA]
    if n < 2 or unpenalised(values, n, d):
        return 0.0
    i = dials[HEAD] - dials[FIRST]
    core, fresh, tail = stats.moments[0], stats.moments[1], stats.tail_moments[i]
    bounds, fresh_bounds, tail_bounds = stats.bounds[0], stats.bounds[1], stats.tail_bounds[i]
    largest, reach = 0.0, 0.0
    for j in range(d):
        high = max(bounds[j], fresh_bounds[j], tail_bounds[j])
        low = min(bounds[d + j], fresh_bounds[d + j], tail_bounds[d + j])
        # From the origin, near which they are: around a large mean the difference keeps its digits.
        middle, origin = 0.0, stats.origin[j]
        if dials[INTERCEPT] == 1:
            middle = (core[j] + fresh[j] + tail[j]) / n
        largest = max(largest, high - origin - middle, middle - (low - origin))
        reach = max(reach, abs(middle))
    total = core[d + 1] + fresh[d + 1] + tail[d + 1]
    square = core[d + 2] + fresh[d + 2] + tail[d + 2]
    variance = max(square - total * total / n, 0.0) / (n - 1)
    if variance * n < _KEPT * square or largest < _KEPT * reach:
        variance, largest = _directly(x, y, dials, n)
    scale = np.sqrt(2.0 * n * np.log(2.0 * d / values[DELTA]) * variance)
    return scale * largest / values[THETA_MAX]

"""What a penalty that adapts needs to know of the live rows: their sums and their bounds.

Kept like the rows themselves: of the core, of the tail from each of its rows on, and of the fresh
rows. So the largest row takes its maximum along when it leaves, without a look at the others.

Rows count as often as they weigh: n is the sum of the weights. A maximum is over the rows that have
weight.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from efface.engine.jit.compilation import INNER, shared
from efface.engine.jit.views import VALUE, WEIGHT, Ints, Matrix, Responses, Vector, part, take
from efface.engine.linalg.dense import copy, fill
from efface.engine.sums.sliding import Sums, clear_bounds, first_heard, widen

# Where a penalty comes from: given once; by Lemma 3 from the live rows; the same up to a number of
# rows; given anew for each event; and that of a pilot fit (see ``pilot``).
FIXED, ADAPTIVE, SWITCHING, GIVEN, PILOT = 0, 1, 2, 3, 4
# Places in a stream's values and dials.
(
    KIND, ALPHA, DELTA, THETA_MAX, SWITCH_AT, NOISE, LEVEL, LAMBDA, VARIANCE, LARGEST, TRACE,
) = range(11)  # fmt: skip
(
    HEAD, END, FIRST, START, STOP, PLACED, WIPED, VALID, HARD, DIRTY, RANK, WIDTH, INTERCEPT, BLOCK,
    SHRINKS, DEPTH, MUTE,
) = range(17)  # fmt: skip


KEPT = 1e-4  # of a sum of squares: less left after a subtraction, and digits are missing
PILOT_SHARE = 1e-3  # of the mean squared length of a row: the penalty of a pilot fit


class Stats(NamedTuple):
    """Sums and bounds of the live rows, from which the adaptive penalty follows."""

    moments: Matrix  # (2, d + 4): core, fresh: weighted sums of x, 1, y, y^2, |x|^2 from the origin
    tail_moments: Matrix  # (t + 1, d + 4): of the tail from its i-th row on
    bounds: Matrix  # (2, 2 d): core, fresh: the largest and the smallest of each feature
    tail_bounds: Matrix  # (t + 1, 2 d)
    origin: Vector  # (d + 1,)


@numba.njit(**INNER)
def weight_upto(y: Responses, dials: Ints, limit: float) -> float:
    """What the live rows weigh, or some of them, if that is more than ``limit``.

    Newest first, so that rounding at the limit is a matter of the live rows alone.
    """
    total = 0.0
    for i in range(dials[END] - 1, dials[HEAD] - 1, -1):
        total += y[i, WEIGHT]
        if total > limit:
            return total
    return total


@numba.njit(**INNER)
def unpenalised(y: Responses, dials: Ints, values: Vector) -> bool:
    if values[KIND] == FIXED or values[KIND] == GIVEN:
        return values[ALPHA] == 0.0
    if values[KIND] != SWITCHING:
        return False
    most = values[SWITCH_AT] * dials[WIDTH]
    return weight_upto(y, dials, most) > most


@numba.njit(**INNER)
def observe(moments: Vector, bounds: Vector, origin: Vector, row: Vector, y: Vector) -> None:
    d, away, weight = row.size, y[VALUE] - origin[row.size], y[WEIGHT]
    if weight == 0.0:
        return
    for j in range(d):
        moments[j] += weight * (row[j] - origin[j])
        moments[d + 3] += weight * (row[j] - origin[j]) ** 2
    moments[d] += weight
    moments[d + 1] += weight * away
    moments[d + 2] += weight * (away * away)
    widen(take(bounds, 0, 2, d), row, row)


@numba.njit(**INNER)
def observe_sums(stats: Stats, sums: Sums, d: int) -> None:
    """Moments and bounds of a core, from its sums; no fresh rows yet."""
    _clear(stats, d)
    copy(sums.centre, part(stats.origin, 0, d))
    stats.origin[d] = sums.centre[d + 1]
    copy(sums.total[d], part(stats.moments[0], 0, d + 1))
    stats.moments[0, d + 1] = sums.total[d + 1, d]
    stats.moments[0, d + 2] = sums.total[d + 1, d + 1]
    for j in range(d):
        stats.moments[0, d + 3] += sums.total[j, j]
    copy(take(sums.bounds, 0, 1, 2 * d)[0], stats.bounds[0])


@numba.njit(**INNER)
def observe_rows(stats: Stats, dials: Ints, x: Matrix, y: Responses) -> None:
    """Moments and bounds of a core, from its rows; no fresh rows yet."""
    d, first = dials[WIDTH], first_heard(y, dials[FIRST], dials[STOP])
    _clear(stats, d)
    if dials[INTERCEPT] == 1:
        copy(x[first], part(stats.origin, 0, d))
    stats.origin[d] = y[first, VALUE]
    for row in range(dials[START], dials[STOP]):
        observe(stats.moments[0], stats.bounds[0], stats.origin, x[row], y[row])


@numba.njit(**INNER)
def _clear(stats: Stats, d: int) -> None:
    for kept in (stats.moments, stats.tail_moments, stats.bounds, stats.tail_bounds):
        fill(kept, 0.0)
    fill(stats.origin, 0.0)
    for i in range(2):
        clear_bounds(take(stats.bounds, i * 2 * d, 2, d))


@numba.njit(**INNER)
def observe_tail(stats: Stats, dials: Ints, x: Matrix, y: Responses) -> None:
    """Moments and bounds of each end piece of the tail, around the core's origin."""
    d, first, t = dials[WIDTH], dials[FIRST], dials[START] - dials[FIRST]
    moments, bounds = stats.tail_moments, stats.tail_bounds
    clear_bounds(take(bounds, t * 2 * d, 2, d))
    for i in range(t - 1, -1, -1):
        copy(moments[i + 1], moments[i])
        copy(bounds[i + 1], bounds[i])
        observe(moments[i], bounds[i], stats.origin, x[first + i], y[first + i])


@numba.njit(**INNER)
def _directly(x: Matrix, y: Responses, dials: Ints, n: float) -> tuple[float, float, float]:
    """What ``_spread`` gives, by two passes: the rows have moved far from the origin."""
    hi, d = dials[END], dials[WIDTH]
    lo = first_heard(y, dials[HEAD], hi)
    mean, variance, largest, trace = 0.0, 0.0, 0.0, 0.0
    for i in range(lo, hi):
        mean += y[i, WEIGHT] * (y[i, VALUE] - y[lo, VALUE]) / n
    for i in range(lo, hi):
        variance += y[i, WEIGHT] * (y[i, VALUE] - y[lo, VALUE] - mean) ** 2 / (n - 1.0)
    for j in range(d):
        base, middle = 0.0, 0.0
        if dials[INTERCEPT] == 1:
            base = x[lo, j]
            for i in range(lo, hi):
                middle += y[i, WEIGHT] * (x[i, j] - base) / n
        for i in range(lo, hi):
            away = x[i, j] - base - middle
            if y[i, WEIGHT] > 0.0:
                largest = max(largest, abs(away))
            trace += y[i, WEIGHT] * (away * away)
    return variance, largest, trace


@numba.njit(**INNER)
def live_weight(stats: Stats, dials: Ints) -> float:
    """What the live rows weigh: as many rows as they count for."""
    d, i = dials[WIDTH], dials[HEAD] - dials[FIRST]
    return stats.moments[0, d] + stats.moments[1, d] + stats.tail_moments[i, d]


@numba.njit(**INNER)
def _spread(
    stats: Stats, dials: Ints, n: float, d: int, x: Matrix, y: Responses
) -> tuple[float, float, float]:
    """Variance of y, max|x| and the sum of all x^2, around the mean if there is an intercept."""
    i = dials[HEAD] - dials[FIRST]
    core, fresh, tail = stats.moments[0], stats.moments[1], stats.tail_moments[i]
    bounds, fresh_bounds, tail_bounds = stats.bounds[0], stats.bounds[1], stats.tail_bounds[i]
    largest, reach, offset = 0.0, 0.0, 0.0
    for j in range(d):
        high = max(bounds[j], fresh_bounds[j], tail_bounds[j])
        low = min(bounds[d + j], fresh_bounds[d + j], tail_bounds[d + j])
        # From the origin, near which they are: around a large mean the difference keeps its digits.
        middle, origin = 0.0, stats.origin[j]
        if dials[INTERCEPT] == 1:
            middle = (core[j] + fresh[j] + tail[j]) / n
        largest = max(largest, high - origin - middle, middle - (low - origin))
        reach = max(reach, abs(middle))
        offset += middle * middle
    total = core[d + 1] + fresh[d + 1] + tail[d + 1]
    square = core[d + 2] + fresh[d + 2] + tail[d + 2]
    length = core[d + 3] + fresh[d + 3] + tail[d + 3]
    variance = max(square - total * total / n, 0.0) / (n - 1.0)
    trace = length - n * offset
    if variance * n < KEPT * square or largest < KEPT * reach or trace < KEPT * length:
        return _directly(x, y, dials, n)
    return variance, largest, trace


@numba.njit(**INNER)
def penalty_of(stats: Stats, dials: Ints, values: Vector, x: Matrix, y: Responses) -> float:
    """Lemma 3, from the live rows alone, or the penalty of a pilot fit."""
    if values[KIND] == FIXED or values[KIND] == GIVEN:
        return values[ALPHA]
    if weight_upto(y, dials, 2.0) < 2.0 or unpenalised(y, dials, values):
        return 0.0
    n, d = live_weight(stats, dials), dials[WIDTH]
    variance, largest, trace = _spread(stats, dials, n, d, x, y)
    if values[KIND] == PILOT:
        values[VARIANCE], values[LARGEST], values[TRACE] = variance, largest, trace
        # A power of two: it seldom changes as rows come and go, so that nothing has to be bridged.
        return PILOT_SHARE * 2.0 ** np.rint(np.log2(trace / n)) if trace > 0.0 else 0.0
    return plugged(n, d, values[DELTA], np.sqrt(variance), largest, values[THETA_MAX])


@shared()
def plugged(n: float, d: int, delta: float, noise: float, largest: float, theta: float) -> float:
    """Lemma 3: sqrt(2 n log(2 d / delta)) sigma max|x| / max|theta|."""
    return np.sqrt(2.0 * n * np.log(2.0 * d / delta)) * noise * largest / theta

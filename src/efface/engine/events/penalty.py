"""The penalty of the live rows, and the moments and bounds that an adaptive penalty needs.

Moments and bounds are kept of the core, of the tail from each of its rows on, and of the rows that
came after the core. So a row that leaves takes its share along, and no other row is looked at.

A row counts as often as its weight says: n is the sum of the weights. A maximum is over the rows
that have weight. Where weights fade, they are kept relative to a fixed row: the unit is the weight
of one row that has just come, n is the sum divided by the unit, and a penalty is multiplied by it.
"""

from __future__ import annotations

import numba
import numpy as np

from efface.engine.events.rows import Rows
from efface.engine.events.state import FADING, FIXED, GIVEN, PILOT, Stats, Stream
from efface.engine.jit.compilation import INNER, shared
from efface.engine.jit.records import Record
from efface.engine.jit.views import VALUE, WEIGHT, Vector, part, take
from efface.engine.linalg.dense import copy, fill
from efface.engine.sums.sliding import Sums, clear_bounds, first_weighted, widen

KEPT = 1e-4  # of a sum of squares: with less left after a subtraction, digits are missing
LEAST_TRACE = 1e-240  # of Phi: with less, squares have lost their digits; as if features were 0
PILOT_SHARE = 1e-3  # of the mean squared length of a row: the penalty of a pilot fit


@numba.njit(**INNER)
def weight_upto(r: Rows, limit: float) -> float:
    """The weight of the live rows, or of the newest of them as soon as it exceeds ``limit``.

    Newest first, so that rounding at the limit depends on the live rows alone.
    """
    total = 0.0
    for i in range(r.span.end - 1, r.span.head - 1, -1):
        total += r.y[i, WEIGHT]
        if total > limit:
            return total
    return total


@numba.njit(**INNER)
def unpenalised(r: Rows, state: Record) -> bool:
    """Is there no penalty, whatever the values of the rows?"""
    if state.rule == FIXED or state.rule == GIVEN or state.rule == FADING:
        return state.alpha == 0.0
    most = state.switch_at * state.width * state.unit
    return most < np.inf and weight_upto(r, most) > most


@shared()
def too_few(r: Rows, state: Record) -> bool:
    """Is an adaptive penalty 0, because the weight is below 2 or above the switch?"""
    least = 2.0 * state.unit
    return weight_upto(r, least) < least or unpenalised(r, state)


@numba.njit(**INNER)
def observe(moments: Vector, bounds: Vector, origin: Vector, row: Vector, y: Vector) -> None:
    """Add a row to moments and bounds."""
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
    """Moments and bounds of a core, from its sums; no row came after it yet."""
    _clear(stats, d, sums)
    copy(sums.total[d], part(stats.moments[0], 0, d + 1))
    stats.moments[0, d + 1] = sums.total[d + 1, d]
    stats.moments[0, d + 2] = sums.total[d + 1, d + 1]
    for j in range(d):
        stats.moments[0, d + 3] += sums.total[j, j]
    copy(take(sums.bounds, 0, 1, 2 * d)[0], stats.bounds[0])


@numba.njit(**INNER)
def observe_rows(stats: Stats, state: Record, sums: Sums, r: Rows) -> None:
    """Moments and bounds of a core, from its rows; no row came after it yet."""
    _clear(stats, state.width, sums)
    for row in range(state.core_start, state.core_end):
        observe(stats.moments[0], stats.bounds[0], stats.origin, r.x[row], r.y[row])


@numba.njit(**INNER)
def _clear(stats: Stats, d: int, sums: Sums) -> None:
    """No row is observed yet; the origin is the centre of the sums."""
    for kept in (stats.moments, stats.tail_moments, stats.bounds, stats.tail_bounds):
        fill(kept, 0.0)
    copy(sums.centre, part(stats.origin, 0, d))
    stats.origin[d] = sums.centre[d + 1]
    for i in range(2):
        clear_bounds(take(stats.bounds, i * 2 * d, 2, d))


@numba.njit(**INNER)
def observe_tail(stats: Stats, state: Record, r: Rows) -> None:
    """Moments and bounds of the tail from each of its rows on, around the origin of the core."""
    d, first, t = state.width, state.tail_start, state.core_start - state.tail_start
    moments, bounds = stats.tail_moments, stats.tail_bounds
    clear_bounds(take(bounds, t * 2 * d, 2, d))
    for i in range(t - 1, -1, -1):
        copy(moments[i + 1], moments[i])
        copy(bounds[i + 1], bounds[i])
        observe(moments[i], bounds[i], stats.origin, r.x[first + i], r.y[first + i])


@numba.njit(**INNER)
def _spread_of_rows(r: Rows, state: Record, n: float) -> tuple[float, float, float]:
    """What ``_spread`` gives, by two passes over the rows, which have moved far from the origin."""
    x, y, hi, d = r.x, r.y, r.span.end, state.width
    lo = first_weighted(y, r.span.head, hi)
    mean, variance, largest, trace = 0.0, 0.0, 0.0, 0.0
    for i in range(lo, hi):
        mean += y[i, WEIGHT] * (y[i, VALUE] - y[lo, VALUE]) / n
    for i in range(lo, hi):
        variance += y[i, WEIGHT] * (y[i, VALUE] - y[lo, VALUE] - mean) ** 2 / (n - state.unit)
    for j in range(d):
        base, middle = 0.0, 0.0
        if state.has_intercept == 1:
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
def live_weight(s: Stream, r: Rows) -> float:
    """The sum of the weights of the live rows."""
    d, i = s.state.width, r.span.head - s.state.tail_start
    return s.stats.moments[0, d] + s.stats.moments[1, d] + s.stats.tail_moments[i, d]


@numba.njit(**INNER)
def _spread(s: Stream, r: Rows, n: float) -> tuple[float, float, float]:
    """Variance of y, max|x| and the sum of all x^2, around the mean if there is an intercept."""
    stats, state, d, i = s.stats, s.state, s.state.width, r.span.head - s.state.tail_start
    core, fresh, tail = stats.moments[0], stats.moments[1], stats.tail_moments[i]
    bounds, fresh_bounds, tail_bounds = stats.bounds[0], stats.bounds[1], stats.tail_bounds[i]
    largest, reach, offset = 0.0, 0.0, 0.0
    for j in range(d):
        high = max(bounds[j], fresh_bounds[j], tail_bounds[j])
        low = min(bounds[d + j], fresh_bounds[d + j], tail_bounds[d + j])
        # Measured from the origin, which is near: so a difference of large values keeps its digits.
        middle, origin = 0.0, stats.origin[j]
        if state.has_intercept == 1:
            middle = (core[j] + fresh[j] + tail[j]) / n
        largest = max(largest, high - origin - middle, middle - (low - origin))
        reach = max(reach, abs(middle))
        offset += middle * middle
    total = core[d + 1] + fresh[d + 1] + tail[d + 1]
    square = core[d + 2] + fresh[d + 2] + tail[d + 2]
    length = core[d + 3] + fresh[d + 3] + tail[d + 3]
    variance = max(square - total * total / n, 0.0) / (n - state.unit)
    trace = length - n * offset
    if variance * n < KEPT * square or largest < KEPT * reach or trace < KEPT * length:
        return _spread_of_rows(r, state, n)
    return variance, largest, trace


@numba.njit(**INNER)
def penalty_of(s: Stream, r: Rows) -> float:
    """The penalty of the live rows, by the rule of the stream."""
    state = s.state
    if state.rule == FIXED or state.rule == GIVEN:
        return state.alpha
    if state.rule == FADING:
        return state.alpha * state.unit
    if too_few(r, state):
        return 0.0
    unit, weight = state.unit, live_weight(s, r)
    variance, largest, trace = _spread(s, r, weight)
    n, trace = weight / unit, trace / unit
    if state.rule == PILOT:
        state.variance, state.largest, state.trace_phi = variance, largest, trace
        return unit * pilot_penalty(trace, n)
    noise = np.sqrt(variance)
    return unit * lemma_3(n, state.width, state.delta, noise, largest, state.theta_max)


@shared()
def pilot_penalty(trace: float, n: float) -> float:
    """The penalty of a pilot fit: a power of two, which seldom changes as rows come and go."""
    return PILOT_SHARE * 2.0 ** np.rint(np.log2(trace / n)) if trace > LEAST_TRACE else 0.0


@shared()
def lemma_3(n: float, d: int, delta: float, noise: float, largest: float, theta: float) -> float:
    """Lemma 3: sqrt(2 n log(2 d / delta)) sigma max|x| / max|theta|."""
    return np.sqrt(2.0 * n * np.log(2.0 * d / delta)) * noise * largest / theta

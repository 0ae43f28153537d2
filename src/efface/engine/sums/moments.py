"""Mean and variance of each feature over a sliding range of rows, rounded once.

The range is [head, end) of an array of rows. Let c be a centre. The sums of x - c and of its square
are kept in double-double precision and made by addition alone. The range is split at a *turn*:
suffix sums over [i, turn) for each row i before the turn, and one running sum over [turn, end). The
centre is the row before the turn. When that row leaves, the turn moves to the end of the range. So
a row costs O(d), and all that is kept is made of live rows.

Mean and variance follow from these sums with about thirty digits, and are rounded to sixteen. The
result does not depend on how the sums were made, unless the exact value is so close to a rounding
boundary that the rounding errors of the sums decide. Then the feature is marked as doubtful, and
the caller must compute it from exact sums (Ziv's strategy). The rounding boundary between two
doubles is not the midpoint, where sums of 2^k numbers often lie, but the golden section, which is
far from all fractions with a small denominator. So fewer than one feature in a million is doubtful.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from efface.engine.jit.compilation import INNER, KERNEL, shared
from efface.engine.jit.records import record
from efface.engine.jit.views import Ints, Matrix, Vector
from efface.engine.linalg.dense import EPS, copy, fill
from efface.engine.linalg.double_double import over, plus, times, two_product, two_sum

# ``seen``: the rows before it are in the sums. ``shrinks``: do rows leave by themselves, so that
# suffix sums are worth keeping? ``known``: are mean and variance up to date?
range_state, _STATE = record(ints=["head", "end", "turn", "seen", "shrinks", "known"])

DONE, DOUBTFUL, FULL = range(3)
_ROUNDING = 2.0**-100  # relative error of a double-double sum, with some bits to spare
_LEAST_SQUARES = 1e-250  # sums of squares below have lost digits
SECTION = 0.6180339887498949  # of the gap between two doubles: round up from here on
NO_MEAN = 2.0**-90  # a mean below this, times the deviation and the number of rows, is 0
_SUMS = 4  # of x - c and of its square, each as two doubles


class MomentRange(NamedTuple):
    """An array of rows, the range of the live rows in it, and their sums and moments."""

    x: Matrix  # (places, d)
    state: Ints  # see ``range_state``
    suffixes: Matrix  # (places, 4 d): sums over [i, turn); (1, 4 d) unless rows leave
    recent: Vector  # (4 d,): sums over [turn, end)
    centre: Vector  # (d,)
    moments: Matrix  # (3, d): mean, variance, and 1 where they are doubtful


def empty_range(x: Matrix, *, shrinks: bool) -> MomentRange:
    """An array of rows, none of which is live."""
    places, d = x.shape
    words = np.zeros(_STATE, np.int64)
    range_state(words).shrinks = shrinks
    suffixes = np.zeros((places if shrinks else 1, _SUMS * d))
    return MomentRange(x, words, suffixes, np.zeros(_SUMS * d), np.zeros(d), np.zeros((3, d)))


@numba.njit(**INNER)
def _add(row: Vector, centre: Vector, sums: Vector) -> None:
    """Add a row to sums."""
    d = row.size
    for j in range(d):
        away, rest = two_sum(row[j], -centre[j])
        square, error = two_product(away, away)
        error += 2.0 * away * rest
        sums[j], sums[d + j] = plus(sums[j], sums[d + j], away, rest)
        k = 2 * d + j
        sums[k], sums[d + k] = plus(sums[k], sums[d + k], square, error)


@numba.njit(**INNER)
def _turn_over(r: MomentRange) -> None:
    """Start anew from the live rows."""
    state = range_state(r.state)
    head = state.head
    turn = state.end if state.shrinks == 1 else head + 1
    copy(r.x[turn - 1], r.centre)
    fill(r.recent, 0.0)
    for i in range(turn - 1, head - 1, -1):
        _add(r.x[i], r.centre, r.recent)
        copy(r.recent, r.suffixes[i])
    fill(r.recent, 0.0)
    state.turn, state.seen = turn, turn


@shared()
def update_moments(r: MomentRange) -> int:
    """Compute mean and variance of the live rows; DOUBTFUL if a last digit is uncertain.

    There must be a live row.
    """
    state = range_state(r.state)
    if state.known == 1:
        return DONE
    head, end, code = state.head, state.end, DONE
    if head >= state.turn:
        _turn_over(r)
    for i in range(state.seen, end):
        _add(r.x[i], r.centre, r.recent)
    state.seen = end
    for j in range(r.centre.size):
        r.moments[2, j] = 0.0
        if not _round_moments(r, r.suffixes[head], j, float(end - head)):
            r.moments[2, j], code = 1.0, DOUBTFUL
    state.known = 1 if code == DONE else 0
    return code


@numba.njit(**INNER)
def _round_moments(r: MomentRange, old: Vector, j: int, n: float) -> bool:
    """Set mean and variance of feature j from its sums; False where rounding errors could decide.

    ``old`` has the sums over [head, turn).
    """
    new, d, centre = r.recent, r.centre.size, r.centre[j]
    high, low = plus(new[j], new[d + j], old[j], old[d + j])
    k = 2 * d + j
    square, square_low = plus(new[k], new[d + k], old[k], old[d + k])
    mean, mean_low = over(high, low, n)
    product, product_low = times(high, low, mean, mean_low)
    variance, variance_low = plus(square, square_low, -product, -product_low)
    variance, variance_low = over(variance, variance_low, n)
    mean, mean_low = plus(mean, mean_low, centre, 0.0)
    error = _ROUNDING * (abs(centre) + np.sqrt(n * square))
    least = NO_MEAN * n * np.sqrt(max(variance, 0.0))
    if abs(mean) + error < least:
        mean, mean_certain = 0.0, True
    else:
        mean, mean_certain = _rounded(mean, mean_low, error)
        mean_certain = mean_certain and (abs(mean) > least + error or square == 0.0)
    error = _ROUNDING * (1.0 + 8.0 / n) * square
    variance, variance_certain = _rounded(variance, variance_low, error)
    r.moments[0, j], r.moments[1, j] = mean, variance
    return mean_certain and variance_certain and (square == 0.0 or square > _LEAST_SQUARES)


@numba.njit(**INNER)
def _rounded(high: float, low: float, error: float) -> tuple[float, bool]:
    """high + low as one double, and whether all numbers within ``error`` round to the same."""
    sign = -1.0 if high < 0.0 else 1.0
    high, low = sign * high, sign * low
    below = high * (1.0 - 0.5 * EPS)
    boundary = (SECTION - 1.0) * (high - below)
    return sign * (below if low < boundary else high), abs(low - boundary) > error or error == 0.0


@numba.njit(**KERNEL)
def drop_oldest(r: MomentRange, count: int) -> None:
    """Remove the oldest rows, and overwrite all sums that contain them."""
    if count == 0:
        return
    state = range_state(r.state)
    head = state.head
    fill(r.moments, 0.0)
    for i in range(head, head + count):
        fill(r.x[i], 0.0)
        if i < r.suffixes.shape[0]:
            fill(r.suffixes[i], 0.0)
    state.head, state.known = head + count, 0
    if state.head >= state.turn:  # the row of the centre has left
        fill(r.recent, 0.0)
        fill(r.centre, 0.0)
        state.turn, state.seen = 0, 0


@numba.njit(**KERNEL)
def set_scales(r: MomentRange, scale: Vector) -> None:
    """scale <- the standard deviations, 1 for a feature that is constant up to rounding.

    The limit is that of scikit-learn's StandardScaler, after Chan, Golub and LeVeque.
    """
    state = range_state(r.state)
    n = float(state.end - state.head)
    for j in range(scale.size):
        variance, rounding = r.moments[1, j], n * r.moments[0, j] * EPS
        constant = variance <= n * EPS * variance + rounding * rounding
        scale[j] = 1.0 if constant else np.sqrt(variance)


@numba.njit(**KERNEL, nogil=True)
def scale_rows(
    r: MomentRange,
    rows: Matrix,
    before: Ints,  # (n,): how many of the oldest rows leave before row t comes
    after: Ints,  # (n,): how many leave after row t was learned
    options: tuple[bool, bool, bool],  # subtract the mean, divide by the deviation, learn first
    scaled: Matrix,
    start: int,
    decided: int,
) -> tuple[int, int]:
    """Scale each row by the live rows, and learn it before or after; NaN if no row is live.

    Return the end and DONE; or the row where the caller must act first, and FULL or DOUBTFUL. The
    doubts at row ``decided`` have been resolved by the caller.
    """
    with_mean, with_std, joined = options
    state = range_state(r.state)
    for t in range(start, rows.shape[0]):
        if t != decided:
            if state.end == r.x.shape[0]:
                return t, FULL
            drop_oldest(r, before[t])
            if joined:
                _append(r, rows[t])
                drop_oldest(r, after[t])
            if state.end > state.head and update_moments(r) == DOUBTFUL:
                return t, DOUBTFUL
        fill(scaled[t], np.nan)
        if state.end > state.head:
            _scale(r, rows[t], with_mean, with_std, scaled[t])
        if not joined:
            _append(r, rows[t])
            drop_oldest(r, after[t])
    return rows.shape[0], DONE


@numba.njit(**INNER)
def _append(r: MomentRange, row: Vector) -> None:
    state = range_state(r.state)
    copy(row, r.x[state.end])
    state.end += 1
    state.known = 0


@numba.njit(**KERNEL)
def learn_row(r: MomentRange, row: Vector, leaving: int) -> bool:
    """Append the newest row, then drop the oldest ``leaving``; False if there is no free place."""
    if range_state(r.state).end == r.x.shape[0]:
        return False
    _append(r, row)
    drop_oldest(r, leaving)
    return True


@numba.njit(**KERNEL)
def scale_row(r: MomentRange, row: Vector, with_mean: bool, with_std: bool, scaled: Vector) -> int:
    """Scale a row by the live rows, of which there must be one; or return DOUBTFUL."""
    if update_moments(r) == DOUBTFUL:
        return DOUBTFUL
    _scale(r, row, with_mean, with_std, scaled)
    return DONE


@numba.njit(**INNER)
def _scale(r: MomentRange, row: Vector, with_mean: bool, with_std: bool, scaled: Vector) -> None:
    set_scales(r, scaled)
    for j in range(row.size):
        away = row[j] - r.moments[0, j] if with_mean else row[j]
        scaled[j] = away / scaled[j] if with_std else away

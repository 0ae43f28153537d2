"""Mean and variance of a sliding range of rows, feature by feature, rounded once.

The range is [head, end) of an array of rows. Sums of x - c and of its square are kept in twice the
precision and made by addition alone: those of every end piece of the rows before a *turn*, and one
running sum of the rows from the turn on. The centre c is the row before the turn; when that row
leaves, the turn moves to the end of the range. So a row costs O(d), and whatever is kept is made
of live rows.

From such sums the mean and the variance follow with some thirty digits, of which a double keeps
sixteen: which double it is does not depend on how the sums came about, unless the digits cut off
are so close to where rounding changes that the sums' own rounding decides. Then the feature is
called doubtful, and its exact sums decide (after Ziv). The limit between two doubles is not midway,
where sums of a power of two of numbers often lie, but at the golden section, which no fraction with
a small denominator comes near: so doubts are rarer than one in a million.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from efface.engine.jit.compilation import INNER, KERNEL
from efface.engine.jit.views import Ints, Matrix, Vector
from efface.engine.linalg.dense import EPS, copy, fill
from efface.engine.linalg.double_double import over, plus, times, two_product, two_sum

# Places in the dials: the range; the turn; up to where rows are in the sums; whether rows leave by
# themselves, so that end pieces are worth keeping; whether mean and variance are up to date.
HEAD, END, TURN, SEEN, SHRINKS, KNOWN = range(6)
DIALS = 6
DONE, DOUBTFUL, FULL = range(3)
_GRAIN = 2.0**-100  # of a sum: less is the rounding of two doubles, with some bits to spare
_FAINT = 1e-250  # squares below have lost digits
SECTION = 0.6180339887498949  # of the gap between two doubles: from here on up, else down
NOTHING = 2.0**-90  # of the deviation, times the rows: a mean below is 0
_SUMS = 4  # of x - c and of its square, each as a double and the rest


class Range(NamedTuple):
    """Rows, those of them that are in range, and what is known of them."""

    x: Matrix  # (places, d)
    dials: Ints
    pieces: Matrix  # (places, 4 d): sums from row i up to the turn; (1, 4 d) unless rows leave
    recent: Vector  # (4 d,): sums from the turn on
    centre: Vector  # (d,)
    found: Matrix  # (3, d): mean, variance, and 1 where they are in doubt


def range_of(x: Matrix, *, shrinks: bool) -> Range:
    """Rows of which none is in range yet."""
    places, d = x.shape
    dials = np.zeros(DIALS, np.int64)
    dials[SHRINKS] = shrinks
    pieces = np.zeros((places if shrinks else 1, _SUMS * d))
    return Range(x, dials, pieces, np.zeros(_SUMS * d), np.zeros(d), np.zeros((3, d)))


@numba.njit(**INNER)
def _join(row: Vector, centre: Vector, sums: Vector) -> None:
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
def _turn_over(r: Range) -> None:
    """Start anew from the rows in range."""
    head = r.dials[HEAD]
    turn = r.dials[END] if r.dials[SHRINKS] == 1 else head + 1
    copy(r.x[turn - 1], r.centre)
    fill(r.recent, 0.0)
    for i in range(turn - 1, head - 1, -1):
        _join(r.x[i], r.centre, r.recent)
        copy(r.recent, r.pieces[i])
    fill(r.recent, 0.0)
    r.dials[TURN], r.dials[SEEN] = turn, turn


@numba.njit(**INNER)
def _settle(r: Range) -> int:
    """Find mean and variance of the rows in range, some; DOUBTFUL where a last digit is open."""
    if r.dials[KNOWN] == 1:
        return DONE
    head, end, code = r.dials[HEAD], r.dials[END], DONE
    if head >= r.dials[TURN]:
        _turn_over(r)
    for i in range(r.dials[SEEN], end):
        _join(r.x[i], r.centre, r.recent)
    r.dials[SEEN] = end
    for j in range(r.centre.size):
        r.found[2, j] = 0.0
        if not _round(r, r.pieces[head], j, float(end - head)):
            r.found[2, j], code = 1.0, DOUBTFUL
    r.dials[KNOWN] = 1 if code == DONE else 0
    return code


@numba.njit(**INNER)
def _round(r: Range, old: Vector, j: int, n: float) -> bool:
    """The mean and variance of a feature from its sums; are they the nearest doubles for sure?"""
    new, d, centre = r.recent, r.centre.size, r.centre[j]
    high, low = plus(new[j], new[d + j], old[j], old[d + j])
    k = 2 * d + j
    square, rest = plus(new[k], new[d + k], old[k], old[d + k])
    mean, beside = over(high, low, n)
    less, error = times(high, low, mean, beside)
    variance, dust = plus(square, rest, -less, -error)
    variance, dust = over(variance, dust, n)
    mean, beside = plus(mean, beside, centre, 0.0)
    error = _GRAIN * (abs(centre) + np.sqrt(n * square))
    nothing = NOTHING * n * np.sqrt(max(variance, 0.0))
    if abs(mean) + error < nothing:
        mean, certain = 0.0, True
    else:
        mean, certain = _rounded(mean, beside, error)
        certain = certain and (abs(mean) > nothing + error or square == 0.0)
    variance, sure = _rounded(variance, dust, _GRAIN * (1.0 + 8.0 / n) * square)
    r.found[0, j], r.found[1, j] = mean, variance
    return certain and sure and (square == 0.0 or square > _FAINT)


@numba.njit(**INNER)
def _rounded(high: float, low: float, error: float) -> tuple[float, bool]:
    """high + low as one double, and whether that is so for all within ``error`` of it."""
    sign = -1.0 if high < 0.0 else 1.0
    high, low = sign * high, sign * low
    below = high * (1.0 - 0.5 * EPS)
    limit = (SECTION - 1.0) * (high - below)
    return sign * (below if low < limit else high), abs(low - limit) > error or error == 0.0


@numba.njit(**KERNEL)
def settle_range(r: Range) -> int:
    """Find mean and variance of the rows in range, of which there must be some."""
    return _settle(r)


@numba.njit(**KERNEL)
def drop_range(r: Range, count: int) -> None:
    """The oldest rows leave; what was kept of them is zeroed at once."""
    if count == 0:
        return
    head = r.dials[HEAD]
    fill(r.found, 0.0)
    for i in range(head, head + count):
        fill(r.x[i], 0.0)
        if i < r.pieces.shape[0]:
            fill(r.pieces[i], 0.0)
    r.dials[HEAD], r.dials[KNOWN] = head + count, 0
    if r.dials[HEAD] >= r.dials[TURN]:  # the centre has left
        fill(r.recent, 0.0)
        fill(r.centre, 0.0)
        r.dials[TURN], r.dials[SEEN] = 0, 0


@numba.njit(**KERNEL)
def scales_of(r: Range, scale: Vector) -> None:
    """scale <- the standard deviations found, 1 for a feature that is constant but for rounding.

    The limit is that of scikit-learn's StandardScaler, after Chan, Golub and LeVeque.
    """
    n = float(r.dials[END] - r.dials[HEAD])
    for j in range(scale.size):
        variance, dust = r.found[1, j], n * r.found[0, j] * EPS
        constant = variance <= n * EPS * variance + dust * dust
        scale[j] = 1.0 if constant else np.sqrt(variance)


@numba.njit(**KERNEL, nogil=True)
def scale_rows(
    r: Range,
    rows: Matrix,
    before: Ints,  # (n,): how many of the oldest rows leave before row t comes
    after: Ints,  # (n,): and once it has joined
    options: tuple[bool, bool, bool],  # take the mean off, divide by the deviation, join first
    scaled: Matrix,
    start: int,
    sure: int,
) -> tuple[int, int]:
    """Scale each row by those in range, and let it join before or after; NaN where there are none.

    The row at which something else is to be done first, and what; or the end, DONE. At row ``sure``
    what was found is right as it is.
    """
    with_mean, with_std, joined = options
    for t in range(start, rows.shape[0]):
        if t != sure:
            if r.dials[END] == r.x.shape[0]:
                return t, FULL
            drop_range(r, before[t])
            if joined:
                _append(r, rows[t])
                drop_range(r, after[t])
            if r.dials[END] > r.dials[HEAD] and _settle(r) == DOUBTFUL:
                return t, DOUBTFUL
        fill(scaled[t], np.nan)
        if r.dials[END] > r.dials[HEAD]:
            _scale(r, rows[t], with_mean, with_std, scaled[t])
        if not joined:
            _append(r, rows[t])
            drop_range(r, after[t])
    return rows.shape[0], DONE


@numba.njit(**INNER)
def _append(r: Range, row: Vector) -> None:
    copy(row, r.x[r.dials[END]])
    r.dials[END] += 1
    r.dials[KNOWN] = 0


@numba.njit(**KERNEL)
def join_range(r: Range, row: Vector, leaving: int) -> bool:
    """A row comes as the newest, then the oldest ``leaving`` go; False if there is no place."""
    if r.dials[END] == r.x.shape[0]:
        return False
    _append(r, row)
    drop_range(r, leaving)
    return True


@numba.njit(**KERNEL)
def scale_row(r: Range, row: Vector, with_mean: bool, with_std: bool, scaled: Vector) -> int:
    """Scale a row by those in range, of which there must be some; unless it is DOUBTFUL."""
    if _settle(r) == DOUBTFUL:
        return DOUBTFUL
    _scale(r, row, with_mean, with_std, scaled)
    return DONE


@numba.njit(**INNER)
def _scale(r: Range, row: Vector, with_mean: bool, with_std: bool, scaled: Vector) -> None:
    scales_of(r, scaled)
    for j in range(row.size):
        away = row[j] - r.found[0, j] if with_mean else row[j]
        scaled[j] = away / scaled[j] if with_std else away

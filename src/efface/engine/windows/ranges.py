"""The regression on any ranges of rows: eight ranges at once, one SIMD lane per range.

A range is [lo, hi) of an array of rows. Ranges may have any length and need not be neighbours, so
that many short histories, one per key, are solved together. Within a key both ends only move up.
The sums slide (see ``sums.sliding``), unless ranges are short. A range that shares no row with the
one before starts new sums around a centre of its own. The normal equations of a range are written
to the next free lane (see ``systems``), and solved when all lanes are in use.

Ranges for which float64 is not enough get a margin below SAFE; the caller solves them in another
way. So it does with ranges in which no row has weight.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from efface.engine.events.core import gather, off_centre, trusted
from efface.engine.events.leverage import TOTAL_WEIGHT
from efface.engine.events.state import FIXED, PILOT, STATE_WORDS, Rule, set_rule, stream_state
from efface.engine.jit import views
from efface.engine.jit.compilation import INNER, KERNEL
from efface.engine.jit.records import Record, words
from efface.engine.jit.simd import (
    LANES,
    TILE,
    add_dot,
    add_products,
    aligned,
    multiply_by,
    set_all,
    set_sum,
    subtract_product,
)
from efface.engine.jit.views import VALUE, Ints, Matrix, Responses, Vector, part, take
from efface.engine.linalg.batched_cholesky import solve_row
from efface.engine.linalg.dense import copy, fill
from efface.engine.sums.sliding import (
    NEVER,
    Sums,
    clear_bounds,
    depth_for,
    lay_out_sums,
    start_sums,
    turn_over,
    widen_all,
)
from efface.engine.windows.batched_replay import first_penalty, plug_in, solve_pilot
from efface.engine.windows.lane_fits import LaneFits, collect_lane, set_leverages
from efface.engine.windows.systems import (
    AROUND,
    AWAY,
    FAR,
    LENGTH,
    LEVEL,
    PREDICTION,
    ROOT,
    SPREAD,
    SQUARES,
    TOTAL,
    Offsets,
    factorise,
    offsets_for,
)

ALONE = 1 << 30  # as ``unit``: ranges that share no rows
SHORT = 32  # rows: up to this many are summed one by one, which is faster than sliding sums
_PLACES = 4 * SHORT  # for rows of short ranges


class Ranges(NamedTuple):
    """Ranges of the rows x, y, and the row that each of them predicts."""

    x: Matrix
    y: Responses
    lo: Ints
    hi: Ints
    rows: Matrix
    at: Ints  # range k predicts rows[at[k]]


def solve_ranges(
    ranges: Ranges,
    rule: Rule,
    intercept: bool,
    found: LaneFits,
    *,
    unit: int = 1,
    measured: bool = True,
) -> None:
    """Solve each range, and predict its row; ``rule`` holds the parameters of the penalty.

    Rows must have weight 1 unless the penalty is fixed. ``unit`` is the step by which ranges are
    expected to move. Leverages and gauges are found only if ``measured``. Can run in several
    threads at once.
    """
    d, longest = ranges.x.shape[1], int((ranges.hi - ranges.lo).max(initial=1))
    depth = depth_for(longest, unit)
    lanes = offsets_for(d, intercept, False).size * LANES
    sums = lanes + STATE_WORDS
    centres = sums + words(lay_out_sums, d, depth)
    # Behind the centres, the rows of short ranges; whole vectors are read, beyond the last number.
    store = aligned(centres + (LANES + _PLACES) * (d + 2) + LANES)
    state = stream_state(store[lanes:])
    set_rule(state, rule)
    state.width, state.has_intercept = d, intercept
    # Strided columns become contiguous ones: kernels take those alone.
    states, gauges = found.states, found.gauges
    inner = found._replace(states=np.ascontiguousarray(states), gauges=np.ascontiguousarray(gauges))
    waiting = np.zeros(LANES, np.int64)
    shape = lanes, centres, depth, 0 if longest <= SHORT else unit
    _solve(ranges, inner, waiting, store, *shape, intercept, measured)
    if inner.states is not states:
        states[:], gauges[:] = inner.states, inner.gauges


class _Lanes(NamedTuple):
    """Eight systems, the range that each is for, and its centre: of the features, weight, of y."""

    f: Matrix
    at: Offsets
    centres: Matrix
    waiting: Ints
    state: Record


@numba.njit(**KERNEL, nogil=True)
def _solve(
    ranges: Ranges,
    found: LaneFits,
    waiting: Ints,
    store: Vector,
    lanes: int,
    centres: int,
    depth: int,
    unit: int,  # 0: all ranges are short
    intercept: bool,
    measured: bool,
) -> None:
    x, y, lo, hi = ranges.x, ranges.y, ranges.lo, ranges.hi
    d = x.shape[1]
    f, at = take(store, 0, lanes // LANES, LANES), offsets_for(d, intercept, False)
    state = stream_state(part(store, lanes, lanes + STATE_WORDS))
    sums = lay_out_sums(store, lanes + STATE_WORDS, d, depth)[0]
    all_lanes = _Lanes(f, at, take(store, centres, LANES, d + 2), waiting, state)
    start_sums(sums, state.rule != FIXED)
    _pad(f, at)
    centred = take(store, centres + LANES * (d + 2), _PLACES, d + 2)
    used, end, first = 0, -1, 0
    for k in range(lo.size):
        if hi[k] <= lo[k]:
            continue
        anew = lo[k] >= end or lo[k] < first or hi[k] < end
        if unit == 0:
            if anew:
                turn_over(sums, x, y, lo[k], hi[k], intercept)
                first, end = lo[k], lo[k]
            first = _sum_short(sums, centred, ranges, k, first, end)
            if off_centre(sums, d, hi[k], intercept):
                turn_over(sums, x, y, lo[k], hi[k], intercept)
                first = _sum_short(sums, centred, ranges, k, lo[k], lo[k])
        else:
            if anew:
                sums.state.seen = NEVER
            first = lo[k]
            gather(sums, x, y, lo[k], hi[k], unit, intercept)
        end = hi[k]
        if _write(all_lanes, sums, ranges, k, used):
            used += 1
        if used == LANES:
            _solve_lanes(all_lanes, ranges, found, used, measured)
            used = 0
    if used > 0:
        _solve_lanes(all_lanes, ranges, found, used, measured)


@numba.njit(**INNER)
def _sum_short(sums: Sums, centred: Matrix, ranges: Ranges, k: int, first: int, end: int) -> int:
    """total <- the sum over range k, of its rows one by one; bounds, if they are kept.

    ``centred`` holds the rows from ``first`` up to ``end``. Returns the row that it begins with.
    """
    x, y, lo, hi, q = ranges.x, ranges.y, ranges.lo[k], ranges.hi[k], centred.shape[1]
    if hi - first > _PLACES:  # no place behind them: move the rows of the range to the front
        for i in range(lo, end):
            copy(centred[i - first], centred[i - lo])
        first = lo
    for i in range(end, hi):
        row, root = centred[i - first], y[i, views.ROOT]
        for j in range(q - 2):
            row[j] = root * (x[i, j] - sums.centre[j])
        row[q - 2], row[q - 1] = root, root * (y[i, VALUE] - sums.centre[q - 1])
    fill(sums.total, 0.0)
    rows = part(centred, lo - first, hi - first)
    for i in range(q):
        for j in range(0, i + 1, LANES):
            add_products(rows, sums.total, i * q + j, j, i, q, hi - lo)
    if sums.state.bounded == 1:
        clear_bounds(sums.bounds)
        widen_all(sums.bounds, x, y, lo, hi)
    return first


@numba.njit(**INNER)
def _pad(f: Matrix, at: Offsets) -> None:
    """What never changes: the identity beside the features, zeros above the diagonal."""
    for i in range(at.m):
        for j in range(i // TILE * TILE + TILE):
            set_all(f, at.matrix + i * at.step + j, 1.0 if i == j else 0.0)


@numba.njit(**INNER)
def _write(lanes: _Lanes, sums: Sums, ranges: Ranges, k: int, i: int) -> bool:
    """Write the system of range k to lane i; False where its sums are not safe to use."""
    f, at, state, total, c = lanes.f, lanes.at, lanes.state, sums.total, sums.centre
    d, n, intercept = ranges.x.shape[1], total[c.size - 2, c.size - 2], at.eliminated == 1
    diagonal = lanes.centres[i]  # as scratch
    for j in range(d):
        diagonal[j] = total[j, j]
    least = state.alpha if state.rule == FIXED else 1.0
    if not trusted(diagonal, total, c, d, least, intercept) > 0.0:
        return False
    # The least penalty that the lane can have decides; without one, a feature may be too small.
    bare = trusted(diagonal, total, c, d, 0.0, intercept)
    f[at.numbers + LEVEL, i] = bare
    shift, root = 0.0 if intercept else c[d + 1], 1.0 / np.sqrt(n)
    right, oldest = at.matrix + at.m * at.step, ranges.lo[k]
    q, new, old = ranges.y[oldest, views.ROOT], ranges.rows[ranges.at[k]], ranges.x[oldest]
    for r in range(d):
        for j in range(r + 1):
            f[at.matrix + r * at.step + j, i] = total[r, j]
        f[right + r, i] = total[d + 1, r] + shift * total[d, r]
        f[right + at.step + r, i] = new[r] - c[r]
        f[right + 2 * at.step + r, i] = q * (old[r] - c[r])
    if intercept:
        for r in range(d):
            f[at.factor + r * at.step - 1, i] = root * total[d, r]
        column = at.factor + at.m * at.step - 1
        f[column, i], f[column + at.step, i] = root * total[d + 1, d], root
        f[column + 2 * at.step, i] = root * q
    _write_moments(lanes, sums, i, n, root, shift)
    copy(c, lanes.centres[i])
    lanes.centres[i, d] = n
    lanes.waiting[i] = k
    return True


@numba.njit(**INNER)
def _write_moments(lanes: _Lanes, sums: Sums, i: int, n: float, root: float, shift: float) -> None:
    """Sums of squares of the response and of all features, and bounds of these."""
    f, at, total, c = lanes.f, lanes.at, sums.total, sums.centre
    d, numbers, intercept = c.size - 2, at.numbers, at.eliminated == 1
    square, linear = total[d + 1, d + 1], total[d + 1, d]
    length, spread, away, far = 0.0, 0.0, 0.0, 0.0
    for j in range(d):
        mean = total[d, j] / n if intercept else 0.0
        length += total[j, j]
        spread -= n * mean * mean
        if lanes.state.rule != FIXED:
            away = max(away, sums.bounds[0, j] - c[j] - mean, mean - (sums.bounds[1, j] - c[j]))
            far = max(far, abs(mean))
    f[numbers + ROOT, i], f[numbers + TOTAL, i], f[numbers + AROUND, i] = root, linear, square
    f[numbers + SQUARES, i] = square + shift * (2.0 * linear + shift * n)
    f[numbers + LENGTH, i], f[numbers + SPREAD, i] = length, spread + length
    f[numbers + AWAY, i], f[numbers + FAR, i] = away, far


@numba.njit(**INNER)
def _solve_lanes(lanes: _Lanes, ranges: Ranges, found: LaneFits, used: int, measured: bool) -> None:
    """Solve the systems of the lanes in use, and copy what was found."""
    f, at = lanes.f, lanes.at
    for i in range(used):
        k = lanes.waiting[i]
        if found.unpenalised.size > 0:
            found.unpenalised[k] = f[at.numbers + LEVEL, i]
    _set_penalties(lanes, ranges, used)
    if measured:
        factorise(f, at, TILE)
        set_leverages(f, at)
    else:
        factorise(f, at, 0)
        _solve_response(f, at)
    _predict(f, at)
    for i in range(used):
        _collect(lanes, ranges, found, lanes.waiting[i], i)
    if found.unpenalised.size > 0:
        set_all(f, at.penalty, 0.0)
        factorise(f, at, 0)
        for i in range(used):
            k = lanes.waiting[i]
            found.unpenalised[k] = f[at.margin, i] if found.unpenalised[k] > 0.0 else 0.0


@numba.njit(**INNER)
def _set_penalties(lanes: _Lanes, ranges: Ranges, used: int) -> None:
    """The penalty of each lane; NaN where the sums do not give it with enough digits."""
    f, at, state = lanes.f, lanes.at, lanes.state
    if state.rule == FIXED:
        set_all(f, at.penalty, state.alpha)
        return
    d = state.width
    set_all(f, at.penalty, 1.0)
    for i in range(used):
        k = lanes.waiting[i]
        f[at.penalty, i] = first_penalty(f, at, state, i, ranges.hi[k] - ranges.lo[k], d)
    if state.rule == PILOT:
        solve_pilot(f, at, state, d)
        for i in range(used):
            k = lanes.waiting[i]
            n, level = ranges.hi[k] - ranges.lo[k], ranges.y[ranges.lo[k], VALUE]
            f[at.penalty, i] = plug_in(f, at, state, i, n, d, level)
    for i in range(used):
        k = lanes.waiting[i]
        n = ranges.hi[k] - ranges.lo[k]
        if n > state.switch_at * d:
            f[at.penalty, i] = 0.0
        elif n < 2:
            f[at.penalty, i] = np.nan


@numba.njit(**INNER)
def _solve_response(f: Matrix, at: Offsets) -> None:
    """The coefficients of each lane."""
    row, given = at.factor + at.m * at.step, at.matrix + at.m * at.step
    for j in range(at.m):
        for i in range(LANES):
            f[row + j, i] = f[given + j, i]
    solve_row(f, at, row)


@numba.njit(**INNER)
def _predict(f: Matrix, at: Offsets) -> None:
    """The prediction of each lane's row and of its centre, around the centre of y."""
    m, step, numbers = at.m, at.step, at.numbers
    theta, level = at.factor + m * step, numbers + LEVEL
    set_all(f, level, 0.0)
    set_all(f, numbers + PREDICTION, 0.0)
    if at.eliminated == 1:
        set_sum(f, level, level, theta - 1)
        for j in range(m):
            subtract_product(f, level, at.factor + j * step - 1, theta + j)
        multiply_by(f, level, numbers + ROOT)
    set_sum(f, numbers + PREDICTION, numbers + PREDICTION, level)
    add_dot(f, numbers + PREDICTION, theta, at.matrix + (m + 1) * step, m)


@numba.njit(**INNER)
def _collect(lanes: _Lanes, ranges: Ranges, found: LaneFits, k: int, i: int) -> None:
    """Copy the results of range k from lane i."""
    f, at, d = lanes.f, lanes.at, ranges.x.shape[1]
    theta, centre = at.factor + at.m * at.step, lanes.centres[i]
    middle = centre[d + 1] if at.eliminated == 1 else 0.0
    collect_lane(f, at, i, found, k, middle)
    for j in range(d):
        found.states[2, k] -= centre[j] * f[theta + j, i]
    if found.gauges.shape[1] > 0:
        found.gauges[TOTAL_WEIGHT, k] = centre[d]

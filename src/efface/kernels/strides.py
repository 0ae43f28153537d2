"""Few features: a window that slides one row at a time, eight neighbouring windows side by side.

What a replay tells of each window, from the window's own normal equations. As in ``equations`` the
windows share a core of rows, whose sums are in every lane; the last rows about to leave and the
first that came are added in each window's own. The constant is eliminated first, so that it takes
a column and no tile. The system, formed once, is factorised with the penalty of a pilot fit, where
that sets the penalty, and then with the penalty itself. Forward substitution of a row tells its
leverage. Windows where rounding would show are only pointed out.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from efface.kernels.compilation import INNER, KERNEL
from efface.kernels.core import gather, trusted
from efface.kernels.dense import SAFE
from efface.kernels.lanes import (
    LANES,
    TILE,
    add_dot,
    aligned,
    divide_tile,
    factorise_tile,
    multiply_by,
    padded,
    set_all,
    set_difference,
    set_inverse,
    set_split,
    set_sum,
    subtract_product,
    subtract_scaled,
    take_higher,
    take_lower,
    update_tile,
)
from efface.kernels.leverage import (
    GAUGES_KEPT,
    HEFT,
    REACH,
    SCATTER,
    SIZE_2,
    STRETCH,
    UNEXPLAINED,
)
from efface.kernels.moments import (
    ALPHA,
    DELTA,
    FIXED,
    KEPT,
    KIND,
    LARGEST,
    NOISE,
    PILOT,
    PILOT_SHARE,
    THETA_MAX,
    TRACE,
    VARIANCE,
    plugged,
)
from efface.kernels.pilot import RESIDUAL, constant, penalty_from
from efface.kernels.sums import BOUNDED, NEVER, SEEN, Sums, carve_sums, depth_for, room_for_sums
from efface.kernels.trace import forgetting_term
from efface.kernels.views import VALUE, Ints, Matrix, Responses, Vector, fill, part, take, weighed

OWN = LANES - 1
MOST = 28  # unknowns: with more, a core that is solved once serves windows faster
# Beside the systems, one number a window.
(
    _MARGIN, _PENALTY, _ROOT, _SUM, _AROUND, _SQUARES, _LENGTH, _SCATTER, _HIGH, _LOW, _REACH,
    _LARGEST, _WORK, _LEVEL, _PREDICTION, _EXPLAINED, _NEW, _OLD, _CROSS, _STRETCH, _SIZE, _TRACE,
) = range(22)  # fmt: skip
_NUMBERS = 22
_VALUES = 11


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


@numba.njit(**KERNEL)
def _places(d: int) -> Places:
    m = padded(d)
    step = m + 1
    size = (m + TILE) * step
    own = 2 * size + 3 * TILE * step
    weights = own + (m + 3) * OWN
    inverse = 2 * size
    return Places(m, step, 0, size, inverse, inverse + TILE * step, own, weights, weights + m)


def stride_windows(
    x: Matrix,
    y: Vector,
    s: int,
    rule: Vector,
    intercept: bool,
    states: Matrix,  # (6, n): prediction, penalty, intercept, leverage new and old, FRT
    coef: Matrix,  # (n, d), or (0, d) where it is not wanted
    gauges: Matrix,  # (GAUGES, n), or (GAUGES, 0)
) -> Vector:
    """What the s rows before each row tell, from row s on; n rows follow those of the first window.

    All rows weigh 1. ``rule`` holds the parameters of the penalty. The windows' margins: what is
    said of one whose margin is not SAFE is not to be trusted.
    """
    d, places = x.shape[1], _places(x.shape[1])
    depth = depth_for(s, LANES)
    floats, ints = room_for_sums(d, depth)
    lanes = (places.numbers + _NUMBERS) * LANES
    store, dials = aligned(lanes + floats + _VALUES), np.zeros(ints, np.int64)
    store[lanes + floats : lanes + floats + rule.size] = rule
    margin, gauges[HEFT] = np.empty(y.size - s), s
    answers = states, coef, gauges, margin
    _stride_windows(x, weighed(y), s, intercept, *answers, store, lanes, dials, depth)
    return margin


@numba.njit(**KERNEL, nogil=True)
def _stride_windows(
    x: Matrix,
    y: Responses,
    s: int,
    intercept: bool,
    states: Matrix,
    coef: Matrix,
    gauges: Matrix,
    margin: Vector,
    store: Vector,
    lanes: int,
    ints: Ints,
    depth: int,
) -> None:
    n, d = x.shape
    f, at = take(store, 0, lanes // LANES, LANES), _places(d)
    sums = carve_sums(part(store, lanes, store.size), ints, d, depth)
    values = part(store, store.size - _VALUES, store.size)
    some = values[ALPHA] if values[KIND] == FIXED else 1.0
    sums.dials[SEEN], sums.dials[BOUNDED] = NEVER, int(values[KIND] != FIXED)
    _prepare(f, at, d, s, intercept)
    t = s
    while t < n:
        count = min(LANES, n - t, max(1, s // 2))
        gather(sums, x, y, t + count - 1 - s, t, count, intercept)
        diagonal = take(f, 0, 1, d)[0]  # the lanes are not filled yet
        for i in range(d):
            diagonal[i] = sums.total[i, i]
        if trusted(diagonal, sums.total, sums.centre, d, some, intercept) > 0.0:
            _form(f, at, sums, x, y, t, count, s, intercept)
            _set_penalties(f, at, sums, values, y, t, count, s, d, intercept)
            _factorise(f, at)
            _measure(f, at, sums.centre, d, intercept)
            _collect(f, at, sums.centre, t - s, count, intercept, states, coef, gauges, margin)
        else:
            fill(part(margin, t - s, t - s + count), 0.0)
        t += count


@numba.njit(**INNER)
def _prepare(f: Matrix, at: Places, d: int, s: int, intercept: bool) -> None:
    """What all windows have in common: the padding, the constant's share of rows, unit tiles."""
    for i in range(d, at.m):
        set_all(f, at.matrix + i * at.step + 1 + i, 1.0)
    for i in range(TILE):
        set_all(f, at.unit + i * (at.step + 1), 1.0)
    root = 1.0 / np.sqrt(s)
    set_all(f, at.numbers + _ROOT, root)
    for i in range(at.m + 1, at.m + 3):
        set_all(f, at.factor + i * at.step, root if intercept else 0.0)


@numba.njit(**INNER)
def _form(
    f: Matrix,
    at: Places,
    sums: Sums,
    x: Matrix,
    y: Responses,
    t: int,
    count: int,
    s: int,
    intercept: bool,
) -> None:
    """The windows' systems and right-hand sides, their moments, and the rows to be measured."""
    d, m, step, own = x.shape[1], at.m, at.step, at.own
    _spread_core(f, at, sums, d, intercept)
    _spread_rows(f, at, sums.centre, x, y, t, count, s, intercept)
    response, one, around = own + m * OWN, own + (m + 1) * OWN, own + (m + 2) * OWN
    for j in range(0, m, TILE):
        for i in range(j, m, TILE):
            out = at.matrix + i * step + 1 + j
            update_tile(f, out, out, step, 0, 0, 0, own + i * OWN, own + j * OWN, OWN)
    for i in range(d):
        add_dot(f, at.matrix + m * step + 1 + i, own + i * OWN, response, OWN)
        if intercept:
            add_dot(f, at.factor + i * step, own + i * OWN, one, OWN)
            multiply_by(f, at.factor + i * step, at.numbers + _ROOT)
    if intercept:
        add_dot(f, at.factor + m * step, response, one, OWN)
        multiply_by(f, at.factor + m * step, at.numbers + _ROOT)
    add_dot(f, at.numbers + _SQUARES, response, response, OWN)
    add_dot(f, at.numbers + _SUM, around, one, OWN)
    add_dot(f, at.numbers + _AROUND, around, around, OWN)
    set_all(f, at.numbers + _LENGTH, 0.0)
    set_all(f, at.numbers + _SCATTER, 0.0)
    for i in range(d):
        diagonal = at.matrix + i * step + 1 + i
        set_sum(f, at.numbers + _LENGTH, at.numbers + _LENGTH, diagonal)
        subtract_product(f, at.numbers + _SCATTER, at.factor + i * step, at.factor + i * step)
    set_sum(f, at.numbers + _SCATTER, at.numbers + _SCATTER, at.numbers + _LENGTH)


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
            set_all(f, at.factor + i * step, total[d, i])
    if intercept:
        set_all(f, at.factor + at.m * step, total[d + 1, d])
    square, linear = total[d + 1, d + 1], total[d + 1, d]
    set_all(f, at.numbers + _SQUARES, square + shift * (2.0 * linear + shift * total[d, d]))
    set_all(f, at.numbers + _SUM, linear)
    set_all(f, at.numbers + _AROUND, square)


@numba.njit(**INNER)
def _spread_rows(
    f: Matrix,
    at: Places,
    centre: Vector,
    x: Matrix,
    y: Responses,
    t: int,
    count: int,
    s: int,
    intercept: bool,
) -> None:
    """Each lane's own rows: place i has a tail row in lanes up to i, a fresh row in those after."""
    d, m, own = x.shape[1], at.m, at.own
    shift = centre[d + 1] if intercept else 0.0
    for i in range(OWN):
        there = 1.0 if i < count - 1 else 0.0
        old, new = (t - s + i, t + i) if i < count - 1 else (t - s, t)
        for j in range(d):
            before, after = there * (x[old, j] - centre[j]), there * (x[new, j] - centre[j])
            set_split(f, own + j * OWN + i, before, after, i)
        left, came, middle = y[old, VALUE], y[new, VALUE], centre[d + 1]
        set_split(f, own + m * OWN + i, there * (left - shift), there * (came - shift), i)
        set_all(f, own + (m + 1) * OWN + i, there)
        before, after = there * (left - middle), there * (came - middle)
        set_split(f, own + (m + 2) * OWN + i, before, after, i)
    rows = at.matrix + (m + 1) * at.step + 1
    for i in range(LANES):
        new = t + min(i, count - 1)
        for j in range(d):
            f[rows + j, i] = x[new, j] - centre[j]
            f[rows + at.step + j, i] = x[new - s, j] - centre[j]


@numba.njit(**INNER)
def _factorise(f: Matrix, at: Places) -> None:
    """The factor of the systems with their penalties; the rows below it substituted forward."""
    m, step, numbers = at.m, at.step, at.numbers
    set_all(f, numbers + _MARGIN, 1.0)
    for i in range(m):
        set_sum(f, at.weights + i, at.matrix + i * step + 1 + i, numbers + _PENALTY)
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
                set_sum(f, diagonal, diagonal, numbers + _PENALTY)
            factorise_tile(f, corner, step, at.weights + j, numbers + _MARGIN)


@numba.njit(**INNER)
def _substitute_back(f: Matrix, at: Places, row: int) -> None:
    for i in range(at.m - 1, -1, -1):
        factor = at.factor + i * at.step + 1
        multiply_by(f, row + i, factor + i)
        for j in range(i):
            subtract_product(f, row + j, factor + j, row + i)


@numba.njit(**INNER)
def _solve(f: Matrix, at: Places) -> None:
    """What the constant and the features explain of the response, and the coefficients."""
    row = at.factor + at.m * at.step
    set_all(f, at.numbers + _EXPLAINED, 0.0)
    add_dot(f, at.numbers + _EXPLAINED, row, row, at.m + 1)
    _substitute_back(f, at, row + 1)


@numba.njit(**INNER)
def _set_penalties(
    f: Matrix,
    at: Places,
    sums: Sums,
    values: Vector,
    y: Responses,
    t: int,
    count: int,
    s: int,
    d: int,
    intercept: bool,
) -> None:
    """The penalty of each window; NaN where it is to be found another way."""
    if values[KIND] == FIXED:
        set_all(f, at.numbers + _PENALTY, values[ALPHA])
        return
    _bound(f, at, sums, count, d)
    for i in range(LANES):
        f[at.numbers + _PENALTY, i] = _first_penalty(f, at, values, i, s, d)
    if values[KIND] != PILOT:
        return
    _factorise(f, at)
    _solve(f, at)
    if values[NOISE] == RESIDUAL:
        _trace(f, at, d)
    set_all(f, at.numbers + _HIGH, 0.0)
    set_all(f, at.numbers + _LOW, 0.0)
    for j in range(d):
        coefficient = at.factor + at.m * at.step + 1 + j
        take_higher(f, at.numbers + _HIGH, coefficient)
        take_lower(f, at.numbers + _LOW, coefficient)
    for i in range(LANES):
        level = y[t + min(i, count - 1) - s, VALUE]
        f[at.numbers + _PENALTY, i] = _plug_in(f, at, values, i, s, d, level, intercept)


@numba.njit(**INNER)
def _bound(f: Matrix, at: Places, sums: Sums, count: int, d: int) -> None:
    """The largest deviation of a feature from its mean, and of a mean from the centre."""
    numbers, high, low = at.numbers, at.numbers + _HIGH, at.numbers + _LOW
    work, largest, reach = numbers + _WORK, numbers + _LARGEST, numbers + _REACH
    set_all(f, largest, 0.0)
    set_all(f, reach, 0.0)
    for j in range(d):
        set_all(f, high, sums.bounds[0, j] - sums.centre[j])
        set_all(f, low, sums.bounds[1, j] - sums.centre[j])
        for i in range(count - 1):
            take_higher(f, high, at.own + j * OWN + i)
            take_lower(f, low, at.own + j * OWN + i)
        set_all(f, work, 0.0)
        subtract_product(f, work, at.factor + j * at.step, numbers + _ROOT)  # less the mean
        take_higher(f, reach, work)
        set_sum(f, high, high, work)
        take_higher(f, largest, high)
        set_sum(f, low, low, work)
        set_all(f, high, 0.0)
        set_difference(f, low, high, low)
        take_higher(f, largest, low)
        set_difference(f, work, high, work)
        take_higher(f, reach, work)


@numba.njit(**INNER)
def _first_penalty(f: Matrix, at: Places, values: Vector, i: int, n: int, d: int) -> float:
    """Lemma 3 from the rows of window i, or the penalty of its pilot fit; see ``moments``."""
    numbers = at.numbers
    square, total, length = f[numbers + _AROUND, i], f[numbers + _SUM, i], f[numbers + _LENGTH, i]
    variance, trace = max(square - total * total / n, 0.0) / (n - 1), f[numbers + _SCATTER, i]
    largest = f[numbers + _LARGEST, i]
    if variance * n < KEPT * square or largest < KEPT * f[numbers + _REACH, i]:
        return np.nan
    if not trace > KEPT**2 * length:
        return np.nan
    if values[KIND] == PILOT:
        return PILOT_SHARE * 2.0 ** np.rint(np.log2(trace / n))
    penalty = plugged(n, d, values[DELTA], np.sqrt(variance), largest, values[THETA_MAX])
    return penalty if penalty > 0.0 else np.nan


@numba.njit(**INNER)
def _plug_in(
    f: Matrix,
    at: Places,
    values: Vector,
    i: int,
    n: int,
    d: int,
    level: float,
    intercept: bool,
) -> float:
    """The penalty that the pilot fit of window i asks for; see ``pilot``."""
    numbers = at.numbers
    total, before = f[numbers + _SUM, i], f[numbers + _SQUARES, i]
    values[VARIANCE] = max(f[numbers + _AROUND, i] - total * total / n, 0.0) / (n - 1)
    values[LARGEST], values[TRACE] = f[numbers + _LARGEST, i], f[numbers + _SCATTER, i]
    left, freedom = before - f[numbers + _EXPLAINED, i], 1.0
    if not f[numbers + _MARGIN, i] >= SAFE or constant(values, level, intercept):
        return np.nan
    if values[NOISE] == RESIDUAL:
        if not left > KEPT * before:
            return np.nan
        freedom = n - d - int(intercept) + f[numbers + _PENALTY, i] * f[numbers + _TRACE, i]
    theta = max(f[numbers + _HIGH, i], -f[numbers + _LOW, i])
    penalty = penalty_from(values, n, d, left, freedom, theta)
    return penalty if penalty > 0.0 else np.nan


@numba.njit(**INNER)
def _trace(f: Matrix, at: Places, d: int) -> None:
    """The trace of the inverse: the squares of the factor's inverse, TILE rows at a time."""
    step, trace = at.step, at.numbers + _TRACE
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


@numba.njit(**INNER)
def _measure(f: Matrix, at: Places, centre: Vector, d: int, intercept: bool) -> None:
    """Coefficients, intercept and prediction, leverages and gauges."""
    m, step, numbers = at.m, at.step, at.numbers
    theta = at.factor + m * step
    new, old = theta + step, theta + 2 * step
    for k in range(_LEVEL, _NUMBERS):
        set_all(f, numbers + k, 0.0)
    add_dot(f, numbers + _NEW, new, new, m + 1)
    add_dot(f, numbers + _OLD, old, old, m + 1)
    add_dot(f, numbers + _CROSS, new, old, m + 1)
    _solve(f, at)
    _substitute_back(f, at, new + 1)
    add_dot(f, numbers + _STRETCH, new + 1, new + 1, m)
    add_dot(f, numbers + _SIZE, theta + 1, theta + 1, m)
    if intercept:
        set_sum(f, numbers + _LEVEL, numbers + _LEVEL, theta)
        for j in range(d):
            subtract_product(f, numbers + _LEVEL, at.factor + j * step, theta + 1 + j)
        multiply_by(f, numbers + _LEVEL, numbers + _ROOT)
    set_sum(f, numbers + _PREDICTION, numbers + _PREDICTION, numbers + _LEVEL)
    add_dot(f, numbers + _PREDICTION, theta + 1, at.matrix + (m + 1) * step + 1, m)
    if intercept:
        for j in range(d):
            subtract_scaled(f, numbers + _LEVEL, centre[j], theta + 1 + j)


@numba.njit(**INNER)
def _collect(
    f: Matrix,
    at: Places,
    centre: Vector,
    first: int,
    count: int,
    intercept: bool,
    states: Matrix,
    coef: Matrix,
    gauges: Matrix,
    margin: Vector,
) -> None:
    d, numbers = coef.shape[1], part(f, at.numbers, at.numbers + _NUMBERS)
    theta, shift = at.factor + at.m * at.step + 1, centre[d + 1] if intercept else 0.0
    for i in range(count):
        row, penalty = first + i, numbers[_PENALTY, i]
        new, old, size = numbers[_NEW, i], numbers[_OLD, i], numbers[_SIZE, i]
        margin[row] = numbers[_MARGIN, i] if penalty >= 0.0 else 0.0
        states[0, row], states[1, row] = numbers[_PREDICTION, i] + shift, penalty
        states[2, row], states[3, row] = numbers[_LEVEL, i] + shift, new
        states[4, row], states[5, row] = old, forgetting_term(new, old, numbers[_CROSS, i])
        if coef.shape[0] > 0:
            for j in range(d):
                coef[row, j] = f[theta + j, i]
        if gauges.shape[1] > 0:
            left = numbers[_SQUARES, i] - numbers[_EXPLAINED, i] - penalty * size
            gauges[REACH, row], gauges[STRETCH, row] = new, numbers[_STRETCH, i]
            gauges[UNEXPLAINED, row], gauges[SIZE_2, row] = left, size
            gauges[SCATTER, row] = max(numbers[_SCATTER, i], 0.0)
            if not left > GAUGES_KEPT * numbers[_SQUARES, i]:
                margin[row] = 0.0

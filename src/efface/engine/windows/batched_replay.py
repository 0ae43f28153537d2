"""Replay of a sliding window where features are few: eight neighbouring windows at once.

Predictions, penalties, leverages and gauges come from each window's own normal equations (see
``systems``). Where a pilot fit sets the penalty, the equations are factorised twice: with the
pilot's penalty, then with the penalty itself. Windows for which float64 is not enough get a margin
below SAFE; the caller replays them row by row.
"""

from __future__ import annotations

import numba
import numpy as np

from efface.engine.events.leverage import TOTAL_WEIGHT
from efface.engine.events.penalty import KEPT, lemma_3, pilot_penalty
from efface.engine.events.pilot import RESIDUAL, constant, penalty_from
from efface.engine.events.state import FIXED, PILOT, STATE_WORDS, Rule, set_rule, stream_state
from efface.engine.jit.compilation import INNER, KERNEL
from efface.engine.jit.records import Record, words
from efface.engine.jit.simd import (
    LANES,
    TILE,
    add_dot,
    aligned,
    set_all,
    set_difference,
    set_sum,
    subtract_product,
    take_higher,
    take_lower,
)
from efface.engine.jit.views import VALUE, Matrix, Vector, part, take, weighed
from efface.engine.linalg.dense import SAFE, fill
from efface.engine.sums.precise_windows import NO_DIRECTIONS
from efface.engine.sums.sliding import Sums, depth_for, lay_out_sums, start_sums
from efface.engine.windows.lane_fits import LaneFits, collect_lane, set_leverages
from efface.engine.windows.problem import Problem, free_directions
from efface.engine.windows.systems import (
    AROUND,
    AWAY,
    EXPLAINED,
    FAR,
    HIGH,
    INVERSE,
    LENGTH,
    LEVEL,
    LOW,
    OWN,
    PREDICTION,
    ROOT,
    SPREAD,
    SQUARES,
    TOTAL,
    WORK,
    Batch,
    Offsets,
    add_moments,
    factorise,
    form,
    offsets_for,
    set_level,
    solve,
    trace_inverse,
    write_measured_rows,
)


def replay_windows(
    x: Matrix,
    y: Vector,
    s: int,
    rule: Rule,
    intercept: bool,
    states: Matrix,  # its first six rows: prediction, penalty, intercept, leverages, FRT
    coef: Matrix,  # (n, d), or (0, d) where it is not wanted
    gauges: Matrix,  # (GAUGES, n), or (GAUGES, 0)
    null: Matrix = NO_DIRECTIONS,
) -> Vector:
    """Predict each row from row s on by the s rows before it; n rows follow the first window.

    All weights are 1. ``rule`` holds the parameters of the penalty. Returns the margin of each
    window; the results of a window are to be used only where that is at least SAFE.
    """
    d, depth = x.shape[1], depth_for(s, LANES)
    lanes = offsets_for(d, intercept, False).size * LANES
    store = aligned(lanes + STATE_WORDS + words(lay_out_sums, d, depth))
    state = stream_state(store[lanes:])
    set_rule(state, rule)
    state.width, state.has_intercept = d, intercept
    margin, gauges[TOTAL_WEIGHT] = np.empty(y.size - s), s
    found = LaneFits(states, coef, gauges, margin, np.zeros(0))
    least_penalty = rule.alpha if rule.kind == FIXED else 1.0
    problem = Problem(x, weighed(y), s, float(least_penalty), intercept, null)
    _replay(problem, found, store, lanes, depth)
    return margin


@numba.njit(**KERNEL, nogil=True)
def _replay(problem: Problem, found: LaneFits, store: Vector, lanes: int, depth: int) -> None:
    (n, d), s, intercept = problem.x.shape, problem.s, problem.intercept
    f, at = take(store, 0, lanes // LANES, LANES), offsets_for(d, intercept, False)
    state = stream_state(part(store, lanes, store.size))
    sums = lay_out_sums(store, lanes + STATE_WORDS, d, depth)[0]
    start_sums(sums, state.rule != FIXED)
    t = s
    while t < n:
        batch = Batch(t, min(min(LANES, n - t), max(1, s // 2)))
        stop = t + batch.windows
        if form(f, at, sums, problem, batch):
            write_measured_rows(f, at, sums.centre, problem, batch)
            add_moments(f, at, sums, problem, batch)
            _set_penalties(f, at, sums, state, problem, batch)
            factorise(f, at, TILE)
            _measure(f, at, sums.centre, d, intercept)
            middle = sums.centre[d + 1] if intercept else 0.0
            for i in range(batch.windows):
                collect_lane(f, at, i, found, t - s + i, middle)
        else:
            fill(part(found.margin, t - s, stop - s), 0.0)
        t = stop


@numba.njit(**INNER)
def _set_penalties(
    f: Matrix, at: Offsets, sums: Sums, state: Record, problem: Problem, batch: Batch
) -> None:
    """Set the penalty of each window; NaN where the sums do not give it with enough digits."""
    if state.rule == FIXED:
        set_all(f, at.penalty, state.alpha)
        return
    d, s = problem.x.shape[1], problem.s
    _bound(f, at, sums, batch.windows, d)
    for i in range(LANES):
        f[at.penalty, i] = first_penalty(f, at, state, i, s, d)
    if state.rule != PILOT:
        return
    solve_pilot(f, at, state, d)
    for i in range(LANES):
        penalty = f[at.penalty, i]
        f[at.numbers + INVERSE, i] += free_directions(problem.null, penalty) / penalty
        level = problem.y[batch.first + min(i, batch.windows - 1) - s, VALUE]
        f[at.penalty, i] = plug_in(f, at, state, i, s, d, level)


@numba.njit(**INNER)
def solve_pilot(f: Matrix, at: Offsets, state: Record, d: int) -> None:
    """The pilot fit of each window, and HIGH and LOW: its largest and smallest coefficient."""
    factorise(f, at, TILE)
    solve(f, at)
    if state.noise == RESIDUAL:
        trace_inverse(f, at, d)
    set_all(f, at.numbers + HIGH, 0.0)
    set_all(f, at.numbers + LOW, 0.0)
    for j in range(d):
        coefficient = at.factor + at.m * at.step + j
        take_higher(f, at.numbers + HIGH, coefficient)
        take_lower(f, at.numbers + LOW, coefficient)


@numba.njit(**INNER)
def _bound(f: Matrix, at: Offsets, sums: Sums, count: int, d: int) -> None:
    """AWAY and FAR: the largest distance of a feature from its mean, and of a mean from c."""
    numbers, high, low = at.numbers, at.numbers + HIGH, at.numbers + LOW
    work, largest, reach = numbers + WORK, numbers + AWAY, numbers + FAR
    set_all(f, largest, 0.0)
    set_all(f, reach, 0.0)
    for j in range(d):
        set_all(f, high, sums.bounds[0, j] - sums.centre[j])
        set_all(f, low, sums.bounds[1, j] - sums.centre[j])
        for i in range(count - 1):
            take_higher(f, high, at.own + j * OWN + i)
            take_lower(f, low, at.own + j * OWN + i)
        set_all(f, work, 0.0)
        subtract_product(f, work, at.factor + j * at.step - 1, numbers + ROOT)  # c - mean
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
def first_penalty(f: Matrix, at: Offsets, state: Record, i: int, n: int, d: int) -> float:
    """The penalty of Lemma 3 from the sums of window i, or that of its pilot fit."""
    numbers = at.numbers
    square, total, length = f[numbers + AROUND, i], f[numbers + TOTAL, i], f[numbers + LENGTH, i]
    variance, trace = max(square - total * total / n, 0.0) / (n - 1), f[numbers + SPREAD, i]
    largest = f[numbers + AWAY, i]
    digits = variance * n >= KEPT * square and largest >= KEPT * f[numbers + FAR, i]
    if not (digits and trace > KEPT**2 * length):
        return np.nan
    if state.rule == PILOT:
        return pilot_penalty(trace, n)
    penalty = lemma_3(n, d, state.delta, np.sqrt(variance), largest, state.theta_max)
    return penalty if penalty > 0.0 else np.nan


@numba.njit(**INNER)
def plug_in(f: Matrix, at: Offsets, state: Record, i: int, n: int, d: int, level: float) -> float:
    """The penalty of window i from its pilot fit; see ``pilot``."""
    numbers = at.numbers
    total, before = f[numbers + TOTAL, i], f[numbers + SQUARES, i]
    state.variance = max(f[numbers + AROUND, i] - total * total / n, 0.0) / (n - 1)
    state.largest, state.trace_phi = f[numbers + AWAY, i], f[numbers + SPREAD, i]
    left, freedom = before - f[numbers + EXPLAINED, i], 1.0
    if not f[at.margin, i] >= SAFE or constant(state, level):
        return np.nan
    if state.noise == RESIDUAL:
        if not left > KEPT * before:
            return np.nan
        freedom = n - d - state.has_intercept + f[at.penalty, i] * f[numbers + INVERSE, i]
    theta = max(f[numbers + HIGH, i], -f[numbers + LOW, i])
    penalty = penalty_from(state, n, left, freedom, theta)
    return penalty if penalty > 0.0 else np.nan


@numba.njit(**INNER)
def _measure(f: Matrix, at: Offsets, centre: Vector, d: int, intercept: bool) -> None:
    """Coefficients, intercept, prediction, leverages and gauges of each window."""
    set_all(f, at.numbers + LEVEL, 0.0)
    set_all(f, at.numbers + PREDICTION, 0.0)
    set_leverages(f, at)
    if intercept:
        set_level(f, at, centre, d)
    new = at.matrix + (at.m + 1) * at.step
    add_dot(f, at.numbers + PREDICTION, at.factor + at.m * at.step, new, at.m)

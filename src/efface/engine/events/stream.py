"""The live rows, one event at a time: rows come and go, coefficients on demand.

A core of rows is solved now and then (see ``core``). Rows that come are placed outside it; the
oldest rows, the tail, are outside it from the start, so that they can leave without a trace. When
the tail is used up, or too many rows came, a new core is formed from the rows alive: its sums by
addition, its inverse from those. The penalty may move at every event; the core keeps the one it was
formed with, and a few steps of conjugate gradients, for which it is a nearly perfect
preconditioner, bring the solution to the penalty of the moment. Where rounding would show, rows are
refitted.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from efface.engine.events.core import (
    DUAL,
    LEAST,
    PENALTY,
    Core,
    Outside,
    carve,
    centre_dual,
    finish,
    form_dual,
    form_primal,
    gather,
    join,
    join_all,
    place,
    room_for,
)
from efface.engine.events.penalty import (
    ALPHA,
    BLOCK,
    DEPTH,
    DIRTY,
    END,
    FIRST,
    FIXED,
    HARD,
    HEAD,
    INTERCEPT,
    KIND,
    LAMBDA,
    LEVEL,
    MUTE,
    PLACED,
    RANK,
    SHRINKS,
    START,
    STOP,
    VALID,
    WIDTH,
    WIPED,
    Stats,
    observe,
    observe_rows,
    observe_sums,
    observe_tail,
    penalty_of,
    unpenalised,
)
from efface.engine.events.solve import Work, bridge_all, solve_outside
from efface.engine.jit.compilation import INNER, KERNEL, carving
from efface.engine.jit.views import (
    ROOT,
    VALUE,
    WEIGHT,
    Ints,
    Matrix,
    Responses,
    Vector,
    part,
    take,
)
from efface.engine.linalg.dense import dot, fill
from efface.engine.linalg.refit import refit
from efface.engine.sums.sliding import BOUNDED, NEVER, SEEN, Sums, shift_down

_DIALS = 17
_VALUES = 11
DONE, FORM, FORM_DUAL, REFIT, COMPACT = range(5)  # what a stream needs next


class Stream(NamedTuple):
    """Everything that is not the rows themselves; t rows in a tail, k = 2 t outside the core."""

    sums: Sums
    core: Core
    outside: Outside
    stats: Stats
    work: Work
    dials: Ints
    values: Vector  # the penalty's parameters, the intercept, the penalty, what it was made of
    coef: Vector  # (d,)


def block_for(width: int) -> int:
    """Rows in a tail: the more features, the more slides must pay for one inverse."""
    return 8 if width <= 32 else 12 if width <= 160 else 32


def stream_room(d: int, p: int, t: int, depth: int) -> tuple[int, int]:
    """How many floats and ints a stream needs."""
    k = 2 * t
    floats, ints = room_for(d, p, k, depth)
    stats = (t + 3) * (d + 4) + (t + 3) * 2 * d + d + 1
    return floats + stats + 6 * p + k * k + 2 * k + _VALUES + d, ints + _DIALS


@carving
def open_stream(floats: Vector, ints: Ints) -> Stream:
    """The stream that lies in two flat arrays; its dials say its shape."""
    f, dials = floats, part(ints, 0, _DIALS)
    d, t, depth = dials[WIDTH], dials[BLOCK], dials[DEPTH]
    p, k, m = d + dials[INTERCEPT], 2 * t, d + 4
    o, _ = room_for(d, p, k, depth)
    sums, core, outside = carve(f, part(ints, _DIALS, ints.size), d, p, k, depth)
    bounds = o + (t + 3) * m
    origin = bounds + (t + 3) * 2 * d
    stats = Stats(
        take(f, o, 2, m),
        take(f, o + 2 * m, t + 1, m),
        take(f, bounds, 2, 2 * d),
        take(f, bounds + 4 * d, t + 1, 2 * d),
        part(f, origin, origin + d + 1),
    )
    o = origin + d + 1
    work = Work(
        take(f, o, 2, p),
        take(f, o + 2 * p, k, k),
        take(f, o + 2 * p + k * k, 2, k),
        take(f, o + 2 * p + k * k + 2 * k, 4, p),
    )
    o += 6 * p + k * k + 2 * k
    return Stream(
        sums,
        core,
        outside,
        stats,
        work,
        dials,
        part(f, o, o + _VALUES),
        part(f, o + _VALUES, o + _VALUES + d),
    )


@numba.njit(**INNER)
def refresh(s: Stream, x: Matrix, y: Responses, watched: bool | None) -> int:
    """Bring coefficients, intercept, penalty and rank up to date with the live rows.

    Unless DONE, something rarer is to be done first, or in its place: FORM, FORM_DUAL or REFIT.
    They are left to the caller, so that each is compiled only once, and only when it is needed.
    ``watched`` is None where the penalty is fixed: what an adaptive one needs is then not compiled.
    """
    dials, values, c = s.dials, s.values, s.core
    if dials[DIRTY] == 0:
        return DONE
    n, d, intercept = dials[END] - dials[HEAD], dials[WIDTH], dials[INTERCEPT] == 1
    if n == dials[MUTE]:  # no row, or none that has weight
        dials[DIRTY], dials[VALID], dials[RANK] = 0, 0, 0
        fill(s.coef, 0.0)
        values[LEVEL] = 0.0
        values[LAMBDA] = values[ALPHA] if values[KIND] == FIXED else 0.0
        return DONE
    if not _holds(dials, c, n):
        return _choose(y, dials, values)
    penalty = values[ALPHA]
    if watched is not None:
        for row in range(dials[PLACED], dials[END]):
            observe(s.stats.moments[1], s.stats.bounds[1], s.stats.origin, x[row], y[row])
    _admit(c, s.outside, s.stats, dials, x, y)
    if watched is not None:
        penalty = penalty_of(s.stats, dials, values, x, y)
        if _moved(penalty, c.values[PENALTY]):
            return _choose(y, dials, values)
    values[LAMBDA] = penalty
    if dials[HARD] == 1 or not solve_outside(c, s.outside, s.work, dials, penalty):
        return REFIT
    if watched is not None:  # noqa: SIM102 - alone, so that the branch is not even compiled
        if not bridge_all(c, s.outside, s.work, dials, penalty):
            return REFIT
    values[LEVEL] = finish(c, s.work.theta, d, intercept, s.coef)
    dials[DIRTY] = 0
    dials[RANK] = min(d, n - dials[INTERCEPT]) if penalty == 0.0 else -1
    return DONE


@numba.njit(**INNER)
def _moved(penalty: float, anchor: float) -> bool:
    """Is the penalty too far from that of the core for a few steps to bridge?"""
    if penalty == anchor:
        return False
    return penalty == 0.0 or anchor == 0.0 or abs(penalty - anchor) > 0.25 * anchor


@numba.njit(**INNER)
def _holds(dials: Ints, c: Core, n: int) -> bool:
    """Does the core still lie within the live rows, with room outside it for the others?"""
    if dials[VALID] == 0 or dials[HEAD] > dials[START]:
        return False
    if dials[FIRST] == dials[HEAD] and dials[STOP] == dials[END]:
        return True  # a core of these very rows: it cannot be formed better
    outside = dials[START] - dials[FIRST] + dials[END] - dials[STOP]
    if outside > 2 * dials[BLOCK]:
        return False
    crowded = n > dials[WIDTH] + dials[INTERCEPT]
    return not (crowded and c.dials[DUAL] == 1 and c.values[PENALTY] == 0.0)


@numba.njit(**INNER)
def _choose(y: Responses, dials: Ints, values: Vector) -> int:
    """Choose a new core, all live rows but the oldest few, which are about to leave; its form."""
    head, end, d = dials[HEAD], dials[END], dials[WIDTH]
    n, p = end - head, d + dials[INTERCEPT]
    tail = min(n, dials[BLOCK]) if dials[SHRINKS] == 1 else 0
    if n > p and unpenalised(y, dials, values):
        tail = min(tail, max(1, (n - p) // 2))
    core = n - tail
    dials[FIRST], dials[START], dials[STOP], dials[PLACED] = head, head + tail, end, end
    dials[WIPED], dials[VALID] = head, 0
    return FORM if core > p or (core == p and n > p) else FORM_DUAL


@numba.njit(**KERNEL, nogil=True)
def form_rows(x: Matrix, y: Responses, floats: Vector, ints: Ints, watched: bool | None) -> None:
    """What FORM asks for: a core with rows enough for its normal equations."""
    s = open_stream(floats, ints)
    dials = s.dials
    start, end, d, intercept = dials[START], dials[STOP], dials[WIDTH], dials[INTERCEPT] == 1
    gather(s.sums, x, y, start, end, dials[BLOCK], intercept)
    if watched is not None:
        observe_sums(s.stats, s.sums, d)
    penalty = _anchor(s, x, y, watched)
    _enclose(s, x, y, form_primal(s.core, s.sums.total, d, penalty, intercept))
    fill(s.core.scratch, 0.0)


@numba.njit(**KERNEL, nogil=True)
def form_dual_rows(
    x: Matrix, y: Responses, floats: Vector, ints: Ints, watched: bool | None
) -> None:
    """What FORM_DUAL asks for: a core of fewer rows than that."""
    s = open_stream(floats, ints)
    dials = s.dials
    start, end, intercept = dials[START], dials[STOP], dials[INTERCEPT] == 1
    centre_dual(s.sums, x, y, start if end > start else dials[FIRST], end, intercept)
    if watched is not None:
        observe_rows(s.stats, dials, x, y)
    penalty = _anchor(s, x, y, watched)
    _enclose(s, x, y, form_dual(s.core, x, y, start, end, dials[FIRST], penalty, intercept))
    fill(s.core.scratch, 0.0)


@numba.njit(**INNER)
def _anchor(s: Stream, x: Matrix, y: Responses, watched: bool | None) -> float:
    """The penalty that a core is formed with: that of the moment."""
    if watched is None:
        return s.values[ALPHA]
    observe_tail(s.stats, s.dials, x, y)
    return penalty_of(s.stats, s.dials, s.values, x, y)


@numba.njit(**INNER)
def _enclose(s: Stream, x: Matrix, y: Responses, margin: float) -> None:
    """Place the tail outside a core that was just solved."""
    dials, c, tail = s.dials, s.core, s.dials[START] - s.dials[FIRST]
    _wipe(s.outside, s.work)
    dials[HARD] = 0 if margin >= c.values[LEAST] else 1
    dials[VALID] = 1
    if dials[HARD] == 0:
        place(c, s.outside, x, y, dials[FIRST], tail, tail - tail, dials[INTERCEPT] == 1)
        join_all(c, s.outside, tail)


@numba.njit(**INNER)
def _wipe(o: Outside, w: Work) -> None:
    """Forget what was outside the last core."""
    for kept in (o.rows, o.images, o.schur, o.residual, w.factor, w.weights, w.vectors):
        fill(kept, 0.0)
    fill(o.weight, 0.0)


@numba.njit(**INNER)
def _admit(c: Core, o: Outside, stats: Stats, dials: Ints, x: Matrix, y: Responses) -> None:
    """Place the rows that came since, and wipe those of the tail that left."""
    lo, came = dials[HEAD] - dials[FIRST], dials[END] - dials[PLACED]
    for i in range(dials[WIPED] - dials[FIRST], lo):
        for kept in (o.rows, o.images, o.schur, stats.tail_moments, stats.tail_bounds):
            fill(kept[i], 0.0)
        for j in range(o.weight.size):
            o.schur[j, i] = 0.0
        o.weight[i], o.residual[0, i], o.residual[1, i] = 0.0, 0.0, 0.0
    dials[WIPED] = dials[HEAD]
    at = dials[START] - dials[FIRST] + dials[PLACED] - dials[STOP]
    if dials[HARD] == 0:
        place(c, o, x, y, dials[PLACED], came, at, dials[INTERCEPT] == 1)
        join(c, o, lo, at, came)
    dials[PLACED] = dials[END]


@numba.njit(**INNER)
def learn(
    x: Matrix, y: Responses, dials: Ints, row: Vector, response: float, weight: float
) -> None:
    """A row comes as the newest; there must be a place for it."""
    end = dials[END]
    for j in range(row.size):
        x[end, j] = row[j]
    y[end, VALUE], y[end, ROOT], y[end, WEIGHT] = response, np.sqrt(weight), weight
    if weight == 0.0:
        dials[MUTE] += 1
    dials[END] = end + 1
    dials[DIRTY] = 1


@numba.njit(**INNER)
def drop(x: Matrix, y: Responses, dials: Ints, count: int) -> None:
    """The oldest rows go; their places are zeroed at once."""
    head = dials[HEAD]
    for i in range(head, head + count):
        if y[i, WEIGHT] == 0.0:
            dials[MUTE] -= 1
    fill(part(x, head, head + count), 0.0)
    fill(part(y, head, head + count), 0.0)
    dials[HEAD] = head + count
    dials[DIRTY] = 1


@numba.njit(**KERNEL)
def predict_row(
    x: Matrix, y: Responses, floats: Vector, ints: Ints, row: Vector, watched: bool | None
) -> tuple[int, float]:
    """What the live rows say of one more row, once it is DONE."""
    s = open_stream(floats, ints)
    return refresh(s, x, y, watched), dot(s.coef, row) + s.values[LEVEL]


@numba.njit(**KERNEL)
def learn_row(
    x: Matrix,
    y: Responses,
    ints: Ints,
    row: Vector,
    response: float,
    weight: float,
    leaving: int,
) -> bool:
    """A row comes as the newest, then the oldest ``leaving`` go; False if there is no place."""
    if ints[END] == y.shape[0]:
        return False
    learn(x, y, ints, row, response, weight)
    if leaving > 0:
        drop(x, y, ints, leaving)
    return True


@numba.njit(**KERNEL)
def drop_rows(x: Matrix, y: Responses, ints: Ints, count: int) -> None:
    drop(x, y, ints, count)


def compact_rows(x: Matrix, y: Responses, floats: Vector, ints: Ints) -> None:
    """Move the live rows to the front of their array and zero the places they leave."""
    by, end = int(ints[HEAD]), int(ints[END])
    for rows in (x, y):
        rows[: end - by] = rows[by:end]
        rows[end - by : end] = 0.0
    for dial in (HEAD, END, FIRST, START, STOP, PLACED, WIPED):
        ints[dial] -= by
    shift_down(open_stream(floats, ints).sums, by)


def refit_rows(x: Matrix, y: Responses, floats: Vector, ints: Ints) -> None:
    """What REFIT asks for, and all that is left to do then."""
    lo, hi, d = ints[HEAD], ints[END], ints[WIDTH]
    values, coef = solution(floats, d)
    values[LEVEL], ints[RANK] = refit(
        x[lo:hi], y[lo:hi], values[LAMBDA], ints[INTERCEPT] == 1, coef
    )
    ints[DIRTY] = 0


def solution(floats: Vector, d: int) -> tuple[Vector, Vector]:
    """A stream's values and coefficients, which lie at the end of its store."""
    return floats[-d - _VALUES : floats.size - d], floats[floats.size - d :]


def reset(floats: Vector, ints: Ints, penalty: Vector) -> None:
    """A stream that knows its shape and penalty and nothing else."""
    floats[:] = 0.0
    ints[_DIALS:] = 0
    ints[FIRST:WIDTH], ints[MUTE] = 0, 0
    s = open_stream(floats, ints)
    s.values[: penalty.size] = penalty
    s.dials[DIRTY] = 1
    s.sums.dials[SEEN] = NEVER
    s.sums.dials[BOUNDED] = penalty[KIND] != FIXED


@numba.njit(**KERNEL)
def disturb(floats: Vector, ints: Ints, place_: int) -> None:
    """A row was put in at ``place_``: what was built from rows beyond it is not theirs any more."""
    s = open_stream(floats, ints)
    s.dials[VALID] = 0
    s.dials[DIRTY] = 1
    if place_ < s.sums.dials[SEEN]:
        s.sums.dials[SEEN] = NEVER

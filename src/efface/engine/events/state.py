"""The state of an event solver: one record with named fields, one allocator, one layout.

Everything that a solver derives from the live rows lies in one flat array, the store. ``allocate``
makes it, ``open_stream`` gives names to its parts.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numba
import numpy as np

from efface.engine.events.core import Core, Outside, lay_out_core, lay_out_outside
from efface.engine.jit.compilation import INNER, KERNEL, carving
from efface.engine.jit.records import Record, record, words
from efface.engine.jit.views import Matrix, Vector, part, take
from efface.engine.linalg.dense import fill
from efface.engine.sums.sliding import (
    NEVER,
    Sums,
    clear_total,
    depth_for,
    lay_out_sums,
    release_sums,
    shift_down,
    start_sums,
)
from efface.engine.tree.walls import fold_from

# Where a penalty comes from: given once; by Lemma 3 from the live rows, up to a number of rows;
# given anew for each event; the small penalty of a pilot fit (see ``penalty`` and ``pilot``);
# selected by the live rows (see ``efface.engine.selection``); given once, for weights that fade.
FIXED, LEMMA_3, GIVEN, PILOT, SELECTED, FADING = range(6)

stream_state, STATE_WORDS = record(
    ints=[
        *("width", "has_intercept", "tail", "shrinks", "depth"),  # the shape, fixed at allocation
        *("sums_at", "outside_at"),  # where the sums and the rows outside the core lie in the store
        "fold_from",  # from how many rows on the sums of a new core come from the tree
        *("averages", "standardizes"),  # are coefficients averaged, features standardised?
        "fresh",  # is the next core the first one since ``reset``?
        *("tail_start", "core_start", "core_end"),  # tail: [tail_start, core_start)
        *("placed", "released"),  # rows before are placed outside the core; have left the tail
        "first_needed",  # the first row that the core, its sums or its centre depend on
        *("valid", "refit"),  # is there a core?; would rounding show, so that rows are refitted?
        *("used", "refitted"),  # does the work space hold numbers?; was the pilot's fit a refit?
        *("solved_head", "solved_end"),  # the span of the rows that were solved last
        *("rank", "rule", "noise"),
        *("folded", "factorised"),  # of a selected penalty: see ``efface.engine.selection``
    ],
    floats=[
        *("alpha", "delta", "theta_max", "switch_at"),  # the parameters of the penalty
        "unit",  # the weight that counts as one row; changes with every row where weights fade
        "plugged",  # the penalty that a refitted pilot fit gives
        *("intercept", "penalty"),  # solved
        *("variance", "largest", "trace_phi"),  # of y, of |x|, of Phi: for the penalty
    ],
)


_SHAPE = 10  # fields of the state, from "width" on, that ``reset`` keeps


class Stats(NamedTuple):
    """Moments and bounds of the live rows, from which the adaptive penalty follows.

    Moments are weighted sums of x, 1, y, y^2 and |x|^2, measured from the origin.
    """

    moments: Matrix  # (2, d + 4): of the core; of the rows that came after it
    tail_moments: Matrix  # (t + 1, d + 4): of the tail from its i-th row on
    bounds: Matrix  # (2, 2 d): the largest and the smallest of each feature: core; rows after it
    tail_bounds: Matrix  # (t + 1, 2 d)
    origin: Vector  # (d + 1,)


class Work(NamedTuple):
    """Where the rows outside the core are solved."""

    theta: Matrix  # (2, p)
    factor: Matrix  # (k, k)
    weights: Matrix  # (2, k)
    vectors: Matrix  # (4, p)


class Stream(NamedTuple):
    """All that is derived from the live rows; t rows in a tail, k = 2 t outside the core."""

    state: Record
    sums: Sums
    core: Core
    outside: Outside
    stats: Stats
    work: Work
    coef: Vector  # (d,)
    solved: Vector  # coef and work, as one array
    formed: Vector  # the core from its inverse on, and the rows outside it, as one array
    observed: Vector  # stats, as one array


def tail_for(width: int) -> int:
    """Rows in a tail: the more features, the more slides must pay for one inverse."""
    return 8 if width <= 32 else 12 if width <= 160 else 32


@carving
def _lay_out_stats(f: Vector, at: int, d: int, t: int) -> tuple[Stats, int]:
    bounds = at + (t + 3) * (d + 4)
    origin = bounds + (t + 3) * 2 * d
    stats = Stats(
        take(f, at, 2, d + 4),
        take(f, at + 2 * (d + 4), t + 1, d + 4),
        take(f, bounds, 2, 2 * d),
        take(f, bounds + 4 * d, t + 1, 2 * d),
        part(f, origin, origin + d + 1),
    )
    return stats, origin + d + 1


@carving
def _lay_out_work(f: Vector, at: int, p: int, k: int) -> tuple[Work, int]:
    weights = at + 2 * p + k * k
    work = Work(
        take(f, at, 2, p),
        take(f, at + 2 * p, k, k),
        take(f, weights, 2, k),
        take(f, weights + 2 * k, 4, p),
    )
    return work, weights + 2 * k + 4 * p


@carving
def _lay_out(f: Vector, at: int, d: int, p: int, t: int, depth: int) -> tuple[Stream, int]:
    coef = at + STATE_WORDS
    work, end = _lay_out_work(f, coef + d, p, 2 * t)
    solved = part(f, coef, end)
    sums, end = lay_out_sums(f, end, d, depth)
    core, inverse = lay_out_core(f, end, p, 2 * t, sums.centre)
    outside, last = lay_out_outside(f, inverse, p, 2 * t)
    stats, end = _lay_out_stats(f, last, d, t)
    ranges = solved, part(f, inverse - p * p - 5 * p, last), part(f, last, end)
    state, coefficients = stream_state(part(f, at, coef)), part(f, coef, coef + d)
    return Stream(state, sums, core, outside, stats, work, coefficients, *ranges), end


@carving
def open_stream(store: Vector) -> Stream:
    """The stream that lies in a store; its state says its shape."""
    state = stream_state(store)
    d, p = state.width, state.width + state.has_intercept
    return _lay_out(store, 0, d, p, state.tail, state.depth)[0]


class Rule(NamedTuple):
    """The parameters of a penalty, as compiled code reads them; see ``penalty``."""

    kind: int = FIXED
    alpha: float = 0.0
    delta: float = 0.05
    theta_max: float = 1.0
    switch_at: float = inf
    noise: int = 0
    unit: float = 1.0


def allocate(width: int, intercept: bool, shrinks: bool, capacity: int) -> Vector:
    """A store for the state of at most ``capacity`` rows; ``shrinks``: rows leave by themselves."""
    tail = tail_for(width)
    depth = depth_for(capacity, tail)
    store = np.zeros(words(_lay_out, width, width + intercept, tail, depth))
    state = stream_state(store)
    state.width, state.has_intercept, state.tail = width, intercept, tail
    state.shrinks, state.depth = shrinks, depth
    state.sums_at = STATE_WORDS + width + words(_lay_out_work, width + intercept, 2 * tail)
    outside = open_stream(store).outside.rows
    state.outside_at = (outside.ctypes.data - store.ctypes.data) // store.itemsize
    state.fold_from, state.fresh = fold_from(width), 1
    return store


def reset(store: Vector, rule: Rule, bounded: bool) -> None:
    """Overwrite everything but the shape; no row is solved. ``bounded``: sums keep bounds of rows.

    For the stores of all solvers.
    """
    state = stream_state(store)
    shape = store[:_SHAPE].copy()
    store[:] = 0.0
    store[:_SHAPE] = shape
    state.fresh = 1
    set_rule(state, rule)
    start_sums(_sums_in(store, state), bounded)


@carving
def _sums_in(store: Vector, state: Record) -> Sums:
    """The sums that lie in the store of any solver."""
    return lay_out_sums(store, state.sums_at, state.width, state.depth)[0]


def set_rule(state: Record, rule: Rule) -> None:
    """Set the parameters of the penalty; no row is solved."""
    state.rule, state.alpha, state.delta, state.theta_max, state.switch_at, state.noise = rule[:6]
    state.unit, state.solved_end = rule.unit, -1


@numba.njit(**KERNEL)
def shift(store: Vector, by: int) -> None:
    """Follow rows that have moved ``by`` places towards the front of their array.

    For the stores of all solvers.
    """
    state = stream_state(store)
    state.tail_start -= by
    state.first_needed -= by
    state.core_start -= by
    state.core_end -= by
    state.placed -= by
    state.released -= by
    state.solved_head -= by
    state.solved_end -= by
    shift_down(_sums_in(store, state), by)


@numba.njit(**INNER)
def release(store: Vector, head: int) -> None:
    """Overwrite all that was derived from rows before ``head``, which have left."""
    state = stream_state(store)
    if head > state.first_needed or state.rule != FIXED:
        _release_all(store, head)
    elif state.valid == 1:
        _release_tail(store, state, head)  # the frequent case, without opening the rest


@numba.njit(**INNER)
def _release_all(store: Vector, head: int) -> None:
    s = open_stream(store)
    clear_solution(s)
    if s.state.valid == 1:
        if head > s.state.core_start or head > s.sums.state.anchor:
            clear_core(s)
        else:
            for i in range(s.state.released - s.state.tail_start, head - s.state.tail_start):
                fill(s.stats.tail_moments[i], 0.0)
                fill(s.stats.tail_bounds[i], 0.0)
            _release_tail(store, s.state, head)
    release_sums(s.sums, head)
    note_first_needed(s)


@numba.njit(**INNER)
def note_first_needed(s: Stream) -> None:
    """Note the first row that the core, its sums or its centre depend on."""
    state, sums, first = s.state, s.sums.state, NEVER
    if state.valid == 1:
        # The dual form also keeps numbers in its scratch: it is always released as a whole.
        first = min(state.core_start, sums.anchor) if s.core.state.dual == 0 else -1
    if sums.seen != NEVER:
        first = min(first, sums.anchor)
    if sums.entries > 0:
        first = min(first, s.sums.starts[sums.entries - 1])
    state.first_needed = first


@numba.njit(**INNER)
def _release_tail(store: Vector, state: Record, head: int) -> None:
    """Overwrite the solution, and the places of the tail's rows that have left."""
    p, k = state.width + state.has_intercept, 2 * state.tail
    o = lay_out_outside(store, state.outside_at, p, k)[0]
    for i in range(state.released - state.tail_start, head - state.tail_start):
        for kept in (o.rows, o.images, o.schur):
            fill(kept[i], 0.0)
        for j in range(k):
            o.schur[j, i] = 0.0
        o.weight[i], o.residual[0, i], o.residual[1, i] = 0.0, 0.0, 0.0
    state.released = head
    if state.used == 1:
        size = state.width + 6 * p + k * k + 2 * k
        fill(part(store, STATE_WORDS, STATE_WORDS + size), 0.0)
        _clear_solved(state)


@numba.njit(**INNER)
def clear_core(s: Stream) -> None:
    """Overwrite the core and the rows outside it."""
    if s.state.valid == 0:
        return
    fill(s.formed, 0.0)
    if s.core.state.dual == 1:
        fill(s.core.rows, 0.0)
    if s.state.rule != FIXED:
        fill(s.observed, 0.0)
    s.core.state.penalty, s.core.state.rho, s.core.state.constant = 0.0, 0.0, 0.0
    s.core.state.reached = 0.0
    clear_total(s.sums)
    if s.sums.state.seen == NEVER:  # the dual form keeps no sums: the centre is its own
        fill(s.sums.centre, 0.0)
    s.state.valid = 0


@numba.njit(**INNER)
def clear_solution(s: Stream) -> None:
    """Overwrite coefficients and work; the next question solves anew."""
    state, p = s.state, s.core.inverse.shape[0]
    if state.used == 0:
        return
    fill(s.solved, 0.0)
    if s.core.state.dual == 1:
        fill(part(s.core.scratch, 0, 2 * p), 0.0)
    _clear_solved(state)


@numba.njit(**INNER)
def _clear_solved(state: Record) -> None:
    """No rows are solved."""
    state.intercept, state.penalty = 0.0, 0.0
    state.variance, state.largest, state.trace_phi = 0.0, 0.0, 0.0
    state.refitted, state.plugged = 0, 0.0
    if state.rule == GIVEN:
        state.alpha = 0.0
    state.solved_end, state.used = -1, 0


@numba.njit(**INNER)
def discard_state(s: Stream) -> None:
    """Overwrite all that was derived from rows, as ``reset`` does, but only what is in use."""
    clear_core(s)
    clear_solution(s)
    release_sums(s.sums, NEVER)
    s.state.solved_end, s.state.fresh = -1, 1
    note_first_needed(s)


def mark_unsolved(store: Vector) -> None:
    """Let the next question solve anew, though no row has come or left."""
    stream_state(store).solved_end = -1


@numba.njit(**KERNEL)
def disturb(store: Vector, place: int) -> None:
    """A row was put in at ``place``: clear what was built from the rows behind it."""
    s = open_stream(store)
    clear_core(s)
    clear_solution(s)
    if place < s.sums.state.seen:
        release_sums(s.sums, NEVER)
    note_first_needed(s)

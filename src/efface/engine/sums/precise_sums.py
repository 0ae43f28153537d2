"""Sums over a sliding range of rows in double-double precision, made by addition alone.

They serve windows for which float64 sums are not enough. The structure is that of ``sliding``: a
turn, a stack of sums from earlier starts up to the turn, and one running sum from the turn on. The
sums are the Gram matrix of the rows q (x - c, 1, y - cy), q the square root of a row's weight. Each
is two matrices, the sums and what they lack: see ``linalg.exact_products``.

The centre c of a feature is its mean where that is far larger than its spread. Else it is 0, so
that nothing is rounded and dependent features stay dependent. Without an intercept it is 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from efface.engine.jit.compilation import INNER, KERNEL, carving
from efface.engine.jit.records import Record, as_ints, record, words
from efface.engine.jit.views import ROOT, VALUE, WEIGHT, Ints, Matrix, Responses, Vector, part, take
from efface.engine.linalg.dense import copy, fill
from efface.engine.linalg.double_double import plus
from efface.engine.linalg.exact_products import add_exact_gram, padded_columns, row_start
from efface.engine.linalg.precise_factor import factorise_precisely
from efface.engine.linalg.precise_solve import (
    UNSOLVED,
    PreciseSystem,
    Window,
    eliminate_mean,
    lay_out_system,
    solve_precisely,
)
from efface.engine.sums.sliding import NEVER, depth_for, first_weighted, stack_step, weight_of

_CHUNK = 64
_FAR = 100.0  # variances: a feature is centred where the square of its mean exceeds them
_UNUSED = 64  # rows, and a quarter of the live ones: so many come, and the sums are discarded

precise_state, _STATE = record(
    ints=["width", "centred", "depth", "turn", "seen", "entries", "anchor", "tiny"]
)
_TINY = 1e-120  # squares of smaller deviations lose digits, or are 0


class PreciseSums(NamedTuple):
    """The sums of a sliding range; q = d + 2, w is q padded. An entry is two packed triangles."""

    # d; is there an intercept?; room on the stack; turn; seen: the rows before it are in the sums;
    # entries in use; the last row that the centre depends on; were there deviations below _TINY?
    state: Record
    recent: Vector  # over [turn, seen)
    stack: Matrix  # one entry per row: over [start, turn), nearest last
    starts: Ints  # (depth,)
    centre: Vector  # (q,): c, 0, cy
    rows: Matrix  # (_CHUNK, w) scratch: zeros between calls, as all that follows
    total: Vector  # (2 q w,): over the range; two matrices with rows of w numbers
    system: PreciseSystem


@carving
def _lay_out(f: Vector, at: int, d: int, depth: int) -> tuple[PreciseSums, int]:
    q, w = d + 2, padded_columns(d + 2)
    size, starts = 2 * row_start(q), at + _STATE
    recent = starts + depth
    stack = recent + size
    centre = stack + depth * size
    rows = centre + q
    total = rows + _CHUNK * w
    system, end = lay_out_system(f, total + 2 * q * w, d)
    sums = PreciseSums(
        precise_state(part(f, at, starts)),
        part(f, recent, recent + size),
        take(f, stack, depth, size),
        as_ints(part(f, starts, recent)),
        part(f, centre, rows),
        take(f, rows, _CHUNK, w),
        part(f, total, total + 2 * q * w),
        system,
    )
    return sums, end


@carving
def open_precise(store: Vector) -> PreciseSums:
    """The sums that lie in a store; their state says their shape."""
    state = precise_state(store)
    return _lay_out(store, 0, state.width, state.depth)[0]


def allocate_precise(width: int, centred: bool, capacity: int) -> Vector:
    """A store for the sums of at most ``capacity`` rows."""
    depth = depth_for(capacity)
    store = np.zeros(words(_lay_out, width, depth))
    state = precise_state(store)
    state.width, state.centred, state.depth, state.seen = width, centred, depth, NEVER
    return store


@numba.njit(**INNER)
def _add_rows(s: PreciseSums, x: Matrix, y: Responses, lo: int, hi: int, out: Vector) -> None:
    """out += the Gram matrix of the rows lo..hi, centred and weighted."""
    d, rows, centre, tiny = x.shape[1], s.rows, s.centre, 0
    for start in range(lo, hi, _CHUNK):
        size = min(_CHUNK, hi - start)
        for i in range(size):
            root = y[start + i, ROOT]
            for j in range(d):
                value = root * (x[start + i, j] - centre[j])
                tiny += value != 0.0 and abs(value) < _TINY
                rows[i, j] = value
            rows[i, d] = root
            rows[i, d + 1] = root * (y[start + i, VALUE] - centre[d + 1])
        add_exact_gram(rows, size, d + 2, out)
    if tiny > 0:
        s.state.tiny = 1
    fill(part(rows, 0, min(_CHUNK, hi - lo)), 0.0)


@numba.njit(**INNER)
def _centre_of(values: Matrix, j: int, y: Responses, a: int, b: int, total: float) -> float:
    """The mean of a column where that is far larger than the spread, exact if all are equal."""
    base, mean, square, equal = values[first_weighted(y, a, b), j], 0.0, 0.0, True
    for i in range(a, b):
        equal = equal and (values[i, j] == base or y[i, WEIGHT] == 0.0)
        mean += y[i, WEIGHT] * (values[i, j] - base) / total
    if equal:
        return base
    for i in range(a, b):
        square += y[i, WEIGHT] * (values[i, j] - base - mean) ** 2 / total
    mean += base
    return mean if mean * mean > _FAR * square else 0.0


@numba.njit(**INNER)
def turn_precise(s: PreciseSums, x: Matrix, y: Responses, a: int, b: int) -> None:
    """Start anew at the end of [a, b), with a new centre."""
    clear_precise(s)
    state, d = s.state, x.shape[1]
    state.turn, state.seen, state.anchor = b, b, b - 1
    if state.centred == 1:
        total = weight_of(y, a, b)
        for j in range(d):
            s.centre[j] = _centre_of(x, j, y, a, b, total)
        s.centre[d + 1] = _centre_of(y, VALUE, y, a, b, total)


@numba.njit(**INNER)
def clear_precise(s: PreciseSums) -> None:
    """Overwrite all sums; no row is in them."""
    fill(s.recent, 0.0)
    fill(part(s.stack, 0, s.state.entries), 0.0)
    fill(s.centre, 0.0)
    s.state.turn, s.state.seen, s.state.entries, s.state.anchor = 0, NEVER, 0, 0
    s.state.tiny = 0


@numba.njit(**INNER)
def slide_precise(s: PreciseSums, x: Matrix, y: Responses, a: int, b: int) -> None:
    """total <- the sums over [a, b); both ends only move up, else the sums start anew."""
    state = s.state
    if a > state.anchor or b < state.seen:
        turn_precise(s, x, y, a, b)
    _add_rows(s, x, y, state.seen, b, s.recent)
    state.seen = b
    _pop_before(s, a)
    _reach_back(s, x, y, a)
    top = s.stack[max(state.entries - 1, 0)]  # zeros, if none is in use
    _set_total(s.recent, top, x.shape[1] + 2, s.total)


@numba.njit(**INNER)
def _set_total(a: Vector, b: Vector, q: int, out: Vector) -> None:
    """out <- a + b, as two matrices."""
    rest, lag, w = row_start(q), out.size // 2, padded_columns(q)
    for i in range(q):
        at = row_start(i)
        high, low = part(out, i * w, i * w + i + 1), part(out, lag + i * w, lag + i * w + i + 1)
        one, other = part(a, at, at + i + 1), part(b, at, at + i + 1)
        less, lack = part(a, rest + at, rest + at + i + 1), part(b, rest + at, rest + at + i + 1)
        for k in range(i + 1):
            high[k], low[k] = plus(one[k], less[k], other[k], lack[k])


@numba.njit(**INNER)
def _pop_before(s: PreciseSums, a: int) -> None:
    """Pop the stack entries that start before ``a``, and overwrite them."""
    depth = s.state.entries
    while depth > 0 and s.starts[depth - 1] < a:
        depth -= 1
        fill(s.stack[depth], 0.0)
    s.state.entries = depth


@numba.njit(**INNER)
def _reach_back(s: PreciseSums, x: Matrix, y: Responses, a: int) -> None:
    """Extend the stack until its top entry starts at ``a``; see ``sliding``."""
    depth, starts = s.state.entries, s.starts
    top = starts[depth - 1] if depth > 0 else s.state.turn
    step = top - a
    while top > a:
        if top - a <= step:  # divide the last step of a level again
            step = stack_step(top - a, 1)
        start = a + (top - a - 1) // step * step
        if depth + 1 == starts.size:  # the stack is full: no more steps
            start = a
        if depth > 0:
            copy(s.stack[depth - 1], s.stack[depth])
        _add_rows(s, x, y, start, top, s.stack[depth])
        starts[depth] = start
        depth += 1
        top = start
    s.state.entries = depth


@numba.njit(**KERNEL)
def follow_precise(store: Vector, head: int, end: int, by: int) -> bool:
    """Rows before ``head`` have left; then rows moved ``by`` places towards the front.

    Sums that many rows before ``end`` have not been added to are not needed any more: they are
    overwritten, and the answer is False.
    """
    s = open_precise(store)
    state = s.state
    if state.seen != NEVER:
        _pop_before(s, head)
        if head > state.anchor or end - state.seen > _UNUSED + (end - head) // 4:
            clear_precise(s)
    if state.seen == NEVER:
        return False
    state.seen -= by
    state.turn -= by
    state.anchor -= by
    for i in range(state.entries):
        s.starts[i] -= by
    return True


def seen_by(store: Vector) -> int:
    """The rows before this place are in the sums."""
    return int(precise_state(store).seen)


@numba.njit(**INNER)
def _sum_range(s: PreciseSums, x: Matrix, y: Responses, a: int, b: int, asked: Window) -> None:
    """total <- the sums over [a, b), around the mean if features are centred."""
    slide_precise(s, x, y, a, b)
    near = True
    if asked.intercept or asked.standardized:
        near = eliminate_mean(s.total, x.shape[1])
    if not near and s.state.turn != b:  # once more, around a new centre
        turn_precise(s, x, y, a, b)
        slide_precise(s, x, y, a, b)
        eliminate_mean(s.total, x.shape[1])


@numba.njit(**INNER)
def fit_range(
    s: PreciseSums, x: Matrix, y: Responses, a: int, b: int, asked: Window, coef: Vector
) -> tuple[float, int]:
    """``solve_precisely`` for the rows [a, b). The caller clears the system."""
    _sum_range(s, x, y, a, b, asked)
    return fit_again(s, asked, coef)


@numba.njit(**INNER)
def fit_again(s: PreciseSums, asked: Window, coef: Vector) -> tuple[float, int]:
    """``fit_range`` for the rows whose factor was just formed."""
    level, rank = solve_precisely(s.system, s.total, s.centre, asked, coef)
    return level, UNSOLVED if s.state.tiny == 1 else rank


@numba.njit(**INNER)
def factor_range(s: PreciseSums, x: Matrix, y: Responses, a: int, b: int, asked: Window) -> int:
    """``factorise_precisely`` for the rows [a, b). The caller clears the system."""
    _sum_range(s, x, y, a, b, asked)
    rank = factorise_precisely(s.system, s.total, s.centre, asked)
    return UNSOLVED if s.state.tiny == 1 else rank

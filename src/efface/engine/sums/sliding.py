"""Sums over a sliding range of rows, made by addition alone.

The range is [a, b) of an array of rows; both ends only ever move up. What is kept is the Gram
matrix of the rows q (x - c, 1, y - cy), q being the root of a row's weight, from which every moment
of the range follows. Nothing is subtracted: the range is split at a *turn*, sums of suffixes up to
the turn are stacked, nearest first, and rows past it are added to one running sum. When the range
passes the turn, the turn moves to its end. A stack entry that reaches back too far is wiped when it
is popped.

The stack reaches back in equal steps, at most FAN of them; the step nearest the range's start is
divided again, and so on down to single units. So a row is added once to the running sum and about
log(rows / unit) / log(FAN) times to the stack, which holds FAN entries for each such level.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from efface.engine.jit.blas import add_gram
from efface.engine.jit.compilation import INNER, carving, shared
from efface.engine.jit.simd import LANES, add_products
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
from efface.engine.linalg.dense import fill

CHUNK = 64
FAN = 32
_SMALL = 64  # below this many columns, a call to BLAS costs more than the sum
TURN, SEEN, DEPTH, BOUNDED = 0, 1, 2, 3
_TINY = float(np.finfo(np.float64).tiny)
NEVER = 1 << 62  # as SEEN: nothing is kept, start anew


class Sums(NamedTuple):
    """The working store of a sliding sum; q = d + 2."""

    total: Matrix  # (q, q), lower triangle: the sum over [a, b)
    recent: Matrix  # (q, q): over [turn, b)
    stack: Matrix  # (depth, q * q): over [start, turn), nearest last
    starts: Ints  # (depth,)
    dials: Ints  # turn, seen (= b), number of stack entries, bounds kept?
    bounds: Matrix  # (2, d): the largest and smallest features over [a, b), if asked for
    recent_bounds: Matrix  # (2, d)
    stack_bounds: Matrix  # (depth, 2 * d)
    centre: Vector  # (q,): c, 0, cy
    rows: Matrix  # (CHUNK, q) scratch


def depth_for(rows: int, unit: int = 1) -> int:
    """Stack entries for a range of ``rows`` that moves by ``unit``: at most FAN for each level."""
    depth, gap = 2, rows
    while gap > unit:
        step = _step(gap, unit)
        depth += (gap + step - 1) // step
        gap = step
    return depth


@carving
def _step(gap: int, unit: int) -> int:
    return (gap + FAN * unit - 1) // (FAN * unit) * unit


@carving
def carve_sums(floats: Vector, ints: Ints, d: int, depth: int) -> Sums:
    """Lay the store of a sliding sum out in two flat arrays, which the caller must hold."""
    q, f, i = d + 2, floats, ints
    centre = (2 + depth) * q * q
    bounds = centre + q + CHUNK * q
    return Sums(
        take(f, 0, q, q),
        take(f, q * q, q, q),
        take(f, 2 * q * q, depth, q * q),
        part(i, 0, depth),
        part(i, depth, depth + 4),
        take(f, bounds, 2, d),
        take(f, bounds + 2 * d, 2, d),
        take(f, bounds + 4 * d, depth, 2 * d),
        part(f, centre, centre + q),
        take(f, centre + q, CHUNK, q),
    )


@carving
def room_for_sums(d: int, depth: int) -> tuple[int, int]:
    """How many floats and ints, all 0 at first, ``carve_sums`` needs."""
    q = d + 2
    return (2 + depth) * q * q + (1 + CHUNK) * q + (4 + 2 * depth) * d, depth + 4


@numba.njit(**INNER)
def clear_bounds(bounds: Matrix) -> None:
    fill(bounds[0], -np.inf)
    fill(bounds[1], np.inf)


@numba.njit(**INNER)
def widen(bounds: Matrix, high: Vector, low: Vector) -> None:
    """Let the bounds take in these values."""
    for j in range(high.size):
        bounds[0, j] = max(bounds[0, j], high[j])
        bounds[1, j] = min(bounds[1, j], low[j])


@numba.njit(**INNER)
def _widen_all(bounds: Matrix, x: Matrix, y: Responses, lo: int, hi: int) -> None:
    """Let the bounds take in the rows lo..hi, but not those without weight."""
    for i in range(lo, hi):
        if y[i, WEIGHT] > 0.0:
            widen(bounds, x[i], x[i])


@numba.njit(**INNER)
def _add_rows(
    x: Matrix, y: Responses, lo: int, hi: int, centre: Vector, rows: Matrix, out: Matrix
) -> None:
    """out += the Gram matrix of rows lo..hi, centred and weighed."""
    d = x.shape[1]
    for start in range(lo, hi, CHUNK):
        size = min(CHUNK, hi - start)
        for i in range(size):
            root = y[start + i, ROOT]
            for j in range(d):
                rows[i, j] = root * (x[start + i, j] - centre[j])
            rows[i, d] = root
            rows[i, d + 1] = root * (y[start + i, VALUE] - centre[d + 1])
        if d + 2 < _SMALL:
            _add_small_gram(rows, size, out)
        else:
            add_gram(part(rows, 0, size), out)
    for i in range(min(CHUNK, hi - lo)):
        for j in range(d + 2):
            rows[i, j] = 0.0


@numba.njit(**INNER)
def _add_small_gram(rows: Matrix, size: int, out: Matrix) -> None:
    """out += rows' rows, the lower triangle only, for the first ``size`` rows."""
    q = out.shape[0]
    for i in range(q):
        for j in range(0, i + 1, LANES):
            add_products(rows, out, i * q + j, j, i, q, size)


@numba.njit(**INNER)
def _set_lower(a: Matrix, out: Matrix) -> None:
    for i in range(out.shape[0]):
        for j in range(i + 1):
            out[i, j] = a[i, j]


@numba.njit(**INNER)
def _set_lower_sum(a: Matrix, b: Matrix, out: Matrix) -> None:
    for i in range(out.shape[0]):
        for j in range(i + 1):
            out[i, j] = a[i, j] + b[i, j]


@numba.njit(**INNER)
def _wipe_lower(out: Matrix) -> None:
    for i in range(out.shape[0]):
        for j in range(i + 1):
            out[i, j] = 0.0


@numba.njit(**INNER)
def weight_of(y: Responses, a: int, b: int) -> float:
    """What the rows [a, b) weigh; of no weight, the least number there is, to divide by."""
    total = 0.0
    for i in range(a, b):
        total += y[i, WEIGHT]
    return max(total, _TINY)


@numba.njit(**INNER)
def first_heard(y: Responses, lo: int, hi: int) -> int:
    """The first of the rows lo..hi that has weight, or the last one."""
    while lo < hi - 1 and y[lo, WEIGHT] == 0.0:
        lo += 1
    return lo


@numba.njit(**INNER)
def turn_over(s: Sums, x: Matrix, y: Responses, a: int, b: int, centred: bool) -> None:
    """Start anew from the rows [a, b); the centre is their mean (y's always, x's if asked)."""
    d = x.shape[1]
    fill(s.recent, 0.0)
    fill(part(s.stack, 0, s.dials[DEPTH]), 0.0)
    fill(part(s.stack_bounds, 0, s.dials[DEPTH]), 0.0)
    clear_bounds(s.recent_bounds)
    s.dials[TURN], s.dials[SEEN], s.dials[DEPTH] = b, b, 0
    fill(s.centre, 0.0)
    total = weight_of(y, a, b)
    for i in range(a, b):
        weight = y[i, WEIGHT]
        if centred:
            for j in range(d):
                s.centre[j] += weight * x[i, j] / total
        s.centre[d + 1] += weight * y[i, VALUE] / total
    if centred:
        _settle(s.centre, x, y, a, b)


@numba.njit(**INNER)
def _settle(centre: Vector, x: Matrix, y: Responses, a: int, b: int) -> None:
    """Centre a constant feature on its value: the mean is that but for rounding, which is dust."""
    first = first_heard(y, a, b)
    for j in range(x.shape[1]):
        i = first + 1
        while i < b and (x[i, j] == x[first, j] or y[i, WEIGHT] == 0.0):
            i += 1
        if i >= b > a:
            centre[j] = x[first, j]


@shared()
def slide_to(s: Sums, x: Matrix, y: Responses, a: int, b: int, unit: int, centred: bool) -> None:
    """total <- the sum over [a, b); ``unit`` is how far the range is likely to move next."""
    if a > s.dials[TURN] or b < s.dials[SEEN]:
        turn_over(s, x, y, a, b, centred)
    _add_rows(x, y, s.dials[SEEN], b, s.centre, s.rows, s.recent)
    bounded = s.dials[BOUNDED] == 1
    if bounded:
        _widen_all(s.recent_bounds, x, y, s.dials[SEEN], b)
    s.dials[SEEN] = b
    _reach_back(s, x, y, a, unit)
    top = s.dials[DEPTH] - 1
    if top >= 0:
        q = s.total.shape[0]
        _set_lower_sum(s.recent, take(s.stack, top * q * q, q, q), s.total)
    else:
        _set_lower(s.recent, s.total)
    if bounded:
        clear_bounds(s.bounds)
        widen(s.bounds, s.recent_bounds[0], s.recent_bounds[1])
        if top >= 0:
            d = s.bounds.shape[1]
            kept = take(s.stack_bounds, top * 2 * d, 2, d)
            widen(s.bounds, kept[0], kept[1])


@numba.njit(**INNER)
def _reach_back(s: Sums, x: Matrix, y: Responses, a: int, unit: int) -> None:
    """Make the top of the stack start at ``a``, leaving entries at equal steps for later."""
    depth, stack, starts, q = s.dials[DEPTH], s.stack, s.starts, s.total.shape[0]
    while depth > 0 and starts[depth - 1] < a:
        depth -= 1
        _wipe_lower(take(stack, depth * q * q, q, q))
        fill(s.stack_bounds[depth], 0.0)
    top = starts[depth - 1] if depth > 0 else s.dials[TURN]
    step = top - a
    while top > a:
        if top - a <= step:  # the last step of a level is divided in its turn
            step = _step(top - a, unit)
        start = a + (top - a - 1) // step * step
        if depth + 1 == starts.size:  # a smaller unit than the stack was made for: no more steps
            start = a
        entry = take(stack, depth * q * q, q, q)
        if depth > 0:
            _set_lower(take(stack, (depth - 1) * q * q, q, q), entry)
        _add_rows(x, y, start, top, s.centre, s.rows, entry)
        if s.dials[BOUNDED] == 1:
            _push_bounds(s, x, y, start, top, depth)
        starts[depth] = start
        depth += 1
        top = start
    s.dials[DEPTH] = depth


@numba.njit(**INNER)
def _push_bounds(s: Sums, x: Matrix, y: Responses, lo: int, hi: int, depth: int) -> None:
    """The bounds of a new stack entry: those of the one below and of the rows lo..hi."""
    d = s.bounds.shape[1]
    bounds = take(s.stack_bounds, depth * 2 * d, 2, d)
    clear_bounds(bounds)
    if depth > 0:
        below = take(s.stack_bounds, (depth - 1) * 2 * d, 2, d)
        widen(bounds, below[0], below[1])
    _widen_all(bounds, x, y, lo, hi)


def shift_down(s: Sums, by: int) -> None:
    """The rows have moved ``by`` places towards the front of their array."""
    s.dials[[TURN, SEEN]] -= by
    s.starts[:] -= by

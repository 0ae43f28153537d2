"""Sums over a sliding range of rows, made by addition alone.

The range is [a, b) of an array of rows. Both ends only move up. The sum is the Gram matrix of the
rows q (x - c, 1, y - cy), where q is the square root of a row's weight. All moments of the range
follow from it.

Nothing is subtracted. The range is split at a *turn*. Sums over [start, turn) lie on a stack, the
latest start on top of the earliest. Rows from the turn on are added to one running sum. When the
range passes the turn, the turn moves to the end of the range. A stack entry whose rows have left is
overwritten with zeros when it is popped.

The starts on the stack are equally spaced, at most FAN of them. The step nearest to the start of
the range is divided again, and so on down to steps of ``unit`` rows. So a row is added once to the
running sum and about log(rows / unit) / log(FAN) times to the stack, which holds FAN entries per
level.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from efface.engine.jit.blas import add_gram
from efface.engine.jit.compilation import INNER, carving, shared
from efface.engine.jit.records import Record, as_ints, record
from efface.engine.jit.simd import LANES, add_products
from efface.engine.jit.views import ROOT, VALUE, WEIGHT, Ints, Matrix, Responses, Vector, part, take
from efface.engine.linalg.dense import fill

CHUNK = 64
FAN = 32
SMALL = 64  # below this many columns, a call to BLAS costs more than the sum
_TINY = float(np.finfo(np.float64).tiny)
NEVER = 1 << 62  # as ``seen``: nothing is kept, start anew

sums_state, _STATE = record(ints=["turn", "seen", "entries", "bounded", "anchor"])


class Sums(NamedTuple):
    """The sums of a sliding range; q = d + 2."""

    state: Record  # turn; seen (= b); stack entries in use; bounds kept?; see ``turn_over``
    total: Matrix  # (q, q), lower triangle: the sum over [a, b)
    recent: Matrix  # (q, q): over [turn, b)
    stack: Matrix  # (depth, q * q): over [start, turn), nearest last
    starts: Ints  # (depth,)
    bounds: Matrix  # (2, d): the largest and the smallest features over [a, b), if kept
    recent_bounds: Matrix  # (2, d)
    stack_bounds: Matrix  # (depth, 2 * d)
    centre: Vector  # (q,): c, 0, cy
    rows: Matrix  # (CHUNK, q) scratch


def depth_for(rows: int, unit: int = 1) -> int:
    """Stack entries for a range of ``rows`` that moves by ``unit``: at most FAN per level."""
    depth, gap = 2, rows
    while gap > unit:
        step = stack_step(gap, unit)
        depth += (gap + step - 1) // step
        gap = step
    return depth


@carving
def stack_step(gap: int, unit: int) -> int:
    """The distance of the starts that divide a range of ``gap`` rows."""
    return (gap + FAN * unit - 1) // (FAN * unit) * unit


@carving
def lay_out_sums(store: Vector, at: int, d: int, depth: int) -> tuple[Sums, int]:
    """The sums that lie in a flat array, all 0 at first; and the offset behind them."""
    q, f = d + 2, store
    starts = at + _STATE
    total = starts + depth
    centre = total + (2 + depth) * q * q
    bounds = centre + q + CHUNK * q
    sums = Sums(
        sums_state(part(f, at, starts)),
        take(f, total, q, q),
        take(f, total + q * q, q, q),
        take(f, total + 2 * q * q, depth, q * q),
        as_ints(part(f, starts, total)),
        take(f, bounds, 2, d),
        take(f, bounds + 2 * d, 2, d),
        take(f, bounds + 4 * d, depth, 2 * d),
        part(f, centre, centre + q),
        take(f, centre + q, CHUNK, q),
    )
    return sums, bounds + (4 + 2 * depth) * d


@carving
def start_sums(s: Sums, bounded: bool) -> None:
    """No row is in the sums yet."""
    s.state.seen = NEVER
    s.state.bounded = 1 if bounded else 0


@numba.njit(**INNER)
def clear_bounds(bounds: Matrix) -> None:
    fill(bounds[0], -np.inf)
    fill(bounds[1], np.inf)


@numba.njit(**INNER)
def widen(bounds: Matrix, high: Vector, low: Vector) -> None:
    """Extend the bounds to these values."""
    for j in range(high.size):
        bounds[0, j] = max(bounds[0, j], high[j])
        bounds[1, j] = min(bounds[1, j], low[j])


@numba.njit(**INNER)
def widen_all(bounds: Matrix, x: Matrix, y: Responses, lo: int, hi: int) -> None:
    """Extend the bounds to the rows lo..hi that have weight."""
    for i in range(lo, hi):
        if y[i, WEIGHT] > 0.0:
            widen(bounds, x[i], x[i])


@numba.njit(**INNER)
def _add_rows(
    x: Matrix, y: Responses, lo: int, hi: int, centre: Vector, rows: Matrix, out: Matrix
) -> None:
    """out += the Gram matrix of the rows lo..hi, centred and weighted."""
    d = x.shape[1]
    for start in range(lo, hi, CHUNK):
        size = min(CHUNK, hi - start)
        for i in range(size):
            root = y[start + i, ROOT]
            for j in range(d):
                rows[i, j] = root * (x[start + i, j] - centre[j])
            rows[i, d] = root
            rows[i, d + 1] = root * (y[start + i, VALUE] - centre[d + 1])
        _add_gram_of(rows, size, out)
    for i in range(min(CHUNK, hi - lo)):
        for j in range(d + 2):
            rows[i, j] = 0.0


@numba.njit(**INNER)
def _add_gram_of(rows: Matrix, size: int, out: Matrix) -> None:
    """out += rows' rows, the lower triangle only, for the first ``size`` rows."""
    q = out.shape[0]
    if q >= SMALL:
        add_gram(part(rows, 0, size), out)
        return
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
def _clear_lower(out: Matrix) -> None:
    for i in range(out.shape[0]):
        for j in range(i + 1):
            out[i, j] = 0.0


@numba.njit(**INNER)
def weight_of(y: Responses, a: int, b: int) -> float:
    """The sum of the weights of the rows [a, b), at least the smallest normal number."""
    total = 0.0
    for i in range(a, b):
        total += y[i, WEIGHT]
    return max(total, _TINY)


@numba.njit(**INNER)
def first_weighted(y: Responses, lo: int, hi: int) -> int:
    """The first of the rows lo..hi that has weight, or the last row."""
    while lo < hi - 1 and y[lo, WEIGHT] == 0.0:
        lo += 1
    return lo


@numba.njit(**INNER)
def start_at(s: Sums, b: int) -> None:
    """No row is in the sums; the turn is at ``b``."""
    fill(s.recent, 0.0)
    fill(part(s.stack, 0, s.state.entries), 0.0)
    fill(part(s.stack_bounds, 0, s.state.entries), 0.0)
    clear_bounds(s.recent_bounds)
    s.state.turn, s.state.seen, s.state.entries, s.state.anchor = b, b, 0, b - 1


@numba.njit(**INNER)
def turn_over(s: Sums, x: Matrix, y: Responses, a: int, b: int, centred: bool) -> None:
    """Start anew at the end of [a, b). The centre is the mean of y, and of x if ``centred``.

    ``anchor`` is the last row that the centre depends on.
    """
    d = x.shape[1]
    start_at(s, b)
    s.state.anchor = a
    fill(s.centre, 0.0)
    total = weight_of(y, a, b)
    for i in range(a, b):
        weight = y[i, WEIGHT]
        if weight > 0.0:
            s.state.anchor = i
        if centred:
            for j in range(d):
                s.centre[j] += weight * x[i, j] / total
        s.centre[d + 1] += weight * y[i, VALUE] / total
    if centred:
        _centre_constants(s.centre, x, y, a, b)


@numba.njit(**INNER)
def _centre_constants(centre: Vector, x: Matrix, y: Responses, a: int, b: int) -> None:
    """Centre a constant feature on its value: its mean differs from that by rounding."""
    first = first_weighted(y, a, b)
    for j in range(x.shape[1]):
        i = first + 1
        while i < b and (x[i, j] == x[first, j] or y[i, WEIGHT] == 0.0):
            i += 1
        if i >= b > a:
            centre[j] = x[first, j]


@shared()
def slide_to(s: Sums, x: Matrix, y: Responses, a: int, b: int, unit: int, centred: bool) -> None:
    """total <- the sum over [a, b). ``unit`` is the step by which the range is expected to move."""
    if a > s.state.turn or b < s.state.seen:
        turn_over(s, x, y, a, b, centred)
    _add_rows(x, y, s.state.seen, b, s.centre, s.rows, s.recent)
    bounded = s.state.bounded == 1
    if bounded:
        widen_all(s.recent_bounds, x, y, s.state.seen, b)
    s.state.seen = b
    _reach_back(s, x, y, a, unit)
    top = s.state.entries - 1
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
def _pop_before(s: Sums, a: int) -> None:
    """Pop the stack entries that start before ``a``, and overwrite them."""
    depth, q = s.state.entries, s.total.shape[0]
    while depth > 0 and s.starts[depth - 1] < a:
        depth -= 1
        _clear_lower(take(s.stack, depth * q * q, q, q))
        fill(s.stack_bounds[depth], 0.0)
    s.state.entries = depth


@numba.njit(**INNER)
def _reach_back(s: Sums, x: Matrix, y: Responses, a: int, unit: int) -> None:
    """Extend the stack until its top entry starts at ``a``, with entries at equal steps."""
    _pop_before(s, a)
    depth, stack, starts, q = s.state.entries, s.stack, s.starts, s.total.shape[0]
    top = starts[depth - 1] if depth > 0 else s.state.turn
    step = top - a
    while top > a:
        if top - a <= step:  # divide the last step of a level again
            step = stack_step(top - a, unit)
        start = a + (top - a - 1) // step * step
        if depth + 1 == starts.size:  # the stack is full: no more steps
            start = a
        entry = take(stack, depth * q * q, q, q)
        if depth > 0:
            _set_lower(take(stack, (depth - 1) * q * q, q, q), entry)
        _add_rows(x, y, start, top, s.centre, s.rows, entry)
        if s.state.bounded == 1:
            _push_bounds(s, x, y, start, top, depth)
        starts[depth] = start
        depth += 1
        top = start
    s.state.entries = depth


@numba.njit(**INNER)
def _push_bounds(s: Sums, x: Matrix, y: Responses, lo: int, hi: int, depth: int) -> None:
    """The bounds of a new stack entry: those of the entry below it and of the rows lo..hi."""
    d = s.bounds.shape[1]
    bounds = take(s.stack_bounds, depth * 2 * d, 2, d)
    clear_bounds(bounds)
    if depth > 0:
        below = take(s.stack_bounds, (depth - 1) * 2 * d, 2, d)
        widen(bounds, below[0], below[1])
    widen_all(bounds, x, y, lo, hi)


@numba.njit(**INNER)
def release_sums(s: Sums, head: int) -> None:
    """Overwrite the sums that contain a row before ``head``, except ``total``."""
    _pop_before(s, head)
    if s.state.seen != NEVER and head > s.state.anchor:  # all rows of the centre have left
        fill(s.recent, 0.0)
        fill(s.recent_bounds, 0.0)
        fill(s.centre, 0.0)
        s.state.turn, s.state.seen = 0, NEVER


@numba.njit(**INNER)
def clear_total(s: Sums) -> None:
    _clear_lower(s.total)
    if s.state.bounded == 1:
        fill(s.bounds, 0.0)


@shared()
def shift_down(s: Sums, by: int) -> None:
    """Follow rows that have moved ``by`` places towards the front of their array."""
    if s.state.seen != NEVER:
        s.state.seen -= by
    s.state.turn -= by
    s.state.anchor -= by
    for i in range(s.starts.size):
        s.starts[i] -= by

"""One event at a time: rows come and go, coefficients on demand.

A core of rows is solved now and then (see ``core``). Rows that come are placed outside it. The
oldest rows, the tail, are outside it from the start, so that they can leave without a trace. When
the tail is used up, or too many rows came, a new core is formed from the live rows: its sums by
addition, its inverse from those. The penalty may change at every event. The core keeps the penalty
that it was formed with, and a few steps of conjugate gradients bring the solution to the present
one. Where rounding would show, the rows are refitted.
"""

from __future__ import annotations

import numba

from efface.engine.events.core import (
    centre_dual,
    finish,
    form_dual,
    form_primal,
    gather,
    join,
    join_all,
    place,
)
from efface.engine.events.penalty import (
    observe,
    observe_rows,
    observe_sums,
    observe_tail,
    penalty_of,
    unpenalised,
)
from efface.engine.events.rows import Rows, append, drop, open_rows, span_of
from efface.engine.events.solve import change_penalty, solve_outside
from efface.engine.events.state import (
    FIXED,
    PILOT,
    Stream,
    clear_core,
    note_first_needed,
    open_stream,
    release,
)
from efface.engine.jit.compilation import INNER, KERNEL
from efface.engine.jit.records import Record
from efface.engine.jit.views import Ints, Matrix, Responses, Vector
from efface.engine.linalg.dense import fill
from efface.engine.linalg.refit import refit
from efface.engine.sums.sliding import NEVER, clear_total

DONE, FORM, FORM_DUAL, REFIT, COMPACT, FOLD = range(6)  # what a kernel asks its caller to do next


@numba.njit(**INNER)
def up_to_date(state: Record, r: Rows) -> bool:
    """Is the solution that of the live rows?"""
    return state.solved_end == r.span.end and state.solved_head == r.span.head


@numba.njit(**INNER)
def note_solved(state: Record, r: Rows, rank: int) -> None:
    state.solved_head, state.solved_end, state.rank = r.span.head, r.span.end, rank
    state.refitted = 0


@numba.njit(**INNER)
def note_no_rows(state: Record, r: Rows, coef: Vector) -> None:
    """The solution where no row has weight: zeros."""
    fill(coef, 0.0)
    state.intercept, state.penalty = 0.0, state.alpha if state.rule == FIXED else 0.0
    note_solved(state, r, 0)


@numba.njit(**INNER)
def refresh(s: Stream, r: Rows, watched: bool | None) -> int:
    """Bring coefficients, intercept, penalty and rank up to date with the live rows.

    Unless DONE, the caller must first do something rarer: FORM, FORM_DUAL or REFIT. So each of them
    is compiled once, and only when it is needed. ``watched`` is None where the penalty is fixed:
    what an adaptive penalty needs is then not compiled.
    """
    state, c = s.state, s.core
    if up_to_date(state, r):
        return DONE
    n, d, intercept = r.span.end - r.span.head, state.width, state.has_intercept == 1
    if n == r.span.weightless:
        clear_core(s)
        note_no_rows(state, r, s.coef)
        return DONE
    if not _usable(s, r, n):
        return _choose(s, r)
    penalty, state.used = state.alpha, 1
    if watched is not None:
        for row in range(state.placed, r.span.end):
            observe(s.stats.moments[1], s.stats.bounds[1], s.stats.origin, r.x[row], r.y[row])
    _admit(s, r)
    if watched is not None:
        penalty = penalty_of(s, r)
        exact = state.rule == PILOT  # its degrees of freedom follow from the core
        if _moved(penalty, c.state.penalty) or (exact and penalty != c.state.penalty):
            return _choose(s, r)
    state.penalty = penalty
    if state.refit == 1 or not solve_outside(s, r, penalty):
        return REFIT
    if watched is not None:  # noqa: SIM102 - alone, so that the branch is not even compiled
        if not change_penalty(s, r, penalty):
            return REFIT
    state.intercept = finish(c, s.work.theta, d, intercept, s.coef)
    note_solved(state, r, min(d, n - state.has_intercept) if penalty == 0.0 else -1)
    return DONE


@numba.njit(**INNER)
def _moved(penalty: float, anchor: float) -> bool:
    """Is the penalty too far from that of the core for a few steps of conjugate gradients?"""
    if penalty == anchor:
        return False
    return penalty == 0.0 or anchor == 0.0 or abs(penalty - anchor) > 0.25 * anchor


@numba.njit(**INNER)
def _usable(s: Stream, r: Rows, n: int) -> bool:
    """Does the core lie within the live rows, with room outside it for the other rows?"""
    state, core, head, end = s.state, s.core.state, r.span.head, r.span.end
    if state.valid == 0 or head > state.core_start:
        return False
    if state.tail_start == head and state.core_end == end:
        return True  # formed from these very rows: it cannot be formed better
    outside = state.core_start - state.tail_start + end - state.core_end
    if outside > 2 * state.tail:
        return False
    crowded = n > state.width + state.has_intercept
    return not (crowded and core.dual == 1 and core.penalty == 0.0)


@numba.njit(**INNER)
def _choose(s: Stream, r: Rows) -> int:
    """Choose a new core: all live rows but the oldest few, which leave next. Return its form."""
    state, o, head, end = s.state, s.outside, r.span.head, r.span.end
    n, p = end - head, state.width + state.has_intercept
    folds = n >= state.fold_from and s.sums.state.seen == NEVER
    tail = min(n, state.tail) if state.shrinks == 1 and not (folds and state.fresh == 1) else 0
    if n > p and unpenalised(r, state):
        tail = min(tail, max(1, (n - p) // 2))
    core = n - tail
    if state.valid == 1:
        for kept in (o.rows, o.images, o.schur, o.residual):
            fill(kept, 0.0)
        fill(o.weight, 0.0)
    state.tail_start, state.core_start, state.core_end = head, head + tail, end
    state.placed, state.released, state.valid = end, head, 0
    if folds:
        return FOLD
    return FORM if core > p or (core == p and n > p) else FORM_DUAL


@numba.njit(**KERNEL, nogil=True)
def form_rows(x: Matrix, y: Responses, span: Ints, store: Vector, watched: bool | None) -> None:
    """Form a core with enough rows for its normal equations: the answer to FORM."""
    s, r = open_stream(store), open_rows(x, y, span)
    gather_core(s, r)
    form_core(s, r, watched)


@numba.njit(**INNER)
def gather_core(s: Stream, r: Rows) -> None:
    """Sum the rows of the core."""
    state, intercept = s.state, s.state.has_intercept == 1
    gather(s.sums, r.x, r.y, state.core_start, state.core_end, state.tail, intercept)


@numba.njit(**INNER)
def form_core(s: Stream, r: Rows, watched: bool | None) -> None:
    """Form a core from its sums."""
    state, c = s.state, s.core
    d, intercept = state.width, state.has_intercept == 1
    if watched is not None:
        observe_sums(s.stats, s.sums, d)
    if c.state.dual == 1:  # the primal form uses fewer places
        for kept in (c.rows, c.theta, c.terms):
            fill(kept, 0.0)
    _enclose(s, r, form_primal(c, s.sums.total, d, _anchor(s, r, watched), intercept))
    fill(c.scratch, 0.0)


@numba.njit(**KERNEL, nogil=True)
def form_dual_rows(
    x: Matrix, y: Responses, span: Ints, store: Vector, watched: bool | None
) -> None:
    """Form a core of fewer rows than that: the answer to FORM_DUAL."""
    s, r = open_stream(store), open_rows(x, y, span)
    state, c = s.state, s.core
    first, start, end = state.tail_start, state.core_start, state.core_end
    intercept = state.has_intercept == 1
    fill(c.inverse, 0.0)
    clear_total(s.sums)
    centre_dual(s.sums, x, y, start if end > start else first, end, intercept)
    if watched is not None:
        observe_rows(s.stats, state, s.sums, r)
    penalty = _anchor(s, r, watched)
    _enclose(s, r, form_dual(c, x, y, start, end, first, penalty, intercept))
    fill(c.scratch, 0.0)


@numba.njit(**INNER)
def _anchor(s: Stream, r: Rows, watched: bool | None) -> float:
    """The penalty that a core is formed with: the present one."""
    if watched is None:
        return s.state.alpha
    observe_tail(s.stats, s.state, r)
    return penalty_of(s, r)


@numba.njit(**INNER)
def _enclose(s: Stream, r: Rows, margin: float) -> None:
    """Place the tail outside a core that was just solved."""
    state, c, o = s.state, s.core, s.outside
    tail = state.core_start - state.tail_start
    state.refit = 0 if margin >= c.state.margin else 1
    state.valid = 1
    note_first_needed(s)
    if state.refit == 0:
        at = tail - tail  # 0, but no literal: Numba would compile ``place`` once more for that
        place(c, o, r.x, r.y, state.tail_start, tail, at, state.has_intercept == 1)
        join_all(c, o, tail)


@numba.njit(**INNER)
def _admit(s: Stream, r: Rows) -> None:
    """Place the rows that came since the last solution outside the core."""
    state, c, o = s.state, s.core, s.outside
    lo, came = r.span.head - state.tail_start, r.span.end - state.placed
    at = state.core_start - state.tail_start + state.placed - state.core_end
    if state.refit == 0:
        place(c, o, r.x, r.y, state.placed, came, at, state.has_intercept == 1)
        join(c, o, lo, at, came)
    state.placed = r.span.end


@numba.njit(**KERNEL)
def append_row(
    x: Matrix, y: Responses, span: Ints, row: Vector, response: float, weight: float
) -> bool:
    """Append a row; False if there is no free place."""
    return append(open_rows(x, y, span), row, response, weight)


@numba.njit(**KERNEL)
def learn_row(
    x: Matrix,
    y: Responses,
    span: Ints,
    store: Vector,
    row: Vector,
    response: float,
    weight: float,
    leaving: int,
) -> bool:
    """Append a row, then drop the oldest ``leaving`` rows; False if there is no free place."""
    r = open_rows(x, y, span)
    if not push(r, row, response, weight, leaving):
        return False
    release(store, r.span.head)
    return True


@numba.njit(**INNER)
def push(r: Rows, row: Vector, response: float, weight: float, leaving: int) -> bool:
    """``learn_row`` without the state, which must be released before the caller returns."""
    if not append(r, row, response, weight):
        return False
    if leaving > 0:
        drop(r, leaving)
    return True


@numba.njit(**KERNEL)
def drop_rows(x: Matrix, y: Responses, span: Ints, count: int) -> None:
    """Drop the oldest rows; the state is released by the caller."""
    drop(open_rows(x, y, span), count)


@numba.njit(**KERNEL)
def release_rows(span: Ints, store: Vector) -> None:
    """Overwrite all that was derived from rows that have left."""
    release(store, span_of(span).head)


def refit_rows(x: Matrix, y: Responses, span: Ints, store: Vector) -> None:
    """Solve from the rows themselves: the answer to REFIT."""
    s, at = open_stream(store), span_of(span)
    lo, hi, state = at.head, at.end, s.state
    state.intercept, state.rank = refit(
        x[lo:hi], y[lo:hi], state.penalty, state.has_intercept == 1, s.coef
    )
    state.solved_head, state.solved_end, state.used = lo, hi, 1

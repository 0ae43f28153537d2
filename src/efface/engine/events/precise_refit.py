"""Refits of the live rows from sums in double-double precision: no pass over the rows is needed."""

from __future__ import annotations

import numba

from efface.engine.events.penalty import LEAST_TRACE
from efface.engine.events.pilot import (
    ASKED_BY_PILOT,
    constant_rows,
    penalty_of_fit,
    refresh_both,
)
from efface.engine.events.rows import Rows, open_rows
from efface.engine.events.state import Stream, open_stream
from efface.engine.events.stream import DONE, REFIT, note_solved, up_to_date
from efface.engine.jit.compilation import INNER, KERNEL
from efface.engine.jit.views import Ints, Matrix, Responses, Vector
from efface.engine.linalg.exact_products import padded_columns
from efface.engine.linalg.precise_solve import (
    UNSOLVED,
    Window,
    clear_system,
    inverse_trace,
    unexplained_square,
)
from efface.engine.sums.precise_sums import PreciseSums, fit_range, open_precise

TRIED_EVERY = 16  # rows: so often a solution without a refit is tried after one with it


@numba.njit(**KERNEL)
def refit_precisely(
    x: Matrix, y: Responses, span: Ints, store: Vector, sums: Vector, pilot: bool
) -> bool:
    """An answer to REFIT, for a store or a pilot store; False where the rows must be refitted."""
    return _refit(open_stream(store), open_rows(x, y, span), open_precise(sums), pilot)


@numba.njit(**INNER)
def _refit(s: Stream, r: Rows, p: PreciseSums, pilot: bool) -> bool:
    """``refit_precisely`` for compiled callers."""
    state, head, end = s.state, r.span.head, r.span.end
    rows, intercept = end - head - r.span.weightless, state.has_intercept
    if rows - intercept <= state.width:
        return False
    asked = Window(rows, state.penalty, intercept == 1, False, False)
    level, rank = fit_range(p, r.x, r.y, head, end, asked, s.coef)
    if rank != UNSOLVED:
        state.intercept, state.used = level, 1
        note_solved(state, r, rank)
        if pilot:
            state.plugged, state.refitted = _plug_in(s, r, p, asked), 1
    clear_system(p.system, p.total)
    return rank != UNSOLVED


@numba.njit(**INNER)
def refresh_precisely(
    s: Stream, pilot: Vector | None, r: Rows, p: PreciseSums, watched: bool | None
) -> int:
    """``refresh_both``, with its refits; after a refit, it is rarely tried again without one."""
    state = s.state
    if watched is None and state.refit == 1 and r.span.end % TRIED_EVERY > 0:
        state.penalty = state.alpha
        if up_to_date(state, r) or _refit(s, r, p, False):
            return DONE
    code = refresh_both(s, pilot, r, watched)
    if pilot is not None:
        other = open_stream(pilot)
        if code == REFIT + ASKED_BY_PILOT and _refit(other, r, p, True):
            state.alpha = state.penalty = other.state.plugged
            code = REFIT
    return DONE if code == REFIT and _refit(s, r, p, False) else code


@numba.njit(**INNER)
def _plug_in(s: Stream, r: Rows, p: PreciseSums, asked: Window) -> float:
    """The penalty that follows from a pilot fit that was just solved: see ``pilot``."""
    state, d, present, theta = s.state, s.state.width, 0, 0.0
    if state.trace_phi <= LEAST_TRACE or constant_rows(state, r.y, r.span.head, r.span.end):
        return 0.0
    w = padded_columns(d + 2)
    n, squares = p.total[d * w + d] / state.unit, (d + 1) * w + d + 1
    for j in range(d):
        theta = max(theta, abs(s.coef[j]))
        present += p.system.metric[j] != 0.0
    freedom = asked.rows - state.has_intercept - present + asked.penalty * inverse_trace(p.system)
    left = unexplained_square(p.system, p.total[squares], p.total[(d + 2) * w + squares])
    return penalty_of_fit(state, asked.rows, n, left, freedom, theta)

"""A whole array of events with a selected penalty, with leverages and residuals.

The counterpart of ``standardized_replay``, whose measures it uses: a frame holds the scaled rows
and the factors of Phi + penalty I.
"""

from __future__ import annotations

import numba

from efface.engine.events.event_replay import Events, learn_event, record
from efface.engine.events.leverage import IMAGE_2, LEVERAGE, SPECTRAL, UNEXPLAINED
from efface.engine.events.precise_refit import TRIED_EVERY
from efface.engine.events.rows import Rows, open_rows
from efface.engine.events.stream import COMPACT, DONE, REFIT, up_to_date
from efface.engine.jit.compilation import INNER, KERNEL
from efface.engine.jit.views import Ints, Matrix, Responses, Vector
from efface.engine.selection.few_rows import gauge_few, measure_few
from efface.engine.selection.precise_selection import select_precisely
from efface.engine.selection.selection_fit import factorise_frame, refresh_selection
from efface.engine.selection.selection_state import SelectionStream, open_selection
from efface.engine.standardized.standardized_fit import residuals_by_row
from efface.engine.standardized.standardized_replay import (
    DIAGNOSED,
    NOTHING,
    leverage_of,
    measure_row,
    summarise_rows,
)
from efface.engine.sums.precise_sums import PreciseSums, open_precise
from efface.engine.sums.sliding import NEVER


@numba.njit(**KERNEL, nogil=True)
def replay_selection(
    x: Matrix,
    y: Responses,
    span: Ints,
    store: Vector,
    sums: Vector | None,
    events: Events,
    bounds: tuple[int, int, int],  # from, up to, and the row that is measured already
    wanted: int,
    places: Ints | None,  # (n, 3): the rows that predict each row, where they are all in place
) -> tuple[int, int]:
    """``replay_standard`` with a selected penalty."""
    s, r = open_selection(store), open_rows(x, y, span)
    start, stop, measured = bounds
    for t in range(start, stop):
        if places is not None:
            _move_to(s, r, places, t)
        code = REFIT
        if sums is None or s.state.refit == 0 or r.span.end % TRIED_EVERY == 0:
            code = refresh_selection(s, r)
        if sums is not None:  # noqa: SIM102 - alone, so that the branch is not even compiled
            if code == REFIT:
                code = _refit(s, r, open_precise(sums))
        if code != DONE:
            return t, code
        if t != measured:
            record(s.state, s.coef, r, events, t)
            if wanted == DIAGNOSED and events.counts[0, t] > events.counts[2, t] == 0:
                for i in range(3, 6):  # rows without weight have no leverage, and none is new
                    events.states[i, t] = 0.0
            if events.counts[2, t] > 0 and wanted != NOTHING:
                code = _measure(s, r, events, t, wanted)
                if code != DONE:
                    return t, code
        if places is None:  # noqa: SIM102 - alone, so that the branch is not even compiled
            if not learn_event(s.state, r, events, t):
                return t, COMPACT
    return stop, DONE


@numba.njit(**INNER)
def _refit(s: SelectionStream, r: Rows, p: PreciseSums) -> int:
    """Refit from sums in double-double precision, if that is possible."""
    if up_to_date(s.state, r) or select_precisely(s, r, p):
        return DONE
    return refresh_selection(s, r)


@numba.njit(**INNER)
def _measure(s: SelectionStream, r: Rows, events: Events, t: int, wanted: int) -> int:
    """Leverages, rank and gauges of row t; a code where they do not follow from the state."""
    if s.few.state.kept == 1:
        if events.gauges.shape[0] > 0:
            gauge_few(s.few, s.state, events.rows[t], events.gauges[t], s.frame.scratch)
        if wanted == DIAGNOSED:
            measure_few(s.few, s.state, r, events, t, s.frame.scratch)
        events.counts[1, t] = s.few.state.independent
        return DONE
    if s.state.refit == 0:
        factorise_frame(s)
    code = measure_row(s, r, events, t, wanted)
    if code != SPECTRAL and events.gauges.shape[0] > 0:
        _correct_residuals(s, r, events.gauges[t])
    return code


@numba.njit(**INNER)
def _move_to(s: SelectionStream, r: Rows, places: Ints, t: int) -> None:
    """Let the live rows be those of the t-th range; sums start anew if it shares no row."""
    if places[t, 0] >= r.span.end or places[t, 0] < r.span.head:
        s.sums.state.seen, s.state.solved_end = NEVER, -1
    s.state.fold_from, s.state.folded = NEVER, 0
    r.span.head, r.span.end, r.span.weightless = places[t, 0], places[t, 1], places[t, 2]


@numba.njit(**INNER)
def _correct_residuals(s: SelectionStream, r: Rows, gauge: Vector) -> None:
    """Averaged coefficients solve no single system: their residuals are summed by row."""
    if s.state.averages == 1:
        gauge[UNEXPLAINED] = residuals_by_row(s.frame, s.sums, r, s.state.has_intercept == 1)


@numba.njit(**KERNEL, nogil=True)
def gauge_selection(
    x: Matrix, y: Responses, span: Ints, store: Vector, rows: Matrix, gauges: Matrix
) -> bool:
    """Gauges of each of ``rows``, of a stream that is up to date; False if it was refitted."""
    s, r = open_selection(store), open_rows(x, y, span)
    if s.few.state.kept == 1:
        for t in range(rows.shape[0]):
            gauge_few(s.few, s.state, rows[t], gauges[t], s.frame.scratch)
        return True
    if s.state.refit == 1:
        return False
    factorise_frame(s)
    summarise_rows(s, r, gauges[0])
    _correct_residuals(s, r, gauges[0])
    for t in range(rows.shape[0]):
        for i in range(UNEXPLAINED, gauges.shape[1]):
            gauges[t, i] = gauges[0, i]
        gauges[t, LEVERAGE], gauges[t, IMAGE_2] = leverage_of(s, rows[t])
    return True

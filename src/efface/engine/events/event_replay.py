"""A whole array of events, compiled: predict, learn and drop, row by row, with diagnostics.

Rows that leave are overwritten at once. What was derived from them is overwritten at the end, by
``release_rows``, which the caller must call before it returns.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from efface.engine.events.leverage import (
    GAUGES,
    IMAGE_2,
    LEVERAGE,
    SPECTRAL,
    UNRANKED,
    image_square,
    leverages,
    oldest_leverage,
    summarise,
    within_core,
)
from efface.engine.events.pilot import refresh_both
from efface.engine.events.precise_refit import refresh_precisely
from efface.engine.events.rows import Rows, open_rows
from efface.engine.events.state import Stream, open_stream
from efface.engine.events.stream import COMPACT, DONE, push, up_to_date
from efface.engine.jit.compilation import INNER, KERNEL, shared
from efface.engine.jit.records import Record
from efface.engine.jit.views import VALUE, WEIGHT, Ints, Matrix, Responses, Vector
from efface.engine.linalg.dense import copy, dot
from efface.engine.sums.precise_sums import open_precise


class Events(NamedTuple):
    """The rows of a replay, and where the state that predicts each of them is written."""

    rows: Matrix
    responses: Responses
    units: Vector  # (n,): the weight that counts as one row once row t is learned
    leaving: Ints  # (n,): how many of the oldest rows leave then
    states: Matrix  # (8, n): prediction, penalty, intercept, leverages, FRT, phi2, condition
    counts: Ints  # (3, n): rows, rank, rows that have weight
    coef: Matrix  # (n, d), or (0, d) where it is not wanted
    gauges: Matrix  # (n, GAUGES), or (0, GAUGES) where they are not wanted

    @classmethod
    def of(
        cls,
        X: Matrix,
        responses: Responses,
        leaving: Ints,
        *,
        coef: bool,
        gauges: bool,
        units: Vector | None = None,
    ) -> Events:
        n, d = X.shape
        return cls(
            X,
            responses,
            np.ones(n) if units is None else units,
            leaving,
            np.full((8, n), np.nan),
            np.zeros((3, n), np.int64),
            np.empty((n if coef else 0, d)),
            np.full((n if gauges else 0, GAUGES), np.nan),
        )


@numba.njit(**KERNEL, nogil=True)
def replay_rows(
    x: Matrix,
    y: Responses,
    span: Ints,
    store: Vector,
    pilot: Vector | None,
    sums: Vector | None,
    events: Events,
    start: int,
    watched: bool | None,
) -> tuple[int, int]:
    """Predict, then learn, row by row; column t holds the state that predicted row t.

    ``sums``, in double-double precision, are for rows with which refits are frequent. Returns the
    row at which the caller must do something first, and what; or the end, and DONE.
    """
    s, r = open_stream(store), open_rows(x, y, span)
    for t in range(start, events.responses.shape[0]):
        if sums is not None:
            code = refresh_precisely(s, pilot, r, open_precise(sums), watched)
        else:
            code = refresh_both(s, pilot, r, watched)
        if code != DONE:
            return t, code
        record(s.state, s.coef, r, events, t)
        if not learn_event(s.state, r, events, t):
            return t, COMPACT
    return events.responses.shape[0], DONE


@numba.njit(**KERNEL, nogil=True)
def diagnose_rows(
    x: Matrix,
    y: Responses,
    span: Ints,
    store: Vector,
    pilot: Vector | None,
    events: Events,
    room: Matrix,
    bounds: tuple[int, int, int],  # from, up to, and the row that is measured already
    certain: int,  # the rows from this place on have full rank for sure; -1: unknown
    count: int,  # 2 for leverages and rank, 1 for gauges alone
    watched: bool | None,
) -> tuple[int, int]:
    """``replay_rows`` with leverages and rank, with gauges, or with both.

    SPECTRAL where the row must be measured by singular values, UNRANKED where only the rank is
    missing; the caller then says that the row is measured.
    """
    s, r = open_stream(store), open_rows(x, y, span)
    start, stop, measured = bounds
    for t in range(start, stop):
        by_core = not up_to_date(s.state, r)  # else it was solved by a refit
        code = refresh_both(s, pilot, r, watched)
        if code != DONE:
            return t, code
        if t != measured:
            record(s.state, s.coef, r, events, t)
            if events.counts[0, t] > 0:
                if not within_core(s, by_core):
                    return t, SPECTRAL
                _measure(s, r, events, t, room, count)
            if count == 2 and events.counts[1, t] < 0:
                if r.span.head > certain:
                    return t, UNRANKED
                events.counts[1, t] = s.state.width
        if not learn_event(s.state, r, events, t):
            return t, COMPACT
    return stop, DONE


@numba.njit(**INNER)
def learn_event(state: Record, r: Rows, events: Events, t: int) -> bool:
    """Learn row t and drop the rows that leave then; False if there is no free place."""
    response, weight = events.responses[t, VALUE], events.responses[t, WEIGHT]
    if not push(r, events.rows[t], response, weight, events.leaving[t]):
        return False
    state.unit = events.units[t]
    return True


@numba.njit(**INNER)
def _measure(s: Stream, r: Rows, events: Events, t: int, room: Matrix, count: int) -> None:
    gauges, states = events.gauges, events.states
    if gauges.shape[0] > 0:
        summarise(s, r, room, gauges[t])
    new, cross = leverages(s, r, events.rows[t], room, count)
    if gauges.shape[0] > 0:
        gauges[t, LEVERAGE], gauges[t, IMAGE_2] = new, image_square(s, room)
    if count == 2:
        old = oldest_leverage(s, room)
        states[3, t], states[4, t], states[5, t] = new, old, forgetting_term(new, old, cross)


@numba.njit(**INNER)
def record(state: Record, coefficients: Vector, r: Rows, events: Events, t: int) -> None:
    """Write prediction, penalty, intercept, counts and coefficients of row t."""
    states, counts, coef = events.states, events.counts, events.coef
    states[0, t] = dot(coefficients, events.rows[t]) + state.intercept
    states[1, t] = state.penalty
    states[2, t] = state.intercept
    counts[0, t] = r.span.end - r.span.head
    counts[1, t] = state.rank
    counts[2, t] = counts[0, t] - r.span.weightless
    if coef.shape[0] > 0:
        copy(coefficients, coef[t])


@shared()
def forgetting_term(new: float, old: float, cross: float) -> float:
    """The forgetting regret term (Def. 2) from the leverages of a new row and of the oldest."""
    apart = max(0.0, new - cross * cross / old) if old > 0.0 else new
    return old * (apart + 1.0)

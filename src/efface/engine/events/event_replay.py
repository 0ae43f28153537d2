"""A whole array of events, compiled: predict, learn, let go, row by row, and what each cost."""

from __future__ import annotations

import numba

from efface.engine.events.leverage import (
    REACH,
    SPECTRAL,
    STRETCH,
    UNRANKED,
    leverages,
    oldest_leverage,
    stretch,
    summarise,
    within_core,
)
from efface.engine.events.penalty import ALPHA, DIRTY, END, HEAD, LAMBDA, LEVEL, MUTE, RANK, WIDTH
from efface.engine.events.stream import COMPACT, DONE, Stream, learn_row, open_stream, refresh
from efface.engine.jit.compilation import INNER, KERNEL, shared
from efface.engine.jit.views import VALUE, WEIGHT, Ints, Matrix, Responses, Vector
from efface.engine.linalg.dense import copy, dot


@numba.njit(**KERNEL, nogil=True)
def replay_rows(
    x: Matrix,
    y: Responses,
    floats: Vector,
    ints: Ints,
    rows: Matrix,
    responses: Responses,
    leaving: Ints,  # (n,): how many of the oldest rows go once row t is learned
    states: Matrix,  # its first six rows: prediction, penalty, intercept, leverages, FRT
    counts: Ints,  # (3, n): rows, rank, rows that have weight
    coef: Matrix,  # (n, d), or (0, d) where it is not wanted
    given: Vector,  # (n,): the penalty before row t, or (0,) where it follows from the rows
    start: int,
    watched: bool | None,
) -> tuple[int, int]:
    """Predict, then learn, row by row; what is written at t is the state that predicted row t.

    The row at which something else is to be done first, and what; or the end, DONE.
    """
    s = open_stream(floats, ints)
    for t in range(start, responses.shape[0]):
        if given.size > 0:
            s.values[ALPHA] = given[t]
        code = refresh(s, x, y, watched)
        if code != DONE:
            return t, code
        record(s, rows[t], t, states, counts, coef)
        response, weight = responses[t, VALUE], responses[t, WEIGHT]
        if not learn_row(x, y, s.dials, rows[t], response, weight, leaving[t]):
            return t, COMPACT
    return responses.shape[0], DONE


@numba.njit(**KERNEL, nogil=True)
def diagnose_rows(
    x: Matrix,
    y: Responses,
    floats: Vector,
    ints: Ints,
    rows: Matrix,
    responses: Responses,
    leaving: Ints,
    states: Matrix,
    counts: Ints,
    coef: Matrix,
    given: Vector,
    gauges: Matrix,  # (n, GAUGES), or (0, GAUGES) where they are not wanted
    room: Matrix,
    span: tuple[int, int, int],  # from, up to, and the row that needs no more measuring
    certain: int,  # the rows from this place on are of full rank for sure; -1: none are
    count: int,  # 2 for leverages and rank, 1 for gauges alone
    watched: bool | None,
) -> tuple[int, int]:
    """``replay_rows`` with leverages and rank, with gauges, or with both.

    SPECTRAL where the row must be measured by singular values, UNRANKED where only the rank is
    missing; then it needs no more measuring.
    """
    s = open_stream(floats, ints)
    start, stop, measured = span
    for t in range(start, stop):
        solved = s.dials[DIRTY] == 1  # now; or else by a refit
        if given.size > 0:
            s.values[ALPHA] = given[t]
        code = refresh(s, x, y, watched)
        if code != DONE:
            return t, code
        if t != measured:
            record(s, rows[t], t, states, counts, coef)
            if counts[0, t] > 0:
                if not within_core(s, solved):
                    return t, SPECTRAL
                _measure(s, x, y, rows[t], t, states, gauges, room, count)
            if count == 2 and counts[1, t] < 0:
                if s.dials[HEAD] > certain:
                    return t, UNRANKED
                counts[1, t] = s.dials[WIDTH]
        response, weight = responses[t, VALUE], responses[t, WEIGHT]
        if not learn_row(x, y, s.dials, rows[t], response, weight, leaving[t]):
            return t, COMPACT
    return stop, DONE


@numba.njit(**INNER)
def _measure(
    s: Stream,
    x: Matrix,
    y: Responses,
    row: Vector,
    t: int,
    states: Matrix,
    gauges: Matrix,
    room: Matrix,
    count: int,
) -> None:
    if gauges.shape[0] > 0:
        summarise(s, x, y, room, gauges[t])
    new, cross = leverages(s, x, y, row, room, count)
    if gauges.shape[0] > 0:
        gauges[t, REACH], gauges[t, STRETCH] = new, stretch(s, room)
    if count == 2:
        old = oldest_leverage(s, room)
        states[3, t], states[4, t], states[5, t] = new, old, forgetting_term(new, old, cross)


@numba.njit(**INNER)
def record(s: Stream, row: Vector, t: int, states: Matrix, counts: Ints, coef: Matrix) -> None:
    states[0, t] = dot(s.coef, row) + s.values[LEVEL]
    states[1, t] = s.values[LAMBDA]
    states[2, t] = s.values[LEVEL]
    counts[0, t] = s.dials[END] - s.dials[HEAD]
    counts[1, t] = s.dials[RANK]
    counts[2, t] = counts[0, t] - s.dials[MUTE]
    if coef.shape[0] > 0:
        copy(s.coef, coef[t])


@shared()
def forgetting_term(new: float, old: float, cross: float) -> float:
    """The forgetting regret term (Def. 2) from the leverages of a new row and of the oldest."""
    apart = max(0.0, new - cross * cross / old) if old > 0.0 else new
    return old * (apart + 1.0)

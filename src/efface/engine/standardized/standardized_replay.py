"""A whole array of events on standardised features, and how far rows lie from the live ones.

The counterpart of ``trace`` and ``leverage``: leverages are products with the factors of
Z'Z + penalty I that the frame holds, O(d^2) each.
"""

from __future__ import annotations

import numba
import numpy as np

from efface.engine.events.event_replay import forgetting_term, record
from efface.engine.events.leverage import (
    GAUGES_KEPT,
    HEFT,
    REACH,
    SCATTER,
    SIZE_2,
    SPECTRAL,
    STRETCH,
    UNEXPLAINED,
    UNRANKED,
)
from efface.engine.events.penalty import END, HARD, HEAD, INTERCEPT, LAMBDA, WIDTH
from efface.engine.events.stream import COMPACT, DONE, Stream, learn_row, open_stream
from efface.engine.jit.compilation import INNER, KERNEL
from efface.engine.jit.views import ROOT, VALUE, WEIGHT, Ints, Matrix, Responses, Vector, part, take
from efface.engine.linalg.dense import EPS, SAFE, copy, dot, solve
from efface.engine.standardized.correlations import SPREADING, WORTH, Frame, open_frame
from efface.engine.standardized.standardized_fit import (
    factorise_products,
    refresh_standard,
    residual_square,
    responses_square,
)

NOTHING, GAUGED, DIAGNOSED = range(3)  # how much is to be measured of every row


@numba.njit(**KERNEL, nogil=True)
def replay_standard(
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
    gauges: Matrix,  # (n, GAUGES), or (0, GAUGES) where they are not wanted
    room: Vector,
    span: tuple[int, int, int],  # from, up to, and the row that needs no more measuring
    wanted: int,
    watched: bool | None,
) -> tuple[int, int]:
    """Predict, then learn, row by row; what is written at t is the state that predicted row t.

    The row at which something else is to be done first, and what; or the end, DONE. SPECTRAL where
    the row must be measured by singular values, UNRANKED where only the rank is missing.
    """
    s = open_stream(floats, ints)
    f, dials = open_frame(room, s.dials[WIDTH]), s.dials
    start, stop, measured = span
    for t in range(start, stop):
        code = refresh_standard(s, f, x, y, watched)
        if code != DONE:
            return t, code
        if t != measured:
            record(s, rows[t], t, states, counts, coef)
            if counts[2, t] > 0 and wanted != NOTHING:
                if dials[HARD] == 1:
                    return t, SPECTRAL
                _measure(s, f, x, y, rows[t], t, states, gauges, wanted)
                if wanted == DIAGNOSED and counts[1, t] < 0:
                    if not _rank_beyond_doubt(f):
                        return t, UNRANKED
                    counts[1, t] = int(f.facts[SPREADING])
        response, weight = responses[t, VALUE], responses[t, WEIGHT]
        if not learn_row(x, y, dials, rows[t], response, weight, leaving[t]):
            return t, COMPACT
    return stop, DONE


@numba.njit(**INNER)
def _rank_beyond_doubt(f: Frame) -> bool:
    """Are all features with a spread independent for sure?"""
    d = f.row.size
    return factorise_products(f, 0.0, take(f.scratch, 0, d, d)) >= SAFE


@numba.njit(**INNER)
def _measure(
    s: Stream,
    f: Frame,
    x: Matrix,
    y: Responses,
    row: Vector,
    t: int,
    states: Matrix,
    gauges: Matrix,
    wanted: int,
) -> None:
    if gauges.shape[0] > 0:
        _summarise(s, f, x, y, gauges[t])
        gauges[t, REACH], gauges[t, STRETCH] = _reach(s, f, row)
    if wanted == DIAGNOSED:
        d = row.size
        new, old, image = part(f.scratch, 0, d), part(f.scratch, d, 2 * d), f.row
        base = s.dials[INTERCEPT] / f.facts[WORTH]
        _standardise_row(s, f, row, new)
        _standardise_row(s, f, x[s.dials[HEAD]], old)
        copy(old, image)
        solve(f.system, image)
        root, weight = y[s.dials[HEAD], ROOT], y[s.dials[HEAD], WEIGHT]
        cross, before = root * (base + dot(new, image)), weight * (base + dot(old, image))
        copy(new, image)
        solve(f.system, image)
        leverage = base + dot(new, image)
        states[3, t], states[4, t] = leverage, before
        states[5, t] = forgetting_term(leverage, before, cross)


@numba.njit(**INNER)
def _standardise_row(s: Stream, f: Frame, row: Vector, out: Vector) -> float:
    """out <- z, less what the rows say nothing of; the squared length of that."""
    lost = 0.0
    for j in range(row.size):
        out[j] = (row[j] - s.sums.centre[j] - f.shift[j]) / f.deviation[j]
        if f.spreads[j] == 0.0 and s.values[LAMBDA] == 0.0:
            lost += out[j] * out[j]
            out[j] = 0.0
    return lost


@numba.njit(**INNER)
def _reach(s: Stream, f: Frame, row: Vector) -> tuple[float, float]:
    """The leverage of a row, infinite where the rows do not determine it, and of its image."""
    u = part(f.scratch, 0, row.size)
    lost = _standardise_row(s, f, row, u)
    copy(u, f.row)
    solve(f.system, f.row)
    leverage = s.dials[INTERCEPT] / f.facts[WORTH] + dot(u, f.row)
    if lost > EPS * (lost + dot(u, u)):
        leverage = np.inf
    return leverage, dot(f.row, f.row)


@numba.njit(**INNER)
def _summarise(s: Stream, f: Frame, x: Matrix, y: Responses, gauge: Vector) -> None:
    """The residuals' squares, the scatter of the rows, and the squares of the coefficients."""
    span, intercept = (s.dials[HEAD], s.dials[END]), s.dials[INTERCEPT] == 1
    size, penalty = dot(f.coef, f.coef), s.values[LAMBDA]
    square = responses_square(f, s.sums, intercept)
    left = square - dot(f.coef, f.pull) - penalty * size
    if not left > GAUGES_KEPT * square:
        left = residual_square(f, s.sums, x, y, span, intercept)
    gauge[UNEXPLAINED] = left
    gauge[SCATTER] = f.facts[WORTH] * f.facts[SPREADING]
    gauge[SIZE_2], gauge[HEFT] = size, f.facts[WORTH]


@numba.njit(**KERNEL, nogil=True)
def gauge_standard(
    x: Matrix, y: Responses, floats: Vector, ints: Ints, room: Vector, rows: Matrix, gauges: Matrix
) -> bool:
    """Gauges, one column for each of ``rows``, of a stream that is up to date; or False."""
    s = open_stream(floats, ints)
    if s.dials[HARD] == 1:
        return False
    f = open_frame(room, s.dials[WIDTH])
    _summarise(s, f, x, y, gauges[0])
    for t in range(rows.shape[0]):
        for i in range(UNEXPLAINED, gauges.shape[1]):
            gauges[t, i] = gauges[0, i]
        gauges[t, REACH], gauges[t, STRETCH] = _reach(s, f, rows[t])
    return True

"""A whole array of events on standardised features, with leverages and residuals.

The counterpart of ``event_replay`` and ``leverage``. Leverages are products with the factors of
Z'Z + penalty I that the frame holds, at O(d^2) each.
"""

from __future__ import annotations

import numba
import numpy as np

from efface.engine.events.event_replay import Events, forgetting_term, learn_event, record
from efface.engine.events.leverage import (
    GAUGES_KEPT,
    IMAGE_2,
    LEVERAGE,
    SCATTER,
    SIZE_2,
    SPECTRAL,
    TOTAL_WEIGHT,
    UNEXPLAINED,
    UNRANKED,
)
from efface.engine.events.precise_refit import TRIED_EVERY
from efface.engine.events.rows import Rows, open_rows
from efface.engine.events.stream import COMPACT, DONE, REFIT, up_to_date
from efface.engine.jit.compilation import INNER, KERNEL
from efface.engine.jit.views import ROOT, WEIGHT, Ints, Matrix, Responses, Vector, part, take
from efface.engine.linalg.dense import EPS, SAFE, copy, dot, solve
from efface.engine.standardized.correlations import Frame
from efface.engine.standardized.standardized_fit import (
    StandardStream,
    factorise_products,
    open_standard,
    refit_frame,
    refresh_standard,
    residuals_by_row,
    responses_square,
)
from efface.engine.sums.precise_sums import PreciseSums, open_precise

NOTHING, GAUGED, DIAGNOSED = range(3)  # what is measured of every row


@numba.njit(**KERNEL, nogil=True)
def replay_standard(
    x: Matrix,
    y: Responses,
    span: Ints,
    store: Vector,
    sums: Vector | None,
    events: Events,
    bounds: tuple[int, int, int],  # from, up to, and the row that is measured already
    wanted: int,
    watched: bool | None,
) -> tuple[int, int]:
    """Predict, then learn, row by row; column t holds the state that predicted row t.

    ``sums``, in double-double precision, are for rows with which refits are frequent. Returns the
    row at which the caller must do something first, and what; or the end, and DONE. SPECTRAL where
    the row must be measured by singular values, UNRANKED where only the rank is missing.
    """
    s, r = open_standard(store), open_rows(x, y, span)
    start, stop, measured = bounds
    for t in range(start, stop):
        code = REFIT
        if sums is None or s.state.refit == 0 or r.span.end % TRIED_EVERY == 0:
            code = refresh_standard(s, r, watched)
        if sums is not None:  # noqa: SIM102 - alone, so that the branch is not even compiled
            if code == REFIT:
                code = _refit(s, r, open_precise(sums), watched)
        if code != DONE:
            return t, code
        if t != measured:
            record(s.state, s.coef, r, events, t)
            if events.counts[2, t] > 0 and wanted != NOTHING:
                code = measure_row(s, r, events, t, wanted)
                if code != DONE:
                    return t, code
        if not learn_event(s.state, r, events, t):
            return t, COMPACT
    return stop, DONE


@numba.njit(**INNER)
def _refit(s: StandardStream, r: Rows, p: PreciseSums, watched: bool | None) -> int:
    """Refit from sums in double-double precision, if that is possible."""
    if up_to_date(s.state, r) or (watched is None and refit_frame(s, r, p)):
        return DONE
    return refresh_standard(s, r, watched)


@numba.njit(**INNER)
def _rank_beyond_doubt(f: Frame) -> bool:
    """Are all features with a spread independent for sure?"""
    d = f.row.size
    return factorise_products(f, 0.0, take(f.scratch, 0, d, d)) >= SAFE


@numba.njit(**INNER)
def measure_row(s: StandardStream, r: Rows, events: Events, t: int, wanted: int) -> int:
    """Leverages, rank and gauges of row t; a code where they do not follow from the state."""
    gauges, states, row, f = events.gauges, events.states, events.rows[t], s.frame
    if s.state.refit == 1:
        return SPECTRAL
    if gauges.shape[0] > 0:
        summarise_rows(s, r, gauges[t])
        gauges[t, LEVERAGE], gauges[t, IMAGE_2] = leverage_of(s, row)
    if wanted == DIAGNOSED:
        d, head = row.size, r.span.head
        new, old, image = part(f.scratch, 0, d), part(f.scratch, d, 2 * d), f.row
        base = s.state.has_intercept / f.state.weight
        _standardise_row(s, row, new)
        _standardise_row(s, r.x[head], old)
        copy(old, image)
        solve(f.system, image)
        root, weight = r.y[head, ROOT], r.y[head, WEIGHT]
        cross, before = root * (base + dot(new, image)), weight * (base + dot(old, image))
        copy(new, image)
        solve(f.system, image)
        leverage = base + dot(new, image)
        states[3, t], states[4, t] = leverage, before
        states[5, t] = forgetting_term(leverage, before, cross)
        if events.counts[1, t] < 0:
            if not _rank_beyond_doubt(f):
                return UNRANKED
            events.counts[1, t] = int(f.state.spreading)
    return DONE


@numba.njit(**INNER)
def _standardise_row(s: StandardStream, row: Vector, out: Vector) -> float:
    """out <- z, with 0 for what the rows do not determine; return the squared length of that."""
    f, lost = s.frame, 0.0
    for j in range(row.size):
        out[j] = (row[j] - s.sums.centre[j] - f.shift[j]) / f.deviation[j]
        if f.spreads[j] == 0.0 and s.state.penalty == 0.0:
            lost += out[j] * out[j]
            out[j] = 0.0
    return lost


@numba.njit(**INNER)
def leverage_of(s: StandardStream, row: Vector) -> tuple[float, float]:
    """The leverage of a row, infinite where the rows do not determine it; its image squared."""
    f, u = s.frame, part(s.frame.scratch, 0, row.size)
    lost = _standardise_row(s, row, u)
    copy(u, f.row)
    solve(f.system, f.row)
    leverage = s.state.has_intercept / f.state.weight + dot(u, f.row)
    if lost > EPS * (lost + dot(u, u)):
        leverage = np.inf
    return leverage, dot(f.row, f.row)


@numba.njit(**INNER)
def summarise_rows(s: StandardStream, r: Rows, gauge: Vector) -> None:
    """Squared residuals, scatter and weight of the live rows, and squared coefficients."""
    f, intercept = s.frame, s.state.has_intercept == 1
    size, penalty = dot(f.coef, f.coef), s.state.penalty
    square = responses_square(f, s.sums, intercept)
    left = square - dot(f.coef, f.pull) - penalty * size
    if not left > GAUGES_KEPT * square:
        left = residuals_by_row(f, s.sums, r, intercept)
    gauge[UNEXPLAINED] = left
    gauge[SCATTER] = 0.0
    for j in range(f.coef.size):
        gauge[SCATTER] += f.products[j, j]
    gauge[SIZE_2], gauge[TOTAL_WEIGHT] = size, f.state.weight


@numba.njit(**KERNEL, nogil=True)
def gauge_standard(
    x: Matrix, y: Responses, span: Ints, store: Vector, rows: Matrix, gauges: Matrix
) -> bool:
    """Gauges of each of ``rows``, of a stream that is up to date; False if it was refitted."""
    s, r = open_standard(store), open_rows(x, y, span)
    if s.state.refit == 1:
        return False
    summarise_rows(s, r, gauges[0])
    for t in range(rows.shape[0]):
        for i in range(UNEXPLAINED, gauges.shape[1]):
            gauges[t, i] = gauges[0, i]
        gauges[t, LEVERAGE], gauges[t, IMAGE_2] = leverage_of(s, rows[t])
    return True

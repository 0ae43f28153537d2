"""Regression on standardised features, z = (x - mean) / deviation of the rows at hand.

Mean and deviation change with every row that comes or leaves, and with them all of Z. But Z'Z is
the correlation matrix of the rows times their number, which follows from sums made by addition
alone (see ``sliding``). So a solution costs O(d^2) for the sums and O(d^3) / 6 for its
factorisation, whatever the number of rows. As Z'1 = 0, an intercept changes the level and nothing
else. A feature without spread has z = 0, hence the coefficient 0.

The margin of a factorisation (see ``dense``) is that of the rows around the centre of the sums, so
that it also shows digits lost to a mean that has moved. Where it is not safe, the rows themselves
are standardised and refitted.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from efface.engine.events.penalty import KEPT, lemma_3, pilot_penalty, too_few
from efface.engine.events.pilot import (
    AUTO,
    RESIDUAL,
    constant_rows,
    penalty_of_fit,
    plug_in_directly,
)
from efface.engine.events.rows import Rows, open_rows, span_of
from efface.engine.events.state import FADING, FIXED, STATE_WORDS, stream_state
from efface.engine.events.stream import (
    DONE,
    REFIT,
    note_no_rows,
    note_solved,
    push,
    up_to_date,
)
from efface.engine.jit.compilation import INNER, KERNEL, carving
from efface.engine.jit.records import Record, words
from efface.engine.jit.views import (
    ROOT,
    VALUE,
    WEIGHT,
    Ints,
    Matrix,
    Responses,
    Vector,
    part,
)
from efface.engine.linalg.dense import (
    SAFE,
    copy,
    dot,
    factorise,
    fill,
    invert,
    solve,
    symmetric_times,
)
from efface.engine.linalg.precise_solve import UNSOLVED, Window, clear_system
from efface.engine.linalg.refit import refit
from efface.engine.standardized.correlations import Frame, lay_out_frame, standardise
from efface.engine.standardized.zscores import scores
from efface.engine.sums.precise_sums import PreciseSums, fit_range, open_precise
from efface.engine.sums.sliding import (
    NEVER,
    Sums,
    clear_total,
    depth_for,
    lay_out_sums,
    release_sums,
)

_LEAST_FREE = 1e-2  # of the rows, as degrees of freedom: with less, residuals are rounding


class StandardStream(NamedTuple):
    """All that is derived from the live rows."""

    state: Record  # that of an event solver, see ``efface.engine.events.state``
    coef: Vector  # (d,)
    sums: Sums
    frame: Frame


@carving
def _lay_out(f: Vector, at: int, d: int, depth: int) -> tuple[StandardStream, int]:
    coef = at + STATE_WORDS
    sums, end = lay_out_sums(f, coef + d, d, depth)
    frame, end = lay_out_frame(f, end, d)
    state = stream_state(part(f, at, coef))
    return StandardStream(state, part(f, coef, coef + d), sums, frame), end


@carving
def open_standard(store: Vector) -> StandardStream:
    """The stream that lies in a store; its state says its shape."""
    state = stream_state(store)
    return _lay_out(store, 0, state.width, state.depth)[0]


def allocate_standard(width: int, intercept: bool, capacity: int) -> Vector:
    """A store for the state of at most ``capacity`` rows."""
    depth = depth_for(capacity)
    store = np.zeros(words(_lay_out, width, depth))
    state = stream_state(store)
    state.width, state.has_intercept, state.depth = width, intercept, depth
    state.sums_at = STATE_WORDS + width
    return store


@numba.njit(**KERNEL)
def release_standard(span: Ints, store: Vector) -> None:
    """Overwrite all that was derived from rows that have left."""
    release_stream(open_standard(store), span_of(span).head)


@numba.njit(**INNER)
def release_stream(s: StandardStream, head: int) -> None:
    """Overwrite all that was derived from rows before ``head``."""
    clear_total(s.sums)
    release_sums(s.sums, head)
    fill(s.frame.everything, 0.0)
    fill(s.coef, 0.0)
    state = s.state
    state.intercept, state.penalty = 0.0, 0.0
    state.variance, state.largest, state.trace_phi = 0.0, 0.0, 0.0
    state.solved_end = -1


@numba.njit(**KERNEL)
def disturb_standard(store: Vector, place: int) -> None:
    """A row was put in at ``place``: clear what was built from the rows behind it."""
    s = open_standard(store)
    release_stream(s, NEVER if place < s.sums.state.seen else 0)


@numba.njit(**KERNEL)
def learn_standard(
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
    release_stream(open_standard(store), r.span.head)
    return True


# -- solve ---------------------------------------------------------------------------------------


@numba.njit(**INNER)
def factorise_products(f: Frame, penalty: float, system: Matrix) -> float:
    """system <- the factors of Z'Z + penalty I, with 1 for a 0 on the diagonal; return the margin.

    So features without spread get the coefficient 0.
    """
    d = f.shift.size
    for i in range(d):
        copy(part(f.products[i], i, d), part(system[i], i, d))
        system[i, i] += penalty
        f.scale[i] = f.products[i, i] * f.inflation[i] + penalty
        if f.spreads[i] == 0.0:
            system[i, i] = f.scale[i] = penalty if penalty > 0.0 else 1.0
    return factorise(system, f.row, f.scale)


@numba.njit(**INNER)
def solve_frame(
    f: Frame, s: Sums, penalty: float, intercept: bool, coef: Vector
) -> tuple[float, bool]:
    """coef <- the coefficients of the features as they are; return the intercept; is it safe?

    The factorisation stays in the frame.
    """
    if not factorise_products(f, penalty, f.system) >= SAFE:
        return 0.0, False
    copy(f.pull, f.coef)
    solve(f.system, f.coef)
    return unscale(f, s, intercept, coef), True


@numba.njit(**INNER)
def unscale(f: Frame, s: Sums, intercept: bool, coef: Vector) -> float:
    """coef <- the coefficients of the features as they are, from the frame; the intercept."""
    d = coef.size
    level = s.centre[d + 1] + f.state.middle if intercept else 0.0
    for j in range(d):
        coef[j] = f.coef[j] / f.deviation[j]
        level -= coef[j] * (s.centre[j] + f.shift[j])
    return level


@numba.njit(**INNER)
def residuals_by_row(f: Frame, s: Sums, r: Rows, intercept: bool) -> float:
    """The squared residuals for the coefficients in the frame, summed by row."""
    d, total = f.coef.size, 0.0
    middle = s.centre[d + 1] + f.state.middle if intercept else 0.0
    for i in range(r.span.head, r.span.end):
        residual = r.y[i, VALUE] - middle
        for j in range(d):
            residual -= (r.x[i, j] - s.centre[j] - f.shift[j]) / f.deviation[j] * f.coef[j]
        total += r.y[i, WEIGHT] * residual * residual
    return total


@numba.njit(**INNER)
def responses_square(f: Frame, s: Sums, intercept: bool) -> float:
    """y'y, around the mean if there is an intercept."""
    middle = s.centre[f.coef.size + 1] + f.state.middle
    return f.state.scatter + (0.0 if intercept else f.state.weight * middle * middle)


# -- the penalty ---------------------------------------------------------------------------------


@numba.njit(**INNER)
def _penalty(s: StandardStream, r: Rows) -> float:
    """The penalty of the standardised rows; NaN where digits are missing."""
    state, f = s.state, s.frame
    if state.rule == FADING:
        return state.alpha * state.unit
    if too_few(r, state):
        return 0.0
    unit, weight = state.unit, f.state.weight
    state.variance, state.largest = f.state.scatter / (weight - unit), f.state.largest
    n, noise = weight / unit, np.sqrt(state.variance)
    state.trace_phi = n * f.state.spreading
    if state.noise == RESIDUAL or state.theta_max == AUTO:
        return _plug_in(s, r)
    return unit * lemma_3(n, state.width, state.delta, noise, state.largest, state.theta_max)


@numba.njit(**INNER)
def _plug_in(s: StandardStream, r: Rows) -> float:
    """Lemma 3 with the estimates of a pilot fit; see ``pilot``. NaN where digits are missing."""
    f, state, d, intercept = s.frame, s.state, s.state.width, s.state.has_intercept
    rows = r.span.end - r.span.head - r.span.weightless
    if state.trace_phi == 0.0 or constant_rows(state, r.y, r.span.head, r.span.end):
        return 0.0
    unit, weight = state.unit, f.state.weight
    if rows - intercept <= f.state.spreading:  # hardly a degree of freedom is left
        return np.nan
    n = weight / unit
    penalty = unit * pilot_penalty(state.trace_phi, n)
    for i in range(d):
        for j in range(i, d):
            f.system[j, i] = f.products[i, j]
        f.system[i, i] += penalty
        f.scale[i] = weight * f.inflation[i] * f.spreads[i] + penalty
    margin = invert(f.system, f.scale, f.scratch)
    if not margin >= SAFE:
        return np.nan
    symmetric_times(f.system, f.pull, f.coef)
    theta, freedom = 0.0, float(rows - intercept)
    for j in range(d):
        theta = max(theta, abs(f.coef[j]))
        freedom -= f.spreads[j] * (1.0 - penalty * f.system[j, j])
    if freedom < _LEAST_FREE * rows:
        return np.nan
    square = responses_square(f, s.sums, intercept == 1)
    left = square - dot(f.coef, f.pull)
    if not margin * left > KEPT * square:  # coef, and so left, lacks the digits of the margin
        left = residuals_by_row(f, s.sums, r, intercept == 1)
        left += penalty * dot(f.coef, f.coef)
    return penalty_of_fit(state, rows, n, left, freedom, theta)


# -- one event -----------------------------------------------------------------------------------


@numba.njit(**INNER)
def refresh_standard(s: StandardStream, r: Rows, watched: bool | None) -> int:
    """Bring coefficients, intercept, penalty and rank up to date; REFIT where that is not safe.

    ``watched`` is None where the penalty is fixed: what an adaptive penalty needs is then not
    compiled.
    """
    state, f = s.state, s.frame
    if up_to_date(state, r):
        return DONE
    if r.span.end - r.span.head == r.span.weightless:
        note_no_rows(state, r, s.coef)
        state.refit = 1
        return DONE
    if not standardise(f, s.sums, r.x, r.y, r.span.head, r.span.end):
        return REFIT
    penalty = state.alpha
    if watched is not None:
        penalty = _penalty(s, r)
        if not penalty >= 0.0:
            return REFIT
    intercept, safe = solve_frame(f, s.sums, penalty, state.has_intercept == 1, s.coef)
    if not safe:
        return REFIT
    state.intercept, state.penalty, state.refit = intercept, penalty, 0
    note_solved(state, r, int(f.state.spreading) if penalty == 0.0 else -1)
    return DONE


@numba.njit(**KERNEL)
def predict_standard_fixed(
    x: Matrix, y: Responses, span: Ints, store: Vector, row: Vector
) -> tuple[float, int]:
    """The prediction of one more row, if the code is DONE; the penalty is fixed."""
    s = open_standard(store)
    code = refresh_standard(s, open_rows(x, y, span), None)
    return dot(s.coef, row) + s.state.intercept, code


@numba.njit(**KERNEL)
def predict_standard_adaptive(
    x: Matrix, y: Responses, span: Ints, store: Vector, row: Vector
) -> tuple[float, int]:
    """The prediction of one more row, if the code is DONE; the penalty follows from the rows."""
    s = open_standard(store)
    code = refresh_standard(s, open_rows(x, y, span), True)
    return dot(s.coef, row) + s.state.intercept, code


@numba.njit(**KERNEL)
def refit_standard_precisely(
    x: Matrix, y: Responses, span: Ints, store: Vector, sums: Vector
) -> bool:
    """An answer to REFIT with a fixed penalty; False where the rows must be refitted."""
    return refit_frame(open_standard(store), open_rows(x, y, span), open_precise(sums))


@numba.njit(**INNER)
def refit_frame(s: StandardStream, r: Rows, p: PreciseSums) -> bool:
    """``refit_standard_precisely`` for compiled callers."""
    state, head, end = s.state, r.span.head, r.span.end
    rows, state.penalty = end - head - r.span.weightless, state.alpha
    if rows - 1 <= state.width:
        return False
    asked = Window(rows, state.penalty, state.has_intercept == 1, True, False)
    state.intercept, rank = fit_range(p, r.x, r.y, head, end, asked, s.coef)
    clear_system(p.system, p.total)
    if rank != UNSOLVED:
        note_solved(state, r, rank)
        state.refit = 1
    return rank != UNSOLVED


def refit_standard(x: Matrix, y: Responses, span: Ints, store: Vector) -> None:
    """Solve from the rows themselves: the answer to REFIT."""
    s, at = open_standard(store), span_of(span)
    state, rows = s.state, slice(at.head, at.end)
    z = scores(x[rows], y[rows, WEIGHT])
    state.penalty = _penalty_of_rows(z.rows, y[rows], open_rows(x, y, span), state)
    level, state.rank = refit(z.rows, y[rows], state.penalty, True, s.coef)
    s.coef[:] /= z.deviation
    state.intercept = (level if state.has_intercept else 0.0) - s.coef @ z.mean
    state.solved_head, state.solved_end, state.refit = at.head, at.end, 1


def _penalty_of_rows(rows: Matrix, y: Responses, r: Rows, state: Record) -> float:
    """The penalty of standardised rows, from the rows themselves."""
    if state.rule == FIXED or state.rule == FADING:
        return float(state.alpha * state.unit)
    if too_few(r, state):
        return 0.0
    rows, y = rows[y[:, WEIGHT] > 0.0], y[y[:, WEIGHT] > 0.0]
    weights, unit = y[:, WEIGHT], float(state.unit)
    total = float(weights.sum())
    n = total / unit
    away = y[:, VALUE] - y[0, VALUE]
    away -= np.average(away, weights=weights)
    state.variance, state.largest = weights @ away**2 / (total - unit), np.abs(rows).max()
    state.trace_phi = ((y[:, ROOT, np.newaxis] * rows) ** 2).sum() / unit
    if state.noise != RESIDUAL and state.theta_max != AUTO:
        noise, largest = np.sqrt(state.variance), state.largest
        return float(unit * lemma_3(n, state.width, state.delta, noise, largest, state.theta_max))
    if state.trace_phi == 0.0 or constant_rows(state, y, 0, len(y)):
        return 0.0
    state.penalty, coef = unit * pilot_penalty(state.trace_phi, n), np.empty(rows.shape[1])
    refit(rows, y, state.penalty, True, coef)
    return plug_in_directly(rows, y, state, coef)

"""The selected penalty and its solution from sums in double-double precision.

For rows with which float64 sums lose digits, such as dummies that sum to the intercept, copies, or
a price beside a constant. The rule of ``grid`` follows from the triangular factor of the rows,
which such sums give (see ``linalg.precise_factor``): no pass over the rows is needed.
"""

from __future__ import annotations

import numba

from efface.engine.events.pilot import constant_rows
from efface.engine.events.rows import Rows, open_rows
from efface.engine.events.stream import note_solved
from efface.engine.jit.compilation import INNER, KERNEL
from efface.engine.jit.views import Ints, Matrix, Responses, Vector, part
from efface.engine.linalg.dense import fill
from efface.engine.linalg.exact_products import padded_columns
from efface.engine.linalg.householder import bidiagonalise
from efface.engine.linalg.precise_factor import AROUND, LEFT
from efface.engine.linalg.precise_solve import UNSOLVED, Window, clear_system
from efface.engine.selection.few_rows import clear_few
from efface.engine.selection.grid import (
    WEIGHT_OF,
    Grid,
    log_weights,
    mean_exponent,
    normalise,
    scan_factor,
)
from efface.engine.selection.selection_state import SelectionStream, open_selection
from efface.engine.sums.precise_sums import PreciseSums, factor_range, fit_again, open_precise

_MOST, _LEAST = 1e200, 1e-200  # of the trace of Phi: squares beyond have lost digits


@numba.njit(**KERNEL)
def refit_selection_precisely(
    x: Matrix, y: Responses, span: Ints, store: Vector, sums: Vector
) -> bool:
    """An answer to REFIT; False where the rows themselves must decide."""
    return select_precisely(open_selection(store), open_rows(x, y, span), open_precise(sums))


@numba.njit(**INNER)
def select_precisely(s: SelectionStream, r: Rows, p: PreciseSums) -> bool:
    """``refit_selection_precisely`` for compiled callers."""
    state, head, end = s.state, r.span.head, r.span.end
    rows, centred = end - head - r.span.weightless, state.has_intercept + s.state.standardizes > 0
    if s.state.averages == 1 or rows - (1 if centred else 0) <= state.width:
        return False
    clear_few(s.few)
    kind = state.has_intercept == 1, s.state.standardizes == 1, s.state.standardizes == 0
    level, penalty, rank = 0.0, 0.0, UNSOLVED
    if factor_range(p, r.x, r.y, head, end, Window(rows, 0.0, kind[0], kind[1], kind[2])) > 0:
        penalty = _penalty(s, r, p)
    if penalty > 0.0:
        asked = Window(rows, penalty, kind[0], kind[1], kind[2])
        level, rank = fit_again(p, asked, s.coef)
    if rank != UNSOLVED:
        state.intercept, state.penalty, state.refit = level, penalty, 1
        note_solved(state, r, -1)
    clear_system(p.system, p.total)
    return rank != UNSOLVED


@numba.njit(**INNER)
def _penalty(s: SelectionStream, r: Rows, p: PreciseSums) -> float:
    """The penalty that the factor of the rows selects; 0 where the rows themselves must decide."""
    g, state, d, w = s.grid, s.state, s.state.width, padded_columns(s.state.width + 2)
    n, intercept = p.total[d * w + d], state.has_intercept
    left, square = p.system.residual[LEFT], p.system.residual[AROUND]
    state.variance = square / n
    if square == 0.0 or constant_rows(state, r.y, r.span.head, r.span.end):
        return 0.0
    if s.state.standardizes == 1 and intercept == 0:  # the features alone are centred
        middle = p.centre[d + 1] + p.total[(d + 1) * w + d] / n
        left, square = left + n * middle * middle, square + n * middle * middle
    trace = _reduce(g, p)
    if not _LEAST < trace < _MOST:
        return 0.0
    base = trace / d
    scan_factor(g, base, left)
    n /= state.unit  # in weights of one row
    total = normalise(g, log_weights(g, square, n, max(n - intercept, 0.0)))
    return base * 2.0 ** mean_exponent(g.columns[WEIGHT_OF], total)


@numba.njit(**INNER)
def _reduce(g: Grid, p: PreciseSums) -> float:
    """Bidiagonal form of the factor of the scaled rows; the trace of Phi."""
    d, trace, v = g.scale.size, 0.0, g.vectors
    for i in range(d):
        fill(g.reduced[i], 0.0)
        v[3, i] = p.system.target[i]
        for j in range(i, d):
            g.reduced[i, j] = p.system.factor[i, j] * p.system.metric[j]
            trace += g.reduced[i, j] ** 2
    bidiagonalise(g.reduced, v[0], v[1], v[2], v[3], part(g.scratch, 0, 2))
    return trace

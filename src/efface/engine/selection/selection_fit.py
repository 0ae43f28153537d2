"""Regression with the penalty that the live rows select, one event at a time.

Features are scaled by the square roots of their deviations: between features as they are and
standardised ones, so that neither units nor features that hardly vary decide. The sums are those of
``standardized``: made by addition alone, or taken over from the tree of sums. A solution costs
O(d^3): one reduction to tridiagonal form for all penalties of the grid (see ``grid``), and one
factorisation with the selected penalty, whose margin says whether all digits are there. Where they
are not, the rows themselves decide (see ``direct``), as they do where they are few (``few_rows``).

With ``averages``, coefficients are the mean over the grid of penalties and over two scalings of the
features: as they are, and divided by their largest deviation. Leverages are then those of a ridge
regression on standardised features whose penalty would shrink a feature as much on average.
"""

from __future__ import annotations

import numba
import numpy as np

from efface.engine.events.penalty import KEPT
from efface.engine.events.pilot import constant_rows
from efface.engine.events.rows import Rows, open_rows
from efface.engine.events.stream import (
    DONE,
    FOLD,
    REFIT,
    note_no_rows,
    note_solved,
    up_to_date,
)
from efface.engine.jit.compilation import INNER, KERNEL
from efface.engine.jit.views import Ints, Matrix, Responses, Vector, take
from efface.engine.linalg.dense import SAFE, copy, dot, factorise, fill, solve
from efface.engine.linalg.householder import from_basis
from efface.engine.selection.few_rows import clear_few, select_few
from efface.engine.selection.grid import (
    COUNT,
    EXPLAINED,
    FIRST,
    LAM,
    LEFT,
    STEP,
    TRACE,
    WEIGHT_OF,
    Grid,
    average,
    least_relevant,
    log_weights,
    mean_exponent,
    normalise,
    reduce,
    restore_left,
    scan,
    set_residuals,
    solution,
    solve_at,
)
from efface.engine.selection.selection_state import SelectionStream, centred_rows, open_selection
from efface.engine.standardized.correlations import (
    Frame,
    scale_sums,
    standardise,
    standardise_sums,
)
from efface.engine.standardized.standardized_fit import (
    factorise_products,
    residuals_by_row,
    responses_square,
    unscale,
)
from efface.engine.sums.sliding import NEVER, slide_to

_EVEN = 1e4  # the largest ratio of squares of features that share one reduction
_MOST, _LEAST = 1e200, 1e-200  # of the trace of Phi: squares beyond have lost digits


@numba.njit(**INNER)
def _describe(s: SelectionStream, r: Rows) -> bool:
    """The frame of the live rows; False where digits are missing."""
    f, head, end = s.frame, r.span.head, r.span.end
    halved = s.state.standardizes == 0 and s.state.averages == 0
    if s.state.folded == 1:
        if centred_rows(s):
            return standardise_sums(f, s.sums, r.y, head, end, halved)
    elif centred_rows(s):
        return standardise(f, s.sums, r.x, r.y, head, end, halved)
    else:
        slide_to(s.sums, r.x, r.y, head, end, 1, False)
    return scale_sums(f, s.sums, r.y, head, end, halved)


@numba.njit(**INNER)
def _is_constant(s: SelectionStream, r: Rows) -> bool:
    """Is the response constant, or 0 without an intercept?"""
    f, state = s.frame, s.state
    state.variance = f.state.scatter / f.state.weight
    if responses_square(f, s.sums, state.has_intercept == 1) == 0.0:
        return True
    return constant_rows(state, r.y, r.span.head, r.span.end)


@numba.njit(**INNER)
def _weigh(s: SelectionStream, g: Grid, r: Rows, constant: bool) -> tuple[float, float]:
    """Weigh the penalties of a grid; the unit of its penalties, and the largest log weight."""
    f, intercept = s.frame, s.state.has_intercept
    trace = reduce(g, f.products, f.pull)
    if not _LEAST < trace < _MOST:
        return 0.0, 0.0
    base = trace / f.pull.size
    scan(g, base)
    square = 1.0 if constant else responses_square(f, s.sums, intercept == 1)
    for k in range(COUNT):
        g.columns[LEFT, k] = square - g.columns[EXPLAINED, k]
    if g.columns[LEFT, 0] < KEPT * square:
        restore_left(g, _least_left(s, g, r))
    set_residuals(g)
    n = f.state.weight / s.state.unit
    return base, log_weights(g, square, n, max(n - intercept, 0.0))


@numba.njit(**INNER)
def _least_left(s: SelectionStream, g: Grid, r: Rows) -> float:
    """Q with the smallest penalty, from the residuals of the rows."""
    f, theta = s.frame, g.images[0]
    solution(g, 0, theta)
    size = dot(theta, theta)
    fill(f.coef, 0.0)
    _add_solution(g, theta, f.coef)
    left = residuals_by_row(f, s.sums, r, s.state.has_intercept == 1)
    return left + g.columns[LAM, 0] * size


@numba.njit(**INNER)
def _add_solution(g: Grid, theta: Vector, coef: Vector) -> None:
    """Add coefficients in the basis of a grid to those of the frame."""
    from_basis(g.reduced, g.vectors[2], theta)
    for i in range(coef.size):
        j = g.order[i]
        coef[j] += theta[i] * g.scale[j]


@numba.njit(**INNER)
def _margin_of(f: Frame, g: Grid, k: int) -> float:
    """A lower bound of the margin with the k-th penalty, or the margin itself.

    An entry of the inverse's diagonal is at most its trace, which is known.
    """
    d, low, largest = f.pull.size, g.columns[LAM, k], 0.0
    for i in range(d):
        square = f.products[i, i] * f.inflation[i] * g.scale[i] * g.scale[i]
        f.scale[i] = square + low
        largest = max(largest, f.scale[i])
    bound = 1.0 / (largest * g.columns[TRACE, k])
    if bound >= SAFE:
        return bound
    system = take(f.scratch, 0, d, d)
    for i in range(d):
        for j in range(i, d):
            system[i, j] = f.products[i, j] * g.scale[i] * g.scale[j]
        system[i, i] += low
    return factorise(system, f.row, f.scale)


@numba.njit(**INNER)
def _select(s: SelectionStream, r: Rows, constant: bool) -> bool:
    """Solve with the selected penalty; False where digits are missing."""
    f, g, state = s.frame, s.grid, s.state
    fill(g.scale, 1.0)
    base, top = _weigh(s, g, r, constant)
    if base == 0.0:
        return False
    total = normalise(g, top)
    state.penalty = base * 2.0 ** mean_exponent(g.columns[WEIGHT_OF], total)
    if not _margin_of(f, g, least_relevant(g, total)) >= SAFE:
        return False
    if not _graded(f):
        theta = g.images[0]
        solve_at(g, state.penalty, theta)
        fill(f.coef, 0.0)
        _add_solution(g, theta, f.coef)
        return True
    copy(f.pull, f.coef)
    factorise_products(f, state.penalty, f.system)
    s.state.factorised = 1
    solve(f.system, f.coef)
    return True


@numba.njit(**INNER)
def _graded(f: Frame) -> bool:
    """Do the squares of features differ so much that reflections cost digits of the smaller?"""
    low, high = np.inf, 0.0
    for j in range(f.pull.size):
        if f.spreads[j] == 1.0:
            low, high = min(low, f.products[j, j]), max(high, f.products[j, j])
    return high > _EVEN * low


@numba.njit(**INNER)
def factorise_frame(s: SelectionStream) -> None:
    """Let the frame hold the factors of Phi + penalty, which leverages need."""
    if s.state.factorised == 0:
        factorise_products(s.frame, s.state.penalty, s.frame.system)
        s.state.factorised = 1


# -- the mean over penalties and scalings --------------------------------------------------------


@numba.njit(**INNER)
def _average(s: SelectionStream, r: Rows, constant: bool) -> bool:
    """Average the solutions over both grids; False where digits are missing."""
    f, g, h, state, d = s.frame, s.grid, s.other, s.state, s.frame.pull.size
    for j in range(d):
        unit = 1.0 if s.state.standardizes == 1 else f.deviation[j]
        place = s.sums.centre[j] + f.shift[j]
        reach = max(s.sums.bounds[0, j] - place, place - s.sums.bounds[1, j])
        g.scale[j], h.scale[j] = unit, f.deviation[j] / reach if reach > 0.0 else 1.0
    base, top = _weigh(s, g, r, constant)
    other, beyond = _weigh(s, h, r, constant)
    if base == 0.0 or other == 0.0:
        return False
    top = max(top, beyond)
    total = normalise(g, top) + normalise(h, top)
    fill(f.coef, 0.0)
    kept = 0.0
    for each in (g, h):
        weights = each.columns[WEIGHT_OF]
        if not _margin_of(f, each, least_relevant(each, total)) >= SAFE:
            return False
        for k in range(COUNT):
            weights[k] /= total
            kept += weights[k] / (1.0 + 2.0 ** -(FIRST + STEP * k))
        average(each, weights, each.images[0])
        _add_solution(each, each.images[0], f.coef)
    # The penalty that would shrink a feature of the mean scatter as much.
    state.penalty = f.state.weight * f.state.spreading / d * kept / (1.0 - kept)
    return True


# -- one event -----------------------------------------------------------------------------------


@numba.njit(**INNER)
def refresh_selection(s: SelectionStream, r: Rows) -> int:
    """Bring coefficients, intercept, penalty and rank up to date.

    REFIT where that is not safe, FOLD where sums must come from the tree.
    """
    state, f, rows = s.state, s.frame, r.span.end - r.span.head
    if up_to_date(state, r):
        return DONE
    clear_few(s.few)
    if rows == r.span.weightless:
        note_no_rows(state, r, s.coef)
        state.refit = 1
        return DONE
    if rows - r.span.weightless - state.has_intercept <= state.width:
        return _refresh_few(s, r)
    if s.state.folded == 1 and not (
        state.core_start == r.span.head and state.core_end == r.span.end
    ):
        s.state.folded = 0
    if rows >= state.fold_from and s.sums.state.seen == NEVER and s.state.folded == 0:
        return FOLD
    if not _describe(s, r):
        return REFIT
    constant, rank, s.state.factorised = _is_constant(s, r), -1, 0
    if constant:
        fill(f.pull, 0.0)
    if f.state.spreading == 0.0:
        fill(f.coef, 0.0)
        rank, state.penalty = 0, 0.0
    elif not (_average(s, r, constant) if s.state.averages == 1 else _select(s, r, constant)):
        return REFIT
    state.intercept = unscale(f, s.sums, state.has_intercept == 1, s.coef)
    state.refit = 0
    note_solved(state, r, rank)
    return DONE


@numba.njit(**INNER)
def _refresh_few(s: SelectionStream, r: Rows) -> int:
    """``refresh_selection`` for at most as many rows as unknowns."""
    state = s.state
    if s.state.averages == 1 or not select_few(s.few, s.grid, state, r, s.coef):
        clear_few(s.few)
        return REFIT
    state.refit = 1
    note_solved(state, r, state.rank)
    return DONE


@numba.njit(**KERNEL)
def predict_selection(
    x: Matrix, y: Responses, span: Ints, store: Vector, row: Vector
) -> tuple[float, int]:
    """The prediction of one more row, if the code is DONE."""
    s = open_selection(store)
    code = refresh_selection(s, open_rows(x, y, span))
    return dot(s.coef, row) + s.state.intercept, code

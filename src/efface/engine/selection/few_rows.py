"""The rule of ``grid`` for at most as many rows as unknowns, compiled.

The compiled counterpart of ``direct``: all quantities follow from the singular values of the scaled
rows (see ``linalg.jacobi``), so fewer rows than features need no other formulas. The decomposition
is kept with the solution, because leverages follow from it.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from efface.engine.events.event_replay import Events, forgetting_term
from efface.engine.events.leverage import (
    IMAGE_2,
    LEVERAGE,
    SCATTER,
    SIZE_2,
    TOTAL_WEIGHT,
    UNEXPLAINED,
)
from efface.engine.events.pilot import constant_rows
from efface.engine.events.rows import Rows
from efface.engine.jit.compilation import FAST, INNER, carving
from efface.engine.jit.records import Record, record
from efface.engine.jit.views import ROOT, VALUE, WEIGHT, Matrix, Vector, part, take
from efface.engine.linalg.dense import EPS, add_row, dot, fill
from efface.engine.linalg.jacobi import decompose_rows
from efface.engine.selection.grid import (
    BETWEEN_LOGS,
    COUNT,
    FIRST,
    FREE,
    LAM,
    LEFT,
    LOG_DET,
    PRODUCT,
    RESIDUAL,
    STEP,
    WEIGHT_OF,
    Grid,
    mean_exponent,
    normalise,
    weigh_grid,
)
from efface.engine.sums.sliding import first_weighted

MOST_FEATURES = 48  # with more, LAPACK's decomposition is faster
_MOST, _LEAST = 1e100, 1e-100  # of deviations: squares of others lose digits
_MOST_WEIGHT, _LEAST_WEIGHT = 1e90, 1e-90  # of all rows, for the same reason

few_state, _STATE = record(
    floats=[
        *("weight", "level"),  # the sum of the weights; the mean of the responses
        *("scatter", "unexplained", "length"),  # squares: scaled rows, residuals, coefficients
    ],
    ints=["kept", "count", "independent"],  # is it that of the solution? rows with weight; rank
)


class FewRows(NamedTuple):
    """A few scaled rows with their responses, decomposed: A = U S V'."""

    state: Record
    directions: Matrix  # (d + 1, d): V', as many as there are rows with weight
    squares: Vector  # (d + 1,): of the singular values, 0 for those that are rounding
    pull: Vector  # (d + 1,): U'y
    origin: Vector  # (d,): near the mean, which is origin + shift with more digits
    shift: Vector  # (d,)
    deviation: Vector  # (d,): what features are divided by; 0 where there is no spread
    everything: Vector  # all of it, as one array


@carving
def lay_out_few(f: Vector, at: int, d: int) -> tuple[FewRows, int]:
    """The decomposition that lies in a flat array, and the offset behind it."""
    width = d if d <= MOST_FEATURES else 0
    n, directions = width + 1, at + _STATE
    squares = directions + n * width
    origin = squares + 2 * n
    end = origin + 3 * width
    few = FewRows(
        few_state(part(f, at, directions)),
        take(f, directions, n, width),
        part(f, squares, squares + n),
        part(f, squares + n, origin),
        part(f, origin, origin + width),
        part(f, origin + width, origin + 2 * width),
        part(f, origin + 2 * width, end),
        part(f, at, end),
    )
    return few, end


@numba.njit(**INNER)
def clear_few(few: FewRows) -> None:
    """Overwrite everything, if there is anything."""
    if few.state.kept == 1:
        fill(few.everything, 0.0)


@numba.njit(**INNER)
def select_few(few: FewRows, g: Grid, state: Record, r: Rows, coef: Vector) -> bool:
    """Select the penalty of the live rows and solve; False where that would cost digits.

    ``few`` must have been cleared.
    """
    if few.origin.size != state.width:
        return False
    few.state.kept = 1
    centred = state.has_intercept == 1 or state.standardizes == 1
    if not (_count(few, r) and _scale(few, r, centred, state.standardizes == 0)):
        return False
    if not _respond(few, state, r):
        return False
    n = few.state.count
    if not decompose_rows(part(few.directions, 0, n), few.pull, few.squares):
        return False
    few.state.independent, few.state.scatter = 0, 0.0
    for i in range(n):
        few.state.scatter += few.squares[i]
        few.state.independent += few.squares[i] > 0.0
    few.state.independent = min(few.state.independent, n - state.has_intercept)
    state.penalty, state.rank = 0.0, 0
    if few.state.scatter > 0.0:
        weight = few.state.weight / state.unit
        state.rank = -1
        state.penalty = _penalty(few, g, weight, max(weight - state.has_intercept, 0.0))
    _solve(few, state, coef)
    return True


@numba.njit(**INNER)
def _count(few: FewRows, r: Rows) -> bool:
    """Count the rows with weight; False where their squares would lose digits."""
    few.state.weight, few.state.count = 0.0, 0
    for i in range(r.span.head, r.span.end):
        if r.y[i, WEIGHT] > 0.0:
            few.state.weight += r.y[i, WEIGHT]
            few.state.count += 1
    return _LEAST_WEIGHT < few.state.weight < _MOST_WEIGHT


# -- scaled rows ---------------------------------------------------------------------------------


@numba.njit(**INNER)
def _scale(few: FewRows, r: Rows, centred: bool, halved: bool) -> bool:
    """Divide the rows by their deviations or the roots of these; False where digits are lost."""
    for j in range(few.origin.size):
        few.origin[j] = _origin(few, r, j) if centred else 0.0
        few.shift[j] = _mean(few, r, j, few.origin[j]) if centred else 0.0
        reach, square, n, i = 0.0, 0.0, few.state.count, 0
        for k in range(r.span.head, r.span.end):
            if r.y[k, WEIGHT] > 0.0:
                away = r.x[k, j] - few.origin[j] - few.shift[j]
                reach = max(reach, abs(away))
                square += r.y[k, WEIGHT] / few.state.weight * (away * away)
                few.directions[i, j] = r.y[k, ROOT] * away
                i += 1
        if reach > 0.0 and not _LEAST < reach < _MOST:
            return False
        dust = n * (few.origin[j] + few.shift[j]) * EPS if centred else 0.0
        few.deviation[j] = 0.0
        if square > n * EPS * square * centred + dust * dust:
            few.deviation[j] = np.sqrt(np.sqrt(square)) if halved else np.sqrt(square)
        for i in range(n):
            few.directions[i, j] = _divide(few.directions[i, j], few.deviation[j])
    return True


@numba.njit(**INNER)
def _divide(away: float, deviation: float) -> float:
    """A scaled deviation; 0 for a feature without spread."""
    return away / deviation if deviation > 0.0 else 0.0


@numba.njit(**INNER)
def _origin(few: FewRows, r: Rows, j: int) -> float:
    """The mean of a feature, exact where all values are equal."""
    low, high = np.inf, -np.inf
    for i in range(r.span.head, r.span.end):
        if r.y[i, WEIGHT] > 0.0:
            low, high = min(low, r.x[i, j]), max(high, r.x[i, j])
    return low if low == high else _mean(few, r, j, 0.0)


@numba.njit(**INNER)
def _mean(few: FewRows, r: Rows, j: int, origin: float) -> float:
    """The weighted mean of a feature, from an origin."""
    mean = 0.0
    for i in range(r.span.head, r.span.end):
        mean += r.y[i, WEIGHT] / few.state.weight * (r.x[i, j] - origin)
    return mean


@numba.njit(**INNER)
def _respond(few: FewRows, state: Record, r: Rows) -> bool:
    """pull <- the responses, centred if there is an intercept, and weighted."""
    lo, hi, weight = r.span.head, r.span.end, few.state.weight
    base, first, second = 0.0, 0.0, 0.0
    if state.has_intercept == 1:
        base = r.y[first_weighted(r.y, lo, hi), VALUE]
        for i in range(lo, hi):
            first += r.y[i, WEIGHT] * (r.y[i, VALUE] - base) / weight
        for i in range(lo, hi):
            second += r.y[i, WEIGHT] * (r.y[i, VALUE] - base - first) / weight
    n, largest, state.variance = 0, 0.0, 0.0
    for i in range(lo, hi):
        if r.y[i, WEIGHT] > 0.0:
            away = r.y[i, VALUE] - base - first - second
            few.pull[n] = r.y[i, ROOT] * away
            largest = max(largest, abs(away))
            state.variance += r.y[i, WEIGHT] * (away * away) / weight
            n += 1
    few.state.level = base + first
    if state.has_intercept == 1 and constant_rows(state, r.y, lo, hi):
        fill(few.pull, 0.0)
        return True
    return largest == 0.0 or _LEAST < largest < _MOST


# -- the penalty ---------------------------------------------------------------------------------


@numba.njit(**INNER)
def _penalty(few: FewRows, g: Grid, weight: float, freedom: float) -> float:
    """The penalty of the mean exponent over the grid; the weight is in those of one row."""
    n, d, length = few.state.count, few.origin.size, 0.0
    for i in range(n):
        length += few.pull[i] * few.pull[i]
    base = few.state.scatter / d
    _scan(
        few, take(g.columns, 0, 1, g.columns.size)[0], base, 1.0 / length if length > 0.0 else 0.0
    )
    if length == 0.0:  # every penalty explains a response of zeros alike
        for k in range(COUNT):
            g.columns[LEFT, k], g.columns[RESIDUAL, k] = 1.0, 1.0
    for k in range(COUNT):
        g.columns[FREE, k] += freedom
    top = weigh_grid(g, weight, freedom)
    return base * 2.0 ** mean_exponent(g.columns[WEIGHT_OF], normalise(g, top))


@numba.njit(**INNER, fastmath=FAST)
def _scan(few: FewRows, c: Vector, base: float, share: float) -> None:
    """LEFT, RESIDUAL, LOG_DET and the freedom that is used, for every lam = 2^k base.

    ``share`` is one over the squared length of the responses.
    """
    fill(c, 0.0)
    lam = base * 2.0**FIRST
    for k in range(COUNT):
        c[LAM * COUNT + k], c[PRODUCT * COUNT + k] = lam, 1.0
        lam *= 2.0**STEP
    for i in range(few.state.count):
        square, part_of_y = few.squares[i], few.pull[i] * few.pull[i] * share
        for k in range(COUNT):
            kept = c[LAM * COUNT + k] / (square + c[LAM * COUNT + k])
            c[LEFT * COUNT + k] += part_of_y * kept
            c[RESIDUAL * COUNT + k] += part_of_y * kept * kept
            c[FREE * COUNT + k] -= 1.0 - kept
            c[PRODUCT * COUNT + k] *= kept
        if i % BETWEEN_LOGS == BETWEEN_LOGS - 1 or i == few.state.count - 1:
            for k in range(COUNT):
                c[LOG_DET * COUNT + k] -= np.log(c[PRODUCT * COUNT + k])
                c[PRODUCT * COUNT + k] = 1.0


@numba.njit(**INNER)
def _solve(few: FewRows, state: Record, coef: Vector) -> None:
    """Coefficients and intercept of the features as they are; squares of residuals."""
    f, penalty = few.state, state.penalty
    fill(coef, 0.0)
    f.unexplained, f.length = 0.0, 0.0
    for i in range(f.count):
        kept, along = 1.0, 0.0
        if few.squares[i] > 0.0:
            kept = penalty / (few.squares[i] + penalty)
        if kept < 1.0:
            along = few.pull[i] * np.sqrt(few.squares[i]) / (few.squares[i] + penalty)
        f.unexplained += (few.pull[i] * kept) ** 2
        f.length += along * along
        add_row(along, few.directions[i], coef)
    level = 0.0
    for j in range(coef.size):
        coef[j] = _divide(coef[j], few.deviation[j])
        level += coef[j] * (few.origin[j] + few.shift[j])
    state.intercept = state.has_intercept * f.level - level


# -- leverages -----------------------------------------------------------------------------------


@numba.njit(**INNER)
def measure_few(
    few: FewRows, state: Record, r: Rows, events: Events, t: int, scratch: Vector
) -> None:
    """Leverages of row t and of the oldest row, and the rank."""
    d, n, head = state.width, few.state.count, r.span.head
    new, old = part(scratch, 0, d), part(scratch, d, 2 * d)
    inside, before = part(scratch, 2 * d, 2 * d + n), part(scratch, 2 * d + n, 2 * (d + n))
    _split(few, events.rows[t], 1.0, new, inside)
    _split(few, r.x[head], 0.0, old, before)
    leverage = _product(few, state, new, inside, new, inside)
    oldest = r.y[head, WEIGHT] * _product(few, state, old, before, old, before)
    cross = r.y[head, ROOT] * _product(few, state, new, inside, old, before)
    events.states[3, t], events.states[4, t] = leverage, oldest
    events.states[5, t] = forgetting_term(leverage, oldest, cross)


@numba.njit(**INNER)
def gauge_few(few: FewRows, state: Record, row: Vector, gauge: Vector, scratch: Vector) -> None:
    """What an interval around the prediction of a row needs."""
    d, f = state.width, few.state
    rest, inside = part(scratch, 0, d), part(scratch, d, d + f.count)
    _split(few, row, 1.0, rest, inside)
    gauge[LEVERAGE] = _product(few, state, rest, inside, rest, inside)
    outside = dot(rest, rest)
    gauge[IMAGE_2] = 0.0
    if state.penalty > 0.0:
        gauge[IMAGE_2] = outside / (state.penalty * state.penalty)
    elif outside > 0.0:  # no feature has a spread, so nothing is known of a row beside the mean
        gauge[LEVERAGE] = np.inf
    for i in range(f.count):
        if few.squares[i] > 0.0:
            gauge[IMAGE_2] += (inside[i] / (few.squares[i] + state.penalty)) ** 2
    gauge[UNEXPLAINED], gauge[SCATTER] = f.unexplained, f.scatter
    gauge[SIZE_2], gauge[TOTAL_WEIGHT] = f.length, f.weight


@numba.njit(**INNER)
def _split(few: FewRows, row: Vector, absent: float, rest: Vector, inside: Vector) -> None:
    """A scaled row: its coordinates along the directions, and the rest.

    A deviation of a feature without spread is multiplied by ``absent``.
    """
    for j in range(row.size):
        away, deviation = row[j] - few.origin[j] - few.shift[j], few.deviation[j]
        rest[j] = away / deviation if deviation > 0.0 else absent * away
    for i in range(inside.size):
        inside[i] = dot(few.directions[i], rest)
    for i in range(inside.size):
        add_row(-inside[i], few.directions[i], rest)


@numba.njit(**INNER)
def _product(
    few: FewRows, state: Record, u: Vector, inside_u: Vector, v: Vector, inside_v: Vector
) -> float:
    """The inner product of two rows in the inverse of the system of the live rows."""
    found = state.has_intercept / few.state.weight
    if state.penalty > 0.0:
        found += dot(u, v) / state.penalty
    for i in range(inside_u.size):
        if few.squares[i] > 0.0:
            found += inside_u[i] * inside_v[i] / (few.squares[i] + state.penalty)
    return found

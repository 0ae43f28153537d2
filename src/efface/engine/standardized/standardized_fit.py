"""Regression on standardised features, z = (x - mean) / deviation of the rows at hand.

Mean and deviation change with every row that comes or leaves, and with them all of Z. But Z'Z is
the rows' correlations times their number, which follow from the same sums as everything else, made
by addition alone (see ``sums``). So a solution costs O(d^2) for the sums and O(d^3) / 6 for its
factorisation, whatever the number of rows. As Z'1 = 0, an intercept changes the level and nothing
else. A feature without spread has z = 0, hence the coefficient 0.

The margin of a factorisation (see ``dense``) is that of the rows around the sums' centre, so that
it also sees digits lost to a mean that has moved. Where it is not safe the caller standardises the
rows themselves and refits.
"""

from __future__ import annotations

import numba
import numpy as np

from efface.engine.events.penalty import (
    ALPHA,
    DELTA,
    DIRTY,
    END,
    FIXED,
    HARD,
    HEAD,
    INTERCEPT,
    KEPT,
    KIND,
    LAMBDA,
    LARGEST,
    LEVEL,
    MUTE,
    NOISE,
    PILOT_SHARE,
    RANK,
    THETA_MAX,
    TRACE,
    VARIANCE,
    WIDTH,
    plugged,
    unpenalised,
    weight_upto,
)
from efface.engine.events.pilot import AUTO, RESIDUAL, constant, counted, penalty_from
from efface.engine.events.stream import DONE, REFIT, Stream, open_stream
from efface.engine.jit.compilation import INNER, KERNEL
from efface.engine.jit.views import (
    VALUE,
    WEIGHT,
    Ints,
    Matrix,
    Responses,
    Vector,
    part,
    weighed,
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
from efface.engine.standardized.correlations import (
    MIDDLE,
    REACH,
    SCATTER,
    SPREADING,
    WORTH,
    Frame,
    open_frame,
    room_for_frame,
    standardise,
)
from efface.engine.standardized.zscores import refit_scores
from efface.engine.sums.sliding import (
    BOUNDED,
    NEVER,
    SEEN,
    Sums,
    carve_sums,
    depth_for,
    first_heard,
    room_for_sums,
)

_LEAST_FREE = 1e-2  # of the rows, as degrees of freedom: with less, what is left is rounding


# -- solved --------------------------------------------------------------------------------------


@numba.njit(**INNER)
def factorise_products(f: Frame, penalty: float, system: Matrix) -> float:
    """system <- the factors of Z'Z + penalty I, 1 in the place of a 0 on the diagonal; the margin.

    So the pseudo-inverse where features without spread are all that is missing.
    """
    d, weight = f.shift.size, f.facts[WORTH]
    for i in range(d):
        copy(part(f.products[i], i, d), part(system[i], i, d))
        system[i, i] += penalty
        f.scale[i] = weight * f.inflation[i] + penalty
        if f.spreads[i] == 0.0:
            system[i, i] = f.scale[i] = penalty if penalty > 0.0 else 1.0
    return factorise(system, f.row, f.scale)


@numba.njit(**INNER)
def _solve(f: Frame, s: Sums, penalty: float, intercept: bool, coef: Vector) -> tuple[float, bool]:
    """coef <- the coefficients of the features as they are; the intercept, and whether it is safe.

    With a factorisation that is left in the frame.
    """
    d = coef.size
    if not factorise_products(f, penalty, f.system) >= SAFE:
        return 0.0, False
    copy(f.pull, f.coef)
    solve(f.system, f.coef)
    level = s.centre[d + 1] + f.facts[MIDDLE] if intercept else 0.0
    for j in range(d):
        coef[j] = f.coef[j] / f.deviation[j]
        level -= coef[j] * (s.centre[j] + f.shift[j])
    return level, True


@numba.njit(**INNER)
def residual_square(
    f: Frame, s: Sums, x: Matrix, y: Responses, span: tuple[int, int], intercept: bool
) -> float:
    """The residuals' squares for the coefficients in the frame, row by row."""
    d, total = f.coef.size, 0.0
    middle = s.centre[d + 1] + f.facts[MIDDLE] if intercept else 0.0
    for i in range(span[0], span[1]):
        residual = y[i, VALUE] - middle
        for j in range(d):
            residual -= (x[i, j] - s.centre[j] - f.shift[j]) / f.deviation[j] * f.coef[j]
        total += y[i, WEIGHT] * residual * residual
    return total


@numba.njit(**INNER)
def responses_square(f: Frame, s: Sums, intercept: bool) -> float:
    """y'y, around the mean if there is an intercept."""
    middle = s.centre[f.coef.size + 1] + f.facts[MIDDLE]
    return f.facts[SCATTER] + (0.0 if intercept else f.facts[WORTH] * middle * middle)


# -- the penalty ---------------------------------------------------------------------------------


@numba.njit(**INNER)
def _penalty(f: Frame, s: Sums, x: Matrix, y: Responses, dials: Ints, values: Vector) -> float:
    """Lemma 3 for the standardised rows; NaN where digits are missing."""
    n, d = f.facts[WORTH], dials[WIDTH]
    if idle(y, dials, values):
        return 0.0
    values[VARIANCE], values[LARGEST] = f.facts[SCATTER] / (n - 1), f.facts[REACH]
    values[TRACE] = f.facts[WORTH] * f.facts[SPREADING]
    if values[NOISE] == RESIDUAL or values[THETA_MAX] == AUTO:
        return _piloted(f, s, x, y, dials, values)
    noise = np.sqrt(values[VARIANCE])
    return plugged(n, d, values[DELTA], noise, values[LARGEST], values[THETA_MAX])


@numba.njit(**KERNEL)
def idle(y: Responses, dials: Ints, values: Vector) -> bool:
    """Is there no penalty, whatever the features?"""
    return weight_upto(y, dials, 2.0) < 2.0 or unpenalised(y, dials, values)


@numba.njit(**KERNEL)
def pilot_penalty(trace: float, n: float) -> float:
    """That of a pilot fit; see ``pilot``."""
    return PILOT_SHARE * 2.0 ** np.rint(np.log2(trace / n))


@numba.njit(**INNER)
def _piloted(f: Frame, s: Sums, x: Matrix, y: Responses, dials: Ints, values: Vector) -> float:
    head, end, d, intercept = dials[HEAD], dials[END], dials[WIDTH], dials[INTERCEPT] == 1
    level, rows = y[first_heard(y, head, end), VALUE], end - head - dials[MUTE]
    if values[TRACE] == 0.0 or constant(values, level, intercept):
        return 0.0
    n = f.facts[WORTH]
    if rows - dials[INTERCEPT] <= f.facts[SPREADING]:  # hardly a degree of freedom is left
        return np.nan
    penalty = pilot_penalty(values[TRACE], n)
    for i in range(d):
        for j in range(i, d):
            f.system[j, i] = f.products[i, j]
        f.system[i, i] += penalty
        f.scale[i] = f.facts[WORTH] * f.inflation[i] * f.spreads[i] + penalty
    margin = invert(f.system, f.scale, f.scratch)
    if not margin >= SAFE:
        return np.nan
    symmetric_times(f.system, f.pull, f.coef)
    theta, freedom = 0.0, float(rows) - dials[INTERCEPT]
    for j in range(d):
        theta = max(theta, abs(f.coef[j]))
        freedom -= f.spreads[j] * (1.0 - penalty * f.system[j, j])
    if freedom < _LEAST_FREE * rows:
        return np.nan
    square = responses_square(f, s, intercept)
    left = square - dot(f.coef, f.pull)
    if not margin * left > KEPT * square:  # the margin's digits are missing in coef, hence in left
        left = residual_square(f, s, x, y, (head, end), intercept)
        left += penalty * dot(f.coef, f.coef)
    return penalty_from(values, n, d, left, counted(freedom, rows, n), theta)


# -- a stream ------------------------------------------------------------------------------------


@numba.njit(**INNER)
def refresh_standard(s: Stream, f: Frame, x: Matrix, y: Responses, watched: bool | None) -> int:
    """Bring coefficients, intercept, penalty and rank up to date; REFIT where that is not safe.

    ``watched`` is None where the penalty is fixed: what an adaptive one needs is then not compiled.
    """
    dials, values, head, end = s.dials, s.values, s.dials[HEAD], s.dials[END]
    if dials[DIRTY] == 0:
        return DONE
    if end - head == dials[MUTE]:  # no row, or none that has weight
        fill(s.coef, 0.0)
        values[LEVEL], values[LAMBDA] = 0.0, values[ALPHA] if values[KIND] == FIXED else 0.0
        dials[DIRTY], dials[RANK], dials[HARD] = 0, 0, 1
        return DONE
    if not standardise(f, s.sums, x, y, head, end):
        return REFIT
    penalty = values[ALPHA]
    if watched is not None:
        penalty = _penalty(f, s.sums, x, y, dials, values)
        if not penalty >= 0.0:
            return REFIT
    level, safe = _solve(f, s.sums, penalty, dials[INTERCEPT] == 1, s.coef)
    if not safe:
        return REFIT
    values[LEVEL], values[LAMBDA] = level, penalty
    dials[DIRTY], dials[HARD] = 0, 0
    dials[RANK] = int(f.facts[SPREADING]) if penalty == 0.0 else -1
    return DONE


@numba.njit(**KERNEL)
def predict_standard(
    x: Matrix,
    y: Responses,
    floats: Vector,
    ints: Ints,
    room: Vector,
    row: Vector,
    watched: bool | None,
) -> tuple[int, float]:
    """What the live rows say of one more row, once it is DONE."""
    s = open_stream(floats, ints)
    f = open_frame(room, row.size)
    return refresh_standard(s, f, x, y, watched), dot(s.coef, row) + s.values[LEVEL]


# -- every window of an array --------------------------------------------------------------------


@numba.njit(**KERNEL, nogil=True)
def slide_standard(
    x: Matrix,
    y: Responses,
    s: int,
    penalty: float,
    intercept: bool,
    first: int,
    coef: Matrix,
    level: Vector,
    rank: Ints,  # -1 where the window is to be refitted
    floats: Vector,
    ints: Ints,
    depth: int,
    room: Vector,
) -> None:
    """Coefficients, intercept and rank of the window of s rows that ends at each row."""
    n, d = x.shape
    sums, f = carve_sums(floats, ints, d, depth), open_frame(room, d)
    sums.dials[SEEN], sums.dials[BOUNDED] = NEVER, 1
    for t in range(first, n):
        safe = standardise(f, sums, x, y, max(0, t - s + 1), t + 1)
        if safe and f.facts[WORTH] > 0.0:
            level[t], safe = _solve(f, sums, penalty, intercept, coef[t])
        rank[t] = int(f.facts[SPREADING]) if safe and f.facts[WORTH] > 0.0 else -1


def slide_standardized(
    x: Matrix,
    y: Vector,
    s: int,
    penalty: float,
    intercept: bool,
    first: int,
    weights: Vector | None = None,
) -> tuple[Matrix, Vector, Ints]:
    """Coefficients, intercept and rank of the window of s rows that ends at each row.

    Before row ``first`` they are NaN and 0. With a penalty the rank is that of the features with a
    spread. Can run in several threads at once.
    """
    (n, d), responses = x.shape, weighed(y, weights)
    coef, level, rank = np.full((n, d), np.nan), np.full(n, np.nan), np.zeros(n, np.int64)
    depth = depth_for(min(s, n))
    floats, ints = room_for_sums(d, depth)
    answers, store = (coef, level, rank), (np.zeros(floats), np.zeros(ints, np.int64), depth)
    room = np.zeros(room_for_frame(d))
    slide_standard(x, responses, s, float(penalty), intercept, first, *answers, *store, room)
    for e in np.flatnonzero(rank < 0):
        rows = slice(max(0, e - s + 1), e + 1)
        level[e], rank[e] = refit_scores(x[rows], responses[rows], penalty, intercept, coef[e])
    return coef, level, rank

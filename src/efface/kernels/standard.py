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

from typing import NamedTuple

import numba
import numpy as np

from efface.kernels.compilation import INNER, KERNEL, carving
from efface.kernels.dense import (
    EPS,
    SAFE,
    copy,
    dot,
    factorise,
    fill,
    invert,
    solve,
    symmetric_times,
)
from efface.kernels.moments import (
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
from efface.kernels.pilot import AUTO, RESIDUAL, constant, counted, penalty_from
from efface.kernels.stream import DONE, REFIT, Stream, open_stream
from efface.kernels.sums import (
    BOUNDED,
    NEVER,
    SEEN,
    TURN,
    Sums,
    carve_sums,
    depth_for,
    first_heard,
    room_for_sums,
    slide_to,
    turn_over,
)
from efface.kernels.views import (
    VALUE,
    WEIGHT,
    Ints,
    Matrix,
    Responses,
    Vector,
    part,
    take,
    weighed,
)
from efface.kernels.zscores import refit_scores

_LEAST_FREE = (
    1e-2  # of the rows, as degrees of freedom: with less, what is left of them is rounding
)
_LEAST_KEPT = 1e-3  # of a feature's squares around the centre: less, and its digits are missing
# Places among the facts: the rows' weight, the responses' mean from the centre of the sums, their
# scatter around it, the largest |z|, and how many features have a spread.
WORTH, MIDDLE, SCATTER, REACH, SPREADING = range(5)
_FACTS = 5
_VECTORS = 8


class Frame(NamedTuple):
    """The rows at hand, standardised: what is known of them, and where they are solved."""

    products: Matrix  # (d, d), upper triangle: Z'Z
    system: Matrix  # (d, d): the factors of Z'Z + penalty I
    shift: Vector  # (d,): the mean, from the centre of the sums
    deviation: Vector  # (d,): 1 where there is no spread
    spreads: Vector  # (d,): 1, or 0 where there is no spread
    pull: Vector  # (d,): Z'y
    inflation: Vector  # (d,): squares around the centre over those around the mean
    coef: Vector  # (d,): of the standardised features
    scale: Vector  # (d,)
    row: Vector  # (d,) scratch
    facts: Vector
    scratch: Vector  # (d^2 + 96 d,)


def room_for_frame(d: int) -> int:
    """How many floats ``open_frame`` needs."""
    return 3 * d * d + _VECTORS * d + 96 * d + _FACTS


@carving
def open_frame(room: Vector, d: int) -> Frame:
    """The frame that lies in a flat array."""
    f, o = room, 2 * d * d
    end = o + _VECTORS * d
    return Frame(
        take(f, 0, d, d),
        take(f, d * d, d, d),
        part(f, o, o + d),
        part(f, o + d, o + 2 * d),
        part(f, o + 2 * d, o + 3 * d),
        part(f, o + 3 * d, o + 4 * d),
        part(f, o + 4 * d, o + 5 * d),
        part(f, o + 5 * d, o + 6 * d),
        part(f, o + 6 * d, o + 7 * d),
        part(f, o + 7 * d, end),
        part(f, end, end + _FACTS),
        part(f, end + _FACTS, end + _FACTS + d * d + 96 * d),
    )


# -- what is known of the rows -------------------------------------------------------------------


@numba.njit(**INNER)
def _off_centre(s: Sums) -> bool:
    """Has a feature or the response moved so far from the centre that sums lose digits?

    Not if it is as near as a mean can be rounded: a constant feature would ask again and again.
    """
    q, total = s.centre.size, s.total
    n = total[q - 2, q - 2]
    for j in range(q):
        away = (total[q - 2, j] if j < q - 2 else total[j, q - 2]) / n
        far = away * away > 100.0 * (total[j, j] / n - away * away)
        if j != q - 2 and far and abs(away) > n * EPS * abs(s.centre[j]):
            return True
    return False


@numba.njit(**INNER)
def _describe(f: Frame, s: Sums, n: int) -> bool:
    """Standardise the n rows of the sums; False where digits are missing."""
    d, total = f.shift.size, s.total
    weight, largest, spreading = total[d, d], 0.0, 0.0
    for j in range(d):
        high, low, square = s.bounds[0, j], s.bounds[1, j], total[j, j]
        f.shift[j], f.deviation[j], f.spreads[j] = total[d, j] / weight, 1.0, 0.0
        f.inflation[j] = 1.0
        if high == low:
            f.shift[j] = high - s.centre[j]
            continue
        scatter = square - f.shift[j] * total[d, j]
        if not scatter > _LEAST_KEPT * square:
            return False
        dust = n * (s.centre[j] + f.shift[j]) * EPS
        if scatter <= n * EPS * scatter + weight * dust * dust:
            continue
        f.inflation[j], f.spreads[j] = square / scatter, 1.0
        f.deviation[j] = np.sqrt(scatter / weight)
        high, low = high - s.centre[j] - f.shift[j], f.shift[j] - (low - s.centre[j])
        largest = max(largest, high / f.deviation[j], low / f.deviation[j])
        spreading += 1.0
    f.facts[WORTH], f.facts[REACH], f.facts[SPREADING] = weight, largest, spreading
    return largest < np.inf


@numba.njit(**INNER)
def _correlate(f: Frame, s: Sums) -> None:
    """Z'Z and Z'y from the sums."""
    d, total, weight = f.shift.size, s.total, f.facts[WORTH]
    middle = total[d + 1, d] / weight
    for j in range(d):
        f.products[j, j] = weight * f.spreads[j]
        f.pull[j] = (total[d + 1, j] - total[d, j] * middle) * f.spreads[j] / f.deviation[j]
        for i in range(j):
            joint = total[j, i] - f.shift[i] * total[d, j]
            unit = f.spreads[i] * f.spreads[j] / f.deviation[j]
            f.products[i, j] = joint * unit / f.deviation[i]


@numba.njit(**INNER)
def _describe_responses(f: Frame, s: Sums, y: Responses, a: int, b: int) -> None:
    """Mean and scatter of the responses; from themselves where the sums have lost digits."""
    d = f.shift.size
    first, square = s.total[d + 1, d], s.total[d + 1, d + 1]
    f.facts[MIDDLE] = first / f.facts[WORTH]
    f.facts[SCATTER] = square - first * f.facts[MIDDLE]
    if f.facts[SCATTER] < KEPT * square:
        mean, scatter, base = 0.0, 0.0, y[first_heard(y, a, b), VALUE]
        for i in range(a, b):
            mean += y[i, WEIGHT] * (y[i, VALUE] - base) / f.facts[WORTH]
        for i in range(a, b):
            scatter += y[i, WEIGHT] * (y[i, VALUE] - base - mean) ** 2
        f.facts[SCATTER] = scatter


@numba.njit(**INNER)
def _standardise(f: Frame, s: Sums, x: Matrix, y: Responses, a: int, b: int) -> bool:
    """The frame of the rows [a, b); False where digits are missing."""
    for _ in range(2):
        slide_to(s, x, y, a, b, 1, True)
        if s.dials[TURN] == b or not _off_centre(s):
            break
        turn_over(s, x, y, a, b, True)
    if not _describe(f, s, b - a):
        return False
    _correlate(f, s)
    _describe_responses(f, s, y, a, b)
    return True


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
    if not _standardise(f, s.sums, x, y, head, end):
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
        safe = _standardise(f, sums, x, y, max(0, t - s + 1), t + 1)
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

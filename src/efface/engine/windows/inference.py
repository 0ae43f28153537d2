"""Variances of the coefficients and sums of squares of every least-squares window.

Each window needs the inverse of its own normal equations: O(d^3) per window, where the coefficients
alone take O(d^2). The sums are made by addition alone. A window of full rank whose margin is below
SAFE takes its factor from sums in double-double precision (see ``linalg.precise_factor``), or from
its own rows where that is not enough either (see ``gram_schmidt``).
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from efface.engine.events.core import Core, form_primal, gather, lay_out_core
from efface.engine.jit.compilation import INNER, KERNEL
from efface.engine.jit.records import words
from efface.engine.jit.views import VALUE, WEIGHT, Ints, Matrix, Responses, Vector, part, weighed
from efface.engine.linalg.dense import SAFE, dot, invert_upper
from efface.engine.linalg.exact_products import padded_columns
from efface.engine.linalg.gram_schmidt import (
    inverse_diagonal,
    lay_out_factor,
    origin_variance,
    orthogonalise,
    place_columns,
    squared_residuals,
)
from efface.engine.linalg.precise_factor import AROUND, LEAST_LEFT, LEFT, divided_square
from efface.engine.linalg.precise_solve import Window, clear_system
from efface.engine.sums.precise_sums import (
    PreciseSums,
    allocate_precise,
    factor_range,
    open_precise,
)
from efface.engine.sums.sliding import (
    Sums,
    depth_for,
    first_weighted,
    lay_out_sums,
    start_sums,
    weight_of,
)
from efface.engine.windows.constants import constant_as_intercept

_KEPT = 1e-6  # a difference below this share of its first term has lost too many digits


class InferenceProblem(NamedTuple):
    """Windows of varying length, and what their responses are compared with."""

    x: Matrix
    y: Responses
    starts: Ints
    intercept: bool
    uncentred: bool  # is the total around 0, though there is an intercept?


class Inference(NamedTuple):
    """Statistics of the window that ends at each row; NaN where it is rank deficient.

    Variances are in units of the noise variance of a row of weight 1, which is estimated by
    ``unexplained / (rows - unknowns)``, counting the rows that have weight.
    """

    variance: Matrix  # (n, d): variance of each coefficient
    base: Vector  # (n,): variance of the intercept
    unexplained: Vector  # (n,): sum of squared residuals
    total: Vector  # (n,): sum of squared responses, around their mean with an intercept


def infer_windows(
    x: Matrix,
    y: Vector,
    starts: Ints,
    intercept: bool,
    first: int,
    coef: Matrix,
    level: Vector,
    rank: Ints,
    weights: Vector | None = None,
) -> Inference:
    """Variances and sums of squares of the window that ends at each row.

    The window of row t starts at row ``starts[t]``, which never decreases. From row ``first`` on;
    ``coef``, ``level`` and ``rank`` are those of the windows.
    """
    design = constant_as_intercept(x, intercept)
    if design.replaced:
        level = coef[:, ~design.varying].ravel() / design.shares
        coef = np.ascontiguousarray(coef[:, design.varying])
    given = design.x, weighed(y, weights), starts, design.intercept
    problem = InferenceProblem(*given, uncentred=design.replaced)
    found = _infer_all(problem, first, coef, level, rank == x.shape[1])
    variance, base = design.restored_variances(found.variance, found.base)
    return found._replace(variance=variance, base=base)


def _infer_all(
    problem: InferenceProblem, first: int, coef: Matrix, level: Vector, full: NDArray[np.bool]
) -> Inference:
    """The statistics from row ``first`` on of the windows that have full rank."""
    (n, d), p = problem.x.shape, problem.x.shape[1] + int(problem.intercept)
    found = Inference(np.full((n, d), np.nan), *(np.full(n, np.nan) for _ in range(3)))
    rows = np.arange(1, n + 1) - problem.starts
    depth = depth_for(int(rows.max(initial=1)))
    size = words(lay_out_sums, d, depth) + words(lay_out_core, p, 1, 0)
    first = max(first, p)
    _infer(problem, first, coef, level, found, np.zeros(size), depth)
    left = first + np.flatnonzero((full & (rows >= p) & np.isnan(found.unexplained))[first:])
    if left.size:
        sums = allocate_precise(d, problem.intercept, int(rows[left].max()))
        _infer_precisely(problem, left, found, sums)
        left = left[np.isnan(found.unexplained[left])]
    if left.size:
        store = np.empty(words(lay_out_factor, d, p, int(rows[left].max())))
        _infer_by_rows(problem, left, coef, level, found, store)
    return found


@numba.njit(**KERNEL, nogil=True)
def _infer(
    problem: InferenceProblem,
    first: int,
    coef: Matrix,
    level: Vector,
    found: Inference,
    store: Vector,
    depth: int,
) -> None:
    x, y, starts, intercept, uncentred = problem
    n, d = x.shape
    sums, end = lay_out_sums(store, 0, d, depth)
    core = lay_out_core(store, end, d + 1 if intercept else d, 1, sums.centre)[0]
    start_sums(sums, False)
    for t in range(first, n):
        a = starts[t]
        if t + 1 - a < core.inverse.shape[0]:
            continue
        gather(sums, x, y, a, t + 1, 1, intercept)
        if form_primal(core, sums.total, d, 0.0, intercept) >= SAFE:
            for j in range(d):
                found.variance[t, j] = core.inverse[j, j]
            found.base[t] = _base_variance(core, d) if intercept else 0.0
            rows, responses = part(x, a, t + 1), part(y, a, t + 1)
            around = _scatter(sums, responses, d, intercept)
            found.unexplained[t] = _unexplained(
                sums, core, rows, responses, coef[t], level[t], around
            )
            found.total[t] = around + _square_of_mean(sums, d) if uncentred else around


@numba.njit(**KERNEL, nogil=True)
def _infer_precisely(
    problem: InferenceProblem, ends: Ints, found: Inference, store: Vector
) -> None:
    """``_infer`` for the windows that end at ``ends``, from sums in double-double precision."""
    x, y, starts, intercept, uncentred = problem
    d, s = x.shape[1], open_precise(store)
    for e in range(ends.size):
        t = ends[e]
        asked = Window(t + 1 - starts[t], 0.0, intercept, False, False)
        rank = factor_range(s, x, y, starts[t], t + 1, asked)
        left, around = s.system.residual[LEFT], s.system.residual[AROUND]
        if rank == d and left > LEAST_LEFT * around:
            invert_upper(s.system.factor, s.system.null)
            for j in range(d):
                row = part(s.system.null[j], j, d)
                found.variance[t, j] = dot(row, row)
            found.unexplained[t], found.total[t], found.base[t] = left, around, 0.0
            if intercept:
                found.base[t], square = _at_origin(s, d)
                found.total[t] += square if uncentred else 0.0
    clear_system(s.system, s.total)


@numba.njit(**INNER)
def _at_origin(s: PreciseSums, d: int) -> tuple[float, float]:
    """The variance of the prediction at x = 0; the weight times the squared mean response."""
    w, mean = padded_columns(d + 2), s.system.step
    n = s.total[d * w + d]
    for j in range(d):
        mean[j] = s.centre[j] + s.total[d * w + j] / n
    middle = s.centre[d + 1] + s.total[(d + 1) * w + d] / n
    return 1.0 / n + divided_square(s.system, mean), n * middle * middle


@numba.njit(**KERNEL, nogil=True)
def _infer_by_rows(
    problem: InferenceProblem,
    ends: Ints,
    coef: Matrix,
    level: Vector,
    found: Inference,
    store: Vector,
) -> None:
    """``_infer`` for the windows that end at ``ends``, each from its own rows."""
    x, y, starts, intercept, uncentred = problem
    d, first = x.shape[1], 1 if intercept else 0
    for e in range(ends.size):
        t = ends[e]
        a, b = starts[t], t + 1
        rows, responses = part(x, a, b), part(y, a, b)
        f = lay_out_factor(store, 0, d, d + first, b - a)[0]
        place_columns(f, rows, responses, intercept)
        around = _squares(responses, intercept)
        if orthogonalise(f):
            for j in range(d):
                found.variance[t, j] = inverse_diagonal(f, first + j)
            found.base[t] = origin_variance(f) if intercept else 0.0
            value = f.r[d + first, d + first] ** 2
            if not value > _KEPT * around:
                value = squared_residuals(rows, responses, coef[t], level[t], intercept)
            found.unexplained[t] = value
            found.total[t] = _squares(responses, False) if uncentred else around


@numba.njit(**INNER)
def _squares(y: Responses, centred: bool) -> float:
    """The weighted sum of squared responses, around their mean if ``centred``."""
    base, mean, square = 0.0, 0.0, 0.0
    if centred:
        base, weight = y[first_weighted(y, 0, y.shape[0]), VALUE], weight_of(y, 0, y.shape[0])
        for i in range(y.shape[0]):
            mean += y[i, WEIGHT] * (y[i, VALUE] - base) / weight
    for i in range(y.shape[0]):
        square += y[i, WEIGHT] * (y[i, VALUE] - base - mean) ** 2
    return square


@numba.njit(**INNER)
def _square_of_mean(sums: Sums, d: int) -> float:
    """The weight of the rows times their squared mean response."""
    mean = sums.total[d + 1, d] / sums.total[d, d] + sums.centre[d + 1]
    return sums.total[d, d] * mean * mean


@numba.njit(**INNER)
def _base_variance(core: Core, d: int) -> float:
    """The variance of the intercept: the prediction at x = 0, which is not the centre."""
    value = core.inverse[d, d]
    for i in range(d):
        image = dot(part(core.inverse[i], 0, d), part(core.centre, 0, d))
        value += core.centre[i] * (image - 2.0 * core.inverse[d, i])
    return value


@numba.njit(**INNER)
def _scatter(sums: Sums, y: Responses, d: int, intercept: bool) -> float:
    """The sum of squared responses, around their mean or around zero."""
    n, square, first = sums.total[d, d], sums.total[d + 1, d + 1], sums.total[d + 1, d]
    if not intercept:
        return square + sums.centre[d + 1] * (2.0 * first + n * sums.centre[d + 1])
    value = square - first**2 / n
    return value if value > _KEPT * square else _squares(y, True)


@numba.njit(**INNER)
def _unexplained(
    sums: Sums, core: Core, x: Matrix, y: Responses, coef: Vector, level: float, scatter: float
) -> float:
    """The sum of squared residuals: from the sums, or from the rows where these lose digits."""
    d, p = x.shape[1], core.inverse.shape[0]
    shift = 0.0 if p > d else sums.centre[d + 1]
    square = sums.total[d + 1, d + 1] if p > d else scatter
    value = square
    for j in range(p):
        value -= core.theta[0, j] * (sums.total[d + 1, j] + shift * sums.total[d, j])
    if value > _KEPT * square:
        return value
    return squared_residuals(x, y, coef, level, p > d)

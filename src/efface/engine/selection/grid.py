"""The grid of penalties lam = 2^k tr(Phi) / d, and the weight that the rows give to each.

With Z the scaled rows (centred if there is an intercept), n the sum of the weights, N = n - 1 with
an intercept and n without, Phi = Z'Z, b = Z'y and theta = (Phi + lam)^-1 b:

    Q = y'y - b'theta                              residuals and penalty together
    E = N log Q + log det(I + Phi / lam)           -2 log of the restricted likelihood
    V = N log((Q - lam |theta|^2) / nu^2)          log of generalised cross-validation,
        nu = N - tr Phi (Phi + lam)^-1             the degrees of freedom that are left
    log w = -((1 - rho) E + rho V) / 2 - log(1 + u) + log(u) / 2

where rho = max(0, 1 - d / N), u = n lam / tr(Phi) and the last terms are a Beta(1/2, 1/2) prior on
the share R^2 = 1 / (1 + u) of the response that the features explain. The selected penalty is that
of the mean exponent: it is continuous in the rows, as no grid point is chosen.

The rows decide by likelihood where they are few, by cross-validation where they are many.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from efface.engine.jit.compilation import FAST, INNER, carving
from efface.engine.jit.records import as_ints
from efface.engine.jit.views import Ints, Matrix, Vector, part, take
from efface.engine.linalg.dense import EPS, dot, fill
from efface.engine.linalg.householder import tridiagonalise

FIRST, STEP, COUNT = -30, 2, 21  # exponents of two
LAST = FIRST + STEP * (COUNT - 1)
FAINT = 1e-4  # weights below this share do not decide how many digits are needed
_LOG_2 = float(np.log(2.0))
_ROWS = 14
BETWEEN_LOGS = 24  # factors of a determinant: their product stays below 2^1000


class Grid(NamedTuple):
    """One scaling of the features: its tridiagonal form, and its penalties with their weights."""

    order: Ints  # (d,): the features, largest spread first
    reduced: Matrix  # (d, d): see ``tridiagonalise``
    scale: Vector  # (d,): what the features of the frame are multiplied by
    vectors: Matrix  # (4, d): diagonal, beside, factor, pull
    scratch: Matrix  # (3, d)
    images: Matrix  # (2, d)
    ratio: Matrix  # (d, COUNT): pivot rows over pivots
    forward: Matrix  # (d, COUNT): forward substitution of the pull
    columns: Matrix  # (14, COUNT): see the names below
    everything: Vector  # all of it, as one array


LAM, WEIGHT_OF, EXPLAINED, LENGTH, LOG_DET, TRACE, LEFT, RESIDUAL, PRODUCT = range(9)
_INVERSE, _SLOPE, _TARGET, _TARGET_SLOPE, _INVERSE_LAM = range(9, _ROWS)
FREE = _TARGET_SLOPE  # once all lam are factorised, or where none is


@carving
def lay_out_grid(f: Vector, at: int, d: int) -> tuple[Grid, int]:
    """The grid that lies in a flat array, and the offset behind it."""
    reduced = at + d
    scale = reduced + d * d
    ratio = scale + 10 * d
    columns = ratio + 2 * d * COUNT
    end = columns + _ROWS * COUNT
    grid = Grid(
        as_ints(part(f, at, reduced)),
        take(f, reduced, d, d),
        part(f, scale, scale + d),
        take(f, scale + d, 4, d),
        take(f, scale + 5 * d, 3, d),
        take(f, scale + 8 * d, 2, d),
        take(f, ratio, d, COUNT),
        take(f, ratio + d * COUNT, d, COUNT),
        take(f, columns, _ROWS, COUNT),
        part(f, at, end),
    )
    return grid, end


@numba.njit(**INNER)
def reduce(g: Grid, products: Matrix, pull: Vector) -> float:
    """Tridiagonal form of the products (upper triangle), scaled; return their trace."""
    d, trace = pull.size, 0.0
    _sort(g, products)
    for i in range(d):
        p = g.order[i]
        for j in range(i + 1):
            q = g.order[j]
            entry = products[q, p] if q < p else products[p, q]
            g.reduced[i, j] = entry * g.scale[p] * g.scale[q]
        g.vectors[3, i] = pull[p] * g.scale[p]
        trace += g.reduced[i, i]
    v = g.vectors
    tridiagonalise(g.reduced, v[0], v[1], v[2], v[3], g.scratch)
    return trace


@numba.njit(**INNER)
def _sort(g: Grid, products: Matrix) -> None:
    """Order the features by their scaled squares, the largest first; ties by place."""
    d, squares = g.scale.size, g.images[0]
    for j in range(d):
        square, i = products[j, j] * g.scale[j] * g.scale[j], j
        while i > 0 and squares[i - 1] < square:
            squares[i], g.order[i] = squares[i - 1], g.order[i - 1]
            i -= 1
        squares[i], g.order[i] = square, j


@numba.njit(**INNER, fastmath=FAST)
def scan(g: Grid, base: float) -> None:
    """Factorise T + lam for every lam = 2^k base: explained, |theta|^2, determinant and trace.

    Slopes are derivatives by lam: b'theta has the slope -|theta|^2.
    """
    d, v, c = g.scale.size, g.vectors, g.columns
    _start(c, base)
    before = 0.0
    for i in range(d):
        _step(take(c, 0, 1, c.size)[0], g.ratio[i], g.forward[i], before, v[0, i], v[3, i])
        before = v[1, i]
        if i % BETWEEN_LOGS == BETWEEN_LOGS - 1 or i == d - 1:
            _add_logs(c)


@numba.njit(**INNER)
def _start(c: Matrix, base: float) -> None:
    """The penalties of the grid; all else is 0."""
    fill(c, 0.0)
    lam = base * 2.0**FIRST
    for k in range(COUNT):
        c[LAM, k], c[_INVERSE_LAM, k], c[PRODUCT, k] = lam, 1.0 / lam, 1.0
        lam *= 2.0**STEP


@numba.njit(**INNER, fastmath=FAST)
def _add_logs(c: Matrix) -> None:
    """Take the logarithms of the factors of the determinants so far."""
    for k in range(COUNT):
        c[LOG_DET, k] += np.log(c[PRODUCT, k])
        c[PRODUCT, k] = 1.0


@numba.njit(**INNER, fastmath=FAST)
def _step(
    c: Vector, ratios: Vector, forward: Vector, before: float, diagonal: float, pull: float
) -> None:
    """One row of the factorisations of all T + lam, with its derivatives.

    ``c`` has the columns in one array, so that the compiler knows how far apart they lie.
    """
    for k in range(COUNT):
        inverse, slope = c[_INVERSE * COUNT + k], c[_SLOPE * COUNT + k]
        target, target_slope = c[_TARGET * COUNT + k], c[_TARGET_SLOPE * COUNT + k]
        ratio = before * inverse
        bend = ratio * inverse * slope  # minus the slope of the ratio
        pivot = diagonal + c[LAM * COUNT + k] - before * ratio
        turned = 1.0 / pivot
        steep = 1.0 + before * bend
        value = pull - ratio * target
        change = bend * target - ratio * target_slope
        image = value * turned
        c[EXPLAINED * COUNT + k] += value * image
        c[LENGTH * COUNT + k] -= image * (2.0 * change - image * steep)
        c[PRODUCT * COUNT + k] *= pivot * c[_INVERSE_LAM * COUNT + k]
        c[TRACE * COUNT + k] += steep * turned
        c[_TARGET * COUNT + k] = value
        c[_TARGET_SLOPE * COUNT + k] = change
        c[_INVERSE * COUNT + k] = turned
        c[_SLOPE * COUNT + k] = steep
        ratios[k], forward[k] = ratio, image


@numba.njit(**INNER)
def scan_factor(g: Grid, base: float, left: float) -> None:
    """``scan`` of T = B'B from the bidiagonal B: LEFT, RESIDUAL, determinant and trace.

    Rotations of (B, sqrt(lam) I) to triangular form, written with squares (Elden). All sums are of
    positive terms, so that small singular values keep their digits. ``left`` are the squares of the
    responses outside the span of the rows.
    """
    d, v, c = g.scale.size, g.vectors, g.columns
    _start(c, base)
    for k in range(COUNT):
        c[_TARGET, k], c[_SLOPE, k], c[LEFT, k], c[RESIDUAL, k] = c[LAM, k], 1.0, left, left
    fill(g.ratio[0], 0.0)
    for i in range(d):
        ratios = g.ratio[i + 1] if i + 1 < d else c[_INVERSE]
        beside = v[1, i] if i + 1 < d else 0.0
        flat = take(c, 0, 1, c.size)[0]
        _rotate(flat, ratios, g.forward[i], v[0, i], beside, v[3, i])
        if i % BETWEEN_LOGS == BETWEEN_LOGS - 1 or i == d - 1:
            _add_logs(c)
    fill(c[_TARGET], 0.0)
    for i in range(d - 1, -1, -1):
        beside = v[1, i] if i + 1 < d else 0.0
        ratios = g.ratio[i + 1] if i + 1 < d else g.ratio[0]
        _add_residuals(c, ratios, g.forward[i], v[0, i], beside, v[3, i])


@numba.njit(**INNER)
def _rotate(
    c: Vector, ratios: Vector, forward: Vector, diagonal: float, beside: float, pull: float
) -> None:
    """One row of B. _TARGET: lam, and what rotations moved below; _TARGET_SLOPE: its response."""
    for k in range(COUNT):
        below, slope, lam = c[_TARGET * COUNT + k], c[_SLOPE * COUNT + k], c[LAM * COUNT + k]
        moved = c[_TARGET_SLOPE * COUNT + k]
        pivot = diagonal * diagonal + below
        inverse = 1.0 / pivot
        apart = below * pull - diagonal * moved
        following = lam + beside * beside * below * inverse
        ratio = diagonal * beside * inverse
        c[LEFT * COUNT + k] += lam * (apart * apart * inverse / below) / following
        c[TRACE * COUNT + k] += slope * inverse
        c[PRODUCT * COUNT + k] *= pivot * c[_INVERSE_LAM * COUNT + k]
        c[_SLOPE * COUNT + k] = 1.0 + ratio * ratio * slope
        c[_TARGET_SLOPE * COUNT + k] = beside * apart * inverse
        c[_TARGET * COUNT + k] = following
        ratios[k], forward[k] = ratio, (diagonal * pull + moved) * inverse


@numba.njit(**INNER)
def _add_residuals(
    c: Matrix, ratios: Vector, forward: Vector, diagonal: float, beside: float, pull: float
) -> None:
    """Add the square of one row's residual; _TARGET is theta of the row after it, then of it."""
    theta, squares = c[_TARGET], c[RESIDUAL]
    for k in range(COUNT):
        value = forward[k] - ratios[k] * theta[k]
        rest = pull - diagonal * value - beside * theta[k]
        squares[k] += rest * rest
        theta[k] = value


@numba.njit(**INNER)
def set_residuals(g: Grid) -> None:
    """RESIDUAL <- the squared residuals without the penalty."""
    for k in range(COUNT):
        g.columns[RESIDUAL, k] = g.columns[LEFT, k] - g.columns[LAM, k] * g.columns[LENGTH, k]


@numba.njit(**INNER)
def solve_at(g: Grid, penalty: float, out: Vector) -> None:
    """out <- theta for any penalty, in the basis of the tridiagonal form."""
    d, v, ratio = out.size, g.vectors, g.images[1]
    pivot, value = v[0, 0] + penalty, v[3, 0]
    out[0] = value / pivot
    for i in range(1, d):
        ratio[i] = v[1, i - 1] / pivot
        value = v[3, i] - ratio[i] * value
        pivot = v[0, i] + penalty - v[1, i - 1] * ratio[i]
        out[i] = value / pivot
    for i in range(d - 2, -1, -1):
        out[i] -= ratio[i + 1] * out[i + 1]


@numba.njit(**INNER, fastmath=FAST)
def solution(g: Grid, k: int, out: Vector) -> None:
    """out <- theta for the k-th penalty, in the basis of the tridiagonal form."""
    d = out.size
    out[d - 1] = g.forward[d - 1, k]
    for i in range(d - 2, -1, -1):
        out[i] = g.forward[i, k] - g.ratio[i + 1, k] * out[i + 1]


@numba.njit(**INNER)
def average(g: Grid, weights: Vector, out: Vector) -> None:
    """out <- the mean of theta over the grid, in the basis of the tridiagonal form."""
    d, last = out.size, g.columns[_TARGET]
    for i in range(d - 1, -1, -1):
        out[i] = 0.0
        for k in range(COUNT):
            behind = 0.0 if i == d - 1 else g.ratio[i + 1, k] * last[k]
            last[k] = g.forward[i, k] - behind
            out[i] += weights[k] * last[k]


@numba.njit(**INNER)
def restore_left(g: Grid, least: float) -> None:
    """LEFT <- Q for every lam from that of the first, by Q - Q_0 = (lam - lam_0) theta_0'theta.

    This keeps the digits that y'y - b'theta loses where the features explain nearly all.
    """
    c, start, theta = g.columns, g.images[0], g.images[1]
    solution(g, 0, start)
    c[LEFT, 0] = least
    for k in range(1, COUNT):
        solution(g, k, theta)
        c[LEFT, k] = least + (c[LAM, k] - c[LAM, 0]) * dot(start, theta)


@numba.njit(**INNER)
def log_weights(g: Grid, square: float, n: float, freedom: float) -> float:
    """WEIGHT_OF <- log w for every lam, from LEFT and RESIDUAL; return the largest.

    y'y is ``square``. LEFT and RESIDUAL become shares of it.
    """
    d, c = g.scale.size, g.columns
    for k in range(COUNT):
        c[LEFT, k] /= square
        c[RESIDUAL, k] /= square
        c[FREE, k] = freedom - d + c[LAM, k] * c[TRACE, k]
    return weigh_grid(g, n, freedom)


@numba.njit(**INNER)
def weigh_grid(g: Grid, n: float, freedom: float) -> float:
    """WEIGHT_OF <- log w for every lam; return the largest.

    From LOG_DET, FREE, and LEFT and RESIDUAL as shares of y'y.
    """
    d, c, top = g.scale.size, g.columns, -np.inf
    rho = max(0.0, 1.0 - d / freedom) if freedom > 0.0 else 0.0
    floor, u, log_u = max(n, 1.0) * EPS * EPS, n / d * 2.0**FIRST, np.log(n / d) + FIRST * _LOG_2
    for k in range(COUNT):
        left, free = max(c[LEFT, k], floor), c[FREE, k]
        criterion = (1.0 - rho) * (freedom * np.log(left) + c[LOG_DET, k])
        if rho > 0.0:
            residual = max(c[RESIDUAL, k], floor)
            criterion += rho * freedom * np.log(residual / (free * free))
        c[WEIGHT_OF, k] = -0.5 * criterion - np.log(1.0 + u) + 0.5 * log_u
        top = max(top, c[WEIGHT_OF, k])
        u, log_u = u * 2.0**STEP, log_u + STEP * _LOG_2
    return top


@numba.njit(**INNER)
def normalise(g: Grid, top: float) -> float:
    """WEIGHT_OF <- exp(log w - top); return the sum."""
    total, weights = 0.0, g.columns[WEIGHT_OF]
    for k in range(COUNT):
        weights[k] = np.exp(weights[k] - top)
        total += weights[k]
    return total


@numba.njit(**INNER)
def mean_exponent(weights: Vector, total: float) -> float:
    """The mean of k, by weights that add up to ``total``."""
    mean = 0.0
    for k in range(COUNT):
        mean += weights[k] / total * (FIRST + STEP * k)
    return mean


@numba.njit(**INNER)
def least_relevant(g: Grid, total: float) -> int:
    """The smallest penalty whose weight counts, by its number."""
    for k in range(COUNT):
        if g.columns[WEIGHT_OF, k] > FAINT * total:
            return k
    return COUNT - 1

"""The errors of the live rows of one window, as if each were predicted by the others.

The error of a live row is its residual divided by sqrt(1 - h), h its leverage. The error of its
prediction without the row is larger by the factor 1 / sqrt(1 - h) = sqrt(1 + h'), where h' is its
leverage as a new row, so both are the same in units of the deviation that is expected.

Arrays are by feature, (d, rows), so that inner loops run along the rows.
"""

from __future__ import annotations

import numba
import numpy as np

from efface.engine.jit.compilation import APART, FAST, INNER
from efface.engine.jit.simd import column_forms
from efface.engine.jit.views import Matrix, Vector, block, part
from efface.engine.linalg.dense import add_row, copy, dot, fill, invert_root
from efface.engine.sums.sliding import Sums
from efface.engine.windows.local_rows import (
    CENTRE,
    DIAGONAL,
    SHIFT,
    SIDE,
    WORK,
    Columns,
    Room,
    columns_of,
    hold_nothing,
    move_column,
)

RIDGE = 1e-9  # of the squared length of a feature or column, so that every system has an inverse
TINY = 1e-300
_ALONE = 1e-6  # 1 - h of a row that no other row predicts
_KEPT = 1e-6  # of a sum of squares: with less left around the mean, the rows are summed again


@numba.njit(**INNER, fastmath=FAST)
def feature_products(z: Matrix, values: Vector, out: Vector) -> None:
    """out <- the products of each feature with some values; four features in one pass."""
    n, d = values.size, out.size
    for j in range(0, d - 3, 4):
        a, b, c, e = z[j], z[j + 1], z[j + 2], z[j + 3]
        first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
        for i in range(n):
            first += a[i] * values[i]
            second += b[i] * values[i]
            third += c[i] * values[i]
            fourth += e[i] * values[i]
        out[j], out[j + 1], out[j + 2], out[j + 3] = first, second, third, fourth
    for j in range(d // 4 * 4, d):
        out[j] = dot(part(z[j], 0, n), values)


@numba.njit(**INNER, fastmath=FAST)
def add_features(z: Matrix, weights: Vector, out: Vector) -> None:
    """out += the sum of weighted features; four features in one pass."""
    n, d = out.size, weights.size
    for j in range(0, d - 3, 4):
        a, b, c, e = z[j], z[j + 1], z[j + 2], z[j + 3]
        first, second, third, fourth = weights[j], weights[j + 1], weights[j + 2], weights[j + 3]
        for i in range(n):
            out[i] += first * a[i] + second * b[i] + third * c[i] + fourth * e[i]
    for j in range(d // 4 * 4, d):
        add_row(weights[j], part(z[j], 0, n), out)


@numba.njit(**INNER)
def _scatter(a: Matrix, r: Room, count: int, sums: Sums, centred: bool) -> None:
    """a <- Z'Z around the mean, the lower triangle, from the sums unless that loses digits.

    Z has the rows times the roots of their weights.
    """
    d, total, shift = a.shape[0], sums.total, r.features[SHIFT]
    lossy = False
    for j in range(d):
        share = total[d, j] / total[d, d] if centred else 0.0
        for k in range(j + 1):
            a[j, k] = total[j, k] - share * total[d, k]
        lossy |= a[j, j] < _KEPT * total[j, j]
    for j in range(d if lossy else 0):
        away = _weigh_feature(columns_of(r, 0, count), r.z[j], shift[j])
        feature_products(r.z, part(r.columns[WORK], 0, count), part(a[j], 0, j + 1))
        add_row(-away, part(shift, 0, j + 1), part(a[j], 0, j + 1))


@numba.njit(**APART, fastmath=FAST)
def _weigh_feature(c: Columns, feature: Vector, shift: float) -> float:
    """work <- the weighted differences of a feature from its mean; their sum."""
    total = 0.0
    for i in range(c.work.size):
        c.work[i] = c.weight[i] * (feature[i] - shift)
        total += c.work[i]
    return total


@numba.njit(**INNER)
def invert_system(
    r: Room, count: int, sums: Sums, centred: bool, share: float, penalty: float, power: int
) -> bool:
    """root <- W, where W'W = (Z'Z / share + penalties)^-1; False if there is none.

    ``share`` of the live rows are in Z. The penalty of a feature is multiplied by its deviation to
    the power of ``power``.
    """
    d, diagonal, weight = r.features.shape[1], r.features[DIAGONAL], sums.total
    a, per_share = block(r.root, 0, d, 0, d), 1.0 / share
    _scatter(a, r, count, sums, centred)
    for j in range(d):
        for k in range(j + 1):
            a[j, k] *= per_share
        deviation = np.sqrt(a[j, j] * share / weight[d, d])
        a[j, j] += penalty * deviation**power
        a[j, j] = a[j, j] * (1.0 + RIDGE) if a[j, j] > TINY else 1.0
        diagonal[j] = a[j, j]
    return invert_root(a, diagonal, r.work) > 0.0


@numba.njit(**INNER)
def solve_system(r: Room, values: Vector, out: Vector) -> None:
    """out <- W'W values."""
    fill(out, 0.0)
    for j in range(values.size):
        row = part(r.root[j], 0, j + 1)
        add_row(dot(row, part(values, 0, j + 1)), row, part(out, 0, j + 1))


@numba.njit(**INNER)
def measure_errors(r: Room, coef: Vector, intercept: float, count: int, constant: float) -> int:
    """Fill the columns error and level; rows that no other row predicts are left out.

    ``constant`` is 1 / weight of all rows, or 0 without an intercept. Returns the rows that remain.
    """
    d, shift, alone = r.features.shape[1], r.features[SHIFT], 0.0
    copy(coef, r.root[d])
    for j in range(d):
        r.root[d + 1, j] = -dot(r.root[j], shift)
    middle = intercept + dot(coef, r.features[CENTRE])
    for at in range(0, count, SIDE):
        column_forms(r.z, r.root, at, r.z.shape[1], d)
        c = columns_of(r, at, min(at + SIDE, count))
        alone += _set_errors(c, middle, constant)
    return count if alone == 0.0 else _leave_out(r, count)


@numba.njit(**APART, fastmath=FAST)
def _set_errors(c: Columns, middle: float, constant: float) -> float:
    """own <- w |Wu|^2 of each row u around the mean, w its weight; work <- 1 - h; level, error.

    Returns how many rows no other row predicts.
    """
    alone = 0.0
    for i in range(c.own.size):
        weight, level = c.weight[i], c.predicted[i] + middle
        own = c.own[i] * weight
        free = 1.0 - own - constant * weight
        c.own[i], c.work[i], c.level[i] = own, free, abs(level)
        c.error[i] = abs(c.response[i] - level) * np.sqrt(weight / max(free, _ALONE))
        alone += 0.0 if free > _ALONE else 1.0
    return alone


@numba.njit(**INNER)
def _leave_out(r: Room, count: int) -> int:
    """Move the rows that other rows predict together; how many."""
    kept = 0
    for i in range(count):
        if r.columns[WORK, i] > _ALONE:
            move_column(r, i, kept)
            kept += 1
    hold_nothing(r)
    return kept


@numba.njit(**INNER)
def extremes(values: Vector) -> tuple[float, float]:
    """The least and the largest value, in four chains that do not wait for each other."""
    low, high = (np.inf, np.inf, np.inf, np.inf), (-np.inf, -np.inf, -np.inf, -np.inf)
    n = values.size
    for i in range(0, n, 4):
        a, b = values[i], values[min(i + 1, n - 1)]
        c, d = values[min(i + 2, n - 1)], values[min(i + 3, n - 1)]
        low = min(low[0], a), min(low[1], b), min(low[2], c), min(low[3], d)
        high = max(high[0], a), max(high[1], b), max(high[2], c), max(high[3], d)
    return min(min(low[0], low[1]), min(low[2], low[3])), max(
        max(high[0], high[1]), max(high[2], high[3])
    )

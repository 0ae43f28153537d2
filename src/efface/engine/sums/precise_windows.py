"""Windows for which float64 sums are not enough, from sums in double-double precision.

Where features are dependent in all rows, such as copies, or dummies that sum to the intercept, the
windows need no more than float64 once a multiple of the projection on the null directions is added
to their Gram matrices: as X'y is orthogonal to a null direction, so is the solution.
"""

from __future__ import annotations

import numba
import numpy as np

from efface.engine.jit.compilation import KERNEL
from efface.engine.jit.views import WEIGHT, Ints, Matrix, Responses, Vector
from efface.engine.linalg.dense import add_row
from efface.engine.linalg.exact_products import padded_columns
from efface.engine.linalg.precise_solve import UNSOLVED, Window, clear_system
from efface.engine.sums.precise_sums import allocate_precise, fit_range, open_precise


def fit_precisely(
    starts: Ints,
    ends: Ints,
    x: Matrix,
    y: Responses,
    penalty: float,
    intercept: bool,
    coef: Matrix,
    level: Vector,
    rank: Ints,
    standardized: bool = False,
) -> Ints:
    """Fit the windows from the rows ``starts`` to the rows ``ends``; the ends of those not solved.

    Neither ``starts`` nor ``ends`` may decrease.
    """
    if not ends.size:
        return ends
    longest = int((ends + 1 - starts).max())
    store = allocate_precise(x.shape[1], intercept or standardized, longest)
    solved, kind = np.empty(ends.size, bool), (float(penalty), intercept, standardized)
    _fit(x, y, *kind, starts, ends, coef, level, rank, solved, store)
    return ends[~solved]


@numba.njit(**KERNEL, nogil=True)
def _fit(
    x: Matrix,
    y: Responses,
    penalty: float,
    intercept: bool,
    standardized: bool,
    starts: Ints,
    ends: Ints,
    coef: Matrix,
    level: Vector,
    rank: Ints,
    solved: Matrix,
    store: Vector,
) -> None:
    sums, d = open_precise(store), x.shape[1]
    first, known, rows = starts[0], starts[0], 0
    for i in range(ends.size):
        a, b = starts[i], ends[i] + 1
        for k in range(known, b):
            rows += y[k, WEIGHT] > 0.0
        for k in range(first, a):
            rows -= y[k, WEIGHT] > 0.0
        known, first = b, a
        solved[i] = False
        if rows - (1 if intercept or standardized else 0) <= d:
            continue
        asked = Window(rows, penalty, intercept, standardized, False)
        found, size = fit_range(sums, x, y, a, b, asked, coef[ends[i]])
        if size != UNSOLVED:
            level[ends[i]], rank[ends[i]], solved[i] = found, size, True


NO_DIRECTIONS = np.zeros((0, 1))
_MOST_APART = 1e6  # squares of dependent features: with more, float64 would not be enough


def null_directions(x: Matrix, y: Responses, s: int, intercept: bool) -> Matrix:
    """The projection on the directions in which no row varies, times a typical sum of squares.

    The sum is that of a feature over s rows. Empty where there are no such directions.

    >>> x = np.array([[1.0, 1.0], [2.0, 2.0], [4.0, 4.0], [5.0, 5.0]])
    >>> null_directions(x, np.ones((4, 3)), 4, True).round(12)
    array([[ 5., -5.],
           [-5.,  5.]])
    """
    d = x.shape[1]
    if np.count_nonzero(y[:, WEIGHT]) - intercept <= d:
        return NO_DIRECTIONS
    null, squares = np.zeros((d, d)), np.zeros(d)
    into = intercept, null, squares
    first = y[:s]  # where these rows have full rank, all have
    if 2 * s < len(x) and np.count_nonzero(first[:, WEIGHT]) - intercept > d:
        if _find_directions(x[:s], first, *into, allocate_precise(d, intercept, 1)) == d:
            return NO_DIRECTIONS
        null[:] = 0.0
    _find_directions(x, y, *into, allocate_precise(d, intercept, 1))
    shares = null.diagonal()
    involved = squares[(shares > 1e-12) & (squares > 0.0)]
    if not null.any() or (involved.size and involved.min() * _MOST_APART < involved.max()):
        return NO_DIRECTIONS
    typical = shares @ squares / shares.sum() or squares.mean() or 1.0
    return np.asarray(null * (typical * s / len(x)))


@numba.njit(**KERNEL, nogil=True)
def _find_directions(
    x: Matrix, y: Responses, intercept: bool, null: Matrix, squares: Vector, store: Vector
) -> int:
    """null <- the projection; squares <- the sums of squares of the features; the rank."""
    n, d, rows, sums = x.shape[0], x.shape[1], 0, open_precise(store)
    for i in range(n):
        rows += y[i, WEIGHT] > 0.0
    system, w = sums.system, padded_columns(d + 2)
    rank = fit_range(sums, x, y, 0, n, Window(rows, 0.0, intercept, False, False), squares)[1]
    found = 0
    for j in range(d):
        squares[j] = sums.total[j * w + j]
        found += system.metric[j] != 0.0
    for j in range(d if rank != UNSOLVED else 0):
        if system.metric[j] == 0.0:
            null[j, j] = 1.0
        for i in range(found - rank):
            add_row(system.null[i, j], system.null[i], null[j])
    clear_system(system, sums.total)
    return int(rank)

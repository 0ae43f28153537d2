"""Matrices reduced to bidiagonal form, A = U B V', by Householder reflections.

With T = B'B, A'A + lam I = V (T + lam I) V'. The singular values of B are those of A up to
rounding, where a tridiagonal form of A'A would have the squares of the small ones wrong.
"""

from __future__ import annotations

import numba
import numpy as np

from efface.engine.jit.compilation import FAST, INNER, shared
from efface.engine.jit.views import Matrix, Vector, part
from efface.engine.linalg.dense import add_row, dot, fill


@shared(fastmath=FAST)
def bidiagonalise(
    a: Matrix, diagonal: Vector, beside: Vector, factor: Vector, pull: Vector, scratch: Matrix
) -> None:
    """Reduce a square matrix to ``diagonal`` and ``beside`` it, to the right; pull <- U' pull.

    The reflections I - factor v v' of V stay in the rows of ``a``, to the right of the diagonal,
    as ``tridiagonal.from_basis`` needs them. ``scratch`` has two rows.
    """
    d = diagonal.size
    fill(beside, 0.0)
    fill(factor, 0.0)
    for k in range(d):
        u, w = part(scratch[0], 0, d - k), part(scratch[1], 0, d - k - 1)
        for i in range(k, d):
            u[i - k] = a[i, k]
        diagonal[k], weight = _reflection(u)
        if weight > 0.0:
            fill(w, 0.0)
            for i in range(d - k):
                add_row(u[i], part(a[k + i], k + 1, d), w)
            for i in range(d - k):
                add_row(-weight * u[i], w, part(a[k + i], k + 1, d))
            rest = part(pull, k, d)
            add_row(-weight * dot(u, rest), u, rest)
        if k + 1 < d:
            v = part(a[k], k + 1, d)
            beside[k], factor[k] = _reflection(v)
            for i in range(k + 1, d if factor[k] > 0.0 else k):
                row = part(a[i], k + 1, d)
                add_row(-factor[k] * dot(row, v), v, row)


@numba.njit(**INNER, fastmath=FAST)
def _reflection(u: Vector) -> tuple[float, float]:
    """u <- the reflection that clears u but for its first entry; that entry, and the factor."""
    first, squares = u[0], 0.0
    for i in range(1, u.size):
        squares += u[i] * u[i]
    if squares == 0.0:
        return first, 0.0
    length = np.sqrt(first * first + squares)
    left = -length if first >= 0.0 else length
    u[0] = first - left
    return left, 2.0 / (squares + u[0] * u[0])

"""Reductions of matrices by Householder reflections, to tridiagonal and to bidiagonal form.

A symmetric matrix is A = Q T Q' with a tridiagonal T. A + lam I = Q (T + lam I) Q', so after one
reduction a system is solved for each further lam at the cost of O(d). The rows of A should come
with the largest diagonal entry first: the reflections then keep the digits of entries that are far
smaller than others.

A square matrix is A = U B V' with a bidiagonal B. With T = B'B, A'A + lam I = V (T + lam I) V'. The
singular values of B are those of A up to rounding, where a tridiagonal form of A'A would have the
squares of the small ones wrong.
"""

from __future__ import annotations

import numba
import numpy as np

from efface.engine.jit.compilation import FAST, INNER, shared
from efface.engine.jit.views import Matrix, Vector, part
from efface.engine.linalg.dense import add_row, copy, dot, fill


@shared(fastmath=FAST)
def tridiagonalise(
    a: Matrix, diagonal: Vector, beside: Vector, factor: Vector, pull: Vector, scratch: Matrix
) -> None:
    """Reduce the lower triangle of ``a`` to ``diagonal`` and ``beside`` it; pull <- Q' pull.

    The reflections I - factor u u' stay in the rows of ``a``, to the right of the diagonal.
    ``scratch`` has three rows.
    """
    d = diagonal.size
    v, w, p = scratch[0], scratch[1], scratch[2]
    fill(scratch, 0.0)
    fill(factor, 0.0)
    for k in range(d):
        for i in range(k, d):  # the last reflection has not reached this column yet
            a[i, k] -= v[i] * w[k] + w[i] * v[k]
        diagonal[k] = a[k, k]
        if k + 1 == d:
            return
        u, rest = part(a[k], k + 1, d), d - k - 1
        for i in range(rest):
            u[i] = a[k + 1 + i, k]
        beside[k], factor[k] = _reflection(u)
        pv, pw, pp = part(v, k + 1, d), part(w, k + 1, d), part(p, k + 1, d)
        fill(pp, 0.0)
        for i in range(rest):
            row = part(a[k + 1 + i], k + 1, d)
            vi, wi, ui, total = pv[i], pw[i], u[i], 0.0
            for j in range(i):  # finish the last reflection of this row, and multiply it
                value = row[j] - vi * pw[j] - wi * pv[j]
                row[j] = value
                total += value * u[j]
                pp[j] += value * ui
            row[i] -= 2.0 * vi * wi
            pp[i] += total + row[i] * ui
        _rotate(factor[k], u, pp, part(pull, k + 1, d), pv, pw)


@numba.njit(**INNER, fastmath=FAST)
def _rotate(factor: float, u: Vector, p: Vector, pull: Vector, v: Vector, w: Vector) -> None:
    """Apply a reflection to the pull; v, w <- what it subtracts from the matrix, v w' + w v'."""
    half = 0.5 * factor * factor * dot(p, u)
    add_row(-factor * dot(u, pull), u, pull)
    copy(u, v)
    for i in range(u.size):
        w[i] = factor * p[i] - half * u[i]


@shared(fastmath=FAST)
def bidiagonalise(
    a: Matrix, diagonal: Vector, beside: Vector, factor: Vector, pull: Vector, scratch: Matrix
) -> None:
    """Reduce a square matrix to ``diagonal`` and ``beside`` it, to the right; pull <- U' pull.

    The reflections I - factor v v' of V stay in the rows of ``a``, to the right of the diagonal,
    as ``from_basis`` needs them. ``scratch`` has two rows.
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


@numba.njit(**INNER)
def from_basis(a: Matrix, factor: Vector, x: Vector) -> None:
    """x <- Q x, or V x for a bidiagonal form."""
    d = x.size
    for k in range(d - 2, -1, -1):
        u, rest = part(a[k], k + 1, d), part(x, k + 1, d)
        add_row(-factor[k] * dot(u, rest), u, rest)

"""The singular value decomposition of a few rows by one-sided Jacobi rotations, for compiled code.

Rotations of pairs of rows make all rows orthogonal to each other: J A = S V', with the lengths of
the rows in S. Small singular values keep their digits, because no squares are subtracted. The same
rotations take a response along: J y = U'y.
"""

from __future__ import annotations

import numba
import numpy as np

from efface.engine.jit.compilation import FAST, INNER, shared
from efface.engine.jit.views import Matrix, Vector
from efface.engine.linalg.dense import EPS, dot

_MOST_SWEEPS = 40
_APART = 4.0 * EPS  # the largest cosine between rows that count as orthogonal


@shared()
def decompose_rows(a: Matrix, pull: Vector, squares: Vector) -> bool:
    """a <- V', squares <- the squared singular values, pull <- U'y; False if that did not converge.

    Rows that are rounding of others become zeros, with a singular value of 0.
    """
    n, total, done = a.shape[0], 0.0, False
    for i in range(n):
        squares[i] = dot(a[i], a[i])
        total += squares[i]
    least = (max(n, a.shape[1]) * EPS) ** 2 * total
    for _ in range(_MOST_SWEEPS):
        if not done:
            done = _sweep(a, pull, squares, least)
    for i in range(n):
        squares[i] = dot(a[i], a[i])
        if squares[i] <= least:
            squares[i] = 0.0
        inverse = 1.0 / np.sqrt(squares[i]) if squares[i] > 0.0 else 0.0
        for j in range(a.shape[1]):
            a[i, j] *= inverse
    return done


@numba.njit(**INNER)
def _sweep(a: Matrix, pull: Vector, squares: Vector, least: float) -> bool:
    """Make every pair of rows orthogonal once; True if all were so already."""
    done = True
    for i in range(a.shape[0] - 1):
        for j in range(i + 1, a.shape[0]):
            if squares[i] <= least or squares[j] <= least:
                continue
            product = dot(a[i], a[j])
            if abs(product) > _APART * np.sqrt(squares[i] * squares[j]):
                done = False
                cosine, sine = _angle((squares[j] - squares[i]) / (2.0 * product))
                _rotate(a[i], a[j], cosine, sine)
                first, second = pull[i], pull[j]
                pull[i], pull[j] = cosine * first - sine * second, sine * first + cosine * second
                squares[i], squares[j] = dot(a[i], a[i]), dot(a[j], a[j])
    return done


@numba.njit(**INNER)
def _angle(cotangent: float) -> tuple[float, float]:
    """Cosine and sine of half the angle that has this cotangent, the smaller of the two halves."""
    tangent = 1.0 / (abs(cotangent) + np.sqrt(1.0 + cotangent * cotangent))
    if cotangent < 0.0:
        tangent = -tangent
    cosine = 1.0 / np.sqrt(1.0 + tangent * tangent)
    return cosine, cosine * tangent


@numba.njit(**INNER, fastmath=FAST)
def _rotate(a: Vector, b: Vector, cosine: float, sine: float) -> None:
    for j in range(a.size):
        first, second = a[j], b[j]
        a[j], b[j] = cosine * first - sine * second, sine * first + cosine * second

"""Dense linear algebra on small positive definite matrices, for compiled code.

Every factorisation returns its *margin*. For a Gram matrix it is the smallest 1 - R^2 of a column
regressed on all others, so it does not depend on the units of the features: the inverse of the
largest product of two diagonal entries, of the matrix and of its inverse. Rounding errors grow by
about 1 / margin. A margin of 0 means that the matrix is not positive definite. Results with a
margin below ``SAFE`` are discarded, and the rows are fitted again by ``refit``.

The ratio of a pivot to the diagonal entry that it started from is 1 - R^2 of a column regressed on
the columns before it: never less than the margin, and far more in matrices such as Kahan's. Where
no inverse is formed, the smallest of these ratios is the margin if it is at least ``CLEAR``; else
the diagonal of the inverse is computed.

The margin does not show features of very different length. ``lopsided`` does: where one squared
length is below 1e-20 of another, only the rows themselves can tell the rank.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from efface.engine.jit.blas import add_gram, multiply, multiply_transposed, subtract_products
from efface.engine.jit.compilation import FAST, INNER, shared
from efface.engine.jit.views import Matrix, Vector, block, part, take

SAFE = 1e-4  # the least margin with which a result is used
CLEAR = 0.3  # with larger ratios of pivots to diagonal entries, no far smaller margin is possible
EPS = float(np.finfo(np.float64).eps)
_LEAST_SQUARE = 1e-240
_COLUMNS = 24  # per block of ``invert``
_MOST_COLUMNS = 48  # per block of ``factorise_rows``
ROWS_SCRATCH = 2 * _MOST_COLUMNS**2 + 4 * _COLUMNS * _MOST_COLUMNS  # floats, for factorise_rows


@numba.njit(**INNER)
def fill(array: Any, value: float) -> None:
    """Set all of a contiguous array. An assignment to a slice would take longer to compile."""
    flat = take(array, 0, 1, array.size)[0]
    for i in range(flat.size):
        flat[i] = value


@numba.njit(**INNER)
def copy(source: Vector, out: Vector) -> None:
    for i in range(out.size):
        out[i] = source[i]


@numba.njit(**INNER, fastmath=FAST)
def dot(a: Vector, b: Vector) -> float:
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@numba.njit(**INNER, fastmath=FAST)
def add_row(weight: float, row: Vector, out: Vector) -> None:
    for j in range(out.size):
        out[j] += weight * row[j]


@numba.njit(**INNER, fastmath=FAST)
def mean(values: Vector) -> float:
    """The mean of some values."""
    total = 0.0
    for i in range(values.size):
        total += values[i]
    return total / values.size


@numba.njit(**INNER, fastmath=FAST)
def symmetric_times(a: Matrix, x: Vector, out: Vector) -> None:
    """out = a x for a full symmetric matrix, read row by row."""
    for i in range(x.size):
        out[i] = dot(a[i], x)


@shared()
def lopsided(squares: Vector) -> bool:
    """Whether one squared length is below 1e-20 of another, or so small that it has lost digits."""
    smallest, largest = np.inf, 0.0
    for i in range(squares.size):
        smallest = min(smallest, squares[i])
        largest = max(largest, squares[i])
    return smallest < 1e-20 * largest or smallest < _LEAST_SQUARE


@shared(fastmath=FAST)
def factorise(a: Matrix, row: Vector, scale: Vector) -> float:
    """Factorise a = U' D U in place: D^-1 on the diagonal, U above it; return the margin.

    Reads the upper triangle. ``row`` is scratch: a copy of the pivot row, which tells the compiler
    that the rows do not overlap.
    """
    n, margin = scale.size, 1.0
    for p in range(n):
        pivot = a[p, p]
        if not pivot > 0.0:
            return 0.0
        margin = min(margin, pivot / scale[p])
        inverse, source = 1.0 / pivot, part(a[p], p + 1, n)
        for k in range(source.size):
            row[k] = source[k]
            source[k] *= inverse
        a[p, p] = inverse
        for i in range(p + 1, n):
            target, rest = part(a[i], i, n), part(row, i - p - 1, row.size)
            factor = rest[0] * inverse
            for k in range(target.size):
                target[k] -= factor * rest[k]
    return margin if margin >= CLEAR else _margin_of(a, part(row, 0, n), scale)


@numba.njit(**INNER)
def _margin_of(a: Matrix, row: Vector, scale: Vector) -> float:
    """The margin from the factors: (U' D U)^-1_ii is the sum of (U^-1)_ij^2 / D_j."""
    largest = 0.0
    for i in range(scale.size):
        largest = max(largest, inverse_entry(a, row, i) * scale[i])
    return 1.0 / largest if largest > 0.0 else 1.0


@numba.njit(**INNER)
def inverse_entry(a: Matrix, row: Vector, i: int) -> float:
    """(U' D U)^-1_ii, from the factors; ``row`` is scratch."""
    n, total = row.size, 0.0
    fill(row, 0.0)
    row[i] = 1.0
    for j in range(i, n):
        total += row[j] * row[j] * a[j, j]
        add_row(-row[j], part(a[j], j + 1, n), part(row, j + 1, n))
    return total


@shared(fastmath=FAST)
def solve(a: Matrix, b: Vector) -> None:
    """b <- (U' D U)^-1 b in place."""
    n = b.size
    for i in range(n):
        add_row(-b[i], part(a[i], i + 1, n), part(b, i + 1, n))
        b[i] *= a[i, i]
    for i in range(n - 2, -1, -1):
        b[i] -= dot(part(a[i], i + 1, n), part(b, i + 1, n))


@numba.njit(**INNER)
def invert_upper(r: Matrix, out: Matrix) -> None:
    """out <- the inverse of the leading upper triangle of ``r`` that has its size."""
    n = out.shape[0]
    fill(out, 0.0)
    for i in range(n - 1, -1, -1):
        out[i, i] = 1.0
        for k in range(i + 1, n):
            add_row(-r[i, k], part(out[k], k, n), part(out[i], k, n))
        inverse = 1.0 / r[i, i]
        for k in range(i, n):
            out[i, k] *= inverse


@shared()
def invert(a: Matrix, scale: Vector, scratch: Vector) -> float:
    """a <- a^-1, full, from the lower triangle of a positive definite matrix; return the margin.

    It is W'W of ``invert_root``. Nearly all the work is matrix products, and the result is as
    accurate as the factorisation; methods by partial inverses are not. With margin 0, ``a`` is not
    usable. ``scratch`` holds n^2 + 96 n numbers.
    """
    n = a.shape[0]
    out = take(scratch, 0, n, n)
    margin = invert_root(a, scale, scratch)
    if not margin > 0.0:
        return 0.0
    fill(out, 0.0)
    for lo in range(0, n, _COLUMNS):
        hi = min(lo + _COLUMNS, n)
        add_gram(block(a, lo, hi, 0, hi), block(out, 0, hi, 0, hi))
    for i in range(n):
        margin = min(margin, 1.0 / (scale[i] * out[i, i]))
        for j in range(i + 1):
            a[i, j] = out[i, j]
            a[j, i] = out[i, j]
    return margin


@shared()
def invert_root(a: Matrix, scale: Vector, scratch: Vector) -> float:
    """a <- W = L^-1, where a = L L', so that W'W is the inverse; return the least pivot ratio.

    L by blocks of columns, from the lower triangle of ``a``. What is above the diagonal becomes
    zeros. ``scratch`` is that of ``invert``.
    """
    n = a.shape[0]
    rest, margin = part(scratch, n * n, scratch.size), 1.0
    for lo in range(0, n, _COLUMNS):
        hi = min(lo + _COLUMNS, n)
        corner = block(a, lo, hi, lo, hi)
        for i in range(lo, hi):
            fill(part(a[i], hi, n), 0.0)
        margin = min(margin, _invert_factor(corner, part(scale, lo, hi), rest))
        if not margin > 0.0:
            return 0.0
        below = take(rest, 0, n - hi, hi - lo)
        multiply_transposed(block(a, hi, n, lo, hi), corner, below, 1.0, 0.0)
        subtract_products(below, block(a, hi, n, hi, n))
        for i in range(hi, n):
            copy(below[i - hi], part(a[i], lo, hi))
    _invert_triangle(a, rest)
    return margin


@numba.njit(**INNER)
def _invert_triangle(a: Matrix, scratch: Vector) -> None:
    """L -> L^-1, given the inverses of the diagonal blocks and the blocks of L below them."""
    n = a.shape[0]
    for lo in range((n - 1) // _COLUMNS * _COLUMNS - _COLUMNS, -1, -_COLUMNS):
        hi = lo + _COLUMNS
        product = take(scratch, 0, n - hi, _COLUMNS)
        below = block(a, hi, n, lo, hi)
        multiply(block(a, hi, n, hi, n), below, product, 1.0, 0.0)
        multiply(product, block(a, lo, hi, lo, hi), below, -1.0, 0.0)


@numba.njit(**INNER, fastmath=FAST)
def _invert_factor(a: Matrix, scale: Vector, scratch: Vector) -> float:
    """a <- L^-1 for a small block a = L L', from its lower triangle; return the least pivot ratio.

    Gaussian elimination on (a | I) by rows, so that every inner loop runs along one row. The upper
    triangle becomes zeros.
    """
    n, margin = a.shape[0], 1.0
    wide, row = take(scratch, 0, n, 2 * n), take(scratch, 2 * n * n, 1, n)[0]
    fill(wide, 0.0)
    for i in range(n):
        for j in range(i + 1):
            wide[i, j] = a[i, j]
            wide[j, i] = a[i, j]
        wide[i, n + i] = 1.0
    for p in range(n):
        pivot = wide[p, p]
        if not pivot > 0.0:
            return 0.0
        margin = min(margin, pivot / scale[p])
        inverse = 1.0 / pivot
        copy(part(wide[p], p + 1, n + p + 1), row)
        for i in range(p + 1, n):
            factor, target = wide[i, p] * inverse, part(wide[i], p + 1, n + p + 1)
            for k in range(n):
                target[k] -= factor * row[k]
        root = np.sqrt(inverse)
        for k in range(n):
            a[p, k] = root * wide[p, n + k]
    return margin


@numba.njit(**INNER)
def _columns_for(n: int) -> int:
    """Columns per block: wide blocks make faster products, narrow ones are inverted faster."""
    return 16 if n <= 128 else _MOST_COLUMNS


@shared()
def factorise_rows(raw: Matrix, scaled: Matrix, n: int, scale: Vector, scratch: Vector) -> float:
    """Factorise A = L D L'; for the rows U below A, raw <- U L^-T and scaled <- U L^-T D^-1.

    The first n rows of ``raw`` hold the lower triangle of A. L has identity blocks on its diagonal
    and ``scaled`` below them. D is block diagonal; the inverses of its blocks are not kept, since
    ``raw`` and ``scaled`` together serve instead. ``scratch`` holds ROWS_SCRATCH numbers. Returns
    the margin.
    """
    rows, columns, margin = raw.shape[0], _columns_for(n), 1.0
    for lo in range(0, n, columns):
        hi = min(lo + columns, n)
        size = hi - lo
        if lo > 0:
            left, right = block(scaled, lo, rows, 0, lo), block(raw, lo, hi, 0, lo)
            multiply_transposed(left, right, block(raw, lo, rows, lo, hi), -1.0, 1.0)
        inverse = take(scratch, 0, size, size)
        for i in range(size):
            for j in range(i + 1):
                inverse[i, j] = raw[lo + i, lo + j]
        rest = part(scratch, size * size, scratch.size)
        margin = min(margin, invert(inverse, part(scale, lo, hi), rest))
        if not margin > 0.0:
            return 0.0
        if hi < rows:
            below = block(raw, hi, rows, lo, hi)
            multiply(below, inverse, block(scaled, hi, rows, lo, hi), 1.0, 0.0)
    return margin


@shared()
def divide_rows(rows: Matrix, scaled: Matrix, n: int) -> None:
    """rows <- rows L^-1, for the L of ``factorise_rows``."""
    columns = _columns_for(n)
    for lo in range((n - 1) // columns * columns, -1, -columns):
        hi = min(lo + columns, n)
        if hi < n:
            m, below = rows.shape[0], block(scaled, hi, n, lo, hi)
            multiply(block(rows, 0, m, hi, n), below, block(rows, 0, m, lo, hi), -1.0, 1.0)

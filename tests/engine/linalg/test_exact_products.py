"""Gram matrices in double-double arithmetic, against exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numba
import numpy as np
import pytest

from efface.engine.jit.compilation import KERNEL
from efface.engine.jit.simd import LANES
from efface.engine.linalg.exact_products import (
    add_exact_gram,
    add_precise_products,
    padded_columns,
    row_start,
    unpacked,
)


def test_rows_of_a_triangle_lie_one_behind_the_other():
    for i in range(40):
        assert row_start(i + 1) - row_start(i) == padded_columns(i + 1)
    assert row_start(0) == 0
    assert [padded_columns(n) for n in (1, LANES, LANES + 1)] == [LANES, LANES, 2 * LANES]


@pytest.mark.parametrize("q", [1, 8, 11])
def test_sums_have_thirty_digits_however_they_are_added(q):
    rng = np.random.default_rng(q)
    rows = np.zeros((20, padded_columns(q)))
    rows[:, :q] = rng.normal(size=(20, q)) * 10.0 ** rng.integers(-6, 7, size=(20, 1))
    out = np.zeros(2 * row_start(q))
    add_exact_gram(rows, 12, q, out)
    add_exact_gram(np.ascontiguousarray(rows[12:]), 8, q, out)
    high, low = unpacked(out, q)
    for i in range(q):
        for j in range(i + 1):
            terms = [
                Fraction(a) * Fraction(b) for a, b in zip(*rows.T[[i, j]].tolist(), strict=True)
            ]
            error = abs(Fraction(high[i, j]) + Fraction(low[i, j]) - sum(terms))
            assert error <= Fraction(2) ** -98 * sum(map(abs, terms))
            assert high[i, j] == high[i, j] + low[i, j]


@numba.njit(**{**KERNEL, "cache": False})
def _add(f, at, column, lag, step, factor, less, apart, count):
    add_precise_products(f, at, column, lag, step, factor, less, apart, count)


def test_products_of_numbers_with_low_parts_have_thirty_digits():
    rng = np.random.default_rng(3)
    count, lag, apart = 7, 100, 3
    f = rng.normal(size=300)
    f[lag : 2 * lag] *= 2.0**-55  # what the numbers before lack
    factor, less = 2 * lag, 2 * lag + 40
    f[less:] *= 2.0**-55
    before = f.copy()
    _add(f, 80, 0, lag, LANES, factor, less, apart, count)
    for j in range(LANES):
        pairs = [
            (
                Fraction(before[factor + k * apart]) + Fraction(before[less + k * apart]),
                Fraction(before[k * LANES + j]) + Fraction(before[lag + k * LANES + j]),
            )
            for k in range(count)
        ]
        terms = [Fraction(before[80 + j]) + Fraction(before[80 + lag + j])]
        terms += [a * b for a, b in pairs]
        error = abs(Fraction(f[80 + j]) + Fraction(f[80 + lag + j]) - sum(terms))
        assert error <= Fraction(2) ** -98 * sum(map(abs, terms))
    changed = np.flatnonzero(f != before)
    assert set(changed) <= {*range(80, 80 + LANES), *range(80 + lag, 80 + lag + LANES)}

"""SIMD operations on entries, against NumPy."""

import numba
import numpy as np
import pytest

from efface.engine.jit.simd import (
    BLOCKS,
    LANES,
    column_forms,
    set_difference,
    set_inverse_root,
    set_sum,
    take_higher,
    take_lower,
)


def test_arithmetic_and_comparison_of_entries():
    rng = np.random.default_rng(1)
    f = rng.normal(size=(6, LANES))
    a, b = f[0].copy(), f[1].copy()
    apply(set_sum, f, 2, 0, 1)
    apply(set_difference, f, 3, 0, 1)
    f[4], f[5] = b, b
    apply(take_higher, f, 4, 0)
    apply(take_lower, f, 5, 0)
    expected = [a, b, a + b, a - b, np.maximum(a, b), np.minimum(a, b)]
    np.testing.assert_array_equal(f, expected)


def test_inverse_root_of_an_entry():
    f = np.zeros((2, LANES))
    f[0] = np.arange(1.0, 9.0)
    apply(set_inverse_root, f, 1, 0)
    np.testing.assert_allclose(f[1], f[0] ** -0.5, rtol=1e-15)


@pytest.mark.parametrize("d", [1, 2, 3, 6, 7])
def test_forms_of_columns(d):
    rng, side = np.random.default_rng(d), BLOCKS * LANES
    rows, a = rng.normal(size=(d + 2, side + 8)), rng.normal(size=(d, d))
    a = np.tril(a)
    slope, start = rng.normal(size=(2, d))
    where, before = slice(5, 5 + side), rows.copy()
    u = rows[:d, where]
    want = np.vstack([((a @ u + start[:, None]) ** 2).sum(axis=0), slope @ u])
    apply(column_forms, rows, np.vstack([a, slope, start]), 5, side + 8, d)
    np.testing.assert_allclose(rows[d:, where], want, rtol=1e-12, atol=1e-13)
    rows[d:, where] = before[d:, where]
    np.testing.assert_array_equal(rows, before)


def apply(operation, f, *places):
    """Call an operation from a compiled function: operations have no entry point for Python."""
    if numba.config.DISABLE_JIT:
        operation(f, *places)
        return
    names = ", ".join(f"a{i}" for i in range(len(places)))
    namespace = {"operation": operation}
    exec(f"def call(f, {names}): operation(f, {names})", namespace)
    numba.njit(namespace["call"])(f, *places)

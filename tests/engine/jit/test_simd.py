"""SIMD operations on entries, against NumPy."""

import numba
import numpy as np

from efface.engine.jit.simd import (
    LANES,
    quadratic_forms,
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


def test_quadratic_forms_of_columns():
    rng = np.random.default_rng(2)
    rows, a = rng.normal(size=(4, 72)), rng.normal(size=(3, 3))
    a += a.T
    want = np.einsum("ji,jk,ki->i", rows[:3], a, rows[:3])[5:69]
    before = rows.copy()
    apply(quadratic_forms, rows, np.tril(a), 5, 72, 3)
    np.testing.assert_allclose(rows[3, 5:69], want, rtol=1e-13)
    rows[3, 5:69] = before[3, 5:69]
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

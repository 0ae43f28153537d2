"""BLAS products, against NumPy."""

import numpy as np
import pytest

from efface.engine.jit.blas import add_gram, multiply, multiply_transposed, subtract_products


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 5, 2), (17, 4, 9)])
def test_products_of_slices_of_larger_arrays(rng, shape):
    m, k, n = shape
    a, b, out = (
        rng.normal(size=(m, k + 2)),
        rng.normal(size=(k, n + 3)),
        rng.normal(size=(m, n + 1)),
    )
    expected = 2.0 * a[:, 1 : k + 1] @ b[:, :n] - 0.5 * out[:, 1:]
    multiply(a[:, 1 : k + 1], b[:, :n], out[:, 1:], 2.0, -0.5)
    np.testing.assert_allclose(out[:, 1:], expected, rtol=1e-13, atol=1e-13)


def test_products_with_a_transposed_matrix(rng):
    a, b, out = rng.normal(size=(4, 6)), rng.normal(size=(3, 6)), np.zeros((4, 3))
    multiply_transposed(a, b, out, 1.0, 0.0)
    np.testing.assert_allclose(out, a @ b.T, rtol=1e-13, atol=1e-13)


def test_gram_matrices_write_the_lower_triangle_only(rng):
    rows, out = rng.normal(size=(7, 4)), np.full((4, 4), 9.0)
    add_gram(rows, out)
    np.testing.assert_allclose(np.tril(out), np.tril(rows.T @ rows + 9.0), rtol=1e-13)
    assert (out[np.triu_indices(4, 1)] == 9.0).all()
    subtract_products(np.ascontiguousarray(rows.T), out)
    np.testing.assert_allclose(np.tril(out), np.tril(np.full((4, 4), 9.0)), atol=1e-12)


def test_empty_products_change_nothing():
    out = np.ones((2, 2))
    add_gram(np.zeros((0, 2)), out)
    multiply(np.zeros((0, 3)), np.zeros((3, 2)), out[:0], 1.0, 0.0)
    assert (out == 1.0).all()

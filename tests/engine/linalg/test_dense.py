"""Factorisations and inverses, against NumPy."""

import numpy as np
import pytest
from designs import kahan

from efface.engine.linalg.dense import (
    CLEAR,
    ROWS_SCRATCH,
    divide_rows,
    factorise,
    factorise_rows,
    invert,
    invert_root,
    lopsided,
    solve,
)


def positive_definite(n, seed=0, condition=1.0):
    rng = np.random.default_rng(seed)
    q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    return q * np.geomspace(1.0, 1.0 / condition, n) @ q.T


def margin_of(a):
    """The smallest 1 - R^2 of a column on all others; where pivots are clear, on those before."""
    pivots = (np.diag(np.linalg.cholesky(a)) ** 2 / np.diag(a)).min()
    return float((1.0 / (np.diag(np.linalg.inv(a)) * np.diag(a))).min()), float(pivots)


@pytest.mark.parametrize("n", [1, 2, 23, 24, 25, 60])
def test_inverse_is_symmetric_and_equals_numpy(n):
    a = positive_definite(n, condition=100.0)
    inverse = np.tril(a)
    margin = invert(inverse, np.diag(a).copy(), np.empty(n * n + 96 * n))
    np.testing.assert_allclose(inverse, np.linalg.inv(a), rtol=1e-10, atol=1e-10)
    assert (inverse == inverse.T).all()
    assert margin == pytest.approx(margin_of(a)[0], rel=1e-9)


@pytest.mark.parametrize("n", [1, 7, 24, 25, 60])
def test_the_root_of_the_inverse_is_a_triangle(n):
    a = positive_definite(n, condition=100.0)
    root = np.tril(a)
    assert invert_root(root, np.diag(a).copy(), np.empty(n * n + 96 * n)) > 0.0
    np.testing.assert_allclose(root.T @ root, np.linalg.inv(a), rtol=1e-10, atol=1e-10)
    assert not np.triu(root, 1).any()


def test_inverse_is_as_accurate_as_the_factorisation():
    """Methods by partial inverses would have an error of 1e-4 here instead of 1e-9."""
    a = positive_definite(40, condition=1e6)
    x = np.linspace(-1.0, 1.0, 40)
    inverse = np.tril(a)
    invert(inverse, np.diag(a).copy(), np.empty(40 * 40 + 96 * 40))
    np.testing.assert_allclose(inverse @ (a @ x), x, atol=1e-8)


@pytest.mark.parametrize("n", [1, 2, 9, 30])
def test_factorise_and_solve(n):
    a, b = positive_definite(n, condition=10.0), np.arange(1.0, n + 1)
    factor, x = np.triu(a), b.copy()
    margin = factorise(factor, np.empty(n), np.diag(a).copy())
    solve(factor, x)
    np.testing.assert_allclose(a @ x, b, rtol=1e-12)
    least, pivots = margin_of(a)
    assert margin == pytest.approx(pivots if pivots >= CLEAR else least, rel=1e-12)


@pytest.mark.parametrize(("n", "s"), [(8, 0.6), (12, 0.7), (25, 0.85), (60, 0.98), (120, 0.994)])
def test_the_margin_shows_the_condition_of_a_kahan_matrix(n, s):
    r = kahan(n, s)
    a = r.T @ r
    least, pivots = margin_of(a)
    assert pivots > 20 * least
    inverse, factor, scale = np.tril(a), np.triu(a), np.diag(a).copy()
    assert invert(inverse, scale, np.empty(n * n + 96 * n)) == pytest.approx(least, rel=1e-2)
    assert factorise(factor, np.empty(n), scale) == pytest.approx(least, rel=1e-2)


@pytest.mark.parametrize(
    "a", [np.zeros((2, 2)), np.ones((3, 3)), -np.eye(2), np.full((2, 2), np.nan)]
)
def test_matrices_that_are_not_positive_definite_have_margin_zero(a):
    n = len(a)
    scale = np.ones(n)
    assert factorise(a.copy(), np.empty(n), scale) == 0.0
    assert invert(a.copy(), scale, np.empty(n * n + 96 * n)) == 0.0


@pytest.mark.parametrize(("n", "k"), [(3, 2), (20, 7), (40, 5), (130, 3)])
def test_rows_below_a_matrix_are_divided_by_its_factor(n, k):
    rng = np.random.default_rng(1)
    a, u = positive_definite(n, condition=30.0), rng.normal(size=(k, n))
    raw, scaled = np.vstack([np.tril(a), u]), np.zeros((n + k, n))
    factorise_rows(raw, scaled, n, np.diag(a).copy(), np.empty(ROWS_SCRATCH))
    np.testing.assert_allclose(scaled[n:] @ raw[n:].T, u @ np.linalg.solve(a, u.T), rtol=1e-9)
    answer = scaled[n:].copy()
    divide_rows(answer, scaled, n)
    np.testing.assert_allclose(answer, np.linalg.solve(a, u.T).T, rtol=1e-8, atol=1e-10)


def test_lopsided_squared_lengths():
    assert not lopsided(np.array([1.0, 1e-18]))
    assert lopsided(np.array([1.0, 1e-21]))
    assert not lopsided(np.array([]))
    assert lopsided(np.array([1e-250, 1e-250]))

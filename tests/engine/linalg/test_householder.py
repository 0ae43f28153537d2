"""Reductions are orthogonal, and keep the digits of small features and small singular values."""

from __future__ import annotations

import numpy as np
import pytest

from efface.engine.linalg.householder import bidiagonalise, tridiagonalise


def tridiagonal(A, b):
    """Diagonal, entries beside it, Q'b, and Q itself."""
    d, a = len(A), np.tril(A).copy()
    diagonal, beside, factor, pull = np.zeros(d), np.zeros(d), np.zeros(d), b.copy()
    tridiagonalise(a, diagonal, beside, factor, pull, np.zeros((3, d)))
    Q = np.eye(d)
    for k in range(d - 1):
        u = np.zeros(d)
        u[k + 1 :] = a[k, k + 1 :]
        Q = Q @ (np.eye(d) - factor[k] * np.outer(u, u))
    return diagonal, beside[: d - 1], pull, Q


@pytest.mark.parametrize("d", [1, 2, 3, 4, 9, 30])
@pytest.mark.parametrize("kind", ["full rank", "diagonal", "rank 1", "zeros"])
def test_the_form_times_q_is_the_matrix(d, kind):
    rng = np.random.default_rng(d)
    X = rng.normal(size=(2 * d, d))
    A = {
        "full rank": X.T @ X,
        "diagonal": np.diag(np.arange(1.0, d + 1)),
        "rank 1": np.outer(X[0], X[0]),
        "zeros": np.zeros((d, d)),
    }[kind]
    b = rng.normal(size=d)
    diagonal, beside, pull, Q = tridiagonal(A, b)
    T = np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1)
    size = max(np.abs(A).max(), 1.0)
    assert np.abs(Q @ T @ Q.T - A).max() <= 1e-13 * size
    assert np.abs(Q.T @ b - pull).max() <= 1e-13
    assert np.abs(Q.T @ Q - np.eye(d)).max() <= 1e-13


def test_small_features_behind_large_ones_keep_their_digits():
    rng = np.random.default_rng(0)
    scale = np.geomspace(1e4, 1e-4, 6)
    X = rng.normal(size=(40, 6))
    diagonal, beside, _, _ = tridiagonal((X * scale).T @ (X * scale), np.zeros(6))
    log_det = 0.0
    for k in range(6):
        pivot = diagonal[k] - (beside[k - 1] ** 2 / pivot if k else 0.0)  # noqa: F821
        log_det += np.log(pivot)
    expected = np.linalg.slogdet(X.T @ X)[1] + 2 * np.log(scale).sum()
    assert log_det == pytest.approx(expected, rel=1e-13)


def bidiagonal(A, c):
    """B, U'c and V."""
    d = len(A)
    a, pull = A.copy(), c.copy()
    diagonal, beside, factor = np.zeros(d), np.zeros(d), np.zeros(d)
    bidiagonalise(a, diagonal, beside, factor, pull, np.zeros((2, d)))
    V = np.eye(d)
    for k in range(d - 1):
        v = np.concatenate([np.zeros(k + 1), a[k, k + 1 :]])
        V = V @ (np.eye(d) - factor[k] * np.outer(v, v))
    return np.diag(diagonal) + np.diag(beside[: d - 1], 1), pull, V


@pytest.mark.parametrize("d", [1, 2, 3, 9, 30])
@pytest.mark.parametrize("kind", ["full", "triangular", "graded", "dependent"])
def test_bidiagonal_forms_are_those_of_the_matrix(d, kind):
    rng = np.random.default_rng(d)
    A, c = rng.normal(size=(d, d)), rng.normal(size=d)
    if kind != "full":
        A = np.triu(A)
    if kind == "graded":
        A *= 10.0 ** -np.linspace(0.0, 8.0, d)
    if kind == "dependent":
        A[d // 2] = 0.0
    B, pull, V = bidiagonal(A, c)
    size = np.linalg.norm(A)
    assert pytest.approx(np.eye(d), abs=1e-14) == V.T @ V
    singular = np.linalg.svd(A, compute_uv=False)
    assert np.linalg.svd(B, compute_uv=False) == pytest.approx(singular, abs=1e-14 * size)
    assert V @ (B.T @ pull) == pytest.approx(A.T @ c, abs=1e-13 * size)
    assert pytest.approx(A.T @ A, abs=1e-13 * size**2) == V @ (B.T @ B) @ V.T
    assert pull @ pull == pytest.approx(c @ c, rel=1e-13)

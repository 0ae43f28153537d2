"""A reduction to tridiagonal form is orthogonal, and keeps the digits of small features."""

from __future__ import annotations

import numpy as np
import pytest

from efface.engine.linalg.tridiagonal import tridiagonalise


def reduced(A, b):
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
    diagonal, beside, pull, Q = reduced(A, b)
    T = np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1)
    size = max(np.abs(A).max(), 1.0)
    assert np.abs(Q @ T @ Q.T - A).max() <= 1e-13 * size
    assert np.abs(Q.T @ b - pull).max() <= 1e-13
    assert np.abs(Q.T @ Q - np.eye(d)).max() <= 1e-13


def test_small_features_behind_large_ones_keep_their_digits():
    rng = np.random.default_rng(0)
    scale = np.geomspace(1e4, 1e-4, 6)
    X = rng.normal(size=(40, 6))
    diagonal, beside, _, _ = reduced((X * scale).T @ (X * scale), np.zeros(6))
    log_det = 0.0
    for k in range(6):
        pivot = diagonal[k] - (beside[k - 1] ** 2 / pivot if k else 0.0)  # noqa: F821
        log_det += np.log(pivot)
    expected = np.linalg.slogdet(X.T @ X)[1] + 2 * np.log(scale).sum()
    assert log_det == pytest.approx(expected, rel=1e-13)

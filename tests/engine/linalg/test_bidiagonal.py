"""Bidiagonal forms against singular values and products."""

from __future__ import annotations

import numpy as np
import pytest

from efface.engine.linalg.bidiagonal import bidiagonalise


def reduced(A, c):
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
def test_forms_are_those_of_the_matrix(d, kind):
    rng = np.random.default_rng(d)
    A, c = rng.normal(size=(d, d)), rng.normal(size=d)
    if kind != "full":
        A = np.triu(A)
    if kind == "graded":
        A *= 10.0 ** -np.linspace(0.0, 8.0, d)
    if kind == "dependent":
        A[d // 2] = 0.0
    B, pull, V = reduced(A, c)
    size = np.linalg.norm(A)
    assert pytest.approx(np.eye(d), abs=1e-14) == V.T @ V
    singular = np.linalg.svd(A, compute_uv=False)
    assert np.linalg.svd(B, compute_uv=False) == pytest.approx(singular, abs=1e-14 * size)
    assert V @ (B.T @ pull) == pytest.approx(A.T @ c, abs=1e-13 * size)
    assert pytest.approx(A.T @ A, abs=1e-13 * size**2) == V @ (B.T @ B) @ V.T
    assert pull @ pull == pytest.approx(c @ c, rel=1e-13)

"""Rotations of rows give NumPy's singular values, and those of small rows to their last digits."""

from __future__ import annotations

import numpy as np
import pytest

from efface.engine.linalg.jacobi import decompose_rows


def decomposed(A, y):
    a, pull, squares = A.copy(), y.copy(), np.zeros(len(A))
    assert decompose_rows(a, pull, squares)
    return a, pull, squares


@pytest.mark.parametrize(("n", "d"), [(1, 1), (1, 4), (3, 3), (4, 3), (6, 5), (20, 30)])
@pytest.mark.parametrize("kind", ["full rank", "repeated", "zeros", "graded"])
def test_the_decomposition_is_that_of_the_rows(n, d, kind):
    rng = np.random.default_rng([n, d])
    A, y = rng.normal(size=(n, d)), rng.normal(size=n)
    if kind == "repeated":
        A[n // 2 :] = A[0]
    elif kind == "zeros":
        A[:] = 0.0
    elif kind == "graded":
        A *= 10.0 ** -np.arange(n)[:, np.newaxis]
    directions, pull, squares = decomposed(A, y)
    sigma = np.zeros(n)
    sigma[: min(n, d)] = np.linalg.svd(A, compute_uv=False)
    found = np.sort(np.sqrt(squares))[::-1]
    assert found == pytest.approx(sigma, rel=1e-12, abs=1e-14 * max(sigma[0], 1e-300))
    used = squares > 0.0
    assert used.sum() == np.linalg.matrix_rank(A)
    eye = np.eye(used.sum())
    assert directions[used] @ directions[used].T == pytest.approx(eye, abs=1e-13)
    assert not directions[~used].any()
    assert pull @ pull == pytest.approx(y @ y, rel=1e-12)
    # A'y = V S U'y
    along = directions.T @ (np.sqrt(squares) * pull)
    assert along == pytest.approx(A.T @ y, abs=1e-13 * max(1.0, np.abs(A.T @ y).max()))


def test_small_singular_values_keep_their_digits():
    A = np.array([[1.0, 1.0], [1e-9, -1e-9]])
    _, _, squares = decomposed(A, np.ones(2))
    assert np.sort(squares) == pytest.approx([2e-18, 2.0], rel=1e-14)

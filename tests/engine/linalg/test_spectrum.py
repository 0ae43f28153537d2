"""Leverages, ranks and conditioning of rows, against singular values."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from efface.engine.linalg.spectrum import (
    conditioning,
    interpolated,
    rank_of,
    spectrum,
    weighted_system,
)

intercepts = pytest.mark.parametrize("intercept", [False, True])


def normal(n, d):
    return np.random.default_rng([0, n, d]).normal(size=(n, d))


@pytest.mark.parametrize("n", [2, 4, 5])
@intercepts
def test_leverages_of_independent_rows(n, intercept):
    X = normal(n + 1, 5)
    rows, new = X[:n], X[n]
    fast = interpolated(rows, np.ones(n), intercept, new)
    system = weighted_system(rows, np.zeros(n), np.ones(n), intercept)
    slow = spectrum(system, 0.0, n - intercept).products(new, rows[0])
    assert fast == pytest.approx(slow, rel=1e-9)
    assert np.isinf(fast.new_or_infinite) == (n - intercept < 5)


@intercepts
@pytest.mark.parametrize(("n", "d"), [(1, 3), (3, 5), (5, 5), (6, 5), (40, 5)])
def test_rank_of_ordinary_rows_needs_no_singular_values(n, d, intercept, monkeypatch):
    X = normal(n, d)
    want = np.linalg.matrix_rank(X - X.mean(axis=0) * intercept)
    monkeypatch.setattr(np.linalg, "svd", None)
    rank, newest = rank_of(X, np.ones(n), intercept)
    assert rank == want
    assert newest > 0


@pytest.mark.parametrize(
    "columns",
    [
        [1.0, 1.0, 0.0],
        [1e-4, 1.0, 1e4],
        [1e-16, 1.0, 1.0],
        [1e-30, 1.0, 1.0],
    ],
)
def test_full_rank_does_not_depend_on_units(columns):
    X = normal(30, 3) * columns
    assert rank_of(X, np.ones(30), False)[0] == np.count_nonzero(columns)
    assert rank_of(X[:3], np.ones(3), False)[0] == np.linalg.matrix_rank(X[:3])


def test_rounding_around_a_large_mean_does_not_add_to_the_rank():
    X = normal(40, 3)
    X[:, 1] = 1e8 / 3
    assert rank_of(X, np.ones(40), True) == (2, 0)


def test_conditioning_equals_that_of_singular_values():
    for scale in (1.0, 1e-5, 1e-9):
        X = normal(50, 3) * [1.0, 1.0, scale]
        sigma = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)
        phi2, condition = conditioning(X, np.ones(50), True)
        assert phi2 == pytest.approx(sigma[-1] ** 2 / 50, rel=1e-9)
        assert condition == pytest.approx(sigma[0] / sigma[-1], rel=1e-9)


def test_conditioning_of_rank_deficient_rows():
    X = normal(50, 3)
    assert conditioning(X[:2], np.ones(2), False) == (0.0, np.inf)
    assert conditioning(X[:3], np.ones(3), True) == (0.0, np.inf)
    X[:, 2] = X[:, 1]
    assert conditioning(X, np.ones(50), False) == (0.0, np.inf)
    assert np.isnan(conditioning(X[:0], np.ones(0), False)).all()
    assert conditioning(np.ones((5, 2)), np.ones(5), True) == (0.0, np.inf)  # equal rows


WEIGHTS = np.array([2.0, 0.5, 3.0, 1.0, 4.0, 0.1])


@pytest.mark.parametrize("n", [2, 4, 5])
@intercepts
def test_leverages_of_weighted_independent_rows(n, intercept):
    X = normal(n + 1, 5)
    rows, new, w = X[:n], X[n], WEIGHTS[:n]
    fast = interpolated(rows, w, intercept, new)
    system = weighted_system(rows, np.zeros(n), w, intercept)
    slow = spectrum(system, 0.0, n - intercept).products(new, rows[0])
    slow = slow._replace(old=w[0] * slow.old, cross=np.sqrt(w[0]) * slow.cross)
    assert fast == pytest.approx(slow, rel=1e-9)


@intercepts
def test_integer_weights_equal_repeated_rows(intercept):
    X, w = normal(40, 3), np.random.default_rng(0).integers(0, 4, size=40).astype(float)
    repeated = np.repeat(X, w.astype(int), axis=0)
    assert rank_of(X, w, intercept)[0] == 3
    assert conditioning(X, w, intercept) == pytest.approx(
        conditioning(repeated, np.ones(len(repeated)), intercept), rel=1e-9
    )
    w[2:] = 0.0
    assert rank_of(X, w, intercept) == (2 - intercept, 0)
    assert conditioning(X, w, intercept) == (0.0, np.inf)
    assert np.isnan(conditioning(X, 0.0 * w, intercept)).all()


def test_newest_rows_with_full_rank_for_very_different_weights():
    rng = np.random.default_rng(1)
    for _ in range(200):
        n = int(rng.integers(4, 20))
        X, w = rng.normal(size=(n, 3)) + 5.0, 10.0 ** rng.uniform(-8, 8, size=n)
        rank, newest = rank_of(X, w, True)
        rows = X - np.average(X, axis=0, weights=w)
        rows = rows - np.average(rows, axis=0, weights=w)
        assert rank == np.linalg.matrix_rank(np.sqrt(w)[:, None] * rows)
        if newest:
            part, v = X[n - newest :], w[n - newest :]
            assert rank == rank_of(part, v, True)[0]


@intercepts
def test_leverages_of_independent_rows_next_to_giant_ones(intercept):
    rows = np.array([[1.0, 2.0, 0.0, 1.0], [3e8, -1e8, 2e8, 1e8], [0.0, 1.0, 1.0, -2.0]])
    new = np.array([1.0, -1.0, 2.0, 0.5])
    found = interpolated(rows, np.ones(3), intercept, new)
    first = np.vstack([rows, new])
    free = np.full((4, int(intercept)), 1e40)  # its coefficient costs next to nothing
    a = shares(np.hstack([first, free]))
    assert (found.new, found.cross) == pytest.approx((a @ a, a[0]), rel=1e-7)


def shares(rows):
    """Of the first rows in the last one, (AA')^-1 A new, in 200 digits."""
    with mpmath.workdps(200):
        *A, new = rows.tolist()
        A, new = mpmath.matrix(A), mpmath.matrix(new)
        return np.array([float(v) for v in mpmath.lu_solve(A * A.T, A * new)])

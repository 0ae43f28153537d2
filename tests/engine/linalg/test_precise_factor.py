"""Triangular factors from Gram matrices in double-double precision, against QR in 60 digits."""

from __future__ import annotations

import mpmath
import numba
import numpy as np
import pytest
from designs import DEPENDENT, DESIGNS, sample
from twins import regression as twin

from efface.engine.jit.compilation import KERNEL
from efface.engine.jit.views import weighed
from efface.engine.linalg.dense import copy, invert_upper
from efface.engine.linalg.precise_factor import AROUND, LEFT, divided_square
from efface.engine.linalg.precise_solve import Window, clear_system
from efface.engine.sums.precise_sums import allocate_precise, factor_range, open_precise


@numba.njit(**{**KERNEL, "cache": False})
def _factor(store, x, y, penalty, intercept, factor, target, squares, inverse, ones):
    s = open_precise(store)
    asked = Window(x.shape[0], penalty, intercept, False, False)
    rank = factor_range(s, x, y, 0, x.shape[0], asked)
    copy(s.system.target, target)
    for i in range(target.size):
        copy(s.system.factor[i], factor[i])
    squares[0], squares[1] = s.system.residual[LEFT], s.system.residual[AROUND]
    if rank == target.size:
        invert_upper(s.system.factor, s.system.null)
        for i in range(target.size):
            copy(s.system.null[i], inverse[i])
        squares[2] = divided_square(s.system, ones)
    clear_system(s.system, s.total)
    return rank


def factor(X, y, penalty=0.0, intercept=True):
    """R, Q'y, what is left of the responses, R^-1, |R'^-1 ones|^2, and the rank."""
    d = X.shape[1]
    r, target, squares, inverse = np.zeros((d, d)), np.zeros(d), np.zeros(3), np.zeros((d, d))
    store = allocate_precise(d, intercept, len(y))
    into = r, target, squares, inverse, np.ones(d)
    rank = _factor(store, X, weighed(y), penalty, intercept, *into)
    return r, target, squares, inverse, rank


def directly(X, y, penalty, intercept):
    """R with a positive diagonal, Q'y and what is left, in 60 digits."""
    with mpmath.workdps(60):
        A, b = mpmath.matrix(X.tolist()), mpmath.matrix(y.tolist())
        n, d = X.shape
        if intercept:
            for j in range(d):
                mean = mpmath.fsum(A[i, j] for i in range(n)) / n
                for i in range(n):
                    A[i, j] -= mean
            mean = mpmath.fsum(b) / n
            b = mpmath.matrix([value - mean for value in b])
        L = mpmath.cholesky(A.T * A + mpmath.mpf(penalty) * mpmath.eye(d))
        target = mpmath.lu_solve(L, A.T * b)
        left = mpmath.fsum(v * v for v in b) - mpmath.fsum(v * v for v in target)
        R = np.array(L.T.tolist(), dtype=float)
        return R, np.array(target.tolist(), dtype=float).ravel(), float(left)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("penalty", [0.0, 1e-3])
@pytest.mark.parametrize("name", sorted(set(DESIGNS) - {"nearly a copy"}))
def test_factors_keep_the_digits_of_the_rows(name, penalty, intercept):
    X, y = sample(name, 40, seed=7)
    if intercept:
        X = X[:, np.ptp(X, axis=0) > 0.0].copy()
    R, target, left = directly(X, y, penalty, intercept)
    found, pull, squares, inverse, rank = factor(X, y, penalty, intercept)
    assert rank == X.shape[1]
    # The rounding of deviations from a mean, and of R itself, is multiplied by the condition.
    assert np.triu(found) == pytest.approx(R, rel=1e-11, abs=1e-13 * np.abs(R).max())
    assert np.diag(found) == pytest.approx(np.diag(R), rel=1e-10)
    assert pull == pytest.approx(target, rel=1e-8, abs=1e-12 * np.abs(target).max())
    assert squares[0] == pytest.approx(left, rel=1e-10)
    assert np.triu(found) @ inverse == pytest.approx(np.eye(rank), abs=1e-9)
    assert squares[2] == pytest.approx(np.sum(inverse.sum(axis=0) ** 2), rel=1e-9)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", sorted(DEPENDENT))
def test_dependent_features_have_no_row(name, intercept):
    X, y = sample(name, 60, seed=2)
    found, pull, squares, _, rank = factor(X, y, 0.0, intercept)
    Z, b = (twin.centred(X), y - y.mean()) if intercept else (X, y)
    assert rank == twin.minimum_norm(X, y, intercept)[2]
    assert np.count_nonzero(np.diag(found)) == rank
    R = np.triu(found)
    gram = R.T @ R
    assert gram == pytest.approx(Z.T @ Z, abs=1e-12 * np.abs(Z.T @ Z).max())
    assert R.T @ pull == pytest.approx(Z.T @ b, abs=1e-11 * np.abs(Z.T @ b).max())
    rest = b - Z @ np.linalg.lstsq(Z, b, rcond=1e-12)[0]
    assert squares[0] == pytest.approx(rest @ rest, rel=1e-10)
    assert squares[1] == pytest.approx(b @ b, rel=1e-12)

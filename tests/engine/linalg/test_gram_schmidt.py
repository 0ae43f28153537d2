"""Factors of ill-conditioned windows, against exact fractions."""

import numba
import numpy as np
import pytest
from designs import DESIGNS, sample
from twins.inference import condition, infer

from efface.engine.jit.compilation import KERNEL
from efface.engine.jit.records import words
from efface.engine.jit.views import weighed
from efface.engine.linalg.gram_schmidt import (
    has_full_rank,
    inverse_diagonal,
    lay_out_factor,
    lay_out_solution,
    origin_variance,
    orthogonalise,
    place_columns,
    refit_full_rank,
    squared_residuals,
)


@numba.njit(**KERNEL)
def factorise(x, y, intercept, coef, level, found, store):
    """Diagonal of the inverse, variance at the origin, two residual squares; is the rank full?"""
    n, d = x.shape
    f = lay_out_factor(store, 0, d, d + (1 if intercept else 0), n)[0]
    place_columns(f, x, y, intercept)
    if not orthogonalise(f):
        return False
    p = f.inverse.shape[0]
    for j in range(p):
        found[j] = inverse_diagonal(f, j)
    found[p] = origin_variance(f) if intercept else 0.0
    found[p + 1] = f.r[p, p] ** 2
    found[p + 2] = squared_residuals(x, y, coef, level, intercept)
    return has_full_rank(f, intercept, n)


def factorised(X, y, intercept, weights=None, theta=None):
    d, p = X.shape[1], X.shape[1] + intercept
    theta = np.zeros(p) if theta is None else theta
    found, level = np.empty(p + 3), float(theta[d]) if intercept else 0.0
    store = np.empty(words(lay_out_factor, d, p, len(y)))
    responses = weighed(y, weights)
    full = factorise(X, responses, intercept, theta[:d].copy(), level, found, store)
    return bool(full), found


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", DESIGNS)
def test_factors_give_the_exact_inverse_and_residuals(name, intercept, weighted):
    X, y = sample(name, 40, seed=5)
    w = np.random.default_rng(6).uniform(0.0, 3.0, size=40) if weighted else None
    cond = condition(X, intercept, w)
    if cond > 1e12:
        assert not factorised(X, y, intercept, w)[0]
        return
    exact = infer(X, y, intercept, w)
    full, found = factorised(X, y, intercept, w, exact.theta)
    d, tolerance = X.shape[1], max(1e-14 * cond, 1e-13)
    assert full
    np.testing.assert_allclose(found[intercept : d + intercept], exact.variance[:d], rtol=tolerance)
    if intercept:
        assert found[d + 1] == pytest.approx(exact.variance[d], rel=tolerance)
    assert found[-2] == pytest.approx(exact.unexplained, rel=tolerance)
    assert found[-1] == pytest.approx(exact.unexplained, rel=1e-13)


def test_residuals_of_1e_10_of_the_response_are_exact():
    X, y = sample("constant and price", 40, noise=1e-10)
    exact = infer(X[:, 1:], y, True)
    _, found = factorised(X[:, 1:].copy(), y, True, theta=exact.theta)
    assert found[-1] == pytest.approx(exact.unexplained, rel=1e-9)


@pytest.mark.parametrize("n", [5, 40, 300])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("kind", ["copy", "sum", "zeros", "constant", "one-hot"])
def test_rank_deficient_columns_are_recognised(kind, intercept, n):
    rng = np.random.default_rng(n)
    for _ in range(20):
        X = rng.normal(size=(n, 4)) * 10.0 ** rng.uniform(-4, 4, size=4)
        if kind == "one-hot":
            X = np.column_stack([np.eye(3)[rng.integers(0, 3, n)], np.ones(n)])
        elif kind in ("zeros", "constant"):
            X[:, rng.integers(4)] = 0.0 if kind == "zeros" else 1 / 3
        else:
            X[:, 3] = X[:, 0] if kind == "copy" else X[:, :3].sum(axis=1)
        full = factorised(X, rng.normal(size=n), intercept)[0]
        assert full == (kind == "constant" and not intercept and n > 4)


@pytest.mark.parametrize("value", [3.7, 0.1, -1e6 / 3.0])
@pytest.mark.parametrize("n", [20, 500, 3000])
def test_a_constant_feature_is_never_independent(n, value):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 3))
    X[:, 0] = value
    y = X @ [0.0, 1.0, 2.0] + rng.normal(size=n)
    store = np.empty(words(lay_out_factor, 3, 4, n) + words(lay_out_solution, 4, n))
    assert np.isnan(refit_full_rank(X, weighed(y), True, np.empty(3), store))

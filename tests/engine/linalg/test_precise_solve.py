"""Least squares from a Gram matrix in double-double precision, against exact fractions."""

from __future__ import annotations

import numpy as np
import pytest
from designs import DEPENDENT, sample
from twins import regression as twin

from efface.engine.jit.views import weighed
from efface.engine.sums.precise_windows import fit_precisely


def fitted(X, y, penalty=0.0, intercept=True, weights=None):
    """Coefficients, intercept and rank of all rows; None if they are left to the rows."""
    n, d = X.shape
    coef, level, rank = np.full((n, d), np.nan), np.full(n, np.nan), np.zeros(n, np.int64)
    given = X, weighed(y, weights), penalty, intercept
    left = fit_precisely(np.zeros(1, np.int64), np.array([n - 1]), *given, coef, level, rank)
    return None if left.size else (coef[-1], level[-1], rank[-1])


def correlated(distance, n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X[:, 1] = X[:, 0] + distance * X[:, 1]
    return X, X @ [1.0, -2.0, 3.0] + rng.normal(size=n)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("distance", [1.0, 1e-2, 1e-4, 1e-5])
def test_nearly_dependent_features_keep_all_digits(distance, intercept, weighted):
    X, y = correlated(distance)
    w = np.random.default_rng(1).uniform(0.1, 4.0, size=len(y)) if weighted else None
    coef, level, rank = fitted(X, y, 0.0, intercept, w)
    right, base = twin.solve_exactly(X, y, 0.0, intercept, w)
    # Weights are multiplied in by their rounded roots.
    limit = 1e-12 if not weighted else 1e-15 / distance**2 + 1e-14
    assert coef == pytest.approx(right, rel=limit)
    assert level == pytest.approx(base, rel=limit)
    assert rank == 3


@pytest.mark.parametrize("penalty", [1e-6, 1.0, 1e6])
def test_penalised_fits_keep_all_digits(penalty):
    X, y = correlated(1e-7)
    right, base = twin.solve_exactly(X, y, penalty, True)
    coef, level, rank = fitted(X, y, penalty)
    assert coef == pytest.approx(right, rel=1e-13)
    assert level == pytest.approx(base, rel=1e-13)
    assert rank == -1


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", DEPENDENT)
def test_dependent_features_get_the_coefficients_of_minimum_norm(name, intercept):
    X, y = sample(name, 60, seed=2)
    coef, level, rank = fitted(X, y, 0.0, intercept)
    right, base, full = twin.minimum_norm(X, y, intercept)
    scale = np.abs(right).max()
    assert coef == pytest.approx(right, rel=1e-12, abs=1e-13 * scale)
    assert level == pytest.approx(base, rel=1e-12, abs=1e-13)
    assert rank == full


def test_units_that_are_powers_of_two_change_no_bit():
    X, y = correlated(1e-4)
    coef, level, _ = fitted(X, y)
    units = np.array([2.0**40, 2.0**-30, 2.0**3])
    scaled, same, _ = fitted(X * units, y)
    assert (scaled * units == coef).all()
    assert same == pytest.approx(level, rel=1e-14)


def test_features_far_from_zero_keep_their_digits():
    X, y = correlated(1e-3)
    right, base = twin.solve_exactly(X + 2.0**33, y, 0.0, True)
    coef, level, _ = fitted(X + 2.0**33, y)
    assert coef == pytest.approx(right, rel=1e-12)
    assert level == pytest.approx(base, rel=1e-12)


def nearly_null(X):
    X[:, 1] = X[:, 0] * (1.0 + 1e-9 * np.arange(len(X)) / len(X))


def lopsided(X):
    X[:, 1] = X[:, 0]
    X[:, 2] *= 1e-14


def nearly_constant(X):
    X[:, 1] = 1.0 + 2.0**-47 * (np.arange(len(X)) % 2)


def tiny(X):
    X *= 1e-130


@pytest.mark.parametrize("change", [nearly_null, lopsided, nearly_constant, tiny])
def test_what_only_the_rows_can_tell_is_left_to_them(change):
    X, y = correlated(1.0)
    change(X)
    assert fitted(X, y) is None


def test_at_most_as_many_rows_as_unknowns_are_left_to_the_rows():
    X, y = correlated(1.0, n=4)
    assert fitted(X, y) is None
    assert fitted(X, y, 0.0, False) is not None

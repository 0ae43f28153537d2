"""The reference refit is accurate to the last digits where the rows determine the coefficients."""

from __future__ import annotations

import math

import numpy as np
import pytest
from twins import regression as naive
from twins import scaling as naive_scaling

from efface.diagnostics.reference import refit, refit_standardized


def conditioned(n, d, kappa, seed=0):
    """Rows with a given condition number."""
    rng = np.random.default_rng([seed, n, d])
    u = np.linalg.qr(rng.normal(size=(n, min(n, d))))[0]
    v = np.linalg.qr(rng.normal(size=(d, min(n, d))))[0]
    return (u * np.geomspace(1.0, 1.0 / kappa, min(n, d))) @ v.T, rng


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("lam", [0.0, 1e-6, 1.0, 1e6])
@pytest.mark.parametrize("kappa", [1.0, 1e4, 1e8])
@pytest.mark.parametrize(("n", "d"), [(1, 3), (2, 5), (4, 4), (5, 4), (30, 4)])
def test_the_refit_is_accurate_to_the_last_digits(n, d, kappa, lam, intercept):
    X, rng = conditioned(n, d, kappa)
    X = X + 3.0 * intercept
    y = rng.normal(size=n) + X @ rng.normal(size=d)
    coef, level, _ = naive.regress(X, y, lam, intercept)
    found = refit(X, y, penalty=lam, intercept=intercept)
    assert found.distance(coef, level) <= 1e-14


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("lam", [0.0, 1e-6, 1.0, 1e6])
@pytest.mark.parametrize("spread", [0.0, 1.0, 6.0])
@pytest.mark.parametrize(("n", "d"), [(1, 3), (2, 5), (4, 4), (5, 4), (30, 4)])
def test_the_refit_is_accurate_with_weights(n, d, spread, lam, intercept):
    X, rng = conditioned(n, d, 100.0)
    X = X + 3.0 * intercept
    y = rng.normal(size=n) + X @ rng.normal(size=d)
    w = 10.0 ** rng.uniform(-spread, spread, size=n)
    if n > 4:
        w[2], X[2] = 0.0, 1e9
    coef, level, _ = naive.regress(X, y, lam, intercept, w)
    found = refit(X, y, penalty=lam, intercept=intercept, weights=w)
    assert found.distance(coef, level) <= 1e-13


def test_coefficients_are_0_if_all_weights_are_0():
    X, y = np.eye(3), np.arange(3.0)
    found = refit(X, y, penalty=0.0, intercept=True, weights=np.zeros(3))
    assert (found.coef.tolist(), found.intercept) == ([0.0, 0.0, 0.0], 0.0)


@pytest.mark.parametrize("intercept", [False, True])
def test_the_refit_is_accurate_for_a_condition_of_1e12(intercept):
    X, rng = conditioned(40, 5, 1e12)
    y = rng.normal(size=40)
    coef, level, _ = naive.regress(X, y, 0.0, intercept)
    assert refit(X, y, penalty=0.0, intercept=intercept).distance(coef, level) <= 1e-6


@pytest.mark.parametrize("power", [-150, -90, 90, 150])
@pytest.mark.parametrize("lam", [0.0, 1.0])
@pytest.mark.parametrize("n", [3, 20])
def test_powers_of_two_only_rescale_the_refit(n, lam, power):
    X, rng = conditioned(n, 4, 10.0)
    y = rng.normal(size=n)
    small = refit(X, y, penalty=lam, intercept=True)
    large = refit(X * 2.0**power, y, penalty=lam * 4.0**power, intercept=True)
    assert large.coef * 2.0**power == pytest.approx(small.coef, rel=1e-14, abs=0)
    assert large.intercept == pytest.approx(small.intercept, rel=1e-14)
    assert large.sensitivity == pytest.approx(small.sensitivity, rel=1e-12)


def test_the_refit_is_accurate_for_means_of_1e12_times_the_spread():
    X, rng = conditioned(20, 3, 10.0)
    X, y = X * 4 + 1e12, rng.normal(size=20)
    coef, level, _ = naive.regress(X, y, 0.0, True)
    assert refit(X, y, penalty=0.0, intercept=True).distance(coef, level) <= 1e-14


@pytest.mark.parametrize("penalty", [0.0, 1e-30, 1.0])
def test_dependent_rows_give_the_minimum_norm_solution(penalty):
    X = np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [1.0, 2.0, 0.0]])
    found = refit(X, np.array([1.0, 3.0, 2.0]), penalty=penalty, intercept=False)
    # along (1, 2, 0): least squares of the responses on (1, 2, 1), split 1 : 2
    factor = (1 + 6 + 2) / (6 + penalty / 5) / 5
    assert found.coef == pytest.approx([factor, 2 * factor, 0.0], rel=1e-14, abs=1e-15)


def test_coefficients_of_no_rows_are_0():
    found = refit(np.zeros((0, 2)), np.zeros(0), penalty=0.0, intercept=True)
    assert found.distance(np.zeros(2), 0.0) == 0.0
    assert found.distance(np.array([0.0, 1e-3]), 0.0) == 1e-3


def test_distance_detects_a_change_of_any_coefficient_whatever_its_units():
    X, rng = conditioned(20, 3, 2.0)
    X = X * [1e-4, 1.0, 1e4]
    y = X @ [1e4, 1.0, 1e-4] + 0.1 * rng.normal(size=20)
    found = refit(X, y, penalty=0.0, intercept=True)
    for j in range(3):
        coef = found.coef.copy()
        coef[j] *= 1 + 1e-6
        assert 1e-8 < found.distance(coef, found.intercept) < 1e-5
    assert found.distance(found.coef, found.intercept + 1.0) > 1e-3
    assert found.distance(found.coef * math.nan, found.intercept) == math.inf


def test_distance_detects_a_change_of_the_coefficient_of_a_constant_feature():
    X = np.column_stack([np.arange(5.0), np.full(5, 7.0)])
    found = refit(X, np.arange(5.0), penalty=0.0, intercept=True)
    assert found.coef == pytest.approx([1.0, 0.0], abs=1e-15)
    assert found.distance(np.array([1.0, 0.1]), found.intercept) > 0.1


def test_sensitivity_does_not_depend_on_the_units_of_features():
    X, rng = conditioned(30, 4, 100.0)
    y = rng.normal(size=30)
    plain = refit(X, y, penalty=0.0, intercept=False)
    scaled = refit(X * [1e-4, 1.0, 1e2, 1e4], y, penalty=0.0, intercept=False)
    assert scaled.sensitivity == pytest.approx(plain.sensitivity, rel=1e-6)
    assert plain.sensitivity <= 100.0 * (1 + 1e-9)


@pytest.mark.parametrize("kappa", [1.0, 1e3, 1e6])
def test_rounding_bounds_the_effect_of_the_last_digit_of_the_rows(kappa):
    X, rng = conditioned(20, 3, kappa)
    y = rng.normal(size=20) + X @ rng.normal(size=3)
    found = refit(X, y, penalty=0.0, intercept=False)
    moved = []
    for _ in range(20):
        other = X * (1 + 2.0**-52 * rng.choice([-1, 0, 1], size=X.shape))
        again = refit(other, y, penalty=0.0, intercept=False)
        moved.append(found.distance(again.coef, again.intercept))
    assert max(moved) <= 4 * found.rounding
    assert max(moved) >= 1e-3 * found.rounding


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("lam", [0.0, 2.0])
@pytest.mark.parametrize("n", [1, 3, 30])
def test_standardised_refit_returns_coefficients_of_the_original_features(n, lam, intercept):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 4)) * [1.0, 1e3, 1e-3, 1.0] + [0.0, 1e4, 1.0, 0.0]
    X[:, 3] = 0.1
    y = X @ [1.0, 1e-3, 1e3, 1.0] + rng.normal(size=n)
    coef, level, _ = naive_scaling.regress(X, y, lam, intercept)
    found = refit_standardized(X, y, penalty=lam, intercept=intercept)
    assert found.distance(coef, level) <= 1e-12
    assert found.distance(coef * 1.01, level) > 1e-3 or n == 1


def test_standardised_refit_of_no_rows_is_0():
    found = refit_standardized(np.empty((0, 2)), np.empty(0), penalty=1.0, intercept=True)
    assert found.coef.tolist() == [0.0, 0.0]


def test_a_penalised_feature_in_far_smaller_units_counts_with_many_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60_000, 3)) * [1e11, 1.0, 1.0]
    y = X @ [1e-11, 2.0, 3.0] + rng.normal(size=60_000)
    found = refit(X, y, penalty=1.0, intercept=True)
    Z, around = X - X.mean(axis=0), y - y.mean()
    units = np.array([1e11, 1.0, 1.0])
    gram = (Z / units).T @ (Z / units) + np.diag(1.0 / units**2)
    assert found.coef == pytest.approx(
        np.linalg.solve(gram, (Z / units).T @ around) / units, rel=1e-9
    )
    assert found.sensitivity < 2.0

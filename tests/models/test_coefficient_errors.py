"""Standard errors of a model's coefficients, against statsmodels and the Bayesian posterior."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from twins.inference import infer

from efface import OLS, AutoRidge, Ridge
from efface.models.coefficient_errors import coefficient_errors

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3)) * [1.0, 10.0, 0.1] + [0.0, 5.0, 1.0]
Y = X @ [1.0, 0.2, -3.0] + 2.0 + RNG.normal(size=60)
W = RNG.uniform(0.2, 3.0, size=60)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("weights", [None, W])
def test_least_squares_has_the_errors_of_statsmodels(weights, standardize):
    model = OLS(window=40, standardize=standardize).fit(X, Y, sample_weight=weights)
    found = coefficient_errors(model._alive(), power=float(standardize))
    rows = slice(20, None)
    design = sm.add_constant(X[rows], prepend=False)
    theirs = sm.WLS(Y[rows], design, weights=1.0 if weights is None else weights[rows]).fit()
    np.testing.assert_allclose(found.coef, theirs.bse[:3], rtol=1e-9)
    assert found.intercept == pytest.approx(theirs.bse[3], rel=1e-9)


def test_a_penalty_gives_the_posterior_deviation():
    model = Ridge(alpha=2.0, fit_intercept=False).fit(X, Y)
    inverse = np.linalg.inv(X.T @ X + 2.0 * np.eye(3))
    residual = Y - X @ model.coef_
    scale = residual @ residual / (60 - np.trace(X @ inverse @ X.T))
    found = coefficient_errors(model._alive())
    np.testing.assert_allclose(found.coef, np.sqrt(scale * np.diag(inverse)), rtol=1e-9)
    assert np.isnan(found.intercept)


def test_rows_that_do_not_determine_coefficients_give_no_errors():
    for rows in (0, 2, 4):
        model = OLS().partial_fit(X[:rows], Y[:rows])
        assert np.isnan(coefficient_errors(model._alive()).coef).all()
    twice = np.column_stack([X, X[:, 0]])
    assert np.isnan(coefficient_errors(OLS().fit(twice, Y)._alive()).coef).all()


@pytest.mark.parametrize("intercept", [False, True])
def test_a_selected_penalty_applies_to_features_divided_by_roots_of_deviations(intercept):
    model = AutoRidge(fit_intercept=intercept).fit(X, Y)
    mean = X.mean(axis=0) if intercept else np.zeros(3)
    root = np.sqrt(np.sqrt(((X - mean) ** 2).mean(axis=0)))
    Z, y = (X - mean) / root, Y - (Y.mean() if intercept else 0.0)
    inverse = np.linalg.inv(Z.T @ Z + model.penalty_ * np.eye(3))
    np.testing.assert_allclose(inverse @ Z.T @ y / root, model.coef_, rtol=1e-9)
    residual = y - Z @ inverse @ Z.T @ y
    scale = residual @ residual / (60 - intercept - np.trace(Z @ inverse @ Z.T))
    expected = np.sqrt(scale * np.diag(inverse)) / root
    np.testing.assert_allclose(model.standard_errors().coef, expected, rtol=1e-9)


@pytest.mark.parametrize("intercept", [False, True])
def test_powers_of_a_time_have_exact_errors(intercept):
    t = 1000.0 + np.arange(60.0)
    powers = np.column_stack([t, t**2, t**3])  # a condition number of 1e9 beside a constant
    found = OLS(fit_intercept=intercept).fit(powers, Y).standard_errors()
    right = infer(powers, Y, intercept).bse
    np.testing.assert_allclose(found.coef, right[:3], rtol=1e-7)
    if intercept:
        assert found.intercept == pytest.approx(right[3], rel=1e-7)

"""Standard errors of a model's coefficients, against statsmodels and the Bayesian posterior."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm

from efface import OLS, Ridge
from efface.models.coefficient_errors import coefficient_errors

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3)) * [1.0, 10.0, 0.1] + [0.0, 5.0, 1.0]
Y = X @ [1.0, 0.2, -3.0] + 2.0 + RNG.normal(size=60)
W = RNG.uniform(0.2, 3.0, size=60)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("weights", [None, W])
def test_least_squares_has_the_errors_of_statsmodels(weights, standardize):
    model = OLS(window=40, standardize=standardize).fit(X, Y, sample_weight=weights)
    found = coefficient_errors(model._alive(), standardize=standardize)
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

"""The reference refit of AutoRidge equals its rule in sixty digits, and finds a wrong model."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from twins import selection as twin

from efface import AutoRidge, Ridge, audit
from efface.diagnostics.selected_refit import refit_model, refit_selected


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("n", [2, 5, 30])
def test_coefficients_are_those_of_the_rule(n, intercept, standardize, average):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 4)) * [1e-3, 1.0, 50.0, 1e4] + 2.0
    y, w = X @ [1.0, 2.0, 0.1, 1e-4] + rng.normal(size=n), rng.choice([0.5, 1.0, 3.0], size=n)
    options = {"standardize": standardize, "average": average}
    model = AutoRidge(fit_intercept=intercept, **options).fit(X, y, sample_weight=w)
    found, penalty = refit_selected(model._snapshot())
    coef, level, expected = twin.select(X, y, intercept, w, **options)
    assert X @ found.coef + found.intercept == pytest.approx(X @ coef + level, abs=1e-9 * y.std())
    assert penalty == pytest.approx(model.penalty_, rel=1e-8)
    assert expected is None or penalty == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("average", [False, True])
def test_an_audit_finds_another_penalty(average):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    model = AutoRidge(average=average).fit(X, y)
    assert audit(model).holds
    model.predict_one(X[0])
    solution = model._live.solver.window.memory()[4]
    for at in range(3):
        place = ctypes.c_double.from_address(solution.ctypes.data + 8 * at)
        place.value *= 1.0 + 1e-7
    assert not audit(model).holds


def test_other_models_are_refitted_with_the_penalty_that_they_tell():
    X, y = np.array([[1.0], [1.0]]), np.array([3.0, 3.0])
    live = Ridge(alpha=1.0, fit_intercept=False).fit(X, y)._snapshot()
    assert refit_model(live, 1.0).coef == pytest.approx([2.0])


def test_no_row_and_no_spread_have_no_coefficients():
    model = AutoRidge().fit(np.ones((3, 2)), np.arange(3.0))
    assert refit_selected(model._snapshot())[0].intercept == pytest.approx(1.0)
    assert audit(model).holds
    model.forget([0, 1, 2])
    found, penalty = refit_selected(model._snapshot())
    assert (penalty, found.intercept, *found.coef) == (0.0, 0.0, 0.0, 0.0)
    assert audit(model).holds

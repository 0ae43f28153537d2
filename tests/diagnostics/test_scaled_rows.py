"""The scale of each model, as a diagnosis knows it."""

from __future__ import annotations

import numpy as np
import pytest

from efface import OLS, AutoRidge, Ridge
from efface.diagnostics.scaled_rows import is_selected, scaled_rows

X = np.random.default_rng(0).normal(size=(9, 2)) * [1.0, 100.0] + 3.0


def scaled(model):
    live = model.fit(X, X.sum(axis=1))._snapshot()
    return scaled_rows(live, X, np.ones(9))


def test_other_models_regress_on_rows_as_they_are_or_standardised():
    assert scaled(OLS()) is None
    assert not is_selected(Ridge().fit(X, X[:, 0])._snapshot())
    assert scaled(Ridge(standardize=True)).deviation == pytest.approx(X.std(axis=0))


@pytest.mark.parametrize("options", [{"standardize": True}, {"average": True}])
def test_auto_ridge_standardises_where_it_says_so(options):
    z = scaled(AutoRidge(**options))
    assert z.rows == pytest.approx((X - X.mean(axis=0)) / X.std(axis=0))


def test_auto_ridge_halves_the_scaling_otherwise():
    z = scaled(AutoRidge())
    assert z.deviation == pytest.approx(np.sqrt(X.std(axis=0)))
    assert z.transform(X[:1]) == pytest.approx(z.rows[:1])
    z = scaled(AutoRidge(fit_intercept=False))
    assert z.rows == pytest.approx(X / (X**2).mean(axis=0) ** 0.25)
    assert not z.mean.any()
    assert z.transform(X[:1]) == pytest.approx(z.rows[:1])

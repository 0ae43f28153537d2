"""Deviations from the mean and standardised rows against rational arithmetic; scaled rows."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from efface import OLS, AutoRidge, Ridge
from efface.diagnostics.deviations import (
    binary_exponent,
    deviations,
    is_selected,
    only_rounding,
    scaled_rows,
    standardized,
)

X = np.random.default_rng(0).normal(size=(9, 2)) * [1.0, 100.0] + 3.0


def window(n, d, seed=0):
    return np.random.default_rng([seed, n, d]).standard_normal((n, d))


@pytest.mark.parametrize("mean", [0.0, 1e6, 1e12])
def test_deviations_equal_rational_arithmetic(mean):
    X = window(12, 3) + mean
    other = X[:2] * 2
    rows, others = deviations(X, other)
    exact = [[Fraction(float(v)) for v in row] for row in X]
    means = [sum(column) / 12 for column in zip(*exact, strict=True)]
    assert rows == pytest.approx(
        np.array([[float(v - m) for v, m in zip(row, means, strict=True)] for row in exact]),
        rel=1e-15,
        abs=0,
    )
    assert others[1] == pytest.approx(
        [float(Fraction(float(v)) - m) for v, m in zip(other[1], means, strict=True)], rel=1e-15
    )


@pytest.mark.parametrize("value", [0.1, 1e6 + 0.1, 1e300])
def test_a_constant_column_has_no_deviations(value):
    X = np.full((3001, 1), value)
    assert not deviations(X)[0].any()
    X[::3] = np.nextafter(value, np.inf)
    assert not deviations(X)[0].any()
    X[5] += 1e-9 * value
    assert deviations(X)[0].all()


def test_only_rounding_compares_deviations_with_the_mean():
    rows = np.array([[1e-15, 1e-14], [-1e-15, 0.0]])
    assert only_rounding(rows, np.array([1.0, 1.0])).tolist() == [True, False]


def test_a_binary_exponent_bounds_the_values():
    assert binary_exponent(np.array([0.75])) == 0
    assert binary_exponent(np.array([-1e300, 2.0])) == math.frexp(1e300)[1]
    assert binary_exponent(np.zeros((0, 2))) == 0


def test_standardized_rows_have_mean_0_and_deviation_1_or_are_0():
    X = window(20, 4) * [1e-200, 1.0, 1e200, 1.0] + [0.0, 1e6, 0.0, 0.0]
    X[:, 3] = 0.1
    found = standardized(X)
    assert np.abs(found.rows.mean(axis=0)).max() <= 1e-15
    assert found.rows.std(axis=0) == pytest.approx([1.0, 1.0, 1.0, 0.0], rel=1e-14)
    assert found.deviation[3] == 1.0
    assert found.transform(X[5]) == pytest.approx(found.rows[5], rel=1e-12)
    assert found.mean == pytest.approx(X.mean(axis=0), rel=1e-12)


def scaled(model):
    live = model.fit(X, X.sum(axis=1))._snapshot()
    return scaled_rows(live, X, np.ones(9))


def test_other_models_regress_on_rows_as_they_are_or_standardised():
    assert scaled(OLS()) is None
    assert not is_selected(Ridge().fit(X, X[:, 0])._snapshot())
    assert scaled(Ridge(standardize=True)).deviation == pytest.approx(X.std(axis=0))


def test_auto_ridge_standardises_where_it_says_so():
    z = scaled(AutoRidge(standardize=True))
    assert z.rows == pytest.approx((X - X.mean(axis=0)) / X.std(axis=0))


def test_auto_ridge_halves_the_scaling_otherwise():
    z = scaled(AutoRidge())
    assert z.deviation == pytest.approx(np.sqrt(X.std(axis=0)))
    assert z.transform(X[:1]) == pytest.approx(z.rows[:1])
    z = scaled(AutoRidge(fit_intercept=False))
    assert z.rows == pytest.approx(X / (X**2).mean(axis=0) ** 0.25)
    assert not z.mean.any()
    assert z.transform(X[:1]) == pytest.approx(z.rows[:1])

"""Standardised rows at any mean and scale, with constant features too."""

from __future__ import annotations

import numpy as np
import pytest
from twins import scaling as naive_scaling

from efface.engine.jit.views import weighed as weighed_by
from efface.engine.standardized.zscores import refit_scores, scores


def rows(n=20, d=3):
    return np.random.default_rng([n, d]).normal(size=(n, d))


@pytest.mark.parametrize("unit", [1e-200, 1e-8, 1.0, 1e8, 1e200, 1e300])
@pytest.mark.parametrize("mean", [0.0, 1e6])
def test_scores_have_the_mean_0_and_the_deviation_1(unit, mean):
    X = (rows() + mean) * unit
    found = scores(X, np.ones(len(X)))
    assert np.abs(found.rows.mean(axis=0)).max() <= 1e-15
    assert found.rows.std(axis=0) == pytest.approx(np.ones(3), rel=1e-14)
    assert found.of(X) == pytest.approx(found.rows, rel=1e-9, abs=1e-9)
    assert found.mean == pytest.approx(X.mean(axis=0), rel=1e-12)


@pytest.mark.parametrize("level", [0.0, 0.1, 1e6, 1e300])
def test_a_feature_that_is_constant_up_to_rounding_has_scores_of_0(level):
    X = rows()
    X[:, 1] = level * (1 + np.tile([1e-16, -1e-16], 10))
    found = scores(X, np.ones(len(X)))
    assert not found.rows[:, 1].any()
    assert found.deviation[1] == 1.0


@pytest.mark.parametrize("penalty", [0.0, 2.0])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("n", [2, 3, 20])
@pytest.mark.parametrize("weighed", [False, True])
def test_a_refit_equals_that_of_the_twin(n, penalty, intercept, weighed):
    X, coef = rows(n) * [1.0, 50.0, 1e-3] + [0.0, 9.0, 1.0], np.empty(3)
    y = X @ [1.0, 0.1, 40.0] + np.arange(n)
    w = np.linspace(0.0, 3.0, n) if weighed else np.ones(n)
    level, rank = refit_scores(X, weighed_by(y, w), penalty, intercept, coef)
    expected = naive_scaling.regress(X, y, penalty, intercept, w)
    assert coef == pytest.approx(expected[0], rel=1e-9)
    assert level == pytest.approx(expected[1], rel=1e-9)
    assert rank in (expected[2], -1 if penalty else expected[2])

"""The design matrix of a snapshot against dense algebra in 50 digits; weights of a half-life."""

from __future__ import annotations

import math

import numpy as np
import pytest
from twins import diagnostics as naive_diagnostics
from twins import half_life as naive_fading
from twins import scaling as naive_scaling

from efface import OLS, KeepFor
from efface.diagnostics.design import Design, faded
from efface.live.snapshot import Snapshot

X, Y, W = np.arange(12.0).reshape(6, 2), np.arange(6.0), np.array([1.0, 2.0, 0.0, 3.0, 1.0, 0.5])


def snapshot(X, weights=None, *, intercept=True, standardize=False):
    parameters = {"fit_intercept": intercept, "standardize": standardize}
    ids, y = list(range(len(X))), np.zeros(len(X))
    return Snapshot("Ridge", parameters, 0, None, ids, None, X, y, weights)


def rows(n, d=3, seed=0):
    return np.random.default_rng([seed, n, d]).normal(size=(n, d)) * [1.0, 20.0, 0.1][:d] + 2.0


def close(value):
    return pytest.approx(float(value), rel=1e-9, abs=1e-13)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("penalty", [0.0, 0.7])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("n", [1, 3, 12])
def test_a_design_equals_dense_algebra(n, intercept, penalty, weighted):
    X, x = rows(n), np.array([1.0, -3.0, 0.5])
    weights = np.random.default_rng(n).choice([0.0, 0.5, 3.0], size=n) if weighted else None
    if weighted:
        weights[0] = 2.0
    design = Design(snapshot(X, weights, intercept=intercept))
    exact = naive_diagnostics.Window(X, intercept, penalty, weights)
    first = 1.0 if weights is None else weights[0]
    assert design.rank == exact.rank
    assert design.total_weight == float(exact.total_weight)
    assert design.eigenvalues == (close(exact.values[-1]), close(exact.values[0]))
    full = exact.rank == 3
    assert design.condition == (close(exact.values[0] / exact.values[-1]) if full else math.inf)
    assert design.degrees_of_freedom(penalty) == close(exact.degrees_of_freedom)
    oldest, new, frt = design.leverages(penalty, x)
    assert oldest == close(first * exact.inner(X[0], X[0]))
    assert new == close(exact.inner(x, x))
    assert frt == close(exact.frt(X[0], x, first))


def test_without_x_only_the_oldest_row_has_a_leverage():
    design = Design(snapshot(rows(8)))
    oldest, new, frt = design.leverages(0.5, None)
    assert oldest == pytest.approx(design.leverages(0.5, np.ones(3))[0], rel=1e-12)
    assert new is frt is None


@pytest.mark.parametrize("intercept", [False, True])
def test_standardised_rows_have_the_design_of_their_scores(intercept):
    X = rows(15)
    design = Design(snapshot(X, intercept=intercept, standardize=True))
    Z, mean, deviation = naive_scaling.standardise(X)
    expected = Design(snapshot(Z, intercept=intercept))
    assert design.eigenvalues == pytest.approx(expected.eigenvalues, rel=1e-10)
    assert sum(design.eigenvalues) < 2 * 3 * 15
    x = X[4] + 1.0
    found, wanted = design.leverages(0.3, x), expected.leverages(0.3, (x - mean) / deviation)
    assert found == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("standardize", [False, True])
def test_no_rows_have_rank_0_and_no_leverage(standardize):
    design = Design(snapshot(np.zeros((0, 3)), standardize=standardize))
    assert (design.rank, design.eigenvalues, design.condition) == (0, (0.0, 0.0), math.inf)
    assert design.degrees_of_freedom(1.0) == 0.0
    assert design.leverages(1.0, np.ones(3)) == (None, None, None)


def test_rows_without_weight_have_rank_0():
    design = Design(snapshot(rows(4), np.zeros(4)))
    assert (design.n, design.rank, design.total_weight) == (4, 0, 0.0)
    assert not design.intercept


@pytest.mark.parametrize("factor", [1e-150, 1e150])
def test_squares_stay_finite_in_any_unit(factor):
    design, scaled = (Design(snapshot(rows(9) * unit)) for unit in (1.0, factor))
    assert scaled.rank == design.rank
    assert scaled.condition == pytest.approx(design.condition, rel=1e-9)
    assert scaled.leverages(0.0, None)[0] == pytest.approx(design.leverages(0.0, None)[0], rel=1e-9)


def test_weights_fade_by_rows_or_by_time():
    model = OLS(4, halflife=3).fit(X, Y, sample_weight=W)
    found = faded(model._snapshot()).weights
    np.testing.assert_allclose(found, naive_fading.fading_weights(W[2:], 3.0), rtol=1e-14)
    at = np.array([0.0, 1.0, 4.0, 4.5, 5.0, 9.0])
    timed = OLS(KeepFor(20.0), halflife=3.0).fit(X, Y, sample_weight=W, at=at)
    found = faded(timed._snapshot()).weights
    np.testing.assert_allclose(found, naive_fading.fading_weights(W, 3.0, at), rtol=1e-14)
    days = np.datetime64("2024-01-01") + np.arange(6)
    calendar = OLS(halflife="2d").fit(X, Y, at=days)
    found = faded(calendar._snapshot()).weights
    np.testing.assert_allclose(found, naive_fading.fading_weights(np.ones(6), 2.0), rtol=1e-14)


def test_rows_without_a_half_life_are_as_they_are():
    live = OLS().fit(X, Y, sample_weight=W)._snapshot()
    assert faded(live) is live
    assert len(faded(OLS(halflife=2).empty(2)._snapshot()).y) == 0

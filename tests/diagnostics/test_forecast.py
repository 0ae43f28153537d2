"""Forecasts: NumPy's rank at every step, and conditions within the stated factor."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from twins import diagnostics as naive_diagnostics
from twins import scaling as naive_scaling

from efface import FIFD, OLS, AdaptiveRidge, AddDrop, KeepFor, Ridge, forecast_forgetting
from efface.errors import InvalidValue


def rotation(rng, d):
    return np.linalg.qr(rng.normal(size=(d, d)))[0]


def units(rng, n, d):
    return np.eye(d)[rng.integers(0, d, size=n)]


def low_rank(rng, n, d):
    inner = max(1, d // 2)
    return rng.normal(size=(n, inner)) @ rng.normal(size=(inner, d))


def one_huge(rng, n, d, factor):
    X = rng.normal(size=(n, d))
    X[n // 3] *= factor
    return X


WINDOWS = {
    "unit vectors": units,
    "scaled unit vectors": lambda rng, n, d: units(rng, n, d) * rng.integers(1, 4, (n, 1)) * 1e5,
    "rotated unit vectors": lambda rng, n, d: units(rng, n, d) @ rotation(rng, d),
    "rotated unit vectors of many sizes": lambda rng, n, d: (
        (units(rng, n, d) * 10.0 ** rng.integers(-3, 4, (n, 1))) @ rotation(rng, d)
    ),
    "plain": lambda rng, n, d: rng.normal(size=(n, d)),
    "columns from 1e-4 to 1e4": lambda rng, n, d: (
        rng.normal(size=(n, d)) * np.geomspace(1e-4, 1e4, d)
    ),
    "large means": lambda rng, n, d: rng.normal(size=(n, d)) + 1e6 * rng.normal(size=d),
    "dependent columns": low_rank,
    "one huge row": lambda rng, n, d: one_huge(rng, n, d, 1e8),
    "a row that masks the others": lambda rng, n, d: one_huge(rng, n, d, 1e18),
    "tiny": lambda rng, n, d: 1e-150 * rng.normal(size=(n, d)),
    "huge": lambda rng, n, d: 1e148 * rng.normal(size=(n, d)),
}


def check(X, intercept, steps, weights=None):
    """Compare a forecast with one decomposition per step."""
    model = OLS(fit_intercept=intercept)
    model.partial_fit(X, np.zeros(len(X)), sample_weight=weights)
    found = forecast_forgetting(model, steps)
    rank, condition = naive_diagnostics.forecast(X, intercept, steps, weights)
    count = min(steps, len(X))
    assert found.ids == tuple(range(count))
    assert found.n_rows.tolist() == list(range(len(X) - 1, len(X) - 1 - count, -1))
    assert found.rank.tolist() == rank
    before = [naive_diagnostics.rank(X, intercept, weights), *rank]
    falls = [i for i in range(count) if before[i + 1] < before[i]]
    assert found.drops_at == (falls[0] if falls else None)
    assert found.drops_id == (found.ids[falls[0]] if falls else None)
    return found, np.array(condition)


@settings(deadline=None, max_examples=120)
@given(
    st.sampled_from(sorted(WINDOWS)),
    st.integers(1, 9),
    st.integers(1, 30),
    st.booleans(),
    st.booleans(),
    st.integers(0, 10**6),
)
def test_the_forecast_is_exact_for_few_features(kind, d, n, intercept, weighted, seed):
    rng = np.random.default_rng(seed)
    X = WINDOWS[kind](rng, n, d)
    weights = rng.choice([0.0, 0.01, 1.0, 30.0], size=n) if weighted else None
    found, condition = check(X, intercept, n, weights)
    assert found.condition == pytest.approx(condition, rel=1e-5)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("kind", sorted(WINDOWS))
@pytest.mark.parametrize(("n", "d"), [(25, 40), (90, 36)])
def test_the_condition_is_within_a_factor_of_2_for_many_features(kind, n, d, intercept):
    X = WINDOWS[kind](np.random.default_rng([n, d]), n, d)
    found, condition = check(X, intercept, n)
    assert (np.isinf(found.condition) == np.isinf(condition)).all()
    known = np.isfinite(condition)
    ratio = condition[known] / found.condition[known]
    assert (ratio <= 2.0).all()
    assert (ratio >= 0.99).all()


def test_the_condition_is_within_a_factor_of_2_when_it_rises_at_every_step():
    rng = np.random.default_rng(4)
    d, n = 40, 200
    X = rng.normal(size=(n, d)) * np.geomspace(1.0, 1e-4, n)[:, None]  # newer rows are smaller
    X[:, 0] *= np.linspace(1.0, 1e-6, n)
    found, condition = check(X, False, n - d - 5)
    ratio = condition / found.condition
    assert ratio.max() <= 2.0
    assert ratio.min() >= 0.99


def test_the_rank_is_exact_for_a_spectrum_without_a_gap():
    rng = np.random.default_rng(5)
    d = 36
    hilbert = 1.0 / (1 + np.arange(d)[:, None] + np.arange(d))
    check(rng.normal(size=(70, d)) @ hilbert, False, 70)
    check(rng.normal(size=(70, d)) @ hilbert, True, 70)


def test_a_feature_that_varies_only_by_rounding_is_constant():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(30, 3))
    X[:, 1] = 1e10 * (1 + 2.0**-52 * rng.integers(-1, 2, size=30))
    X[4, 1] += 1.0
    model = OLS().fit(X, np.zeros(30))
    found = forecast_forgetting(model, 20)
    for i in range(20):
        assert found.rank[i] == OLS().fit(X[i + 1 :], np.zeros(29 - i)).rank_
    assert (found.drops_at, found.drops_id) == (4, 4)


def test_the_first_deletion_that_lowers_the_rank_is_named():
    X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    model = OLS(fit_intercept=False).fit(X, np.zeros(4), ids=["a", "b", "c", "d"])
    found = forecast_forgetting(model, 3)
    assert found.ids == ("a", "b", "c")
    assert found.rank.tolist() == [2, 1, 1]
    assert (found.drops_at, found.drops_id) == (1, "b")
    assert found.condition.tolist() == [pytest.approx(2.0), math.inf, math.inf]


def test_rows_leave_in_the_order_of_their_times():
    model = OLS(window=KeepFor(100.0), fit_intercept=False)
    for at, x in ((3.0, [1.0, 0.0]), (1.0, [0.0, 1.0]), (2.0, [1.0, 1.0])):
        model.learn_one(x, 1.0, id=f"at {at:g}", at=at)
    found = forecast_forgetting(model, 2)
    assert found.ids == ("at 1", "at 2")
    assert found.rank.tolist() == [2, 1]


@pytest.mark.parametrize("window", [FIFD(8), AddDrop(2), None])
def test_the_forecast_equals_the_model_after_each_deletion(window):
    X = units(np.random.default_rng(8), 20, 4) + 0.0
    model = AdaptiveRidge(window=window).fit(X, np.arange(20.0))
    found = forecast_forgetting(model, 100)
    assert len(found.ids) == model.n_rows_
    for i, id in enumerate(found.ids):
        model.forget(id)
        assert (model.n_rows_, model.rank_) == (found.n_rows[i], found.rank[i])


def test_the_forecast_of_no_rows_is_empty():
    model = Ridge().fit([[1.0]], [1.0])
    assert forecast_forgetting(model, 0).ids == ()
    model.forget(0)
    found = forecast_forgetting(model, 5)
    assert found.ids == ()
    assert found.drops_at is None
    assert repr(found).endswith("the rank does not fall")


@pytest.mark.parametrize("steps", [-1, 1.5, "ten", True])
def test_steps_must_be_a_whole_number(steps):
    model = OLS().fit([[1.0]], [1.0])
    with pytest.raises(InvalidValue, match=r"'steps' is .*: expected a whole number of at least 0"):
        forecast_forgetting(model, steps)


def test_a_forecast_is_readable_in_a_terminal():
    model = OLS(fit_intercept=False).fit(np.vstack([np.eye(2)] * 5), np.zeros(10))
    assert repr(forecast_forgetting(model, 10)).splitlines() == [
        "Forecast of 10 deletions, nothing arriving",
        "  the rank first falls, to 1, when 8 leaves (deletion 9)",
        "  deletion  row           rows left    rank  condition",
        "         1  0                     9       2  1.25",
        "         8  7                     2       2  1",
        "         9  8                     1       1  inf",
        "        10  9                     0       0  inf",
    ]


@pytest.mark.parametrize("kind", [k for k in WINDOWS if k != "a row that masks the others"])
@pytest.mark.parametrize("intercept", [False, True])
def test_the_rows_are_standardised_again_after_each_deletion(kind, intercept):
    X = WINDOWS[kind](np.random.default_rng(0), 25, 4)
    model = OLS(fit_intercept=intercept, standardize=True).fit(X, np.zeros(25))
    found = forecast_forgetting(model, 25)
    for i in range(25):
        rows = X[i + 1 :]
        Z = naive_scaling.standardise(rows)[0] if len(rows) else rows
        rank = int(np.linalg.matrix_rank(Z)) if len(rows) else 0
        assert found.rank[i] == rank
        expected = np.linalg.cond(Z) ** 2 if rank == 4 else math.inf
        assert found.condition[i] == pytest.approx(expected, rel=1e-6)
    assert found.rank[-1] == 0

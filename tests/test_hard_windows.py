"""Windows that are constant, collinear, rank-deficient or ill-conditioned, against fractions."""

from __future__ import annotations

import numpy as np
import pytest
from designs import DEPENDENT, DESIGNS, sample
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as student
from twins import inference
from twins import regression as twin

from efface import OLS, AdaptiveRidge, AutoRidge, Ridge, audit, replay, rolling

ALL = sorted({**DESIGNS, **DEPENDENT})
WINDOW = 24


def deviations(X, intercept):
    return twin.centred(X) if intercept else X


def tolerance(X, intercept):
    """1e-9 up to a condition of 1e4, 1e-6 up to 1e7, columns at unit length; beyond it, None."""
    Z = deviations(X, intercept)
    lengths = np.linalg.norm(Z, axis=0)
    values = np.linalg.svd(Z[:, lengths > 0] / lengths[lengths > 0], compute_uv=False)
    values = values[values > 1e-12 * values.max(initial=0.0)]
    condition = values[0] / values[-1] if values.size else 1.0
    return 1e-9 if condition <= 1e4 else 1e-6 if condition <= 1e7 else None


def agree(found, X, y, alpha, intercept):
    """Coefficients, intercept and rank are those of a refit in exact fractions."""
    coef, level, rank = found
    limit = tolerance(X, intercept)
    if limit is None:
        return
    if alpha:
        right, base, full = *twin.solve_exactly(X, y, alpha, intercept), rank
    else:
        right, base, full = twin.minimum_norm(X, y, intercept)
    spread = np.abs(deviations(X, intercept)).max(axis=0)
    scale = max(np.abs(right * spread).max(), 1e-6 * np.abs(y).max())
    assert np.abs((coef - right) * spread).max() <= limit * scale
    assert abs(level - base) <= limit * max(abs(base), np.abs(y).max(), scale)
    assert rank == full


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("name", ALL)
def test_events_agree_with_fractions(name, alpha, intercept):
    X, y = sample(name, 4 * WINDOW, seed=3)
    options = {"window": WINDOW, "fit_intercept": intercept}
    model = Ridge(alpha=alpha, **options) if alpha else OLS(**options)
    for t in range(len(y)):
        model.learn_one(X[t], y[t])
        model.predict_one(X[t])
        if t % 13 == 0 and t > X.shape[1] + 2:
            rows = slice(max(0, t + 1 - WINDOW), t + 1)
            rank = model.rank_
            agree((model.coef_, model.intercept_, rank), X[rows], y[rows], alpha, intercept)
    assert audit(model).holds


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("name", ALL)
def test_rolling_regressions_agree_with_fractions(name, alpha, intercept):
    X, y = sample(name, 4 * WINDOW, seed=4)
    options = {"alpha": alpha, "fit_intercept": intercept, "min_rows": X.shape[1] + 2}
    found = rolling(X, y, WINDOW, **options)
    for t in range(X.shape[1] + 2, len(y), 11):
        rows = slice(max(0, t + 1 - WINDOW), t + 1)
        fit = found.coef[t], found.intercept[t], None if alpha else found.rank[t]
        agree(fit, X[rows], y[rows], alpha, intercept)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", ALL)
def test_standard_errors_agree_with_fractions(name, intercept):
    X, y = sample(name, 4 * WINDOW, seed=8)
    found = rolling(X, y, WINDOW, fit_intercept=intercept, stats=True, min_rows=X.shape[1] + 2)
    for t in range(X.shape[1] + 2, len(y), 11):
        rows = slice(max(0, t + 1 - WINDOW), t + 1)
        limit, full = tolerance(X[rows], intercept), has_full_rank(X[rows], intercept)
        errors = np.append(found.stats.bse[t], found.stats.intercept_bse[t : t + 1][:intercept])
        assert np.isfinite(errors).all() == full
        if full and limit is not None:
            right = inference.infer(X[rows], y[rows], intercept)
            assert errors == pytest.approx(right.bse, rel=limit)
            assert found.stats.rsquared[t] == pytest.approx(right.rsquared, rel=limit, abs=limit)


def has_full_rank(X, intercept):
    return twin.minimum_norm(X, np.zeros(len(X)), intercept)[2] == X.shape[1]


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", ALL)
def test_intervals_agree_with_fractions(name, intercept):
    X, y = sample(name, 4 * WINDOW, seed=9)
    model = OLS(window=WINDOW, fit_intercept=intercept).fit(X, y)
    rows, new = slice(len(y) - WINDOW, len(y)), X[:3]
    prediction, lower, upper = model.predict_interval(new, level=0.9, method="gaussian")
    limit = tolerance(X[rows], intercept)
    if not has_full_rank(X[rows], intercept) or limit is None:
        return
    right, freedom = inference.infer(X[rows], y[rows], intercept), WINDOW - X.shape[1] - intercept
    factor = student.ppf(0.95, freedom) * np.sqrt(right.unexplained / freedom)
    reach = np.array([inference.leverage(X[rows], row, intercept) for row in new])
    assert 0.5 * (upper - lower) == pytest.approx(factor * np.sqrt(1.0 + reach), rel=limit)
    assert 0.5 * (upper + lower) == pytest.approx(prediction, rel=1e-12)


@pytest.mark.parametrize("rule", ["OLS", "Ridge", "AdaptiveRidge"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", ALL)
def test_replays_predict_as_events_do(name, intercept, rule):
    n, s = 120, 40
    X, y = sample(name, n, seed=5)
    kinds = {"OLS": OLS, "Ridge": Ridge, "AdaptiveRidge": AdaptiveRidge}
    one, other = (kinds[rule](window=s, fit_intercept=intercept).fit(X[:s], y[:s]) for _ in "ab")
    found = replay(one, X[s:], y[s:])
    by_event = []
    for t in range(s, n):
        by_event.append(other.predict_one(X[t]))
        other.learn_one(X[t], y[t])
    scale = np.abs(y).max()
    assert found.prediction == pytest.approx(by_event, rel=1e-7, abs=1e-7 * scale)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", sorted(DEPENDENT))
def test_standardised_regressions_have_minimum_norm_in_standardised_features(name, intercept):
    X, y = sample(name, 4 * WINDOW, seed=6)
    found = rolling(X, y, WINDOW, standardize=True, fit_intercept=intercept)
    for t in range(WINDOW, len(y), 11):
        rows = slice(t + 1 - WINDOW, t + 1)
        Z = twin.centred(X[rows])
        deviation = np.sqrt((Z**2).mean(axis=0))
        deviation[deviation == 0.0] = 1.0
        right = np.linalg.lstsq(Z / deviation, y[rows] - y[rows].mean(), rcond=1e-12)[0] / deviation
        assert found.coef[t] == pytest.approx(right, rel=1e-9, abs=1e-9)


def random_model(rng):
    """A model of a random kind after random events on rows of a random design."""
    name = ALL[rng.integers(len(ALL))]
    d = sample(name, 5)[0].shape[1]
    s = int(rng.choice([d, d + 1, d + 2, 2 * d + 3, 40]))
    n = s + int(rng.integers(0, 2 * s + 2))
    X, y = sample(name, n, seed=int(rng.integers(1 << 30)), noise=rng.choice([0.01, 1.0]))
    kinds = [OLS, lambda **given: Ridge(alpha=float(10.0 ** rng.uniform(-3, 3)), **given)]
    kind = [*kinds, AdaptiveRidge, AutoRidge][rng.integers(4)]
    given = {"window": s, "fit_intercept": bool(rng.integers(2))}
    model = kind(**given, standardize=bool(rng.random() < 0.25))
    first = int(rng.integers(1, n + 1))
    model.fit(X[:first], y[:first])
    for row, response in zip(X[first:], y[first:], strict=True):
        if rng.random() < 0.5:
            model.predict_one(row)
        model.learn_one(row, response)
        if rng.random() < 0.05 and model.n_rows_ > 1:
            model.forget(model.ids_[rng.integers(model.n_rows_)])
    return name, model


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 1 << 40))
def test_audits_of_random_models_hold(seed):
    name, model = random_model(np.random.default_rng(seed))
    found = audit(model)
    assert found.holds, (name, model, found.verdict, found.residues)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_audits_of_ten_thousand_random_models_hold(block):
    for seed in range(500):
        name, model = random_model(np.random.default_rng([block, seed]))
        found = audit(model)
        assert found.holds, (block, seed, name, model, found.verdict)

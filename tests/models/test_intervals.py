"""Intervals: compared with dense algebra, their coverage, and when they are infinite."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from designs import DESIGNS, sample
from hypothesis import example, given, settings
from hypothesis import strategies as st
from samples import data
from scipy.special import stdtrit
from twins import intervals as naive_intervals
from twins.inference import condition, infer, leverage

from efface import (
    OLS,
    AdaptiveRidge,
    AddDrop,
    KeepFor,
    Ridge,
    SwitchingRidge,
    diagnose,
    load,
    replay,
    rolling,
)
from efface.errors import InvalidValue, NotFitted
from efface.models.intervals import METHODS, Interval, student_quantiles

RULES = {
    "OLS": (OLS, {}),
    "Ridge": (Ridge, {"alpha": 0.7}),
    "AdaptiveRidge": (AdaptiveRidge, {"delta": 0.1, "theta_max": 2.0}),
    "SwitchingRidge": (
        SwitchingRidge,
        {"delta": 0.05, "theta_max": 1.0, "switch_at": 5.0},
    ),
}
NAMES = [method.name for method in METHODS]
intercepts = pytest.mark.parametrize("intercept", [False, True])
models = pytest.mark.parametrize("name", list(RULES))
methods = pytest.mark.parametrize("method", NAMES)


def build(name, window, intercept):
    kind, parameters = RULES[name]
    return kind(window=window, fit_intercept=intercept, **parameters)


def weigh(n, seed=0):
    """Weights of every size, some of them 0."""
    rng = np.random.default_rng([seed, n])
    return rng.choice([0.0, 0.2, 1.0, 1.0, 3.0, 40.0], size=n)


def expected(X, y, name, intercept, x, level, method, weights=None):
    """Prediction and half the width, by the twin."""
    window = naive_intervals.Window(X, y, (name, RULES[name][1]), intercept, weights)
    return window.predict(x), naive_intervals.METHODS[method](window, x, level)


# -- compared with the twin -------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@intercepts
@pytest.mark.parametrize("name", DESIGNS)
def test_leverages_and_intervals_of_full_rank_are_exact(name, intercept, weighted):
    X, y = sample(name, 61, seed=3)
    w = np.random.default_rng(4).uniform(0.1, 4.0, size=61) if weighted else None
    rows, new, part = X[30:60], X[60], None if w is None else w[30:60]
    cond = condition(rows, intercept, part)
    if cond > 1e7:  # a constant feature beside an intercept
        return
    near = {"rel": 1e-9 if cond <= 1e4 else 1e-6}
    exact, freedom = infer(rows, y[30:60], intercept, part), 30 - X.shape[1] - intercept
    high = leverage(rows, new, intercept, part)
    half = -stdtrit(freedom, 0.05) * np.sqrt(exact.unexplained / freedom * (1 + high))
    model = OLS(fit_intercept=intercept).fit(rows, y[30:60], sample_weight=part)
    found = model.predict_interval(new[np.newaxis], 0.9, "gaussian")
    assert (found.upper - found.lower)[0] / 2 == pytest.approx(half, **near)
    windows = rolling(
        X, y, 30, fit_intercept=intercept, interval=0.9, method="gaussian", sample_weight=w
    )
    assert (windows.upper - windows.lower)[60] / 2 == pytest.approx(half, **near)
    stream = OLS(window=30, fit_intercept=intercept)
    told = replay(stream, X, y, diagnostics=True, interval=0.9, method="gaussian", sample_weight=w)
    assert (told.upper - told.lower)[60] / 2 == pytest.approx(half, **near)
    assert told.leverage_new[60] == pytest.approx(high, **near)
    oldest = leverage(rows, rows[0], intercept, part) * (1.0 if part is None else part[0])
    assert told.leverage_old[60] == pytest.approx(oldest, **near)
    described = diagnose(model, new)
    assert described.leverage_new == pytest.approx(high, **near)
    assert described.leverage_oldest == pytest.approx(oldest, **near)
    assert (described.rank, model.rank_) == (X.shape[1], X.shape[1])


@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("s", [4, 9, 26, 60])
@intercepts
@models
@methods
def test_intervals_equal_dense_algebra(method, name, intercept, s, weighed):
    X, y = data(s + 3, 4, seed=s)
    level = 0.8 if method == "conformal" else 0.95
    w = weigh(s) if weighed else None
    model = build(name, None, intercept).fit(X[:s], y[:s], sample_weight=w)
    prediction, lower, upper = model.predict_interval(X[s:], level=level, method=method)
    for t in range(3):
        centre, half = expected(X[:s], y[:s], name, intercept, X[s + t], level, method, w)
        assert prediction[t] == pytest.approx(centre, rel=1e-9, abs=1e-9)
        assert upper[t] - prediction[t] == pytest.approx(half, rel=1e-9)
        assert prediction[t] - lower[t] == pytest.approx(half, rel=1e-9)


@pytest.mark.parametrize("lam", [0.0, 1e-3, 5.0, 400.0])
@intercepts
def test_gaussian_widths_in_fifty_digits(lam, intercept):
    X, y = data(24, 3)
    X = X * [1e-4, 1.0, 1e4] + [0.0, 1e6, 0.0] if intercept else X * [1e-4, 1.0, 1e4]
    half = naive_intervals.exact_gaussian(X[:23], y[:23], lam, intercept, X[23], 0.95)
    model = Ridge(alpha=lam, fit_intercept=intercept).fit(X[:23], y[:23])
    prediction, _, upper = model.predict_interval(X[23:])
    assert upper[0] - prediction[0] == pytest.approx(half, rel=1e-8)


@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("window", [3, 12, 30, AddDrop(3, 1), KeepFor(9), None])
@intercepts
@models
@methods
def test_replayed_intervals_equal_those_of_single_events(method, name, intercept, window, weighed):
    X, y = data(50, 4)
    w = weigh(50) if weighed else np.ones(50)
    at = np.arange(50.0) if isinstance(window, KeepFor) else None
    whole, single = build(name, window, intercept), build(name, window, intercept)
    for model in (whole, single):
        first = None if at is None else at[:2]
        model.partial_fit(X[:2], y[:2], at=first, sample_weight=w[:2])
    times = None if at is None else at[2:]
    asked = {"interval": 0.8, "method": method, "sample_weight": w[2:]}
    result = replay(whole, X[2:], y[2:], at=times, **asked)
    for t in range(48):
        if at is not None:
            single.expire(times[t])
        prediction, lower, upper = single.predict_interval(X[2 + t : 3 + t], 0.8, method)
        assert result.prediction[t] == pytest.approx(prediction[0], rel=1e-9, abs=1e-9)
        assert result.lower[t] == pytest.approx(lower[0], rel=1e-8, abs=1e-9)
        assert result.upper[t] == pytest.approx(upper[0], rel=1e-8, abs=1e-9)
        now = None if at is None else times[t]
        single.learn_one(X[2 + t], y[2 + t], at=now, weight=w[2 + t])


@methods
def test_a_replay_out_of_order_has_intervals_too(method):
    X, y = data(40, 2)
    at = np.arange(40.0)
    at[25], at[30] = 20.5, 3.0
    model, twin = OLS(window=KeepFor(15)), OLS(window=KeepFor(15))
    result = replay(model, X, y, at=at, interval=0.8, method=method)
    for t in range(40):
        if t:
            twin.expire(at[: t + 1].max())
            _, lower, upper = twin.predict_interval(X[t : t + 1], 0.8, method)
            assert result.lower[t] == pytest.approx(lower[0], rel=1e-9)
            assert result.upper[t] == pytest.approx(upper[0], rel=1e-9)
        twin.learn_one(X[t], y[t], at=at[t])


@example(seed=0, d=5, s=5, name="Ridge", intercept=True, units=True, weighed=False)
@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    d=st.integers(1, 5),
    s=st.integers(1, 40),
    name=st.sampled_from(list(RULES)),
    intercept=st.booleans(),
    units=st.booleans(),
    weighed=st.booleans(),
)
def test_replayed_gaussian_intervals_on_windows_of_any_rank(
    seed, d, s, name, intercept, units, weighed
):
    rng = np.random.default_rng(seed)
    X = np.eye(d)[rng.integers(0, d, size=60)] if units else rng.normal(size=(60, d))
    y = X @ rng.normal(size=d) + rng.normal(size=60)
    w = weigh(60, seed) if weighed else np.ones(60)
    result = replay(
        build(name, s, intercept), X, y, interval=0.9, method="gaussian", sample_weight=w
    )
    for t in rng.integers(1, 60, size=6):
        lo = max(0, t - s)
        _, half = expected(X[lo:t], y[lo:t], name, intercept, X[t], 0.9, "gaussian", w[lo:t])
        if np.isinf(half):
            assert np.isinf(result.upper[t])
        elif half > 1e-6:  # below, the fit interpolates and the residuals are rounding
            assert result.upper[t] - result.prediction[t] == pytest.approx(half, rel=1e-7)


# -- coverage ---------------------------------------------------------------------------------


def coverage(model, X, y, s, level, method="gaussian"):
    """The percentage of responses inside, once the window is full."""
    result = replay(model, X, y, interval=level, method=method)
    inside = (result.lower <= y) & (y <= result.upper)
    return 100 * inside[s:].mean()


def target(X, rng, noise="normal", drift=0.0):
    """Responses of random coefficients that may drift, with noise of variance 1."""
    n, d = X.shape
    draw = rng.normal(size=n) if noise == "normal" else rng.standard_t(3, size=n) / np.sqrt(3)
    walk = np.cumsum(drift * rng.normal(size=(n, d)), axis=0)
    return np.einsum("ij,ij->i", X, rng.normal(size=d) + walk) + draw


@pytest.mark.parametrize("level", [0.8, 0.9, 0.95])
@pytest.mark.parametrize(("d", "s"), [(2, 20), (5, 50), (10, 40), (20, 200)])
def test_coverage_of_gaussian_intervals_for_least_squares(d, s, level):
    rng = np.random.default_rng([d, s])
    X = rng.normal(size=(20_000, d))
    y = target(X, rng)
    assert coverage(OLS(window=s), X, y, s, level) == pytest.approx(100 * level, abs=1.5)


@pytest.mark.parametrize("method", ["gaussian", "conformal"])
def test_coverage_if_weights_are_inverse_variances(method):
    """Live rows have noise of variance 1 / weight, new rows of variance 1."""
    rng, inside = np.random.default_rng(5), []
    for _ in range(400):
        w = 10.0 ** rng.uniform(-1.5, 1.5, size=60)
        X, theta = rng.normal(size=(64, 3)), rng.normal(size=3)
        spread = np.append(1 / np.sqrt(w), np.ones(4))
        y = X @ theta + spread * rng.normal(size=64)
        model = OLS().fit(X[:60], y[:60], sample_weight=w)
        _, lower, upper = model.predict_interval(X[60:], 0.8, method)
        inside.append((lower <= y[60:]) & (y[60:] <= upper))
    assert 100 * np.mean(inside) == pytest.approx(80.0, abs=3.0)


@pytest.mark.parametrize("level", [0.8, 0.9, 0.95])
@pytest.mark.parametrize(("d", "s"), [(2, 20), (5, 50), (20, 200)])
def test_coverage_of_gaussian_intervals_for_ridge_and_matching_coefficients(d, s, level):
    """The penalty alpha corresponds to coefficients from N(0, sigma^2 / alpha); here alpha is 1."""
    rng = np.random.default_rng([d, s])
    X = rng.normal(size=(20_000, d))
    y = target(X, rng)
    assert coverage(Ridge(window=s), X, y, s, level) == pytest.approx(100 * level, abs=1.5)


@pytest.mark.parametrize("kind", [AdaptiveRidge, SwitchingRidge])
@pytest.mark.parametrize(("d", "s"), [(5, 50), (30, 20), (20, 200)])
def test_gaussian_intervals_of_adaptive_penalties_cover_at_least_their_level(kind, d, s):
    rng = np.random.default_rng([d, s])
    X = rng.normal(size=(10_000, d))
    y = target(X, rng)
    assert coverage(kind(window=s), X, y, s, 0.9) >= 89.0


STREAMS = [("normal", 0.0), ("student", 0.0), ("normal", 0.02)]


@pytest.mark.parametrize(("noise", "drift"), STREAMS)
@pytest.mark.parametrize("kind", [OLS, Ridge])
def test_coverage_of_conformal_intervals(kind, noise, drift):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(5_200, 5))
    y = target(X, rng, noise, drift)
    got = coverage(kind(window=200), X, y, 200, 0.9, "conformal")
    assert got == pytest.approx(90.0, abs=2.0)


@pytest.mark.parametrize("kind", [OLS, Ridge, AdaptiveRidge])
def test_self_normalized_intervals_cover_at_least_their_level(kind):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(10_000, 5))
    y = target(X, rng)
    assert coverage(kind(window=60), X, y, 60, 0.9, "self-normalized") >= 90.0


# -- properties --------------------------------------------------------------------------------


@intercepts
@models
@methods
def test_forgotten_rows_do_not_influence_intervals(method, name, intercept):
    X, y = data(60, 3)
    X[5], y[5] = 1e8 * X[5], 1e9
    model = build(name, None, intercept).fit(X, y)
    model.predict_interval(X[:1], 0.8, method)
    model.forget([5, 17])
    kept = np.delete(np.arange(60), [5, 17])
    other = build(name, None, intercept).fit(X[kept], y[kept], ids=kept)
    for got, want in zip(
        model.predict_interval(X[:4], 0.8, method),
        other.predict_interval(X[:4], 0.8, method),
        strict=True,
    ):
        assert (got == want).all()


@methods
def test_a_saved_model_has_the_same_intervals(method, tmp_path):
    X, y = data(60, 3)
    model = Ridge(window=40).fit(X, y)
    model.save(tmp_path / "model.efface")
    one, other = (
        m.predict_interval(X[:3], 0.8, method) for m in (model, load(tmp_path / "model.efface"))
    )
    assert all((a == b).all() for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("scale", [1e-100, 1e-8, 1e8, 1e100])
@methods
def test_intervals_scale_with_the_responses(method, scale):
    X, y = data(60, 3)
    plain = OLS().fit(X, y).predict_interval(X[:3] + 1.0, 0.8, method)
    scaled = OLS().fit(X, scale * y).predict_interval(X[:3] + 1.0, 0.8, method)
    for one, other in zip(plain, scaled, strict=True):
        assert other == pytest.approx(scale * one, rel=1e-9)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
@methods
def test_intervals_do_not_depend_on_units_and_origin_of_features(method, scale):
    X, y = data(60, 3)
    plain = OLS().fit(X, y).predict_interval(X[:3] + 1.0, 0.8, method)
    shift = 0.0 if method == "local" else 7.0  # local spreads may depend on the prediction's size
    moved = OLS().fit(scale * (X - 50.0), y + shift)
    for one, other in zip(
        plain, moved.predict_interval(scale * (X[:3] - 49.0), 0.8, method), strict=True
    ):
        assert other == pytest.approx(one + shift, rel=1e-7)


@intercepts
@pytest.mark.parametrize("n", [0, 1, 2])
@models
@methods
def test_too_few_rows_give_a_reason(method, name, n, intercept):
    X, y = data(3, 4)
    model = build(name, None, intercept).fit(X[:1], y[:1])
    model.partial_fit(X[1:n], y[1:n])
    if n == 0:
        model.forget([0])
    interval = model.predict_interval(X)
    if method == "conformal" or name == "OLS":
        interval = model.predict_interval(X, method=method)
        assert (interval.lower == -np.inf).all()
        assert (interval.upper == np.inf).all()
        assert f"The live rows, {n}, are too few for {method} intervals: " in interval.reason
    if n == 0:
        assert "no row is alive" in interval.reason
    assert np.isfinite(interval.prediction).all()


@pytest.mark.parametrize("method", NAMES)
def test_a_row_outside_the_span_has_an_infinite_interval(method):
    X = np.tile(np.eye(3)[:2], (40, 1))
    y = np.random.default_rng(0).normal(size=80)
    model = OLS(fit_intercept=False).fit(X, y)
    inside, outside = model.predict_interval([[1.0, 2.0, 0.0]], method=method), None
    assert np.isfinite(inside.upper).all()
    assert inside.reason is None
    outside = model.predict_interval([[1.0, 2.0, 0.0], [0.0, 0.0, 1.0]], method=method)
    assert np.isfinite(outside.upper).tolist() == [True, False]
    assert "Row 1 of X lies outside the span of the 80 live rows" in outside.reason


def test_small_residuals_keep_their_digits():
    """The residuals are 1e-9 of the responses, so subtracting sums of squares loses all digits."""
    X, _ = data(200, 4)
    noise = 1e-9 * np.random.default_rng(1).normal(size=200)
    y = X @ [1.0, 2.0, 3.0, 4.0] + 5.0 + noise
    prediction, _, upper = OLS(window=100).fit(X, y).predict_interval(X[:1], method="gaussian")
    rows = np.column_stack([X[100:], np.ones(100)])
    scale = np.sqrt(np.linalg.lstsq(rows, noise[100:], rcond=None)[1][0] / 95)
    assert upper[0] - prediction[0] == pytest.approx(1.985 * scale, rel=0.1)


def test_an_interval_is_a_tuple_of_three_with_a_reason():
    interval = Interval(np.zeros(1), np.zeros(1), np.ones(1), "why")
    prediction, lower, upper = interval
    assert (prediction, lower, upper) == (interval.prediction, interval.lower, interval.upper)
    assert interval.reason == "why"
    assert pickle.loads(pickle.dumps(interval)).reason == "why"


@pytest.mark.parametrize("beyond", [1e-7, 0.005, 0.025, 0.3])
@pytest.mark.parametrize(
    ("low", "high"), [(10, 12.5), (979, 980), (980, 980), (1e7, 1.2e7), (2, 2.5), (3, 900)]
)
def test_interpolated_quantiles_equal_exact_ones(low, high, beyond):
    freedom = np.random.default_rng(0).uniform(low, high, size=500)
    each = [-stdtrit(value, beyond) for value in freedom]
    np.testing.assert_allclose(student_quantiles(freedom, beyond), each, rtol=2e-12)
    freedom[3] = np.nan
    assert np.isnan(student_quantiles(freedom, beyond)[3])


# -- refused input -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"level": 0}, "'level' is 0: expected a number between 0 and 1"),
        ({"level": 95}, "'level' is 95: expected a number between 0 and 1"),
        ({"level": "95%"}, "'level' is '95%': expected a number between 0 and 1"),
        (
            {"method": "bootstrap"},
            "'method' is 'bootstrap': expected one of 'gaussian', 'self",
        ),
        ({"X": [[1.0]]}, "X has 1 features, but OLS is expecting 2 features"),
    ],
)
def test_invalid_arguments_of_predict_interval(change, text):
    X, y = data(10, 2)
    with pytest.raises(InvalidValue, match=text):
        OLS().fit(X, y).predict_interval(**{"X": X, **change})


def test_replay_refuses_invalid_intervals_before_it_learns():
    X, y = data(10, 2)
    model = OLS(window=5)
    for wrong in ({"interval": 2.0}, {"interval": 0.9, "method": "magic"}):
        with pytest.raises(InvalidValue, match="expected"):
            replay(model, X, y, **wrong)
    with pytest.raises(NotFitted):
        model.predict_interval(X)


def test_no_bounds_without_interval():
    result = replay(OLS(window=5), *data(10, 2))
    assert result.lower is result.upper is None

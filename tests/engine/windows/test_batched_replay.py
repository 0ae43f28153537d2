"""Batched replay, eight windows at once, against exact refits."""

import numpy as np
import pytest
from twins import regression as naive
from twins.diagnostics import Window

from efface.engine.events.leverage import GAUGES
from efface.engine.events.pilot import AUTO, RESIDUAL, RESPONSE
from efface.engine.events.state import FIXED, LEMMA_3, PILOT, Rule
from efface.engine.jit.views import weighed
from efface.engine.linalg.dense import SAFE
from efface.engine.windows import batched_replay
from efface.engine.windows.batched_replay import replay_windows

ADAPTED = {"delta": 0.05, "theta_max": 2.0, "noise": "response"}
RULES = {
    "OLS": (Rule(), ("OLS", {})),
    "ridge": (Rule(FIXED, 0.5), ("Ridge", {"alpha": 0.5})),
    "adaptive": (Rule(LEMMA_3, theta_max=2.0), ("AdaptiveRidge", ADAPTED)),
    "plugged": (
        Rule(PILOT, theta_max=AUTO, switch_at=np.inf, noise=RESIDUAL),
        ("AdaptiveRidge", {**ADAPTED, "theta_max": "auto", "noise": "residual"}),
    ),
    "residual": (
        Rule(PILOT, theta_max=2.0, switch_at=np.inf, noise=RESIDUAL),
        ("AdaptiveRidge", {**ADAPTED, "noise": "residual"}),
    ),
    "auto": (
        Rule(PILOT, theta_max=AUTO, switch_at=np.inf, noise=RESPONSE),
        ("AdaptiveRidge", {**ADAPTED, "theta_max": "auto"}),
    ),
}


def replay(X, y, s, rule, intercept):
    n, d = len(y) - s, X.shape[1]
    states, coef, gauges = np.empty((6, n)), np.empty((n, d)), np.empty((GAUGES, n))
    margin = replay_windows(X, y, s, RULES[rule][0], intercept, states, coef, gauges)
    return states, coef, gauges, margin


def stream(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X @ rng.normal(size=d) + 3.0 + rng.normal(size=n)


def close(found, exact, scale=0.0, rel=1e-10):
    assert np.abs(found - exact).max() <= rel * max(np.abs(exact).max(), scale)


def check_regression(X, y, s, rule, intercept, *, rel=1e-10, safe=True):
    """Compare the windows with a safe margin: prediction, penalty, intercept, coefficients."""
    states, coef, _, margin = replay(X, y, s, rule, intercept)
    assert not safe or (margin >= SAFE).all()
    unit = np.abs(X).max(axis=0)
    for t in np.flatnonzero(margin >= SAFE):
        window, responses = X[t : t + s], y[t : t + s]
        exact, level, penalty, _ = naive.refit(window, responses, RULES[rule][1], intercept)
        scale = np.abs(responses).max()
        close(states[1, t], penalty, rel=rel)
        close(coef[t] * unit, exact * unit, scale, rel=rel)
        close(states[2, t], level, scale + np.abs(exact @ window.mean(0)), rel=rel)
        value = naive_value(X[t + s], window, exact, level, responses, intercept)
        close(states[0, t], value, scale + np.abs(exact * (X[t + s] - window.mean(0))).max(), rel)


def naive_value(x, X, coef, level, y, intercept):
    """The prediction, computed from the window's mean: exact also for features far from 0."""
    return y.mean() + (x - X.mean(axis=0)) @ coef if intercept else x @ coef + level


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(("d", "s"), [(1, 3), (3, 5), (3, 17), (4, 30), (9, 40)])
def test_windows_equal_refits(d, s, rule, intercept):
    check_regression(*stream(s + 21, d, seed=s), s, rule, intercept, safe=s > 2 * d)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("kind", ["scaled", "tiny", "huge", "duplicated", "shifted", "wandering"])
def test_windows_equal_refits_on_unusual_data(rule, intercept, kind):
    X, y = stream(60, 3, seed=5)
    X *= {"scaled": [1e-4, 1.0, 1e4], "tiny": 1e-8, "huge": 1e8}.get(kind, 1.0)
    if kind == "duplicated":
        X = np.repeat(X[::4], 4, axis=0)
    if kind == "shifted":
        X, y = X + np.array([1e6, -1e5, 3.0]), y + 1e4
        y += 0.0 if intercept else X @ [1.0, -1.0, 1.0]
    if kind == "wandering":
        X, y = X + np.linspace(0.0, 300.0, 60)[:, np.newaxis], y - np.linspace(0.0, 900.0, 60)
    safe = kind not in ("shifted", "wandering", "scaled")
    check_regression(X, y, 25, rule, intercept, rel=1e-9, safe=safe)


@pytest.mark.parametrize("rule", ["OLS", "ridge", "plugged"])
@pytest.mark.parametrize("intercept", [False, True])
def test_leverages_and_gauges(rule, intercept):
    s, d = 20, 3
    X, y = stream(s + 11, d, seed=2)
    states, coef, gauges, margin = replay(X, y, s, rule, intercept)
    assert (margin >= SAFE).all()
    for t in range(11):
        rows, responses, new = X[t : t + s], y[t : t + s], X[t + s]
        window = Window(rows, intercept, states[1, t])
        close(states[3, t], float(window.inner(new, new)))
        close(states[4, t], float(window.inner(rows[0], rows[0])))
        close(states[5, t], window.frt(rows[0], new))
        away = rows - rows.mean(axis=0) * intercept
        left = responses - responses.mean() * intercept - away @ coef[t]
        image = np.linalg.solve(
            away.T @ away + states[1, t] * np.eye(d), new - rows.mean(axis=0) * intercept
        )
        sizes = (left**2).sum(), (away**2).sum(), (coef[t] ** 2).sum()
        expected = [states[3, t], image @ image, *sizes, s]
        np.testing.assert_allclose(gauges[:, t], expected, rtol=1e-9)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("intercept", [False, True])
def test_a_row_1e8_times_larger_has_no_effect_after_it_left(rule, intercept):
    X, y = stream(70, 3, seed=1)
    X[12], y[12] = 1e8 * X[12], 1e8 * y[12]
    states, coef, _, margin = replay(X, y, 20, rule, intercept)
    assert (margin[13:] >= SAFE).all()
    for t in range(13, 50):
        exact, _, penalty, _ = naive.refit(X[t : t + 20], y[t : t + 20], RULES[rule][1], intercept)
        close(coef[t], exact, 1.0, rel=1e-11)
        close(states[1, t], penalty, rel=1e-11)


@pytest.mark.parametrize("rule", RULES)
def test_a_constant_feature_has_a_safe_margin_only_with_a_penalty(rule):
    X, y = stream(60, 2)
    X[:30, 1] = 0.1
    check_regression(X, y, 10, rule, True, safe=rule != "OLS")
    margin = replay(X, y, 10, rule, True)[3]
    assert (margin[:20] >= SAFE).all() == (rule != "OLS")
    assert (margin[30:] >= SAFE).all()


@pytest.mark.parametrize("rule", RULES)
def test_a_feature_that_is_constant_up_to_rounding_has_no_safe_margin(rule):
    X, y = stream(60, 2)
    X[:30, 1] = 0.1 * (1.0 + 2.0**-52 * (np.arange(30) % 2))
    assert not (replay(X, y, 10, rule, True)[3][:20] >= SAFE).any()


def test_a_linearly_dependent_feature_has_no_safe_margin():
    X, y = stream(40, 3)
    X[:, 2] = X[:, 0] - X[:, 1]
    assert not (replay(X, y, 10, "OLS", False)[3] >= SAFE).any()


@pytest.mark.parametrize("rule", ["OLS", "plugged", "residual"])
def test_residuals_near_zero_have_no_safe_margin(rule):
    X, _ = stream(160, 2)
    y = X @ [1.0, -2.0]
    y[80:] += np.random.default_rng(0).normal(size=80)
    margin = replay(X, y, 60, rule, False)[3]
    assert not (margin[:20] >= SAFE).any()
    assert (margin[40:] >= SAFE).all()


@pytest.mark.parametrize("rule", ["adaptive", "plugged", "residual", "auto"])
@pytest.mark.parametrize("level", [0.0, 4.1])
def test_constant_responses_have_no_safe_margin(rule, level):
    X, _ = stream(30, 2)
    assert not (replay(X, np.full(30, level), 10, rule, True)[3] >= SAFE).any()


def test_coefficients_and_gauges_are_optional():
    X, y = stream(30, 2)
    states = np.empty((6, 20))
    margin = replay_windows(X, y, 10, Rule(), True, states, np.empty((0, 2)), np.empty((GAUGES, 0)))
    assert (states == replay(X, y, 10, "OLS", True)[0]).all()
    assert (margin >= SAFE).all()


def test_nothing_before_the_first_row_is_read(monkeypatch):
    def behind_nan(y):
        return np.vstack([np.full((1, 3), np.nan), weighed(y)])[1:]

    monkeypatch.setattr(batched_replay, "weighed", behind_nan)
    X, y = stream(24, 1)
    assert (replay(X, y, 3, "adaptive", False)[3] >= SAFE).all()

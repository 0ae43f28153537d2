"""Leverages and gauges of a replay, against dense algebra."""

from __future__ import annotations

import numpy as np
import pytest

from efface.live.event_solver import EventSolver
from efface.live.penalties import Fixed, Lemma3
from efface.live.trace import Asked

PENALTIES = [Fixed(), Fixed(2.0), Lemma3()]
intercepts = pytest.mark.parametrize("intercept", [False, True])
penalties = pytest.mark.parametrize("penalty", PENALTIES)


def stream(n, d, seed=0):
    rng = np.random.default_rng([seed, n, d])
    X = rng.normal(size=(n, d))
    return X, X @ rng.normal(size=d) + rng.normal(size=n)


def units(n, d, seed=0):
    """Rows whose windows change their rank."""
    rng = np.random.default_rng([seed, n, d])
    X = np.eye(d)[rng.integers(0, d, size=n)]
    return X, rng.normal(size=n)


def inverse(X, penalty, intercept, w):
    """The inverse of the system of the live rows, their mean, and the term of the intercept."""
    total_weight = w.sum()
    mean = np.average(X, axis=0, weights=w) if intercept and total_weight else np.zeros(X.shape[1])
    system = (X - mean).T @ (w[:, None] * (X - mean)) + penalty * np.eye(X.shape[1])
    return (
        np.linalg.pinv(system, rcond=1e-12),
        mean,
        intercept / total_weight if total_weight else 0.0,
    )


def weigh(n, weighed):
    weights = np.random.default_rng(n).choice([0.0, 0.5, 1.0, 3.0], size=n)
    return weights if weighed else np.ones(n)


weighings = pytest.mark.parametrize("weighed", [False, True])


@weighings
@pytest.mark.parametrize("rows", [stream, units])
@pytest.mark.parametrize("s", [3, 7, 20])
@intercepts
@penalties
def test_leverages_equal_dense_algebra_at_any_rank(penalty, intercept, s, rows, weighed):
    X, y = rows(s + 25, 5, seed=s)
    w = weigh(s + 25, weighed)
    solver = EventSolver(5, penalty, intercept=intercept)
    solver.extend(X[:s], y[:s], w[:s])
    none, one = np.zeros(25, np.int64), np.ones(25, np.int64)
    asked = Asked(coef=False, diagnostics=True, gauges=True)
    trace = solver.replay(X[s:], y[s:], none, one, asked, w[s:])
    for t in range(25):
        window, new, v = X[t : t + s], X[s + t], w[t : t + s]
        system, mean, base = inverse(window, trace.penalty[t], intercept, v)
        root, roots = np.sqrt(v[0]), np.sqrt(v)[:, None]
        u, v = new - mean, root * (window[0] - mean)
        near = {"rel": 1e-9, "abs": 1e-11}
        assert trace.leverage_new[t] == pytest.approx(u @ system @ u + base, **near)
        old = v @ system @ v + root**2 * base
        assert trace.leverage_old[t] == pytest.approx(old, **near)
        cross = u @ system @ v + root * base
        apart = max(0.0, trace.leverage_new[t] - (cross**2 / old if old > 1e-12 else 0.0))
        assert trace.frt[t] == pytest.approx(old * (apart + 1.0), rel=1e-8, abs=1e-10)
        assert trace.rank[t] == np.linalg.matrix_rank(roots * (window - mean))


@weighings
@pytest.mark.parametrize("s", [4, 6, 7, 30])
@intercepts
@penalties
def test_gauges_equal_sums_over_the_live_rows(penalty, intercept, s, weighed):
    X, y = stream(s + 30, 5, seed=s)
    w = weigh(s + 30, weighed)
    solver = EventSolver(5, penalty, intercept=intercept)
    solver.extend(X[:s], y[:s], w[:s])
    none, one = np.zeros(30, np.int64), np.ones(30, np.int64)
    asked = Asked(coef=True, diagnostics=False, gauges=True)
    trace = solver.replay(X[s:], y[s:], none, one, asked, w[s:])
    for t in range(30):
        window, responses, gauges, v = X[t : t + s], y[t : t + s], trace.gauges, w[t : t + s]
        residuals = responses - window @ trace.coef[t] - trace.intercept[t]
        squares = residuals @ (v * residuals)
        assert gauges.unexplained[t] == pytest.approx(squares, rel=1e-9, abs=1e-20)
        assert gauges.n_rows[t] == np.count_nonzero(v)
        assert gauges.total_weight[t] == pytest.approx(v.sum(), rel=1e-12)
        if trace.penalty[t] > 0 or np.count_nonzero(v) - intercept > 5:
            _, mean, _ = inverse(window, 0.0, intercept, v)
            scatter = np.sum(v[:, None] * (window - mean) ** 2)
            assert gauges.scatter[t] == pytest.approx(scatter, rel=1e-9)
            assert gauges.size[t] == pytest.approx(trace.coef[t] @ trace.coef[t], rel=1e-9)


@intercepts
@penalties
def test_a_huge_row_that_has_left_does_not_change_the_gauges(penalty, intercept):
    X, y = stream(60, 3)
    X[5], y[5] = 1e8 * X[5], 1e9
    solver = EventSolver(3, penalty, intercept=intercept)
    solver.extend(X[:20], y[:20])
    solver.predict(X[20])
    none, one = np.zeros(40, np.int64), np.ones(40, np.int64)
    solver.replay(X[20:], y[20:], none, one, Asked(False, True, True))
    fresh = EventSolver(3, penalty, intercept=intercept)
    fresh.extend(X[40:], y[40:])
    for got, want in zip(solver.gauge(X[:2]), fresh.gauge(X[:2]), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9)


@intercepts
def test_a_row_outside_the_span_has_an_infinite_leverage(intercept):
    X, y = np.eye(4)[[0, 1, 2, 0, 1, 2, 1]], np.arange(7.0)
    solver = EventSolver(4, Fixed(), intercept=intercept)
    solver.extend(X, y)
    inside, outside = solver.gauge(np.eye(4)[2:]).leverage
    assert np.isfinite(inside)
    assert np.isinf(outside)

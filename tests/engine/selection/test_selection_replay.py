"""Leverages and residuals of a replay with a selected penalty."""

from __future__ import annotations

import numpy as np
import pytest

from efface import AutoRidge, diagnose, replay


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("window", [4, 12])
def test_a_replay_gives_the_leverages_of_a_diagnosis(window, intercept, average):
    rng = np.random.default_rng(window)
    X = rng.normal(size=(40, 3)) * [1.0, 20.0, 0.05] + 1.0
    y = X @ [1.0, 0.1, 3.0] + rng.normal(size=40)
    model = AutoRidge(window, fit_intercept=intercept, average=average)
    trace = replay(model, X[:30], y[:30], diagnostics=True)
    for t in range(30, 36):
        found = diagnose(model, X[t])
        trace = replay(model, X[t : t + 1], y[t : t + 1], diagnostics=True)
        assert trace.leverage_new[0] == pytest.approx(found.leverage_new, rel=1e-8)
        assert trace.leverage_old[0] == pytest.approx(found.leverage_oldest, rel=1e-8)
        assert trace.frt[0] == pytest.approx(found.frt, rel=1e-8)
        assert trace.rank[0] == found.rank
        assert trace.penalty[0] == pytest.approx(found.penalty, rel=1e-9)


@pytest.mark.parametrize("average", [False, True])
def test_a_replay_predicts_what_single_events_predict(average):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), rng.normal(size=60)
    one, other = (AutoRidge(11, average=average) for _ in range(2))
    trace = replay(one, X, y, coef=True, interval=0.9)
    other.partial_fit(X[:1], y[:1])
    for t in range(1, 60):
        found = other.predict_interval(X[t : t + 1], 0.9)
        assert found.prediction[0] == pytest.approx(trace.prediction[t], abs=1e-10)
        assert found.upper[0] == pytest.approx(trace.upper[t], rel=1e-8)
        assert other.coef_ == pytest.approx(trace.coef[t], abs=1e-10)
        other.learn_one(X[t], float(y[t]))

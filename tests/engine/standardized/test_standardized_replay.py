"""Events on standardised features: leverages and gauges against dense algebra."""

from __future__ import annotations

import numpy as np
import pytest
from twins import scaling as naive_scaling

from efface.live.penalties import Fixed
from efface.live.standardized_solver import StandardizedSolver
from efface.live.trace import Asked


def rows(n=30, d=3):
    rng = np.random.default_rng([n, d])
    X = rng.normal(size=(n, d)) * [1.0, 30.0, 1e-3] + [0.0, 100.0, 1.0]
    return X, X @ [1.0, 0.1, 500.0] + rng.normal(size=n)


@pytest.mark.parametrize("alpha", [0.0, 1.5])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("window", [3, 15])
def test_a_replay_equals_dense_algebra(alpha, intercept, window):
    X, y = rows()
    solver = StandardizedSolver(3, Fixed(alpha), intercept=intercept)
    none = np.zeros(30, np.int64)
    after = np.where(np.arange(30) >= window, 1, 0)
    trace = solver.replay(X, y, none, after, Asked(True, True, True))
    for t in range(5, 30):
        live = slice(t - min(t, window), t)
        Z, mean, sd = naive_scaling.standardise(X[live])
        z, n = (X[t] - mean) / sd, len(Z)
        if alpha:
            inverse = np.linalg.inv(Z.T @ Z + alpha * np.eye(3))
        else:
            inverse = np.linalg.pinv(Z.T @ Z, rcond=1e-10)
        base = intercept / n
        coef, level, rank = naive_scaling.regress(X[live], y[live], alpha, intercept)
        residuals = y[live] - X[live] @ coef - level
        assert trace.coef[t] == pytest.approx(coef, rel=1e-8)
        assert trace.rank[t] == rank
        assert trace.leverage_new[t] == pytest.approx(z @ inverse @ z + base, rel=1e-8)
        assert trace.leverage_old[t] == pytest.approx(Z[0] @ inverse @ Z[0] + base, rel=1e-8)
        gauges = trace.gauges
        assert gauges.scatter[t] == pytest.approx(np.sum(Z**2), rel=1e-9)
        assert gauges.size[t] == pytest.approx(np.sum((coef * sd) ** 2), rel=1e-8)
        assert gauges.unexplained[t] == pytest.approx(residuals @ residuals, rel=1e-7, abs=1e-18)
        if alpha or rank == 3:
            assert gauges.leverage[t] == pytest.approx(trace.leverage_new[t], rel=1e-8)
        else:
            assert np.isinf(gauges.leverage[t])


def test_a_new_value_of_a_constant_feature_has_an_infinite_leverage():
    X, y = rows()
    X[:, 1] = 0.1
    solver = StandardizedSolver(3, Fixed(0.0), intercept=True)
    solver.extend(X, y)
    new = np.array([X[0], X[0]])
    new[1, 1] = 0.2
    assert np.isfinite(solver.gauge(new).leverage).tolist() == [True, False]
    penalised = StandardizedSolver(3, Fixed(2.0), intercept=True)
    penalised.extend(X, y)
    near, far = penalised.gauge(new).leverage
    assert far - near == pytest.approx(0.1**2 / 2.0)  # not scaled, as by a scaler

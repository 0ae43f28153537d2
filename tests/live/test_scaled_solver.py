"""What solvers on scaled features share: replays and gauges, against one event at a time."""

from __future__ import annotations

import numpy as np
import pytest

from efface.live.penalties import Fixed, Selected
from efface.live.selection_solver import SelectionSolver
from efface.live.standardized_solver import StandardizedSolver
from efface.live.trace import Asked

SOLVERS = [
    (StandardizedSolver, Fixed(2.0)),
    (SelectionSolver, Selected()),
    (SelectionSolver, Selected(average=True)),
]


def stream(n=40, d=3):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(n, d))
    X[:15, 1] = 1.0  # no spread at first: these windows are refitted
    return X, X @ np.arange(1.0, d + 1.0) + rng.normal(size=n)


@pytest.mark.parametrize(("kind", "penalty"), SOLVERS)
@pytest.mark.parametrize("diagnostics", [False, True])
def test_a_replay_predicts_and_measures_what_events_do(kind, penalty, diagnostics):
    X, y = stream()
    leaving, none = (np.arange(40) >= 12).astype(np.int64), np.zeros(40, np.int64)
    replayed, single = kind(3, penalty, intercept=True), kind(3, penalty, intercept=True)
    asked = Asked(coef=True, diagnostics=diagnostics, gauges=not diagnostics)
    trace = replayed.replay(X, y, none, leaving, asked)
    for t in range(40):
        assert trace.prediction[t] == pytest.approx(single.predict(X[t]), rel=1e-9, abs=1e-9)
        if not diagnostics and t > 0:
            reach = single.gauge(X[t : t + 1]).leverage[0]
            assert trace.gauges.leverage[t] == pytest.approx(reach, rel=1e-7)
        single.learn(X[t], y[t], int(leaving[t]))
    assert replayed.coef == pytest.approx(single.coef, rel=1e-9)


@pytest.mark.parametrize(("kind", "penalty"), SOLVERS)
def test_no_row_of_weight_gives_no_gauge(kind, penalty):
    solver = kind(2, penalty, intercept=True)
    solver.extend(np.ones((3, 2)), np.ones(3), np.zeros(3))
    assert np.isnan(solver.gauge(np.ones((1, 2))).leverage).all()

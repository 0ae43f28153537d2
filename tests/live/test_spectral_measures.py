"""Measures by singular values equal those that follow from a solution."""

from __future__ import annotations

import numpy as np
import pytest
from designs import sample

from efface.engine.events.event_replay import Events
from efface.engine.events.leverage import GAUGES
from efface.live import spectral_measures
from efface.live.event_solver import EventSolver
from efface.live.penalties import Fixed, Selected
from efface.live.selection_solver import SelectionSolver, StandardizedSelectionSolver
from efface.live.spectral_measures import SpectralMeasures
from efface.live.standardized_solver import StandardizedSolver
from efface.live.trace import Asked


@pytest.mark.parametrize("alpha", [0.0, 2.0])
@pytest.mark.parametrize("intercept", [False, True])
def test_leverages_and_gauges_are_those_of_a_replay(alpha, intercept):
    rng = np.random.default_rng(0)
    X, y, w = rng.normal(size=(30, 3)), rng.normal(size=30), rng.uniform(0.5, 2.0, size=30)
    solver = EventSolver(3, Fixed(alpha), intercept=intercept)
    assert isinstance(solver, SpectralMeasures)
    solver.extend(X, y, w)
    new, none = rng.normal(size=(1, 3)), np.zeros(1, np.int64)
    events = Events.of(new, np.ones((1, 3)), none, coef=False, gauges=True)
    solver.predict(new[0])
    solver._measure_by_spectrum(0, events)
    trace = solver.replay(new, np.zeros(1), none, none, Asked(False, True, True))
    found = trace.leverage_new[0], trace.leverage_old[0], trace.frt[0]
    np.testing.assert_allclose(events.states[3:6, 0], found, rtol=1e-10)
    np.testing.assert_allclose(events.gauges[0], [g[0] for g in trace.gauges[3:]], rtol=1e-10)


SOLVERS = {
    "events": (EventSolver, Fixed()),
    "standardised": (StandardizedSolver, Fixed()),
    "selection": (SelectionSolver, Selected()),
    "standardised selection": (StandardizedSelectionSolver, Selected()),
}
HARD = ["one-hot", "copied column", "total and parts", "correlation 0.99999", "nearly a copy"]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", HARD)
def test_the_factor_of_the_rows_measures_as_the_rows_do(
    name, solver, intercept, weighted, monkeypatch
):
    X, y = sample(name, 70, seed=6)
    w = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 3.0], size=60) if weighted else np.ones(60)
    kind, penalty = SOLVERS[solver]
    one = kind(X.shape[1], penalty, intercept=intercept)
    one.extend(X[:60], y[:60], w)
    new = np.vstack([X[60:63], X[63] + 1.0])
    with monkeypatch.context() as without_rows:
        without_rows.setattr(spectral_measures, "weighted_system", None)
        found = one.gauge(new)
    one._precise.clear()
    columns = np.full((4, GAUGES), np.nan)
    one._gauge_by_spectrum(new, columns, one._measured())
    for name, ours, theirs in zip(found._fields[3:], found[3:], columns.T, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-7, err_msg=name)


@pytest.mark.parametrize("kind", SOLVERS)
def test_replays_of_dependent_features_never_measure_by_their_rows(kind, monkeypatch):
    X, y = sample("copied column", 90, seed=7)
    kind, penalty = SOLVERS[kind]
    one = kind(4, penalty, intercept=True)
    one.extend(X[:50], y[:50])
    none, ones = np.zeros(40, np.int64), np.ones(40, np.int64)
    monkeypatch.setattr(spectral_measures, "weighted_system", None)
    trace = one.replay(X[50:], y[50:], none, ones, Asked(False, True, True))
    monkeypatch.undo()
    for t in (0, 20, 39):
        other = kind(4, penalty, intercept=True)
        other.extend(X[t : t + 50], y[t : t + 50])
        right = other.gauge(X[50 + t : 51 + t])
        for ours, theirs in zip(trace.gauges[3:], right[3:], strict=True):
            assert ours[t] == pytest.approx(theirs[0], rel=1e-9)
        Z = other._scores().rows
        Z = Z - Z.mean(axis=0)
        H = np.linalg.pinv(Z.T @ Z + trace.penalty[t] * np.eye(4), rcond=1e-10)
        assert trace.leverage_old[t] == pytest.approx(Z[0] @ H @ Z[0] + 1 / 50, rel=1e-9)

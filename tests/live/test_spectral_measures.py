"""Measures by singular values equal those that follow from a solution."""

from __future__ import annotations

import numpy as np
import pytest

from efface.engine.events.event_replay import Events
from efface.live.event_solver import EventSolver
from efface.live.penalties import Fixed
from efface.live.spectral_measures import SpectralMeasures
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

"""Planned departures, and the interval of the row after a window."""

from __future__ import annotations

import numpy as np
import pytest
from samples import data

from efface import OLS
from efface.batch.groups import RowArrays
from efface.batch.varying_windows import PlannedDepartures, Regression, interval_after
from efface.models.intervals import as_method


def test_planned_departures():
    policy, phase, n_rows = PlannedDepartures(np.array([0, 0, 2, 1])), 0, 0
    alive = []
    for _ in range(4):
        leaving, phase = policy.after(n_rows + 1, phase)
        n_rows += 1 - leaving
        alive.append(n_rows)
    assert policy.schedule(0, 4, 0, None).alive(0).tolist() == alive == [1, 2, 1, 1]
    assert policy.schedule(2, 2, 2, None).after.tolist() == [2, 1]


@pytest.mark.parametrize("name", ["gaussian", "self-normalized", "conformal", "local"])
def test_the_interval_of_the_row_after_a_window(name):
    X, y = data(70, 2)
    w, method = np.linspace(0.5, 2.0, 69), as_method(0.8, name)
    found = interval_after(X[69], RowArrays(X[:69], y[:69], w), Regression(0.0, True), method)
    model = OLS().fit(X[:69], y[:69], sample_weight=w)
    model = model.predict_interval(X[69:], level=0.8, method=name)
    assert found == pytest.approx((model.lower[0], model.upper[0]), rel=1e-9)

"""Windows of varying length, compared with a refit of each."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import data
from twins import regression as naive

from efface import OLS
from efface.batch.groups import RowArrays
from efface.batch.varying_windows import (
    PlannedDepartures,
    Regression,
    fit_varying_windows,
    interval_after,
)
from efface.models.intervals import as_method


@given(
    steps=st.lists(st.integers(0, 4), min_size=1, max_size=60),
    d=st.integers(1, 4),
    alpha=st.sampled_from([0.0, 0.7]),
    intercept=st.booleans(),
)
@settings(deadline=None, max_examples=60)
def test_every_window_equals_a_refit(steps, d, alpha, intercept):
    n = len(steps)
    starts = np.minimum(np.cumsum(steps), np.arange(n))  # a window contains its last row
    X, y = data(n, d)
    found = fit_varying_windows(X, y, starts, Regression(alpha, intercept))
    for t in range(n):
        rows = slice(starts[t], t + 1)
        coef, level, rank = naive.regress(X[rows], y[rows], alpha, intercept)
        scale = max(np.abs(coef).max(), np.abs(y[rows]).max() / np.abs(X[rows]).max())
        assert found.coef[t] == pytest.approx(coef, abs=1e-9 * scale)
        assert found.intercept[t] == pytest.approx(level, abs=1e-9 * max(scale, abs(level)))
        if alpha == 0.0:
            assert found.rank[t] == rank
    assert alpha == 0.0 or found.rank is None


def test_no_rows():
    found = fit_varying_windows(
        np.zeros((0, 2)), np.zeros(0), np.zeros(0, int), Regression(0.0, True)
    )
    assert found.coef.shape == (0, 2)
    assert found.intercept.shape == (0,)


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

"""The errors of live rows: leverages and residuals, against a refit without each row."""

from __future__ import annotations

import numpy as np
import pytest
from twins import intervals as naive

from efface.engine.windows import local_widths as widths
from efface.engine.windows.local_rows import AGE, ENDS, FIT, room_for


def measured(monkeypatch, X, y, weights, window, intercept):
    """The scratch of a window after its errors were measured, and how many rows they are of."""
    rooms = []
    monkeypatch.setattr(widths, "room_for", lambda *args: rooms.append(room_for(*args)) or rooms[0])
    n = len(y)
    fit = X[:1], np.array([0]), np.array([n]), window.coef[None], np.array([window.level])
    fits = widths.Fits(*fit, np.array([window.lam]))
    form = widths.Penalisation(intercept, intercept, 0)
    found = widths.local_widths(X, y, weights, fits, form, 0.1, 1.6448536269514722)
    assert np.isfinite(found).all()
    return rooms[0]


@pytest.mark.parametrize("lam", [0.0, 3.0])
@pytest.mark.parametrize("intercept", [False, True])
def test_leverages_are_those_of_refits_without_each_row(monkeypatch, intercept, lam):
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(30, 3)), rng.uniform(0.5, 2.0, size=30)
    y = X @ [1.0, 2.0, 3.0] + rng.normal(size=30)
    window = naive.Window(X, y, ("Ridge", {"alpha": lam}), intercept, weights)
    room = measured(monkeypatch, X, y, weights, window, intercept)
    for i in range(30):
        rest = np.arange(30) != i
        other = (X[rest], y[rest], ("Ridge", {"alpha": lam}), intercept, weights[rest])
        without = weights[i] * naive.Window(*other).leverage(X[i])
        own = room.z[3, i] + intercept * weights[i] / weights.sum()
        assert own == pytest.approx(without / (1 + without), rel=1e-6)


def test_ages_run_from_the_newest_row_to_the_oldest(monkeypatch):
    rng = np.random.default_rng(1)
    X, y, weights = rng.normal(size=(40, 1)), rng.normal(size=40), np.ones(40)
    weights[[3, 39]] = 0.0
    window = naive.Window(X, y, ("OLS", {}), True, weights)
    room = measured(monkeypatch, X, y, weights, window, True)
    ages = (39 - np.flatnonzero(weights)) / 40
    for column, want in ((AGE, ages), (ENDS, (1 - 2 * ages) ** 2)):
        assert room.columns[column, :38] == pytest.approx(want - want.mean(), abs=1e-12)
    assert np.isfinite(room.columns[FIT, :38]).all()

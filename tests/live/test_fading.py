"""Weights that fade: each row keeps one weight until all are made anew."""

from __future__ import annotations

import numpy as np
import pytest
from twins import half_life as naive

from efface.live.fading import Fading
from efface.live.half_life import HalfLife
from efface.live.index import RowIndex
from efface.live.penalties import Fixed
from efface.live.solver import Solver


def started(halflife, timed=False):
    solver, index = Solver(2, Fixed(), intercept=False, fades=True), RowIndex()
    return Fading(HalfLife(halflife, timed), solver, index), solver, index


def ratios(solver):
    return solver.weights / solver.unit


@pytest.mark.parametrize("halflife", [0.01, 0.4, 3.0, 50.0])
@pytest.mark.parametrize("timed", [False, True])
def test_weights_follow_ages_at_every_row(halflife, timed):
    fading, solver, index = started(halflife, timed)
    rng = np.random.default_rng(0)
    times, own = np.cumsum(rng.exponential(size=300)), rng.choice([0.0, 0.5, 1.0, 4.0], size=300)
    for t in range(300):
        lost = 53.0 if not timed else np.inf
        alive = min(t + 1, max(1, int(np.ceil(lost * halflife)))) if not timed else None
        leaving = 0 if timed else max(0, solver.n_rows + 1 - alive)
        if timed:
            old = int(np.sum(times[t] - times[t - solver.n_rows : t] >= 53.0 * halflife))
            index.drop(old)
            solver.drop(old)
        time = float(times[t]) if timed else None
        fading.learn(rng.normal(size=2), 1.0, leaving, float(own[t]), time)
        index.append(t, time)
        index.drop(leaving)
        n = solver.n_rows
        rows = slice(t + 1 - n, t + 1)
        expected = naive.fading_weights(own[rows], halflife, times[rows] if timed else None)
        np.testing.assert_allclose(ratios(solver), expected, rtol=1e-12)
        np.testing.assert_array_equal(solver.own_weights, own[rows])
        assert solver.weights.max(initial=0.0) <= 4.0
        assert solver.residues() == []


def test_weights_made_anew_do_not_depend_on_the_past():
    one, other = started(2.0), started(2.0)
    X, y = np.random.default_rng(1).normal(size=(40, 2)), np.ones(40)
    for t in range(40):
        one[0].learn(X[t], 1.0, 0, 1.0, None)
        one[2].append(t, None)
    other[0].extend(X, y, y, None)
    other[2].extend(range(40), None)
    for fading, *_ in (one, other):
        fading.renew()
    assert one[1].weights.tobytes() == other[1].weights.tobytes()
    assert one[1].unit == other[1].unit == 2.0**-64
    np.testing.assert_array_equal(one[0].shares(), 2.0 ** (-np.arange(40)[::-1] / 2.0))


def test_a_few_rows_are_added_without_touching_the_others():
    fading, solver, index = started(10.0)
    X = np.random.default_rng(2).normal(size=(60, 2))
    fading.extend(X[:30], np.ones(30), np.ones(30), None)
    index.extend(range(30), None)
    before = solver.weights.copy()
    fading.extend(X[30:], np.ones(30), np.ones(30), None)
    index.extend(range(30, 60), None)
    np.testing.assert_array_equal(solver.weights[:30], before)
    np.testing.assert_allclose(ratios(solver), naive.fading_weights(np.ones(60), 10.0), rtol=1e-12)

"""The compiled selection for few rows equals that of NumPy's singular value decomposition."""

from __future__ import annotations

import numpy as np
import pytest

from efface import AutoRidge
from efface.engine.events.leverage import (
    GAUGES,
    LEVERAGE,
    SCATTER,
    SIZE_2,
    TOTAL_WEIGHT,
    UNEXPLAINED,
)
from efface.engine.selection.direct import refit_selection
from efface.engine.selection.few_rows import MOST_FEATURES
from efface.engine.selection.selection_state import open_selection
from efface.live.penalties import Selected
from efface.live.selection_solver import SelectionSolver, StandardizedSelectionSolver
from efface.live.trace import Asked

SOLVERS = {"halved": SelectionSolver, "standardised": StandardizedSelectionSolver}
KINDS = ["plain", "constant feature", "copied feature", "constant response", "copied row", "exact"]
DIAGNOSED = Asked(coef=True, diagnostics=True, gauges=True)


def rows_of(kind, n, d, seed):
    rng = np.random.default_rng([KINDS.index(kind), n, d, seed])
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-2, 2, size=d) + rng.choice([0.0, 1e4])
    y = 100.0 + rng.normal(size=n)
    if kind == "constant feature":
        X[:, 0] = 3.7
    elif kind == "copied feature":
        X[:, -1] = 2.0 * X[:, 0]
    elif kind == "constant response":
        y[:] = 5.5
    elif kind == "copied row":
        X[n // 2] = X[0]
    elif kind == "exact":
        y = X @ rng.normal(size=d)
    return X, y, rng.choice([0.0, 0.5, 1.0, 2.0, 1e3], size=n) if seed else np.ones(n)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_both_ways_give_the_same_solution_and_leverages(solver, intercept, kind, seed):
    for d, n in ((1, 1), (2, 1), (3, 2), (4, 4), (5, 5 + intercept)):
        X, y, w = rows_of(kind, n, d, seed)
        if w.any():
            compare(SOLVERS[solver](d, Selected(), intercept=intercept), X, y, w)


def compare(solver, X, y, w):
    solver.extend(X, y, w)
    places = np.vstack([X, X.mean(axis=0) + 3.0 * X.std(axis=0) + 0.1])
    ours, right = np.full((2, len(places), GAUGES), np.nan)
    assert solver._gauge(places, ours)
    stream = open_selection(solver.stores[0])
    assert stream.few.state.kept == 1
    found = solver.coef, solver.intercept, solver.penalty_value
    rank = int(stream.few.state.independent)
    refit_selection(*solver.rows.arrays, solver.stores[0])
    measured = solver._measured()
    solver._gauge_by_spectrum(places, right, measured)
    level = np.average(y, weights=w) if solver.intercepts else 0.0
    square = float(w @ (y - level) ** 2)
    apart = places @ (found[0] - stream.coef) + found[1] - stream.state.intercept
    rounding = 1e-14 * (np.abs(places * stream.coef).max() + np.abs(y).max())
    assert np.abs(apart).max() <= 1e-10 * np.sqrt(square / w.sum()) + rounding
    assert found[2] == pytest.approx(stream.state.penalty, rel=1e-9)
    assert rank == measured.spectrum.rank
    for k in (LEVERAGE, SCATTER, TOTAL_WEIGHT):
        assert ours[:, k] == pytest.approx(right[:, k], rel=1e-9)
    assert ours[:, UNEXPLAINED] == pytest.approx(right[:, UNEXPLAINED], abs=1e-10 * square + 1e-24)
    assert ours[:, SIZE_2] == pytest.approx(right[:, SIZE_2], rel=1e-9, abs=1e-24)


@pytest.mark.parametrize("intercept", [False, True])
def test_leverages_of_a_replay_are_those_by_singular_values(intercept):
    X, y, w = rows_of("plain", 6, 5, 2)
    w[0] = 2.0
    fast, slow = (SelectionSolver(5, Selected(), intercept=intercept) for _ in range(2))
    slow._measure_until = by_singular_values(slow)
    nothing = np.zeros(6, np.int64)
    ours, right = (each.replay(X, y, nothing, nothing, DIAGNOSED, w) for each in (fast, slow))
    assert ours.rank.tolist() == right.rank.tolist()
    for name in ("prediction", "penalty", "leverage_new", "leverage_old", "frt"):
        np.testing.assert_allclose(getattr(ours, name), getattr(right, name), rtol=1e-9, atol=1e-12)
    for name in ("leverage", "unexplained", "scatter", "size", "total_weight"):
        pair = getattr(ours.gauges, name), getattr(right.gauges, name)
        np.testing.assert_allclose(*pair, rtol=1e-9, atol=1e-12)


def by_singular_values(solver):
    """A replay of few rows, each measured by NumPy."""

    def measure(end, row, events, asked):
        for t in range(row, end):
            solver._settle()
            if solver.n_rows:
                refit_selection(*solver.rows.arrays, solver.stores[0])
            state = solver._state
            events.states[:3, t] = solver.predict(events.rows[t]), state.penalty, state.intercept
            events.counts[:, t] = solver.n_rows, state.rank, solver.n_rows
            events.counts[2, t] -= solver.rows.weightless
            if solver.n_rows:
                solver._measure_by_spectrum(t, events)
            solver.learn(events.rows[t], *events.responses[t, [0]], 0, events.responses[t, 2])
        return end

    return measure


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("halflife", [0.5, 3.0])
def test_rows_that_fade_count_by_what_is_left_of_them(intercept, halflife):
    X, y, _ = rows_of("plain", 4, 5, 0)
    model = AutoRidge(halflife=halflife, fit_intercept=intercept)
    for row, response in zip(X, y, strict=True):
        model.learn_one(row, float(response))
    found, solver = (model.coef_, model.intercept_, model.penalty_), model._live.solver
    stream = open_selection(solver.stores[0])
    assert stream.few.state.kept == 1
    refit_selection(*solver.rows.arrays, solver.stores[0])
    assert found[0] == pytest.approx(stream.coef, rel=1e-9, abs=1e-12)
    assert found[1] == pytest.approx(stream.state.intercept, rel=1e-9, abs=1e-12)
    assert found[2] == pytest.approx(stream.state.penalty / solver.unit, rel=1e-9)


@pytest.mark.parametrize("unit", [1e-130, 1e130])
def test_values_whose_squares_lose_digits_are_left_to_numpy(unit):
    X, y, w = rows_of("plain", 3, 4, 0)
    solver = SelectionSolver(4, Selected(), intercept=True)
    solver.extend(unit * X, y, w)
    found = solver.predict(unit * X[1])
    stream = open_selection(solver.stores[0])
    assert (stream.state.refit, stream.few.state.kept) == (1, 0)
    assert not any(each.any() for each in stream.few[1:])
    plain = SelectionSolver(4, Selected(), intercept=True)
    plain.extend(X, y, w)
    assert found == pytest.approx(plain.predict(X[1]), rel=1e-9)


def test_many_features_are_left_to_numpy():
    d = MOST_FEATURES + 1
    rng = np.random.default_rng(0)
    solver = SelectionSolver(d, Selected(), intercept=True)
    solver.extend(rng.normal(size=(3, d)), rng.normal(size=3))
    solver.predict(np.ones(d))
    assert open_selection(solver.stores[0]).few.state.kept == 0

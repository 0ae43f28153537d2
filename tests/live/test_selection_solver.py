"""Models that select their penalty: at every step those of their rule in sixty digits (R1)."""

from __future__ import annotations

import numpy as np
import pytest
from histories import CLASSES, MILD, interleave, steps, streams, weigh, windows
from hypothesis import given, settings
from hypothesis import strategies as st
from small_trees import small_trees
from twins import regression as naive
from twins import selection as twin

from efface import AutoRidge, KeepFor, replay
from efface.live.penalties import Selected
from efface.live.selection_solver import SelectionSolver, StandardizedSelectionSolver

PROMISED = 1e-9  # of the deviation of the responses


def largest_error(model, X, y, weights, places):
    """The largest difference of predictions at some places, in deviations of the responses."""
    options = {"standardize": model.standardize, "average": model.average}
    coef, level, penalty = twin.select(X, y, model.fit_intercept, weights, **options)
    if penalty is not None and len(y):
        assert model.penalty_ == pytest.approx(penalty, rel=1e-6)
    counted = y[weights > 0]
    spread = counted.std() if model.fit_intercept else np.sqrt((counted**2).mean())
    away = np.abs(places @ (model.coef_ - coef) + (model.intercept_ - level)).max(initial=0.0)
    # A prediction is a sum whose terms are rounded themselves.
    rounding = np.abs(places * coef).max(initial=0.0) + np.abs(counted).max(initial=0.0)
    return max(0.0, away - 8 * np.finfo(float).eps * rounding) / (spread or 1.0)


def check_predictions(model, rows):
    """Predictions for the live rows are those of the rule in sixty digits."""
    X, y, weights = (np.array(each) for each in (rows.X, rows.y, rows.weights))
    if len(y) and weights.any():
        assert largest_error(model, X, y, weights, X[weights > 0]) <= PROMISED


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("average", [False, True])
@settings(deadline=None, max_examples=6)
@given(
    events=steps,
    window=windows,
    d=st.sampled_from([1, 3]),
    intercept=st.booleans(),
    standardize=st.booleans(),
    weighing=st.sampled_from(MILD),
    seed=st.integers(0, 99),
)
def test_after_any_history_predictions_are_those_of_the_rule(
    kind, average, events, window, d, intercept, standardize, weighing, seed
):
    policy, described = window
    options = {"fit_intercept": intercept, "standardize": standardize, "average": average}
    model = AutoRidge(policy, **options)
    rows = naive.NaiveModel(("OLS", {}), described, intercept, d)
    X, y = streams(kind, 110, d, seed)
    every = iter(range(10**6))

    def check(model, rows):
        if next(every) % 4 == 0:
            check_predictions(model, rows)

    interleave(model, rows, events, (X, y, weigh(weighing, kind, 110, seed)), check)
    check_predictions(model, rows)


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 10**6), kind=st.sampled_from(CLASSES), weighted=st.booleans())
def test_sums_from_the_tree_and_sliding_sums_are_those_of_the_rule(
    average, intercept, seed, kind, weighted
):
    rng = np.random.default_rng(seed)
    X, y = streams(kind, 120, 3, seed)
    w = rng.choice([0.0, 0.5, 1.0, 2.0], size=120) if weighted else np.ones(120)
    with small_trees():
        model = AutoRidge(60, fit_intercept=intercept, average=average)
        model.partial_fit(X[:50], y[:50], sample_weight=w[:50])
        model.forget(rng.choice(50, size=8, replace=False).tolist())
        model.predict_one(X[0])
        replay(model, X[50:80], y[50:80], ids=range(50, 80), sample_weight=w[50:80])
        model.forget(rng.choice(model.ids_, size=3, replace=False).tolist())
        for t in range(80, 100):
            model.learn_one(X[t], float(y[t]), id=t, weight=float(w[t]))
            model.predict_one(X[t])
    live = np.array(model.ids_)
    assert largest_error(model, X[live], y[live], w[live], X[live][w[live] > 0]) <= PROMISED


def test_five_thousand_rows_of_which_some_leave():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(5000, 3)) * [1.0, 100.0, 1e-3] + [0.0, 1e4, 1.0]
    X[777] *= 1e8
    y = X @ [1.0, 1e-2, 1e3] + rng.normal(size=5000)
    model = AutoRidge().fit(X, y)
    model.forget([777, *range(0, 5000, 50)])
    left = np.setdiff1d(np.arange(5000), [777, *range(0, 5000, 50)])
    assert largest_error(model, X[left], y[left], np.ones(left.size), X[left]) <= PROMISED


def test_rows_that_expire_take_their_penalty_with_them():
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    model = AutoRidge(KeepFor(10.0)).fit(X, y, at=np.arange(30.0))
    model.expire(32.0)
    live = np.array(model.ids_)
    assert largest_error(model, X[live], y[live], np.ones(live.size), X[live]) <= PROMISED


@pytest.mark.parametrize("kind", [SelectionSolver, StandardizedSelectionSolver])
def test_a_solver_without_rows_predicts_0(kind):
    solver = kind(2, Selected(), intercept=True)
    assert solver.predict(np.ones(2)) == 0.0
    assert (solver.rank, solver.penalty_value, solver.intercept) == (0, 0.0, 0.0)


def test_total_weights_of_at_most_1_are_shrunk_by_the_determinant_alone():
    X, y = np.array([[1.0], [2.0], [4.0]]), np.array([1.0, 2.0, 5.0])
    w = np.full(3, 0.2)
    model = AutoRidge().fit(X, y, sample_weight=w)
    assert largest_error(model, X, y, w, X) <= PROMISED

"""Models that select their penalty: at every step those of their rule in sixty digits (R1)."""

from __future__ import annotations

import numpy as np
import pytest
from histories import CLASSES, MILD, interleave, steps, streams, weigh, windows
from hypothesis import given, settings
from hypothesis import strategies as st
from twins import regression as naive
from twins import selection as twin

from efface import AutoRidge

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

"""Baselines predict before they learn, and batch sizes do not matter."""

from __future__ import annotations

import numpy as np
import pytest

from efface import OLS, Ridge
from efface.files.baselines import ALPHAS, EVERY, baselines

RNG = np.random.default_rng(11)
X = RNG.normal(size=(450, 3))
Y = X @ [1.0, -2.0, 0.5] + 3.0 + 0.1 * RNG.normal(size=450)
WINDOW = 60


def all_baselines():
    return baselines(lambda: OLS(WINDOW), WINDOW)


def naive_refits(x, y):
    """Least squares on the window, refitted only after every hundredth row."""
    predictions, coef = [], None
    for t in range(len(y)):
        if t and t % EVERY == 0:
            rows = np.column_stack([np.ones(WINDOW), x[t - WINDOW : t]])
            coef = np.linalg.lstsq(rows, y[t - WINDOW : t], rcond=None)[0]
        predictions.append(0.0 if coef is None else coef[0] + x[t] @ coef[1:])
    return predictions


def one_by_one(model, x, y, weights=None):
    predictions = [0.0]
    for t in range(1, len(y)):
        model.learn_one(x[t - 1], y[t - 1], weight=1.0 if weights is None else weights[t - 1])
        predictions.append(model.predict_one(x[t]))
    return predictions


def test_periodic_refits_equal_a_naive_implementation():
    found = all_baselines()[f"refit every {EVERY} rows"].predict(X, Y, None)
    np.testing.assert_allclose(found, naive_refits(X, Y), rtol=1e-9, atol=1e-9)


def test_never_forgetting_equals_one_event_at_a_time():
    found = all_baselines()["never forget (growing OLS)"].predict(X, Y, None)
    np.testing.assert_allclose(found, one_by_one(OLS(), X, Y), rtol=1e-9, atol=1e-9)


def test_fixed_penalties_equal_ridge():
    for alpha in ALPHAS:
        found = all_baselines()[f"Ridge, alpha={alpha:g}"].predict(X, Y, None)
        expected = one_by_one(Ridge(WINDOW, alpha=alpha), X, Y)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_all_baselines_use_the_weights():
    weights = RNG.choice([0.0, 0.5, 3.0], size=450)
    scaled = baselines(lambda: OLS(WINDOW), WINDOW, standardize=True)
    models = {
        "never forget (growing OLS)": OLS(),
        "Ridge, alpha=100": Ridge(WINDOW, alpha=100.0, standardize=True),
    }
    for name, model in models.items():
        found = scaled[name].predict(X, Y, None, weights)
        expected = one_by_one(model, X, Y, weights)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    found = scaled[f"refit every {EVERY} rows"].predict(X, Y, None, weights)
    for t in (EVERY, 2 * EVERY + 7):
        rows = slice(t // EVERY * EVERY - WINDOW, t // EVERY * EVERY)
        refit = OLS().fit(X[rows], Y[rows], sample_weight=weights[rows])
        assert found[t] == pytest.approx(refit.predict_one(X[t]), rel=1e-9)


def test_river_uses_the_weights():
    pytest.importorskip("river")
    name, zeros = "River LinearRegression", np.zeros(450)
    assert not all_baselines()[name].predict(X, Y, None, zeros).any()
    light = all_baselines()[name].predict(X, Y, None, np.full(450, 0.5))
    plain, ones = (all_baselines()[name].predict(X, Y, None, w) for w in (None, np.ones(450)))
    assert (plain == ones).all()
    assert np.abs(light - plain).max() > 1e-3


def test_river_is_a_baseline_if_installed():
    pytest.importorskip("river")
    predictions = all_baselines()["River LinearRegression"].predict(X, Y, None)
    late = slice(300, None)
    assert predictions[0] == 0.0
    assert np.abs(predictions - Y)[late].mean() < np.abs(Y - Y.mean())[late].mean()


def test_batch_sizes_do_not_matter():
    for name, whole in all_baselines().items():
        parts = all_baselines()[name]
        pieces = [
            parts.predict(X[a:b], Y[a:b], None)
            for a, b in ((0, 1), (1, 130), (130, 300), (300, 450))
        ]
        expected = whole.predict(X, Y, None)
        np.testing.assert_allclose(np.concatenate(pieces), expected, rtol=1e-9, atol=1e-9)

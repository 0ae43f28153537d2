"""The weights that an audit takes for rows of a model with a half-life."""

from __future__ import annotations

import numpy as np
from twins import half_life as naive

from efface import OLS, KeepFor
from efface.diagnostics.faded_rows import faded

X, Y, W = np.arange(12.0).reshape(6, 2), np.arange(6.0), np.array([1.0, 2.0, 0.0, 3.0, 1.0, 0.5])


def test_weights_fade_by_rows_or_by_time():
    model = OLS(4, halflife=3).fit(X, Y, sample_weight=W)
    found = faded(model._snapshot()).weights
    np.testing.assert_allclose(found, naive.fading_weights(W[2:], 3.0), rtol=1e-14)
    at = np.array([0.0, 1.0, 4.0, 4.5, 5.0, 9.0])
    timed = OLS(KeepFor(20.0), halflife=3.0).fit(X, Y, sample_weight=W, at=at)
    found = faded(timed._snapshot()).weights
    np.testing.assert_allclose(found, naive.fading_weights(W, 3.0, at), rtol=1e-14)
    days = np.datetime64("2024-01-01") + np.arange(6)
    calendar = OLS(halflife="2d").fit(X, Y, at=days)
    found = faded(calendar._snapshot()).weights
    np.testing.assert_allclose(found, naive.fading_weights(np.ones(6), 2.0), rtol=1e-14)


def test_rows_without_a_half_life_are_as_they_are():
    live = OLS().fit(X, Y, sample_weight=W)._snapshot()
    assert faded(live) is live
    assert len(faded(OLS(halflife=2).empty(2)._snapshot()).y) == 0

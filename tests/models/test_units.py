"""A penalised model warns once of features in very different units; others never do."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from efface import OLS, AdaptiveRidge, AutoRidge, Ridge, SwitchingRidge, replay, rolling
from efface.errors import UnevenFeatures
from efface.models.units import ROWS, warn_of_uneven_features

RNG = np.random.default_rng(0)
EVEN = RNG.normal(size=(200, 3))
UNEVEN = EVEN * [1.0, 5000.0, 1.0]
Y = EVEN.sum(axis=1)


@pytest.fixture(autouse=True)
def _strict():
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnevenFeatures)
        yield


@pytest.mark.parametrize("kind", [Ridge, AdaptiveRidge, SwitchingRidge])
@pytest.mark.parametrize("way", ["fit", "partial_fit"])
def test_a_penalised_model_warns_once(kind, way):
    model = kind()
    with pytest.warns(UnevenFeatures, match="feature 1 is [45]e.03 times that of feature [02]"):
        getattr(model, way)(UNEVEN, Y)
    model.partial_fit(UNEVEN, Y)
    model.learn_one(UNEVEN[0], 1.0)


def test_a_replay_and_single_rows_warn_too():
    with pytest.warns(UnevenFeatures, match="'Ridge' shrinks features by their units"):
        replay(Ridge(20), UNEVEN, Y)
    model = Ridge()
    for t in range(ROWS - 1):
        model.learn_one(UNEVEN[t], float(Y[t]))
    with pytest.warns(UnevenFeatures, match="pass standardize=True, or use AutoRidge"):
        model.learn_one(UNEVEN[ROWS], 1.0)
    model.learn_one(UNEVEN[ROWS], 1.0)


@pytest.mark.parametrize("model", [OLS(), AutoRidge(), Ridge(standardize=True)])
def test_models_that_units_do_not_change_are_silent(model):
    model.fit(UNEVEN, Y)
    replay(model, UNEVEN, Y)


def test_features_of_similar_spread_and_constant_ones_are_silent():
    Ridge().fit(EVEN, Y)
    Ridge().fit(np.column_stack([EVEN, np.ones(200)]), Y)
    assert not warn_of_uneven_features("Ridge", UNEVEN[:1])


def test_a_penalised_rolling_regression_warns_at_the_line_of_its_call():
    gaps = UNEVEN.copy()
    gaps[3, 0] = np.nan
    for X, missing in ((UNEVEN, "raise"), (gaps, "skip")):
        with pytest.warns(UnevenFeatures, match="'rolling' shrinks features") as seen:
            rolling(X, Y, 20, alpha=1.0, missing=missing)
        assert seen[0].filename == __file__
    rolling(UNEVEN, Y, 20)
    rolling(UNEVEN, Y, 20, alpha="auto")
    rolling(UNEVEN, Y, 20, alpha=1.0, standardize=True)

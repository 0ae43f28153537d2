"""Models of a store: definitions, columns of frames, and the number of each row."""

from __future__ import annotations

from datetime import timedelta

import pandas as pd
import polars as pl
import pytest
from store_cases import NAMES, data, filled

from efface import OLS, AdaptiveRidge, AddDrop, KeepFor, Ridge, WindowScaler
from efface.errors import InvalidValue
from efface.store.opening import without_rows
from efface.store.single_model import SingleModel
from efface.store.stored_fleet import StoredFleet
from efface.store.stored_models import Definition
from efface.store.stored_rows import StoredRows


@pytest.mark.parametrize(
    "model",
    [
        OLS(),
        Ridge(window=AddDrop(3, 1), alpha=0.5),
        AdaptiveRidge(window=timedelta(days=2), theta_max=1.0),
        Ridge(window=KeepFor(5), fit_intercept=False, standardize=True),
        Ridge(halflife=timedelta(days=2)),
    ],
    ids=str,
)
def test_a_definition_gives_the_same_model_back(model):
    made = Definition.of(3, "demand", model, NAMES)
    back = Definition.from_plain(made.to_plain())
    assert back == made
    stored = SingleModel(back, StoredRows.none(3), [])
    assert type(stored.model) is type(model)
    assert stored.model.empty(3)._snapshot().parameters == model.empty(3)._snapshot().parameters


def test_a_keyed_definition_gives_a_fleet_back_unless_a_fleet_refuses_the_model():
    made = Definition.of(3, "demand", Ridge(window=AddDrop(3, 1)), NAMES, keyed=True)
    back = Definition.from_plain(made.to_plain())
    assert back == made
    assert isinstance(without_rows(back), StoredFleet)
    with pytest.raises(InvalidValue, match="halflife"):
        Definition.of(3, "demand", Ridge(halflife=5.0), NAMES, keyed=True)


@pytest.mark.parametrize("features", [0, [], ["a", "a"], "temp", [1, 2], True, None])
def test_features_are_names_or_a_number(features):
    with pytest.raises(InvalidValue, match="features"):
        Definition.of(1, "demand", Ridge(), features)


@pytest.mark.parametrize("model", [WindowScaler(), "ridge", Ridge])
def test_only_models_are_accepted(model):
    with pytest.raises(InvalidValue, match="model"):
        Definition.of(1, "demand", model, 2)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_columns_of_frames_are_found_by_name(tmp_path, frame):
    X, y = data(20)
    columns = {"hum": X[:, 1], "other": y, "wind": X[:, 2], "temp": X[:, 0]}
    with filled(tmp_path / "orders") as store:
        plain = store.predict("demand", X)
        assert (store.predict("demand", frame(columns)) == plain).all()
        store.learn("demand", frame(columns), y)
        held = store._models["demand"].model.live_rows.values()[0]
        assert (held[-20:] == X).all()
        del columns["hum"]
        with pytest.raises(InvalidValue, match="without hum"):
            store.predict("demand", frame(columns))

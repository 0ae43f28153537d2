"""Models of a store: definitions, columns of frames, and the number of each row."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pandas as pd
import polars as pl
import pytest
from store_cases import NAMES, data, filled

from efface import OLS, AdaptiveRidge, AddDrop, KeepFor, Ridge, WindowScaler
from efface.errors import DamagedStore, InvalidValue
from efface.store.row_format import StoredRows
from efface.store.stored_models import Definition, StoredModel


@pytest.mark.parametrize(
    "model",
    [
        OLS(),
        Ridge(window=AddDrop(3, 1), alpha=0.5),
        AdaptiveRidge(window=timedelta(days=2), noise="response", theta_max=1.0),
        Ridge(window=KeepFor(5), fit_intercept=False, standardize=True),
        Ridge(halflife=timedelta(days=2)),
    ],
    ids=str,
)
def test_a_definition_gives_the_same_model_back(model):
    made = Definition.of(3, "demand", model, NAMES)
    back = Definition.from_plain(made.to_plain())
    assert back == made
    stored = StoredModel(back, StoredRows.none(3), [], 0)
    assert type(stored.model) is type(model)
    assert stored.model.empty(3)._snapshot().parameters == model.empty(3)._snapshot().parameters


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


def test_rows_come_back_in_the_order_of_time():
    X, y = data(4)
    rows = StoredRows(X, y, np.ones(4), list("abcd"), np.array([2.0, 1.0, 1.0, 3.0]))
    stored = StoredModel(Definition.of(1, "m", Ridge(), 3), rows, [5, 6, 7, 8], 0)
    assert stored.model.ids_ == ["b", "c", "a", "d"]
    assert stored.seqs == {"a": 5, "b": 6, "c": 7, "d": 8}
    assert (stored.model.live_rows.values()[0] == X[[1, 2, 0, 3]]).all()
    assert "4 rows" in repr(stored)
    assert "a" not in repr(stored).replace("StoredModel", "")


def test_rows_that_make_no_model_are_refused():
    rows = StoredRows(np.ones((2, 3)), np.ones(2), -np.ones(2), ["a", "a"])
    with pytest.raises(DamagedStore, match="cannot be rebuilt"):
        StoredModel(Definition(1, "m", "Unknown", {"window": None}, 3), rows, [0, 1], 0)

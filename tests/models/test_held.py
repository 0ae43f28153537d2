"""What a model holds about an owner."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from efface import OLS, WindowScaler
from efface.errors import InvalidValue, UnknownOwner
from efface.models.river import Regressor

FRAME = pd.DataFrame({"age": [30.0, 40.0, 50.0], "id": [1.0, 2.0, 3.0]})
AT = [datetime(2026, 1, day) for day in (1, 2, 3)]


def fitted(**keys):
    return OLS().fit(FRAME, [5.0, 6.0, 7.0], owners=["ann", "bob", "ann"], **keys)


def test_all_that_is_held_is_listed():
    model = fitted(ids=["a", "b", "c"], at=AT, until=[None, AT[2], AT[2].replace(year=2027)])
    held = model.held("ann")
    assert (held.owner, held.ids, len(held)) == ("ann", ["a", "c"], 2)
    assert held.times.tolist() == np.array([AT[0], AT[2]], "M8[ns]").tolist()
    assert np.isnat(held.until[0])
    assert held.until[1] == np.datetime64("2027-01-03")
    assert {name: values.tolist() for name, values in held.features.items()} == {
        "age": [30.0, 50.0],
        "id": [1.0, 3.0],
    }
    assert held.responses.tolist() == [5.0, 7.0]
    assert held.weights.tolist() == [1.0, 1.0]


def test_what_rows_do_not_have_is_none():
    held = fitted().held("bob")
    assert held.times is held.until is None
    assert held.ids == [1]
    assert fitted(until=[1, None, None]).held("bob").until.tolist() == [np.inf]


@pytest.mark.parametrize(
    ("backend", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame), ("pyarrow", pa.Table)]
)
def test_a_frame_has_one_row_per_live_row(backend, kind):
    model = fitted(ids=[8, "b", "c"], at=AT, until=[None, datetime(2027, 1, 1), None])
    frame = model.held("ann").to_frame(backend)
    assert isinstance(frame, kind)
    found = pl.DataFrame(frame)
    names = ["id", "at", "until", "response", "weight", "age", "feature id"]
    assert found.columns == names
    assert found["id"].to_list() == ["8", "c"]
    assert found["at"].to_list() == [AT[0], AT[2]]
    assert found["until"].null_count() == 2
    assert found["feature id"].to_list() == [1.0, 3.0]


def test_another_library_is_refused():
    with pytest.raises(InvalidValue, match="'backend' is 'excel'"):
        fitted().held("ann").to_frame("excel")


def test_an_unknown_owner_is_refused():
    with pytest.raises(UnknownOwner, match="'owner' is 'eve': no live row has it"):
        fitted().held("eve")
    with pytest.raises(UnknownOwner):
        OLS().fit([[1.0]], [1.0]).held("ann")


def test_a_scaler_has_no_responses():
    held = WindowScaler().fit([[1.0], [2.0]], owners=["ann", "bob"]).held("bob")
    assert held.responses is held.weights is None
    assert list(held.to_frame("polars").columns) == ["id", "x0"]


def test_the_river_wrapper_lists_the_features_that_live_rows_name():
    model = Regressor(OLS(window=5))
    model.learn_one({"a": 1.0}, 2.0, owner="ann")
    model.learn_one({"b": 3.0}, 4.0, owner="bob")
    held = model.held("ann")
    assert {name: values.tolist() for name, values in held.features.items()} == {
        "a": [1.0],
        "b": [0.0],
    }


def test_columns_of_plain_values():
    times = np.array(["2024-05-01T12:00", "2024-05-02T00:00"], dtype="datetime64[ns]")
    ends = [np.datetime64("2030-01-01", "ns"), None]
    model = OLS().fit([[1.0], [2.0]], [3.0, 4.0], owners=["ann"] * 2, at=times, until=ends)
    columns = model.held("ann").to_columns()
    assert columns["at"] == ["2024-05-01T12:00:00.000000000", "2024-05-02T00:00:00.000000000"]
    assert columns["until"] == ["2030-01-01T00:00:00.000000000", None]
    assert columns["x0"] == [1.0, 2.0]

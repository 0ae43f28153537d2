"""Categories of frames become 0/1 columns, in every library."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from efface import Ridge, replay, rolling
from efface.errors import InvalidValue
from efface.inputs.frames import FrameColumns
from efface.inputs.one_hot import encoded

SKY = ["rain", "clear", "rain", "snow", "clear", "rain"]
HUM = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
KINDS = {
    "pandas": lambda columns: pd.DataFrame(columns, index=range(3, 9)),
    "pandas categories": lambda columns: pd.DataFrame(columns).astype({"sky": "category"}),
    "polars": pl.DataFrame,
    "polars lazy": pl.LazyFrame,
    "polars categories": lambda columns: pl.DataFrame(columns).cast({"sky": pl.Categorical}),
    "arrow": pa.table,
}


@pytest.mark.parametrize("kind", KINDS)
def test_categories_are_columns_beside_the_others(kind):
    y = np.array([3.0, 1.0, 4.0, 1.0, 5.0, 9.0])
    frame = KINDS[kind]({"sky": SKY, "hum": HUM, "y": y})
    found = rolling(frame, "y", 5, alpha=0.1, one_hot=["sky"])
    X = np.column_stack([[s == "rain" for s in SKY], [s == "snow" for s in SKY], HUM])
    expected = rolling(X.astype(float), y, 5, alpha=0.1)
    columns = list(found.coef.columns if kind != "arrow" else found.coef.column_names)
    assert columns == ["sky=rain", "sky=snow", "hum"]
    np.testing.assert_array_equal(np.asarray(found.coef), expected.coef)
    if kind == "pandas":
        assert found.coef.index.tolist() == list(range(3, 9))


def test_a_replay_encodes_with_levels_that_are_known_before():
    frame = pl.DataFrame({"sky": ["rain", "clear"], "hum": [1.0, 2.0], "y": [1.0, 2.0]})
    model, levels = Ridge(window=5), {"sky": ["clear", "rain", "snow"]}
    found = replay(model, frame, "y", one_hot=levels, coef=True)
    assert found.coef.columns == ["sky=rain", "sky=snow", "hum"]
    assert model.feature_names_in_.tolist() == ["sky=rain", "sky=snow", "hum"]
    with pytest.raises(InvalidValue, match="'X at row 1, column 'sky'' is 'clear': expected one"):
        replay(Ridge(), frame, "y", one_hot={"sky": ["rain", "snow"]})


def test_a_gap_stays_a_gap():
    frame = pl.DataFrame({"sky": ["rain", None, "clear", "rain"], "y": [1.0, 2.0, 3.0, 4.0]})
    found = rolling(frame, "y", 2, one_hot="sky", missing="skip", alpha=1.0)
    alone = rolling(frame[[0, 2, 3]], "y", 2, one_hot="sky", alpha=1.0)
    assert found.coef[[0, 2, 3]].equals(alone.coef)
    with pytest.raises(ValueError, match="row 1"):
        rolling(frame, "y", 2, one_hot="sky")


def test_numbers_can_be_categories():
    columns = FrameColumns.of(pl.DataFrame({"month": [3, 1, 2]}))
    assert encoded(columns, {"month": None}).names == ["month=2", "month=3"]


@pytest.mark.parametrize(
    ("one_hot", "expected"),
    [
        (["cloud"], "'one_hot' is 'cloud': expected the name of a feature"),
        ({"sky": ["rain"]}, "expected at least two different levels"),
        ({"sky": ["rain", "rain"]}, "expected at least two different levels"),
        (["y"], "'one_hot' is 'y': expected the name of a feature"),
    ],
)
def test_unusable_categories_are_refused(one_hot, expected):
    frame = pl.DataFrame({"sky": SKY, "y": HUM})
    with pytest.raises(InvalidValue, match=expected):
        rolling(frame, "y", 2, one_hot=one_hot)


def test_a_column_of_one_value_or_too_many_is_refused():
    with pytest.raises(InvalidValue, match="is '1 different values': expected 2 to 100"):
        rolling(pl.DataFrame({"sky": ["a", "a"], "y": [1.0, 2.0]}), "y", 2, one_hot="sky")
    many = pl.DataFrame({"sky": [str(k) for k in range(101)], "y": np.arange(101.0)})
    with pytest.raises(InvalidValue, match="is '101 different values'"):
        rolling(many, "y", 2, one_hot="sky")


def test_arrays_have_no_names():
    with pytest.raises(InvalidValue, match=r"'one_hot' is .*: expected no name, since 'X'"):
        rolling([[1.0]], [1.0], 1, one_hot=["sky"])

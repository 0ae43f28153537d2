"""Roles are found by the names of columns; what is no name stands for itself."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from samples import KINDS, equal, panel, plain

from efface import Ridge, replay, rolling
from efface.errors import InvalidValue
from efface.inputs.roles import column_roles

FRAME = pl.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0], "g": ["u", "v"], "t": [5, 6]})


def test_features_are_what_is_left():
    found = column_roles(FRAME, None, y="b", groups="g", at="t")
    assert found.table.names == ["a"]
    assert found.one("at").to_list() == [5, 6]
    assert [name for name, _ in found.keys] == ["g", "t"]


def test_features_keep_the_order_in_which_they_are_named():
    assert column_roles(FRAME, ["t", "a"], y="b").table.names == ["t", "a"]
    assert column_roles(FRAME, ("t", "a"), y="b").table.names == ["t", "a"]
    assert column_roles(FRAME, "t", y="b").table.names == ["t"]


def test_a_time_may_be_a_feature_too():
    assert column_roles(FRAME, ["a", "t"], y="b", at="t").table.names == ["a", "t"]


def test_values_stand_for_themselves():
    y = np.zeros(2)
    found = column_roles(FRAME.select("a"), None, y=y, groups=["u", "v"], at=None)
    assert found.one("y") is y
    assert found.roles["groups"] == [("groups", ["u", "v"])]
    assert found.one("at") is None
    assert found.keys == ()


def test_a_list_as_long_as_the_frame_is_of_labels_unless_columns_are_called_so():
    assert [
        name for name, _ in column_roles(FRAME, "a", y="b", groups=["g", "t"]).roles["groups"]
    ] == [
        "g",
        "t",
    ]
    assert column_roles(FRAME, "a", y="b", groups=["g", "x"]).roles["groups"][0][0] == "groups"
    with pytest.raises(InvalidValue, match="'groups' is 'x': expected the name of a column"):
        column_roles(FRAME, "a", y="b", groups=["g", "t", "x"])


def test_numbers_are_names_only_where_a_column_is_called_so():
    frame = pd.DataFrame(np.arange(6.0).reshape(2, 3))
    found = column_roles(frame, None, y=2, groups=[0, 1])
    assert found.table.names == [0, 1]
    assert found.one("y").tolist() == [2.0, 5.0]
    assert found.roles["groups"] == [("groups", [0, 1])]
    assert column_roles(frame, [0], y=[0, 1]).one("y") == [0, 1]


def test_names_with_levels():
    columns = pd.MultiIndex.from_tuples([("p", "x"), ("p", "y"), ("q", "x")])
    frame = pd.DataFrame(np.arange(6.0).reshape(2, 3), columns=columns)
    found = column_roles(frame, [("p", "x"), ("q", "x")], y=("p", "y"))
    assert found.one("y").tolist() == [1.0, 4.0]
    assert found.table.native.columns.tolist() == [("p", "x"), ("q", "x")]


def test_arrays_have_no_names():
    X = np.zeros((2, 2))
    assert column_roles(X, None, y=[1, 2], at=None).X is X
    with pytest.raises(InvalidValue, match="'at' is 't': expected no name"):
        column_roles(X, None, y=[1, 2], at="t")


def test_of_many_columns_an_error_names_some():
    frame = pd.DataFrame(np.zeros((1, 50)), columns=[f"x{j}" for j in range(50)])
    with pytest.raises(InvalidValue, match=r"there are 'x0', .*'x19', \.\.\.\.$"):
        column_roles(frame, None, y="ret")


def test_all_columns_without_a_role_are_features():
    _, columns = panel(12, 3)
    frame = pl.DataFrame(columns).drop("id")
    result = rolling(frame, "ret", 5, groups="asset", at="date")
    assert result.coef.columns == ["x0", "x1", "x2"]


def test_groups_by_several_columns():
    X, columns = panel(40, 2)
    columns["year"] = (np.arange(40) % 2).tolist()
    frame = pd.DataFrame(columns)
    got = rolling(frame, "ret", 4, x=["x0", "x1"], by=["asset", "year"])
    labels = [f"{a} {b}" for a, b in zip(columns["asset"], columns["year"], strict=True)]
    equal(got, rolling(X, columns["ret"], 4, groups=labels))
    assert list(got.to_frame().columns[:2]) == ["asset", "year"]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"y": "rat"}, "'y' is 'rat': expected the name of a column; there are 'id', 'ret', 'x0'"),
        ({"x": ["x0", "x9"]}, "'x' is 'x9': expected the name of a column; there are 'id'"),
        ({"x": "x9"}, "'x' is 'x9': expected the name of a column"),
        ({"x": ["x0", "ret"]}, "'x' is 'ret': expected features other than y"),
        ({"x": ["x0", "x0"]}, "'x' is \"2 columns named 'x0'\": expected different names"),
        ({"by": "assset"}, "'groups' is 'assset': expected the name of a column"),
        ({"by": ["asset", "when"]}, "'groups' is 'when': expected the name of a column"),
        ({"at": "day"}, "'at' is 'day': expected the name of a column"),
        ({"x": None}, r"'X' at row 0, column 0 \('id'\) is 'row 0': .*not String; .*leave it out"),
        ({"y": "asset"}, "'y' at row 0 is '.': expected a number, not String"),
    ],
)
def test_columns_that_cannot_be_used_are_named(change, text):
    frame = pl.DataFrame(panel(10, 2)[1])
    with pytest.raises(InvalidValue, match=text):
        rolling(frame, **{"y": "ret", "window": 4, "x": ["x0", "x1"], **change})


def test_a_missing_label_is_named_by_its_column():
    _, columns = panel(10, 2)
    columns["asset"][4] = None
    for kind in ("pandas", "polars", "arrow"):
        with pytest.raises(InvalidValue, match=r"'asset\[4\]' is .*: expected a label"):
            rolling(KINDS[kind](columns), "ret", 4, x="x0", by="asset")


def test_only_what_is_needed_of_a_lazy_frame_is_collected():
    def never(_):
        raise AssertionError("collected in vain")

    _, columns = panel(10, 2)
    lazy = pl.LazyFrame(columns).with_columns(
        waste=pl.col("x0").map_elements(never, return_dtype=pl.Float64)
    )
    assert rolling(lazy, "ret", 4, x=["x0"], at="date").coef.shape == (10, 1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_column_of_weights_goes_by_its_name(kind):
    X, columns = panel(30, 2)
    columns["hours"] = np.arange(30) % 4
    frame = KINDS[kind](columns)
    roles = {"y": "ret", "x": ["x0", "x1"], "sample_weight": "hours"}
    weights = columns["hours"]
    equal(rolling(frame, window=9, **roles), rolling(X, columns["ret"], 9, sample_weight=weights))
    one, other = Ridge(window=9), Ridge(window=9)
    got = replay(one, frame, **roles)
    want = replay(other, X, columns["ret"], sample_weight=weights)
    assert (plain(got.prediction) == want.prediction).all()
    assert (one.coef_ == other.coef_).all()

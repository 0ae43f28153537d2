"""Column roles: columns by name, anything else as values."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from samples import KINDS, equal, frame_data, plain

from efface import Ridge, replay, rolling
from efface.errors import InvalidValue
from efface.inputs.roles import column_roles

FRAME = pl.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0], "g": ["u", "v"], "t": [5, 6]})


def test_features_are_the_columns_without_a_role():
    found = column_roles(FRAME, None, y="b", groups="g", at="t")
    assert found.features.names == ["a"]
    assert found.one("at").to_list() == [5, 6]
    assert [name for name, _ in found.keys] == ["g", "t"]


def test_features_keep_the_given_order():
    assert column_roles(FRAME, ["t", "a"], y="b").features.names == ["t", "a"]
    assert column_roles(FRAME, ("t", "a"), y="b").features.names == ["t", "a"]
    assert column_roles(FRAME, "t", y="b").features.names == ["t"]


def test_a_time_may_be_a_feature_too():
    assert column_roles(FRAME, ["a", "t"], y="b", at="t").features.names == ["a", "t"]


def test_values_that_are_not_names_are_used_as_they_are():
    y = np.zeros(2)
    found = column_roles(FRAME.select("a"), None, y=y, groups=["u", "v"], at=None)
    assert found.one("y") is y
    assert found.columns["groups"] == [("groups", ["u", "v"])]
    assert found.one("at") is None
    assert found.keys == ()


def test_a_list_as_long_as_the_frame_holds_labels_unless_all_are_column_names():
    assert [
        name for name, _ in column_roles(FRAME, "a", y="b", groups=["g", "t"]).columns["groups"]
    ] == [
        "g",
        "t",
    ]
    assert column_roles(FRAME, "a", y="b", groups=["g", "x"]).columns["groups"][0][0] == "groups"
    with pytest.raises(InvalidValue, match="'groups' is 'x': expected the name of a column"):
        column_roles(FRAME, "a", y="b", groups=["g", "t", "x"])


def test_integers_are_names_only_if_a_column_has_them():
    frame = pd.DataFrame(np.arange(6.0).reshape(2, 3))
    found = column_roles(frame, None, y=2, groups=[0, 1])
    assert found.features.names == [0, 1]
    assert found.one("y").tolist() == [2.0, 5.0]
    assert found.columns["groups"] == [("groups", [0, 1])]
    assert column_roles(frame, [0], y=[0, 1]).one("y") == [0, 1]


def test_column_names_with_levels():
    columns = pd.MultiIndex.from_tuples([("p", "x"), ("p", "y"), ("q", "x")])
    frame = pd.DataFrame(np.arange(6.0).reshape(2, 3), columns=columns)
    found = column_roles(frame, [("p", "x"), ("q", "x")], y=("p", "y"))
    assert found.one("y").tolist() == [1.0, 4.0]
    assert found.features.native.columns.tolist() == [("p", "x"), ("q", "x")]


def test_column_names_are_refused_for_arrays():
    X = np.zeros((2, 2))
    assert column_roles(X, None, y=[1, 2], at=None).X is X
    with pytest.raises(InvalidValue, match="'at' is 't': expected no name"):
        column_roles(X, None, y=[1, 2], at="t")


def test_an_error_lists_at_most_20_columns():
    frame = pd.DataFrame(np.zeros((1, 50)), columns=[f"x{j}" for j in range(50)])
    with pytest.raises(InvalidValue, match=r"there are 'x0', .*'x19', \.\.\.\.$"):
        column_roles(frame, None, y="ret")


def test_all_columns_without_a_role_are_features():
    _, columns = frame_data(12, 3)
    frame = pl.DataFrame(columns).drop("id")
    result = rolling(frame, "ret", 5, groups="asset", at="date")
    assert result.coef.columns == ["x0", "x1", "x2"]


def test_groups_by_several_columns():
    X, columns = frame_data(40, 2)
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
def test_errors_name_the_column(change, text):
    frame = pl.DataFrame(frame_data(10, 2)[1])
    with pytest.raises(InvalidValue, match=text):
        rolling(frame, **{"y": "ret", "window": 4, "x": ["x0", "x1"], **change})


def test_the_error_for_a_missing_label_names_its_column():
    _, columns = frame_data(10, 2)
    columns["asset"][4] = None
    for kind in ("pandas", "polars", "arrow"):
        with pytest.raises(InvalidValue, match=r"'asset\[4\]' is .*: expected a label"):
            rolling(KINDS[kind](columns), "ret", 4, x="x0", by="asset")


def test_only_columns_with_a_role_are_collected_from_a_lazy_frame():
    def never(_):
        raise AssertionError("a column without a role was collected")

    _, columns = frame_data(10, 2)
    lazy = pl.LazyFrame(columns).with_columns(
        waste=pl.col("x0").map_elements(never, return_dtype=pl.Float64)
    )
    assert rolling(lazy, "ret", 4, x=["x0"], at="date").coef.shape == (10, 1)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_by_column_name(kind):
    X, columns = frame_data(30, 2)
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

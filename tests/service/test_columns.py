"""Tests of efface.service.columns."""

from __future__ import annotations

import pytest

from efface.errors import BadTime, InvalidValue
from efface.service.bodies import NewRows
from efface.service.columns import feature_matrix, learn_request

NAMES = ["a", "b"]


def request(*rows, **more):
    return learn_request("m", NewRows(rows=list(rows), **more), NAMES)


def test_rows_become_columns():
    found = request(
        {"x": [1.0, 2.0], "y": 3.0, "id": "r", "owner": "ann", "at": 1.0},
        {"x": {"b": 5.0, "a": 4.0, "c": 9.0}, "y": 6.0, "id": 7, "at": 2.0, "weight": 2.0},
    )
    assert found.X.tolist() == [[1.0, 2.0], [4.0, 5.0]]
    assert found.y.tolist() == [3.0, 6.0]
    assert (found.ids, found.owners, found.at) == (["r", 7], ["ann", None], [1.0, 2.0])
    assert (found.sample_weight, found.until, found.skip_left) == ([1.0, 2.0], None, False)
    assert request({"x": [1.0, 2.0], "y": 1.0}, left="skip").skip_left


def test_wrong_features_and_partial_columns_are_refused():
    with pytest.raises(InvalidValue, match=r"rows\.1\.x"):
        feature_matrix([{"x": [1.0, 2.0]}, {"x": [1.0]}], NAMES)
    with pytest.raises(InvalidValue, match="'x' lacks b"):
        feature_matrix([{"x": {"a": 1.0}}], NAMES)
    with pytest.raises(InvalidValue, match="given for 1 of 2 rows"):
        request({"x": [1.0, 2.0], "y": 1.0, "id": 1}, {"x": [1.0, 2.0], "y": 1.0})
    with pytest.raises(InvalidValue, match="1e\\+200"):
        feature_matrix([{"x": [1.0, 1e200]}], NAMES)


@pytest.mark.parametrize("text", ["9999-12-31", "1600-01-01", "0001-01-01T00:00Z", "2026-02-31"])
@pytest.mark.parametrize("name", ["at", "until"])
def test_times_that_the_library_does_not_keep_are_refused(name, text):
    with pytest.raises(BadTime, match=f"'{name}' is '{text}'"):
        request({"x": [1.0, 2.0], "y": 1.0, name: text})

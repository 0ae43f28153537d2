"""Tests of efface.service.columns."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from efface.errors import BadTime, InvalidValue
from efface.service.bodies import NewRows
from efface.service.columns import calendar_time, feature_matrix, learn_request

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


def test_calendar_times_keep_nanoseconds_and_zones():
    assert calendar_time("2026-01-31", "at") == np.datetime64("2026-01-31", "ns")
    text = "2026-01-31T12:00:00.123456789Z"
    assert calendar_time(text, "at") == np.datetime64(text[:-1], "ns")
    zoned = calendar_time("2026-01-31T12:00:00+02:00", "at")
    assert zoned.astimezone(UTC) == datetime(2026, 1, 31, 10, tzinfo=UTC)
    with pytest.raises(BadTime, match="'at' is '2026-02-31'"):
        calendar_time("2026-02-31", "at")

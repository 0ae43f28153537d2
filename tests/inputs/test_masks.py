"""Masked values are found wherever arrays enter, and refused before anything changes."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pytest

from efface import OLS, KeepFor, WindowScaler, replay, rolling
from efface.errors import BadRow, BadTime, InvalidValue
from efface.inputs.masks import first_masked

masked = np.ma.masked


def hidden(values, *at):
    """The values as a masked array, one of them masked."""
    array = np.ma.array(values)
    array[at] = masked
    return array


X, Y = [[1.0, 2.0], [3.0, 5.0], [4.0, 4.0]], [1.0, 2.0, 4.0]
BAD_X, BAD_Y = hidden(X, 1, 0), hidden(Y, 2)


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (BAD_X, (1, 0)),
        (BAD_Y, (2,)),
        ([BAD_X[0], BAD_X[1]], (1, 0)),
        ((1.0, masked), (1,)),
        (masked, ()),
        (np.ma.array(X), None),
        (np.ma.array(X, mask=False), None),
        (np.ma.zeros((0, 2)), None),
        ([np.ma.array(Y), np.ones(3)], None),
        (X, None),
        (np.array(X), None),
        (None, None),
        ("text", None),
    ],
)
def test_the_first_masked_value_is_found(data, found):
    assert first_masked(data) == found


def fitted():
    return OLS(window=KeepFor(10)).fit(X, Y, at=[0.0, 1.0, 2.0])


CALLS = {
    "fit X": (lambda m: m.fit(BAD_X, Y, at=[0.0] * 3), "'X' at row 1, column 0 is masked"),
    "fit list of rows": (
        lambda m: m.fit([*BAD_X], Y, at=[0.0] * 3),
        "'X' at row 1, column 0 is masked",
    ),
    "fit y": (lambda m: m.fit(X, BAD_Y, at=[0.0] * 3), "'y' at row 2 is masked"),
    "fit integers": (
        lambda m: m.fit(X, hidden([1, 2, 3], 0), at=[0.0] * 3),
        "'y' at row 0 is masked",
    ),
    "fit weights": (
        lambda m: m.fit(X, Y, at=[0.0] * 3, sample_weight=BAD_Y),
        "'sample_weight' at row 2 is masked",
    ),
    "partial_fit X": (lambda m: m.partial_fit(BAD_X, Y, at=[3.0] * 3), "'X' at row 1, column 0"),
    "partial_fit y": (lambda m: m.partial_fit(X, BAD_Y, at=[3.0] * 3), "'y' at row 2 is masked"),
    "learn_one x": (lambda m: m.learn_one(BAD_X[1], 1.0, at=3.0), "'x' at column 0 is masked"),
    "learn_one y": (lambda m: m.learn_one(X[0], masked, at=3.0), "'y' is masked"),
    "learn_one weight": (
        lambda m: m.learn_one(X[0], 1.0, at=3.0, weight=masked),
        "'weight' is masked",
    ),
    "learn_one at": (lambda m: m.learn_one(X[0], 1.0, at=masked), "'at' is masked"),
    "partial_fit at": (
        lambda m: m.partial_fit(X, Y, at=hidden([3.0] * 3, 1)),
        r"'at\[1\]' is mask",
    ),
    "predict": (lambda m: m.predict(BAD_X), "'X' at row 1, column 0 is masked"),
    "predict_one": (lambda m: m.predict_one(BAD_X[1]), "'x' at column 0 is masked"),
    "predict_interval": (lambda m: m.predict_interval(BAD_X), "'X' at row 1, column 0 is masked"),
    "replay X": (lambda m: replay(m, BAD_X, Y, at=[3.0] * 3), "'X' at row 1, column 0 is masked"),
    "replay y": (lambda m: replay(m, X, BAD_Y, at=[3.0] * 3), "'y' at row 2 is masked"),
    "expire": (lambda m: m.expire(masked), "'at' is masked"),
    "forget": (lambda m: m.forget(hidden([0, 1], 1)), "'id' is None"),
    "rolling X": (lambda m: rolling(BAD_X, Y, 2), "'X' at row 1, column 0 is masked"),
    "rolling y, gaps allowed": (
        lambda m: rolling(X, BAD_Y, 2, missing="skip"),
        "'y' at row 2 is masked",
    ),
    "rolling groups": (
        lambda m: rolling(X, Y, 2, groups=hidden([1, 1, 2], 2)),
        r"'groups\[2\]' is 'masked': expected a label",
    ),
    "scaler fit": (lambda m: WindowScaler().fit(BAD_X), "'X' at row 1, column 0 is masked"),
    "scaler rolling": (lambda m: WindowScaler().rolling_transform(BAD_X), "'X' at row 1, column 0"),
}


@pytest.mark.parametrize("name", list(CALLS))
def test_a_masked_value_is_refused_before_anything_changes(name):
    call, text = CALLS[name]
    model = fitted()
    with pytest.raises(InvalidValue, match=text):
        call(model)
    assert model.ids_ == [0, 1, 2]


def test_the_error_has_the_row_and_the_column():
    with pytest.raises(BadRow) as caught:
        OLS().fit(BAD_X, Y)
    assert (caught.value.row, caught.value.column) == (1, 0)
    expected = "expected a number; remove or impute it."
    assert str(caught.value) == f"'X' at row 1, column 0 is masked: {expected}"


def test_masked_calendar_times_are_refused():
    days = hidden(np.arange("2024-05-01", "2024-05-04", dtype="datetime64[D]"), 0)
    with pytest.raises(BadTime, match=r"'at\[0\]' is masked: expected a number, a datetime"):
        OLS(window="9d").fit(X, Y, at=days)


def test_masked_arrays_without_a_masked_value_are_numbers():
    plain = OLS(window="9d").fit(X, Y, at=[datetime(2024, 5, 1)] * 3, sample_weight=[1.0, 2.0, 1.0])
    days = np.ma.array([np.datetime64("2024-05-01")] * 3)
    weights = np.ma.array([1.0, 2.0, 1.0], mask=False)
    model = OLS(window="9d")
    model.fit(np.ma.array(X), np.ma.array(Y), at=days, sample_weight=weights)
    assert model.coef_.tobytes() == plain.coef_.tobytes()
    one = np.ma.array(X[0])
    assert model.predict_one(one) == plain.predict_one(X[0])

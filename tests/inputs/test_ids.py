"""Ids of rows: what is accepted, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from efface.errors import InvalidValue
from efface.inputs.ids import as_id, as_ids, some_ids


@pytest.mark.parametrize(
    ("id", "plain"), [(7, 7), (np.uint8(7), 7), ("ann", "ann"), (np.str_("ann"), "ann"), (-1, -1)]
)
def test_ids_are_ints_and_texts(id, plain):
    assert as_id(id) == plain
    assert type(as_id(id)) is type(plain)


@pytest.mark.parametrize("id", [True, np.True_, 1.0, None, b"ann", (1,), math.nan])
def test_other_ids_are_refused(id):
    with pytest.raises(InvalidValue, match=r"'id' is .*: expected an int or a str"):
        as_id(id)


@pytest.mark.parametrize(
    "ids", [[1, 2], np.array([1, 2]), pd.Series([1, 2]), range(1, 3), iter([1, 2])]
)
def test_ids_of_many_rows(ids):
    found = as_ids(ids, 2)
    assert found == [1, 2]
    assert all(type(id) is int for id in found)


def test_ids_of_many_rows_in_a_text_array():
    assert as_ids(np.array(["a", "b"]), 2) == ["a", "b"]


@pytest.mark.parametrize("ids", ["ab", 3, None])
def test_a_single_id_is_not_one_id_per_row(ids):
    with pytest.raises(InvalidValue, match=r"'ids' is .*: expected 2 ids"):
        as_ids(ids, 2)


def test_too_few_ids_are_refused():
    with pytest.raises(InvalidValue, match="'ids' is '1 long': expected 2 ids"):
        as_ids([1], 2)


def test_some_ids_takes_one_or_many_each_once():
    assert some_ids("ann") == ["ann"]
    assert some_ids(np.int64(3)) == [3]
    assert some_ids([3, "ann", 3]) == [3, "ann"]
    assert some_ids(np.array([], dtype=int)) == []
    with pytest.raises(InvalidValue, match="'id' is None"):
        some_ids(None)

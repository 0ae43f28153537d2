"""Ids of rows: what is accepted, and what is refused."""

from __future__ import annotations

import math
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from efface.errors import InvalidValue
from efface.inputs.ids import as_id, as_ids, as_owners, requested, some_ids


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


def test_a_uuid_is_kept_as_lowercase_text():
    text = "6BA7B810-9DAD-11D1-80B4-00C04FD430C8"
    assert as_id(UUID(text)) == text.lower()
    assert as_ids([UUID(text), 3], 2) == [text.lower(), 3]
    assert some_ids(UUID(text)) == [text.lower()]
    assert as_id(text) == text  # a text is kept as it is


@pytest.mark.parametrize(
    "owners",
    [
        ["ann", None, "bob"],
        np.array(["ann", None, "bob"], dtype=object),
        pd.Series(["ann", None, "bob"]),
        pd.Series(["ann", pd.NA, "bob"], dtype="string"),
        pl.Series(["ann", None, "bob"]),
    ],
)
def test_a_gap_is_a_row_without_an_owner(owners):
    assert as_owners(owners, 3) == ["ann", None, "bob"]


@pytest.mark.parametrize(
    "owners",
    [pl.Series([7, None]), pd.Series([7, None], dtype="Int64"), pa.chunked_array([[7, None]])],
)
def test_numbers_stay_numbers_beside_a_gap(owners):
    assert as_owners(owners, 2) == [7, None]


def test_no_owner_at_all_is_none():
    assert as_owners(None, 2) is as_owners([None, None], 2) is as_owners([], 0) is None


@pytest.mark.parametrize(
    ("owners", "text"),
    [
        ("ann", "'owners' is 'ann': expected 2 owners; pass one per row, in a list"),
        (3, "'owners' is 3: expected 2 owners"),
        (["ann"], "'owners' is '1 long': expected 2 owners"),
        (["ann", 1.5], r"'owner' is 1\.5: expected an int or a str; name the person by one"),
    ],
)
def test_invalid_owners_are_refused(owners, text):
    with pytest.raises(InvalidValue, match=text):
        as_owners(owners, 2)


def test_a_request_names_ids_and_owners_each_once():
    assert requested([1, 1, 2], "ann", ["bob", "ann"]) == ([1, 2], ["ann", "bob"])
    assert requested(None, None, []) == ([], [])
    with pytest.raises(InvalidValue, match="'ids' is None: expected ids or owners of rows; pass"):
        requested(None, None, None)

"""Labels of any kind bring rows together, in the order in which they came."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from efface.batch.groups import sorted_groups
from efface.errors import InvalidValue

LABELS = [
    [2, 1, 2, 1, 3],
    [2**40, -5, 2**40, -5, 0],
    ["b", "a", "b", "a", "c"],
    [2.5, -1.0, 2.5, -1.0, 0.0],
    [True, False, True, False, 2],
    [("x", 1), "y", ("x", 1), "y", int],
    pd.Categorical(["b", "a", "b", "a", "c"]),
    pd.Series(["b", "a", "b", "a", "c"], dtype="string"),
    pd.Series(pd.to_datetime(["2024", "2023", "2024", "2023", "2025"]).tz_localize("Asia/Tokyo")),
    pl.Series(["b", "a", "b", "a", "c"], dtype=pl.Categorical),
    pa.chunked_array([["b", "a"], ["b", "a", "c"]]),
    pa.chunked_array([pa.array(["b", "a", "b", "a", "c"]).dictionary_encode()]),
]


@pytest.mark.parametrize("labels", LABELS, ids=range(len(LABELS)))
def test_rows_of_a_group_lie_together_in_their_order(labels):
    if isinstance(labels, list) and any(isinstance(label, tuple) for label in labels):
        labels = np.array([*labels, None], dtype=object)[:-1]
    order, starts = sorted_groups([("groups", labels)], 5)
    groups = [order[a:b].tolist() for a, b in pairwise(starts)]
    assert sorted(groups) == [[0, 2], [1, 3], [4]]


@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from("abc"), st.booleans()), min_size=1),
    st.integers(1, 3),
)
def test_several_columns_are_one_label(rows, count):
    columns = list(zip(*rows, strict=True))[:count]
    found = sorted_groups([(str(k), list(column)) for k, column in enumerate(columns)], len(rows))
    order, starts = found
    want = {}
    for row, label in enumerate(zip(*columns, strict=True)):
        want.setdefault(label, []).append(row)
    groups = [order[a:b].tolist() for a, b in pairwise(starts)]
    assert sorted(groups) == sorted(want.values())


def test_without_labels_all_rows_are_one_group():
    order, starts = sorted_groups([], 3)
    assert (order.tolist(), starts.tolist()) == ([0, 1, 2], [0, 3])
    assert sorted_groups([("groups", [])], 0)[1].tolist() == [0, 0]


@pytest.mark.parametrize(
    "labels",
    [
        ["a", None],
        [1.0, np.nan],
        pd.Series(["a", None], dtype="string"),
        pd.Series([1, None], dtype="Int64"),
        pd.Series(["a", None], dtype="category"),
        pl.Series(["a", None]),
        pl.Series([1, None]),
        pa.chunked_array([["a", None]]),
        np.array(["2024", "NaT"], "M8[D]"),
    ],
)
def test_a_row_without_a_label_is_named(labels):
    with pytest.raises(InvalidValue, match=r"'asset\[1\]' is .*: expected a label"):
        sorted_groups([("asset", labels)], 2)


def test_labels_must_be_one_a_row():
    with pytest.raises(InvalidValue, match=r"'groups' is \(2,\): expected the shape \(3,\)"):
        sorted_groups([("groups", [1, 2])], 3)

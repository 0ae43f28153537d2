"""Frames: every kind of column in, results of the same kind out."""

from __future__ import annotations

import math
import subprocess
import sys
from decimal import Decimal

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from efface.errors import BadRow, InvalidValue, NotANumber
from efface.inputs.arrays import as_matrix, as_vector
from efface.inputs.frames import (
    FrameColumns,
    eager,
    items,
    joined,
    missing,
    side_by_side,
    transposed,
    values,
)

KINDS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}


class Stream:
    """A table of an unknown library that implements the Arrow C stream protocol."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pd.Series([1.5, None]), [1.5, math.nan]),
        (pd.Series([1.5, 2], dtype="float32"), [1.5, 2]),
        (pd.Series([1, 2], dtype="int8"), [1, 2]),
        (pd.Series([True, False]), [1, 0]),
        (pd.array([1, None], dtype="Int64"), [1, math.nan]),
        (pd.array([True, None], dtype="boolean"), [1, math.nan]),
        (pd.array([1.5, None], dtype="Float64"), [1.5, math.nan]),
        (pd.array([1, None], dtype="int64[pyarrow]"), [1, math.nan]),
        (pd.Series([Decimal("1.5"), None]), [1.5, math.nan]),
        (pd.Series([1, None, 2.5], dtype=object), [1, math.nan, 2.5]),
        (pd.Series([None, None]), [math.nan, math.nan]),
        (pd.Series([1.5, 0.0], dtype="Sparse[float]"), [1.5, 0]),
        (pl.Series([1.5, None, math.nan]), [1.5, math.nan, math.nan]),
        (pl.Series([1, None], dtype=pl.UInt8), [1, math.nan]),
        (pl.Series([True, None]), [1, math.nan]),
        (pl.Series([Decimal("1.5"), None]), [1.5, math.nan]),
        (pl.Series([None, None]), [math.nan, math.nan]),
        (pa.chunked_array([[1.5], [None]]), [1.5, math.nan]),
        (pa.chunked_array([[1], [None]]), [1, math.nan]),
        (pa.chunked_array([[True, None]]), [1, math.nan]),
        (pa.chunked_array([[Decimal("1.5"), None]]), [1.5, math.nan]),
        (pa.chunked_array([pa.nulls(2)]), [math.nan, math.nan]),
    ],
    ids=lambda value: str(getattr(value, "dtype", getattr(value, "type", ""))),
)
def test_numeric_columns_become_float64_with_nan_for_gaps(column, expected):
    libraries = {pl.Series: pl.DataFrame, pa.ChunkedArray: pa.table}
    kind = libraries.get(type(column), pd.DataFrame)
    rows = as_matrix(kind({"a": column}), missing=True)
    assert rows.dtype == np.float64
    assert rows.flags.c_contiguous
    assert np.array_equal(rows[:, 0], expected, equal_nan=True)
    series = pd.Series(column) if kind is pd.DataFrame else column
    assert np.array_equal(as_vector(series, len(expected), missing=True), expected, equal_nan=True)
    gap = [row for row, value in enumerate(expected) if math.isnan(value)]
    if gap:
        with pytest.raises(BadRow, match=rf"'X' at row {gap[0]}, column 0 \('a'\) is NaN"):
            as_matrix(kind({"a": column}))


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize(
    ("column", "text"),
    [
        (["x", "y"], r"'X' at row 0, column 1 \('b\{'\) is 'x': expected a number, not String"),
        ([None, "y"], r"'X' at row 1, column 1 \('b\{'\) is 'y': expected a number, not String"),
        (np.array(["2024", "2025"], "M8[us]"), r"column 1 \('b\{'\) is .*2024.*not Datetime"),
        (np.array([1, 2], "m8[us]"), r"column 1 \('b\{'\) is .*not Duration"),
    ],
)
def test_the_error_for_a_non_numeric_column_names_its_type(kind, column, text):
    frame = kind({"a": np.array([1.0, 2.0]), "b{": column})
    with pytest.raises(NotANumber, match=text) as caught:
        as_matrix(frame)
    assert caught.value.column == 1


def test_categories_are_refused():
    for frame in (
        pd.DataFrame({"a": pd.Categorical(["u", "v"])}),
        pl.DataFrame({"a": pl.Series(["u", "v"], dtype=pl.Categorical)}),
        pa.table({"a": pa.array(["u", "v"]).dictionary_encode()}),
    ):
        with pytest.raises(NotANumber, match="is 'u': expected a number, not Categorical"):
            as_matrix(frame)


def test_complex_numbers_are_refused():
    with pytest.raises(InvalidValue, match="Complex data not supported"):
        as_matrix(pd.DataFrame({"a": [1j, 2j]}))


def test_the_error_for_a_non_numeric_object_names_row_and_column():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": np.array([3.0, {}], dtype=object)})
    with pytest.raises(NotANumber, match=r"'X' at row 1, column 1 \('b'\) is {}") as caught:
        as_matrix(frame)
    assert (caught.value.row, caught.value.column) == (1, 1)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_infinities_of_both_signs_are_refused(kind):
    with pytest.raises(BadRow, match=r"row 0, column 1 \('b'\) is infinity"):
        as_matrix(kind({"a": [1.0, 2.0], "b": [math.inf, -math.inf]}), missing=True)


def test_numbers_of_both_signs_that_are_too_large_are_refused():
    assert as_matrix(pl.DataFrame({"a": [1e150, -1e150]})).tolist() == [[1e150], [-1e150]]
    with pytest.raises(BadRow, match=r"column 1 \('b'\) is -1e\+151: expected at most 1e\+150"):
        as_matrix(pl.DataFrame({"a": [1e150, 1.0], "b": [None, -1e151]}), missing=True)
    with pytest.raises(BadRow, match=r"column 0 \('a'\) is 1e\+151: expected at most 1e\+150"):
        as_matrix(pl.DataFrame({"a": [1e151, -1e151]}))


def test_repeated_column_names_are_refused():
    for frame in (
        pd.DataFrame(np.zeros((2, 2)), columns=["a", "a"]),
        pa.table([[1.0], [2.0]], names=["a", "a"]),
    ):
        with pytest.raises(InvalidValue, match=r"'a' 2 times.*rename the"):
            as_matrix(frame)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_no_columns_and_no_rows(kind):
    with pytest.raises(InvalidValue, match=r"0 feature\(s\)"):
        as_matrix(kind({}))
    assert as_matrix(kind({"a": np.zeros(0), "b": np.zeros(0)})).shape == (0, 2)


def test_a_lazy_frame_is_collected():
    lazy = pl.LazyFrame({"a": [1, 2]})
    assert as_matrix(lazy).tolist() == [[1.0], [2.0]]
    assert isinstance(eager(lazy), pl.DataFrame)


def test_narwhals_frames_are_unwrapped():
    frame = pl.DataFrame({"a": [1, 2]})
    assert as_matrix(nw.from_native(frame)).tolist() == [[1.0], [2.0]]
    assert eager(nw.from_native(frame)).equals(frame)
    assert values(nw.from_native(frame["a"], series_only=True)).tolist() == [1.0, 2.0]


def test_any_arrow_stream_is_a_table():
    table = pa.table({"a": [1, 2]})
    for stream in (Stream(table), table.to_batches()[0]):
        assert as_matrix(stream).tolist() == [[1.0], [2.0]]
        assert eager(stream).equals(table)


@pytest.mark.parametrize(
    "data", [None, "a", 1.5, [1, 2], (1, 2), np.zeros(3), range(3), {1, 2}, object()]
)
def test_other_data_stays_unchanged(data):
    assert eager(data) is data
    assert values(data) is data
    assert items(data) is data
    assert FrameColumns.of(data) is None


def test_times_with_a_zone_are_converted_to_utc():
    column = pd.Series(pd.date_range("2024-06-01", periods=2, tz="Europe/Berlin"))
    for series in (column, pl.Series(column.to_list()), pa.chunked_array([pa.array(column)])):
        assert items(series)[0] == np.datetime64("2024-05-31T22:00")


def test_narwhals_is_not_imported_for_arrays():
    code = (
        "import sys, numpy as np; from efface import rolling;"
        "rolling(np.ones((4, 1)), np.ones(4), 2);"
        "print('narwhals' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


# -- layout ------------------------------------------------------------------------------------


@given(n=st.integers(0, 9000), d=st.integers(1, 7))
@settings(deadline=None, max_examples=40)
def test_blockwise_copies_equal_plain_copies(n, d):
    X = np.random.default_rng([n, d]).normal(size=(n, d))
    assert np.array_equal(transposed(X), X.T)
    assert transposed(X).flags.c_contiguous
    rows, largest = side_by_side([X[:, j] for j in range(d)])
    assert np.array_equal(rows, X)
    assert rows.flags.c_contiguous
    assert largest == np.abs(X).max(initial=0.0)
    buffer = X.copy()
    assert np.array_equal(transposed(X, buffer), X.T)


# -- results of the same kind ------------------------------------------------------------------


@pytest.mark.parametrize(
    "index",
    [
        None,
        [7, 7, 3],
        pd.Index(["x", "y", "z"], name="who"),
        pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)], names=["g", "t"]),
        pd.date_range("2024", periods=3, tz="UTC"),
    ],
)
@pytest.mark.parametrize(
    "columns", [["a", "b"], [0, 5], pd.MultiIndex.from_tuples([("p", 1), ("q", 2)])]
)
def test_results_have_the_index_and_columns_of_a_pandas_frame(index, columns):
    frame = pd.DataFrame(np.arange(6.0).reshape(3, 2), index=index, columns=columns)
    table = FrameColumns.of(frame)
    pd.testing.assert_frame_equal(table.frame(frame.to_numpy()), frame)
    series = table.series("rank", np.arange(3))
    pd.testing.assert_series_equal(series, pd.Series(np.arange(3), index=frame.index, name="rank"))
    part = table.select(table.names[1:])
    pd.testing.assert_frame_equal(part.frame(frame.to_numpy()[:, 1:]), frame.iloc[:, 1:])


@pytest.mark.parametrize("n", [0, 1, 700])
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_frame_survives_the_round_trip(kind, n):
    X = np.random.default_rng(n).normal(size=(n, 3))
    frame = kind({name: X[:, j].copy() for j, name in enumerate("abc")})
    back = FrameColumns.of(frame).frame(as_matrix(frame), buffer=np.empty((n, 3)))
    assert type(back) is type(frame)
    assert back.equals(frame)


def test_joined_columns_have_prefixed_names():
    index = [4, 4]
    frame = pd.DataFrame({"a": [1.0, 2.0]}, index=index)
    whole = joined([("day", pd.Series([5, 6], index=index)), ("coef", frame)])
    pd.testing.assert_frame_equal(
        whole, pd.DataFrame({"day": [5, 6], "coef_a": [1.0, 2.0]}, index=index)
    )
    with pytest.raises(InvalidValue, match="2 columns named 'coef_a'"):
        joined([("coef_a", pd.Series([5, 6], index=index)), ("coef", frame)])


@pytest.mark.parametrize("value", [None, float("nan"), np.float32("nan"), pd.NA, pd.NaT])
def test_gaps_are_recognised(value):
    assert missing(value)
    assert missing(np.datetime64("NaT"))


@pytest.mark.parametrize("value", [0, "", False, np.datetime64("2024"), "nan", ()])
def test_values_are_no_gaps(value):
    assert not missing(value)

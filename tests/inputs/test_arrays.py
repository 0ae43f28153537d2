"""Checked arrays: accepted types, memory layout, and errors."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from efface.errors import BadRow, InvalidValue, NotANumber
from efface.inputs.arrays import (
    HEAVIEST,
    LARGEST,
    as_matrix,
    as_response,
    as_row,
    as_vector,
    as_weight,
    as_weights,
    heavy_rows,
)

GOOD = np.array([[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize(
    "X",
    [
        [[1, 2], [3, 4]],
        GOOD,
        np.asfortranarray(GOOD),
        np.repeat(GOOD, 2, axis=0)[::2],
        GOOD.astype(np.float32),
        GOOD.astype(np.int8),
        GOOD.astype(object),
        pd.DataFrame(GOOD, columns=["a", "b"]),
        pl.DataFrame(GOOD, schema=["a", "b"]),
        [[Decimal(1), np.float32(2)], [3, 4.0]],
    ],
)
def test_matrices_become_c_ordered_float64(X):
    rows = as_matrix(X)
    assert rows.dtype == np.float64
    assert rows.flags.c_contiguous
    assert (rows == GOOD).all()


def test_read_only_arrays_are_copied():
    for convert, array in ((as_matrix, GOOD.copy()), (lambda y: as_vector(y, 2), np.ones(2))):
        assert convert(array) is array
        array.flags.writeable = False
        rows = convert(array)
        assert rows.flags.writeable
        assert (rows == array).all()


def test_booleans_are_numbers():
    assert as_matrix([[True], [False]]).ravel().tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("X", "row", "column", "text"),
    [
        ([[1, 2], [3, math.nan]], 1, 1, "'X' at row 1, column 1 is NaN: expected a finite number"),
        ([[1, math.inf], [3, 4]], 0, 1, "'X' at row 0, column 1 is infinity"),
        ([[1, None], [3, 4]], 0, 1, "'X' at row 0, column 1 is NaN"),
        (pd.DataFrame({"age": [1, 2], "pay": [math.nan, 1]}), 0, 1, r"column 1 \('pay'\) is NaN"),
        (
            pd.DataFrame({"a": pd.array([1, None], "Int64")}),
            1,
            0,
            r"row 1, column 0 \('a'\) is NaN",
        ),
        (pl.DataFrame({"a": [1.0, None]}), 1, 0, r"row 1, column 0 \('a'\) is NaN"),
        (np.array([[1e400]], np.longdouble), 0, 0, "is infinity"),
        ([[1], [10**400]], 1, 0, "'X' at row 1, column 0 is infinity"),
        ([[-(10**400)], [1.0]], 0, 0, "'X' at row 0, column 0 is infinity"),
    ],
)
def test_the_error_for_a_value_that_is_not_finite_names_its_position(X, row, column, text):
    with pytest.raises(BadRow, match=text) as caught:
        as_matrix(X)
    assert (caught.value.row, caught.value.column) == (row, column)


@pytest.mark.parametrize(
    ("X", "row", "column", "text"),
    [
        ([[1, 2], [3, "four"]], 1, 1, "'X' at row 1, column 1 is 'four': expected a number"),
        ([["1", 2], [3, 4]], 0, 0, "'X' at row 0, column 0 is '1': expected a number"),
        ([[1, {}], [3, 4]], 0, 1, "'X' at row 0, column 1 is {}: expected a number"),
        (pd.DataFrame({"a": ["x", "y"]}), 0, 0, r"column 0 \('a'\) is 'x'"),
        (np.array([["2024-01-01"]], "datetime64[D]"), 0, 0, "expected a number"),
    ],
)
def test_the_error_for_a_value_that_is_not_a_number_names_its_position(X, row, column, text):
    with pytest.raises(NotANumber, match=text) as caught:
        as_matrix(X)
    assert (caught.value.row, caught.value.column) == (row, column)


@pytest.mark.parametrize(
    ("X", "text"),
    [
        ([1, 2], r"'X' is of shape \(2,\): expected 2D array, got 1D array instead"),
        (3, "got 0D array"),
        (np.empty((2, 0)), r"0 feature\(s\)"),
        ([[1, 2], [3]], "'X' is 'ragged': expected a rectangular array"),
        (np.array([[1j]]), "Complex data not supported"),
    ],
)
def test_other_shapes_and_types_are_refused(X, text):
    with pytest.raises(InvalidValue, match=text):
        as_matrix(X)


def test_a_sparse_matrix_is_refused():
    with pytest.raises(TypeError, match=r"'X' is 'sparse': .*call its \.toarray\(\)"):
        as_matrix(sparse.csr_array(GOOD))


def test_missing_allows_nan_but_not_infinity():
    rows = as_matrix([[1, None], [math.nan, 4]], missing=True)
    assert np.isnan(rows).tolist() == [[False, True], [True, False]]
    assert np.isnan(as_vector([1, math.nan], 2, missing=True)).tolist() == [False, True]
    with pytest.raises(BadRow, match="row 1, column 0 is infinity"):
        as_matrix([[math.nan], [-math.inf]], missing=True)


def test_errors_for_responses_name_the_row():
    with pytest.raises(BadRow, match="'y' at row 1 is NaN") as caught:
        as_vector([1.0, math.nan], 2)
    assert (caught.value.row, caught.value.column) == (1, None)
    with pytest.raises(NotANumber, match="'y' at row 0 is 'a'"):
        as_vector(["a", 1.0], 2)
    with pytest.raises(BadRow, match="'y' at row 1 is infinity"):
        as_vector([1.0, 10**400], 2)


@pytest.mark.parametrize("y", [[1, 2, 3], np.ones((2, 2)), [[1, 2]], np.ones((2, 0)), 5.0, {}])
def test_responses_of_another_shape_are_refused(y):
    with pytest.raises(InvalidValue, match=r"'y' is \(.*\): expected the shape \(2,\); pass one"):
        as_vector(y, 2)


def test_responses_in_one_column_are_a_vector():
    for y in ([[1], [2]], np.array([[1.0], [2.0]]), np.array([[1], [2]]), [[1.0], [Decimal(2)]]):
        found = as_vector(y, 2)
        assert found.tolist() == [1.0, 2.0]
        assert found.flags.c_contiguous
    with pytest.raises(NotANumber, match="'y' at row 1 is 'b'"):
        as_vector([[1], ["b"]], 2)


def test_errors_for_one_row_name_the_column():
    assert as_row([1, 2], None).tolist() == [1.0, 2.0]
    assert as_row(pd.Series([1, 2]), 2).tolist() == [1.0, 2.0]
    assert as_row(np.arange(6.0)[::3], 2).flags.c_contiguous
    with pytest.raises(BadRow, match="'x' at column 1 is NaN") as caught:
        as_row([1, math.nan], 2)
    assert (caught.value.row, caught.value.column) == (None, 1)
    with pytest.raises(InvalidValue, match=r"'x' is \(3,\): expected the shape \(2,\)"):
        as_row([1, 2, 3], 2)
    with pytest.raises(InvalidValue, match="expected one row of at least one number"):
        as_row([], None)
    with pytest.raises(InvalidValue, match=r"'x' is \(1, 2\)"):
        as_row([[1, 2]], 2)


@pytest.mark.parametrize("y", [2, 2.0, np.float32(2), np.int64(2), np.array(2.0), Decimal(2)])
def test_one_response(y):
    assert as_response(y) == 2.0
    assert type(as_response(y)) is float


@pytest.mark.parametrize(
    "y", ["2", math.nan, -math.inf, 10**400, None, [2.0], np.array([2.0]), 1j, {}]
)
def test_invalid_responses_are_refused(y):
    with pytest.raises(InvalidValue, match="'y' is"):
        as_response(y)


@pytest.mark.parametrize("weight", [2, 2.0, np.float32(2.0), np.array(2), True + 1])
def test_one_weight(weight):
    assert as_weight(weight) == 2.0
    assert type(as_weight(weight)) is float


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf, None, 10**400])
def test_invalid_weights_are_refused(weight):
    with pytest.raises(BadRow, match=r"'weight' is .*: expected a number from 0 to 1e\+300; use"):
        as_weight(weight)


@pytest.mark.parametrize(
    "weights", [[1, 0, 2.5], (1, 0, 2.5), np.array([1.0, 0.0, 2.5]), pd.Series([1.0, 0.0, 2.5])]
)
def test_weights_in_any_form_are_copied(weights):
    found = as_weights(weights, 3)
    assert found.tolist() == [1.0, 0.0, 2.5]
    found[0] = 7.0
    assert next(iter(weights)) == 1.0


def test_values_and_weights_up_to_the_limit():
    assert as_matrix([[LARGEST, -LARGEST]]).tolist() == [[LARGEST, -LARGEST]]
    assert as_row([-LARGEST, 0.0], 2).tolist() == [-LARGEST, 0.0]
    assert as_vector([LARGEST], 1).tolist() == [LARGEST]
    assert as_response(-LARGEST) == -LARGEST
    assert as_weight(HEAVIEST) == as_weights([HEAVIEST], 1)[0] == HEAVIEST == 1e300
    above = math.nextafter(LARGEST, math.inf)
    for refused in (
        lambda: as_matrix([[1.0, -above]]),
        lambda: as_matrix([[math.nan, above]], missing=True),
        lambda: as_row([above], 1),
        lambda: as_vector([-above], 1),
        lambda: as_response(above),
    ):
        with pytest.raises(BadRow, match=r"is .*: expected at most 1e\+150 in absolute value"):
            refused()
    for refused in (lambda: as_weight(1.1e300), lambda: as_weights([1.1e300], 1)):
        with pytest.raises(BadRow, match=r"is 1.1e\+300: expected a number from 0 to 1e\+300"):
            refused()


@pytest.mark.parametrize(
    ("x", "y", "weight", "heavy"),
    [
        (1e150, 0.0, 1.0, False),
        (1e150, 0.0, 1.1, True),
        (0.0, -1e150, 1.1, True),
        (1e100, 1e99, 9e99, False),
        (-1e100, 0.0, 1.1e100, True),
        (1e-200, 0.0, 1e300, False),
        (1e150, 1e150, 0.0, False),
        (math.nan, 1e100, 1e101, True),
    ],
)
def test_heavy_rows_have_weighted_squares_above_the_limit(x, y, weight, heavy):
    rows = np.array([[1.0, 1.0], [1.0, x]]), np.array([1.0, y]), np.array([1.0, weight])
    assert heavy_rows(*rows).tolist() == [False, heavy]


def test_no_weights_and_one_for_all():
    assert as_weights(None, 3) is None
    assert as_weights(2, 3).tolist() == [2.0, 2.0, 2.0]
    assert as_weights([], 0).tolist() == []


@pytest.mark.parametrize(
    ("weights", "text"),
    [
        (
            [1.0, -1.0],
            r"'sample_weight' at row 1 is -1.0: expected a number from 0 to 1e\+300; use",
        ),
        ([1.0, None], "'sample_weight' at row 1 is nan"),
        (-2.0, "'sample_weight' at row 0 is -2.0"),
        (
            [1.0],
            r"'sample_weight' is \(1,\): expected the shape \(2,\); pass one weight per row, or",
        ),
        ([[1.0, 2.0]], r"'sample_weight' is \(1, 2\): expected the shape \(2,\)"),
        (["a", 1.0], "'sample_weight' at row 0 is 'a': expected a number"),
    ],
)
def test_the_error_for_invalid_weights_names_the_row(weights, text):
    with pytest.raises(InvalidValue, match=text):
        as_weights(weights, 2)

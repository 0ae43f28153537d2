"""Columns that cannot be used are refused by name."""

from __future__ import annotations

import pyarrow as pa
import pytest

from efface.errors import InvalidValue
from efface.spark.schemas import (
    one_row,
    require_key,
    require_numbers,
    require_ordered,
    spark_schema,
    type_of,
)


class Kind:
    """The type of a column, as Spark has it."""

    def __init__(self, text):
        self.dataType, self._text = self, text

    def simpleString(self):  # noqa: N802
        return self._text


class Frame:
    """A DataFrame that has columns and types alone."""

    schema = {  # noqa: RUF012
        name: Kind(name) for name in ("string", "bigint", "decimal(10,2)", "timestamp", "map")
    }
    columns = list(schema)  # noqa: RUF012


def test_keys_are_texts_and_whole_numbers():
    require_key(Frame, "string")
    require_key(Frame, "bigint")
    with pytest.raises(InvalidValue, match="cast it to a string"):
        require_key(Frame, "timestamp")


def test_features_are_numbers():
    require_numbers(Frame, ["bigint", "decimal(10,2)"])
    with pytest.raises(InvalidValue, match="'string' is 'string': expected a column of numbers"):
        require_numbers(Frame, ["string"])


def test_rows_are_sorted_by_numbers_times_and_texts():
    require_ordered(Frame, ["bigint", "decimal(10,2)", "timestamp", "string"])
    with pytest.raises(InvalidValue, match="'map' is 'map': expected a column of numbers, times"):
        require_ordered(Frame, ["map"])


def test_an_unknown_column_is_refused():
    with pytest.raises(InvalidValue, match="'column' is 'z'"):
        type_of(Frame, "z")


def test_one_row_has_every_type():
    found = one_row({"a": "int", "b": "timestamp", "c": "boolean", "d": "map<string,int>"})
    assert found.num_rows == 1
    assert found["d"].to_pylist() == [None]


def test_types_of_results():
    schema = pa.schema({"n": pa.int64(), "s": pa.bool_(), "p": pa.float64()})
    assert spark_schema(schema, {}) == "`n` bigint, `s` boolean, `p` double"

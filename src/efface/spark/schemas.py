"""Columns of Spark DataFrames: what they must be, and the types of results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from efface.errors import invalid

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ONE = {  # one value of each type; other columns are only repeated
    **{kind: pa.array([0]) for kind in ("tinyint", "smallint", "int", "bigint")},
    **{kind: pa.array([1.0]) for kind in ("float", "double")},
    "boolean": pa.array([False]),
    "string": pa.array([""]),
    "date": pa.array([0], pa.date32()),
    "timestamp": pa.array([0], pa.timestamp("us", "UTC")),
    "timestamp_ntz": pa.array([0], pa.timestamp("us")),
}
_KEYS = ("tinyint", "smallint", "int", "bigint", "string")
_ORDERED = ("string", "binary", "date", "timestamp", "timestamp_ntz")  # and numbers
_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "boolean", "decimal")


def type_of(df: DataFrame, name: str) -> str:
    """The type of a column, as Spark spells it; an unknown column is refused."""
    if name not in df.columns:
        raise invalid("column", name, f"one of {df.columns}", "name a column of the DataFrame")
    return str(df.schema[name].dataType.simpleString())


def require_key(df: DataFrame, key: str) -> None:
    """Raise unless a column can be the key of models."""
    found = type_of(df, key)
    if found not in _KEYS:
        raise invalid("key", key, f"a column of type {_KEYS}, not {found}", "cast it to a string")


def require_numbers(df: DataFrame, names: Iterable[str]) -> None:
    """Raise unless these columns hold numbers."""
    for name in names:
        found = type_of(df, name)
        if found.split("(")[0] not in _NUMBERS:
            raise invalid(name, found, "a column of numbers", "cast it to double")


def require_ordered(df: DataFrame, names: Iterable[str]) -> None:
    """Raise unless rows can be sorted by these columns."""
    for name in names:
        found = type_of(df, name)
        if found.split("(")[0] not in (*_NUMBERS, *_ORDERED):
            raise invalid(name, found, "a column of numbers, times or texts", "cast it to one")


def one_row(types: dict[str, str], known: Mapping[str, Any] | None = None) -> Any:
    """A record batch of one row, for columns of these types as Spark spells them.

    ``known`` has the values of some columns.

    >>> one_row({"shop": "string", "day": "date", "x": "double"}).to_pylist()
    [{'shop': '', 'day': datetime.date(1970, 1, 1), 'x': 1.0}]
    """
    given = {name: pa.array([value]) for name, value in (known or {}).items()}
    arrays = [given.get(name, _ONE.get(kind, pa.nulls(1))) for name, kind in types.items()]
    return pa.record_batch(arrays, list(types))


def spark_schema(schema: Any, known: dict[str, str]) -> str:
    """An Arrow schema as Spark spells it; ``known`` has the types of columns that are repeated.

    >>> spark_schema(pa.schema({"shop": pa.int64(), "coef_x": pa.float64()}), {"shop": "int"})
    '`shop` int, `coef_x` double'
    """
    return ", ".join(f"`{f.name}` {known.get(f.name) or _spelled(f.type)}" for f in schema)


def _spelled(kind: Any) -> str:
    if pa.types.is_floating(kind):
        return "double"
    return "boolean" if pa.types.is_boolean(kind) else "bigint"

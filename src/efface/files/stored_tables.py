"""Tables for the models of a store: rows to learn and to predict, as the models expect them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from efface.errors import BadTable, InvalidValue
from efface.files.row_batches import RowBatch, read_rows
from efface.files.schema import Levels, Schema
from efface.files.tables import NUMBERS, TEXTS, Kind, Table

PART = 10_000  # rows of one transaction


def columns_of(names: Sequence[str], one_hot: Levels) -> list[str]:
    """The columns of a table from which features come; a text column has several.

    >>> columns_of(["temp", "slot=b", "slot=c"], {"slot": ("a", "b", "c")})
    ['temp', 'slot']
    """
    text = {f"{column}={level}": column for column, levels in one_hot.items() for level in levels}
    return list(dict.fromkeys(text.get(name, name) for name in names))


def check_features(schema: Schema, names: Sequence[str]) -> None:
    """Raise unless a table gives the features of a model, in their order."""
    if schema.names != list(names):
        had, got = ", ".join(names), ", ".join(schema.names)
        text = f"'model' has the features {had}, but the table gives {got}"
        raise InvalidValue(f"{text}: name the same --features and --one-hot.")


def parts(rows: RowBatch) -> Iterator[RowBatch]:
    """The rows in parts that fit one transaction."""
    for start in range(0, len(rows), PART):
        yield rows.part(start, min(start + PART, len(rows)))


def feature_rows(
    table: Table, names: Sequence[str], one_hot: Levels, key: str | None = None
) -> Iterator[tuple[NDArray[np.float64], list[str] | None]]:
    """The features of the rows of a table, which needs no target, and the texts of ``key``."""
    columns = columns_of(names, one_hot)
    for column in columns:
        wanted = Kind.TEXT if column in one_hot else Kind.NUMBER
        if table.kind(table.require(column)) is not wanted:
            held = f"{table.kind(column).value}: expected {wanted.value}"
            raise BadTable(f"'{table.name}', column {column!r} holds {held}; check its values.")
    types = {column: TEXTS if column in one_hot else NUMBERS for column in columns}
    if key is not None:
        types[table.require(key)] = TEXTS
    numbers = [column for column in columns if column not in one_hot]
    if not numbers:
        raise InvalidValue("'features' are all text columns: expected a number among them.")
    # The target of this schema is one of its features: nothing else is there for certain.
    schema = Schema(numbers[0], tuple(columns), group=key, one_hot=one_hot, types=types)
    check_features(schema, names)
    for rows in read_rows(table, schema):
        yield rows.X, rows.groups

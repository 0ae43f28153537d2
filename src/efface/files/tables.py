"""The interface of a table: column types that are known at once, rows that are read in chunks.

Errors name the file and, where known, the line or row and the column. Lines of text files are
counted from 1, as in editors; rows of binary files from 0, as ids are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from enum import Enum

import pyarrow as pa

from efface.errors import BadTable
from efface.files.number_text import NumberFormat

NUMBERS = pa.float64()
TEXTS = pa.string()
WHOLE = pa.int64()
TIMES = pa.timestamp("ns")


class Kind(Enum):
    """The kind of values in a column."""

    NUMBER = "numbers"
    TEXT = "text"
    TIME = "times"
    OTHER = "something else"


class Table(ABC):
    """A file of rows: known column types, and rows that are read on demand."""

    def __init__(self, name: str, columns: Mapping[str, pa.DataType]) -> None:
        self.name = name
        self.columns = dict(columns)
        self.advice: dict[str, str] = {}  # what to do about a wrong value, by column

    @abstractmethod
    def chunks(self, wanted: Mapping[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
        """The rows, with the wanted columns converted to the wanted types."""

    @abstractmethod
    def sample(self, column: str) -> pa.Array:
        """The first values of a column, as text."""

    @abstractmethod
    def progress(self) -> float:
        """The share of the table that has been read; NaN if unknown."""

    @property
    def rereadable(self) -> bool:
        """Whether the rows can be read more than once."""
        return True

    def kind(self, column: str) -> Kind:
        """The kind of values in a column."""
        return kind_of(self.columns[column])

    def place(self, row: int) -> str:
        """The position of a row, counted from 0, in words."""
        return f"row {row}"

    def where(self, row: int) -> str:
        """The file and the position of a row, in words."""
        return f"'{self.name}' at {self.place(row)}"

    def is_number(self, text: str) -> bool:
        """Whether a text of this table is a number."""
        return NumberFormat().is_number(text)

    def require(self, column: str) -> str:
        """Return the column's name if it exists; otherwise raise and suggest a similar name."""
        if column in self.columns:
            return column
        names = {name.lower(): name for name in self.columns}
        near = get_close_matches(column.lower(), names, n=1, cutoff=0.5)
        hint = f"did you mean {names[near[0]]!r}?" if near else "check its name."
        raise BadTable(f"'{self.name}' has no column {column!r}: {hint} {self._column_list()}")

    def wrong(
        self, column: str, row: int, value: object, expected: str, advice: str = ""
    ) -> BadTable:
        """The error for one value."""
        ending = f"; {advice}." if advice else "."
        where = f"{self.where(row)}, column {column!r}"
        return BadTable(f"{where} is {value!r}: expected {expected}{ending}")

    def _column_list(self) -> str:
        names = list(self.columns)
        more = f" and {len(names) - 12} more" if len(names) > 12 else ""
        return f"Its columns are {', '.join(names[:12])}{more}."


def kind_of(type: pa.DataType) -> Kind:
    """The kind of a column type; a column without values counts as numbers.

    >>> kind_of(pa.int32()), kind_of(pa.date32())
    (<Kind.NUMBER: 'numbers'>, <Kind.TIME: 'times'>)
    """
    kinds = pa.types
    if kinds.is_dictionary(type):
        return kind_of(type.value_type)
    numbers = (kinds.is_integer, kinds.is_floating, kinds.is_decimal, kinds.is_boolean)
    if kinds.is_null(type) or any(test(type) for test in numbers):
        return Kind.NUMBER
    if kinds.is_string(type) or kinds.is_large_string(type) or kinds.is_string_view(type):
        return Kind.TEXT
    return Kind.TIME if kinds.is_timestamp(type) or kinds.is_date(type) else Kind.OTHER


def converted(values: pa.Array, type: pa.DataType) -> pa.Array:
    """Values as another type; truth values become 0 and 1, times with a time zone UTC."""
    if pa.types.is_boolean(values.type) and pa.types.is_floating(type):
        values = values.cast(pa.int8())
    if pa.types.is_timestamp(values.type) and values.type.tz:
        values = values.cast(pa.timestamp(values.type.unit, "UTC"))
    return values.cast(type, safe=not pa.types.is_floating(type))

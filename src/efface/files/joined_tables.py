"""Several files as one table, one after another."""

from __future__ import annotations

import glob
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from efface.errors import BadTable
from efface.files.readers import open_table
from efface.files.tables import NUMBERS, TIMES, WHOLE, Kind, Table, kind_of
from efface.files.text_readers import TextFormat


def expand(names: Sequence[str]) -> list[str]:
    """The files that names and patterns mean; those of a pattern in alphabetical order.

    >>> expand(["-", "march.csv"])
    ['-', 'march.csv']
    """
    found: list[str] = []
    for name in names:
        if not glob.has_magic(name) or Path(name).exists():
            found.append(name)
            continue
        files = sorted(glob.glob(name, recursive=True))
        if not files:
            raise BadTable(f"'{name}' matches no file: expected at least one; check the pattern.")
        found += files
    if found.count("-") > 1:
        raise BadTable("'-' is named twice: standard input can be read only once; name it once.")
    return found


def open_tables(names: Sequence[str], form: TextFormat) -> Table:
    """The table in one file, or in several that are read one after another."""
    tables = [open_table(name, form) for name in names]
    return tables[0] if len(tables) == 1 else JoinedTable(tables)


def short_name(names: Sequence[str]) -> str:
    """The files as a title: their names, or the first one and how many follow.

    >>> short_name(["rides/may.csv"]), short_name(["may.csv", "june.csv", "july.csv"])
    ('may.csv', 'may.csv and 2 more files')
    """
    first = "standard input" if names[0] == "-" else Path(names[0]).name
    more = len(names) - 1
    return first + (f" and {more} more file{'s' * (more > 1)}" if more else "")


class JoinedTable(Table):
    """Tables with the same columns, one after another.

    A column that is not of one kind in all tables is refused when it is used, not before.
    """

    def __init__(self, tables: Sequence[Table]) -> None:
        self._tables = tables
        self._starts = [0]  # the first row of each table, as far as they have been read
        self._conflicts: dict[str, BadTable] = {}
        names = dict.fromkeys(name for table in tables for name in table.columns)
        columns = {name: self._type(name) for name in names}
        super().__init__(short_name([table.name for table in tables]), columns)

    @property
    def rereadable(self) -> bool:
        return all(table.rereadable for table in self._tables)

    def sample(self, column: str) -> pa.Array:
        return self._tables[0].sample(column)

    def progress(self) -> float:
        index = min(len(self._starts), len(self._tables)) - 1
        return (index + self._tables[index].progress()) / len(self._tables)

    def kind(self, column: str) -> Kind:
        if column in self._conflicts:
            raise self._conflicts[column]
        return super().kind(column)

    def require(self, column: str) -> str:
        for table in self._tables:
            table.require(column)
        return column

    def where(self, row: int) -> str:
        index = sum(start <= row for start in self._starts) - 1
        return self._tables[index].where(row - self._starts[index])

    def is_number(self, text: str) -> bool:
        return self._tables[0].is_number(text)

    def chunks(self, wanted: Mapping[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
        self._starts = [0]
        for table in self._tables:
            table.advice = self.advice
            done = 0
            for chunk in table.chunks(wanted):
                done += chunk.num_rows
                yield chunk
            self._starts.append(self._starts[-1] + done)

    def _type(self, name: str) -> pa.DataType:
        """The type of a column in all tables; a column that is empty in one fits any other."""
        found: tuple[str, pa.DataType] | None = None
        for table in self._tables:
            if name not in table.columns:
                advice = "choose --features without it"
                text = f"'{table.name}' has no column {name!r}, which another file has: {advice}."
                self._conflicts.setdefault(name, BadTable(text))
                continue
            type = table.columns[name]
            if found is None or pa.types.is_null(found[1]):
                found = table.name, type
            elif not pa.types.is_null(type):
                found = found[0], self._common(name, table, found)
        return pa.null() if found is None else found[1]

    def _common(self, name: str, table: Table, first: tuple[str, pa.DataType]) -> pa.DataType:
        """The type for a column of one table and of those before it."""
        known, type, kind = first[1], table.columns[name], kind_of(table.columns[name])
        if kind_of(known) is not kind or _zoned(known) != _zoned(type):
            text = f"'{table.name}', column {name!r} holds {_described(type)}"
            expected = f"expected {_described(known)}, as in '{first[0]}'"
            conflict = BadTable(f"{text}: {expected}; write the files alike, or leave it out.")
            self._conflicts.setdefault(name, conflict)
        if known == type:
            return known
        if kind is Kind.TIME:
            return pa.timestamp("ns", "UTC") if _zoned(type) else TIMES
        whole = pa.types.is_integer(known) and pa.types.is_integer(type)
        return known if kind is not Kind.NUMBER else WHOLE if whole else NUMBERS


def _zoned(type: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(type) and type.tz)


def _described(type: pa.DataType) -> str:
    return kind_of(type).value + (" with a time zone" if _zoned(type) else "")

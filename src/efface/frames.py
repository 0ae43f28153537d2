"""Tables from outside: CSV, TSV, JSON Lines, Parquet and Arrow, in chunks.

A table tells its columns and their kinds from its head alone; its rows are then read chunk by
chunk, in the types that the reader wants, and never all at once. What is wrong with a file is said
with its name, and the line or row and the column where that is known. Lines of text are counted
from 1, as editors do; rows of binary files from 0, as ids are.
"""

from __future__ import annotations

import io
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from enum import Enum
from pathlib import Path
from typing import Any, BinaryIO, final

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from efface.errors import BadTable

_HEAD = 1 << 20  # bytes that tell the columns and their kinds
_BLOCK = 1 << 22  # bytes of text in a chunk
_ROWS = 1 << 14  # rows in a chunk of a binary file
_TABBED = (".tsv", ".tab")
_LINES = (".jsonl", ".ndjson", ".json")
_PACKED = (".gz", ".bz2", ".zst", ".lz4", ".br")
_MAGIC = {b"PAR1": "Parquet", b"ARROW1": "Arrow", b"\xff\xff\xff\xff": "Arrow"}
_SUFFIXES = {".parquet": "Parquet", ".pq": "Parquet", ".arrow": "Arrow", ".feather": "Arrow"}
_SUFFIXES |= {".ipc": "Arrow", ".arrows": "Arrow"}
_NAMES = {"\t": "tabs", " ": "spaces"}

NUMBERS = pa.float64()
TEXTS = pa.string()
WHOLE = pa.int64()
TIMES = pa.timestamp("ns")


class Kind(Enum):
    """What a column holds."""

    NUMBER = "numbers"
    TEXT = "text"
    TIME = "times"
    OTHER = "something else"


class Table(ABC):
    """Rows of a file: columns that are known, rows that are read when asked for."""

    def __init__(self, name: str, columns: Mapping[str, pa.DataType]) -> None:
        self.name = name
        self.columns = dict(columns)

    @abstractmethod
    def chunks(self, wanted: Mapping[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
        """The rows, with these columns in these types."""

    @abstractmethod
    def sample(self, column: str) -> pa.Array:
        """The first values of a column, as texts."""

    @abstractmethod
    def progress(self) -> float:
        """The share of the table that has been read, as far as that can be told; else NaN."""

    @property
    def rereadable(self) -> bool:
        """Whether the rows can be read more than once."""
        return True

    def kind(self, column: str) -> Kind:
        """What a column holds, by its head."""
        return kind_of(self.columns[column])

    def place(self, row: int) -> str:
        """Where a row of the table is, counted from 0, in words."""
        return f"row {row}"

    def require(self, column: str) -> str:
        """The name of a column that is there; otherwise the one that may have been meant."""
        if column in self.columns:
            return column
        names = {name.lower(): name for name in self.columns}
        near = get_close_matches(column.lower(), names, n=1, cutoff=0.5)
        hint = f"did you mean {names[near[0]]!r}?" if near else "check its name."
        raise BadTable(f"'{self.name}' has no column {column!r}: {hint} {self._has()}")

    def wrong(
        self, column: str, row: int, value: object, expected: str, advice: str = ""
    ) -> BadTable:
        """The error about one value."""
        ending = f"; {advice}." if advice else "."
        where = f"'{self.name}' at {self.place(row)}, column {column!r}"
        return BadTable(f"{where} is {value!r}: expected {expected}{ending}")

    def _has(self) -> str:
        names = list(self.columns)
        more = f" and {len(names) - 12} more" if len(names) > 12 else ""
        return f"Its columns are {', '.join(names[:12])}{more}."


def kind_of(type: pa.DataType) -> Kind:
    """The kind of a column's type; one without any value may still hold numbers.

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


def open_table(source: str, delimiter: str | None = None, times: str | None = None) -> Table:
    """The table in a file, or in CSV on standard input if ``source`` is "-".

    ``delimiter`` is what stands between two values of a CSV file; ``times`` how times are written
    in it if not as ISO 8601 has it, in the notation of ``strptime``.
    """
    if source == "-":
        return _Csv("standard input", _Pipe(sys.stdin.buffer), delimiter or ",", times)
    path, suffix = Path(source), _suffix(Path(source))
    head = _head(path)
    if not head:
        raise BadTable(f"'{source}' is empty: expected a header and rows; check what wrote it.")
    form = next((form for magic, form in _MAGIC.items() if head.startswith(magic)), None)
    form = form or _SUFFIXES.get(suffix)
    if form:
        return _binary(source, form)
    if suffix in _LINES:
        return _Json(source, path)
    return _Csv(source, _Reopened(path), delimiter or ("\t" if suffix in _TABBED else ","), times)


def _suffix(path: Path) -> str:
    name = path.with_suffix("") if path.suffix in _PACKED else path
    return name.suffix.lower()


def _head(path: Path) -> bytes:
    try:
        with pa.input_stream(str(path)) as stream:
            return bytes(stream.read(_HEAD))
    except FileNotFoundError:
        raise BadTable(f"'{path}' is not there: expected a file; check its path.") from None
    except (OSError, pa.ArrowException) as error:
        raise BadTable(f"'{path}' cannot be read: {_brief(error)}.") from error


# -- text ------------------------------------------------------------------------------------------


class _Reopened:
    """A file of text that can be read again and again."""

    def __init__(self, path: Path) -> None:
        self.path: Path | None = path
        self.head = _head(path)
        self.size = path.stat().st_size

    def open(self) -> Any:
        return pa.input_stream(str(self.path))


class _Pipe:
    """Text that comes once: its head is read ahead, and given out again first."""

    path: Path | None = None
    size = 0

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.head = stream.read(_HEAD)

    def open(self) -> Any:
        return pa.PythonFile(_Rejoined(self.head, self._stream), mode="r")


class _Rejoined(io.RawIOBase):
    """What was read of a stream, and then the rest of it."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head, self._rest = io.BytesIO(head), rest

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        return self._head.read(size) or self._rest.read(size)


class _Text(Table):
    """Lines of text, parsed by pyarrow block by block."""

    def __init__(self, name: str, source: _Reopened | _Pipe) -> None:
        self._source = source
        self._stream: Any = None
        if not source.head.strip():
            raise BadTable(f"'{name}' is empty: expected a header and rows; check what wrote it.")
        if b"\0" in source.head[:4096]:
            raise BadTable(
                f"'{name}' is not text, it holds zero bytes: expected CSV, TSV, JSON Lines, "
                "Parquet or Arrow; name the file by its kind."
            )
        super().__init__(name, self._columns(source.head))

    @property
    def rereadable(self) -> bool:
        return self._source.path is not None

    def sample(self, column: str) -> pa.Array:
        head = pa.BufferReader(_whole(self._source.head))
        return next(self._reader(head, {column: TEXTS})).column(column)

    def progress(self) -> float:
        if not self._source.size or self._stream is None or self._stream.closed:
            return float("nan")
        return min(1.0, float(self._stream.tell()) / self._source.size)

    def chunks(self, wanted: Mapping[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
        self._stream, done = self._source.open(), 0
        with self._stream:
            reader = self._guarded(lambda: self._reader(self._stream, wanted), done)
            while (batch := self._guarded(lambda: next(reader, None), done)) is not None:
                yield batch.select(list(wanted))
                done += batch.num_rows
        if not done:
            raise BadTable(f"'{self.name}' has a header and no rows; check what wrote it.")

    @abstractmethod
    def _reader(self, stream: Any, wanted: Mapping[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
        """What parses a stream into these columns."""

    @abstractmethod
    def _wrong(self, error: Exception, done: int) -> BadTable:
        """The error about what could not be parsed, with so many rows read before."""

    def _columns(self, head: bytes) -> dict[str, pa.DataType]:
        def columns() -> dict[str, pa.DataType]:
            schema = self._reader(pa.BufferReader(_whole(head)), {}).schema  # type: ignore[attr-defined]
            return dict(zip(schema.names, schema.types, strict=True))

        found: dict[str, pa.DataType] = self._guarded(columns, 0)
        return found

    def _guarded(self, read: Callable[[], Any], done: int) -> Any:
        try:
            return read()
        except UnicodeDecodeError as error:
            raise BadTable(f"'{self.name}' is not text in UTF-8: convert it first.") from error
        except (pa.ArrowException, OSError) as error:
            raise self._wrong(error, done) from error

    def _line(self, row: int, before: int) -> int:
        """The line of a row, counted from 1: blank lines are no rows, ``before`` lines are not."""
        if self._source.path is None:
            return row + before + 1
        with pa.input_stream(str(self._source.path)) as stream:
            left = row + before
            for number, line in enumerate(io.BufferedReader(stream), 1):
                left -= bool(line.strip(b"\r\n"))
                if left < 0:
                    return number
        return row + before + 1


@final
class _Csv(_Text):
    """Values between delimiters, under a header."""

    def __init__(
        self, name: str, source: _Reopened | _Pipe, delimiter: str, times: str | None
    ) -> None:
        self.name = name
        self._delimiter, self._times = delimiter, times
        self._names = _first_line(source.head)
        super().__init__(name, source)

    def place(self, row: int) -> str:
        return f"line {self._line(row, 1)}"

    def _columns(self, head: bytes) -> dict[str, pa.DataType]:
        self._refuse_delimiter()
        columns = super()._columns(head)
        names = self._names.split(self._delimiter)
        if len(columns) < len(names):
            twice = next(name for name in names if names.count(name) > 1).strip('"')
            raise BadTable(f"'{self.name}' has two columns {twice!r}: rename one.")
        return columns

    def _refuse_delimiter(self) -> None:
        if self._delimiter in self._names:
            return
        found = next((mark for mark in ";\t|," if mark in self._names), None)
        if found:
            raise BadTable(
                f"'{self.name}' at line 1 has no {self._delimiter!r} in its header "
                f"{self._names[:60]!r}: it looks separated by {_NAMES.get(found, repr(found))}; "
                f"add --delimiter {found!r}."
            )

    def _reader(self, stream: Any, wanted: Mapping[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
        csv = pyarrow.csv
        parsers = [self._times] if self._times else None
        reader: Iterator[pa.RecordBatch] = csv.open_csv(
            stream,
            read_options=csv.ReadOptions(use_threads=False, block_size=_BLOCK),
            parse_options=csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                column_types=dict(wanted),
                include_columns=list(wanted),
                strings_can_be_null=True,
                timestamp_parsers=parsers,
            ),
        )
        return reader

    def _wrong(self, error: Exception, done: int) -> BadTable:
        text = str(error)
        row = int(found[1]) - 2 if (found := re.search(r"Row #(\d+)", text)) else None
        if ragged := re.search(r"Expected (\d+) columns, got (\d+)", text):
            place = "" if row is None else f" at {self.place(row)}"
            count, expected = ragged[2], ragged[1]
            return BadTable(
                f"'{self.name}'{place} has {count} values: expected {expected}, as in the header; "
                "correct the line, or name another --delimiter."
            )
        column = re.search(r"column #(\d+)", text)
        value = re.search(r"conversion error to (\S+): invalid value '(.*)'", text, re.DOTALL)
        if row is None or column is None or value is None:
            return BadTable(f"'{self.name}' cannot be read as CSV: {_brief(error)}.")
        name = list(self.columns)[int(column[1])]
        return self.wrong(name, row, value[2], *_EXPECTED[value[1].split("[")[0].rstrip(":,")])


_EXPECTED = {
    "double": ("a number", "correct it, leave the column out, or add --one-hot"),
    "int64": ("a whole number, as in the first rows", "correct it"),
    "timestamp": ("a time like 2011-01-31 14:00", "correct it, or add --time-format"),
}


def _whole(head: bytes) -> bytes:
    """The lines that are whole."""
    return head if len(head) < _HEAD else head[: head.rfind(b"\n") + 1] or head


def _first_line(head: bytes) -> str:
    line = head.lstrip(b"\xef\xbb\xbf\r\n").split(b"\n", 1)[0]
    return line.rstrip(b"\r").decode("utf-8", "replace")


@final
class _Json(_Text):
    """One object a line."""

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        super().__init__(name, _Reopened(path))

    def place(self, row: int) -> str:
        return f"line {self._line(row, 0)}"

    def _reader(self, stream: Any, wanted: Mapping[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
        json, schema = pyarrow.json, pa.schema(list(wanted.items())) if wanted else None
        reader: Iterator[pa.RecordBatch] = json.open_json(
            stream,
            read_options=json.ReadOptions(use_threads=False, block_size=_BLOCK),
            parse_options=json.ParseOptions(
                explicit_schema=schema, unexpected_field_behavior="ignore" if wanted else "infer"
            ),
        )
        return reader

    def _wrong(self, error: Exception, done: int) -> BadTable:
        text = str(error)
        row = re.search(r"in row (\d+)", text)
        where = f"'{self.name}'" + (f" at {self.place(done + int(row[1]))}" if row else "")
        changed = re.search(r"Column\(/(.*)\) changed from (\w+) to (\w+)", text)
        if changed:
            column, had, got = changed.groups()
            return BadTable(f"{where}, column {column!r} is a {got}: expected a {had}; correct it.")
        return BadTable(f"{where} is no JSON object: expected one a line ({_brief(error)}).")


# -- binary ----------------------------------------------------------------------------------------


def _binary(name: str, form: str) -> Table:
    try:
        return _Parquet(name) if form == "Parquet" else _Arrow(name)
    except (pa.ArrowException, OSError) as error:
        advice = f"expected a whole {form} file; check what wrote it"
        raise BadTable(f"'{name}' cannot be read: {advice} ({_brief(error)}).") from error


class _Batches(Table):
    """Columns that have types, in batches of rows."""

    _total: int
    _done = 0

    def sample(self, column: str) -> pa.Array:
        return _cast(next(self._batches([column])).column(column), TEXTS)

    def progress(self) -> float:
        return self._done / self._total if self._total else float("nan")

    def chunks(self, wanted: Mapping[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
        self._done = 0
        try:
            for batch in self._batches(list(wanted)):
                yield pa.record_batch(
                    [_cast(batch.column(name), type) for name, type in wanted.items()],
                    names=list(wanted),
                )
                self._done += batch.num_rows
        except (pa.ArrowException, OSError) as error:
            place = f"after row {self._done}"
            raise BadTable(f"'{self.name}' is damaged {place}: {_brief(error)}.") from error
        if not self._done:
            raise BadTable(f"'{self.name}' has columns and no rows; check what wrote it.")

    @abstractmethod
    def _batches(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        """The rows of these columns."""


def _cast(values: pa.Array, type: pa.DataType) -> pa.Array:
    if pa.types.is_boolean(values.type) and pa.types.is_floating(type):
        values = values.cast(pa.int8())
    if pa.types.is_timestamp(values.type) and values.type.tz:
        values = values.cast(pa.timestamp(values.type.unit, "UTC"))
    return values.cast(type, safe=not pa.types.is_floating(type))


@final
class _Parquet(_Batches):
    def __init__(self, name: str) -> None:
        self._file = pyarrow.parquet.ParquetFile(name)
        schema = self._file.schema_arrow
        self._total = self._file.metadata.num_rows
        super().__init__(name, dict(zip(schema.names, schema.types, strict=True)))

    def _batches(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        yield from self._file.iter_batches(batch_size=_ROWS, columns=columns)


@final
class _Arrow(_Batches):
    """The file format, or the streaming one; read from a map of the file."""

    def __init__(self, name: str) -> None:
        self._total = 0
        with pa.memory_map(name) as source:
            schema = self._open(source).schema
        super().__init__(name, dict(zip(schema.names, schema.types, strict=True)))

    @staticmethod
    def _open(source: Any) -> Any:
        form = pa.ipc.open_file if source.read(6) == b"ARROW1" else pa.ipc.open_stream
        source.seek(0)
        return form(source)

    def _batches(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        with pa.memory_map(self.name) as source:
            reader = self._open(source)
            whole = isinstance(reader, pa.ipc.RecordBatchFileReader)
            parts = map(reader.get_batch, range(reader.num_record_batches)) if whole else reader
            for part in parts:
                for start in range(0, part.num_rows, _ROWS):
                    yield part.slice(start, _ROWS)


def _brief(error: Exception) -> str:
    """What a library said, in one line."""
    return " ".join(str(error).split())[:160].rstrip(".")

"""Readers of CSV and JSON Lines, which pyarrow parses block by block.

Column types are inferred from the first megabyte. A later value that does not fit is refused with
its line number. A pipe can be read only once.
"""

from __future__ import annotations

import io
import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, final

import pyarrow as pa
import pyarrow.csv
import pyarrow.json

from efface.errors import BadTable
from efface.files.tables import TEXTS, Table, one_line

_HEAD = 1 << 20  # bytes from which column types are inferred
_BLOCK = 1 << 20  # bytes per chunk; pyarrow reads about thirty ahead
COMPRESSED = (".gz", ".bz2", ".zst", ".lz4", ".br")
_NAMES = {"\t": "tabs", " ": "spaces"}


def head_of(path: Path) -> bytes:
    """The first bytes of a file, decompressed."""
    try:
        with pa.input_stream(str(path)) as stream:
            return bytes(stream.read(_HEAD))
    except FileNotFoundError:
        raise BadTable(f"'{path}' does not exist: expected a file; check its path.") from None
    except (OSError, pa.ArrowException) as error:
        raise BadTable(f"'{path}' cannot be read: {one_line(error)}.") from error


class TextFile:
    """A text file, which can be read several times."""

    def __init__(self, path: Path) -> None:
        self.path: Path | None = path
        self.head = head_of(path)
        self.size = 0 if path.suffix in COMPRESSED else path.stat().st_size  # 0: unknown

    def open(self) -> Any:
        return pa.input_stream(str(self.path))


class TextPipe:
    """Text that can be read once; its head is read ahead and returned again first."""

    path: Path | None = None
    size = 0

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.head = stream.read(_HEAD)

    def open(self) -> Any:
        return pa.PythonFile(_WithHead(self.head, self._stream), mode="r")


class _WithHead(io.RawIOBase):
    """The part of a stream that was read ahead, then the rest."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head, self._rest = io.BytesIO(head), rest

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        return self._head.read(size) or self._rest.read(size)


class _TextTable(Table):
    """Lines of text, parsed by pyarrow block by block."""

    def __init__(self, name: str, source: TextFile | TextPipe) -> None:
        self._source = source
        self._stream: Any = None
        if not source.head.strip():
            raise BadTable(f"'{name}' is empty: expected a header and rows; check the file.")
        if b"\0" in source.head[:4096]:
            raise BadTable(
                f"'{name}' is not text, it contains zero bytes: expected CSV, TSV, JSON Lines, "
                "Parquet or Arrow; check the file name extension."
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
            raise BadTable(f"'{self.name}' has a header but no rows: check the file.")

    @abstractmethod
    def _reader(self, stream: Any, wanted: Mapping[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
        """Parse a stream into the wanted columns."""

    @abstractmethod
    def _wrong(self, error: Exception, done: int) -> BadTable:
        """The error for text that cannot be parsed after ``done`` rows."""

    def _columns(self, head: bytes) -> dict[str, pa.DataType]:
        def columns() -> list[tuple[str, pa.DataType]]:
            reader: Any = self._reader(pa.BufferReader(_whole(head)), {})
            return list(zip(reader.schema.names, reader.schema.types, strict=True))

        found: dict[str, pa.DataType] = {}
        for name, type in self._guarded(columns, 0):
            if name in found:
                raise BadTable(f"'{self.name}' has two columns {name!r}: rename one.")
            found[name] = type
        return found

    def _guarded(self, read: Callable[[], Any], done: int) -> Any:
        try:
            return read()
        except UnicodeDecodeError as error:
            raise BadTable(f"'{self.name}' is not UTF-8 text: convert it to UTF-8.") from error
        except (pa.ArrowException, OSError) as error:
            raise self._wrong(error, done) from error

    def _line(self, row: int, before: int) -> int:
        """The line of a row, from 1; ``before`` lines come first, blank lines are not rows."""
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
class CsvTable(_TextTable):
    """Values between delimiters, with a header."""

    def __init__(
        self, name: str, source: TextFile | TextPipe, delimiter: str, times: str | None
    ) -> None:
        self.name = name
        self._delimiter, self._times = delimiter, times
        self._names = _first_line(source.head)
        super().__init__(name, source)

    def place(self, row: int) -> str:
        return f"line {self._line(row, 1)}"

    def _columns(self, head: bytes) -> dict[str, pa.DataType]:
        self._refuse_delimiter()
        return super()._columns(head)

    def _refuse_delimiter(self) -> None:
        if self._delimiter in self._names:
            return
        found = next((mark for mark in ";\t|," if mark in self._names), None)
        if found:
            raise BadTable(
                f"'{self.name}' at line 1 has no {self._delimiter!r} in its header "
                f"{self._names[:60]!r}: values seem to be separated by "
                f"{_NAMES.get(found, repr(found))}; "
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
            return BadTable(f"'{self.name}' cannot be read as CSV: {one_line(error)}.")
        name = list(self.columns)[int(column[1])]
        return self.wrong(name, row, value[2], *_EXPECTED[value[1].split("[")[0].rstrip(":,")])


_EXPECTED = {
    "double": ("a number", "correct it, remove the column from --features, or add --one-hot"),
    "int64": ("a whole number, as in the first rows", "correct it"),
    "timestamp": ("a time like 2011-01-31 14:00", "correct it, or add --time-format"),
}


def _whole(head: bytes) -> bytes:
    """The complete lines of the head."""
    return head if len(head) < _HEAD else head[: head.rfind(b"\n") + 1] or head


def _first_line(head: bytes) -> str:
    line = head.lstrip(b"\xef\xbb\xbf\r\n").split(b"\n", 1)[0]
    return line.rstrip(b"\r").decode("utf-8", "replace")


@final
class JsonTable(_TextTable):
    """JSON Lines: one object per line."""

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        super().__init__(name, TextFile(path))

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
        return BadTable(f"{where} is not a JSON object: expected one per line ({one_line(error)}).")

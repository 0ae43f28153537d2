"""Opens tables in CSV, TSV, JSON Lines, Parquet or Arrow files, and reads the binary ones."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, final

import pyarrow as pa
import pyarrow.parquet

from efface.errors import BadTable
from efface.files.tables import TEXTS, Table, one_line
from efface.files.text_readers import (
    COMPRESSED,
    CsvTable,
    JsonTable,
    TextFile,
    TextPipe,
    head_of,
)

_ROWS = 1 << 14  # rows per chunk
_TABBED = (".tsv", ".tab")
_LINES = (".jsonl", ".ndjson", ".json")
_MAGIC = {b"PAR1": "Parquet", b"ARROW1": "Arrow", b"\xff\xff\xff\xff": "Arrow"}
_SUFFIXES = {".parquet": "Parquet", ".pq": "Parquet", ".arrow": "Arrow", ".feather": "Arrow"}
_SUFFIXES |= {".ipc": "Arrow", ".arrows": "Arrow"}


def open_table(source: str, delimiter: str | None = None, times: str | None = None) -> Table:
    """The table in a file; "-" is CSV from standard input.

    ``delimiter`` separates the values of a CSV file. ``times`` is the format of its times, in the
    notation of ``strptime``, if it is not ISO 8601.
    """
    if source == "-":
        return CsvTable("standard input", TextPipe(sys.stdin.buffer), delimiter or ",", times)
    path, suffix = Path(source), _suffix(Path(source))
    head = head_of(path)
    if not head:
        raise BadTable(f"'{source}' is empty: expected a header and rows; check the file.")
    form = next((form for magic, form in _MAGIC.items() if head.startswith(magic)), None)
    form = form or _SUFFIXES.get(suffix)
    if form:
        return _binary(source, form)
    if suffix in _LINES:
        return JsonTable(source, path)
    delimiter = delimiter or ("\t" if suffix in _TABBED else ",")
    return CsvTable(source, TextFile(path), delimiter, times)


def _suffix(path: Path) -> str:
    name = path.with_suffix("") if path.suffix in COMPRESSED else path
    return name.suffix.lower()


def _binary(name: str, form: str) -> Table:
    try:
        return _ParquetTable(name) if form == "Parquet" else _ArrowTable(name)
    except (pa.ArrowException, OSError) as error:
        advice = f"expected a complete {form} file; write it again"
        raise BadTable(f"'{name}' cannot be read: {advice} ({one_line(error)}).") from error


class _BinaryTable(Table):
    """A file that stores column types and batches of rows."""

    _total: int
    _done = 0

    def sample(self, column: str) -> pa.Array:
        return _converted(next(self._batches([column])).column(column), TEXTS)

    def progress(self) -> float:
        return self._done / self._total if self._total else float("nan")

    def chunks(self, wanted: Mapping[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
        self._done = 0
        try:
            for batch in self._batches(list(wanted)):
                yield pa.record_batch(
                    [_converted(batch.column(name), type) for name, type in wanted.items()],
                    names=list(wanted),
                )
                self._done += batch.num_rows
        except (pa.ArrowException, OSError) as error:
            place = f"after row {self._done}"
            raise BadTable(f"'{self.name}' is damaged {place}: {one_line(error)}.") from error
        if not self._done:
            raise BadTable(f"'{self.name}' has columns but no rows: check the file.")

    @abstractmethod
    def _batches(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        """The rows, with these columns."""


def _converted(values: pa.Array, type: pa.DataType) -> pa.Array:
    if pa.types.is_boolean(values.type) and pa.types.is_floating(type):
        values = values.cast(pa.int8())
    if pa.types.is_timestamp(values.type) and values.type.tz:
        values = values.cast(pa.timestamp(values.type.unit, "UTC"))
    return values.cast(type, safe=not pa.types.is_floating(type))


@final
class _ParquetTable(_BinaryTable):
    def __init__(self, name: str) -> None:
        self._file = pyarrow.parquet.ParquetFile(name)
        schema = self._file.schema_arrow
        self._total = self._file.metadata.num_rows
        super().__init__(name, dict(zip(schema.names, schema.types, strict=True)))

    def _batches(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        yield from self._file.iter_batches(batch_size=_ROWS, columns=columns)


@final
class _ArrowTable(_BinaryTable):
    """The Arrow file or stream format, memory-mapped."""

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

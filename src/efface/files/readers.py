"""Opens tables in CSV, TSV, JSON Lines, Parquet or Arrow files, and reads the binary ones."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, final

import pyarrow as pa
import pyarrow.parquet

from efface.errors import BadTable
from efface.files.sources import COMPRESSED, Source, Text, kind_by_magic, one_line, open_source
from efface.files.tables import TEXTS, Table, converted
from efface.files.text_readers import PLAIN, CsvTable, JsonTable, TextFormat

_ROWS = 1 << 14  # rows per chunk
_TABBED = (".tsv", ".tab")
_LINES = (".jsonl", ".ndjson", ".json")
_MAGIC = {b"PAR1": "Parquet", b"ARROW1": "Arrow", b"\xff\xff\xff\xff": "Arrow"}
_SUFFIXES = {".parquet": "Parquet", ".pq": "Parquet", ".arrow": "Arrow", ".feather": "Arrow"}
_SUFFIXES |= {".ipc": "Arrow", ".arrows": "Arrow"}


def open_table(name: str, form: TextFormat = PLAIN) -> Table:
    """The table in a file; "-" is standard input. ``form`` says how text is written."""
    source, suffix = open_source(name), _suffix(Path(name))
    source.refuse_foreign()
    if binary := kind_by_magic(source.head, _MAGIC) or _SUFFIXES.get(suffix):
        return _binary(source, binary)
    text = Text(source, form.encoding)
    if suffix in _LINES or _is_object(text.head):
        return JsonTable(text)
    delimiter = form.delimiter or ("\t" if suffix in _TABBED else ",")
    return CsvTable(text, form._replace(delimiter=delimiter))


def _suffix(path: Path) -> str:
    name = path.with_suffix("") if path.suffix in COMPRESSED else path
    return name.suffix.lower()


def _is_object(head: bytes) -> bool:
    """Whether text begins with a line that is a JSON object."""
    line = head.lstrip().split(b"\n", 1)[0]
    if not line.startswith(b"{"):
        return False
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def _binary(source: Source, form: str) -> Table:
    try:
        return _ParquetTable(source) if form == "Parquet" else _ArrowTable(source)
    except (pa.ArrowException, OSError) as error:
        advice = f"expected a complete {form} file; write it again"
        raise BadTable(f"'{source.name}' cannot be read: {advice} ({one_line(error)}).") from error


class _BinaryTable(Table):
    """A file that stores column types and batches of rows."""

    _total: int
    _done = 0

    def sample(self, column: str) -> pa.Array:
        return converted(next(self._batches([column])).column(column), TEXTS)

    def progress(self) -> float:
        return self._done / self._total if self._total else float("nan")

    def chunks(self, wanted: Mapping[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
        self._done = 0
        try:
            for batch in self._batches(list(wanted)):
                columns = {name: converted(batch[name], type) for name, type in wanted.items()}
                yield pa.record_batch(columns)
                self._done += batch.num_rows
        except (pa.ArrowException, OSError) as error:
            place = f"after row {self._done}"
            raise BadTable(f"'{self.name}' is damaged {place}: {one_line(error)}.") from error
        if not self._done:
            raise BadTable(f"'{self.name}' has columns but no rows: check the file.")

    @abstractmethod
    def _batches(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        """The rows, with these columns."""


@final
class _ParquetTable(_BinaryTable):
    def __init__(self, source: Source) -> None:
        self._file = pyarrow.parquet.ParquetFile(source.seekable())
        schema = self._file.schema_arrow
        self._total = self._file.metadata.num_rows
        super().__init__(source.name, dict(zip(schema.names, schema.types, strict=True)))

    def _batches(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        yield from self._file.iter_batches(batch_size=_ROWS, columns=columns)


@final
class _ArrowTable(_BinaryTable):
    """The Arrow file or stream format."""

    def __init__(self, source: Source) -> None:
        self._total, self._bytes = 0, source.seekable()
        schema = self._open().schema
        super().__init__(source.name, dict(zip(schema.names, schema.types, strict=True)))

    def _open(self) -> Any:
        self._bytes.seek(0)
        form = pa.ipc.open_file if self._bytes.read(6) == b"ARROW1" else pa.ipc.open_stream
        self._bytes.seek(0)
        return form(self._bytes)

    def _batches(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        reader = self._open()
        whole = isinstance(reader, pa.ipc.RecordBatchFileReader)
        parts = map(reader.get_batch, range(reader.num_record_batches)) if whole else reader
        for part in parts:
            for start in range(0, part.num_rows, _ROWS):
                yield part.slice(start, _ROWS)

"""Readers of CSV and JSON Lines, which pyarrow parses block by block.

Column types are inferred from the first megabyte. A later value that does not fit is refused with
its line number. A pipe can be read only once.
"""

from __future__ import annotations

import io
import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, final

import pyarrow as pa
import pyarrow.csv
import pyarrow.json

from efface.errors import BadTable
from efface.files.number_text import NumberFormat, hint
from efface.files.sources import HEAD, Text, one_line
from efface.files.tables import NUMBERS, TEXTS, Table, converted

_BLOCK = 1 << 20  # bytes per chunk; pyarrow reads about thirty ahead
_NAMES = {"\t": "tabs", " ": "spaces"}


class TextFormat(NamedTuple):
    """How the values of a text file are written.

    ``times`` is a format of ``strptime``. None means: a comma (tabs in a TSV file), times in ISO
    8601, the encoding that the first bytes show.
    """

    delimiter: str | None = None
    times: str | None = None
    encoding: str | None = None
    numbers: NumberFormat = NumberFormat()


PLAIN = TextFormat()


class _TextTable(Table):
    """Lines of text, parsed by pyarrow block by block."""

    def __init__(self, text: Text) -> None:
        self._text = text
        self.name = text.source.name
        super().__init__(self.name, self._columns(text.head))

    @property
    def rereadable(self) -> bool:
        return self._text.rereadable

    def sample(self, column: str) -> pa.Array:
        head = pa.BufferReader(_whole(self._text.head))
        return next(self._reader(head, {column: TEXTS})).column(column)

    def progress(self) -> float:
        return self._text.source.progress()

    def chunks(self, wanted: Mapping[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
        stored, done = {name: self._stored(name, wanted[name]) for name in wanted}, 0
        with self._text.open() as stream:
            reader = self._guarded(lambda: self._reader(stream, stored), done)
            while (batch := self._guarded(lambda: next(reader, None), done)) is not None:
                columns = [self._column(batch[name], name, wanted[name], done) for name in wanted]
                yield pa.record_batch(columns, names=list(wanted))
                done += batch.num_rows
        if not done:
            raise BadTable(f"'{self.name}' has a header but no rows: check the file.")

    def _stored(self, column: str, wanted: pa.DataType) -> pa.DataType:
        """The type in which pyarrow parses a column; truth values become numbers later."""
        truths = pa.types.is_boolean(self.columns[column]) and pa.types.is_floating(wanted)
        return pa.bool_() if truths else wanted

    def _column(self, values: pa.Array, name: str, type: pa.DataType, done: int) -> pa.Array:
        return converted(values, type)

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
            text = f"'{self.name}' is not text in its encoding: name another --encoding"
            raise BadTable(f"{text} ({one_line(error)}).") from error
        except (pa.ArrowException, OSError) as error:
            raise self._wrong(error, done) from error

    def _line(self, row: int, before: int) -> int:
        """The line of a row, from 1; ``before`` lines come first, blank lines are not rows."""
        if not self.rereadable:
            return row + before + 1
        with self._text.open() as stream:
            left = row + before
            for number, line in enumerate(io.BufferedReader(stream), 1):
                left -= bool(line.strip(b"\r\n"))
                if left < 0:
                    return number
        return row + before + 1


@final
class CsvTable(_TextTable):
    """Values between delimiters, with a header."""

    def __init__(self, text: Text, form: TextFormat = PLAIN) -> None:
        form.numbers.check()
        self._delimiter, self._times = form.delimiter or ",", form.times
        self._numbers = form.numbers
        self._names = _first_line(text.head)
        super().__init__(text)

    def place(self, row: int) -> str:
        return f"line {self._line(row, 1)}"

    def is_number(self, text: str) -> bool:
        return self._numbers.is_number(text)

    def _columns(self, head: bytes) -> dict[str, pa.DataType]:
        self._refuse_delimiter()
        found = super()._columns(head)
        texts = [name for name, type in found.items() if pa.types.is_string(type)]
        if self._numbers.thousands is None or not texts:
            return found
        reader = self._reader(pa.BufferReader(_whole(head)), dict.fromkeys(texts, TEXTS))
        batch = next(reader)
        grouped = [each for each in texts if not self._numbers.parse(batch[each])[1].true_count]
        return found | dict.fromkeys(grouped, NUMBERS)

    def _stored(self, column: str, wanted: pa.DataType) -> pa.DataType:
        stored = super()._stored(column, wanted)
        grouped = self._numbers.thousands is not None and stored == NUMBERS
        return TEXTS if grouped else stored

    def _column(self, values: pa.Array, name: str, type: pa.DataType, done: int) -> pa.Array:
        if not (pa.types.is_string(values.type) and pa.types.is_floating(type)):
            return super()._column(values, name, type, done)
        numbers, wrong = self._numbers.parse(values)
        for index, refused in enumerate(wrong.to_pylist() if wrong.true_count else ()):
            if refused:
                text = values[index].as_py()
                raise self.wrong(name, done + index, text, "a number", self._correction(name, text))
        return numbers

    def _refuse_delimiter(self) -> None:
        if self._delimiter in self._names:
            return
        found = next((mark for mark in ";\t|," if mark in self._names), None)
        if found:
            raise BadTable(
                f"'{self.name}' at line 1 has no {self._delimiter!r} in its header "
                f"{self._names[:60]!r}: values seem to be separated by "
                f"{_NAMES.get(found, repr(found))}; add --delimiter {found!r}."
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
                decimal_point=self._numbers.decimal,
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
        expected = _EXPECTED[value[1].split("[")[0].rstrip(":,")]
        return self.wrong(name, row, value[2], expected, self._correction(name, value[2]))

    def _correction(self, column: str, text: str) -> str:
        """What to do about a text that does not fit its column."""
        return hint(text) or self.advice.get(column, "correct it")


_EXPECTED = {
    "double": "a number",
    "int64": "a whole number, as in the first rows",
    "bool": "true or false, as in the first rows",
    "timestamp": "a time like 2011-01-31 14:00",
    "string": "text in UTF-8",
}


def _whole(head: bytes) -> bytes:
    """The complete lines of the head."""
    return head if len(head) < HEAD else head[: head.rfind(b"\n") + 1] or head


def _first_line(head: bytes) -> str:
    line = head.lstrip(b"\r\n").split(b"\n", 1)[0]
    return line.rstrip(b"\r").decode("utf-8", "replace")


@final
class JsonTable(_TextTable):
    """JSON Lines: one object per line."""

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

"""The results folder of a replay: it appears complete, or not at all."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Literal, Self, final

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from efface.errors import InvalidValue
from efface.files.partial_folders import temporary_folder
from efface.files.run_log import STEP_COLUMNS, PredictedRows
from efface.files.schema import Schema
from efface.files.tables import TEXTS, WHOLE

Form = Literal["parquet", "csv"]

SUMMARY, REPORT, COEFFICIENTS = "summary.json", "report.html", "coefficients.parquet"
_FILES = {SUMMARY, REPORT, COEFFICIENTS, "predictions.parquet", "predictions.csv"}
_ROW_GROUP = 1 << 16  # rows per Parquet row group
_WRITTEN = ("y", *(name for name in STEP_COLUMNS if name != "condition"))  # that one is sampled


@contextmanager
def folder(path: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """A temporary folder to write into; it is renamed to ``path`` if no error occurs.

    An existing folder is refused. With ``overwrite`` it is replaced as a whole, provided that it
    holds nothing but results.
    """
    check_folder(path, overwrite)
    with ExitStack() as stack:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            partial = stack.enter_context(temporary_folder(path))  # on the same disk
        except OSError as error:
            text = f"'{path}' cannot be written: {error.strerror}; name another --out."
            raise InvalidValue(text) from error
        inside = partial / path.name
        inside.mkdir()
        yield inside
        _replace(path, inside, partial / "replaced")


def _replace(path: Path, new: Path, old: Path) -> None:
    """Rename new to path; if that fails, restore the old folder."""
    if not path.exists():
        new.rename(path)
        return
    path.rename(old)
    try:
        new.rename(path)
    except BaseException:
        old.rename(path)
        raise


def check_folder(path: Path, overwrite: bool) -> None:
    """Raise unless results may be written to this path."""
    if not path.exists():
        return
    if not overwrite:
        raise InvalidValue(f"'{path}' already exists: name another --out, or add --overwrite.")
    names = sorted(each.name for each in path.iterdir()) if path.is_dir() else [path.name]
    foreign = [name for name in names if name not in _FILES]
    if foreign:
        raise InvalidValue(
            f"'{path}' holds {foreign[0]!r}, which efface replay did not write: it is not "
            "overwritten; name another --out."
        )


class _RowFile(ABC):
    """Writes predicted rows to a file, batch by batch."""

    def __init__(self, path: Path, schema: Schema) -> None:
        self.path, self._schema = path, schema
        self._waiting: list[pa.RecordBatch] = []
        self._writer: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._flush()
        if self._writer is not None:
            self._writer.close()

    def write(self, predicted: PredictedRows) -> None:
        """Append rows."""
        self._waiting.append(self._batch(predicted))
        if sum(batch.num_rows for batch in self._waiting) >= _ROW_GROUP:
            self._flush()

    def _flush(self) -> None:
        if not self._waiting:
            return
        if self._writer is None:
            self._writer = self._open(self._waiting[0].schema)
        self._writer.write_table(pa.Table.from_batches(self._waiting))
        self._waiting = []

    def _open(self, schema: pa.Schema) -> Any:
        if self.path.suffix == ".csv":
            return pyarrow.csv.CSVWriter(str(self.path), schema)
        return pyarrow.parquet.ParquetWriter(str(self.path), schema, compression="zstd")

    @abstractmethod
    def _batch(self, predicted: PredictedRows) -> pa.RecordBatch:
        """The columns that the file has."""

    def _keys(self, predicted: PredictedRows) -> dict[str, pa.Array]:
        """What identifies each row."""
        rows, columns, schema = predicted.rows, {}, self._schema
        if rows.at is not None:
            columns["time"] = pa.array(rows.at)
        columns["id"] = pa.array(predicted.ids, WHOLE if schema.whole_ids else TEXTS)
        if rows.owners is not None:
            columns["owner"] = pa.array(rows.owners, WHOLE if schema.whole_owners else TEXTS)
        if rows.groups is not None:
            columns["group"] = pa.array(rows.groups, TEXTS)
        return columns


@final
class Predictions(_RowFile):
    """Writes ``predictions.parquet`` or ``predictions.csv``."""

    def __init__(self, folder: Path, form: Form, schema: Schema) -> None:
        super().__init__(folder / f"predictions.{form}", schema)

    def _batch(self, predicted: PredictedRows) -> pa.RecordBatch:
        rows, columns = predicted.rows, self._keys(predicted)
        if rows.weights is not None:
            columns["weight"] = pa.array(rows.weights)
        for name in _WRITTEN:
            values = predicted[name]
            columns[name] = pa.array(values, from_pandas=values.dtype.kind == "f")
        return pa.record_batch(columns)


@final
class Coefficients(_RowFile):
    """Writes ``coefficients.parquet``: the coefficients that predicted each row."""

    def __init__(self, folder: Path, schema: Schema, features: Sequence[str]) -> None:
        super().__init__(folder / COEFFICIENTS, schema)
        self._features = features

    def _batch(self, predicted: PredictedRows) -> pa.RecordBatch:
        columns = self._keys(predicted) | {"intercept": pa.array(predicted["intercept"])}
        for name, values in zip(self._features, predicted["coef"].T, strict=True):
            columns[f"coef_{name}"] = pa.array(np.ascontiguousarray(values))
        return pa.record_batch(columns)


def write_summary(folder: Path, summary: Mapping[str, Any]) -> None:
    """Write ``summary.json``."""
    (folder / SUMMARY).write_text(as_json(summary), encoding="utf-8")


def as_json(summary: Mapping[str, Any]) -> str:
    """A summary as JSON; NaN is refused."""
    return json.dumps(summary, indent=2, ensure_ascii=False, allow_nan=False) + "\n"

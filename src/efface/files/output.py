"""Results of a journey on disk: a folder that is there as a whole, or not at all."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from efface.errors import InvalidValue
from efface.files.schema import Roles
from efface.files.streaming import WRITTEN, Steps

Form = Literal["parquet", "csv"]

SUMMARY, REPORT = "summary.json", "report.html"
_OURS = {SUMMARY, REPORT, "predictions.parquet", "predictions.csv"}
_TOGETHER = 1 << 16  # rows in a group of Parquet


@contextmanager
def folder(path: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """A folder to write into, which takes its name only if all went well.

    One that is there already is refused, or with ``overwrite`` replaced as a whole, provided that
    it holds nothing but results.
    """
    refuse_folder(path, overwrite)
    partial = _beside(path)
    try:
        inside = partial / path.name
        inside.mkdir()
        yield inside
        _replace(path, inside, partial / "replaced")
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _beside(path: Path) -> Path:
    """A new folder on the same disk, from which results can be renamed."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".partial", dir=path.parent))
    except OSError as error:
        text = f"'{path}' cannot be written: {error.strerror}; name another --out."
        raise InvalidValue(text) from error


def _replace(path: Path, new: Path, old: Path) -> None:
    """Rename; if that fails, what was there before comes back."""
    if not path.exists():
        new.rename(path)
        return
    path.rename(old)
    try:
        new.rename(path)
    except BaseException:
        old.rename(path)
        raise


def refuse_folder(path: Path, overwrite: bool) -> None:
    """Raise unless results may be written under this name."""
    if not path.exists():
        return
    if not overwrite:
        raise InvalidValue(f"'{path}' is there already: name another --out, or add --overwrite.")
    foreign = (
        sorted(each.name for each in path.iterdir() if each.name not in _OURS)
        if (path.is_dir())
        else [path.name]
    )
    if foreign:
        raise InvalidValue(
            f"'{path}' holds {foreign[0]!r}, which no replay wrote: it is not overwritten; "
            "name another --out."
        )


class Predictions:
    """The rows of a journey in a file, chunk by chunk."""

    def __init__(self, folder: Path, form: Form, roles: Roles) -> None:
        self.path = folder / f"predictions.{form}"
        self._form, self._roles = form, roles
        self._waiting: list[pa.RecordBatch] = []
        self._writer: Any = None

    def __enter__(self) -> Predictions:
        return self

    def __exit__(self, *_: object) -> None:
        self._flush()
        if self._writer is not None:
            self._writer.close()

    def write(self, steps: Steps) -> None:
        """Append some rows."""
        self._waiting.append(self._batch(steps))
        if sum(batch.num_rows for batch in self._waiting) >= _TOGETHER:
            self._flush()

    def _flush(self) -> None:
        if not self._waiting:
            return
        if self._writer is None:
            self._writer = self._open(self._waiting[0].schema)
        self._writer.write_table(pa.Table.from_batches(self._waiting))
        self._waiting = []

    def _open(self, schema: pa.Schema) -> Any:
        if self._form == "csv":
            return pyarrow.csv.CSVWriter(str(self.path), schema)
        return pyarrow.parquet.ParquetWriter(str(self.path), schema, compression="zstd")

    def _batch(self, steps: Steps) -> pa.RecordBatch:
        rows, columns = steps.rows, {}
        if rows.at is not None:
            columns["time"] = pa.array(rows.at)
        columns["id"] = pa.array(steps.ids, pa.string() if _texts(self._roles) else pa.int64())
        if rows.groups is not None:
            columns["group"] = pa.array(rows.groups, pa.string())
        if rows.weights is not None:
            columns["weight"] = pa.array(rows.weights)
        for name in WRITTEN:
            values = steps[name]
            columns[name] = pa.array(values, from_pandas=values.dtype.kind == "f")
        return pa.record_batch(columns)


def _texts(roles: Roles) -> bool:
    return roles.id is not None and bool(pa.types.is_string(roles.types[roles.id]))


def write_summary(folder: Path, summary: Mapping[str, Any]) -> None:
    """The summary for machines."""
    (folder / SUMMARY).write_text(as_json(summary), encoding="utf-8")


def as_json(summary: Mapping[str, Any]) -> str:
    """A summary as JSON; it holds no NaN."""
    return json.dumps(summary, indent=2, ensure_ascii=False, allow_nan=False) + "\n"

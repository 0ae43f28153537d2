"""The rows of a table as arrays, batch by batch, with gaps, infinities and order checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from math import inf
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute
from numpy.typing import NDArray

from efface.errors import BadTable
from efface.files.formatting import time_text
from efface.files.schema import Schema
from efface.files.tables import TEXTS, Table
from efface.inputs.arrays import HEAVIEST, LARGEST, heavy_rows
from efface.inputs.types import Vector

Missing = Literal["raise", "skip"]


@dataclass(frozen=True, eq=False)
class RowBatch:
    """Consecutive rows of a table, as models take them."""

    number: NDArray[np.int64]  # the row numbers in the table, from 0
    X: NDArray[np.float64]
    y: Vector
    ids: list[int | str] | None = None
    at: NDArray[Any] | None = None
    groups: list[str] | None = None
    weights: Vector | None = None
    owners: list[int | str | None] | None = None
    until: NDArray[Any] | None = None  # NaT or NaN for a row without an end

    def __len__(self) -> int:
        return len(self.y)

    def part(self, start: int, stop: int) -> RowBatch:
        """The rows from ``start`` up to ``stop``."""
        return self.take(np.arange(start, stop)) if (start, stop) != (0, len(self)) else self

    def take(self, index: NDArray[np.intp]) -> RowBatch:
        """The rows at these indices."""
        parts = {each.name: getattr(self, each.name) for each in fields(self)}
        return RowBatch(**{name: _taken(values, index) for name, values in parts.items()})


def _taken(values: Any, index: NDArray[np.intp]) -> Any:
    """The values at these indices; None stays None."""
    if isinstance(values, list):
        return [values[k] for k in index]
    return None if values is None else values[index]


def joined(parts: Sequence[RowBatch]) -> RowBatch:
    """Batches of one table, one after another."""
    names = [each.name for each in fields(RowBatch)]
    return RowBatch(**{name: _concatenated([getattr(p, name) for p in parts]) for name in names})


def _concatenated(values: Sequence[Any]) -> Any:
    if isinstance(values[0], list):
        return [each for part in values for each in part]
    return None if values[0] is None else np.concatenate(values)


def read_rows(
    table: Table,
    schema: Schema,
    missing: Missing = "raise",
    skipped: Callable[[int], object] = int,
    newest: Any = None,
) -> Iterator[RowBatch]:
    """The rows of a table; rows with gaps are refused, or skipped and counted by ``skipped``.

    Times begin at ``newest``, if it is given.
    """
    first = 0
    for chunk in table.chunks(schema.types):
        required = chunk.select([name for name in schema.types if name not in schema.optional])
        gaps = _gaps(required)
        if missing == "raise" and gaps.any():
            index = int(gaps.argmax())
            raise _gap_error(table, schema, first + index, required.slice(index, 1))
        rows = _Chunk(table, schema, chunk, first).rows()
        if gaps.any():
            skipped(int(gaps.sum()))
            rows = rows.take(np.flatnonzero(~gaps))
        first += chunk.num_rows
        if len(rows):
            newest = _check_order(table, schema, rows, newest)
            yield rows


def _gaps(chunk: pa.RecordBatch) -> NDArray[np.bool_]:
    """Which rows lack a value: null, NaN, or an empty text. The text "NA" may be a name."""
    gaps = np.zeros(chunk.num_rows, dtype=bool)
    for values in chunk.columns:
        if pa.types.is_floating(values.type):
            gaps |= np.isnan(_as_numpy(values))
            continue
        if values.null_count:
            gaps |= _as_numpy(values.is_null())
        if pa.types.is_string(values.type):
            gaps |= _is_empty(values)
    return gaps


def _gap_error(table: Table, schema: Schema, row: int, values: pa.RecordBatch) -> BadTable:
    """The error for a row, whose values are given, that lacks one."""
    column = next(name for name in values.schema.names if _gaps(values.select([name])).any())
    advice = "add --missing skip" if column == schema.target else "impute it, or add --missing skip"
    text = f"{table.where(row)}, column {column!r} is missing"
    return BadTable(f"{text}: expected a value; {advice}.")


@dataclass(frozen=True)
class _Chunk:
    """A chunk of a table that becomes arrays; ``first`` is the number of its first row."""

    table: Table
    schema: Schema
    chunk: pa.RecordBatch
    first: int

    def rows(self) -> RowBatch:
        schema, y = self.schema, self._finite(self.schema.target)
        number = np.arange(self.first, self.first + len(y))
        ids = None if schema.id is None else self.chunk.column(schema.id).to_pylist()
        groups = None if schema.group is None else self.chunk.column(schema.group).to_pylist()
        at = None if schema.time is None else self._times(schema.time)
        X, weights = self._features(len(y)), None
        if schema.weight is not None:
            weights = self._weights(schema.weight)
            wrong, advice = heavy_rows(X, y, weights), "rescale the weights or the values"
            expected = "a smaller weight, since the row has a large value"
            self._refuse(schema.weight, weights, wrong, expected, advice)
        owners = None if schema.owner is None else self._owners(schema.owner)
        until = None if schema.until is None else self._times(schema.until)
        return RowBatch(number, X, y, ids, at, groups, weights, owners, until)

    def _features(self, count: int) -> NDArray[np.float64]:
        X, column = np.zeros((count, len(self.schema.names))), 0
        for feature in self.schema.features:
            if feature in self.schema.one_hot:
                column += self._one_hot(feature, X[:, column:])
            else:
                X[:, column] = self._finite(feature)
                column += 1
        return X

    def _owners(self, name: str) -> list[int | str | None]:
        return [None if each == "" else each for each in self.chunk.column(name).to_pylist()]

    def _times(self, name: str) -> NDArray[Any]:
        values = self.chunk.column(name)
        if pa.types.is_floating(values.type):
            return self._finite(name, inf)
        return _as_numpy(values).astype("datetime64[ns]")

    def _finite(self, name: str, largest: float = LARGEST) -> Vector:
        values = _as_numpy(self.chunk.column(name)).astype(np.float64, copy=False)
        self._refuse(name, values, np.isinf(values), "a finite number", "correct it")
        wrong = np.abs(values) > largest
        self._refuse(name, values, wrong, f"at most {largest} in absolute value", "rescale it")
        return values

    def _weights(self, name: str) -> Vector:
        values = _as_numpy(self.chunk.column(name)).astype(np.float64, copy=False)
        wrong = (values > HEAVIEST) | (values < 0.0)  # NaN is a gap, handled before
        expected, advice = f"a number from 0 to {HEAVIEST}", "a row of weight 0 has no effect"
        self._refuse(name, values, wrong, expected, advice)
        return values

    def _refuse(
        self, name: str, values: Any, wrong: NDArray[np.bool_], expected: str, advice: str
    ) -> None:
        """Raise at the first wrong value."""
        if wrong.any():
            row = int(wrong.argmax())
            value = values[row].as_py() if isinstance(values, pa.Array) else float(values[row])
            raise self.table.wrong(name, self.first + row, value, expected, advice)

    def _one_hot(self, name: str, out: NDArray[Any]) -> int:
        """Write one 0/1 column per level after the first; returns how many columns."""
        levels, values = self.schema.one_hot[name], self.chunk.column(name)
        codes = pyarrow.compute.index_in(values, value_set=pa.array(levels, TEXTS))
        unknown = _as_numpy(codes.is_null()) & ~_is_empty(values)
        self._refuse(name, values, unknown, f"one of {', '.join(levels)}", "add it to --one-hot")
        code = _as_numpy(codes.fill_null(0)).astype(np.intp)
        rows = np.flatnonzero(code)
        out[rows, code[rows] - 1] = 1.0
        return len(levels) - 1


def _as_numpy(values: pa.Array) -> NDArray[Any]:
    return np.asarray(values.to_numpy(zero_copy_only=False))


def _is_empty(values: pa.Array) -> NDArray[np.bool_]:
    return _as_numpy(pyarrow.compute.equal(values, "").fill_null(True))


def _check_order(table: Table, schema: Schema, rows: RowBatch, newest: Any) -> Any:
    """Refuse times that decrease; returns the newest time."""
    if schema.time is None or rows.at is None:
        return None
    times = rows.at if newest is None else np.concatenate([[newest], rows.at])
    earlier = times[1:] < times[:-1]
    if earlier.any():
        index = int(earlier.argmax())
        row = rows.number[index if newest is not None else index + 1]
        before, advice = "row before", f"sort the file by {schema.time!r}"
        if row == 0:
            before, advice = "newest row of the model", "leave out the rows that it has seen"
        expected = f"no earlier than {time_text(times[index])}, the time of the {before}"
        raise table.wrong(schema.time, int(row), time_text(times[index + 1]), expected, advice)
    return times[-1]

"""Frames at the doors: columns of pandas, Polars, Arrow and others in, results of that kind out.

narwhals knows the libraries, and lazy frames are collected by it; what it does not know may speak
the Arrow protocol. Nothing here knows a library by name, except for the engine that collects a
Polars frame; but what has an index is made by its own Series and DataFrame, since narwhals would
lose the index and copy. Where there are only arrays, narwhals is not loaded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from math import isfinite
from numbers import Number
from typing import TYPE_CHECKING, Any, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from efface.errors import InvalidValue, NotANumber, unusable

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
D = TypeVar("D")

_PLAIN = (np.ndarray, np.generic, list, tuple, range, str, bytes, Number)
_BLOCK, _ROWS = 4096, 512  # of which a few dozen columns fit a core's caches, the second and first
_ENCODE = "make numbers of the column, or leave it out"


@final
class FrameColumns:
    """A frame, its columns by place and by name.

    >>> import polars as pl
    >>> table = FrameColumns.of(pl.DataFrame({"a": [1.0, None], "b": [True, False]}))
    >>> table.names, table.columns()
    (['a', 'b'], [array([ 1., nan]), array([1., 0.])])
    """

    def __init__(self, frame: nw.DataFrame[Any], names: Sequence[Any] | None = None) -> None:
        self._frame = frame
        self._places: Sequence[int] = range(len(frame.columns))
        self.names: list[Any] = list(frame.columns)
        if names is not None:
            place = {name: j for j, name in enumerate(self.names)}
            self._places = [place[name] for name in names]
            self.names = list(names)

    @classmethod
    def of(cls, data: Any) -> FrameColumns | None:
        """The table that some data is; None for what is no frame, also for a single column."""
        if isinstance(data, FrameColumns):
            return data
        frame = wrapped(data)
        if frame is data or not is_frame(frame):
            return None
        return cls(collected(frame))

    def __len__(self) -> int:
        return len(self._frame)

    @property
    def native(self) -> Any:
        """The frame itself, of these columns alone."""
        whole = isinstance(self._places, range)
        return (self._frame if whole else self._frame[:, self._places]).to_native()

    def columns(self) -> list[NDArray[Any]]:
        """Every column as float64, gaps as NaN; as objects where the library says no more."""
        every = list(self._frame.iter_columns())
        return [
            _numbers(every[place], f"'X' at row {{row}}, column {j} ({self.names[j]!r})", j)
            for j, place in enumerate(self._places)
        ]

    def picked(self, names: Sequence[Any]) -> FrameColumns:
        """Only these columns, in this order; nothing is copied."""
        return FrameColumns(self._frame, names)

    def column(self, name: Any) -> Any:
        """One column, as the library has it."""
        return self._frame[:, self._places[self.names.index(name)]].to_native()

    # -- results of the same kind ----------------------------------------------------------------

    def dressed(self, result: D, room: Matrix | None = None) -> D:
        """A dataclass of arrays, one entry a row, as columns and frames of this kind.

        ``room`` is a matrix of these rows and columns that nobody needs any more: to write there
        is much cheaper than to ask for as much fresh memory.
        """
        found: Any = result
        kept = {each.name: getattr(found, each.name) for each in fields(found)}
        for name, value in kept.items():
            if is_dataclass(value):
                kept[name] = self.dressed(value)
            elif isinstance(value, np.ndarray) and value.ndim == 1:
                kept[name] = self.series(name, value)
            elif isinstance(value, np.ndarray):
                kept[name], room = self.frame(value, room), None
        dressed: D = replace(found, **kept)
        return dressed

    def series(self, name: str, values: NDArray[Any]) -> Any:
        """Values, one a row, as a column with the rows' index."""
        import narwhals.stable.v2 as nw

        index = nw.maybe_get_index(self._frame)
        if index is not None:
            return self._namespace.Series(values, index=index, name=name, copy=False)
        return nw.new_series(name, values, backend=self._frame.implementation).to_native()

    def frame(self, values: Matrix, room: Matrix | None = None) -> Any:
        """Values, a row each and a column each, as a frame with the same columns."""
        import narwhals.stable.v2 as nw

        index = nw.maybe_get_index(self._frame)
        if index is not None:  # its columns need not be texts, and may have levels
            columns = self._frame.to_native().columns[list(self._places)]
            return self._namespace.DataFrame(values, index=index, columns=columns, copy=False)
        by_column, backend = transposed(values, room), self._frame.implementation
        return nw.from_numpy(by_column.T, schema=self.names, backend=backend).to_native()

    @property
    def _namespace(self) -> Any:
        return self._frame.__native_namespace__()


def joined(parts: Sequence[tuple[str, Any]]) -> Any:
    """Columns and frames of one kind side by side; a frame's columns after its name.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"a": [1.0], "b": [2.0]})
    >>> joined([("rank", pl.Series([2])), ("coef", frame)]).columns
    ['rank', 'coef_a', 'coef_b']
    """
    import narwhals.stable.v2 as nw

    frames: list[Any] = []
    for name, part in parts:
        found: Any = nw.from_native(part, eager_only=True, allow_series=True)
        if is_frame(found):
            names = [f"{name}_{each}" for each in found.columns]
            frames += [found[:, j].alias(each).to_frame() for j, each in enumerate(names)]
        else:
            frames.append(found.alias(name).to_frame())
    refuse_repeated([frame.columns[0] for frame in frames], "rename the column of the input")
    return nw.concat(frames, how="horizontal").to_native()


def refuse_repeated(names: Sequence[Any], advice: str, subject: str = "X") -> None:
    """Raise if a name stands for two columns."""
    for name, count in Counter(names).items():
        if count > 1:
            text = f"{count} columns named {name!r}"
            raise InvalidValue(unusable(subject, text, "different names", advice))


def eager(data: Any) -> Any:
    """A lazy frame collected, a stream of Arrow as a table, anything else as it is."""
    frame = wrapped(data)
    if frame is data or not is_frame(frame):
        return data
    return collected(frame).to_native()


def values(data: Any, subject: str = "y") -> Any:
    """A column of any library as an array: numbers as float64 with gaps as NaN; others unchanged.

    >>> import polars as pl
    >>> values(pl.Series([1, None]))
    array([ 1., nan])
    """
    series = wrapped(data)
    if series is data or is_frame(series):
        return data
    return _numbers(series, f"'{subject}' at row {{row}}")


def items(data: Any) -> Any:
    """A column of any library as an array of what it holds; others unchanged.

    Times with a zone are those of UTC.
    """
    series = wrapped(data)
    return data if series is data or is_frame(series) else series.to_numpy()


def transposed(rows: Matrix, room: Matrix | None = None) -> Matrix:
    """Its columns as rows, in C order, a block at a time so that caches hold it.

    >>> transposed(np.array([[0.0, 1.0], [2.0, 3.0]]))
    array([[0., 2.],
           [1., 3.]])
    """
    shape = rows.shape[::-1]
    out = np.empty(shape) if room is None else room.reshape(shape)
    for a in range(0, len(rows), _ROWS):
        out[:, a : a + _ROWS] = rows[a : a + _ROWS].T
    return out


def side_by_side(columns: Sequence[Vector]) -> tuple[Matrix, bool]:
    """Columns as one matrix in C order, a block at a time too; are all numbers finite for sure?

    >>> side_by_side([np.arange(2.0), np.ones(2)])
    (array([[0., 1.],
           [1., 1.]]), True)
    """
    count, total = len(columns[0]), 0.0
    out = np.empty((count, len(columns)))
    with np.errstate(over="ignore", invalid="ignore"):
        for a in range(0, count, _BLOCK):
            block = np.array([column[a : a + _BLOCK] for column in columns])
            total += block.sum()  # while the block is at hand: not finite if one of them is not
            out[a : a + _BLOCK] = block.T
    return out, isfinite(total)


def wrapped(data: Any) -> Any:
    """A frame or column as narwhals has it; what is neither, as it is."""
    if data is None or isinstance(data, _PLAIN):
        return data
    import narwhals.stable.v2 as nw
    from narwhals.exceptions import DuplicateError

    data = nw.to_native(data, pass_through=True)  # it may be wrapped already
    try:
        found = nw.from_native(data, pass_through=True, allow_series=True)
    except DuplicateError as error:
        names = str(error).partition("got:")[2].strip(" -\n")
        text = unusable("X", f"with columns {names}", "each name once", "rename some")
        raise InvalidValue(text) from error
    if found is data and hasattr(data, "__arrow_c_stream__"):
        return nw.from_arrow(data, backend=nw.Implementation.PYARROW)
    return found


def is_frame(found: Any) -> bool:
    """Is what ``wrapped`` gave a frame, and not a column?"""
    import narwhals.stable.v2 as nw

    return isinstance(found, nw.DataFrame | nw.LazyFrame)


def is_lazy(frame: Any) -> bool:
    """Must a frame be collected before its rows are there?"""
    import narwhals.stable.v2 as nw

    return isinstance(frame, nw.LazyFrame)


def collected(frame: Any, names: list[Any] | None = None) -> Any:
    """The frame in memory; of a lazy one only these columns."""
    import narwhals.stable.v2 as nw

    if not is_lazy(frame):
        return frame
    chosen = frame if names is None else frame.select(names)
    polars = frame.implementation is nw.Implementation.POLARS
    return chosen.collect(engine="streaming") if polars else chosen.collect()


def _numbers(series: Any, where: str, column: int | None = None) -> NDArray[Any]:
    import narwhals.stable.v2 as nw

    kind = series.dtype
    if kind == nw.Float64:
        return np.asarray(series.to_numpy())
    if kind.is_numeric() or kind == nw.Boolean:
        return np.asarray(series.cast(nw.Float64).to_numpy())
    if series.null_count() == len(series):
        return np.full(len(series), np.nan)
    if kind in (nw.Object, nw.Unknown):
        return np.asarray(series.to_numpy())
    row = int(np.argmin(series.is_null().to_numpy()))
    place = where.replace("{row}", str(row), 1)
    text = f"{place} is {series[row]!r}: expected a number, not {kind}; {_ENCODE}."
    raise NotANumber(text, row, column)

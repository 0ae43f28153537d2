"""Frames of pandas, Polars, Arrow and others: columns in, results of the same kind out.

narwhals reads the frames and collects lazy ones. Frames that it does not know are read through the
Arrow C stream protocol. Results with an index are made by the library's own Series and DataFrame,
because narwhals would copy them and lose the index. narwhals is not imported for arrays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from numbers import Number
from typing import TYPE_CHECKING, Any, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from efface.errors import NotANumber, invalid
from efface.inputs.types import Matrix, Vector

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw

D = TypeVar("D")

_PLAIN = (np.ndarray, np.generic, list, tuple, range, str, bytes, Number)
_BLOCK, _ROWS = 4096, 512  # rows whose columns fit the second-level and the first-level cache
_ENCODE = "encode the column as numbers, or leave it out"


@final
class FrameColumns:
    """The columns of a frame, or some of them, by position and by name.

    >>> import polars as pl
    >>> frame = FrameColumns.of(pl.DataFrame({"a": [1.0, None], "b": [True, False]}))
    >>> frame.names, frame.columns()
    (['a', 'b'], [array([ 1., nan]), array([1., 0.])])
    """

    def __init__(self, frame: nw.DataFrame[Any], names: Sequence[Any] | None = None) -> None:
        self._frame = frame
        self._positions: Sequence[int] = range(len(frame.columns))
        self.names: list[Any] = list(frame.columns)
        if names is not None:
            position = {name: j for j, name in enumerate(self.names)}
            self._positions = [position[name] for name in names]
            self.names = list(names)

    @classmethod
    def of(cls, data: Any) -> FrameColumns | None:
        """The columns of a frame; None for anything else, a single column included."""
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
        """A frame of the original library with these columns."""
        whole = isinstance(self._positions, range)
        return (self._frame if whole else self._frame[:, self._positions]).to_native()

    def columns(self) -> list[NDArray[Any]]:
        """Every column as float64 with NaN for gaps, or as objects if its type is unknown."""
        every = list(self._frame.iter_columns())
        return [
            _numbers(every[position], f"'X' at row {{row}}, column {j} ({self.names[j]!r})", j)
            for j, position in enumerate(self._positions)
        ]

    def select(self, names: Sequence[Any]) -> FrameColumns:
        """These columns in this order, without a copy."""
        return FrameColumns(self._frame, names)

    def column(self, name: Any) -> Any:
        """One column, in the original library's type."""
        return self._frame[:, self._positions[self.names.index(name)]].to_native()

    # -- results of the same kind ----------------------------------------------------------------

    def convert(self, result: D, buffer: Matrix | None = None) -> D:
        """A dataclass of arrays with one entry per row, as columns and frames of this kind.

        ``buffer`` is a matrix of the shape of these columns that may be overwritten: reusing its
        memory is much faster than an allocation.
        """
        source: Any = result
        values = {each.name: getattr(source, each.name) for each in fields(source)}
        for name, value in values.items():
            if is_dataclass(value):
                values[name] = self.convert(value)
            elif isinstance(value, np.ndarray) and value.ndim == 1:
                values[name] = self.series(name, value)
            elif isinstance(value, np.ndarray):
                values[name], buffer = self.frame(value, buffer), None
        converted: D = replace(source, **values)
        return converted

    def series(self, name: str, values: NDArray[Any]) -> Any:
        """One value per row as a column; pandas keeps its index."""
        import narwhals.stable.v2 as nw

        index = nw.maybe_get_index(self._frame)
        if index is not None:
            return self._namespace.Series(values, index=index, name=name, copy=False)
        return nw.new_series(name, values, backend=self._frame.implementation).to_native()

    def frame(self, values: Matrix, buffer: Matrix | None = None) -> Any:
        """One value per row and column as a frame with the same column names."""
        import narwhals.stable.v2 as nw

        index = nw.maybe_get_index(self._frame)
        if index is not None:  # column names may be of any type, and have levels
            columns = self._frame.to_native().columns[list(self._positions)]
            return self._namespace.DataFrame(values, index=index, columns=columns, copy=False)
        by_column, backend = transposed(values, buffer), self._frame.implementation
        return nw.from_numpy(by_column.T, schema=self.names, backend=backend).to_native()

    @property
    def _namespace(self) -> Any:
        return self._frame.__native_namespace__()


def joined(parts: Sequence[tuple[str, Any]]) -> Any:
    """One frame of (name, column or frame) pairs; a frame's name prefixes its columns.

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
    """Raise if two columns have the same name."""
    for name, count in Counter(names).items():
        if count > 1:
            text = f"{count} columns named {name!r}"
            raise invalid(subject, text, "different names", advice)


def eager(data: Any) -> Any:
    """A lazy frame collected, an Arrow stream as a table; anything else unchanged."""
    frame = wrapped(data)
    if frame is data or not is_frame(frame):
        return data
    return collected(frame).to_native()


def values(data: Any, subject: str = "y") -> Any:
    """A numeric column of any library as float64 with NaN for gaps; other data unchanged.

    >>> import polars as pl
    >>> values(pl.Series([1, None]))
    array([ 1., nan])
    """
    series = wrapped(data)
    if series is data or is_frame(series):
        return data
    return _numbers(series, f"'{subject}' at row {{row}}")


def items(data: Any) -> Any:
    """A column of any library as an array of its values; other data unchanged.

    Times with a zone are converted to UTC.
    """
    series = wrapped(data)
    return data if series is data or is_frame(series) else series.to_numpy()


def entries(data: Any) -> Any:
    """A column of any library as a list, in which a gap does not turn ints into floats.

    >>> import polars as pl
    >>> entries(pl.Series([7, None]))
    [7, None]
    """
    series = wrapped(data)
    return data if series is data or is_frame(series) else series.to_list()


def missing(value: Any) -> bool:
    """Whether an item of a column is a gap: None, NaN, NaT or the NA of pandas.

    >>> [missing(value) for value in (None, float("nan"), np.datetime64("NaT"), 0, "")]
    [True, True, True, False, False]
    """
    if isinstance(value, float | np.floating | np.datetime64):
        return bool(value != value)
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def transposed(rows: Matrix, buffer: Matrix | None = None) -> Matrix:
    """The transpose in C order, copied in blocks that fit the cache; into ``buffer`` if given.

    >>> transposed(np.array([[0.0, 1.0], [2.0, 3.0]]))
    array([[0., 2.],
           [1., 3.]])
    """
    shape = rows.shape[::-1]
    out = np.empty(shape) if buffer is None else buffer.reshape(shape)
    for a in range(0, len(rows), _ROWS):
        out[:, a : a + _ROWS] = rows[a : a + _ROWS].T
    return out


def side_by_side(columns: Sequence[Vector]) -> tuple[Matrix, float]:
    """Columns as one matrix in C order, and the largest absolute value; NaN if there is a NaN.

    >>> side_by_side([np.arange(2.0), -np.ones(2)])
    (array([[ 0., -1.],
           [ 1., -1.]]), 1.0)
    """
    count, bounds = len(columns[0]), [0.0]
    out = np.empty((count, len(columns)))
    for a in range(0, count, _BLOCK):
        block = np.array([column[a : a + _BLOCK] for column in columns])
        bounds += [block.max(), -block.min()]  # while the block is in the cache
        out[a : a + _BLOCK] = block.T
    return out, float(np.max(bounds))


def wrapped(data: Any) -> Any:
    """A frame or column wrapped by narwhals; anything else unchanged."""
    if data is None or isinstance(data, _PLAIN):
        return data
    import narwhals.stable.v2 as nw
    from narwhals.exceptions import DuplicateError

    data = nw.to_native(data, pass_through=True)  # the caller may have wrapped it
    try:
        found = nw.from_native(data, pass_through=True, allow_series=True)
    except DuplicateError as error:
        names = str(error).partition("got:")[2].strip(" -\n")
        text = f"with columns {names}"
        raise invalid("X", text, "each name once", "rename the repeated ones") from error
    if found is data and hasattr(data, "__arrow_c_stream__"):
        return nw.from_arrow(data, backend=nw.Implementation.PYARROW)
    return found


def is_frame(found: Any) -> bool:
    """Whether a result of ``wrapped`` is a frame, not a column."""
    import narwhals.stable.v2 as nw

    return isinstance(found, nw.DataFrame | nw.LazyFrame)


def is_lazy(frame: Any) -> bool:
    """Whether a wrapped frame is lazy."""
    import narwhals.stable.v2 as nw

    return isinstance(frame, nw.LazyFrame)


def collected(frame: Any, names: list[Any] | None = None) -> Any:
    """The frame in memory; of a lazy frame only the columns ``names``."""
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

"""Frames at the doors: columns of pandas, Polars, Arrow and others in, results of that kind out.

narwhals knows the libraries, and lazy frames are collected by it; what it does not know may speak
the Arrow protocol. Nothing here knows a library by name, except for the engine that collects a
Polars frame; but what has an index is made by its own Series and DataFrame, since narwhals would
lose the index and copy. Where there are only arrays, narwhals is not loaded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass, replace
from math import isfinite
from numbers import Number
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, final

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
class Table:
    """A frame, its columns by place and by name.

    >>> import polars as pl
    >>> table = Table.of(pl.DataFrame({"a": [1.0, None], "b": [True, False]}))
    >>> table.names, table.columns()
    (['a', 'b'], [array([ 1., nan]), array([1., 0.])])
    """

    def __init__(self, frame: nw.DataFrame[Any], names: Sequence[Any] | None = None) -> None:
        self._frame = frame
        self._places: Sequence[int] = range(len(frame.columns))
        self.names: list[Any] = list(frame.columns)
        if names is not None:
            self._places = [self.names.index(name) for name in names]
            self.names = list(names)

    @classmethod
    def of(cls, data: Any) -> Table | None:
        """The table that some data is; None for what is no frame, also for a single column."""
        if isinstance(data, Table):
            return data
        wrapped = _wrapped(data)
        if wrapped is data or not _is_frame(wrapped):
            return None
        return cls(_collected(wrapped))

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
            _numbers(every[place], "'X' at row {}, " + f"column {j} ({self.names[j]!r})", j)
            for j, place in enumerate(self._places)
        ]

    def picked(self, names: Sequence[Any]) -> Table:
        """Only these columns, in this order; nothing is copied."""
        return Table(self._frame, names)

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


class Cast(NamedTuple):
    """Who plays which role: the features, and under the name of each role what was found."""

    X: Any  # as given, or a table of the features alone
    table: Table | None  # the same; None for arrays
    roles: dict[str, list[tuple[Any, Any]]]  # (name, values): none, one, or several columns
    keys: tuple[tuple[Any, Any], ...]  # (name, column) of those that tell rows apart

    def one(self, role: str) -> Any:
        """What plays a role that only one can play, or None."""
        found = self.roles[role]
        return found[0][1] if found else None


def cast(X: Any, features: Any, **roles: Any) -> Cast:
    """Find columns by name; what is not a name stands for itself.

    Features are all columns without a role, unless they are named. Only what has a role is
    collected of a lazy frame. "y" is a role like others, but no key.

    >>> import polars as pl
    >>> found = cast(pl.DataFrame({"a": [1.0], "b": [2.0], "c": ["x"]}), None, y="b", by="c")
    >>> found.X.names, found.one("y").to_list()
    (['a'], [2.0])
    """
    frame = _wrapped(X)
    if frame is X:
        return _cast_arrays(X, features, roles)
    if not _is_frame(frame):
        frame = frame.to_frame()
    names: list[Any] = frame.collect_schema().names()
    count = None if _is_lazy(frame) else len(frame)
    found = {role: _named(role, value, names, count) for role, value in roles.items()}
    used = [name for each in found.values() for name in each or ()]
    chosen = _features(features, names, used, found.get("y") or ())
    table = Table(_collected(frame, list(dict.fromkeys([*chosen, *used]))))
    held = {
        role: [(role, roles[role])] * (roles[role] is not None)
        if each is None
        else [(name, table.column(name)) for name in each]
        for role, each in found.items()
    }
    keys = {name: table.column(name) for role in found if role != "y" for name in found[role] or ()}
    rows = table.picked(chosen)
    return Cast(rows, rows, held, tuple(keys.items()))


def _cast_arrays(X: Any, features: Any, roles: dict[str, Any]) -> Cast:
    for role, value in {"x": features, **roles}.items():
        if isinstance(value, str) or (role == "x" and value is not None):
            expected = "no name, since 'X' is an array and its columns have none"
            raise InvalidValue(unusable(role, value, expected, "pass a frame, or values"))
    held = {role: [(role, value)] * (value is not None) for role, value in roles.items()}
    return Cast(X, None, held, ())


def _named(role: str, value: Any, names: list[Any], count: int | None) -> list[Any] | None:
    """The columns that a role names; None if it names none.

    A list of texts may be labels too: then it is as long as the frame.
    """
    if isinstance(value, str) or (isinstance(value, int | tuple) and value in names):
        return [_known(role, value, names)]
    if not (isinstance(value, list | tuple) and value):
        return None
    if all(isinstance(each, str | int | tuple) and each in names for each in value):
        return list(value)
    if len(value) == count or not all(isinstance(each, str) for each in value):
        return None
    return [_known(role, each, names) for each in value]


def _features(features: Any, names: list[Any], used: list[Any], y: Sequence[Any]) -> list[Any]:
    if features is None:
        return [name for name in names if name not in used]
    several = isinstance(features, Iterable) and not isinstance(features, str | tuple)
    chosen = list(features) if several or features not in names else [features]
    for name in chosen:
        _known("x", name, names)
        if name in y:
            raise InvalidValue(unusable("x", name, "features other than y", "leave it out of x"))
    _refuse_repeated(chosen, "name each feature once", "x")
    return chosen


def _known(role: str, name: Any, names: list[Any]) -> Any:
    if name not in names:
        there = ", ".join(repr(each) for each in names)
        raise InvalidValue(unusable(role, name, "the name of a column", f"there are {there}"))
    return name


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
        wrapped: Any = nw.from_native(part, eager_only=True, allow_series=True)
        if _is_frame(wrapped):
            names = [f"{name}_{each}" for each in wrapped.columns]
            frames += [wrapped[:, j].alias(each).to_frame() for j, each in enumerate(names)]
        else:
            frames.append(wrapped.alias(name).to_frame())
    found: list[str] = [frame.columns[0] for frame in frames]
    _refuse_repeated(found, "rename the column of the input")
    return nw.concat(frames, how="horizontal").to_native()


def _refuse_repeated(names: Sequence[Any], advice: str, subject: str = "X") -> None:
    for name, count in Counter(names).items():
        if count > 1:
            text = f"{count} columns named {name!r}"
            raise InvalidValue(unusable(subject, text, "different names", advice))


def eager(data: Any) -> Any:
    """A lazy frame collected, a stream of Arrow as a table, anything else as it is."""
    wrapped = _wrapped(data)
    if wrapped is data or not _is_frame(wrapped):
        return data
    return _collected(wrapped).to_native()


def values(data: Any, subject: str = "y") -> Any:
    """A column of any library as an array: numbers as float64 with gaps as NaN; others unchanged.

    >>> import polars as pl
    >>> values(pl.Series([1, None]))
    array([ 1., nan])
    """
    wrapped = _wrapped(data)
    if wrapped is data or _is_frame(wrapped):
        return data
    return _numbers(wrapped, f"'{subject}' at row {{}}")


def items(data: Any) -> Any:
    """A column of any library as an array of what it holds; others unchanged.

    Times with a zone are those of UTC.
    """
    wrapped = _wrapped(data)
    return data if wrapped is data or _is_frame(wrapped) else wrapped.to_numpy()


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


def _wrapped(data: Any) -> Any:
    """A frame or column as narwhals has it; what is neither, as it is."""
    if data is None or isinstance(data, _PLAIN):
        return data
    import narwhals.stable.v2 as nw
    from narwhals.exceptions import DuplicateError

    try:
        wrapped = nw.from_native(data, pass_through=True, allow_series=True)
    except DuplicateError:
        names = list(data.columns)
        _refuse_repeated(names, "rename one")
        raise
    if wrapped is data and hasattr(data, "__arrow_c_stream__"):
        return nw.from_arrow(data, backend=nw.Implementation.PYARROW)
    return wrapped


def _is_frame(wrapped: Any) -> bool:
    import narwhals.stable.v2 as nw

    return isinstance(wrapped, nw.DataFrame | nw.LazyFrame)


def _is_lazy(frame: Any) -> bool:
    import narwhals.stable.v2 as nw

    return isinstance(frame, nw.LazyFrame)


def _collected(frame: Any, names: list[Any] | None = None) -> Any:
    """The frame in memory; of a lazy one only these columns."""
    import narwhals.stable.v2 as nw

    if not _is_lazy(frame):
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
    text = f"{where.format(row)} is {series[row]!r}: expected a number, not {kind}; {_ENCODE}."
    raise NotANumber(text, row, column)

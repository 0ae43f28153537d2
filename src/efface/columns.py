"""Frames at the doors: columns of pandas, Polars, Arrow and others in, results of that kind out.

narwhals knows the libraries, and lazy frames are collected by it; what it does not know may speak
the Arrow protocol. Nothing here knows a library by name, with two exceptions: the engine that
collects a Polars frame, and that the columns of what has an index are named by an index too. Where
there are only arrays, narwhals is not loaded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass, replace
from numbers import Number
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from efface.errors import InvalidValue, NotANumber, unusable

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw

Matrix = NDArray[np.float64]
D = TypeVar("D")

_PLAIN = (np.ndarray, np.generic, list, tuple, range, str, bytes, Number)
_BLOCK = 4096  # rows, of which a few dozen columns fit a core's cache
_ENCODE = "make numbers of the column, or leave it out"


@final
class Table:
    """A frame, its columns by place and by name.

    >>> import polars as pl
    >>> table = Table.of(pl.DataFrame({"a": [1.0, None], "b": [True, False]}))
    >>> table.names, table.columns()
    (['a', 'b'], [array([ 1., nan]), array([1., 0.])])
    """

    def __init__(self, frame: nw.DataFrame[Any]) -> None:
        self._frame = frame
        self.names: list[Any] = list(frame.columns)

    @classmethod
    def of(cls, data: Any) -> Table | None:
        """The table that some data is; None for what is no frame, also for a single column."""
        wrapped = _wrapped(data)
        if wrapped is data or not _is_frame(wrapped):
            return None
        return cls(_collected(wrapped))

    def __len__(self) -> int:
        return len(self._frame)

    @property
    def native(self) -> Any:
        """The frame itself."""
        return self._frame.to_native()

    def columns(self) -> list[NDArray[Any]]:
        """Every column as float64, gaps as NaN; as objects where the library says no more."""
        return [
            _numbers(self._frame[:, j], "'X' at row {}, " + f"column {j} ({name!r})", j)
            for j, name in enumerate(self.names)
        ]

    def picked(self, names: Iterable[Any]) -> Table:
        """Only these columns, in this order."""
        return Table(self._frame[:, [self.names.index(name) for name in names]])

    def column(self, name: Any) -> Any:
        """One column, as the library has it."""
        return self._frame[:, self.names.index(name)].to_native()

    # -- results of the same kind ----------------------------------------------------------------

    def dressed(self, result: D) -> D:
        """A dataclass of arrays, one entry a row, as columns and frames of this kind."""
        found: Any = result
        kept = {each.name: getattr(found, each.name) for each in fields(found)}
        dressed: D = replace(found, **{k: self._like(k, value) for k, value in kept.items()})
        return dressed

    def _like(self, name: str, value: Any) -> Any:
        if is_dataclass(value):
            return self.dressed(value)
        if not isinstance(value, np.ndarray):
            return value
        return self.series(name, value) if value.ndim == 1 else self.frame(value)

    def series(self, name: str, values: NDArray[Any]) -> Any:
        """Values, one a row, as a column with the rows' index."""
        import narwhals.stable.v2 as nw

        backend = self._frame.implementation
        return self._indexed(nw.new_series(name, values, backend=backend).to_native())

    def frame(self, values: Matrix) -> Any:
        """Values, a row each and a column each, as a frame with the same columns."""
        import narwhals.stable.v2 as nw

        by_column = transposed(values)
        names = [str(name) for name in self.names]
        backend = self._frame.implementation
        made = nw.from_numpy(by_column.T, schema=names, backend=backend).to_native()
        return self._indexed(made, columns=True)

    def _indexed(self, native: Any, *, columns: bool = False) -> Any:
        import narwhals.stable.v2 as nw

        index = nw.maybe_get_index(self._frame)
        if index is not None:
            native.index = index
            if columns:  # they need not be texts, and may have levels
                native.columns = self.native.columns
        return native


class Cast(NamedTuple):
    """Who plays which role: the features, and under the name of each role what was found."""

    X: Any  # as given, or the frame of the features alone
    table: Table | None  # the same as a table; None for arrays
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
    >>> found.X.columns, found.one("y").to_list()
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
    return Cast(rows.native, rows, held, tuple(keys.items()))


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


def transposed(matrix: NDArray[Any] | Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Rows as columns or the reverse, in C order, a block at a time so that caches hold it.

    >>> transposed([np.arange(3.0), np.ones(3)])
    array([[0., 1.],
           [1., 1.],
           [2., 1.]])
    """
    if isinstance(matrix, np.ndarray):
        out = np.empty(matrix.shape[::-1])
        for a in range(0, len(matrix), _BLOCK // 8):
            b = a + _BLOCK // 8
            out[:, a:b] = matrix[a:b].T
        return out
    count = len(matrix[0])
    out = np.empty((count, len(matrix)))
    for a in range(0, count, _BLOCK):
        out[a : a + _BLOCK] = np.array([column[a : a + _BLOCK] for column in matrix]).T
    return out


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

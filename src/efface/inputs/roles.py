"""Column roles: which columns are the features, the response, the groups, the times and the ids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from efface.errors import invalid
from efface.inputs.frames import (
    FrameColumns,
    collected,
    is_frame,
    is_lazy,
    refuse_repeated,
    wrapped,
)
from efface.inputs.one_hot import encoded, requested_levels

_SEVERAL = ("groups",)  # roles that may have several columns
_SHOWN = 20  # column names in an error message
_KEYS = ("groups", "keys", "ids", "at")  # roles that identify rows: results repeat them


class ColumnRoles(NamedTuple):
    """The features, and the columns or values of each role."""

    X: Any  # the array as given, or the features of the frame
    features: FrameColumns | None  # the features of the frame; None for an array
    columns: dict[str, list[tuple[Any, Any]]]  # by role: (name, values) of each column
    keys: tuple[tuple[Any, Any], ...]  # (name, values) of the columns that identify rows

    def one(self, role: str) -> Any:
        """The values of a role that has at most one column, or None."""
        found = self.columns[role]
        return found[0][1] if found else None


def column_roles(X: Any, features: Any, one_hot: Any = None, **roles: Any) -> ColumnRoles:
    """Look up the columns that are given by name; anything that is not a name is used as values.

    By default the features are all columns without another role. Only the columns with a role are
    collected from a lazy frame. ``one_hot`` names features that become 0/1 columns.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"a": [1.0], "b": [2.0], "c": ["x"]})
    >>> found = column_roles(frame, None, y="b", at="c")
    >>> found.X.names, found.one("y").to_list(), [name for name, _ in found.keys]
    (['a'], [2.0], ['c'])
    """
    frame = wrapped(X)
    if frame is X:
        return _of_array(X, {"x": features, "one_hot": one_hot}, roles)
    if not is_frame(frame):
        frame = frame.to_frame()
    lazy = is_lazy(frame)
    names: list[Any] = frame.collect_schema().names() if lazy else list(frame.columns)
    count = None if lazy else len(frame)
    found = {role: _named(role, value, names, count) for role, value in roles.items()}
    used = [name for each in found.values() for name in each]
    chosen = _features(features, names, used, found["y"])
    table = FrameColumns(collected(frame, list(dict.fromkeys([*chosen, *used]))))
    columns = {
        role: [(name, table.column(name)) for name in each] or _values(role, roles[role])
        for role, each in found.items()
    }
    keys = dict(pair for role in _KEYS if found.get(role) for pair in columns[role])
    rows = table.select(chosen)
    if one_hot is not None:
        rows = encoded(rows, requested_levels(one_hot, chosen))
    return ColumnRoles(rows, rows, columns, tuple(keys.items()))


def _of_array(X: Any, names: dict[str, Any], roles: dict[str, Any]) -> ColumnRoles:
    for role, value in {**names, **roles}.items():
        if isinstance(value, str) or (role in names and value is not None):
            expected = "no name, since 'X' is an array and its columns have none"
            raise invalid(role, value, expected, "pass a frame, or values")
    return ColumnRoles(X, None, {role: _values(role, value) for role, value in roles.items()}, ())


def _values(role: str, value: Any) -> list[tuple[Any, Any]]:
    return [] if value is None else [(role, value)]


def _named(role: str, value: Any, names: list[Any], count: int | None) -> list[Any]:
    """The column names that a role was given; none if it was given values.

    For a role that may have several columns, a list is a list of names, unless it has one entry
    per row and some entry is not the name of a column: then it holds labels.
    """
    if _is_name(value, names):
        return [_known(role, value, names)]
    if not (role in _SEVERAL and isinstance(value, list | tuple) and value):
        return []
    strings = all(isinstance(each, str) for each in value)
    if len(value) == count and not (strings and all(each in names for each in value)):
        return []
    return [_known(role, each, names) for each in value]


def _is_name(value: Any, names: list[Any]) -> bool:
    """A string is a name; an integer or a tuple is one if a column has it."""
    if isinstance(value, str):
        return True
    return isinstance(value, int | tuple) and not isinstance(value, bool) and value in names


def _features(features: Any, names: list[Any], used: list[Any], y: Sequence[Any]) -> list[Any]:
    if features is None:
        others = set(used)
        return [name for name in names if name not in others]
    one = _is_name(features, names) or not isinstance(features, Iterable)
    chosen = [features] if one else list(features)
    for name in chosen:
        _known("x", name, names)
        if name in y:
            raise invalid("x", name, "features other than y", "leave it out of x")
    refuse_repeated(chosen, "name each feature once", "x")
    return chosen


def _known(role: str, name: Any, names: list[Any]) -> Any:
    if name not in names:
        more = ["..."] if len(names) > _SHOWN else []
        available = ", ".join([*map(repr, names[:_SHOWN]), *more])
        raise invalid(role, name, "the name of a column", f"there are {available}")
    return name

"""Which columns of a frame are the features, the response, the groups, the times and the ids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from efface.errors import InvalidValue, unusable
from efface.inputs.frames import FrameColumns, collected, is_frame, is_lazy, refuse_repeated, wrapped

_SEVERAL = ("groups",)  # roles that several columns may share
_SHOWN = 20  # names of columns in an error
_KEYS = ("groups", "ids", "at")  # roles that tell rows apart, and go beside what is said of them


class ColumnRoles(NamedTuple):
    """Who plays which role: the features, and under the name of each role what was found."""

    X: Any  # as given, or a table of the features alone
    table: FrameColumns | None  # the same; None for arrays
    roles: dict[str, list[tuple[Any, Any]]]  # (name, values): none, one, or several columns
    keys: tuple[tuple[Any, Any], ...]  # (name, column) of those that tell rows apart

    def one(self, role: str) -> Any:
        """What plays a role that only one can play, or None."""
        found = self.roles[role]
        return found[0][1] if found else None


def column_roles(X: Any, features: Any, **roles: Any) -> ColumnRoles:
    """Find columns by name; what is not a name stands for itself.

    Features are all columns without a role, unless they are named. Of a lazy frame only what has a
    role is collected.

    >>> import polars as pl
    >>> found = column_roles(pl.DataFrame({"a": [1.0], "b": [2.0], "c": ["x"]}), None, y="b", at="c")
    >>> found.X.names, found.one("y").to_list(), [name for name, _ in found.keys]
    (['a'], [2.0], ['c'])
    """
    frame = wrapped(X)
    if frame is X:
        return _without_names(X, features, roles)
    if not is_frame(frame):
        frame = frame.to_frame()
    lazy = is_lazy(frame)
    names: list[Any] = frame.collect_schema().names() if lazy else list(frame.columns)
    count = None if lazy else len(frame)
    found = {role: _named(role, value, names, count) for role, value in roles.items()}
    used = [name for each in found.values() for name in each]
    chosen = _features(features, names, used, found["y"])
    table = FrameColumns(collected(frame, list(dict.fromkeys([*chosen, *used]))))
    held = {
        role: [(name, table.column(name)) for name in each] or _itself(role, roles[role])
        for role, each in found.items()
    }
    keys = dict(pair for role in _KEYS if found.get(role) for pair in held[role])
    rows = table.picked(chosen)
    return ColumnRoles(rows, rows, held, tuple(keys.items()))


def _without_names(X: Any, features: Any, roles: dict[str, Any]) -> ColumnRoles:
    for role, value in {"x": features, **roles}.items():
        if isinstance(value, str) or (role == "x" and value is not None):
            expected = "no name, since 'X' is an array and its columns have none"
            raise InvalidValue(unusable(role, value, expected, "pass a frame, or values"))
    return ColumnRoles(X, None, {role: _itself(role, value) for role, value in roles.items()}, ())


def _itself(role: str, value: Any) -> list[tuple[Any, Any]]:
    return [] if value is None else [(role, value)]


def _named(role: str, value: Any, names: list[Any], count: int | None) -> list[Any]:
    """The columns that a role names.

    Where several are allowed, a list is of names unless it is as long as the frame and no column is
    called like one of its entries: then it is of labels.
    """
    if _is_name(value, names):
        return [_known(role, value, names)]
    if not (role in _SEVERAL and isinstance(value, list | tuple) and value):
        return []
    texts = all(isinstance(each, str) for each in value)
    if len(value) == count and not (texts and all(each in names for each in value)):
        return []
    return [_known(role, each, names) for each in value]


def _is_name(value: Any, names: list[Any]) -> bool:
    """A text is; a number or a tuple is if a column is called so."""
    if isinstance(value, str):
        return True
    return isinstance(value, int | tuple) and not isinstance(value, bool) and value in names


def _features(features: Any, names: list[Any], used: list[Any], y: Sequence[Any]) -> list[Any]:
    if features is None:
        taken = set(used)
        return [name for name in names if name not in taken]
    one = _is_name(features, names) or not isinstance(features, Iterable)
    chosen = [features] if one else list(features)
    for name in chosen:
        _known("x", name, names)
        if name in y:
            raise InvalidValue(unusable("x", name, "features other than y", "leave it out of x"))
    refuse_repeated(chosen, "name each feature once", "x")
    return chosen


def _known(role: str, name: Any, names: list[Any]) -> Any:
    if name not in names:
        more = ["..."] if len(names) > _SHOWN else []
        there = ", ".join([*map(repr, names[:_SHOWN]), *more])
        raise InvalidValue(unusable(role, name, "the name of a column", f"there are {there}"))
    return name

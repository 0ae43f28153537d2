"""What each column of a table is to a model: target, feature, time, id, group or weight.

``assign`` gives columns their roles, or says which cannot have the one it was meant for; ``read``
then turns the table, chunk by chunk, into the arrays that models take.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute
from numpy.typing import NDArray

from efface.errors import BadTable
from efface.files.tables import NUMBERS, TEXTS, TIMES, WHOLE, Kind, Table

Missing = Literal["raise", "skip"]
Levels = Mapping[str, tuple[str, ...]]

MOST_LEVELS = 100
_ROLES = ("target", "time", "id", "group", "weight")
_ZONED = pa.timestamp("ns", "UTC")


@dataclass(frozen=True)
class Wish:
    """Which columns are to play which role; None for a role that no column plays.

    ``features`` None stands for all columns that have no other role. ``one_hot`` maps columns of
    text to their levels, in order; no levels: those that occur in the table.
    """

    target: str
    features: Sequence[str] | None = None
    time: str | None = None
    id: str | None = None
    group: str | None = None
    one_hot: Levels = field(default_factory=dict)
    weight: str | None = None

    @property
    def taken(self) -> dict[str, str]:
        """The columns that are no features, and the role of each."""
        roles = {role: getattr(self, role) for role in _ROLES}
        return {name: role for role, name in reversed(roles.items()) if name is not None}


@dataclass(frozen=True)
class Roles:
    """The roles as they were given, and the types in which the columns are read."""

    target: str
    features: tuple[str, ...]
    time: str | None
    id: str | None
    group: str | None
    levels: Levels
    types: Mapping[str, pa.DataType]
    weight: str | None = None

    @property
    def names(self) -> list[str]:
        """The columns of X; the first level of a text is what the others are compared with."""
        return [
            name
            for feature in self.features
            for name in (
                [f"{feature}={level}" for level in self.levels[feature][1:]]
                if feature in self.levels
                else [feature]
            )
        ]


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a table, as models take them."""

    number: NDArray[np.int64]  # of each row in the table, from 0
    X: NDArray[np.float64]
    y: NDArray[np.float64]
    ids: list[int | str] | None = None
    at: NDArray[Any] | None = None
    groups: list[str] | None = None
    weights: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.y)

    def part(self, start: int, stop: int) -> Rows:
        """Those from ``start`` up to ``stop``."""
        return self.take(np.arange(start, stop)) if (start, stop) != (0, len(self)) else self

    def take(self, index: NDArray[np.intp]) -> Rows:
        """Those at these places."""
        ids = None if self.ids is None else [self.ids[k] for k in index]
        at = None if self.at is None else self.at[index]
        groups = None if self.groups is None else [self.groups[k] for k in index]
        weights = None if self.weights is None else self.weights[index]
        return Rows(self.number[index], self.X[index], self.y[index], ids, at, groups, weights)


# -- who plays what --------------------------------------------------------------------------------


def assign(table: Table, wish: Wish) -> Roles:
    """Give the columns of a table their roles."""
    for column in (*wish.taken, *wish.one_hot):
        table.require(column)
    features = _features(table, wish)
    types = {wish.target: _number(table, wish.target)}
    types |= {name: TEXTS if name in wish.one_hot else _number(table, name) for name in features}
    for name, type_of in ((wish.time, _time), (wish.id, _id), (wish.group, _text)):
        if name is not None:
            types[name] = type_of(table, name)
    if wish.weight is not None:
        types[wish.weight] = _weight(table, wish.weight, wish.taken[wish.weight])
    levels = {name: known or _levels(table, name) for name, known in wish.one_hot.items()}
    roles = wish.target, features, wish.time, wish.id, wish.group
    return Roles(*roles, levels, types, wish.weight)


def _features(table: Table, wish: Wish) -> tuple[str, ...]:
    taken = wish.taken
    if wish.features is None:
        found = [name for name in table.columns if name not in taken]
    else:
        found = [table.require(name) for name in wish.features]
        found += [name for name in wish.one_hot if name not in found]
    for name in found:
        if name in taken:
            raise BadTable(f"{name!r} is the --{taken[name]} already: take it from the features.")
        if found.count(name) > 1:
            raise BadTable(f"{name!r} is named twice among the features: name it once.")
    if not found:
        raise BadTable(f"'{table.name}' has no column left to predict {wish.target!r} from.")
    return tuple(found)


def _number(table: Table, name: str) -> pa.DataType:
    kind = table.kind(name)
    if kind is Kind.NUMBER:
        return NUMBERS
    if kind is Kind.TIME:
        advice = f"name it with --time {name}, or choose --features without it"
        raise BadTable(f"'{table.name}', column {name!r} holds times: expected numbers; {advice}.")
    if kind is Kind.OTHER:
        text = f"holds values of type {table.columns[name]}: expected numbers"
        raise BadTable(f"'{table.name}', column {name!r} {text}; choose --features without it.")
    raise _refuse_text(table, name)


def _refuse_text(table: Table, name: str) -> BadTable:
    values = table.sample(name).drop_null()
    row, example = _first_text(table.sample(name))
    few = len(values.unique()) <= MOST_LEVELS
    advice = f"add --one-hot {name}, or choose --features without it"
    return table.wrong(
        name, row, example, "a number", advice if few else "choose --features without it"
    )


def _first_text(values: pa.Array) -> tuple[int, str]:
    """The first value that is no number; one further down may have made text of the column."""
    for row, value in enumerate(values.to_pylist()):
        if value is not None and not _numeric(value):
            return row, value
    return 0, str(values[0])


def _numeric(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _time(table: Table, name: str) -> pa.DataType:
    kind = table.kind(name)
    if kind is Kind.NUMBER:
        return NUMBERS
    if kind is Kind.TIME:
        zoned = pa.types.is_timestamp(table.columns[name]) and table.columns[name].tz
        return _ZONED if zoned else TIMES
    example = str(table.sample(name)[0])
    advice = "add --time-format, for instance '%d/%m/%Y %H:%M'"
    raise table.wrong(name, 0, example, "a number or a time like 2011-01-31 14:00", advice)


def _id(table: Table, name: str) -> pa.DataType:
    if table.kind(name) is Kind.TEXT:
        return TEXTS
    if pa.types.is_integer(table.columns[name]):
        return WHOLE
    text = f"holds {table.kind(name).value}: expected ids, which are whole numbers or text"
    raise BadTable(f"'{table.name}', column {name!r} {text}; name another --id.")


def _text(table: Table, name: str) -> pa.DataType:
    return TEXTS


def _weight(table: Table, name: str, role: str) -> pa.DataType:
    if role != "weight":
        raise BadTable(f"{name!r} is the --{role} already: name another --weight.")
    if table.kind(name) is Kind.TEXT:
        row, example = _first_text(table.sample(name))
        raise table.wrong(name, row, example, "a number", "name another --weight")
    if table.kind(name) is not Kind.NUMBER:
        text = f"holds {table.kind(name).value}: expected weights, which are numbers"
        raise BadTable(f"'{table.name}', column {name!r} {text}; name another --weight.")
    return NUMBERS


def _levels(table: Table, name: str) -> tuple[str, ...]:
    """The texts that occur in a column, by a pass over all of it."""
    if not table.rereadable:
        advice = f"name its levels: --one-hot {name}=first,second"
        raise BadTable(f"'{table.name}' can be read only once: {advice}.")
    found: set[str] = set()
    for chunk in table.chunks({name: TEXTS}):
        found.update(chunk.column(name).drop_null().unique().to_pylist())
        found.discard("")
        if len(found) > MOST_LEVELS:
            text = f"holds more than {MOST_LEVELS} different texts: expected a few"
            raise BadTable(f"'{table.name}', column {name!r} {text}; leave it out.")
    return tuple(sorted(found))


# -- rows ------------------------------------------------------------------------------------------


def read(
    table: Table, roles: Roles, missing: Missing = "raise", skipped: Callable[[int], object] = int
) -> Iterator[Rows]:
    """The rows of a table, chunk by chunk; those with gaps are refused, or skipped and counted."""
    first, newest = 0, None
    for chunk in table.chunks(roles.types):
        gaps = _gaps(chunk)
        if missing == "raise" and gaps.any():
            raise _refuse_gap(table, chunk, first, int(gaps.argmax()))
        rows = _rows(table, roles, chunk, first)
        if gaps.any():
            skipped(int(gaps.sum()))
            rows = rows.take(np.flatnonzero(~gaps))
        first += chunk.num_rows
        if len(rows):
            newest = _in_order(table, roles, rows, newest)
            yield rows


def _gaps(chunk: pa.RecordBatch) -> NDArray[np.bool_]:
    """Which rows lack a value: null, NaN or, where texts are, nothing. "NA" may be a name."""
    gaps = np.zeros(chunk.num_rows, dtype=bool)
    for values in chunk.columns:
        if pa.types.is_floating(values.type):
            gaps |= np.isnan(values.to_numpy(zero_copy_only=False))
            continue
        if values.null_count:
            gaps |= _flags(values.is_null())
        if pa.types.is_string(values.type):
            gaps |= _flags(pyarrow.compute.equal(values, "").fill_null(True))
    return gaps


def _refuse_gap(table: Table, chunk: pa.RecordBatch, first: int, at: int) -> BadTable:
    row = chunk.slice(at, 1)
    column = next(name for name in chunk.schema.names if _gaps(row.select([name])).any())
    text = f"'{table.name}' at {table.place(first + at)}, column {column!r} is missing"
    return BadTable(f"{text}: expected a value; impute it, or add --missing skip.")


def _rows(table: Table, roles: Roles, chunk: pa.RecordBatch, first: int) -> Rows:
    y = _finite(table, roles.target, chunk, first)
    X = np.zeros((len(y), len(roles.names)))
    place = 0
    for feature in roles.features:
        if feature in roles.levels:
            place += _encode(table, roles, feature, chunk, first, X[:, place:])
        else:
            X[:, place] = _finite(table, feature, chunk, first)
            place += 1
    number = np.arange(first, first + len(y))
    ids = None if roles.id is None else chunk.column(roles.id).to_pylist()
    groups = None if roles.group is None else chunk.column(roles.group).to_pylist()
    at = None if roles.time is None else _clock(table, roles.time, chunk, first)
    weights = None if roles.weight is None else _weights(table, roles.weight, chunk, first)
    return Rows(number, X, y, ids, at, groups, weights)


def _clock(table: Table, name: str, chunk: pa.RecordBatch, first: int) -> NDArray[Any]:
    values = chunk.column(name)
    if pa.types.is_floating(values.type):
        return _finite(table, name, chunk, first)
    return np.asarray(values.to_numpy(zero_copy_only=False)).astype("datetime64[ns]")


def _finite(table: Table, name: str, chunk: pa.RecordBatch, first: int) -> NDArray[np.float64]:
    values = _numbers(chunk, name)
    _refuse(table, name, first, values, np.isinf(values), "a finite number", "correct it")
    return values


def _weights(table: Table, name: str, chunk: pa.RecordBatch, first: int) -> NDArray[np.float64]:
    values = _numbers(chunk, name)
    wrong = np.isinf(values) | (values < 0.0)  # NaN is a gap, and dealt with as one
    expected, advice = "a finite number of at least 0", "0 lets a row say nothing"
    _refuse(table, name, first, values, wrong, expected, advice)
    return values


def _numbers(chunk: pa.RecordBatch, name: str) -> NDArray[np.float64]:
    return np.asarray(chunk.column(name).to_numpy(zero_copy_only=False), dtype=np.float64)


def _refuse(
    table: Table,
    name: str,
    first: int,
    values: NDArray[np.float64],
    wrong: NDArray[np.bool_],
    expected: str,
    advice: str,
) -> None:
    """Raise if a value is wrong, at the first that is."""
    if wrong.any():
        row = int(wrong.argmax())
        raise table.wrong(name, first + row, float(values[row]), expected, advice)


def _encode(
    table: Table, roles: Roles, name: str, chunk: pa.RecordBatch, first: int, out: NDArray[Any]
) -> int:
    """A text as zeros and ones, one column a level after the first; how many columns."""
    levels, values = roles.levels[name], chunk.column(name)
    codes = pyarrow.compute.index_in(values, value_set=pa.array(levels, TEXTS))
    empty = _flags(pyarrow.compute.equal(values, "").fill_null(True))
    unknown = _flags(codes.is_null()) & ~empty
    if unknown.any():
        row = int(unknown.argmax())
        expected = f"one of {', '.join(levels)}"
        raise table.wrong(name, first + row, values[row].as_py(), expected, "add it to --one-hot")
    code = codes.fill_null(0).to_numpy(zero_copy_only=False).astype(np.intp)
    rows = np.flatnonzero(code)
    out[rows, code[rows] - 1] = 1.0
    return len(levels) - 1


def _flags(values: pa.Array) -> NDArray[np.bool_]:
    return np.asarray(values.to_numpy(zero_copy_only=False))


def _in_order(table: Table, roles: Roles, rows: Rows, newest: Any) -> Any:
    """The newest time; rows must come in the order of their times."""
    if roles.time is None or rows.at is None:
        return None
    times = rows.at if newest is None else np.concatenate([[newest], rows.at])
    back = times[1:] < times[:-1]
    if back.any():
        at = int(back.argmax())
        row = rows.number[at if newest is not None else at + 1]
        expected = f"no earlier than {shown(times[at])}, which is before it"
        advice = f"sort the file by {roles.time!r}"
        raise table.wrong(roles.time, int(row), shown(times[at + 1]), expected, advice)
    return times[-1]


def shown(time: Any) -> Any:
    """A time as people write it."""
    if not isinstance(time, np.datetime64):
        return float(time)
    return str(np.datetime_as_string(time, unit="auto")).replace("T", " ")

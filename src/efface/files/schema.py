"""The roles of a table's columns: target, feature, time, id, group, weight, owner or until.

``resolve_schema`` checks that each column can have the role the user gave it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from efface.errors import BadTable
from efface.files.number_text import MISSING, hint
from efface.files.tables import NUMBERS, TEXTS, TIMES, WHOLE, Kind, Table
from efface.inputs.one_hot import MOST_LEVELS

Levels = Mapping[str, tuple[str, ...]]

_WITHOUT = "choose --features without it"
ROLES = ("target", "time", "id", "group", "weight", "owner", "until")
_ZONED = pa.timestamp("ns", "UTC")


@dataclass(frozen=True)
class RequestedColumns:
    """The roles that the user gave to columns; None where no column has the role.

    ``features`` None means all columns without another role. ``one_hot`` maps text columns to their
    levels, in order; an empty tuple means the levels that occur in the table.
    """

    target: str
    features: Sequence[str] | None = None
    time: str | None = None
    id: str | None = None
    group: str | None = None
    one_hot: Levels = field(default_factory=dict)
    weight: str | None = None
    owner: str | None = None
    until: str | None = None

    @property
    def taken(self) -> dict[str, str]:
        """The role of each column that is not a feature; the first in ROLES if it has several."""
        roles = {role: getattr(self, role) for role in ROLES}
        return {name: role for role, name in reversed(roles.items()) if name is not None}


@dataclass(frozen=True)
class Schema(RequestedColumns):
    """Checked roles with all features and levels, and the types in which columns are read."""

    features: tuple[str, ...] = ()
    types: Mapping[str, pa.DataType] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """The columns of X; the first level of a text column is the reference level."""
        return self.feature_names(redact=False)

    def feature_names(self, *, redact: bool) -> list[str]:
        """The columns of X; redacted, levels of text columns are numbered, as rows brought them."""
        names: list[str] = []
        for feature in self.features:
            if feature not in self.one_hot:
                names.append(feature)
            for number, level in enumerate(self.one_hot.get(feature, ())[1:], 2):
                names.append(f"{feature}, level {number}" if redact else f"{feature}={level}")
        return names

    @property
    def calendar(self) -> bool | None:
        """Whether times are calendar times rather than numbers; None without times."""
        return None if self.time is None else bool(pa.types.is_timestamp(self.types[self.time]))

    @property
    def whole_ids(self) -> bool:
        """Whether ids are whole numbers; otherwise they are text."""
        return self.id is None or bool(self.types[self.id] == WHOLE)

    @property
    def whole_owners(self) -> bool | None:
        """Whether owners are whole numbers rather than text; None without owners."""
        return None if self.owner is None else bool(self.types[self.owner] == WHOLE)

    @property
    def optional(self) -> set[str]:
        """The columns that may have gaps: a row may have no owner and no end."""
        required = {*self.features, self.target, self.time, self.id, self.group, self.weight}
        return {each for each in (self.owner, self.until) if each is not None} - required


def resolve_schema(table: Table, roles: RequestedColumns) -> Schema:
    """Check the roles against the columns of a table."""
    for column in (*roles.taken, *roles.one_hot):
        table.require(column)
    features = _features(table, roles)
    _refuse_taken(roles)
    types = {roles.target: _number(table, roles.target, "name another --target")}
    types |= {name: TEXTS if name in roles.one_hot else _number(table, name) for name in features}
    if roles.time is not None:
        types[roles.time] = _time(table, roles.time)
    if roles.id is not None:
        types[roles.id] = _key(table, roles.id, "id")
    if roles.owner is not None:
        types[roles.owner] = _key(table, roles.owner, "owner")
    if roles.group is not None:
        types[roles.group] = TEXTS
    if roles.weight is not None:
        types[roles.weight] = _number(table, roles.weight, "name another --weight")
    if roles.until is not None:
        types[roles.until] = _until(table, roles.until, roles.time, types)
    levels = {name: known or _levels(table, name) for name, known in roles.one_hot.items()}
    table.advice = _advice(roles, features)
    return Schema(**{**vars(roles), "features": features, "one_hot": levels}, types=types)


def _refuse_taken(roles: RequestedColumns) -> None:
    """Raise if a column has two roles that exclude each other."""
    for role, others in {"owner": ("id", "group"), "weight": (), "until": ()}.items():
        name = getattr(roles, role)
        if name is not None and roles.taken[name] not in (role, *others):
            raise BadTable(f"{name!r} is already the --{roles.taken[name]}: name another --{role}.")


def _advice(roles: RequestedColumns, features: Sequence[str]) -> dict[str, str]:
    """What to do about a value that does not fit its column."""
    leave_out = "correct it, remove the column from --features, or add --one-hot"
    advice = {name: f"{leave_out} {name}" for name in features}
    advice |= {name: f"correct it, or name another --{role}" for name, role in roles.taken.items()}
    times = [name for name in (roles.time, roles.until) if name is not None]
    return advice | dict.fromkeys(times, "correct it, or add --time-format")


def _features(table: Table, roles: RequestedColumns) -> tuple[str, ...]:
    taken = roles.taken
    if roles.features is None:
        found = [name for name in table.columns if name not in taken]
    else:
        found = [table.require(name) for name in roles.features]
        found += [name for name in roles.one_hot if name not in found]
    for name in found:
        if name in taken:
            text = f"{name!r} is already the --{taken[name]}: remove it from the features."
            raise BadTable(text)
        if found.count(name) > 1:
            raise BadTable(f"{name!r} is named twice among the features: name it once.")
    if not found:
        text = f"'{table.name}' has no column left to predict {roles.target!r} from"
        raise BadTable(f"{text}: expected at least one feature; name --features.")
    return tuple(found)


def _number(table: Table, name: str, advice: str | None = None) -> pa.DataType:
    """The type of a column of numbers; ``advice`` says what to do if it holds something else."""
    kind = table.kind(name)
    if kind is Kind.NUMBER:
        return NUMBERS
    if kind is Kind.TEXT:
        row, example = _first_text(table, name)
        advice = hint(example) or advice or _instead_of_text(table, name)
        raise table.wrong(name, row, example, "a number", advice)
    if kind is Kind.TIME:
        advice = advice or f"name it with --time {name}, or {_WITHOUT}"
        raise _wrong_kind(table, name, "times", "numbers", advice)
    held = f"values of type {table.columns[name]}"
    raise _wrong_kind(table, name, held, "numbers", advice or _WITHOUT)


def _wrong_kind(table: Table, name: str, held: str, expected: str, advice: str) -> BadTable:
    return BadTable(f"'{table.name}', column {name!r} holds {held}: expected {expected}; {advice}.")


def _instead_of_text(table: Table, name: str) -> str:
    few = len(table.sample(name).drop_null().unique()) <= MOST_LEVELS
    return f"add --one-hot {name}, or {_WITHOUT}" if few else _WITHOUT


def _first_text(table: Table, name: str) -> tuple[int, str]:
    """The first value that is not a number; a later value may have made the column text."""
    values = table.sample(name)
    for row, value in enumerate(values.to_pylist()):
        if value is not None and value not in MISSING and not table.is_number(value):
            return row, value
    return 0, str(values[0])


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


def _key(table: Table, name: str, role: str) -> pa.DataType:
    """The type of ids or owners; no row needs an owner."""
    empty = role == "owner" and pa.types.is_null(table.columns[name])
    if empty or table.kind(name) is Kind.TEXT:
        return TEXTS
    if pa.types.is_integer(table.columns[name]):
        return WHOLE
    expected = f"{role}s, which are whole numbers or text"
    raise _wrong_kind(table, name, table.kind(name).value, expected, f"name another --{role}")


def _until(
    table: Table, name: str, time: str | None, types: Mapping[str, pa.DataType]
) -> pa.DataType:
    """The type of the ends of rows: times of the same kind as those of the rows."""
    if time is None:
        raise BadTable(f"'--until' is {name!r}, but rows have no time: name their --time column.")
    wanted = types[time]
    if pa.types.is_null(table.columns[name]):
        return wanted
    type = _time(table, name)
    if pa.types.is_timestamp(type) != pa.types.is_timestamp(wanted):
        expected = "times" if pa.types.is_timestamp(wanted) else "numbers"
        advice = f"the ends of rows are of the kind of {time!r}"
        raise _wrong_kind(table, name, table.kind(name).value, expected, advice)
    return type


def _levels(table: Table, name: str) -> tuple[str, ...]:
    """The distinct texts of a column, from a pass over all rows."""
    if not table.rereadable:
        advice = f"name the levels: --one-hot {name}=first,second"
        raise BadTable(f"'{table.name}' can be read only once: {advice}.")
    found: set[str] = set()
    for chunk in table.chunks({name: TEXTS}):
        found.update(chunk.column(name).drop_null().unique().to_pylist())
        found.discard("")
        if len(found) > MOST_LEVELS:
            held = f"more than {MOST_LEVELS} different texts"
            raise _wrong_kind(table, name, held, f"at most {MOST_LEVELS}", "leave it out")
    return tuple(sorted(found))

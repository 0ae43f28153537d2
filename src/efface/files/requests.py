"""Requests to forget rows: by id or by owner, and when in the stream.

A file of requests is CSV. With one id per line, rows are forgotten at the end of the stream. A
header names the columns, in any order. ``id`` is the id of a row, ``owner`` stands for all rows of
an owner; each line has one of the two. With ``time``, a request is answered before the first row of
that time or later. With ``row``, it is answered before that row, counted from 0.
"""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np

from efface.errors import BadTable
from efface.files.row_batches import RowBatch
from efface.inputs.times import calendar_time

Id = int | str
When = Literal["end", "time", "row"]
Group = str | None
T = TypeVar("T")

_PLACES, _NAMES = ("time", "row"), ("id", "owner")
_EXPECTED = "expected a header such as 'time,id' or 'row,owner', or one id per line"


@dataclass(frozen=True)
class Request:
    """Forget the row with this id, or all rows of this owner.

    ``place`` is a time or a row, None for the end of the stream. ``line`` is that of the file.
    """

    id: Id | None = None
    place: Any = None
    owner: Id | None = None
    line: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Requests:
    """Requests in the order of their places."""

    when: When
    each: tuple[Request, ...]

    @property
    def ids(self) -> set[Id]:
        """The ids to forget."""
        return {request.id for request in self.each if request.id is not None}

    @property
    def owners(self) -> set[Id]:
        """The owners to forget."""
        return {request.owner for request in self.each if request.owner is not None}


NONE = Requests("end", ())


@dataclass
class NamedArrivals:
    """Where rows arrived that a request names: the groups, and the number of the newest row."""

    groups: dict[Group, None] = field(default_factory=dict)  # an ordered set
    newest: int | None = None


class RequestQueue:
    """Requests that wait for their position in the stream, and where the rows they name arrived."""

    def __init__(self, requests: Requests) -> None:
        self.ids, self.owners = requests.ids, requests.owners
        self._of_id: dict[Id, NamedArrivals] = {}
        self._of_owner: dict[Id, NamedArrivals] = {}
        self._when, self._waiting = requests.when, deque(requests.each)

    def note_arrivals(self, rows: RowBatch, ids: Sequence[Id]) -> None:
        """Record the newest row of each id that a request names, and the groups of each owner."""
        for index, id in enumerate(ids if self.ids else ()):
            if id in self.ids:
                self._of_id[id] = NamedArrivals()  # an older row of this id has left
                _note(self._of_id[id], rows, index)
        for index, owner in enumerate(rows.owners or () if self.owners else ()):
            if owner is not None and owner in self.owners:
                _note(self._of_owner.setdefault(owner, NamedArrivals()), rows, index)

    def arrivals(self, request: Request) -> NamedArrivals:
        """Where the rows arrived that a request names."""
        if request.owner is not None:
            return self._of_owner.get(request.owner, NamedArrivals())
        known = self._of_id
        return NamedArrivals() if request.id is None else known.get(request.id, NamedArrivals())

    def next_position(self, rows: RowBatch) -> int:
        """The index of the row before which the next request is due; past the end if later."""
        if not self._waiting or self._when == "end":
            return len(rows)
        axis = rows.number if self._when == "row" else rows.at
        return int(np.searchsorted(axis, self._waiting[0].place))  # type: ignore[arg-type]

    def pop_due(self, rows: RowBatch, start: int) -> list[Request]:
        """Remove and return the requests due before row ``start`` of these rows."""
        due = []
        while self._waiting and self.next_position(rows) <= start:
            due.append(self._waiting.popleft())
        return due

    def pop_all(self) -> list[Request]:
        """Remove and return what is left at the end of the stream."""
        rest = list(self._waiting)
        self._waiting.clear()
        return rest


def _note(arrivals: NamedArrivals, rows: RowBatch, index: int) -> None:
    arrivals.groups[None if rows.groups is None else rows.groups[index]] = None
    arrivals.newest = int(rows.number[index])


def read_requests(
    path: str, *, whole: bool, calendar: bool | None, whole_owners: bool | None = None
) -> Requests:
    """The requests in a file.

    ``whole`` means that ids are whole numbers. ``calendar`` means that times are calendar times
    rather than numbers; it is None if rows have no time. ``whole_owners`` means that owners are
    whole numbers; it is None if rows have no owner.
    """
    columns, lines = _without_header(path, _lines(path))
    if "time" in columns and calendar is None:
        raise BadTable(f"'{path}' has times, but the rows have none: name their --time column.")
    if "owner" in columns and whole_owners is None:
        raise BadTable(f"'{path}' has owners, but the rows have none: name their --owner column.")
    reader = _Reader(path, columns, calendar=calendar, whole={"id": whole, "owner": whole_owners})
    found = [reader.request(number, fields) for number, fields in lines]
    when: When = "row" if "row" in columns else "time" if "time" in columns else "end"
    if when != "end":
        found.sort(key=lambda request: request.place)
    return Requests(when, tuple(found))


Lines = list[tuple[int, list[str]]]  # the number of each line, and its values


def _lines(path: str) -> Lines:
    try:
        with Path(path).open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            lines = [(reader.line_num, fields) for fields in reader if any(map(str.strip, fields))]
    except FileNotFoundError:
        raise BadTable(f"'{path}' does not exist: expected a file of requests.") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadTable(f"'{path}' cannot be read as a file of requests: {error}.") from error
    if not lines:
        raise BadTable(f"'{path}' is empty: expected ids, one per line; check the file.")
    return lines


def _without_header(path: str, lines: Lines) -> tuple[list[str], Lines]:
    """The names of the columns, and the other lines; a file without a header has ids alone."""
    names = [field.strip().lower() for field in lines[0][1]]
    known = len(set(names) & {*_PLACES, *_NAMES}) == len(names)
    if known and not set(_NAMES).isdisjoint(names) and not set(_PLACES) <= set(names):
        return names, lines[1:]
    if len(names) > 1:
        raise BadTable(f"'{path}' begins with {','.join(names)!r}: {_EXPECTED}.")
    return ["id"], lines


@dataclass(frozen=True)
class _Reader:
    """Reads the lines of a file of requests."""

    path: str
    columns: Sequence[str]
    calendar: bool | None
    whole: Mapping[str, bool | None]  # whether ids and owners are whole numbers

    def request(self, line: int, fields: Sequence[str]) -> Request:
        where = f"'{self.path}' at line {line}"
        if len(fields) != len(self.columns):
            expected = ",".join(self.columns)
            raise BadTable(f"{where} has {len(fields)} values: expected {expected}.")
        given = {name: text.strip() for name, text in zip(self.columns, fields, strict=True)}
        named = {name: given[name] for name in _NAMES if given.get(name)}
        if len(named) != 1:
            held = "both an id and an owner" if named else f"no {self._wanted}"
            raise BadTable(f"{where} has {held}: expected one of them per line.")
        keys: Any = {name: self._key(where, name, text) for name, text in named.items()}
        places = [self._place(where, name, given[name]) for name in _PLACES if name in given]
        return Request(place=places[0] if places else None, line=line, **keys)

    @property
    def _wanted(self) -> str:
        return " and no ".join(name for name in _NAMES if name in self.columns)

    def _key(self, where: str, name: str, text: str) -> Id:
        if not self.whole[name]:
            return text
        expected = f"a whole number, as the {name}s of the rows are"
        return _parsed(int, text, f"{where}, {name} is {text!r}: expected {expected}.")

    def _place(self, where: str, name: str, text: str) -> Any:
        parse: Callable[[str], Any] = calendar_time if self.calendar else float
        expected = "a time in the format of the rows"
        if name == "row":
            parse, expected = int, "a whole number"
        return _parsed(parse, text, f"{where}, {name} is {text!r}: expected {expected}.")


def _parsed(parse: Callable[[str], T], text: str, error: str) -> T:
    try:
        return parse(text)
    except ValueError:
        raise BadTable(error) from None

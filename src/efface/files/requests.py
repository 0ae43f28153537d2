"""Requests to forget rows: which id, and when in the stream.

A file of requests is CSV. With one id per line, ids are forgotten at the end of the stream. With
the header ``time,id``, each id is forgotten before the first row of that time or later. With the
header ``row,id``, it is forgotten before that row, counted from 0.
"""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from efface.errors import BadTable
from efface.files.row_batches import RowBatch

Id = int | str
When = Literal["end", "time", "row"]


@dataclass(frozen=True)
class Request:
    """Forget the row with this id; ``place`` is a time or a row, None for the end of the stream."""

    id: Id
    place: Any = None


@dataclass(frozen=True)
class Requests:
    """Requests in the order of their places."""

    when: When
    each: tuple[Request, ...]

    @property
    def ids(self) -> set[Id]:
        """The ids to forget."""
        return {request.id for request in self.each}


NONE = Requests("end", ())


class RequestQueue:
    """Requests that wait for their position in the stream, and where the rows they name arrived."""

    def __init__(self, requests: Requests) -> None:
        self.ids = requests.ids
        self.arrivals: dict[Id, tuple[int, str | None]] = {}  # id: row number, group
        self._when, self._waiting = requests.when, deque(requests.each)

    def note_arrivals(self, rows: RowBatch, ids: Sequence[Id]) -> None:
        """Record the newest row of each id that a request names."""
        for index, id in enumerate(ids if self.ids else ()):
            if id in self.ids:
                group = None if rows.groups is None else rows.groups[index]
                self.arrivals[id] = int(rows.number[index]), group

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


def read_requests(path: str, *, whole: bool, calendar: bool | None) -> Requests:
    """The requests in a file.

    ``whole`` means that ids are whole numbers. ``calendar`` means that times are calendar times
    rather than numbers; it is None if rows have no time.
    """
    lines = _lines(path)
    header = [field.strip().lower() for field in lines[0][1]]
    when = _when(path, header, calendar)
    if header in (["id"], ["time", "id"], ["row", "id"]):
        lines = lines[1:]
    parse = _parser(when, calendar)
    found = [_request(path, number, fields, when, whole, parse) for number, fields in lines]
    if when != "end":
        found.sort(key=lambda request: request.place)
    return Requests(when, tuple(found))


def _lines(path: str) -> list[tuple[int, list[str]]]:
    try:
        with Path(path).open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            lines = [(reader.line_num, fields) for fields in reader if any(map(str.strip, fields))]
    except FileNotFoundError:
        raise BadTable(f"'{path}' does not exist: expected a file of ids.") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadTable(f"'{path}' cannot be read as a file of ids: {error}.") from error
    if not lines:
        raise BadTable(f"'{path}' is empty: expected ids, one per line; check the file.")
    return lines


def _when(path: str, header: list[str], calendar: bool | None) -> When:
    if header == ["row", "id"]:
        return "row"
    if header == ["time", "id"]:
        if calendar is None:
            raise BadTable(f"'{path}' has times, but the rows have none: name their --time column.")
        return "time"
    if len(header) > 1:
        text = f"begins with {','.join(header)!r}"
        expected = "expected the header 'time,id' or 'row,id', or one id per line"
        raise BadTable(f"'{path}' {text}: {expected}.")
    return "end"


def _parser(when: When, calendar: bool | None) -> Callable[[str], Any]:
    if when == "row":
        return int
    return _calendar if calendar else float


def _calendar(text: str) -> np.datetime64:
    time = np.datetime64(text.replace(" ", "T").removesuffix("Z"), "ns")
    if np.isnat(time):
        raise ValueError(text)
    return time


def _request(
    path: str,
    line: int,
    fields: Sequence[str],
    when: When,
    whole: bool,
    parse: Callable[[str], Any],
) -> Request:
    texts, form = [field.strip() for field in fields], "id" if when == "end" else f"{when},id"
    where = f"'{path}' at line {line}"
    if len(texts) != len(form.split(",")):
        raise BadTable(f"{where} has {len(texts)} values: expected {form}.")
    try:
        id: Id = int(texts[-1]) if whole else texts[-1]
    except ValueError:
        expected = "a whole number, as the ids of the rows are"
        raise BadTable(f"{where}, id is {texts[-1]!r}: expected {expected}.") from None
    try:
        return Request(id, None if when == "end" else parse(texts[0]))
    except ValueError:
        expected = "a whole number" if when == "row" else "a time in the format of the rows"
        raise BadTable(f"{where}, {when} is {texts[0]!r}: expected {expected}.") from None

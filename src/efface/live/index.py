"""The index of the live rows: their ids and times, oldest first.

An id is an int or a str. No two live rows share one. Ids that the caller does not give are numbered
on from the largest live int. A counter of arrivals would be simpler, but it would reveal rows that
were deleted. So the index follows from the live rows alone, and an id may come again once its row
has left.

Either every live row has a time or none has, and all times are of one kind (see ``times``). Rows
lie in the order of their times; rows of the same time in the order of their arrival.

A row that leaves from the middle leaves a *gap*, as in the row store: the other rows stay where
they are. The *position* of a row counts the rows and gaps before it. The oldest and the newest
position always have a row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from efface.errors import BadTime, RepeatedId, UnknownId
from efface.inputs.ids import Id
from efface.inputs.times import Time, Times, kind_name, pack
from efface.inputs.types import Ints
from efface.live.walls import as_keys, walls_among, walls_in_range

_MANY = 64  # leading places that are cut off at once; rows that are counted one by one
_LATE = 256  # rows put in before others until places are written anew


class RowIndex:
    """The ids of the live rows, and their times.

    As long as ids are consecutive numbers and rows have no times, it holds two ints, and a bit per
    row if there are gaps.

    >>> index = RowIndex()
    >>> index.append(index.next_id(), None)
    >>> index.append("ann", None)
    >>> index.ids
    [0, 'ann']
    """

    __slots__ = (
        *("_cut_off", "_first", "_ids", "_largest", "_late", "_live", "_serials", "_times"),
        *("gaps", "named", "start", "stop"),
    )

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self.named = False
        self.gaps = 0
        self.start = self.stop = 0  # unless named, the positions are those of range(start, stop)
        self._live: bytearray | None = None  # if there are gaps: 1 where there is a row
        # If named: from place ``_first`` on, the ids and times; None at gaps.
        self._first = self._cut_off = 0
        self._ids: list[Id | None] = []
        self._times: list[Time | None] = []
        # The place of each id, plus the places cut off so far; up to ``_late`` places too low.
        self._serials: dict[Id, int] = {}
        self._late = 0
        self._largest: int | None = -1  # None: unknown, as the row that had it has left

    def __len__(self) -> int:
        return len(self._serials) if self.named else self.stop - self.start - self.gaps

    def __contains__(self, id: Id) -> bool:
        return self._position(id) is not None

    def disjoint(self, ids: Iterable[Id]) -> bool:
        """Whether no live row has one of these ids."""
        if self.named:
            return self._serials.keys().isdisjoint(ids)
        numbers = [id for id in ids if type(id) is int]
        if not numbers or min(numbers) >= self.stop or max(numbers) < self.start:
            return True
        return not any(id in self for id in numbers)

    @property
    def places(self) -> int:
        """The number of positions: rows and gaps."""
        return len(self._ids) - self._first if self.named else self.stop - self.start

    @property
    def ids(self) -> list[Id]:
        """The live ids, oldest first."""
        return self.oldest(len(self))

    @property
    def times(self) -> Times | None:
        """The times of the live rows; None if they have none, or if there are no rows."""
        return pack(list(self.since)) if self._times else None

    @property
    def since(self) -> Iterator[Time]:
        """The times, oldest first."""
        times = self._times
        for place in range(self._first, len(times)):
            time = times[place]
            if time is not None:
                yield time

    @property
    def kind(self) -> type | None:
        """The type that the time of the next row must have: int, float, or None for no time."""
        return type(self._times[-1]) if self._times else None

    @property
    def newest(self) -> Time | None:
        """The latest time of a live row."""
        return self._times[-1] if self._times else None

    def next_id(self) -> int:
        """One more than the largest live int id, 0 if there is none."""
        if not self.named:
            return self.stop
        if self._largest is None:
            self._largest = max((id for id in self._serials if type(id) is int), default=-1)
        return max(self._largest, -1) + 1

    # -- positions -------------------------------------------------------------------------------

    def place(self, time: Time | None) -> int:
        """The position of a row of this time: behind all rows that are not later."""
        if time is None or not self._times or time >= self._times[-1]:  # type: ignore[operator]
            return self.places
        low, high = self._first, len(self._times)
        while low < high:
            middle = probe = (low + high) // 2
            while probe < high and self._times[probe] is None:
                probe += 1
            if probe == high or time < self._times[probe]:  # type: ignore[operator]
                high = middle
            else:
                low = probe + 1
        return low - self._first

    def positions(self, ids: Collection[Id]) -> NDArray[np.intp]:
        """The positions of these rows, oldest first."""
        found = []
        for id in ids:
            position = self._position(id)
            if position is None:
                raise unknown(id)
            found.append(position)
        found.sort()
        return np.array(found, np.intp)

    def _position(self, id: Id) -> int | None:
        """The position of the row that has an id."""
        if self.named:
            serial = self._serials.get(id)
            if serial is None:
                return None
            place = serial - self._cut_off
            if self._late:
                place = self._ids.index(id, max(place, 0), place + self._late + 1)
            return place - self._first
        if type(id) is not int or not self.start <= id < self.stop:
            return None
        return id - self.start if self._live is None or self._live[id - self.start] else None

    def occupied(self) -> NDArray[np.intp]:
        """The positions that have a row."""
        if self.named:
            places = range(self._first, len(self._ids))
            return np.array([i for i, p in enumerate(places) if self._ids[p] is not None], np.intp)
        return np.arange(self.places) if self._live is None else _ones(self._live)

    def reach(self, count: int) -> int:
        """The position of the row that is the oldest once ``count`` rows have left."""
        if count >= len(self):
            return self.places
        if not self.gaps:
            return count
        if count > _MANY:
            return int(self.occupied()[count])
        position = -1
        for _ in range(count + 1):
            position = self._next_row(position + 1)
        return position

    def _next_row(self, position: int) -> int:
        """The first position from ``position`` on that has a row."""
        if self._live is not None:
            return self._live.find(1, position)
        while self._ids[self._first + position] is None:
            position += 1
        return position

    def walls(self, first: int, bits: int, count: int | None = None) -> tuple[Ints, Ints]:
        """The positions and heights of the walls of the tree, ``count`` rows from ``first`` on."""
        stop = self.places if count is None else first + count
        if not self.named:
            found, heights = walls_in_range(self.start + first, self.start + stop, bits)
            if self._live is not None:
                there = np.frombuffer(self._live, np.bool_)[found + first]
                found, heights = found[there], heights[there]
            return found + first, heights
        entries = self._ids[self._first + first : self._first + stop]
        ids = [id for id in entries if id is not None]
        found, heights = walls_among(as_keys(ids), bits)
        if len(ids) < len(entries):
            found = np.array([at for at, id in enumerate(entries) if id is not None])[found]
        return found + first, heights

    def refuse_time(self, kind: type | None) -> None:
        """Raise unless a row with a time of this type, or with none, may join the live rows."""
        if len(self):
            refuse_other_kind(kind, self.kind)

    # -- rows come -------------------------------------------------------------------------------

    def append(self, id: Id, time: Time | None) -> None:
        """Add the newest row."""
        if not self.named:
            if time is None and self._follow((id,)):
                return
            self._name()
        self._serials[id] = len(self._ids) + self._cut_off
        self._ids.append(id)
        if time is not None:
            self._times.append(time)
        self._know(id)

    def insert(self, position: int, id: Id, time: Time) -> None:
        """Add a row at a position among the others."""
        place = self._first + position
        self._ids.insert(place, id)
        self._times.insert(place, time)
        self._serials[id] = place + self._cut_off
        self._late += 1
        if self._late == _LATE:
            self._number()
        self._know(id)

    def _number(self) -> None:
        """Write the place of every id anew."""
        places = enumerate(self._ids, self._cut_off)
        self._serials = {id: serial for serial, id in places if id is not None}
        self._late = 0

    def extend(self, ids: Sequence[Id], times: Iterable[Time] | None) -> None:
        """Add many newest rows."""
        if not self.named:
            if times is None and self._follow(ids):
                return
            self._name()
        start = len(self._ids) + self._cut_off
        self._ids.extend(ids)
        self._serials.update(zip(ids, range(start, start + len(ids)), strict=True))
        self._largest = None
        if times is not None:
            self._times.extend(times)

    # -- rows leave ------------------------------------------------------------------------------

    def drop(self, count: int) -> int:
        """Remove the oldest rows and the gaps behind them; return how many positions."""
        reach = self.reach(count)
        if count == len(self):
            self._clear()
            return reach
        self.gaps -= reach - count
        if self.named:
            for place in range(self._first, self._first + reach):
                self._vacate(place)
            self._cut(reach)
            return reach
        self.start += reach
        if self._live is not None:
            del self._live[:reach]
            self._live = self._live if self.gaps else None
        return reach

    def remove(self, positions: NDArray[np.intp]) -> tuple[int, int]:
        """Remove rows from anywhere, which leaves gaps.

        Return how many positions were cut off at the old end and at the new end, because no row is
        left there.
        """
        if not positions.size:
            return 0, 0
        if positions.size == len(self):
            cut = self.places, 0
            self._clear()
            return cut
        self.gaps += positions.size
        if self.named:
            for position in positions.tolist():
                self._vacate(self._first + position)
        else:
            if self._live is None:
                self._live = bytearray(b"\1") * self.places
            for position in positions.tolist():
                self._live[position] = 0
        return self._trim()

    def close_gaps(self) -> None:
        """Give the rows positions without gaps; ids that do not follow each other get entries."""
        if not self.gaps:
            return
        ids, times = self.ids, list(self.since)
        self._clear()
        self.extend(ids, times or None)

    def oldest(self, count: int) -> list[Id]:
        """The ids of the oldest rows."""
        if self.named:
            entries = islice(self._ids, self._first, None)
            return list(islice((id for id in entries if id is not None), count))
        if self._live is None:
            return list(range(self.start, self.start + count))
        numbers: list[Id] = (_ones(self._live)[:count] + self.start).tolist()
        return numbers

    def ids_at(self, positions: NDArray[np.intp]) -> list[Id]:
        """The ids of the rows at these positions."""
        if self.named:
            entries = [self._ids[self._first + position] for position in positions.tolist()]
            return [id for id in entries if id is not None]
        numbers: list[Id] = (positions + self.start).tolist()
        return numbers

    def times_at(self, positions: NDArray[np.intp]) -> Times | None:
        """The times of the rows at these positions; None if rows have no times."""
        times = [self._times[self._first + at] for at in positions.tolist()] if self._times else []
        return pack([time for time in times if time is not None]) if times else None

    def _vacate(self, place: int) -> None:
        """Remove the entry at a place, if there is one."""
        id = self._ids[place]
        if id is None:
            return
        self._ids[place] = None
        del self._serials[id]
        if id == self._largest:
            self._largest = None
        if self._times:
            self._times[place] = None

    def _trim(self) -> tuple[int, int]:
        """Cut off the gaps at both ends; return how many positions."""
        if self._live is not None and self._live[0] and self._live[-1]:
            return 0, 0
        front, back = self._next_row(0), 0
        if self._live is not None:
            back = self.places - 1 - self._live.rfind(1)
            self.start, self.stop = self.start + front, self.stop - back
            del self._live[len(self._live) - back :]
            del self._live[:front]
        else:
            while self._ids[-1 - back] is None:
                back += 1
            del self._ids[len(self._ids) - back :]
            del self._times[max(len(self._times) - back, 0) :]
            self._cut(front)
        self.gaps -= front + back
        if not self.gaps:
            self._live = None
        return front, back

    def _cut(self, count: int) -> None:
        """Advance the oldest position; the places before it are removed now and then."""
        self._first += count
        if self._first > max(_MANY, len(self._ids) // 2):
            del self._ids[: self._first]
            del self._times[: self._first]
            self._cut_off += self._first
            self._first = 0

    def _follow(self, ids: Sequence[Id]) -> bool:
        """Extend the range of numbers if these ids follow it."""
        first = ids[0] if ids and self.start == self.stop else self.stop
        if not isinstance(first, int) or first < 0:
            return False
        if ids != (first,):
            numbers = range(first, first + len(ids))
            if not (ids == numbers or list(ids) == list(numbers)):  # two ranges compare at once
                return False
        self.start = first if self.start == self.stop else self.start
        self.stop = first + len(ids)
        if self._live is not None:
            self._live.extend(b"\1" * len(ids))
        return True

    def _name(self) -> None:
        """Give every position an entry of its own."""
        entries: list[Id | None] = list(range(self.start, self.stop))
        for position in () if self._live is None else _ones(self._live, 0).tolist():
            entries[position] = None
        self.named, self.start, self.stop, self._live = True, 0, 0, None
        self._ids, self._first, self._cut_off, self._largest = entries, 0, 0, None
        self._number()

    def _know(self, id: Id) -> None:
        if type(id) is int and self._largest is not None and id > self._largest:
            self._largest = id


def _ones(bits: bytearray, value: int = 1) -> NDArray[np.intp]:
    """The positions that have a value."""
    return np.flatnonzero(np.frombuffer(bits, np.uint8) == value)


def refuse_other_kind(kind: type | None, had: type | None) -> None:
    """Raise unless a row with a time of this type may join rows with times of the type ``had``."""
    if kind is not had:
        advice = "give every row a time of the same kind, or none at all"
        text = f"'at' is {kind_name(kind)}: expected {kind_name(had)}, as for the live rows"
        raise BadTime(f"{text}; {advice}.")


def unknown(id: Id) -> UnknownId:
    """The error for an id that no live row has."""
    return UnknownId(
        f"'id' is {id!r}: no live row has it; 'ids_' lists those that can be forgotten."
    )


def repeated(id: Id) -> RepeatedId:
    """The error for an id that a live row has already."""
    return RepeatedId(
        f"'id' is {id!r}: a live row has it; forget that row first, or leave ids out."
    )

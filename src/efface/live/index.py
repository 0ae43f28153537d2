"""The index of the live rows: their ids and times, oldest first.

An id is an int or a str. No two live rows share one. Ids that the caller does not give are numbered
on from the largest live int. A counter of arrivals would be simpler, but it would reveal rows that
were deleted. So the index follows from the live rows alone, and an id may come again once its row
has left.

Either every live row has a time or none has, and all times are of one kind (see ``times``). Rows
lie in the order of their times; rows of the same time in the order of their arrival.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Collection, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from efface.errors import BadTime, RepeatedId, UnknownId
from efface.inputs.ids import Id
from efface.inputs.times import Time, Times, kind_name, pack


class RowIndex:
    """The ids of the live rows, and their times.

    As long as ids are consecutive numbers and rows have no times, it holds two ints.

    >>> index = RowIndex()
    >>> index.append(index.next_id(), None)
    >>> index.append("ann", None)
    >>> index.ids
    [0, 'ann']
    """

    __slots__ = ("_ids", "_largest", "_live", "_times", "named", "start", "stop")

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self.named = False
        self.start = self.stop = 0  # unless named, the live rows are range(start, stop)
        self._ids: deque[Id] = deque()
        self._live: set[Id] = set()
        self._times: deque[Time] = deque()
        self._largest: int | None = -1  # None: unknown, as the row that had it has left

    def __len__(self) -> int:
        return len(self._ids) if self.named else self.stop - self.start

    def __contains__(self, id: Id) -> bool:
        return id in self._live if self.named else id in range(self.start, self.stop)

    @property
    def ids(self) -> list[Id]:
        """The live ids, oldest first."""
        return list(self._ids if self.named else range(self.start, self.stop))

    @property
    def times(self) -> Times | None:
        """The times of the live rows; None if they have none, or if there are no rows."""
        return pack(self._times) if self._times else None

    @property
    def since(self) -> deque[Time]:
        """The times, without a copy, oldest first."""
        return self._times

    @property
    def kind(self) -> type | None:
        """The type that the time of the next row must have: int, float, or None for no time."""
        return type(self._times[0]) if self._times else None

    @property
    def newest(self) -> Time | None:
        """The latest time of a live row."""
        return self._times[-1] if self._times else None

    def next_id(self) -> int:
        """One more than the largest live int id, 0 if there is none."""
        if not self.named:
            return self.stop
        if self._largest is None:
            self._largest = max((id for id in self._ids if type(id) is int), default=-1)
        return max(self._largest, -1) + 1

    def place(self, time: Time | None) -> int:
        """The position of a row of this time: behind all rows that are not later."""
        if time is None or not self._times or time >= self._times[-1]:
            return len(self)
        return bisect_right(self._times, time)

    def positions(self, ids: Collection[Id]) -> NDArray[np.intp]:
        """The positions of these rows, oldest first."""
        for id in ids:
            if id not in self:
                raise UnknownId(
                    f"'id' is {id!r}: no live row has it; 'ids_' lists those that can be forgotten."
                )
        wanted = set(ids)
        found = [at for at, id in enumerate(self.ids) if id in wanted]
        return np.array(found, dtype=np.intp)

    def refuse_time(self, kind: type | None) -> None:
        """Raise unless a row with a time of this type, or with none, may join the live rows."""
        if len(self) and kind is not self.kind:
            got, had = kind_name(kind), kind_name(self.kind)
            advice = "give every row a time of the same kind, or none at all"
            raise BadTime(f"'at' is {got}: expected {had}, as for the live rows; {advice}.")

    def append(self, id: Id, time: Time | None) -> None:
        """Add the newest row."""
        if not self.named:
            if time is None and self._follow((id,)):
                return
            self._name()
        self._ids.append(id)
        self._know(id)
        if time is not None:
            self._times.append(time)

    def insert(self, position: int, id: Id, time: Time) -> None:
        """Add a row at a position among the others."""
        self._ids.insert(position, id)
        self._times.insert(position, time)
        self._know(id)

    def extend(self, ids: Sequence[Id], times: Iterable[Time] | None) -> None:
        """Add many newest rows."""
        if not self.named:
            if times is None and self._follow(ids):
                return
            self._name()
        self._ids.extend(ids)
        self._live.update(ids)
        self._largest = None
        if times is not None:
            self._times.extend(times)

    def drop(self, count: int) -> None:
        """Remove the oldest rows."""
        if count == len(self):
            self._clear()
            return
        self.start += count
        for _ in range(count if self.named else 0):
            id = self._ids.popleft()
            self._live.remove(id)
            if id == self._largest:
                self._largest = None
            if self._times:
                self._times.popleft()

    def remove(self, positions: Iterable[int]) -> None:
        """Remove rows from anywhere."""
        leaving = set(positions)
        ids = [id for at, id in enumerate(self.ids) if at not in leaving]
        times = [time for at, time in enumerate(self._times) if at not in leaving]
        self._clear()
        self.extend(ids, times or None)

    def oldest(self, count: int) -> list[Id]:
        """The ids of the oldest rows."""
        return self.ids[:count]

    def _follow(self, ids: Sequence[Id]) -> bool:
        """Extend the range of numbers if these ids follow it."""
        first = ids[0] if ids and self.start == self.stop else self.stop
        if not isinstance(first, int) or first < 0:
            return False
        if not (ids == (first,) or list(ids) == list(range(first, first + len(ids)))):
            return False
        self.start = first if self.start == self.stop else self.start
        self.stop = first + len(ids)
        return True

    def _name(self) -> None:
        """Give every live row an entry of its own."""
        numbers = range(self.start, self.stop)
        self.named, self.start, self.stop = True, 0, 0
        self.extend(numbers, None)

    def _know(self, id: Id) -> None:
        self._live.add(id)
        if type(id) is int and self._largest is not None and id > self._largest:
            self._largest = id


def repeated(id: Id) -> RepeatedId:
    """The error for an id that a live row has already."""
    return RepeatedId(
        f"'id' is {id!r}: a live row has it; forget that row first, or leave ids out."
    )

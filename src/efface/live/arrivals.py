"""Rows that are about to be learned, and a simulation of their arrival one by one.

The simulation knows ids, times and ends of rows, not their values. It says which rows are alive in
the end, and it refuses a repeated id before anything has changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from efface.inputs.ids import Id
from efface.inputs.times import Time, Times, kind_of, never
from efface.live.index import RowIndex, repeated
from efface.live.policies import Policy


@final
@dataclass(frozen=True, eq=False)
class Arrivals:
    """Checked rows that are about to be learned, in the order of their arrival."""

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    ids: Sequence[Id]
    times: Times | None
    numbered: bool  # no ids were given: they are numbered on from the live rows
    weights: NDArray[np.float64]
    owners: Sequence[Id | None] | None = None  # None: no row has one
    untils: Times | None = None  # None: no row has one

    def __len__(self) -> int:
        return len(self.y)

    @cached_property
    def since(self) -> list[Time]:
        """The times as plain numbers; 0 if there are none."""
        times: list[Time] | None = None if self.times is None else self.times.tolist()
        return [0.0] * len(self) if times is None else times

    @cached_property
    def ends(self) -> list[Time]:
        """When rows are due, as plain numbers; rows without times are never due as they come."""
        if self.times is None or self.untils is None:
            return [never(None)] * len(self)
        ends: list[Time] = self.untils.tolist()
        return ends

    def part(self, first: int, last: int | None = None) -> Arrivals:
        """The rows from ``first`` on, up to ``last``."""
        if first == 0 and last is None:
            return self
        rows = slice(first, last)
        return Arrivals(
            self.X[rows],
            self.y[rows],
            self.ids[rows],
            None if self.times is None else self.times[rows],
            self.numbered,
            self.weights[rows],
            None if self.owners is None else self.owners[rows],
            None if self.untils is None else self.untils[rows],
        )

    def run_end(self, first: int, index: RowIndex, earliest: Time | None) -> int:
        """Where a run of rows from ``first`` on ends.

        The rows of a run come in order of time, after the live rows of ``index`` and under other
        ids, and no row becomes due. ``earliest`` is the first end of a live row.
        """
        latest, seen = index.newest, set[Id]()
        limit = never(None) if earliest is None or self.times is None else earliest
        for row in range(first, len(self)):
            name, time, end = self.ids[row], self.since[row], self.ends[row]
            late = latest is not None and self.times is not None and time < latest
            if late or time >= limit or time >= end or name in seen or name in index:
                return row
            latest, limit = time, min(limit, end)
            seen.add(name)
        return len(self)


class Survivors(NamedTuple):
    """Which rows are alive, oldest first, counted from the oldest row that was alive at first."""

    order: list[int]
    names: list[Id]  # the ids of all rows, also of those that have left
    phase: int

    @property
    def ids(self) -> list[Id]:
        """The ids of the rows that are alive."""
        return [self.names[row] for row in self.order]


def survivors_by_time(
    index: RowIndex, ends: Sequence[Time], policy: Policy, new: Arrivals
) -> Survivors | None:
    """The survivors of ``Simulation`` at once, where rows leave by time alone.

    ``ends`` are those of the live rows, or nothing if they have none. None if the count of rows
    matters, if rows come out of order, or if an id may not be new.
    """
    times, newest = new.times, index.newest
    if times is None or not len(new) or (policy.shrinks and not policy.needs_time):
        return None
    if (times[1:] < times[:-1]).any() or (newest is not None and times[0] < newest):
        return None
    none = never(kind_of(times))
    coming = np.full_like(times, none) if new.untils is None else new.untils
    if new.numbered:
        if (coming <= times).any():  # the next row takes the number of one that never enters
            return None
    elif len(set(new.ids)) < len(new) or any(id in index for id in new.ids):
        return None
    held = np.array(ends, dtype=times.dtype) if ends else np.full(len(index), none, times.dtype)
    alive = np.concatenate([held, coming]) > times[-1]
    since = [*index.since, *new.since]
    alive[: policy.expired(since, since[-1])] = False
    return Survivors(np.flatnonzero(alive).tolist(), [*index.ids, *new.ids], 0)


@final
class Simulation:
    """The arrival of rows one by one, by their ids, times and ends alone.

    >>> from efface.live.policies import KeepFor
    >>> simulation = Simulation(RowIndex(), [], KeepFor(3), 0)
    >>> for name, time, end in (("a", 0.0, 9.0), ("b", 1.0, 2.0), ("c", 2.0, 9.0)):
    ...     simulation.arrive(name, time, end)
    >>> simulation.survivors
    Survivors(order=[0, 2], names=['a', 'b', 'c'], phase=0)
    """

    def __init__(self, index: RowIndex, ends: Sequence[Time], policy: Policy, phase: int) -> None:
        self._policy = policy
        self._phase = phase
        self._names: list[Id] = index.ids
        self._times: list[Time] = list(index.since) or [0.0] * len(self._names)
        self._live: dict[Id, int] = {name: row for row, name in enumerate(self._names)}
        # Heaps. Rows that have left stay in them until they come to the top.
        self._oldest = [(time, row) for row, time in enumerate(self._times)]
        self._newest = [(-time, row) for time, row in reversed(self._oldest)]
        self._due = sorted((end, row) for row, end in enumerate(ends))
        numbers = [(-id, row) for row, id in enumerate(self._names) if isinstance(id, int)]
        self._largest: list[tuple[Time, int]] = sorted(numbers)

    def __contains__(self, name: Id) -> bool:
        """Is a row with this id alive?"""
        return name in self._live

    @property
    def survivors(self) -> Survivors:
        """The rows that are alive now."""
        order = [row for _, row in sorted((self._times[row], row) for row in self._live.values())]
        return Survivors(order, self._names, self._phase)

    def next_id(self) -> int:
        """One more than the largest live int id, 0 if there is none."""
        largest = self._first(self._largest)
        return 0 if largest is None else max(-int(largest), -1) + 1

    def arrive(self, name: Id, time: Time, end: Time) -> None:
        """One row comes, and the rows leave that its arrival makes leave."""
        newest = self._first(self._newest)
        now = time if newest is None else max(time, -newest)
        while (oldest := self._first(self._oldest)) is not None:
            if not self._policy.expired((oldest,), now):
                break
            self._leave(self._oldest)
        while (due := self._first(self._due)) is not None and due <= now:
            self._leave(self._due)
        if name in self._live:
            raise repeated(name)
        self._names.append(name)
        self._times.append(time)
        if end > now and not self._policy.expired((time,), now):
            self._enter(name, time, end)

    def _enter(self, name: Id, time: Time, end: Time) -> None:
        row = len(self._names) - 1
        self._live[name] = row
        heappush(self._oldest, (time, row))
        heappush(self._newest, (-time, row))
        heappush(self._due, (end, row))
        if isinstance(name, int):
            heappush(self._largest, (-name, row))
        leaving, self._phase = self._policy.after(len(self._live), self._phase)
        for _ in range(leaving):
            self._first(self._oldest)
            self._leave(self._oldest)

    def _first(self, heap: list[tuple[Time, int]]) -> Time | None:
        """The key of the first row of a heap that is alive."""
        while heap and self._live.get(self._names[heap[0][1]]) != heap[0][1]:
            heappop(heap)
        return heap[0][0] if heap else None

    def _leave(self, heap: list[tuple[Time, int]]) -> None:
        """The first row of a heap leaves; it must be alive."""
        del self._live[self._names[heappop(heap)[1]]]

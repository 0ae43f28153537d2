"""Rows of many keys that are about to be learned: checked, coded, and sorted by key."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from efface.engine.hashing.hash_table import ABSENT
from efface.engine.jit.views import Ints, Matrix, Vector
from efface.inputs.ids import Id, as_owners, id_column
from efface.inputs.times import Time, as_times, as_untils, kind_of
from efface.live.arrivals import Arrivals, Simulation
from efface.live.index import RowIndex, refuse_other_kind, repeated
from efface.live.keyed_rows import KeyedRows, spread
from efface.live.marks import refuse_end_kind
from efface.live.names import Coded, IdColumn
from efface.live.policies import Policy
from efface.live.row_table import RowTable


class KeyedArrivals(NamedTuple):
    """Checked rows in the order of their arrival."""

    keys: Coded
    rows: RowTable
    new_ids: dict[int, Id]
    new_owners: dict[int, Id]

    def __len__(self) -> int:
        return len(self.rows)


class RowMarksGiven(NamedTuple):
    """What belongs to the rows of a batch, as given: one entry per row, or None."""

    ids: Any = None
    at: Any = None
    owners: Any = None
    until: Any = None


def keyed_arrivals(
    held: KeyedRows,
    policy: Policy,
    keys: Any,
    batch: tuple[Matrix, Vector, Vector | None],
    given: RowMarksGiven,
) -> KeyedArrivals:
    """Check what belongs to rows; ids that are not given are numbered on from the live rows."""
    count = len(batch[1])
    times = None if given.at is None else as_times(given.at, count)
    untils = as_untils(given.until, count)
    if count:
        refuse_kinds(held, policy, kind_of(times), kind_of(untils))
    first = held.next_id()
    ids = np.arange(first, first + count) if given.ids is None else id_column(given.ids, count)
    marks = RowMarksGiven(ids, times, as_owners(given.owners, count), untils)
    new = _coded(held, id_column(keys, count, "key"), batch, marks)
    if given.ids is not None:
        _refuse_repeated(held, policy, new)
    return new


def checked_arrivals(
    held: KeyedRows, policy: Policy, keys: IdColumn, new: Arrivals
) -> KeyedArrivals:
    """The same for rows that were checked; times of other kinds and repeated ids are refused."""
    if len(new):
        refuse_kinds(held, policy, kind_of(new.times), kind_of(new.untils))
    marks = RowMarksGiven(new.ids, new.times, new.owners, new.untils)
    coded = _coded(held, keys, (new.X, new.y, new.weights), marks)
    _refuse_repeated(held, policy, coded)
    return coded


def _coded(
    held: KeyedRows,
    keys: IdColumn,
    batch: tuple[Matrix, Vector, Vector | None],
    marks: RowMarksGiven,
) -> KeyedArrivals:
    """Checked rows, with codes for their names."""
    X, y, weights = batch
    ids = held.ids.encode(marks.ids)
    owners = None if marks.owners is None else held.owners.encode(marks.owners)
    rows = RowTable(
        X,
        y,
        np.ones(len(y)) if weights is None else weights,
        ids.codes,
        marks.at,
        None if owners is None else owners.codes,
        marks.until,
    )
    new_owners = {} if owners is None else owners.new
    return KeyedArrivals(held.keys.encode(keys), rows, ids.new, new_owners)


def refuse_kinds(held: KeyedRows, policy: Policy, kind: type | None, end: type | None) -> None:
    """Raise unless rows with times and ends of these kinds may join the live rows."""
    policy.refuse_time(kind)
    if held.n_rows:
        refuse_other_kind(kind, held.kind)
    if end is not None:
        refuse_end_kind(end, kind, held.end_kind)


def _refuse_repeated(held: KeyedRows, policy: Policy, new: KeyedArrivals) -> None:
    """Raise if a row comes under the id of a row that lives then, whatever its key."""
    ids = new.rows.ids
    known = held.slots_of_ids(ids) != ABSENT
    if not known.any() and np.unique(ids).size == ids.size:
        return
    arrivals = _IdSimulation(held, policy, new)
    for row in range(len(new)):
        arrivals.arrive(row)


class _IdSimulation:
    """The arrival of rows one by one, key by key, by their ids and times alone."""

    def __init__(self, held: KeyedRows, policy: Policy, new: KeyedArrivals) -> None:
        self._held, self._policy, self._new = held, policy, new
        self._keys: dict[int, Simulation] = {}
        self._holders: dict[Id, Simulation] = {}
        rows, slots = new.rows, held.slots_of_ids(new.rows.ids)
        names = zip(held.ids.decode(rows.ids), rows.ids.tolist(), strict=True)
        self._names = [new.new_ids[code] if name is None else name for name, code in names]
        self._times = [0.0] * len(new) if rows.times is None else rows.times.tolist()
        self._ends = _ends(rows, timed=rows.times is not None) or [np.inf] * len(new)
        for row in np.flatnonzero(slots != ABSENT).tolist():
            key = int(held.codes(slots[row : row + 1])[0])
            self._holders[self._names[row]] = self._key(key)

    def arrive(self, row: int) -> None:
        name, key = self._names[row], self._key(int(self._new.keys.codes[row]))
        holder = self._holders.get(name)
        if holder is not None and holder is not key and name in holder:
            raise repeated(name)
        key.arrive(name, self._times[row], self._ends[row])
        self._holders[name] = key

    def _key(self, code: int) -> Simulation:
        if code not in self._keys:
            held, slots = self._held, self._held.slots_of(np.array([code]))
            rows, index = held.table.take(held.places(slots)), RowIndex()
            ids: Any = held.ids.decode(rows.ids)
            index.extend(ids, None if rows.times is None else rows.times.tolist())
            ends = _ends(rows, timed=self._new.rows.times is not None)
            phase = int(held.phases(slots)[0])
            self._keys[code] = Simulation(index, ends, self._policy, phase)
        return self._keys[code]


def _ends(rows: RowTable, *, timed: bool) -> list[Time]:
    """The ends of rows; nothing if they have none, or if rows come without times."""
    ends: list[Time] = rows.untils.tolist() if timed and rows.untils is not None else []
    return ends


@final
@dataclass(frozen=True, eq=False)
class GroupedArrivals:
    """The rows of each key that gets rows, key after key: those that live, then those that come."""

    keys: Ints  # codes
    slots: Ints
    bounds: Ints  # key g has the rows bounds[g]..bounds[g + 1]
    alive: Ints  # how many of these live already
    rows: RowTable
    order: Ints  # the arrivals, in the order in which they lie in ``rows``

    @classmethod
    def of(cls, held: KeyedRows, new: KeyedArrivals) -> GroupedArrivals:
        """Sort arrivals by key, behind the live rows of each."""
        codes = new.keys.codes
        order = np.argsort(codes, kind="stable")
        ranked = codes[order]
        starts = np.flatnonzero(np.append(True, ranked[1:] != ranked[:-1])[: ranked.size])
        came, keys = np.diff(np.append(starts, ranked.size)), ranked[starts]
        slots = held.slots_of(keys)
        alive = held.counts(slots)
        bounds = np.concatenate([[0], np.cumsum(alive + came)])
        rows = new.rows.take(order)
        if alive.any():
            coming, rows = rows, RowTable.empty(held.width)
            rows.resize(int(bounds[-1]))
            rows.put(spread(bounds[:-1], alive), held.table.take(held.places(slots)))
            rows.put(spread(bounds[:-1] + alive, came), coming)
        return cls(keys, slots, bounds, alive, rows, order)

    @cached_property
    def key_of_row(self) -> Ints:
        """The number of the key of each row."""
        return np.repeat(np.arange(self.keys.size), np.diff(self.bounds))

    @cached_property
    def came(self) -> NDArray[np.bool_]:
        """Which rows come."""
        within = np.arange(len(self.rows)) - self.bounds[:-1][self.key_of_row]
        return np.asarray(within >= self.alive[self.key_of_row])

    def irregular(self) -> NDArray[np.bool_]:
        """Which keys get a row out of the order of time, or have a row that becomes due."""
        found, times, untils = np.zeros(self.keys.size, np.bool_), self.rows.times, self.rows.untils
        if times is None or not self.keys.size:
            return found
        back = (times[1:] < times[:-1]) & (self.key_of_row[1:] == self.key_of_row[:-1])
        found[self.key_of_row[1:][back]] = True
        if untils is not None:
            starts = self.bounds[:-1]
            latest = np.maximum.reduceat(times, starts)
            found |= np.minimum.reduceat(untils, starts) <= latest
        return found

    def part(self, chosen: NDArray[np.bool_]) -> GroupedArrivals:
        """Only the chosen keys."""
        if chosen.all():
            return self
        mine = chosen[self.key_of_row]
        sizes = np.diff(self.bounds)[chosen]
        return GroupedArrivals(
            self.keys[chosen],
            self.slots[chosen],
            np.concatenate([[0], np.cumsum(sizes)]),
            self.alive[chosen],
            self.rows.take(np.flatnonzero(mine)),
            self.order[mine[self.came]],
        )

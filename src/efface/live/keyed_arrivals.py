"""Rows of many keys that are about to be learned: checked, coded, and sorted by key."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from efface.inputs.ids import Id, as_owners, id_column
from efface.inputs.times import as_times, as_untils, kind_of
from efface.inputs.types import Ints, Matrix, Vector
from efface.live.arrivals import Arrivals, Simulation
from efface.live.hash_table import ABSENT
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
    X, y, weights = batch
    count = len(y)
    times = None if given.at is None else as_times(given.at, count)
    untils = as_untils(given.until, count)
    first, numbered = held.next_id(), given.ids is None
    ids: Any = np.arange(first, first + count) if numbered else id_column(given.ids, count)
    weights = np.ones(count) if weights is None else weights
    owners = as_owners(given.owners, count)
    new = Arrivals(X, y, ids, times, numbered, weights, owners, untils)
    return checked_arrivals(held, policy, id_column(keys, count, "key"), new)


def checked_arrivals(
    held: KeyedRows, policy: Policy, keys: IdColumn, new: Arrivals
) -> KeyedArrivals:
    """Codes for the names of checked rows; times of other kinds and repeated ids are refused."""
    if len(new):
        kind, end = kind_of(new.times), kind_of(new.untils)
        policy.refuse_time(kind)
        if held.n_rows:
            refuse_other_kind(kind, held.kind)
        if end is not None:
            refuse_end_kind(end, kind, held.end_kind)
    ids = held.ids.encode(new.ids)
    owners = held.owners.encode([] if new.owners is None else new.owners)
    codes = None if new.owners is None else owners.codes
    rows = RowTable(new.X, new.y, new.weights, ids.codes, new.times, codes, new.untils)
    coded = KeyedArrivals(held.keys.encode(keys), rows, ids.new, owners.new)
    if not new.numbered:
        _refuse_repeated(held, policy, new, coded)
    return coded


def _refuse_repeated(held: KeyedRows, policy: Policy, new: Arrivals, coded: KeyedArrivals) -> None:
    """Raise if a row comes under the id of a row that lives then, whatever its key.

    Unless all ids are new, a simulation lets the rows arrive one by one, by ids and times alone.
    """
    ids = coded.rows.ids
    slots = held.slots_of_ids(ids)
    known = np.flatnonzero(slots != ABSENT)
    if not known.size and np.unique(ids).size == ids.size:
        return
    names: Any = new.ids
    names = names.tolist() if isinstance(names, np.ndarray) else names
    of_key = cache(lambda key: _simulation(held, policy, key, timed=new.times is not None))
    keys = held.codes(slots[known]).tolist()
    holders = {names[row]: of_key(key) for row, key in zip(known.tolist(), keys, strict=True)}
    rows = zip(names, coded.keys.codes.tolist(), new.since, new.ends, strict=True)
    for name, code, time, end in rows:
        key, holder = of_key(code), holders.get(name)
        if holder is not None and holder is not key and name in holder:
            raise repeated(name)
        key.arrive(name, time, end)
        holders[name] = key


def _simulation(held: KeyedRows, policy: Policy, key: int, *, timed: bool) -> Simulation:
    """The live rows of a key, for rows that come with times or without."""
    slots = held.slots_of(np.array([key]))
    rows, index = held.table.take(held.places(slots)), RowIndex()
    ids: Any = held.ids.decode(rows.ids)
    index.extend(ids, None if rows.times is None else rows.times.tolist())
    ends = rows.untils.tolist() if timed and rows.untils is not None else []
    return Simulation(index, ends, policy, int(held.phases(slots)[0]))


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

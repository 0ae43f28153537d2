"""The row store of many keys: the live rows of all keys in shared columns.

The rows of a key lie side by side, oldest first, in a block of places. Blocks come in sizes of four
steps per power of two. A block that is no longer needed is overwritten and used again for another
key; when more than a quarter of all places lie in such blocks, all blocks move together. A key
without a live row does not exist.

Two hash tables find things: the slot of a key, and the slot of the key that has the row of an id.
Nothing is kept that was derived from the values of rows.
"""

from __future__ import annotations

from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from efface.inputs.ids import Id
from efface.inputs.times import kind_of
from efface.inputs.types import Ints
from efface.live.hash_table import ABSENT, HashTable
from efface.live.names import LARGEST_PLAIN, NOBODY, Names
from efface.live.row_table import RowTable

_CODE, _START, _COUNT, _ROOM, _PHASE = range(5)  # columns of the slots
_SPARE = 8  # one place in so many may be free at the end
_WASTE = 4  # one place in so many may lie in unused blocks
_LEAST = 64


class KeyedChange(NamedTuple):
    """The rows of some keys before and after a change, one key after the other."""

    keys: Ints  # codes
    slots: Ints  # ABSENT for a new key
    rows: RowTable  # the live rows of each key, then those that come
    came: NDArray[np.bool_]  # which of the rows come
    order: Ints  # the rows that live afterwards, as places in ``rows``
    counts: Ints  # how many of these each key has
    phases: Ints  # of the policy, for each key
    new_keys: dict[int, Id]  # names that are not known yet: see ``names``
    new_ids: dict[int, Id]
    new_owners: dict[int, Id]


@final
class KeyedRows:
    """Rows of many keys, which come and leave by ``apply`` alone."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.table = RowTable.empty(width)
        self.keys, self.ids, self.owners = Names(), Names(), Names()
        self._begin()

    def _begin(self) -> None:
        self.n_rows = self._end = self._wasted = 0
        self._slots = np.zeros((0, 5), np.int64)
        self._spare_slots: list[int] = []
        self._spare_blocks: dict[int, list[int]] = {}  # by size: where they begin
        self._of_key, self._of_id = HashTable(), HashTable()
        self._largest: int | None = -1  # None: unknown, as the row that had it has left

    def __len__(self) -> int:
        """The number of keys."""
        return len(self._of_key)

    @property
    def kind(self) -> type | None:
        """The kind of the times of all rows; None if they have none, or if there are no rows."""
        return kind_of(self.table.times)

    @property
    def end_kind(self) -> type | None:
        """The kind of the ends of rows; None if no row ever had one."""
        return kind_of(self.table.untils)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return self.table.nbytes + self._slots.nbytes + self._of_key.nbytes + self._of_id.nbytes

    # -- finding ---------------------------------------------------------------------------------

    def slots_of(self, keys: Ints) -> Ints:
        """The slot of each key, ABSENT for one without rows."""
        return self._of_key.find(keys)

    def slots_of_ids(self, ids: Ints) -> Ints:
        """The slot of the key that has the row of each id, ABSENT if there is no such row."""
        return self._of_id.find(ids)

    def slots(self) -> Ints:
        """The slots of all keys, ordered by name: first the numbers, then the texts."""
        used = np.flatnonzero(self._slots[:, _COUNT])
        codes = self._slots[used, _CODE]
        if not len(self.keys):
            return np.asarray(used[np.argsort(codes, kind="stable")])
        names = self.keys.decode(codes)
        order = sorted(range(len(names)), key=lambda at: (isinstance(names[at], str), names[at]))
        return np.asarray(used[order])

    def codes(self, slots: Ints) -> Ints:
        """The codes of the keys of slots."""
        return np.asarray(self._slots[slots, _CODE])

    def counts(self, slots: Ints) -> Ints:
        """The number of rows of each slot; 0 for ABSENT."""
        return self._field(slots, _COUNT)

    def phases(self, slots: Ints) -> Ints:
        """The phase of the policy of each slot; 0 for ABSENT."""
        return self._field(slots, _PHASE)

    def places(self, slots: Ints) -> Ints:
        """The places of the rows of slots, one slot after the other, each oldest first."""
        known = slots[slots != ABSENT]
        return spread(self._slots[known, _START], self._slots[known, _COUNT])

    def live(self) -> Ints:
        """The places of all rows."""
        return self.places(np.flatnonzero(self._slots[:, _COUNT]))

    def owned(self, owner: int) -> Ints:
        """The places of the rows of an owner."""
        owners = self.table.owners
        return np.flatnonzero(owners == owner) if owners is not None else np.zeros(0, np.int64)

    def next_id(self) -> int:
        """One more than the largest live int id, 0 if there is none."""
        if self._largest is None:
            ids = self.table.ids[self.live()]
            ints = ids[ids & 1 == 0] >> 1
            self._largest = max([int(ints.max(initial=-1)), *self.ids.numbers])
        return max(self._largest, -1) + 1

    def _field(self, slots: Ints, column: int) -> Ints:
        found = np.zeros(slots.size, np.int64)
        known = slots != ABSENT
        found[known] = self._slots[slots[known], column]
        return found

    # -- changing --------------------------------------------------------------------------------

    def apply(self, change: KeyedChange) -> None:
        """Let rows come and leave."""
        left = np.ones(len(change.rows), np.bool_)
        left[change.order] = False
        leaving = change.rows.take(np.flatnonzero(left & ~change.came))
        staying, came = change.rows.take(change.order), change.came[change.order]
        self._rename(change, leaving, staying, came)
        self.table.clear(self.places(change.slots))
        slots = self._settle(change)
        self.table.put(self.places(slots), staying)
        self._of_id.remove(leaving.ids)
        owner_slots = np.repeat(slots, change.counts)
        self._of_id.insert(staying.ids[came], owner_slots[came])
        self._note_largest(leaving.ids, staying.ids[came])
        self.n_rows += staying.ids.size - (change.rows.ids.size - int(change.came.sum()))
        if not self.n_rows:
            self.table = RowTable.empty(self.width)
            self._begin()
        elif self._wasted > self._end // _WASTE + _LEAST:
            self._move_together()

    def _rename(
        self, change: KeyedChange, leaving: RowTable, staying: RowTable, came: NDArray[np.bool_]
    ) -> None:
        """Count the uses of names."""
        new, gone = change.slots == ABSENT, change.counts == 0
        self.keys.retain(change.keys[new & ~gone], change.new_keys)
        self.keys.release(change.keys[~new & gone])
        self.ids.retain(staying.ids[came], change.new_ids)
        self.ids.release(leaving.ids)
        if staying.owners is not None:
            self.owners.retain(staying.owners[came], change.new_owners)
        if leaving.owners is not None:
            self.owners.release(leaving.owners)

    def _settle(self, change: KeyedChange) -> Ints:
        """Give every key a slot and a block for its rows; return the slots, ABSENT for no rows."""
        slots, counts, some = change.slots.copy(), change.counts, change.counts > 0
        gone, new = ~some & (slots != ABSENT), some & (slots == ABSENT)
        self._of_key.remove(change.keys[gone])
        slots[new] = self._open_slots(int(new.sum()))
        self._slots[slots[new], _CODE] = change.keys[new]
        self._of_key.insert(change.keys[new], slots[new])
        room = block_sizes(counts)
        had = self._field(slots, _ROOM)
        moved = (slots != ABSENT) & ((room > had) | (2 * room < had) | gone)
        self._close_blocks(slots[moved])
        self._slots[slots[moved], _ROOM] = room[moved]
        self._slots[slots[moved], _START] = self._open_blocks(room[moved])
        self._slots[slots[gone]] = 0
        self._spare_slots += slots[gone].tolist()
        slots[gone] = ABSENT
        self._slots[slots[some], _COUNT] = counts[some]
        self._slots[slots[some], _PHASE] = change.phases[some]
        return slots

    def _open_slots(self, count: int) -> Ints:
        spare = [self._spare_slots.pop() for _ in range(min(count, len(self._spare_slots)))]
        first, fresh = len(self._slots), count - len(spare)
        if fresh:
            unused = first // _SPARE
            self._slots.resize((first + fresh + unused, 5), refcheck=False)
            self._spare_slots += range(first + fresh + unused - 1, first + fresh - 1, -1)
        return np.array([*spare, *range(first, first + fresh)], np.int64)

    def _close_blocks(self, slots: Ints) -> None:
        rooms, starts = self._slots[slots, _ROOM], self._slots[slots, _START]
        for size in np.unique(rooms[rooms > 0]).tolist():
            self._spare_blocks.setdefault(size, []).extend(starts[rooms == size].tolist())
        self._wasted += int(rooms.sum())

    def _open_blocks(self, rooms: Ints) -> Ints:
        """Where blocks of these sizes begin: unused ones, or new ones at the end."""
        starts = np.full(rooms.size, ABSENT)
        for size in np.unique(rooms[rooms > 0]).tolist():
            spare, wanted = self._spare_blocks.get(size, []), np.flatnonzero(rooms == size)
            used = min(len(spare), wanted.size)
            starts[wanted[:used]] = spare[len(spare) - used :]
            del spare[len(spare) - used :]
            self._wasted -= used * size
        fresh = np.flatnonzero((starts == ABSENT) & (rooms > 0))
        sizes = rooms[fresh]
        starts[fresh] = self._end + np.cumsum(sizes) - sizes
        self._end += int(sizes.sum())
        if self._end > len(self.table):
            self.table.resize(self._end + self._end // _SPARE + _LEAST)
        return starts

    def _move_together(self) -> None:
        """Move all blocks to the front of new columns."""
        used = np.flatnonzero(self._slots[:, _COUNT])
        rows, counts = self.table.take(self.live()), self._slots[used, _COUNT]
        rooms = block_sizes(counts)
        self.table.clear(self.live())
        self._slots[used, _ROOM], self._slots[used, _START] = rooms, np.cumsum(rooms) - rooms
        self._spare_blocks, self._wasted, self._end = {}, 0, int(rooms.sum())
        self.table = RowTable.empty(self.width)
        self.table.resize(self._end + self._end // _SPARE + _LEAST)
        self.table.put(self.live(), rows)

    def _note_largest(self, left: Ints, came: Ints) -> None:
        if self._largest is not None and left.size:
            small = self._largest < LARGEST_PLAIN
            if not small or bool((left == 2 * self._largest).any()):
                self._largest = None
        if self._largest is not None:
            ints = came[came & 1 == 0] >> 1
            self._largest = max([self._largest, int(ints.max(initial=-1)), *self.ids.numbers])

    # -- checking --------------------------------------------------------------------------------

    def residues(self) -> list[str]:
        """The names of what is kept beside the live rows: none, if sound."""
        places, used = self.live(), np.flatnonzero(self._slots[:, _COUNT])
        occupied = np.zeros(len(self.table), np.bool_)
        occupied[places] = True
        owners = self.table.owners
        mine = np.zeros(0, np.int64) if owners is None else owners[places]
        codes, unused = self._slots[used, _CODE], np.delete(self._slots, used, axis=0)
        homes = np.repeat(used, self._slots[used, _COUNT])
        whole = {
            "places": places.size == self.n_rows == int(occupied.sum()),
            "rows": self.table.free(occupied),
            "slots": not unused.any(),
            "keys": self.keys.consistent(codes) and self._of_key.clean,
            "ids": self.ids.consistent(self.table.ids[places]) and self._of_id.clean,
            "owners": self.owners.consistent(mine[mine != NOBODY]),
            "index of keys": np.array_equal(self._of_key.find(codes), used),
            "index of ids": np.array_equal(self._of_id.find(self.table.ids[places]), homes)
            and len(self._of_id) == self.n_rows,
        }
        return [name for name, holds in whole.items() if not holds]


def block_sizes(counts: Ints) -> Ints:
    """The sizes of the blocks for these numbers of rows: four steps per power of two.

    >>> block_sizes(np.array([0, 1, 7, 9, 20, 33]))
    array([ 0,  1,  7, 10, 20, 40])
    """
    exponent = np.frexp(np.maximum(counts, 1))[1].astype(np.int64) - 1
    step = 1 << np.maximum(exponent - 2, 0)
    return np.asarray((counts + step - 1) // step * step)


def spread(starts: Ints, counts: Ints) -> Ints:
    """The numbers from each start on, as many as its count.

    >>> spread(np.array([5, 0]), np.array([2, 3]))
    array([5, 6, 0, 1, 2])
    """
    ends = np.cumsum(counts)
    within = np.arange(int(counts.sum())) - np.repeat(ends - counts, counts)
    return np.asarray(np.repeat(starts, counts) + within)

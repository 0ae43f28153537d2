"""Keys that are drawn ahead: written and synced before there are rows for them.

The slots from the next sequence number on may hold keys that encrypt nothing yet. A commit of a few
rows takes its keys from memory and needs one sync, that of the database. Who copies the slots reads
the rows that these keys encrypt later. So they are few, and a closed store has none.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from efface.store.key_segments import SLOT

AHEAD = 64  # keys


@final
@dataclass(repr=False, eq=False, slots=True)
class TakenKeys:
    """The keys of rows, and which keys must be on the disk before these rows are."""

    keys: bytes  # of the rows
    first: int  # the first slot that must be written
    unwritten: bytes  # its key, and those of the slots behind it
    rest: bytes  # the keys behind those of the rows


def _random(count: int) -> bytes:
    return os.urandom(SLOT * count)


@final
class KeyPool:
    """The keys behind those of the rows. Each is taken once, also if what follows fails.

    >>> pool = KeyPool(ahead=3, size=1, draw=lambda count: b"k" * count)
    >>> taken = pool.take(10, 1)
    >>> taken.first, taken.unwritten, pool.slots(10)
    (10, b'kkk', range(10, 13))
    >>> pool.keep(taken)
    >>> pool.take(11, 1).unwritten
    b''
    """

    def __init__(
        self, ahead: int = AHEAD, size: int = SLOT, draw: Callable[[int], bytes] = _random
    ) -> None:
        self._ahead, self._size, self._draw = ahead, size, draw
        self._keys = b""  # of the slots from the next sequence number on
        self._end = 0  # slots from there on are zeros

    def __repr__(self) -> str:
        return f"KeyPool({len(self._keys) // self._size} keys)"

    def room(self, count: int) -> int:
        """How many slots must be there before the keys of ``count`` rows are taken."""
        return max(count, self._ahead) if count * self._size > len(self._keys) else 0

    def take(self, next_seq: int, count: int) -> TakenKeys:
        """The keys of ``count`` rows from ``next_seq`` on; the pool is empty then."""
        there = len(self._keys) // self._size
        unwritten = self._draw(max(count, self._ahead) - there) if count > there else b""
        keys, self._keys = self._keys + unwritten, b""
        self._end = max(self._end, next_seq + len(keys) // self._size)
        mine = count * self._size
        return TakenKeys(keys[:mine], next_seq + there, unwritten, keys[mine:])

    def keep(self, taken: TakenKeys) -> None:
        """The rows of taken keys are committed: what is left can be taken by the next."""
        self._keys = taken.rest

    def slots(self, next_seq: int) -> range:
        """The slots that may hold keys of no row."""
        return range(next_seq, max(next_seq, self._end))

    def drop(self, next_seq: int) -> None:
        """These slots are zeros now."""
        self._keys, self._end = b"", next_seq

"""A hash table of 64-bit integers: open addressing, linear probing, no tombstones.

An entry is a code and a value. It lies at the home of its code, or at the first free place behind
it. When an entry is removed, later entries move up to close the gap, so that a table holds nothing
of what was removed. Tables grow by a quarter: at most three quarters of the places are in use.
"""

from __future__ import annotations

from typing import final

import numpy as np

from efface.core import core
from efface.inputs.types import Ints

EMPTY = -(1 << 63)  # no code
ABSENT = -1  # the value of a code that is not there; values are not negative
_LEAST, _MOST_USED = 16, 0.75


@final
class HashTable:
    """Values by code.

    >>> table = HashTable()
    >>> table.insert(np.array([5, -3]), np.array([0, 1]))
    >>> table.find(np.array([-3, 7])), len(table)
    (array([ 1, -1]), 2)
    >>> table.remove(np.array([5, -3]))
    >>> table.clean, len(table)
    (True, 0)
    """

    def __init__(self) -> None:
        self._used = 0
        self._entries = _places(_LEAST)

    def __len__(self) -> int:
        return self._used

    @property
    def nbytes(self) -> int:
        return self._entries.nbytes

    @property
    def clean(self) -> bool:
        """Do all free places hold nothing, and are as many in use as there are entries?"""
        free = self._entries[:, 0] == EMPTY
        return not self._entries[free, 1].any() and len(free) - int(free.sum()) == self._used

    def find(self, codes: Ints) -> Ints:
        """The value of each code; ABSENT where there is none."""
        values = np.empty(codes.size, np.int64)
        core.table_find(self._entries, codes, values)
        return values

    def insert(self, codes: Ints, values: Ints) -> None:
        """Add entries; a code that is there gets the new value."""
        if self._used + codes.size > _MOST_USED * len(self._entries):
            self._resize(self._used + codes.size)
        self._used += core.table_insert(self._entries, codes, values)

    def remove(self, codes: Ints) -> None:
        """Remove entries, all of which must be there; a table that is far too large shrinks."""
        core.table_remove(self._entries, codes)
        self._used -= codes.size
        if len(self._entries) > _LEAST and self._used < _MOST_USED / 4 * len(self._entries):
            self._resize(self._used)

    def _resize(self, used: int) -> None:
        old, entries = self._entries, _places(int(used / _MOST_USED * 1.25) + _LEAST)
        kept = old[old[:, 0] != EMPTY]
        codes, values = np.ascontiguousarray(kept.T)
        core.table_insert(entries, codes, values)
        self._entries = entries
        old[:], kept[:], codes[:], values[:] = 0, 0, 0, 0


def _places(count: int) -> Ints:
    entries = np.zeros((count, 2), np.int64)
    entries[:, 0] = EMPTY
    return entries

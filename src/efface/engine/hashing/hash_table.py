"""A hash table of 64-bit integers: open addressing, linear probing, no tombstones.

An entry is a code and a value. It lies at the home of its code, or at the first free place behind
it. When an entry is removed, later entries move up to close the gap, so that a table holds nothing
of what was removed. Tables grow by a quarter: at most three quarters of the places are in use.
"""

from __future__ import annotations

from typing import final

import numba
import numpy as np

from efface.engine.jit.compilation import INNER, KERNEL
from efface.engine.jit.views import Ints

EMPTY = -(1 << 63)  # no code
ABSENT = -1  # the value of a code that is not there; values are not negative
_LEAST, _MOST_USED = 16, 0.75
_BITS = (1 << 31) - 1


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
        _find(self._entries, codes, values)
        return values

    def insert(self, codes: Ints, values: Ints) -> None:
        """Add entries; a code that is there gets the new value."""
        if self._used + codes.size > _MOST_USED * len(self._entries):
            self._resize(self._used + codes.size)
        self._used += int(_insert(self._entries, codes, values))

    def remove(self, codes: Ints) -> None:
        """Remove entries, all of which must be there; a table that is far too large shrinks."""
        _remove(self._entries, codes)
        self._used -= codes.size
        if len(self._entries) > _LEAST and self._used < _MOST_USED / 4 * len(self._entries):
            self._resize(self._used)

    def _resize(self, used: int) -> None:
        old, places = self._entries, int(used / _MOST_USED * 1.25) + _LEAST
        self._entries = _places(places)
        kept = old[old[:, 0] != EMPTY]
        _insert(self._entries, np.ascontiguousarray(kept[:, 0]), np.ascontiguousarray(kept[:, 1]))


def _places(count: int) -> Ints:
    entries = np.zeros((count, 2), np.int64)
    entries[:, 0] = EMPTY
    return entries


@numba.njit(**INNER)
def _home(code: int, places: int) -> int:
    """The place of a code in an empty table: multiplicative hashing, within 63 bits."""
    folded = (code ^ (code >> 31)) & _BITS
    return (((folded * 0x9E3779B1) >> 16) & _BITS) * places >> 31


@numba.njit(**INNER)
def _place(entries: Ints, code: int) -> int:
    """The place of a code, or the free place where it would be put."""
    places = entries.shape[0]
    at = _home(code, places)
    while entries[at, 0] != code and entries[at, 0] != EMPTY:
        at = at + 1 if at + 1 < places else 0
    return at


@numba.njit(**KERNEL)
def _find(entries: Ints, codes: Ints, values: Ints) -> None:
    for i in range(codes.size):
        at = _place(entries, codes[i])
        values[i] = entries[at, 1] if entries[at, 0] != EMPTY else ABSENT


@numba.njit(**KERNEL)
def _insert(entries: Ints, codes: Ints, values: Ints) -> int:
    """Add entries; return how many places they took."""
    taken = 0
    for i in range(codes.size):
        at = _place(entries, codes[i])
        if entries[at, 0] == EMPTY:
            taken += 1
        entries[at, 0], entries[at, 1] = codes[i], values[i]
    return taken


@numba.njit(**KERNEL)
def _remove(entries: Ints, codes: Ints) -> None:
    places = entries.shape[0]
    for i in range(codes.size):
        gap = _place(entries, codes[i])
        at = gap
        while True:
            at = at + 1 if at + 1 < places else 0
            if entries[at, 0] == EMPTY:
                break
            # An entry may move to the gap unless its home lies between the gap and itself.
            home = _home(entries[at, 0], places)
            apart, back = at - home, at - gap
            if apart < 0:
                apart += places
            if back < 0:
                back += places
            if apart >= back:
                entries[gap, 0], entries[gap, 1] = entries[at, 0], entries[at, 1]
                gap = at
        entries[gap, 0], entries[gap, 1] = EMPTY, 0

"""Which rows are walls of the tree: those whose id has a hash that ends in zeros.

Of 2^b consecutive numbers exactly one is a wall, at a place that a hash chooses. Of those walls one
in four is higher by one, and so on. Of other keys one in 2^b is a wall, at random.
"""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from efface.inputs.types import Ints

Keys = NDArray[np.uint64]
FAN_BITS = 2  # four children per node
_MASK = (1 << 64) - 1
_TEXT_SHIFT = 16


def as_key(id: int | str) -> int:
    """The number that an id is hashed as."""
    return (id if isinstance(id, int) else crc32(id.encode()) << _TEXT_SHIFT) & _MASK


def as_keys(ids: Sequence[int | str]) -> Keys:
    """The numbers that ids are hashed as."""
    kinds = set(map(type, ids))
    if kinds == {str}:
        codes = map(crc32, map(str.encode, ids))  # type: ignore[arg-type]
        return np.fromiter(codes, np.uint64, len(ids)) << np.uint64(_TEXT_SHIFT)
    if kinds == {int}:
        try:
            return np.array(ids, np.int64).astype(np.uint64)
        except OverflowError:  # a number of more than 64 bits
            pass
    return np.fromiter(map(as_key, ids), np.uint64, len(ids))


def mix(keys: Keys) -> Keys:
    """SplitMix64: numbers that look random, one per key."""
    z = keys + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def walls_among(keys: Keys, bits: int) -> tuple[Ints, Ints]:
    """The positions of the walls among some keys, and their heights, from 1 on."""
    found = np.flatnonzero(_ends_in_zeros(keys, bits))
    return found, _heights(keys[found] >> np.uint64(bits))


def walls_in_range(start: int, stop: int, bits: int) -> tuple[Ints, Ints]:
    """The same for the consecutive numbers start..stop, counted from ``start``."""
    blocks = np.arange(start >> bits, ((stop - 1) >> bits) + 1).astype(np.uint64)
    offset = mix(blocks) & np.uint64((1 << bits) - 1)
    at = ((blocks << np.uint64(bits)) | offset).astype(np.int64) - start
    inside = (at >= 0) & (at < stop - start)
    return at[inside], _heights(blocks[inside])


def _ends_in_zeros(keys: Keys, bits: int) -> NDArray[np.bool_]:
    rest = np.uint64(bits)
    return np.asarray(((keys ^ mix(keys >> rest)) & np.uint64((1 << bits) - 1)) == 0)


def _heights(keys: Keys) -> Ints:
    """1 for every wall, plus the number of further tests that it passes; 0 passes none."""
    heights = np.ones(keys.size, np.int64)
    left = np.arange(keys.size)
    while left.size:
        passed = _ends_in_zeros(keys, FAN_BITS)
        keys, left = keys[passed] >> np.uint64(FAN_BITS), left[passed]
        heights[left] += 1
    return heights

"""Tombstones: what was forgotten, so that a row that is still under way does not come back.

A tombstone is a 64-bit digest of an id or an owner, and the time of the request. It holds no value
of a row and no name.
"""

from __future__ import annotations

import hashlib
from typing import Self

import numpy as np

from efface.inputs.ids import Id

_PAIR = np.dtype([("digest", "<u8"), ("time", "<i8")])


class Tombstones:
    """Digests of forgotten ids and owners, each with the time of the latest request.

    >>> forgotten = Tombstones()
    >>> forgotten.add("owner", "ann", 20)
    >>> forgotten.cover("owner", "ann", 20), forgotten.cover("owner", "ann", 21)
    (True, False)
    >>> Tombstones.decode(forgotten.encode()).cover("owner", "ann", 15)
    True
    """

    __slots__ = ("_times",)

    def __init__(self) -> None:
        self._times: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._times)

    def add(self, role: str, name: Id, time: int) -> None:
        """Remember that rows with this name, up to ``time``, were forgotten."""
        digest = _digest(role, name)
        self._times[digest] = max(time, self._times.get(digest, time))

    def cover(self, role: str, name: Id | None, time: int) -> bool:
        """Was a row with this name and time forgotten?"""
        if name is None or not self._times:
            return False
        return time <= self._times.get(_digest(role, name), time - 1)

    def drop(self, time: int) -> None:
        """Drop the tombstones of requests at ``time`` and before."""
        self._times = {digest: at for digest, at in self._times.items() if at > time}

    @property
    def earliest(self) -> int | None:
        """The time of the earliest request."""
        return min(self._times.values(), default=None)

    def encode(self) -> bytes:
        """The same bytes for the same tombstones."""
        return np.array(sorted(self._times.items()), dtype=_PAIR).tobytes()

    @classmethod
    def decode(cls, content: bytes) -> Self:
        """The tombstones that ``encode`` wrote."""
        found = cls()
        found._times = dict(np.frombuffer(content, dtype=_PAIR).tolist())
        return found


def _digest(role: str, name: Id) -> int:
    content = f"{role} {name!r}".encode()
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little")

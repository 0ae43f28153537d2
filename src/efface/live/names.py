"""Ids, owners and keys as 64-bit codes, so that millions of them fit into arrays.

The code of an int is twice the int. Texts, and ints of more than 62 bits, are numbered, and have
odd codes. A name leaves with its last use. A name that is not known yet gets a provisional code,
which counts only once it is used: what is planned but refused leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from efface.inputs.ids import Id
from efface.inputs.types import Ints

NOBODY = -1  # the code of no owner
UNKNOWN = -3  # the code of a name that nothing has
LARGEST_PLAIN = 1 << 62  # ints below it are their own codes
IdColumn = NDArray[np.int64] | Sequence[Id | None]


class Coded(NamedTuple):
    """Codes, and the names that are not known yet, by their provisional code."""

    codes: Ints
    new: dict[int, Id]


@final
class Names:
    """The code of each name that is in use.

    >>> names = Names()
    >>> found = names.encode(["ann", 7, "ann", None])
    >>> names.retain(*found)
    >>> found.codes.tolist(), names.decode(found.codes)
    ([1, 14, 1, -1], ['ann', 7, 'ann', None])
    >>> names.release(found.codes)
    >>> names.find(["ann", 7]).tolist(), len(names)
    ([-3, 14], 0)
    """

    def __init__(self) -> None:
        self._codes: dict[Id, int] = {}
        self._names: dict[int, Id] = {}
        self._uses: dict[int, int] = {}
        self._next = 1

    def __len__(self) -> int:
        """How many names have a number."""
        return len(self._names)

    @property
    def numbers(self) -> list[int]:
        """The ints that are too large to be their own code."""
        return [name for name in self._codes if isinstance(name, int)]

    def encode(self, ids: IdColumn) -> Coded:
        """The codes of names, some of which may be new."""
        if isinstance(ids, np.ndarray):
            if _fit(ids):
                return Coded(ids * 2, {})
            ids = ids.tolist()
        known, new, codes = self._codes, dict[Id, int](), np.empty(len(ids), np.int64)
        for at, name in enumerate(ids):
            code = _plain(name)
            if code is None and name is not None:
                code = known.get(name) or new.setdefault(name, self._next + 2 * len(new))
            codes[at] = NOBODY if code is None else code
        return Coded(codes, {code: name for name, code in new.items()})

    def find(self, ids: IdColumn) -> Ints:
        """The codes of names; UNKNOWN for one that is not in use and has no code of its own."""
        codes, new = self.encode(ids)
        codes[np.isin(codes, list(new))] = UNKNOWN
        return codes

    def decode(self, codes: Ints) -> list[Id | None]:
        """The names of codes; None for NOBODY."""
        names: list[Id | None] = (codes >> 1).tolist()
        for at in np.flatnonzero(codes & 1).tolist():
            names[at] = self._names.get(int(codes[at]))
        return names

    def retain(self, codes: Ints, new: dict[int, Id]) -> None:
        """Count one more use of each code; ``new`` names those that ``encode`` did not know."""
        for code, uses in _counts(codes):
            if code not in self._uses:
                self._names[code], self._codes[new[code]] = new[code], code
                self._next = max(self._next, code + 2)
            self._uses[code] = self._uses.get(code, 0) + uses

    def release(self, codes: Ints) -> None:
        """Count one use less of each code; a name without a use leaves."""
        for code, uses in _counts(codes):
            self._uses[code] -= uses
            if not self._uses[code]:
                del self._uses[code], self._codes[self._names.pop(code)]
        if not self._names:
            self._next = 1

    def consistent(self, codes: Ints) -> bool:
        """Whether exactly the names of these codes are kept, each as often as it is used."""
        by_name = {name: code for code, name in self._names.items()}
        return dict(_counts(codes)) == self._uses and by_name == self._codes


def _fit(ids: NDArray[np.int64]) -> bool:
    return not ids.size or (ids.min() > -LARGEST_PLAIN and ids.max() < LARGEST_PLAIN)


def _plain(name: Id | None) -> int | None:
    """The code of an int that is small enough."""
    if isinstance(name, int) and -LARGEST_PLAIN < name < LARGEST_PLAIN:
        return name * 2
    return None


def _counts(codes: Ints) -> list[tuple[int, int]]:
    """The codes of names, and how often each occurs."""
    odd = codes[(codes & 1 == 1) & (codes > 0)]
    if not odd.size:
        return []
    found, counts = np.unique(odd, return_counts=True)
    return list(zip(found.tolist(), counts.tolist(), strict=True))

"""The owners of live rows: whose row it is, and which rows a person has.

An owner is an int or a str. Many rows may have the same owner, and a row may have none. Owners are
kept by row id, so they do not depend on where a row lies. Nothing remains of an owner whose last
row has left.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import final

from efface.errors import UnknownOwner
from efface.inputs.ids import Id


@final
class OwnerIndex:
    """The owner of each live row that has one, and the live rows of each owner.

    >>> owners = OwnerIndex()
    >>> owners.add([0, 1, 2], ["ann", None, "ann"])
    >>> owners.ids_of("ann"), owners.of([0, 1, 2])
    ([0, 2], ['ann', None, 'ann'])
    >>> owners.remove([0, 2])
    >>> len(owners), "ann" in owners
    (0, False)
    """

    __slots__ = ("_owner", "_rows")

    def __init__(self) -> None:
        self._owner: dict[Id, Id] = {}
        self._rows: dict[Id, dict[Id, None]] = {}  # by owner: row ids, as a set that keeps order

    def __len__(self) -> int:
        """The number of rows that have an owner."""
        return len(self._owner)

    def __contains__(self, owner: Id) -> bool:
        return owner in self._rows

    def ids_of(self, owner: Id) -> list[Id]:
        """The ids of the rows of an owner, in the order in which they were added."""
        if owner not in self._rows:
            raise unknown_owner(owner)
        return list(self._rows[owner])

    def of(self, ids: Iterable[Id]) -> list[Id | None]:
        """The owner of each of some rows; None for a row without one."""
        return [self._owner.get(id) for id in ids]

    def add(self, ids: Iterable[Id], owners: Sequence[Id | None]) -> None:
        """Add rows; None is a row without an owner."""
        of_row, rows = self._owner, self._rows
        for id, owner in zip(ids, owners, strict=True):
            if owner is not None:
                of_row[id] = owner
                theirs = rows.get(owner)
                if theirs is None:
                    rows[owner] = {id: None}
                else:
                    theirs[id] = None

    def remove(self, ids: Iterable[Id]) -> None:
        """Remove rows, those without an owner included; an owner leaves with the last row."""
        for id in ids:
            owner = self._owner.pop(id, None)
            if owner is not None:
                rows = self._rows[owner]
                del rows[id]
                if not rows:
                    del self._rows[owner]

    def consistent(self, ids: set[Id]) -> bool:
        """Whether only rows with these ids are kept, each of them under its owner."""
        by_owner = {id: owner for owner, rows in self._rows.items() for id in rows}
        return self._owner.keys() <= ids and by_owner == self._owner and all(self._rows.values())


def unknown_owner(owner: Id) -> UnknownOwner:
    """The error for an owner without a live row."""
    text = "no live row has it; 'owners_' lists the owners of live rows"
    return UnknownOwner(f"'owner' is {owner!r}: {text}.")

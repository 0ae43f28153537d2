"""The marks of live rows: what a row may have beside its id and time, an owner and an end.

An owner is an int or a str. Many rows may have the same owner, and a row may have none. An end is
the time up to which a row may be kept: a row lives while now < until. Marks are kept by row id, so
they do not depend on where a row lies. Nothing remains of a row that has left, and nothing of an
owner whose last row has left.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import NamedTuple, final

from efface.errors import BadTime, UnknownOwner
from efface.inputs.ids import Id
from efface.inputs.times import Time, Times, kind_name, never, pack

NO_END = never(None)
_FEW = 1_000  # rows that are added to or removed from the sorted ends one by one


class Mark(NamedTuple):
    """The marks of one row."""

    owner: Id | None = None
    until: Time | None = None


UNMARKED = Mark()


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


@final
class Consents:
    """The end of each live row that has one.

    >>> consents = Consents()
    >>> consents.add(["a", "b", "c"], [5.0, 3.0, float("inf")])
    >>> len(consents), consents.earliest, consents.due(4.0)
    (2, 3.0, ['b'])
    >>> consents.remove(["b"])
    >>> consents.due(9.0)
    ['a']
    """

    __slots__ = ("_order", "_until")

    def __init__(self) -> None:
        self._until: dict[Id, Time] = {}
        self._order: list[tuple[Time, bool, Id]] = []  # sorted: end, is the id a text?, id

    def __len__(self) -> int:
        """The number of rows that have an end."""
        return len(self._until)

    @property
    def kind(self) -> type | None:
        """The type of all ends: int, float, or None if there is none."""
        return type(self._order[0][0]) if self._order else None

    @property
    def earliest(self) -> Time | None:
        """The first time at which a row is due."""
        return self._order[0][0] if self._order else None

    def due(self, now: Time) -> list[Id]:
        """The ids of the rows that may no longer be kept at ``now``."""
        count = bisect_right(self._order, now, key=itemgetter(0))
        return [id for _, _, id in self._order[:count]]

    def of(self, ids: Iterable[Id]) -> list[Time]:
        """The end of each of some rows; ``never`` for a row without one."""
        none = never(self.kind)
        return [self._until.get(id, none) for id in ids]

    def add(self, ids: Iterable[Id], untils: Iterable[Time]) -> None:
        """Add rows; a row whose end is ``never`` has none."""
        pairs = zip(ids, untils, strict=True)
        new = {id: end for id, end in pairs if end != never(type(end))}
        self._until |= new
        entries = [(end, isinstance(id, str), id) for id, end in new.items()]
        if len(entries) > _FEW:
            self._order = sorted([*self._order, *entries])
        else:
            for entry in entries:
                insort(self._order, entry)

    def remove(self, ids: Iterable[Id]) -> None:
        """Remove rows, those without an end included."""
        gone = {id: self._until.pop(id) for id in ids if id in self._until}
        if len(gone) > _FEW:
            self._order = [entry for entry in self._order if entry[2] in self._until]
        else:
            for id, end in gone.items():
                del self._order[bisect_left(self._order, (end, isinstance(id, str), id))]

    def consistent(self, ids: set[Id]) -> bool:
        """Whether only rows with these ids are kept, each of them in its place."""
        order = sorted((end, isinstance(id, str), id) for id, end in self._until.items())
        return self._until.keys() <= ids and self._order == order


@final
class RowMarks:
    """Owners and ends of live rows, by row id.

    >>> marks = RowMarks()
    >>> marks.add([0, 1], ["ann", None], None)
    >>> marks.some, marks.owner_of_each([0, 1]), marks.until_of_each([0, 1])
    (True, ['ann', None], None)
    """

    __slots__ = ("consents", "owners", "some")

    def __init__(self) -> None:
        self.owners = OwnerIndex()
        self.consents = Consents()
        self.some = False  # does a row have an owner or an end?

    def owner_of_each(self, ids: Iterable[Id]) -> list[Id | None] | None:
        """The owner of each row; None if no row has one."""
        return self.owners.of(ids) if self.owners else None

    def until_of_each(self, ids: Iterable[Id]) -> Times | None:
        """The end of each row; None if no row has one."""
        return pack(self.consents.of(ids)) if self.consents else None

    def add(
        self, ids: Iterable[Id], owners: Sequence[Id | None] | None, untils: Iterable[Time] | None
    ) -> None:
        """Add the owners and the ends of rows; None: none of them has one."""
        if owners is not None:
            self.owners.add(ids, owners)
        if untils is not None:
            self.consents.add(ids, untils)
        self.some = bool(self.owners or self.consents)

    def remove(self, ids: Iterable[Id]) -> None:
        """Remove the marks of rows, if they have any."""
        self.owners.remove(ids)
        self.consents.remove(ids)
        self.some = bool(self.owners or self.consents)

    def residues(self, ids: Iterable[Id]) -> list[str]:
        """The names of what is kept beside the marks of the rows with these ids."""
        live = set(ids)
        whole = {"owners": self.owners.consistent(live), "ends": self.consents.consistent(live)}
        return [name for name, holds in whole.items() if not holds]


def unknown_owner(owner: Id) -> UnknownOwner:
    """The error for an owner without a live row."""
    text = "no live row has it; 'owners_' lists the owners of live rows"
    return UnknownOwner(f"'owner' is {owner!r}: {text}.")


def refuse_end_kind(kind: type, of_rows: type | None, of_ends: type | None) -> None:
    """Raise unless ends of this kind fit the times of rows, or the other ends if they have none."""
    expected = of_ends if of_rows is None else of_rows
    if expected is not None and kind is not expected:
        like = "the other rows" if of_rows is None else "'at'"
        got, had = kind_name(kind), kind_name(expected)
        text = f"'until' is {got}: expected {had}, as for {like}; convert one of them."
        raise BadTime(text)

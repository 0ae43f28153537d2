"""The marks of live rows: what a row may have beside its id and time, an owner and an end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, final

from efface.inputs.ids import Id
from efface.inputs.times import Time, Times, never, pack
from efface.live.consents import Consents
from efface.live.owners import OwnerIndex

Owners = Sequence[Id | None]
NO_END = never(None)


class Mark(NamedTuple):
    """The marks of one row."""

    owner: Id | None = None
    until: Time | None = None


UNMARKED = Mark()


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

    def add(self, ids: Iterable[Id], owners: Owners | None, untils: Iterable[Time] | None) -> None:
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

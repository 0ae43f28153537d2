"""The ends of live rows: the times up to which rows may be kept, where they have one of their own.

A row lives while now < until. Ends are kept by row id and in the order of time. Nothing remains of
a row that has left.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable
from operator import itemgetter
from typing import final

from efface.errors import BadTime
from efface.inputs.ids import Id
from efface.inputs.times import Time, kind_name, never

_FEW = 1_000  # rows that are added to or removed from the sorted ends one by one


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

    def refuse_kind(self, kind: type, of_rows: type | None) -> None:
        """Raise unless ends of this kind fit the other ends, and the times of the rows."""
        refuse_end_kind(kind, of_rows, self.kind)

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


def refuse_end_kind(kind: type, of_rows: type | None, of_ends: type | None) -> None:
    """Raise unless ends of this kind fit the times of rows, or the other ends if they have none."""
    expected = of_ends if of_rows is None else of_rows
    if expected is not None and kind is not expected:
        like = "the other rows" if of_rows is None else "'at'"
        got, had = kind_name(kind), kind_name(expected)
        text = f"'until' is {got}: expected {had}, as for {like}; convert one of them."
        raise BadTime(text)

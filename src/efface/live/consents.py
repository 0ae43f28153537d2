"""The ends of live rows: the times up to which rows may be kept, where they have one of their own.

A row lives while now < until. Ends are kept by row id and in the order of time. Nothing remains of
a row that has left.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable
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

    __slots__ = ("_ends", "_rows", "_until")

    def __init__(self) -> None:
        self._until: dict[Id, Time] = {}
        self._rows: dict[Time, dict[Id, None]] = {}  # by end: row ids, as a set that keeps order
        self._ends: list[Time] = []  # the keys of _rows, sorted

    def __len__(self) -> int:
        """The number of rows that have an end."""
        return len(self._until)

    @property
    def kind(self) -> type | None:
        """The type of all ends: int, float, or None if there is none."""
        return type(self._ends[0]) if self._ends else None

    @property
    def earliest(self) -> Time | None:
        """The first time at which a row is due."""
        return self._ends[0] if self._ends else None

    def due(self, now: Time) -> list[Id]:
        """The ids of the rows that may no longer be kept at ``now``."""
        ends = self._ends[: bisect_right(self._ends, now)]
        return [id for end in ends for id in self._rows[end]]

    def of(self, ids: Iterable[Id]) -> list[Time]:
        """The end of each of some rows; ``never`` for a row without one."""
        none = never(self.kind)
        return [self._until.get(id, none) for id in ids]

    def refuse_kind(self, kind: type, of_rows: type | None) -> None:
        """Raise unless ends of this kind fit the other ends, and the times of the rows."""
        expected = self.kind if of_rows is None else of_rows
        if expected is not None and kind is not expected:
            like = "the other rows" if of_rows is None else "'at'"
            got, had = kind_name(kind), kind_name(expected)
            text = f"'until' is {got}: expected {had}, as for {like}; convert one of them."
            raise BadTime(text)

    def add(self, ids: Iterable[Id], untils: Iterable[Time]) -> None:
        """Add rows; a row whose end is ``never`` has none."""
        pairs = [(id, end) for id, end in zip(ids, untils, strict=True) if end != never(type(end))]
        fresh = [end for end in dict.fromkeys(end for _, end in pairs) if end not in self._rows]
        for id, end in pairs:
            self._until[id] = end
            self._rows.setdefault(end, {})[id] = None
        if len(fresh) <= _FEW:
            for end in fresh:
                insort(self._ends, end)
        else:
            self._ends = sorted(self._rows)

    def remove(self, ids: Iterable[Id]) -> None:
        """Remove rows, those without an end included."""
        over: list[Time] = []
        for id in ids:
            end = self._until.pop(id, None)
            if end is not None:
                rows = self._rows[end]
                del rows[id]
                if not rows:
                    del self._rows[end]
                    over.append(end)
        if len(over) <= _FEW:
            for end in over:
                del self._ends[bisect_left(self._ends, end)]
        else:
            self._ends = [end for end in self._ends if end in self._rows]

    def consistent(self, ids: set[Id]) -> bool:
        """Whether only rows with these ids are kept, each of them under its end."""
        by_end = {id: end for end, rows in self._rows.items() for id in rows}
        known = self._until.keys() <= ids and by_end == self._until and all(self._rows.values())
        return known and self._ends == sorted(self._rows)

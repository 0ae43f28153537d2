"""Rows as columns: features, response, weight, code of the id, and what only some rows have.

A column that no row needs is None: times, ends, owners. A free place holds the fill value of its
column, which carries no information.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from efface.inputs.times import Times, kind_of, never
from efface.inputs.types import Ints, Matrix, Vector
from efface.live.names import NOBODY


@final
@dataclass(eq=False)
class RowTable:
    """Columns of rows.

    >>> rows = RowTable.empty(1)
    >>> rows.resize(3)
    >>> rows.put(np.array([1]), RowTable(np.ones((1, 1)), np.ones(1), np.ones(1), np.array([8])))
    >>> rows.ids, rows.take(np.array([1])).y
    (array([0, 8, 0]), array([1.]))
    """

    X: Matrix
    y: Vector
    weights: Vector
    ids: Ints  # codes
    times: Times | None = None
    owners: Ints | None = None  # codes
    untils: Times | None = None

    @classmethod
    def empty(cls, width: int) -> Self:
        """No rows of ``width`` features."""
        return cls(np.zeros((0, width)), np.zeros(0), np.zeros(0), np.zeros(0, np.int64))

    def __len__(self) -> int:
        return len(self.y)

    @property
    def columns(self) -> dict[str, NDArray[Any]]:
        """The columns that are not None, by name."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: values for name, values in found.items() if values is not None}

    @property
    def nbytes(self) -> int:
        return sum(values.nbytes for values in self.columns.values())

    def take(self, index: NDArray[np.intp] | slice) -> RowTable:
        """Copies of the rows at these places."""
        if isinstance(index, slice):
            return RowTable(**{name: values[index] for name, values in self.columns.items()})
        # Twice as fast as an index in brackets.
        return RowTable(**{name: values.take(index, 0) for name, values in self.columns.items()})

    def put(self, index: Ints, rows: RowTable) -> None:
        """Write rows to these places; a column that is missing here is added."""
        for name, values in rows.columns.items():
            self._column(name, values)[index] = values

    def clear(self, index: Ints) -> None:
        """Overwrite the rows at these places."""
        for name, values in self.columns.items():
            values[index] = _fill(name, values)

    def resize(self, count: int) -> None:
        """Add free places at the end, or take away the last ones."""
        before = len(self)
        for name, values in self.columns.items():
            values.resize((count, *values.shape[1:]), refcheck=False)  # grows where it lies
            values[before:] = _fill(name, values)

    def free(self, live: NDArray[np.bool_]) -> bool:
        """Do all places but the live ones hold fill values?"""
        return all(
            bool((values[~live] == _fill(name, values)).all())
            for name, values in self.columns.items()
        )

    def _column(self, name: str, like: NDArray[Any]) -> NDArray[Any]:
        found: NDArray[Any] | None = getattr(self, name)
        if found is None:
            found = np.full(len(self), _fill(name, like), like.dtype)
            setattr(self, name, found)
        return found


def joined(parts: Sequence[RowTable]) -> RowTable:
    """One table after the other; a column that only some have is filled."""
    if len(parts) == 1:
        return parts[0]
    whole = RowTable.empty(parts[0].X.shape[1])
    whole.resize(sum(map(len, parts)))
    at = 0
    for part in parts:
        whole.put(np.arange(at, at + len(part)), part)
        at += len(part)
    return whole


def _fill(name: str, values: NDArray[Any]) -> Any:
    if name == "untils":
        return never(kind_of(values))
    return NOBODY if name == "owners" else 0

"""Rows of one model as columns: what a store encrypts, and what it gives back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from efface.inputs.ids import Id
from efface.inputs.times import Time, Times, kind_of, never
from efface.live.arrivals import Arrivals

Names = Sequence[Id | None]


@final
@dataclass(frozen=True, eq=False)
class StoredRows:
    """Rows in the order of their arrival.

    >>> rows = StoredRows(np.ones((2, 1)), np.ones(2), np.ones(2), ["a", "b"])
    >>> rows.take(np.array([1])).ids
    ['b']
    """

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    weights: NDArray[np.float64]
    ids: Sequence[Id]
    times: Times | None = None
    untils: Times | None = None  # of rows without an end: ``never``
    owners: Names | None = None
    keys: Names | None = None  # of a model with one model per key
    phases: NDArray[np.int64] | None = None  # of the policy of the key, once the row is in

    def __len__(self) -> int:
        return len(self.y)

    @classmethod
    def none(cls, width: int) -> StoredRows:
        """No rows."""
        return cls(np.zeros((0, width)), np.zeros(0), np.zeros(0), [])

    @classmethod
    def of(cls, new: Arrivals, keys: Names | None = None) -> StoredRows:
        """Checked rows that are about to be learned."""
        about = new.times, new.untils, new.owners, keys
        return cls(new.X, new.y, new.weights, new.ids, *about)

    def arrivals(self) -> Arrivals:
        """As the library learns them."""
        about = self.times, False, self.weights, self.owners, self.untils
        return Arrivals(self.X, self.y, self.ids, *about)

    def take(self, places: NDArray[np.intp]) -> StoredRows:
        """Some of the rows, in the order of ``places``."""
        order = places.tolist()

        def some(values: Any) -> Any:
            if values is None:
                return None
            array = isinstance(values, np.ndarray)
            return values[places] if array else [values[k] for k in order]

        return replace(self, **{name: some(values) for name, values in vars(self).items()})

    def equal(self, other: StoredRows) -> NDArray[np.bool_]:
        """Which rows have the content of those at the same places of ``other``."""
        same = (self.X == other.X).all(axis=1) & (self.y == other.y)
        same &= self.weights == other.weights
        if (self.times is None) != (other.times is None):
            return np.zeros(len(self), dtype=bool)
        if self.times is not None:
            same &= self.times == other.times
        for mine, theirs in (
            (self.owners, other.owners),
            (self.keys, other.keys),
            (_open_ends(self.untils), _open_ends(other.untils)),
        ):
            none = [None] * len(self)
            pairs = zip(mine or none, theirs or none, strict=True)
            same &= np.array([a == b for a, b in pairs], dtype=bool)
        return np.asarray(same)


def _open_ends(ends: Times | None) -> list[Time | None] | None:
    """Ends, with None for rows without one, whatever the kind of times."""
    if ends is None:
        return None
    none = never(kind_of(ends))
    return [None if end == none else end for end in ends.tolist()]


def joined(parts: Sequence[StoredRows]) -> StoredRows | None:
    """The rows of many requests as one batch; None if their times are of different kinds."""
    if len(parts) == 1:
        return parts[0]
    kinds = {kind_of(part.times) for part in parts}
    ends = {kind_of(part.untils) for part in parts if part.untils is not None}
    return None if len(kinds) > 1 or len(ends) > 1 else concatenated(parts)


def concatenated(parts: Sequence[StoredRows]) -> StoredRows:
    """The rows of all parts, in this order; times and phases if all parts have them."""

    def array(name: str) -> Any:
        each = [getattr(part, name) for part in parts]
        return None if any(values is None for values in each) else np.concatenate(each)

    def names(name: str) -> Any:
        found = [each for part in parts for each in getattr(part, name) or [None] * len(part)]
        return found if any(getattr(part, name) is not None for part in parts) else None

    ends = next((part.untils for part in parts if part.untils is not None), None)
    untils: Any = None
    if ends is not None:
        none = np.full(1, never(kind_of(ends)), dtype=ends.dtype)
        columns = [np.repeat(none, len(p)) if p.untils is None else p.untils for p in parts]
        untils = np.concatenate(columns)
    values = array("X"), array("y"), array("weights"), names("ids"), array("times"), untils
    return StoredRows(*values, names("owners"), names("keys"), array("phases"))

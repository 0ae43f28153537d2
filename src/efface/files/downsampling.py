"""A long series in little room: bins of rows that keep their mean and their extremes.

Nobody knows beforehand how long a stream is. A digest starts with one row a bin; when its bins are
full, neighbours are joined and every bin holds twice as many rows. A short series is thus kept as
it is, and of a long one no peak is lost.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

_SUM, _COUNT, _LOW, _HIGH = range(4)


class Digest:
    """Columns of numbers, row by row, in at most ``bins`` bins; NaN is no number.

    >>> digest = Digest(bins=2)
    >>> digest.add({"y": np.array([1.0, 5.0, 2.0])})
    >>> digest.width, digest.mean("y"), digest.high("y")
    (2, array([3., 2.]), array([5., 2.]))
    """

    def __init__(self, bins: int) -> None:
        assert bins % 2 == 0
        self.bins = bins
        self.width = 1  # rows a bin
        self.rows = 0
        self._parts: dict[str, NDArray[np.float64]] = {}

    @property
    def names(self) -> list[str]:
        """The columns."""
        return list(self._parts)

    def add(self, columns: Mapping[str, Vector]) -> None:
        """Take in the next rows; every call brings the same columns."""
        count = len(next(iter(columns.values())))
        if not count:
            return
        while (self.rows + count - 1) // self.width >= self.bins:
            self._fold()
        place = np.arange(self.rows, self.rows + count) // self.width
        starts = np.flatnonzero(np.diff(place, prepend=-1))
        for name, values in columns.items():
            self._enter(name, np.asarray(values, dtype=np.float64), place[starts], starts)
        self.rows += count

    def mean(self, name: str) -> Vector:
        """The mean of each bin; NaN where it holds no number."""
        part = self._part(name)
        with np.errstate(invalid="ignore"):
            return np.asarray(part[_SUM] / part[_COUNT])

    def low(self, name: str) -> Vector:
        """The least number of each bin."""
        return self._extreme(name, _LOW)

    def high(self, name: str) -> Vector:
        """The greatest number of each bin."""
        return self._extreme(name, _HIGH)

    def _extreme(self, name: str, which: int) -> Vector:
        part = self._part(name)
        return np.where(part[_COUNT] > 0, part[which], np.nan)

    def _part(self, name: str) -> NDArray[np.float64]:
        return self._parts[name][:, : -(-self.rows // self.width)]

    def _enter(
        self, name: str, values: Vector, place: NDArray[np.int64], starts: NDArray[np.intp]
    ) -> None:
        part = self._parts.setdefault(name, _empty(self.bins))
        missing = np.isnan(values)
        some = bool(missing.any())  # seldom: then there is less to do
        count = np.diff(starts, append=values.size)
        if some:
            count = np.add.reduceat((~missing).astype(np.int64), starts)
        known, low, high = (
            np.where(missing, number, values) if some else values
            for number in (0.0, np.inf, -np.inf)
        )
        part[_SUM, place] += np.add.reduceat(known, starts)
        part[_COUNT, place] += count
        part[_LOW, place] = np.minimum(part[_LOW, place], np.minimum.reduceat(low, starts))
        part[_HIGH, place] = np.maximum(part[_HIGH, place], np.maximum.reduceat(high, starts))

    def _fold(self) -> None:
        """Join neighbours: half the bins, twice the rows in each."""
        for name, part in self._parts.items():
            pairs, joined = part.reshape(4, -1, 2), _empty(self.bins)
            half = self.bins // 2
            joined[:_LOW, :half] = pairs[:_LOW].sum(axis=2)
            joined[_LOW, :half] = pairs[_LOW].min(axis=1)
            joined[_HIGH, :half] = pairs[_HIGH].max(axis=1)
            self._parts[name] = joined
        self.width *= 2


def _empty(bins: int) -> NDArray[np.float64]:
    return np.repeat([[0.0], [0.0], [np.inf], [-np.inf]], bins, axis=1)

"""Downsampling of a series of unknown length into bins with mean, minimum and maximum.

A series starts with one row per bin. When all bins are full, neighbouring bins are merged and each
bin holds twice as many rows. A short series is therefore kept unchanged, and a long one keeps every
peak.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from efface.inputs.types import Vector

_SUM, _COUNT, _LOW, _HIGH = range(4)


class BinnedSeries:
    """Columns of numbers in at most ``bins`` bins of equal width; NaN is ignored.

    >>> series = BinnedSeries(bins=2)
    >>> series.add({"y": np.array([1.0, 5.0, 2.0])})
    >>> series.width, series.mean("y"), series.high("y")
    (2, array([3., 2.]), array([5., 2.]))
    """

    def __init__(self, bins: int) -> None:
        assert bins % 2 == 0
        self.bins = bins
        self.width = 1  # rows per bin
        self.rows = 0
        self._columns: dict[str, NDArray[np.float64]] = {}

    def add(self, columns: Mapping[str, Vector]) -> None:
        """Append rows; every call passes the same columns."""
        count = len(next(iter(columns.values())))
        if not count:
            return
        while (self.rows + count - 1) // self.width >= self.bins:
            self._merge_neighbours()
        bin_of_row = np.arange(self.rows, self.rows + count) // self.width
        starts = np.flatnonzero(np.diff(bin_of_row, prepend=-1))
        for name, values in columns.items():
            column = self._columns.setdefault(name, _empty(self.bins))
            _accumulate(column, np.asarray(values, dtype=np.float64), bin_of_row[starts], starts)
        self.rows += count

    def mean(self, name: str) -> Vector:
        """The mean of each bin; NaN where the bin has no number."""
        column = self._filled(name)
        with np.errstate(invalid="ignore"):
            return np.asarray(column[_SUM] / column[_COUNT])

    def low(self, name: str) -> Vector:
        """The minimum of each bin; NaN where the bin has no number."""
        return self._extreme(name, _LOW)

    def high(self, name: str) -> Vector:
        """The maximum of each bin; NaN where the bin has no number."""
        return self._extreme(name, _HIGH)

    def _extreme(self, name: str, which: int) -> Vector:
        column = self._filled(name)
        return np.where(column[_COUNT] > 0, column[which], np.nan)

    def _filled(self, name: str) -> NDArray[np.float64]:
        return self._columns[name][:, : -(-self.rows // self.width)]

    def _merge_neighbours(self) -> None:
        """Halve the number of bins in use and double their width."""
        for name, column in self._columns.items():
            pairs, merged = column.reshape(4, -1, 2), _empty(self.bins)
            half = self.bins // 2
            merged[:_LOW, :half] = pairs[:_LOW].sum(axis=2)
            merged[_LOW, :half] = pairs[_LOW].min(axis=1)
            merged[_HIGH, :half] = pairs[_HIGH].max(axis=1)
            self._columns[name] = merged
        self.width *= 2


def _accumulate(
    column: NDArray[np.float64], values: Vector, bins: NDArray[np.int64], starts: NDArray[np.intp]
) -> None:
    """Add values to bins; those of bin ``bins[k]`` begin at ``starts[k]``."""
    known = ~np.isnan(values)
    if known.all():  # the usual case: nothing to mask
        count = np.diff(starts, append=values.size)
        numbers = low = high = values
    else:
        count = np.add.reduceat(known.astype(np.int64), starts)
        numbers, low, high = (np.where(known, values, fill) for fill in (0.0, np.inf, -np.inf))
    column[_SUM, bins] += np.add.reduceat(numbers, starts)
    column[_COUNT, bins] += count
    column[_LOW, bins] = np.minimum(column[_LOW, bins], np.minimum.reduceat(low, starts))
    column[_HIGH, bins] = np.maximum(column[_HIGH, bins], np.maximum.reduceat(high, starts))


def _empty(bins: int) -> NDArray[np.float64]:
    return np.repeat([[0.0], [0.0], [np.inf], [-np.inf]], bins, axis=1)

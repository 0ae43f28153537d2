"""Windows whose rows fade: a row of age a has the weight 2^(-a / halflife).

As rows arrive, the weights of all others are multiplied by one factor, which does not change a
least squares solution. So the rows of a block keep one weight each, relative to the last row of the
block, and the block is solved as any weighted problem is. A new block begins before the weights of
the oldest rows become too small. Nothing is scaled over and over, and nothing is subtracted. Rows
leave after 53 half-lives, where their weight is below the rounding of the newest row, or earlier,
as the window says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from efface.batch.groups import RowArrays
from efface.batch.varying_windows import WindowFits
from efface.inputs.types import Ints, Vector
from efface.live.half_life import HalfLife

_SPAN = 160.0  # half-lives from the first to the last row of a block


class RowBlock(NamedTuple):
    """Rows of a group whose windows are solved together."""

    first: int  # the first row of all windows
    start: int  # the first row with a window in this block
    stop: int


def blocks(ages: Vector, starts: Ints) -> Iterator[RowBlock]:
    """Cut rows into blocks of at most 160 half-lives, the rows of the first window included.

    >>> [tuple(map(int, block)) for block in blocks(np.arange(7) * 50.0, np.arange(7))]
    [(0, 0, 4), (4, 4, 7)]
    """
    start, n = 0, len(ages)
    while start < n:
        first = int(starts[start])
        stop = int(np.searchsorted(ages, ages[first] + _SPAN, side="right"))
        stop = min(max(stop, start + 1), n)
        yield RowBlock(first, start, stop)
        start = stop


def fit_fading(
    rows: RowArrays,
    starts: Ints,
    halflife: HalfLife,
    fit: Callable[[RowArrays, Ints, Vector], WindowFits],
) -> WindowFits:
    """The fits of all windows; ``fit`` solves windows of weighted rows with units."""
    ages, parts = halflife.halvings(len(rows.y), rows.times), []
    for first, start, stop in blocks(ages, starts):
        fades = np.exp2(ages[first:stop] - ages[stop - 1])
        some = _weighted(rows.at(slice(first, stop)), fades)
        fits = fit(some, np.maximum(starts[first:stop] - first, 0), fades)
        _scale_back(fits, fades)
        parts.append([values[start - first :] for values in fits.arrays])
    if not parts:
        return fit(rows, starts, np.ones(0))
    whole = [np.concatenate(values) for values in zip(*parts, strict=True)]
    return fits.with_arrays(whole)


def _weighted(rows: RowArrays, fades: Vector) -> RowArrays:
    """Rows whose weights are multiplied by fades."""
    return rows._replace(weights=fades if rows.weights is None else fades * rows.weights)


def _scale_back(fits: WindowFits, fades: Vector) -> None:
    """Make the last row of each window one of full weight; coefficients do not change."""
    if fits.inference is None:
        return
    variance, base, unexplained, total = fits.inference
    factor = 1.0 / fades
    variance /= factor[:, np.newaxis]
    base /= factor
    unexplained *= factor
    total *= factor

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
from math import ceil
from typing import Any, NamedTuple

import numpy as np

from efface.batch.groups import RowArrays
from efface.batch.varying_windows import Regression, WindowFits
from efface.errors import InvalidValue, invalid
from efface.inputs.months import Months
from efface.inputs.parameters import positive
from efface.inputs.times import as_duration
from efface.inputs.types import Ints, Vector
from efface.live.policies import FIFD, KeepAll, KeepFor, Policy

MOST = 53.0  # half-lives after which a row leaves
_SPAN = 160.0  # half-lives from the first to the last row of a block


class HalfLife(NamedTuple):
    """A half-life in rows, or, with ``timed``, in the unit of times: nanoseconds or a number."""

    length: float
    timed: bool

    def ages(self, rows: RowArrays) -> Vector:
        """How many half-lives each row came after the first one."""
        if not self.timed:
            return np.arange(len(rows.y)) / self.length
        assert rows.times is not None
        return np.asarray((rows.times - rows.times[:1]) / self.length, dtype=np.float64)


def as_half_life(halflife: object, policy: Policy) -> tuple[HalfLife, Policy]:
    """A half-life, and the policy under which rows leave after 53 of them or earlier.

    >>> as_half_life(10, KeepAll())
    (HalfLife(length=10.0, timed=False), FIFD(rows=530))
    >>> as_half_life("2d", KeepFor("30d"))[1]
    KeepFor(duration='30d')
    """
    if isinstance(halflife, int | float | np.number) and not isinstance(policy, KeepFor):
        rows = positive("halflife", halflife)
        if not isinstance(policy, FIFD | KeepAll):
            raise invalid("window", policy, "a number of rows or None", "or leave halflife out")
        most = max(1, ceil(MOST * rows))
        return HalfLife(rows, False), FIFD(
            min(most, policy.rows) if isinstance(policy, FIFD) else most
        )
    return _timed(halflife, policy)


def _timed(halflife: object, policy: Policy) -> tuple[HalfLife, Policy]:
    length = as_duration(halflife)
    if isinstance(length, Months):
        raise invalid("halflife", halflife, "a duration of a fixed length", "write 30d, not 1mo")
    if not isinstance(policy, KeepFor | KeepAll):
        text = f"'halflife' is {halflife!r}, a duration, but 'window' is {policy!r}"
        raise InvalidValue(f"{text}: pass a duration or None as window, or rows as halflife.")
    if isinstance(policy, KeepFor) and isinstance(policy.length, Months):
        raise invalid("window", policy, "a duration of a fixed length", "write 90d, not 3mo")
    timed = HalfLife(float(length), True)
    whole = np.timedelta64(round(MOST * length), "ns")
    most = KeepFor(MOST * length if isinstance(length, float) else whole)
    if isinstance(policy, KeepFor) and type(policy.length) is type(length):
        return timed, policy if float(policy.length) <= MOST * length else most
    return timed, policy if isinstance(policy, KeepFor) else most


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
    found: WindowFits,
    fit: Callable[[RowArrays], WindowFits],
) -> WindowFits:
    """Fill ``found`` with the fits of all windows; ``fit`` solves windows of weighted rows."""
    ages = halflife.ages(rows)
    for first, start, stop in blocks(ages, starts):
        fits = fit(_weighted(rows.at(slice(first, stop)), ages[first:stop] - ages[stop - 1]))
        _scale_back(fits, np.exp2(ages[stop - 1] - ages[first:stop]))
        for target, values in zip(found.arrays, fits.arrays, strict=True):
            target[start:stop] = values[start - first :]
    return found


def _weighted(rows: RowArrays, halvings: Vector) -> RowArrays:
    """Rows whose weights are halved so many times, as a negative number."""
    weights = np.exp2(halvings)
    return rows._replace(weights=weights if rows.weights is None else weights * rows.weights)


def _scale_back(fits: WindowFits, factor: Vector) -> None:
    """Make the last row of each window one of full weight; coefficients do not change."""
    if fits.inference is None:
        return
    variance, base, unexplained, total = fits.inference
    variance /= factor[:, np.newaxis]
    base /= factor
    unexplained *= factor
    total *= factor


def fit_penalised(
    rows: RowArrays, starts: Ints, halflife: HalfLife, regression: Regression, least: int
) -> tuple[Any, Vector]:
    """Coefficients and intercepts with a penalty, window by window.

    The penalty counts beside a newest row of full weight, so that weights are those of each window.
    """
    n, d = rows.X.shape
    ages, coef, level = halflife.ages(rows), np.full((n, d), np.nan), np.full(n, np.nan)
    for t in range(least - 1, n):
        if t + 1 - starts[t] < least:
            continue
        part = _weighted(rows.at(slice(starts[t], t + 1)), ages[starts[t] : t + 1] - ages[t])
        live = regression.start(d, KeepAll())
        live.learn(live.arrivals(part.X, part.y, None, None, part.weights))
        coef[t], level[t] = live.solver.coef, live.solver.intercept
    return coef, level

"""Rows of many groups: the complete ones, group after group, and the way back to those given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from efface.batch.groups import refuse_back, sorted_groups
from efface.inputs.arrays import Matrix, Vector
from efface.inputs.times import Times

Ints = NDArray[np.int64]


class Rows(NamedTuple):
    """Features and responses, and what comes with them."""

    X: Matrix
    y: Vector
    weights: Vector | None = None
    times: Times | None = None

    def at(self, places: slice | NDArray[np.intp]) -> Rows:
        """Some of them."""
        weights = None if self.weights is None else self.weights[places]
        times = None if self.times is None else self.times[places]
        return Rows(self.X[places], self.y[places], weights, times)


class Panel(NamedTuple):
    """The complete rows, group after group, and which of them speaks for each row given."""

    rows: Rows
    bounds: Ints  # group g has rows bounds[g] to bounds[g + 1]
    upto: Ints | None  # for each row given, the last complete one of its group up to it, or -1
    before: Ints | None  # and before it; None for both: the rows themselves, one group


def panel_of(given: Rows, groups: Sequence[tuple[str, Any]], at: Any, *, skip: bool) -> Panel:
    """Bring the rows of each group together, in order of time; ``skip`` those that have a gap.

    ``at`` are the times as they were given, for an error to name.

    >>> given = Rows(np.ones((4, 1)), np.array([1.0, np.nan, 3.0, 4.0]))
    >>> panel = panel_of(given, [("asset", ["b", "b", "a", "b"])], None, skip=True)
    >>> panel.rows.y, panel.bounds
    (array([3., 1., 4.]), array([0, 1, 3]))
    >>> taken(panel.rows.y, panel.before)
    array([nan,  1., nan,  1.])
    """
    X, y, _, times = given
    complete = ~(np.isnan(X).any(axis=1) | np.isnan(y)) if skip else None
    if complete is not None and complete.all():
        complete = None
    order, starts = sorted_groups(groups, len(y))
    if times is not None:
        refuse_back(times, at, order, starts)
    if not groups and complete is None:
        return Panel(given, np.array([0, len(y)]), None, None)
    alive = np.ones(len(y), dtype=bool) if complete is None else complete[order]
    seen = np.concatenate([[0], np.cumsum(alive)])  # complete rows before each place in the order
    base = np.repeat(seen[starts[:-1]], np.diff(starts))  # and before its group
    upto, before = np.empty(len(y), dtype=np.int64), np.empty(len(y), dtype=np.int64)
    for target, last in ((upto, seen[1:] - 1), (before, seen[:-1] - 1)):
        target[order] = np.where(last >= base, last, -1)
    kept = order if complete is None else order[alive]
    return Panel(given.at(kept), seen[starts], upto, before)


def taken(values: NDArray[Any], index: Ints | None) -> NDArray[Any]:
    """``values[index]``; NaN, or -1 for whole numbers, where the index is -1.

    >>> taken(np.array([5, 7]), np.array([1, -1]))
    array([ 7, -1])
    """
    if index is None:
        return values
    if not len(values):
        values = np.zeros((1, *values.shape[1:]), dtype=values.dtype)
    found = values.take(index, axis=0)
    found[index < 0] = -1 if values.dtype.kind == "i" else np.nan
    return found

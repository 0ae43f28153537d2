"""Rows of many groups: sorted by group, without incomplete rows, and mapped back to the input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from efface.errors import BadTime, invalid, unusable
from efface.inputs.frames import items
from efface.inputs.masks import first_masked
from efface.inputs.times import Times
from efface.inputs.types import Ints, Matrix, Vector

_UNLABELLED = "drop rows without a group, or label them"


class RowArrays(NamedTuple):
    """Features, responses, weights and times of some rows."""

    X: Matrix
    y: Vector
    weights: Vector | None = None
    times: Times | None = None

    def at(self, positions: slice | NDArray[np.intp]) -> RowArrays:
        """The rows at these positions."""
        weights = None if self.weights is None else self.weights[positions]
        times = None if self.times is None else self.times[positions]
        return RowArrays(self.X[positions], self.y[positions], weights, times)


class GroupedRows(NamedTuple):
    """The complete rows sorted by group, and for each input row the complete rows that precede it.

    ``upto`` and ``before`` are None if the complete rows are the input rows, as one group.
    """

    rows: RowArrays
    bounds: Ints  # group g has the rows bounds[g] to bounds[g + 1]
    upto: Ints | None  # the last complete row of the group, the row itself included; -1 for none
    before: Ints | None  # the same, the row itself excluded


def group_rows(
    given: RowArrays, groups: Sequence[tuple[str, Any]], at: Any, *, skip: bool
) -> GroupedRows:
    """Sort rows by group, each group in order of time; with ``skip`` drop rows with a NaN.

    ``at`` holds the times as the caller passed them, for error messages.

    >>> given = RowArrays(np.ones((4, 1)), np.array([1.0, np.nan, 3.0, 4.0]))
    >>> grouped = group_rows(given, [("asset", ["b", "b", "a", "b"])], None, skip=True)
    >>> grouped.rows.y, grouped.bounds
    (array([3., 1., 4.]), array([0, 1, 3]))
    >>> take_or_missing(grouped.rows.y, grouped.before)
    array([nan,  1., nan,  1.])
    """
    X, y, _, times = given
    complete = np.ones(len(y), dtype=bool)
    if skip:
        complete = ~(np.isnan(X).any(axis=1) | np.isnan(y))
    order, starts = sorted_groups(groups, len(y))
    if times is not None:
        refuse_decreasing_times(times, at, order, starts)
    if not groups and complete.all():
        return GroupedRows(given, np.array([0, len(y)]), None, None)
    kept = complete[order]
    count = np.concatenate([[0], np.cumsum(kept)])  # complete rows before each sorted position
    base = np.repeat(count[starts[:-1]], np.diff(starts))  # and before the start of its group
    upto, before = np.empty(len(y), dtype=np.int64), np.empty(len(y), dtype=np.int64)
    for target, last in ((upto, count[1:] - 1), (before, count[:-1] - 1)):
        target[order] = np.where(last >= base, last, -1)
    return GroupedRows(given.at(order[kept]), count[starts], upto, before)


def take_or_missing(values: NDArray[Any], index: Ints | None) -> NDArray[Any]:
    """``values[index]``; where the index is -1, NaN for floats and -1 for integers.

    >>> take_or_missing(np.array([5, 7]), np.array([1, -1]))
    array([ 7, -1])
    """
    if index is None:
        return values
    if not len(values):
        values = np.zeros((1, *values.shape[1:]), dtype=values.dtype)
    found = values.take(index, axis=0)
    found[index < 0] = -1 if values.dtype.kind == "i" else np.nan
    return found


def sorted_groups(columns: Sequence[tuple[str, Any]], count: int) -> tuple[NDArray[np.intp], Ints]:
    """A stable order that sorts rows by group, and the bounds of the groups in it.

    ``columns`` are (name, labels) pairs. Two rows are in one group if all their labels are equal.

    >>> sorted_groups([("asset", ["b", "a", "b"]), ("year", [1, 1, 2])], 3)
    (array([1, 0, 2]), array([0, 1, 2, 3]))
    """
    if not columns or count == 0:
        return np.arange(count), np.array([0, count])
    labels = _labels(*columns[0], count)
    for column in columns[1:]:
        labels = _narrow(_combined(labels, _labels(*column, count)))
    order = np.argsort(labels, kind="stable")
    ranked = labels[order]
    starts = np.flatnonzero(ranked[1:] != ranked[:-1]) + 1
    return order, np.concatenate([[0], starts, [count]])


def refuse_decreasing_times(
    times: NDArray[Any], given: Any, order: NDArray[np.intp], starts: Ints
) -> None:
    """Raise ``BadTime`` if a time is before that of the previous row of its group.

    >>> order = sorted_groups([("asset", ["b", "a", "b"])], 3)
    >>> refuse_decreasing_times(np.array([1, 0, 1]), [1, 0, 1], *order)
    """
    ranked = times[order]
    decreases = np.append(False, ranked[1:] < ranked[:-1])
    decreases[starts[:-1]] = False
    if times.size and decreases.any():
        row = int(order[decreases.argmax()])
        expected = "no time before that of the previous row of its group"
        text = unusable(f"at[{row}]", str(items(given)[row]), expected, "sort the rows by time")
        raise BadTime(text)


def _combined(one: NDArray[Any], other: NDArray[Any]) -> Ints:
    """One number for each distinct pair of labels."""
    first, second = (np.unique(labels, return_inverse=True)[1] for labels in (one, other))
    pairs = first * (second.max() + 1) + second
    return np.unique(pairs, return_inverse=True)[1].astype(np.int64)


def _labels(subject: str, groups: Any, count: int) -> NDArray[Any]:
    """Labels that can be sorted: as they are, or numbered in order of appearance."""
    masked = first_masked(groups)
    if masked is not None:
        raise invalid(f"{subject}[{masked[0]}]", "masked", "a label", _UNLABELLED)
    labels = np.asarray(items(groups))
    if labels.shape != (count,):
        advice = "pass one label per row"
        raise invalid(subject, labels.shape, f"the shape ({count},)", advice)
    if labels.dtype.kind in "iu":
        return _narrow(labels)
    if labels.dtype.kind in "bU" or (labels.dtype.kind == "M" and not np.isnat(labels).any()):
        return labels
    known: dict[Any, int] = {}
    codes = [known.setdefault(label, len(known)) for label in labels.tolist()]
    for label, code in known.items():
        if _is_missing(label):
            text = f"{subject}[{codes.index(code)}]"
            raise invalid(text, label, "a label", _UNLABELLED)
    return _narrow(np.array(codes, dtype=np.int64))


def _is_missing(label: Any) -> bool:
    return label is None or type(label).__name__ == "NAType" or bool(label != label)


def _narrow(labels: NDArray[Any]) -> NDArray[Any]:
    """As 16-bit integers where they fit: NumPy sorts those in linear time."""
    low, high = int(labels.min()), int(labels.max())
    return (labels - low).astype(np.uint16) if high - low < 2**16 else labels

"""Labels of rows, and an order of the rows that brings those with the same label together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.errors import BadTime, InvalidValue, unusable
from efface.inputs.frames import items

Ints = NDArray[np.int64]


def sorted_groups(columns: Sequence[tuple[str, Any]], count: int) -> tuple[NDArray[np.intp], Ints]:
    """Rows in an order that brings groups together, and where each group starts in it.

    A group is what rows have in common in all columns, each given with what to call it.

    >>> sorted_groups([("asset", ["b", "a", "b"]), ("year", [1, 1, 2])], 3)
    (array([1, 0, 2]), array([0, 1, 2, 3]))
    """
    if not columns or count == 0:
        return np.arange(count), np.array([0, count])
    labels = _labels(*columns[0], count)
    for column in columns[1:]:
        labels = _short(_combined(labels, _labels(*column, count)))
    order = np.argsort(labels, kind="stable")
    ranked = labels[order]
    starts = np.flatnonzero(ranked[1:] != ranked[:-1]) + 1
    return order, np.concatenate([[0], starts, [count]])


def refuse_back(times: NDArray[Any], given: Any, order: NDArray[np.intp], starts: Ints) -> None:
    """Raise unless the rows of each group come in the order of their times.

    >>> refuse_back(np.array([1, 0, 1]), [1, 0, 1], *sorted_groups([("asset", ["b", "a", "b"])], 3))
    """
    ranked = times[order]
    back = np.append(False, ranked[1:] < ranked[:-1])
    back[starts[:-1]] = False
    if times.size and back.any():
        row = int(order[back.argmax()])
        expected = "no time before that of the row before it, in its group"
        text = unusable(f"at[{row}]", str(items(given)[row]), expected, "sort the rows by time")
        raise BadTime(text)


def _combined(one: NDArray[Any], other: NDArray[Any]) -> Ints:
    """A number for each pair of labels."""
    first, second = (np.unique(labels, return_inverse=True)[1] for labels in (one, other))
    pairs = first * (second.max() + 1) + second
    return np.unique(pairs, return_inverse=True)[1].astype(np.int64)


def _labels(subject: str, groups: Any, count: int) -> NDArray[Any]:
    """Labels that sort: as they are, or counted from 0."""
    labels = np.asarray(items(groups))
    if labels.shape != (count,):
        advice = "pass one label a row"
        raise InvalidValue(unusable(subject, labels.shape, f"the shape ({count},)", advice))
    if labels.dtype.kind in "iu":
        return _short(labels)
    if labels.dtype.kind in "bU" or (labels.dtype.kind == "M" and not np.isnat(labels).any()):
        return labels
    known: dict[Any, int] = {}
    codes = [known.setdefault(label, len(known)) for label in labels.tolist()]
    for label, code in known.items():
        if _is_gap(label):
            text = f"{subject}[{codes.index(code)}]"
            advice = "drop or name rows without a group"
            raise InvalidValue(unusable(text, label, "a label", advice))
    return _short(np.array(codes, dtype=np.int64))


def _is_gap(label: Any) -> bool:
    return label is None or type(label).__name__ == "NAType" or bool(label != label)


def _short(labels: NDArray[Any]) -> NDArray[Any]:
    """In 16 bits where they fit: those are sorted in linear time."""
    low, high = int(labels.min()), int(labels.max())
    return (labels - low).astype(np.uint16) if high - low < 2**16 else labels

"""Ids of rows, checked: an int or a str per row."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from efface.errors import InvalidValue, unusable
from efface.inputs.frames import items

Id = int | str


def as_id(id: object) -> Id:
    """One id: an int or a str, nothing that only looks like one.

    >>> as_id(np.int64(7)), as_id("ann")
    (7, 'ann')
    """
    if type(id) is int:
        return id
    if isinstance(id, str):
        return str(id)
    if isinstance(id, int | np.integer) and not isinstance(id, bool | np.timedelta64):
        return int(id)
    raise InvalidValue(unusable("id", id, "an int or a str", "name the row by one"))


def as_ids(ids: Iterable[object], count: int) -> list[Id]:
    """One id for each of ``count`` rows."""
    if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
        raise InvalidValue(unusable("ids", ids, f"{count} ids", "pass one a row, in a list"))
    known = [as_id(id) for id in _plain(ids)]
    if len(known) != count:
        raise InvalidValue(unusable("ids", f"{len(known)} long", f"{count} ids", "pass one a row"))
    return known


def some_ids(ids: object) -> list[Id]:
    """One id or many, each once."""
    if isinstance(ids, str | int | np.integer) or not isinstance(ids, Iterable):
        return [as_id(ids)]
    return list(dict.fromkeys(as_id(id) for id in _plain(ids)))


def _plain(given: Iterable[Any]) -> Iterable[Any]:
    ids: Iterable[Any] = items(given)
    return ids.tolist() if isinstance(ids, np.ndarray) and ids.dtype.kind in "iuU" else ids

"""Ids of rows and owners of rows, checked: an int or a str per row.

A UUID is accepted for either; it is kept as its text in lowercase.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from efface.errors import invalid
from efface.inputs.frames import entries, items, missing

Id = int | str
AnyId = int | str | UUID  # what callers may pass
_NAMES = {
    "id": "name the row by one",
    "owner": "name the person by one",
    "key": "name the model by one",
}


def as_id(id: object, subject: str = "id") -> Id:
    """One id: an int, a str or a UUID, nothing that only looks like one.

    >>> as_id(np.int64(7)), as_id("ann"), as_id(UUID(int=10))
    (7, 'ann', '00000000-0000-0000-0000-00000000000a')
    """
    if type(id) is int:
        return id
    if isinstance(id, str | UUID):
        return str(id)
    if isinstance(id, int | np.integer) and not isinstance(id, bool | np.timedelta64):
        return int(id)
    raise invalid(subject, id, "an int or a str", _NAMES[subject])


def as_ids(ids: object, count: int, subject: str = "id") -> list[Id]:
    """One id for each of ``count`` rows."""
    given = _one_per_row(ids, count, f"{subject}s")
    plain = set(map(type, given)) <= {int, str}  # the frequent case
    return given if plain else [as_id(id, subject) for id in given]


def id_column(ids: Any, count: int, subject: str = "id") -> NDArray[np.int64] | list[Id]:
    """One id for each of ``count`` rows: an array if all are ints of 64 bits, else a list.

    >>> id_column([3, 4], 2), id_column(["a", 4], 2)
    (array([3, 4]), ['a', 4])
    """
    values = items(ids)
    whole = isinstance(values, np.ndarray) and values.dtype.kind in "iu" and values.ndim == 1
    plain = whole and values.dtype != np.uint64 and not isinstance(values, np.ma.MaskedArray)
    if plain and len(values) == count:
        return np.asarray(values, dtype=np.int64)
    known = as_ids(values, count, subject)
    if set(map(type, known)) != {int}:
        return known
    try:
        return np.array(known, dtype=np.int64)
    except OverflowError:  # a number of more than 64 bits
        return known


def as_owners(owners: object, count: int) -> list[Id | None] | None:
    """One owner for each of ``count`` rows, None for a row without one; None if no row has one.

    >>> as_owners(["ann", None, 7], 3), as_owners([None], 1)
    (['ann', None, 7], None)
    """
    if owners is None:
        return None
    found = _one_per_row(entries(owners), count, "owners")
    if not set(map(type, found)) <= {int, str, type(None)}:  # the frequent case
        found = [None if missing(each) else as_id(each, "owner") for each in found]
    return found if found.count(None) < len(found) else None


def some_ids(ids: object, subject: str = "id") -> list[Id]:
    """One id or many, each once."""
    if isinstance(ids, str | int | np.integer) or not isinstance(ids, Iterable):
        return [as_id(ids, subject)]
    return list(dict.fromkeys(as_id(id, subject) for id in _plain(ids)))


class RequestedRows(NamedTuple):
    """Whose rows are to be forgotten: those with these ids, and those of these owners."""

    ids: list[Id]
    owners: list[Id]


def requested(ids: object, owner: object, owners: object) -> RequestedRows:
    """The rows that the arguments of ``forget`` name; one of them must be given.

    >>> requested(None, "ann", None)
    RequestedRows(ids=[], owners=['ann'])
    """
    if ids is None and owner is None and owners is None:
        raise invalid("ids", None, "ids or owners of rows", "pass ids=, owner= or owners=")
    one = [] if owner is None else [as_id(owner, "owner")]
    many = [] if owners is None else some_ids(owners, "owner")
    return RequestedRows([] if ids is None else some_ids(ids), list(dict.fromkeys(one + many)))


def _one_per_row(given: object, count: int, subject: str) -> list[Any]:
    """The entries of a list or column, one for each of ``count`` rows; they are not checked."""
    expected = f"{count} {subject}"
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise invalid(subject, given, expected, "pass one per row, in a list")
    found = list(_plain(given))
    if len(found) != count:
        raise invalid(subject, f"{len(found)} long", expected, "pass one per row")
    return found


def _plain(given: Iterable[Any]) -> Iterable[Any]:
    ids: Iterable[Any] = items(given)
    return ids.tolist() if isinstance(ids, np.ndarray) and ids.dtype.kind in "iuU" else ids

"""Model files: documented, versioned, free of pickle, and the same bytes for the same live rows.

``file_format`` says what all files of live rows have in common. The first line here is
``efface model 1``, or a later version, see below. The arrays are ``X``, ``y``, ``times``,
``weights``, ``until`` and ``owners``, in this order.

The header holds ``arrays`` (name, dtype and shape of each), ``features`` (names of the columns, or
null), ``ids``, ``model`` (the class), ``parameters`` and ``phase`` (that of the policy). ``times``
is there when rows have times: int64 nanoseconds since 1970, or float64 numbers; ``weights`` when
some row has another weight than 1. Nothing else is kept: no counters, no sums, nothing of a row
that has left.

``until`` is there when some row has an end: a time, the largest int64 or infinity for a row without
an end. ``owners`` is there when some row has an owner: int64 codes, -1 for a row without an owner,
and in the header ``owners``, the table of owners in the order of their first row.

The version is 3 if there are ends or owners, else 2 if there are weights, else 1: a reader that
does not know them must not overlook them.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.inputs.ids import Id
from efface.inputs.times import Times
from efface.live.file_format import Arrays, FileFormat, check_values, write_file

_FACTS = ("model", "parameters", "phase", "features", "ids")  # fields that the header holds
_COLUMNS = ("X", "y", "times", "weights", "until")  # fields that are arrays
_PLAIN, _WEIGHED, _MARKED = 1, 2, 3  # versions
_FORM = FileFormat(
    "efface model", _MARKED, "is not a model of efface: pass a file written by 'save'"
)


@dataclass(frozen=True, eq=False)
class Snapshot:
    """All there is to know of a model."""

    model: str
    parameters: dict[str, Any]
    phase: int
    features: list[str] | None
    ids: list[Id]
    times: Times | None
    X: NDArray[np.float64]
    y: NDArray[np.float64]
    weights: NDArray[np.float64] | None = None  # of 1 each
    owners: list[Id | None] | None = None  # of each row
    until: Times | None = None  # of each row

    @property
    def weighed(self) -> NDArray[np.float64]:
        """The weights, whatever they are."""
        return np.ones(len(self.y)) if self.weights is None else self.weights

    @property
    def version(self) -> int:
        """The version of a file with these rows."""
        if self.owners is not None or self.until is not None:
            return _MARKED
        return _PLAIN if self.weights is None else _WEIGHED


def write(path: str | os.PathLike[str], snapshot: Snapshot) -> None:
    """Write a snapshot; a file that is there is replaced as a whole or not at all."""
    write_file(path, [encode(snapshot)])


def read(path: str | os.PathLike[str]) -> Snapshot:
    """Read a snapshot; a file that is not one, or no longer, is refused."""
    return decode(Path(path).read_bytes(), os.fspath(path))


def encode(snapshot: Snapshot) -> bytes:
    """The bytes of a file."""
    header = {name: getattr(snapshot, name) for name in _FACTS}
    arrays = {name: getattr(snapshot, name) for name in _COLUMNS}
    if snapshot.owners is not None:
        header["owners"], arrays["owners"] = _coded(snapshot.owners)
    stored = {name: array for name, array in arrays.items() if array is not None}
    return b"".join(_FORM.encode(snapshot.version, header, stored))


def decode(content: bytes, source: str) -> Snapshot:
    """The snapshot that a file holds; ``source`` is what errors call it."""
    return _FORM.decode(content, source, _parse)


def _parse(header: dict[str, Any], arrays: Arrays) -> Snapshot:
    facts = {name: header[name] for name in _FACTS}
    columns: dict[str, Any] = {name: arrays.get(name) for name in _COLUMNS[2:]}
    owners = _decoded(header.get("owners"), arrays.get("owners"))
    snapshot = Snapshot(**facts, X=arrays["X"], y=arrays["y"], **columns, owners=owners)
    check(snapshot)
    return snapshot


def _coded(owners: list[Id | None]) -> tuple[list[Id], NDArray[np.int64]]:
    """The table of owners in the order of their first row, and the place of each row's owner."""
    table = list(dict.fromkeys(owner for owner in owners if owner is not None))
    place: dict[Id | None, int] = {owner: at for at, owner in enumerate(table)}
    return table, np.array([place.get(owner, -1) for owner in owners], dtype=np.int64)


def _decoded(table: list[Id] | None, codes: NDArray[np.int64] | None) -> list[Id | None] | None:
    """The owner of each row; a table that is not the one that ``_coded`` makes is refused."""
    if table is None and codes is None:
        return None
    if table is None or codes is None:
        raise ValueError("owners without their table")
    if codes.size and not (codes.min() >= -1 and codes.max() < len(table)):
        raise ValueError("an owner that the table does not have")
    owners = [None if code < 0 else table[code] for code in codes.tolist()]
    if _coded(owners)[0] != table:
        raise ValueError("a table of owners in another order")
    return owners


def same(one: Snapshot, other: Snapshot) -> bool:
    """Would both be written as the same bytes?"""
    plain = (*_FACTS, "owners")
    return all(getattr(one, name) == getattr(other, name) for name in plain) and all(
        _same_bits(getattr(one, name), getattr(other, name)) for name in _COLUMNS
    )


def _same_bits(one: NDArray[Any] | None, other: NDArray[Any] | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.dtype == other.dtype and np.array_equal(one.view(np.int64), other.view(np.int64))


def check(s: Snapshot) -> None:
    """Raise ValueError unless these could be the live rows of a model."""
    n, width = s.X.shape
    if type(s.phase) is not int or s.phase < 0:
        raise ValueError("a phase that is not a whole number")
    if s.y.shape != (n,) or len(s.ids) != n or len(set(s.ids)) != n:
        raise ValueError("rows, responses and ids differ in number")
    check_values(s.X, s.y, s.weighed)
    if s.times is not None and (s.times.shape != (n,) or (s.times[1:] < s.times[:-1]).any()):
        raise ValueError("times out of order")
    _check_marks(s)
    if s.features is not None and len(s.features) != width:
        raise ValueError("as many names as columns expected")


def _check_marks(s: Snapshot) -> None:
    n = len(s.y)
    if s.owners is not None and (
        len(s.owners) != n or not all(type(each) in (int, str, type(None)) for each in s.owners)
    ):
        raise ValueError("owners that are no owners")
    if s.until is not None and (
        s.until.shape != (n,)
        or np.isnan(s.until).any()
        or (s.times is not None and s.times.dtype != s.until.dtype)
    ):
        raise ValueError("ends that are no times")

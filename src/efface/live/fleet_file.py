"""Fleet files: the rows of many keys, free of pickle, and the same bytes for the same live rows.

``file_format`` says what all files of live rows have in common. The first line here is
``efface fleet 1``.

The header holds ``arrays`` (name, dtype and shape of each), ``features`` (names of the columns, or
null), ``model`` (the class), ``parameters``, ``owners`` (their table), and ``keys`` and ``ids``
where these are not all ints of 64 bits. The arrays are ``counts`` and ``phases``, one entry per
key, and the columns of the rows: ``X``, ``y``, and ``weights``, ``times``, ``until`` and ``owners``
where some row has them. Keys are sorted, numbers before texts; the rows of a key follow each other,
oldest first. An owner is a place in the table of owners, which lists them in the order of their
first row; -1 is no owner. Nothing else is kept, and nothing of a row that has left.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.inputs.ids import id_column
from efface.inputs.times import kind_of, never
from efface.inputs.types import Ints
from efface.live.file_format import Arrays, FileFormat, check_values, write_file
from efface.live.hash_table import ABSENT
from efface.live.keyed_rows import KeyedChange, KeyedRows
from efface.live.names import NOBODY, IdColumn, Names
from efface.live.row_table import RowTable

_VERSION = 1
_FORM = FileFormat(
    "efface fleet", _VERSION, "is not a fleet of efface: pass a file of 'Fleet.save'"
)


@dataclass(frozen=True, eq=False)
class FleetSnapshot:
    """All there is to know of a fleet."""

    model: str
    parameters: dict[str, Any]
    features: list[str] | None
    rows: KeyedRows


def write(path: str | os.PathLike[str], snapshot: FleetSnapshot) -> None:
    """Write a snapshot; a file that is there is replaced as a whole or not at all."""
    write_file(path, encode(snapshot))


def read(path: str | os.PathLike[str]) -> FleetSnapshot:
    """Read a snapshot; a file that is not one, or no longer, is refused."""
    return decode(Path(path).read_bytes(), os.fspath(path))


def encode(snapshot: FleetSnapshot) -> Iterator[bytes]:
    """The bytes of a file, in parts."""
    held = snapshot.rows
    slots = held.slots()
    rows = held.table.take(held.places(slots))
    columns = {
        "keys": _named(held.keys, held.codes(slots)),
        "counts": held.counts(slots),
        "phases": held.phases(slots),
        "ids": _named(held.ids, rows.ids),
        **_columns(rows),
    }
    arrays = {name: each for name, each in columns.items() if isinstance(each, np.ndarray)}
    names = {name: each for name, each in columns.items() if name not in arrays}
    if rows.owners is not None and (rows.owners != NOBODY).any():
        table, arrays["owners"] = _owner_table(rows.owners)
        names["owners"] = held.owners.decode(table)
    about = {name: getattr(snapshot, name) for name in ("features", "model", "parameters")}
    return _FORM.encode(_VERSION, about | names, arrays)


def _named(known: Names, codes: Ints) -> IdColumn:
    """Names as files have them: ints of 64 bits as an array, others as a list for the header."""
    return id_column(known.decode(codes), codes.size) if len(known) else codes >> 1


def _columns(rows: RowTable) -> dict[str, NDArray[Any]]:
    """The columns of the rows but ids and owners; those that say nothing are left out."""
    found: dict[str, NDArray[Any]] = {"X": rows.X, "y": rows.y}
    if (rows.weights != 1.0).any():
        found["weights"] = rows.weights
    if rows.times is not None:
        found["times"] = rows.times
    if rows.untils is not None and (rows.untils != never(kind_of(rows.untils))).any():
        found["until"] = rows.untils
    return found


def _owner_table(owners: Ints) -> tuple[Ints, Ints]:
    """The codes of the owners in the order of their first row, and the place of each row's."""
    mine = owners[owners != NOBODY]
    codes, first, inverse = np.unique(mine, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty(codes.size, np.int64)
    place[order] = np.arange(codes.size)
    places = np.full(owners.size, -1)
    places[owners != NOBODY] = place[inverse]
    return codes[order], places


def decode(content: bytes, source: str) -> FleetSnapshot:
    """The snapshot that a file holds; ``source`` is what errors call it."""
    return _FORM.decode(content, source, _parse)


def _parse(header: dict[str, Any], arrays: Arrays) -> FleetSnapshot:
    held = keyed_rows(header, arrays)
    return FleetSnapshot(header["model"], header["parameters"], header["features"], held)


def keyed_rows(names: dict[str, Any], arrays: dict[str, Any]) -> KeyedRows:
    """Rows with the names and the arrays of a file; ValueError if no fleet can have them."""
    held = KeyedRows(arrays["X"].shape[1])
    held.apply(_all_rows(held, names, arrays))
    return held


def _all_rows(held: KeyedRows, header: dict[str, Any], arrays: dict[str, Any]) -> KeyedChange:
    """The rows of a file, as rows that come."""
    counts, phases, X = arrays["counts"], arrays["phases"], arrays["X"]
    n = len(X)
    keys = held.keys.encode(_names("keys", header, arrays, counts.size))
    ids = held.ids.encode(_names("ids", header, arrays, n))
    owners, new_owners = None, {}
    if "owners" in arrays:
        found = held.owners.encode(header["owners"])
        owners, new_owners = np.append(found.codes, NOBODY)[arrays["owners"]], found.new
    weights = arrays.get("weights", np.ones(n))
    columns = arrays.get("times"), owners, arrays.get("until")
    rows = RowTable(X, arrays["y"], weights, ids.codes, *columns)
    _check(rows, keys.codes, counts, phases)
    slots, everyone = np.full(counts.size, ABSENT), np.ones(n, np.bool_)
    new = keys.new, ids.new, new_owners
    return KeyedChange(keys.codes, slots, rows, everyone, np.arange(n), counts, phases, *new)


def _names(role: str, header: dict[str, Any], arrays: dict[str, Any], count: int) -> IdColumn:
    return id_column(arrays.get(role, header.get(role)), count)


def _check(rows: RowTable, keys: Ints, counts: Ints, phases: Ints) -> None:
    """Raise ValueError unless these could be the live rows of a fleet."""
    n = len(rows.X)
    if (counts < 1).any() or counts.sum() != n or (phases < 0).any() or phases.size != counts.size:
        raise ValueError("keys, rows and phases differ in number")
    if any(values.shape[:1] != (n,) for values in rows.columns.values()):
        raise ValueError("columns differ in length")
    if np.unique(keys).size != keys.size or np.unique(rows.ids).size != n:
        raise ValueError("a key or an id comes twice")
    check_values(rows.X, rows.y, rows.weights)
    times, starts = rows.times, np.cumsum(counts)[:-1]
    if times is not None:
        back = times[1:] < times[:-1]
        back[starts - 1] = False
        if back.any():
            raise ValueError("times out of order")

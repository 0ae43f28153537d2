"""The plaintext of a row: what is encrypted under its key.

Little-endian, in this order::

    flags      1 byte     1: has a time, 2: calendar times, 4: has an end, 8: has a place for it,
                          16: has a phase
    kinds      3 bytes    of id, owner and key: 0 none, 1 int64, 2 larger int, 3 text, 4 UUID
    lengths    3 uint16   of id, owner and key, in bytes
    response, weight      2 float64
    time                  8 bytes if flag 1: int64 nanoseconds since 1970, or float64
    end                   8 bytes if flag 8: the same
    phase                 int64 if flag 16
    features              float64 each
    id, owner, key        an int64, the digits of an int, UTF-8, or the 16 bytes of a UUID
    zeros                 up to a multiple of 64 bytes

The key names the model of a row where a store has one model per key. The phase is that of its
policy: how many rows had come since rows last left.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.errors import invalid
from efface.inputs.ids import Id
from efface.inputs.times import kind_of, never
from efface.store.stored_rows import Names, StoredRows

BLOCK = 64
_TIME, _CALENDAR, _END, _PLACE, _PHASE = 1, 2, 4, 8, 16
_LAYOUT = _TIME | _PLACE | _PHASE  # the flags on which the length of the fixed part depends
_LONGEST = (1 << 16) - 1
_NONE, _INT, _LARGE, _TEXT, _UUID = range(5)
_UUID_BYTES, _UUID_TEXT = 16, 36
_DIGITS = [at for at in range(_UUID_TEXT) if at not in (8, 13, 18, 23)]
_HALF = 1 << 63
_ZEROS = [bytes(count) for count in range(BLOCK)]


@cache
def _head(width: int, layout: int) -> np.dtype[np.void]:
    """The part of fixed length."""
    fields: list[Any] = [("flags", "u1"), ("kinds", "u1", 3), ("lengths", "<u2", 3)]
    fields += [("y", "<f8"), ("weight", "<f8")]
    fields += [("time", "<i8")] if layout & _TIME else []
    fields += [("end", "<i8")] if layout & _PLACE else []
    fields += [("phase", "<i8")] if layout & _PHASE else []
    return np.dtype([*fields, ("x", "<f8", (width,))])


def encode(rows: StoredRows) -> list[bytes]:
    """The plaintext of each row.

    >>> rows = StoredRows(np.ones((1, 2)), np.ones(1), np.ones(1), ["ann"])
    >>> [len(text) for text in encode(rows)], decode(encode(rows), 2).ids
    ([64], ['ann'])
    """
    count = len(rows)
    if count == 1:
        return [_encode_one(rows)]
    layout = _layout(rows)
    head = np.zeros(count, _head(rows.X.shape[1], layout))
    head["x"], head["y"], head["weight"] = rows.X, rows.y, rows.weights
    head["flags"] = _put_times(head, rows) | layout
    if rows.phases is not None:
        head["phase"] = rows.phases
    names = [_encoded(names, count) for names in (rows.ids, rows.owners, rows.keys)]
    for j, (kinds, texts) in enumerate(names):
        head["kinds"][:, j] = kinds
        head["lengths"][:, j] = list(map(len, texts)) if texts else 0
    return _joined(head, [texts for _, texts in names if texts])


def _layout(rows: StoredRows) -> int:
    """The flags of what rows have a place for."""
    layout = (0 if rows.times is None else _TIME) | (0 if rows.untils is None else _PLACE)
    return layout | (0 if rows.phases is None else _PHASE)


def _encode_one(rows: StoredRows) -> bytes:
    """The same for a single row, where arrays take longer than the row."""
    layout, kind = _layout(rows), kind_of(rows.times) or kind_of(rows.untils)
    flags = layout | (_CALENDAR if kind is int else 0)
    if rows.untils is not None and rows.untils[0] != never(kind):
        flags |= _END
    columns = (None if names is None else names[0] for names in (rows.ids, rows.owners, rows.keys))
    names = [_encode_name(name) for name in columns]
    times = [each.view(np.int64).item() for each in _times(rows)]
    values = *times, *rows.X[0].tolist()
    head = _one(rows.X.shape[1], len(times)).pack(
        flags,
        *(kind for kind, _ in names),
        *(len(text) for _, text in names),
        rows.y.item(),
        rows.weights.item(),
        *values,
    )
    text = b"".join([head, *(text for _, text in names)])
    return text + _ZEROS[-len(text) % BLOCK]


def _times(rows: StoredRows) -> list[Any]:
    return [each for each in (rows.times, rows.untils, rows.phases) if each is not None]


@cache
def _one(width: int, times: int) -> struct.Struct:
    return struct.Struct(f"<4B3H2d{times}q{width}d")


def refuse_long(names: Names | None, subject: str) -> None:
    """Raise if a name is too long to be stored."""
    longest = max((len(name) for name in names or () if type(name) is str), default=0)
    if longest > _LONGEST // 4:  # a character has up to four bytes
        expected = f"at most {_LONGEST // 4} characters"
        raise invalid(subject, f"{longest} characters long", expected, "use shorter names")


def _joined(head: NDArray[Any], names: list[list[bytes]]) -> list[bytes]:
    content, size = head.tobytes(), head.itemsize
    fixed = [content[at : at + size] for at in range(0, len(content), size)]
    lengths = size + head["lengths"].sum(axis=1, dtype=np.int64)
    zeros = [_ZEROS[count] for count in (-lengths % BLOCK).tolist()]
    return list(map(b"".join, zip(fixed, *names, zeros, strict=True)))


def _put_times(head: NDArray[Any], rows: StoredRows) -> int | NDArray[np.uint8]:
    """Write times and ends into their places; return the flags of each row."""
    flags: Any = 0
    kind = kind_of(rows.times) or kind_of(rows.untils)
    if rows.times is not None:
        head["time"] = rows.times.view(np.int64)
    if rows.untils is not None:
        head["end"] = rows.untils.view(np.int64)
        flags = flags | np.where(rows.untils == never(kind), 0, _END).astype(np.uint8)
    return flags | (_CALENDAR if kind is int else 0)  # type: ignore[no-any-return]


def _encoded(names: Names | None, count: int) -> tuple[Any, list[bytes]]:
    """The kind and the bytes of each name."""
    if names is None:
        return _NONE, []
    if set(map(type, names)) == {int}:
        try:
            content = np.array(names, dtype="<i8").tobytes()
            return _INT, [content[at : at + 8] for at in range(0, 8 * count, 8)]
        except OverflowError:
            pass  # some are larger, one by one
    if set(map(type, names)) == {str}:
        texts: list[str] = names  # type: ignore[assignment]
        lengths = set(map(len, texts))
        if _UUID_TEXT not in lengths:
            return _TEXT, [name.encode("utf-8", "surrogatepass") for name in texts]
        if lengths == {_UUID_TEXT} and (uuids := _encode_uuids(texts)):
            return _UUID, uuids
    pairs = [_encode_name(name) for name in names]
    return [kind for kind, _ in pairs], [text for _, text in pairs]


def _encode_uuids(names: Sequence[str]) -> list[bytes]:
    """The bytes of texts that are all UUIDs; none if one of them is another text."""
    try:
        content = bytes.fromhex("".join(names).replace("-", ""))
    except ValueError:
        return []
    if len(content) != _UUID_BYTES * len(names) or _uuid_texts(content) != list(names):
        return []
    return [content[at : at + _UUID_BYTES] for at in range(0, len(content), _UUID_BYTES)]


def _uuid_texts(content: bytes) -> list[str]:
    """The texts of UUIDs; of a single one without arrays."""
    if len(content) == _UUID_BYTES:
        text = content.hex()
        return [f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"]
    digits = np.frombuffer(content.hex().encode("ascii"), np.uint8).reshape(-1, 32)
    texts = np.full((len(digits), _UUID_TEXT), ord("-"), np.uint8)
    texts[:, _DIGITS] = digits
    flat = texts.tobytes().decode("ascii")
    return [flat[at : at + _UUID_TEXT] for at in range(0, len(flat), _UUID_TEXT)]


def _encode_name(name: Id | None) -> tuple[int, bytes]:
    if type(name) is str:
        if len(name) == _UUID_TEXT and (content := _encode_uuids([name])):
            return _UUID, content[0]
        return _TEXT, name.encode("utf-8", "surrogatepass")
    if name is None:
        return _NONE, b""
    number = int(name)
    if -_HALF <= number < _HALF:
        return _INT, number.to_bytes(8, "little", signed=True)
    return _LARGE, str(number).encode("ascii")


def decode(texts: Sequence[bytes], width: int) -> StoredRows:
    """The rows back, from their plaintexts."""
    layouts = np.frombuffer(b"".join([text[:1] for text in texts]), np.uint8) & _LAYOUT
    kinds = np.unique(layouts).tolist()
    if len(kinds) < 2:
        return _decode(texts, width, kinds[0] if kinds else 0)
    places = [np.flatnonzero(layouts == kind) for kind in kinds]
    parts = [
        _decode([texts[k] for k in rows.tolist()], width, kind)
        for rows, kind in zip(places, kinds, strict=True)
    ]
    return _merged(parts, np.argsort(np.concatenate(places)))


def _decode(texts: Sequence[bytes], width: int, layout: int) -> StoredRows:
    """Rows of one layout."""
    size = _head(width, layout).itemsize
    head = np.frombuffer(b"".join([text[:size] for text in texts]), _head(width, layout))
    flags, kinds, lengths = head["flags"], head["kinds"], head["lengths"].astype(np.int64)
    ends = size + np.cumsum(lengths, axis=1)
    starts = ends - lengths
    columns: list[Any] = [
        _decoded(texts, kinds[:, j], starts[:, j].tolist(), ends[:, j].tolist()) for j in range(3)
    ]
    kind: Any = np.int64 if (flags & _CALENDAR).any() else np.float64
    times = head["time"].astype(np.int64).view(kind) if layout & _TIME else None
    untils, ended = None, (flags & _END) != 0
    if ended.any():
        untils = head["end"].astype(np.int64).view(kind)
        untils[~ended] = never(int if kind is np.int64 else float)
    X, y, weights = (np.ascontiguousarray(head[name], np.float64) for name in ("x", "y", "weight"))
    phases = head["phase"].astype(np.int64) if layout & _PHASE else None
    return StoredRows(
        X, y, weights, columns[0] or [], times, untils, columns[1], columns[2], phases
    )


def _merged(parts: list[StoredRows], order: NDArray[np.intp]) -> StoredRows:
    """Rows of different layouts, in their order."""

    def array(name: str) -> Any:
        return np.concatenate([getattr(part, name) for part in parts])[order]

    def names(name: str) -> Any:
        column = [each for part in parts for each in getattr(part, name) or [None] * len(part)]
        found = [column[k] for k in order.tolist()]
        return found if any(each is not None for each in found) else None

    timed = all(part.times is not None for part in parts)
    ends = [part.untils for part in parts if part.untils is not None]
    untils: Any = None
    if ends:
        none = np.full(1, never(kind_of(ends[0])), dtype=ends[0].dtype)
        columns = [np.repeat(none, len(p)) if p.untils is None else p.untils for p in parts]
        untils = np.concatenate(columns)[order]
    times: Any = array("times") if timed else None
    phased = all(part.phases is not None for part in parts)
    values = array("X"), array("y"), array("weights")
    named = names("owners"), names("keys"), array("phases") if phased else None
    return StoredRows(*values, names("ids") or [], times, untils, *named)


def _decoded(
    texts: Sequence[bytes], kinds: NDArray[np.uint8], starts: list[int], ends: list[int]
) -> list[Id | None] | None:
    """One name per row; None if no row has one."""
    if not kinds.any():
        return None
    parts = [text[start:end] for text, start, end in zip(texts, starts, ends, strict=True)]
    if (kinds == _TEXT).all():
        return [part.decode("utf-8", "surrogatepass") for part in parts]
    if (kinds == _INT).all():
        numbers: list[Id | None] = np.frombuffer(b"".join(parts), "<i8").tolist()
        return numbers
    pairs = list(zip(kinds.tolist(), parts, strict=True))
    uuids = iter(_uuid_texts(b"".join([part for kind, part in pairs if kind == _UUID])))
    return [next(uuids) if kind == _UUID else _decode_name(kind, part) for kind, part in pairs]


def _decode_name(kind: int, content: bytes) -> Id | None:
    if kind == _TEXT:
        return content.decode("utf-8", "surrogatepass")
    if kind == _INT:
        return int.from_bytes(content, "little", signed=True)
    return int(content) if kind == _LARGE else None


def random_ids(count: int, random: bytes) -> list[Id]:
    """UUIDs of version 4, as text, from 16 random bytes each.

    >>> random_ids(1, bytes(16))
    ['00000000-0000-4000-8000-000000000000']
    """
    content = np.frombuffer(random, np.uint8).reshape(count, 16).copy()
    content[:, 6] = content[:, 6] & 0x0F | 0x40
    content[:, 8] = content[:, 8] & 0x3F | 0x80
    return list[Id](_uuid_texts(content.tobytes()))

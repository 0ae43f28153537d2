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
    zeros                 up to a multiple of 64 bytes, one that the rows of a batch share if it
                          takes at most one block more

The key names the model of a row where a store has one model per key. The phase is that of its
policy: how many rows had come since rows last left.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.errors import invalid
from efface.inputs.ids import Id
from efface.inputs.times import kind_of, never
from efface.store.stored_rows import Names, StoredRows, concatenated

BLOCK = 64
_TIME, _CALENDAR, _END, _PLACE, _PHASE = 1, 2, 4, 8, 16
_PLACES = {"time": _TIME, "end": _PLACE, "phase": _PHASE}  # of the fixed part, if flags say so
_LAYOUT = _TIME | _PLACE | _PHASE
_LONGEST = (1 << 16) - 1
_NONE, _INT, _LARGE, _TEXT, _UUID = range(5)
_UUID_BYTES, _UUID_TEXT = 16, 36
_DIGITS = [at for at in range(_UUID_TEXT) if at not in (8, 13, 18, 23)]
_HALF = 1 << 63
_ZEROS = [bytes(count) for count in range(BLOCK)]
_Column = tuple[Any, Any, bytes]  # kinds and lengths, one for all or one each, and all bytes


@cache
def _head(width: int, layout: int) -> np.dtype[np.void]:
    """The part of fixed length."""
    fields: list[Any] = [("flags", "u1"), ("kinds", "u1", 3), ("lengths", "<u2", 3)]
    fields += [("y", "<f8"), ("weight", "<f8")]
    fields += [(name, "<i8") for name, flag in _PLACES.items() if layout & flag]
    return np.dtype([*fields, ("x", "<f8", (width,))])


def encode(rows: StoredRows) -> list[bytes]:
    """The plaintext of each row.

    >>> rows = StoredRows(np.ones((1, 2)), np.ones(1), np.ones(1), ["ann"])
    >>> [len(text) for text in encode(rows)], decode(encode(rows), 2).ids
    ([64], ['ann'])
    """
    if len(rows) == 1:
        return [_encode_one(rows)]
    layout, kind = _layout(rows), kind_of(rows.times) or kind_of(rows.untils)
    head = np.zeros(len(rows), _head(rows.X.shape[1], layout))
    head["x"], head["y"], head["weight"] = rows.X, rows.y, rows.weights
    head["flags"] = layout | (_CALENDAR if kind is int else 0)
    if rows.untils is not None:
        head["flags"] |= np.where(rows.untils == never(kind), 0, _END).astype(np.uint8)
    places = [name for name, flag in _PLACES.items() if layout & flag]
    for name, times in zip(places, _times(rows), strict=True):
        head[name] = times.view(np.int64)
    columns = (rows.ids, rows.owners, rows.keys)
    names = [_encoded(names) for names in columns if names is not None]
    for j, (kinds, lengths, _) in zip(_there(columns), names, strict=True):
        head["kinds"][:, j], head["lengths"][:, j] = kinds, lengths
    return _joined(head, names)


def _there(columns: Sequence[Names | None]) -> list[int]:
    return [j for j, names in enumerate(columns) if names is not None]


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
    """The columns of times that are there, in the order of ``_PLACES``."""
    return [each for each in (rows.times, rows.untils, rows.phases) if each is not None]


@cache
def _one(width: int, times: int) -> struct.Struct:
    return struct.Struct(f"<4B3H2d{times}q{width}d")


def refuse_long(names: Names | None, subject: str) -> None:
    """Raise if a name is too long to be stored."""
    types = set(map(type, names or ()))
    if str not in types:
        return
    texts: Iterable[Any] = names or ()
    if len(types) > 1:
        texts = (name for name in texts if type(name) is str)
    longest = max(map(len, texts))
    if longest > _LONGEST // 4:  # a character has up to four bytes
        expected = f"at most {_LONGEST // 4} characters"
        raise invalid(subject, f"{longest} characters long", expected, "use shorter names")


def _joined(head: NDArray[Any], names: Sequence[_Column]) -> list[bytes]:
    """The fixed part of each row, its names and zeros, by way of one array for all rows."""
    if not head.size:
        return []
    lengths = head.itemsize + head["lengths"].sum(axis=1, dtype=np.int64)
    blocks = -(-lengths // BLOCK)
    alike = blocks.max() - blocks.min() <= 1
    if alike:
        blocks[:] = blocks.max()
    ends = BLOCK * np.cumsum(blocks)
    starts = ends - BLOCK * blocks
    content, fixed = np.zeros(ends[-1], np.uint8), head.view(np.uint8)
    if alike:
        content.reshape(len(head), -1)[:, : head.itemsize] = fixed.reshape(len(head), -1)
    else:
        _scatter(content, starts, head.itemsize, fixed)
    places = starts + head.itemsize
    for _, sizes, text in names:
        _scatter(content, places, sizes, np.frombuffer(text, np.uint8))
        places += sizes
    whole = content.tobytes()
    return [whole[a:b] for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]


def _scatter(
    content: NDArray[np.uint8], places: NDArray[np.int64], sizes: Any, parts: NDArray[np.uint8]
) -> None:
    """Write parts that lie one after another to their places."""
    ends = np.cumsum(np.broadcast_to(sizes, places.size))
    content[np.repeat(places - (ends - sizes), sizes) + np.arange(parts.size)] = parts


def _encoded(names: Names) -> _Column:
    """The kind and the bytes of each name."""
    types = set(map(type, names))
    if types == {int}:
        try:
            return _INT, 8, np.array(names, dtype="<i8").tobytes()
        except OverflowError:
            pass  # some are larger, one by one
    if types == {str}:
        texts: list[str] = names  # type: ignore[assignment]
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        uuids = lengths == _UUID_TEXT
        if not uuids.any() and (text := "".join(texts)).isascii():
            return _TEXT, lengths, text.encode("ascii")
        if uuids.all() and (content := _encode_uuids(texts)):
            return _UUID, _UUID_BYTES, content
    pairs = [_encode_name(name) for name in names]
    sizes = np.fromiter((len(text) for _, text in pairs), np.int64, len(pairs))
    return [kind for kind, _ in pairs], sizes, b"".join([text for _, text in pairs])


def _encode_uuids(names: Sequence[str]) -> bytes:
    """The bytes of texts that are all UUIDs; none if one of them is another text."""
    try:
        content = bytes.fromhex("".join(names).replace("-", ""))
    except ValueError:
        return b""
    if len(content) != _UUID_BYTES * len(names) or _uuid_texts(content) != list(names):
        return b""
    return content


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
            return _UUID, content
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
    return concatenated(parts).take(np.argsort(np.concatenate(places)))


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

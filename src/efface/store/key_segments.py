"""The keys of rows: flat files of 32-byte slots, one slot per sequence number, overwritten to
destroy.

A segment is ``keys/EPOCH-NNNNNN.bin``: 65,536 slots, then a trailer of 64 bytes. Slot ``seq`` lies
in segment ``seq // 65536``. A slot of zeros was never used, or its key is destroyed. A segment is
made of real zeros beside its place, synced and renamed before it is used. Destroying a key writes
zeros and syncs; it never punches holes and never rewrites a file. The epoch is that of the master
key.

The trailer holds two versions of the state: ``started``, synced together with keys that are
written, and ``committed``, written after each commit without a sync. A database whose version is
lower is an older one.
"""

from __future__ import annotations

import hashlib
import os
import re
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from efface.errors import DamagedStore
from efface.store.durable_files import FILE_MODE, replace_file, sync_folder, write_all
from efface.store.key_folder import segment_name
from efface.store.master_key import MasterKey

SLOT, SLOTS, TRAILER = 32, 65_536, 64
LENGTH = SLOT * SLOTS + TRAILER
_NAME = re.compile(r"(\d{4})-(\d{6})\.bin")
_MARK = struct.Struct("<8sQQ8x")
_MAGIC = b"effacek1"
_OPEN = 64  # descriptors that are kept


class Progress(NamedTuple):
    """Versions of the state: when the last keys were written, and the last that was committed."""

    started: int
    committed: int


def encode_trailer(progress: Progress) -> bytes:
    """The last 64 bytes of a segment."""
    mark = _MARK.pack(_MAGIC, *progress)
    return mark + hashlib.sha256(mark).digest()


def decode_trailer(content: bytes) -> Progress | None:
    """The versions; None if the bytes are no trailer."""
    mark, digest = content[: _MARK.size], content[_MARK.size :]
    if len(content) != TRAILER or hashlib.sha256(mark).digest() != digest:
        return None
    magic, started, committed = _MARK.unpack(mark)
    return Progress(started, committed) if magic == _MAGIC else None


@final
class KeySegments:
    """The key slots of a store. It keeps no key in memory."""

    def __init__(self, folder: Path, epoch: int, master: MasterKey) -> None:
        self.folder, self.epoch, self.master = folder, epoch, master
        self._open: dict[int, int] = {}  # descriptors by segment, the least recently used first
        self._there = set(self._numbers(epoch))
        self._unsynced = set(self._there)  # what a killed process wrote may not be on the disk
        self.progress = self._read_progress() if self._there else Progress(0, 0)

    def __repr__(self) -> str:
        return f"KeySegments({len(self._there)} segments, epoch {self.epoch})"

    @property
    def newest(self) -> int:
        """The highest segment, which is never removed."""
        return max(self._there)

    @property
    def segments(self) -> list[int]:
        """The segments that are there."""
        return sorted(self._there)

    def path(self, segment: int, epoch: int | None = None) -> Path:
        """The file of a segment."""
        return self.folder / segment_name(epoch or self.epoch, segment)

    # -- keys come -------------------------------------------------------------------------------

    def reserve(self, last: int) -> None:
        """Make the segments up to that of slot ``last``; nothing else changes if that fails."""
        newest = self.newest if self._there else -1
        for segment in range(newest + 1, last // SLOTS + 1):
            replace_file(self.path(segment), bytes(SLOT * SLOTS) + encode_trailer(self.progress))
            self._there.add(segment)

    def write(self, first: int, keys: bytes, started: int) -> None:
        """Write the keys of a batch into consecutive slots, which ``reserve`` has made."""
        wrapped, at = self.master.wrap(keys), 0
        while at < len(wrapped):
            segment, slot = divmod(first + at // SLOT, SLOTS)
            part = wrapped[at : at + SLOT * (SLOTS - slot)]
            self._write(segment, part, SLOT * slot)
            at += len(part)
        self.progress = Progress(started, self.progress.committed)
        self._write(self.newest, encode_trailer(self.progress), SLOT * SLOTS)

    def mark_committed(self, version: int) -> None:
        """Note the version of the state that is durable; the note itself is not synced."""
        self.progress = Progress(self.progress.started, version)
        trailer = encode_trailer(self.progress)
        write_all(self._descriptor(self.newest), trailer, SLOT * SLOTS)

    # -- keys go ---------------------------------------------------------------------------------

    def zero(self, slots: Iterable[int]) -> None:
        """Overwrite slots; segments that are not there hold no key."""
        for first, count in runs(slots):
            at = first
            while at < first + count:
                segment, slot = divmod(at, SLOTS)
                length = min(first + count - at, SLOTS - slot)
                if segment in self._there:
                    self._write(segment, bytes(SLOT * length), SLOT * slot)
                at += length

    def unsynced(self) -> list[int]:
        """The descriptors of files with writes that may not be on the disk."""
        return [self._descriptor(segment) for segment in sorted(self._unsynced)]

    def synced(self) -> None:
        """All that ``unsynced`` named is on the disk."""
        self._unsynced.clear()

    def remove_empty(self, used: set[int]) -> None:
        """Remove segments without keys: all that are not ``used``, except the newest."""
        unused = self._there - used - {self.newest}
        for segment in unused:
            if segment in self._open:
                os.close(self._open.pop(segment))
            self._unsynced.discard(segment)
            self.path(segment).unlink()
            self._there.discard(segment)
        if unused:
            sync_folder(self.folder)

    # -- keys are read: at open alone ------------------------------------------------------------

    def read(self, segment: int) -> bytes:
        """The keys of a segment, unwrapped; destroyed ones are zeros in ``occupied`` alone."""
        return self.master.unwrap(self._content(segment)[: SLOT * SLOTS])

    def occupied(self, segment: int) -> NDArray[np.int64]:
        """The sequence numbers whose slots hold a key."""
        slots = np.frombuffer(self._content(segment), np.uint64, count=SLOT * SLOTS // 8)
        found = slots.reshape(SLOTS, SLOT // 8).any(axis=1)
        return np.flatnonzero(found).astype(np.int64) + segment * SLOTS

    def close(self) -> None:
        """Close the files."""
        while self._open:
            os.close(self._open.popitem()[1])

    # -- files -----------------------------------------------------------------------------------

    def _numbers(self, epoch: int) -> list[int]:
        names = (_NAME.fullmatch(path.name) for path in self.folder.iterdir())
        return [int(name[2]) for name in names if name and int(name[1]) == epoch]

    def _content(self, segment: int) -> bytes:
        content = self.path(segment).read_bytes()
        if len(content) != LENGTH:
            raise self._damaged(segment, f"it has {len(content)} bytes and not {LENGTH}")
        return content

    def _read_progress(self) -> Progress:
        found = []
        for segment in sorted(self._there):
            progress = decode_trailer(self._content(segment)[-TRAILER:])
            if progress is None:
                raise self._damaged(segment, "its last 64 bytes are altered")
            found.append(progress)
        return Progress(max(p.started for p in found), max(p.committed for p in found))

    def _write(self, segment: int, content: bytes, offset: int) -> None:
        write_all(self._descriptor(segment), content, offset)
        self._unsynced.add(segment)

    def _descriptor(self, segment: int) -> int:
        found = self._open.pop(segment, None)
        if found is None:
            self._close_some()
            found = os.open(self.path(segment), os.O_RDWR | os.O_CLOEXEC, FILE_MODE)
        self._open[segment] = found
        return found

    def _close_some(self) -> None:
        idle = [segment for segment in self._open if segment not in self._unsynced]
        for segment in idle[: max(0, len(self._open) + 1 - _OPEN)]:
            os.close(self._open.pop(segment))

    def _damaged(self, segment: int, finding: str) -> DamagedStore:
        text = f"'{self.path(segment).name}' is damaged: {finding}"
        return DamagedStore(f"{text}; restore the keys from a copy.")


def runs(numbers: Iterable[int]) -> Sequence[tuple[int, int]]:
    """Sorted numbers as (first, count) of consecutive ones.

    >>> runs([3, 1, 2, 7])
    [(1, 3), (7, 1)]
    """
    found: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if found and found[-1][0] + found[-1][1] == number:
            found[-1] = (found[-1][0], found[-1][1] + 1)
        else:
            found.append((number, 1))
    return found

"""The keys of days, under which the ids that left on a day are hidden; overwritten to destroy.

``EPOCH.days`` has 16 places of 64 bytes, one after another, then zeros up to 4,096 bytes. A place
is the number of the day (uint64), its key, wrapped by the master key, the first 8 bytes of a
SHA-256 of both, and zeros. A place of zeros is free. A day has the place of its number modulo 16.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import final

from efface.errors import DamagedStore
from efface.store.durable_files import open_file, sync, write_all
from efface.store.key_folder import days_name
from efface.store.master_key import MasterKey

LENGTH = 4_096  # never inside an inode, whose old content a journal keeps
_KEY, _PLACES, _SIZE = 32, 16, 64
_ENTRY = struct.Struct("<Q32s8s16x")


def encode_days(keys: dict[int, bytes], master: MasterKey) -> bytes:
    """The content of a file.

    >>> decode_days(encode_days({7: b"k" * 32}, MasterKey(None)), MasterKey(None))
    {7: b'kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk'}
    """
    content = bytearray(LENGTH)
    for day, key in keys.items():
        at = day % _PLACES * _SIZE
        content[at : at + _SIZE] = _entry(day, master.wrap(key))
    return bytes(content)


def decode_days(content: bytes, master: MasterKey) -> dict[int, bytes]:
    """The key of each day."""
    found = {}
    for at in range(0, _PLACES * _SIZE, _SIZE):
        entry = content[at : at + _SIZE]
        if any(entry):
            day, wrapped, _ = _ENTRY.unpack(entry) if len(entry) == _SIZE else (0, b"", b"")
            if entry != _entry(day, wrapped) or day % _PLACES * _SIZE != at:
                text = "'keys' of days are damaged: expected whole places"
                raise DamagedStore(f"{text}; restore the keys from a copy.")
            found[day] = master.unwrap(wrapped)
    if len(content) != LENGTH:
        text = f"'keys' of days have {len(content)} bytes: expected {LENGTH}"
        raise DamagedStore(f"{text}; restore the keys from a copy.")
    return found


def _entry(day: int, wrapped: bytes) -> bytes:
    mark = struct.pack("<Q", day) + wrapped
    return _ENTRY.pack(day, wrapped, hashlib.sha256(mark).digest()[:8])


@final
class DayKeys:
    """The keys of the last days; the list of ``folders`` that hold them is the caller's."""

    def __init__(self, folders: Sequence[Path], epoch: int, master: MasterKey) -> None:
        self.folders, self.epoch, self._master = folders, epoch, master
        self.keys = decode_days((folders[0] / days_name(epoch)).read_bytes(), master)

    def __repr__(self) -> str:
        return f"DayKeys({len(self.keys)} days)"

    def draw(self, day: int) -> bytes:
        """A new key; it is on the disk when this returns."""
        key = os.urandom(_KEY)
        self._write(day, _entry(day, self._master.wrap(key)))
        self.keys[day] = key
        return key

    def destroy(self, day: int) -> None:
        """Overwrite the key of a day; that is on the disk when this returns."""
        self._write(day, bytes(_SIZE))
        del self.keys[day]

    def use(self, epoch: int, master: MasterKey) -> None:
        """Go on with the file of another epoch, which holds the same keys."""
        self.epoch, self._master = epoch, master

    def _write(self, day: int, entry: bytes) -> None:
        for folder in self.folders:
            with open_file(folder / days_name(self.epoch), os.O_RDWR) as descriptor:
                write_all(descriptor, entry, day % _PLACES * _SIZE)
                sync(descriptor)

"""The ids of rows that left: for seven days after that day they must not come back.

They lie with the keys, apart from the rows: restoring older rows does not bring them back. An id is
hidden twice: as a digest under the store's own secret, then by AES-256 under the key of the day on
which it left. That key is destroyed seven days after the day, and nobody can test an id after that.
Until then, who has the secret and the keys, or may learn rows, can test whether an id is among
them.

``DDDDDD.left`` has one record per transaction: how many ids (uint32), a digest of 12 bytes of the
place and the ids under the key of the day, and 8 bytes per id. The file grows by blocks of zeros,
so that a record changes no size: a sync of data is enough.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple, final

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from efface.errors import DamagedStore
from efface.inputs.ids import Id
from efface.store.day_keys import DayKeys
from efface.store.digest_table import SIZE, DigestTable
from efface.store.durable_files import FILE_MODE, replace_file, wipe, write_all
from efface.store.key_folder import left_name

DAYS = 7
DAY = 86_400  # seconds
_BLOCK = 1 << 16  # bytes by which a file grows
_HEADER = struct.Struct("<I12s")


class Left(NamedTuple):
    """The ids that left in one transaction, hidden, and the number of the day."""

    day: int
    digests: bytes


@final
class _Day:
    """The ids that left on one day."""

    def __init__(self, key: bytes) -> None:
        self._key, self._cipher = key, Cipher(algorithms.AES(key), modes.ECB())
        self.digests = DigestTable(np.uint8)
        self.end, self.room, self.torn = 0, 0, False
        self.open: list[int] = []  # descriptors, one per folder
        self.unsynced = False

    def hide(self, blinded: bytes) -> bytes:
        """Digests of 16 bytes each, as this day has them."""
        hidden = np.frombuffer(self._cipher.encryptor().update(blinded), np.uint64)
        return hidden[::2].tobytes()

    def record(self, digests: bytes) -> bytes:
        """What is written behind the last record."""
        place = self.end.to_bytes(8, "little")
        check = hashlib.blake2b(place + digests, key=self._key, digest_size=12).digest()
        return _HEADER.pack(len(digests) // SIZE, check) + digests

    def read(self, content: bytes) -> None:
        """Enter all records up to the first that is not whole."""
        found = list[bytes]()
        while self.end + _HEADER.size <= len(content):
            count, _ = _HEADER.unpack_from(content, self.end)
            first = self.end + _HEADER.size
            record = self.record(content[first : first + SIZE * count])
            if not count or content[self.end : first + SIZE * count] != record:
                break
            found.append(content[first : first + SIZE * count])
            self.end = first + SIZE * count
        self.room, self.torn = len(content), any(content[self.end :])
        self.enter(b"".join(found))

    def enter(self, digests: bytes) -> None:
        """Add digests in memory."""
        each = [digests[at : at + SIZE] for at in range(0, len(digests), SIZE)]
        self.digests.add(each, 0)


@final
class LeftIds:
    """The ids whose rows left; nine bytes of memory each. ``keys.folders`` hold the files."""

    def __init__(self, secret: bytes, keys: DayKeys) -> None:
        self._secret, self._keys = hashlib.sha256(b"left ids" + secret).digest(), keys
        self._days: dict[int, _Day] = {}
        for day, key in keys.keys.items():
            self._days[day] = _Day(key)
            self._days[day].read(self._content(day))

    def __repr__(self) -> str:
        return f"LeftIds({len(self)} ids)"

    def __len__(self) -> int:
        return sum(len(day.digests) for day in self._days.values())

    @property
    def torn(self) -> bool:
        """Whether a record is not whole: only a note can explain that."""
        return any(day.torn for day in self._days.values())

    # -- ids -------------------------------------------------------------------------------------

    def among(self, model: int, ids: Sequence[Id]) -> list[int]:
        """The places of those ids whose rows left a short time ago."""
        days = [day for day in self._days.values() if len(day.digests)]
        if not days:
            return []
        blinded, found = self._blinded([(model, ids)]), set[int]()
        for day in days:
            hidden = day.hide(blinded)
            each = [hidden[at : at + SIZE] for at in range(0, len(hidden), SIZE)]
            found |= {at for at, there in enumerate(day.digests.find(each)) if there is not None}
        return sorted(found)

    def hidden(self, model_ids: Iterable[tuple[int, Iterable[Id]]], now: int) -> Left:
        """Ids that leave now; the key of the day is on the disk when this returns."""
        day = now // DAY
        if day not in self._days:
            self._begin(day)
        return Left(day, self._days[day].hide(self._blinded(model_ids)))

    def enter(self, left: Left | None) -> None:
        """Know ids that left; those of a day that is over are nobody's any more."""
        if left is not None and left.day in self._days:
            self._days[left.day].enter(left.digests)

    def _blinded(self, model_ids: Iterable[tuple[int, Iterable[Id]]]) -> bytes:
        parts = []
        for model, ids in model_ids:
            for id in ids:
                kind = b"i" if type(id) is int else b"t"
                text = b"%d%b%b" % (model, kind, str(id).encode("utf-8", "surrogatepass"))
                parts.append(hashlib.blake2b(text, key=self._secret, digest_size=16).digest())
        return b"".join(parts)

    # -- files -----------------------------------------------------------------------------------

    def write(self, lefts: Iterable[Left | None]) -> None:
        """Write records behind the last; they are on the disk once ``unsynced`` is synced."""
        for left in lefts:
            if left is not None and left.digests and left.day in self._days:
                day = self._days[left.day]
                record = day.record(left.digests)
                self._grow(day, day.end + len(record))
                for descriptor in day.open:
                    write_all(descriptor, record, day.end)
                day.end, day.unsynced = day.end + len(record), True

    def unsynced(self) -> list[int]:
        """The descriptors of files with writes that may not be on the disk."""
        return [file for day in self._days.values() if day.unsynced for file in day.open]

    def synced(self) -> None:
        """All that ``unsynced`` named is on the disk."""
        for day in self._days.values():
            day.unsynced = False

    def trim(self) -> None:
        """Overwrite what a crash left behind the last whole record, and open the files again."""
        for number, day in self._days.items():
            self._reopen(number, day)
            if day.torn:
                for descriptor in day.open:
                    write_all(descriptor, bytes(day.room - day.end), day.end)
                day.torn = False
            day.unsynced = True  # what a killed process wrote may not be on the disk

    def end_days(self, now: int) -> None:
        """Destroy the keys of days that are over, and remove their files."""
        for number in [day for day in self._days if (day + 1 + DAYS) * DAY <= now]:
            self._keys.destroy(number)
            self._close(self._days.pop(number))
            for folder in self._keys.folders:
                wipe(folder / left_name(number))

    def close(self) -> None:
        """Close the files."""
        for day in self._days.values():
            self._close(day)

    def _begin(self, number: int) -> None:
        """Make the files of a day, then its key: a key without a file is damage."""
        for folder in self._keys.folders:
            replace_file(folder / left_name(number), bytes(_BLOCK))
        day = _Day(self._keys.draw(number))
        day.room = _BLOCK
        self._reopen(number, day)
        self._days[number] = day

    def _grow(self, day: _Day, size: int) -> None:
        """Add zeros up to a size at least; that is on the disk when this returns."""
        if size > day.room:
            room = -(-size // _BLOCK) * _BLOCK
            for descriptor in day.open:
                write_all(descriptor, bytes(room - day.room), day.room)
                os.fsync(descriptor)
            day.room = room

    def _content(self, day: int) -> bytes:
        path = self._keys.folders[0] / left_name(day)
        try:
            return path.read_bytes()
        except FileNotFoundError:
            text = f"'{path.name}' is missing: expected the ids that left on a day"
            raise DamagedStore(f"{text}; restore the keys from a copy.") from None

    def _reopen(self, number: int, day: _Day) -> None:
        self._close(day)
        for folder in self._keys.folders:
            path = folder / left_name(number)
            day.open.append(os.open(path, os.O_RDWR | os.O_CLOEXEC, FILE_MODE))

    def _close(self, day: _Day) -> None:
        while day.open:
            os.close(day.open.pop())

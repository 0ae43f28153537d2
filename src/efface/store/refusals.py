"""What must not come back: owners for ever, and for seven days the ids of rows that left.

Both are kept as digests under the store's own secret, ``blind.key``. Who has that secret, or may
learn rows, can test whether a name is among them.

``refused.bin`` is ``efface refused 1`` and a line break, then 40 bytes per owner: HMAC-SHA256 of
the owner, and the first 8 bytes of the HMAC of its place and that digest.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from efface.engine.hashing.hash_table import ABSENT, EMPTY, HashTable
from efface.errors import DamagedStore
from efface.inputs.ids import Id
from efface.store.durable_files import open_file, sync, write_all

HEADER = b"efface refused 1\n"
_HASH, _CHECK = 32, 8
_ENTRY = _HASH + _CHECK
DAYS = 7
KEPT = DAYS * 86_400  # seconds
_LEFT = 16


@final
class RefusedOwners:
    """The owners that must not come back."""

    def __init__(self, path: Path, secret: bytes) -> None:
        self._path, self._secret = path, secret
        self._hashes: dict[str, None] = {}
        self._read(path.read_bytes())

    def __repr__(self) -> str:
        return f"RefusedOwners({len(self)} owners)"

    def __len__(self) -> int:
        return len(self._hashes)

    def hash(self, owner: Id) -> str:
        """The digest of an owner."""
        content = b"owner" + json.dumps(owner).encode("ascii")
        return hmac.digest(self._secret, content, hashlib.sha256).hex()

    def refuses(self, owners: Iterable[Id | None]) -> bool:
        """Whether one of these owners must not come back."""
        if not self._hashes:
            return False
        return any(self.hash(each) in self._hashes for each in set(owners) if each is not None)

    def has(self, hashes: Iterable[str]) -> bool:
        """Whether all of these digests are there."""
        return all(each in self._hashes for each in hashes)

    def add(self, hashes: Sequence[str]) -> None:
        """Add owners by their digests, each once; they are on the disk when this returns."""
        new = [each for each in dict.fromkeys(hashes) if each not in self._hashes]
        first = len(self)
        entries = b"".join(self._entry(first + at, each) for at, each in enumerate(new))
        if new:
            with open_file(self._path, os.O_WRONLY) as descriptor:
                write_all(descriptor, entries, len(HEADER) + _ENTRY * first)
                sync(descriptor)
            self._hashes.update(dict.fromkeys(new))

    def _entry(self, place: int, digest: str) -> bytes:
        content = bytes.fromhex(digest)
        check = hmac.digest(self._secret, place.to_bytes(8, "little") + content, hashlib.sha256)
        return content + check[:_CHECK]

    def _read(self, content: bytes) -> None:
        """Read the entries up to the first that is not whole; the database knows their number."""
        if not content.startswith(HEADER):
            text = f"'{self._path.name}' is damaged: its first line is altered"
            raise DamagedStore(f"{text}; restore it from a copy.")
        for at in range(len(HEADER), len(content) - _ENTRY + 1, _ENTRY):
            digest = content[at : at + _HASH].hex()
            if self._entry(len(self), digest) != content[at : at + _ENTRY]:
                return
            self._hashes[digest] = None


@final
class LeftIds:
    """The digests of ids whose rows left in the last seven days, one record per transaction.

    In memory an id is the first 8 bytes of its digest, in arrays: about 35 bytes per id.
    """

    PREFIX = "left "

    def __init__(self, secret: bytes) -> None:
        self._secret = hashlib.sha256(b"left ids" + secret).digest()
        self._table = HashTable()  # codes to the number of the record
        self._records: deque[tuple[int, str, NDArray[np.int64]]] = deque()
        self._next = 0

    def __repr__(self) -> str:
        return f"LeftIds({len(self)} ids)"

    def __len__(self) -> int:
        return len(self._table)

    def hash(self, model: int, id: Id) -> bytes:
        """The digest of an id of a model."""
        content = b"%d%b%b" % (
            model,
            b"i" if type(id) is int else b"t",
            str(id).encode("utf-8", "surrogatepass"),
        )
        return hashlib.blake2b(content, key=self._secret, digest_size=_LEFT).digest()

    def among(self, model: int, ids: Sequence[Id]) -> list[int]:
        """The places of those ids whose rows left a short time ago."""
        if not len(self):
            return []
        codes = _codes(b"".join([self.hash(model, id) for id in ids]))
        found: list[int] = np.flatnonzero(self._table.find(codes) != ABSENT).tolist()
        return found

    def record(self, model_ids: Iterable[tuple[int, Iterable[Id]]], now: int) -> dict[str, Any]:
        """The content of a record about ids that leave now."""
        hashes = [self.hash(model, id) for model, ids in model_ids for id in ids]
        return {"until": now + KEPT, "hashes": b"".join(hashes).hex()}

    def enter(self, name: str, content: dict[str, Any]) -> None:
        """Add a record that is in the database."""
        codes = _codes(bytes.fromhex(content["hashes"]))
        self._records.append((int(content["until"]), name, codes))
        self._table.insert(codes, np.full(codes.size, self._next + len(self._records) - 1))

    def outdated(self, now: int) -> list[str]:
        """The names of records that are over; what they hold is dropped."""
        names = []
        while self._records and self._records[0][0] <= now:
            _, name, codes = self._records.popleft()
            mine = np.unique(codes[self._table.find(codes) == self._next])  # no later record has it
            self._table.remove(mine)
            self._next += 1
            names.append(name)
        return names


def _codes(digests: bytes) -> NDArray[np.int64]:
    """The first 8 bytes of digests, as numbers."""
    codes = np.frombuffer(digests, "<i8").reshape(-1, _LEFT // 8)[:, 0].astype(np.int64)
    return np.where(codes == EMPTY, 0, codes)

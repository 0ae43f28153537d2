"""The owners that must not come back.

They are kept as digests under the store's own secret, ``blind.key``. Who has that secret, or may
learn rows, can test whether a name is among them.

``refused.owners`` is ``efface refused 1`` and a line break, then 40 bytes per owner: HMAC-SHA256 of
the owner, and the first 8 bytes of the HMAC of its place and that digest.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import final

from efface.errors import DamagedStore
from efface.inputs.ids import Id
from efface.store.durable_files import open_file, sync, write_all
from efface.store.key_folder import REFUSED

HEADER = b"efface refused 1\n"
_HASH, _CHECK = 32, 8
_ENTRY = _HASH + _CHECK


@final
class RefusedOwners:
    """The owners that must not come back."""

    def __init__(self, folders: Sequence[Path], secret: bytes) -> None:
        self._folders, self._secret = folders, secret
        self._hashes: dict[str, None] = {}
        self._read((folders[0] / REFUSED).read_bytes())

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
            for folder in self._folders:
                with open_file(folder / REFUSED, os.O_WRONLY) as descriptor:
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
            text = f"'{REFUSED}' is damaged: its first line is altered"
            raise DamagedStore(f"{text}; restore it from a copy.")
        for at in range(len(HEADER), len(content) - _ENTRY + 1, _ENTRY):
            digest = content[at : at + _HASH].hex()
            if self._entry(len(self), digest) != content[at : at + _ENTRY]:
                return
            self._hashes[digest] = None

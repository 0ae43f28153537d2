"""The encryption of rows: AES-256-GCM, each row under a key of its own that is used once.

The associated data names the format, the store, the sequence number and the model: a ciphertext
that is moved to another row, model or store does not decrypt. A stored body is a random nonce of 12
bytes, the ciphertext, and a tag of 16 bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple, final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from efface.store.key_segments import SLOT

NONCE = 12
_PLACE = struct.Struct("<28sqi")  # format and store, sequence number, number of the model
_DAMAGED = (InvalidTag, ValueError, TypeError, struct.error)  # too short, no number
Body = tuple[int, int, bytes]  # sequence number, number of the model, nonce and ciphertext


class EncryptedRows(NamedTuple):
    """Rows of one model with consecutive sequence numbers."""

    first: int  # sequence number
    model: int  # its number
    bodies: Sequence[bytes]  # nonce and ciphertext

    def each(self) -> Iterator[Body]:
        """One row after the other."""
        return ((self.first + at, self.model, body) for at, body in enumerate(self.bodies))


@final
class RowCipher:
    """Encrypts and decrypts the rows of one store.

    >>> cipher = RowCipher(b"s" * 16)
    >>> (body,) = cipher.encrypt(1, 7, b"k" * 32, b"n" * 12, [b"plain"]).bodies
    >>> cipher.decrypt(7, 1, b"k" * 32, body)
    b'plain'
    >>> cipher.decrypt(8, 1, b"k" * 32, body) is None
    True
    """

    def __init__(self, store: bytes) -> None:
        self._prefix = b"efface row 1" + store

    def encrypt(
        self, model: int, first: int, keys: bytes, nonces: bytes, texts: Sequence[bytes]
    ) -> EncryptedRows:
        """Encrypt rows with consecutive sequence numbers from ``first`` on."""
        prefix, place = self._prefix, _PLACE.pack
        own = [keys[at : at + SLOT] for at in range(0, len(keys), SLOT)]
        each = [nonces[at : at + NONCE] for at in range(0, len(nonces), NONCE)]
        parts = zip(range(first, first + len(texts)), own, each, texts, strict=True)
        bodies = [
            nonce + AESGCM(key).encrypt(nonce, text, place(prefix, seq, model))
            for seq, key, nonce, text in parts
        ]
        return EncryptedRows(first, model, bodies)

    def decrypt(self, seq: int, model: int, key: bytes, body: bytes) -> bytes | None:
        """The plaintext of a row; None if the key or the row is another one or altered."""
        try:
            place = _PLACE.pack(self._prefix, seq, model)
            return AESGCM(key).decrypt(body[:NONCE], body[NONCE:], place)
        except _DAMAGED:
            return None

    def decrypt_all(
        self, rows: Sequence[Body], keys: bytes, first: int
    ) -> list[bytes] | list[bytes | None]:
        """The plaintexts of rows whose keys lie in ``keys``, from sequence number ``first`` on."""
        prefix, place, start = self._prefix, _PLACE.pack, SLOT * first
        try:  # all at once; what one row costs is most of the time to open a store
            return [
                AESGCM(keys[SLOT * seq - start : SLOT * seq - start + SLOT]).decrypt(
                    body[:NONCE], body[NONCE:], place(prefix, seq, model)
                )
                for seq, model, body in rows
            ]
        except _DAMAGED:
            slots = (SLOT * (seq - first) for seq, _, _ in rows)
            return [
                self.decrypt(seq, model, keys[at : at + SLOT], body)
                for (seq, model, body), at in zip(rows, slots, strict=True)
            ]

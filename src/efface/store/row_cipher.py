"""The encryption of rows: AES-256-GCM, each row under a key of its own that is used once.

The associated data names the format, the store, the sequence number and the model: a ciphertext
that is moved to another row, model or store does not decrypt. A stored body is a random nonce of 12
bytes, the ciphertext, and a tag of 16 bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from efface.store.key_segments import SLOT

NONCE = 12
_PLACE = struct.Struct("<qi")
_DAMAGED = (InvalidTag, ValueError, TypeError, struct.error)  # too short, no number
Body = tuple[int, int, bytes]  # sequence number, number of the model, nonce and ciphertext


@final
class RowCipher:
    """Encrypts and decrypts the rows of one store.

    >>> cipher = RowCipher(b"s" * 16)
    >>> (row,) = cipher.encrypt(1, 7, b"k" * 32, b"n" * 12, [b"plain"])
    >>> cipher.decrypt(7, 1, b"k" * 32, row[2])
    b'plain'
    >>> cipher.decrypt(8, 1, b"k" * 32, row[2]) is None
    True
    """

    def __init__(self, store: bytes) -> None:
        self._prefix = b"efface row 1" + store

    def encrypt(
        self, model: int, first: int, keys: bytes, nonces: bytes, texts: Sequence[bytes]
    ) -> list[Body]:
        """Encrypt rows with consecutive sequence numbers from ``first`` on."""
        prefix, place, rows, seq = self._prefix, _PLACE.pack, [], first
        for at, text in enumerate(texts):
            nonce = nonces[NONCE * at : NONCE * at + NONCE]
            sealed = AESGCM(keys[SLOT * at : SLOT * at + SLOT])
            body = sealed.encrypt(nonce, text, prefix + place(seq, model))
            rows.append((seq, model, nonce + body))
            seq += 1
        return rows

    def decrypt(self, seq: int, model: int, key: bytes, body: bytes) -> bytes | None:
        """The plaintext of a row; None if the key or the row is another one or altered."""
        try:
            place = self._prefix + _PLACE.pack(seq, model)
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
                    body[:NONCE], body[NONCE:], prefix + place(seq, model)
                )
                for seq, model, body in rows
            ]
        except _DAMAGED:
            slots = (SLOT * (seq - first) for seq, _, _ in rows)
            return [
                self.decrypt(seq, model, keys[at : at + SLOT], body)
                for (seq, model, body), at in zip(rows, slots, strict=True)
            ]

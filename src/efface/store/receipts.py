"""Receipts: signed statements that rows were forgotten, in a chain that shows gaps and changes.

A line of ``receipts.jsonl`` is JSON with the ``payload``, a text, and its ``signature``: Ed25519
over ``efface-receipt-v1``, a line break and exactly the bytes of the payload. The payload is JSON
without floats: store, number, note, time, rows per model, subject, digest, the SHA-256 of the
payload before, and the public key of the signer. A change of the signing key is a payload with the
new key, signed by both.

A receipt proves who stated what, and that it is unaltered. It does not prove that keys were
destroyed, that no copies exist, or that the clock was right.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from efface.errors import BadReceipt, DamagedStore
from efface.inputs.ids import Id
from efface.store.digest_table import DigestTable
from efface.store.durable_files import open_file, sync, write_all

_CONTEXT = b"efface-receipt-v1\n"
_ROOM = 16_384  # bytes that are reserved for the next line
NO_PAYLOAD = hashlib.sha256(b"").hexdigest()  # what the first payload has as the one before


@final
@dataclass(frozen=True)
class Receipt:
    """One line of the chain. ``json`` is what the person who asked should keep."""

    payload: str
    signature: str
    countersignature: str | None = None  # by the next signing key

    @property
    def fields(self) -> dict[str, Any]:
        """What the payload says."""
        found: dict[str, Any] = json.loads(self.payload)
        return found

    @property
    def number(self) -> int:
        """Its place in the chain, from 1 on."""
        return int(self.fields["number"])

    @property
    def rows(self) -> int:
        """How many rows were forgotten."""
        return sum(self.fields.get("rows", {}).values())

    @property
    def head(self) -> str:
        """SHA-256 of the payload. That names the head before it, so this covers the chain."""
        return hashlib.sha256(self.payload.encode("utf-8")).hexdigest()

    @property
    def json(self) -> str:
        """One line of JSON."""
        found = {"payload": self.payload, "signature": self.signature}
        if self.countersignature is not None:
            found["countersignature"] = self.countersignature
        return json.dumps(found, separators=(",", ":"))

    @classmethod
    def parse(cls, text: str, subject: str = "receipt") -> Receipt:
        """A receipt from its JSON; nothing is verified yet."""
        try:
            found = json.loads(text)
            receipt = cls(found["payload"], found["signature"], found.get("countersignature"))
            fields = receipt.fields
            whole = type(fields["number"]) is int
        except (ValueError, KeyError, TypeError) as error:
            raise BadReceipt(f"'{subject}' is no receipt: expected a line of JSON.") from error
        if not whole:
            raise BadReceipt(f"'{subject}' is no receipt: expected a numbered payload.")
        return receipt

    def verify(self, public_key: str | None = None) -> None:
        """Raise unless the payload is signed by ``public_key``, or by the key that it names."""
        signer = str(self.fields.get("key"))
        if public_key is not None and signer != public_key:
            text = f"'receipt' {self.number} was signed by another key than the one given"
            raise BadReceipt(f"{text}: expected {public_key}; ask for the key of the store.")
        self._check(signer, self.signature)
        if "next_key" in self.fields:
            self._check(str(self.fields["next_key"]), self.countersignature or "")

    def _check(self, key: str, signature: str) -> None:
        try:
            signer = Ed25519PublicKey.from_public_bytes(bytes.fromhex(key))
            signer.verify(bytes.fromhex(signature), _CONTEXT + self.payload.encode("utf-8"))
        except (InvalidSignature, ValueError) as error:
            text = f"'receipt' {self.number} is altered: its signature does not match"
            raise BadReceipt(f"{text}; ask for the original.") from error

    def names(self, secret: bytes, owner: Id) -> bool:
        """Whether the request named this owner alone, under the secret of who asked."""
        expected = subject(secret, [], [owner])
        return hmac.compare_digest(expected, str(self.fields.get("subject")))


def removal_subject(secret: bytes, model: str) -> str:
    """The keyed digest of a model that a request removes."""
    return _keyed(secret, json.dumps({"model": model}).encode("ascii"))


def subject(secret: bytes, ids: Sequence[Id], owners: Sequence[Id]) -> str:
    """The keyed digest of whom a request names."""
    return _keyed(secret, json.dumps({"ids": list(ids), "owners": list(owners)}).encode("ascii"))


def state_digest(secret: bytes, parts: Iterable[bytes]) -> str:
    """The keyed digest of the state of the models after a request."""
    return _keyed(secret, b"".join(hashlib.sha256(part).digest() for part in parts))


def _keyed(secret: bytes, content: bytes) -> str:
    return hmac.digest(secret, content, hashlib.sha256).hex()


def read_receipts(path: Path, subject: str, most: int | None = None) -> list[Receipt]:
    """The receipts in a file, or the first of them; an error names the ``subject`` and the line."""
    lines = path.read_text("utf-8").rstrip("\0").splitlines()[:most]
    return [Receipt.parse(line, f"{subject} {at}") for at, line in enumerate(lines, start=1)]


def verify_chain(receipts: Iterable[Receipt], public_key: str | None = None) -> int:
    """Check every signature and link of a whole chain; return the number of receipts.

    ``public_key`` is that of the newest signer.
    """
    before, signer, count = NO_PAYLOAD, None, 0
    for receipt in receipts:
        fields, count = receipt.fields, count + 1
        if receipt.number != count or fields.get("previous") != before:
            raise BadReceipt(f"'receipt' {receipt.number} does not follow receipt {count - 1}.")
        receipt.verify(signer)
        signer = fields.get("next_key", fields["key"])
        before = receipt.head
    if public_key is not None and signer not in (None, public_key):
        raise BadReceipt(f"'chain' was signed by another key: expected {public_key}.")
    return count


def linked_keys(public_key: str, changes: Iterable[Receipt]) -> set[str]:
    """The keys that records of changes, each signed by both keys, link to a published one."""
    known, pairs = {public_key}, []
    for record in changes:
        fields = record.fields
        if "next_key" in fields:
            record.verify()
            pairs.append({str(fields["key"]), str(fields["next_key"])})
    while grown := [pair for pair in pairs if pair & known and not pair <= known]:
        known = known.union(*grown)
    return known


@final
class SigningKey:
    """The private key of a store."""

    def __init__(self, content: bytes) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(content)
        self.public = self._key.public_key().public_bytes_raw().hex()

    def __repr__(self) -> str:
        return f"SigningKey(public={self.public!r})"

    def sign(self, payload: str) -> str:
        """The signature of a payload."""
        return self._key.sign(_CONTEXT + payload.encode("utf-8")).hex()


@final
class ReceiptChain:
    """The chain of a store: a file that only grows, and where its receipts are."""

    def __init__(self, path: Path, store: str, key: SigningKey) -> None:
        self._path, self._store, self.key = path, store, key
        self.second: Path | None = None  # a copy that is equal, to which is written as well
        self.digest, self.head, self.count = "", NO_PAYLOAD, 0
        self._by_subject = DigestTable(np.uint64)  # to the offset of the line
        self.notes: set[str] = set()  # those that had a receipt when the file was read
        self._end = 0
        self._read()

    def _read(self) -> None:
        """Go through the file; a last line without its end was never acknowledged: cut it off."""
        content = self._path.read_bytes()
        whole, subjects = content[: content.rfind(b"\n") + 1], dict[bytes, int]()
        for line in whole.splitlines():
            try:
                receipt = Receipt.parse(line.decode("utf-8"))
                offset, fields = self._enter(receipt, line + b"\n"), receipt.fields
                if "subject" in fields:
                    subjects[_short(fields["subject"])] = offset
                    self.notes.add(fields["note"])
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                text = f"'{self._path.name}' is damaged at line {self.count + 1}"
                raise DamagedStore(f"{text}; restore it from a copy.") from error
        self._by_subject.add(list(subjects), list(subjects.values()))
        if len(whole) < len(content):
            with open_file(self._path, os.O_RDWR) as descriptor:
                os.ftruncate(descriptor, len(whole))
                sync(descriptor)

    @property
    def _paths(self) -> list[Path]:
        return [self._path] if self.second is None else [self._path, self.second]

    @property
    def content(self) -> bytes:
        """All lines."""
        return self._path.read_bytes()[: self._end]

    def digests(self, counts: set[int]) -> dict[int, tuple[str, str]]:
        """The digest of all lines, and the head, after each of these numbers of receipts."""
        found, digest, head = {0: ("", NO_PAYLOAD)}, "", NO_PAYLOAD
        content = self._path.read_bytes().rstrip(b"\0")
        for count, line in enumerate(content.splitlines(keepends=True), start=1):
            digest = _extended(digest, line)
            if count in counts:
                head = Receipt.parse(line.decode("utf-8")).head
                found[count] = digest, head
        return found

    def find(self, subject: str) -> Receipt | None:
        """The receipt of a request that was made before, under the same secret."""
        (offset,) = self._by_subject.find([_short(subject)])
        if offset is None:
            return None
        with self._path.open("rb") as file:
            file.seek(offset)
            receipt = Receipt.parse(file.readline().decode("utf-8"))
        return receipt if receipt.fields["subject"] == subject else None

    def receipts(self) -> list[Receipt]:
        """All receipts."""
        return read_receipts(self._path, "line")

    def reserve(self) -> None:
        """Take the space of the next receipt now; zeros behind the last line are no line."""
        for path in self._paths:
            with open_file(path, os.O_WRONLY) as descriptor:
                if hasattr(os, "posix_fallocate"):  # macOS lacks it
                    os.posix_fallocate(descriptor, self._end, _ROOM)

    def append(self, content: dict[str, Any], next_key: SigningKey | None = None) -> Receipt:
        """Sign and write a payload; it is on the disk when this returns."""
        about = {"store": self._store, "number": self.count + 1, **content}
        about |= {"previous": self.head, "key": self.key.public}
        if next_key is not None:
            about["next_key"] = next_key.public
        payload = json.dumps(about, separators=(",", ":"))
        second = None if next_key is None else next_key.sign(payload)
        receipt = Receipt(payload, self.key.sign(payload), second)
        line = receipt.json.encode("utf-8") + b"\n"
        for path in self._paths:
            with open_file(path, os.O_WRONLY) as descriptor:
                write_all(descriptor, line, self._end)
                os.ftruncate(descriptor, self._end + len(line))
                sync(descriptor)
        offset = self._enter(receipt, line)
        if "subject" in about:
            self._by_subject.add([_short(about["subject"])], offset)
        return receipt

    def _enter(self, receipt: Receipt, line: bytes) -> int:
        """Go on with a line; return its offset."""
        fields = receipt.fields
        if receipt.number != self.count + 1 or fields.get("previous") != self.head:
            raise BadReceipt(f"'receipt' {receipt.number} does not follow receipt {self.count}.")
        self.count, self.head = receipt.number, receipt.head
        self.digest = _extended(self.digest, line)
        self._end += len(line)
        return self._end - len(line)


def _short(subject: str) -> bytes:
    """What a subject is found by."""
    return hashlib.sha256(subject.encode("utf-8")).digest()


def _extended(digest: str, line: bytes) -> str:
    return hashlib.sha256(digest.encode("ascii") + line).hexdigest()

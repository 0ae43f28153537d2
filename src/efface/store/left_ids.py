"""The ids of rows that left: for seven days, to the hour, they must not come back.

An id is kept as a digest under the store's own secret, in one record per transaction. Who has that
secret, or may learn rows, can test whether an id is among them.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Sequence
from typing import Any, final

import numpy as np

from efface.inputs.ids import Id
from efface.store.digest_table import SIZE, DigestTable

DAYS = 7
KEPT = DAYS * 86_400  # seconds
PREFIX = "left "  # of the names of records
_HOUR = 3_600


def record_name(transaction: int) -> str:
    """The name of the record of a transaction."""
    return f"{PREFIX}{transaction:020d}"


@final
class LeftIds:
    """The digests of ids whose rows left, ten bytes each."""

    def __init__(self, secret: bytes) -> None:
        self._secret = hashlib.sha256(b"left ids" + secret).digest()
        self._digests = DigestTable(np.uint16)  # to the hour in which they are over
        self._records: dict[int, array[int]] = {}  # transactions by the hour

    def __repr__(self) -> str:
        return f"LeftIds({len(self)} ids)"

    def __len__(self) -> int:
        return len(self._digests)

    def digest(self, model: int, id: Id) -> bytes:
        """The digest of an id of a model."""
        content = b"%d%b%b" % (
            model,
            b"i" if type(id) is int else b"t",
            str(id).encode("utf-8", "surrogatepass"),
        )
        return hashlib.blake2b(content, key=self._secret, digest_size=SIZE).digest()

    def among(self, model: int, ids: Sequence[Id]) -> list[int]:
        """The places of those ids whose rows left a short time ago."""
        if not self._records:
            return []
        found = self._digests.find([self.digest(model, id) for id in ids])
        return [at for at, hour in enumerate(found) if hour is not None]

    def record(self, model_ids: Iterable[tuple[int, Iterable[Id]]], now: int) -> dict[str, Any]:
        """The content of a record about ids that leave now."""
        digests = [self.digest(model, id) for model, ids in model_ids for id in ids]
        return {"until": now + KEPT, "digests": b"".join(digests).hex()}

    def enter(self, name: str, content: dict[str, Any]) -> None:
        """Add a record that is in the database."""
        joined, hour = bytes.fromhex(content["digests"]), -(-int(content["until"]) // _HOUR)
        digests = [joined[at : at + SIZE] for at in range(0, len(joined), SIZE)]
        self._digests.add(digests, hour % (1 << 16))
        self._records.setdefault(hour, array("Q")).append(int(name.removeprefix(PREFIX)))

    def outdated(self, now: int) -> list[str]:
        """The names of records that are over; what they hold is dropped."""
        over = [hour for hour in self._records if hour * _HOUR <= now]
        if not over:
            return []
        gone = [hour % (1 << 16) for hour in over]
        self._digests.keep(lambda hours: ~np.isin(hours, gone))
        return [record_name(number) for hour in over for number in self._records.pop(hour)]

"""Records of the database beside its rows: JSON with a keyed digest, so that damage is seen.

A record is a name and a body. The digest covers the store, the name and the content, under the
store's own secret: a record of another store, or of another name, is refused.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import dataclass, field, replace
from typing import Any, final

from efface.errors import DamagedStore

STATE, MODELS = "state", "models"
NUMBERS = "numbers"  # the highest number of a model that was removed: it is not given again
_DIGEST = 16
_PLAIN = json.JSONEncoder(separators=(",", ":"), allow_nan=False)


@final
class RecordSeal:
    """Writes and checks the bodies of records."""

    def __init__(self, store: bytes, secret: bytes) -> None:
        self._store, self._mac = store, hmac.new(secret, digestmod=hashlib.sha256)

    def __repr__(self) -> str:
        return "RecordSeal(...)"

    def encode(self, name: str, content: Any) -> bytes:
        """The body of a record."""
        text = _PLAIN.encode(content).encode("ascii")
        return text + self._digest(name, text)

    def decode(self, name: str, body: bytes | None) -> Any:
        """The content of a record; one that is missing or altered is refused."""
        text, digest = (body or b"")[:-_DIGEST], (body or b"")[-_DIGEST:]
        if body is None or not hmac.compare_digest(self._digest(name, text), digest):
            finding = "missing" if body is None else "altered, or of another store"
            advice = "put the right database in place, or run 'efface store restore'"
            raise DamagedStore(f"'{name}' in the database is {finding}: {advice}.")
        return json.loads(text)

    def _digest(self, name: str, text: bytes) -> bytes:
        mac = self._mac.copy()
        mac.update(self._store + name.encode("ascii") + b"\0" + text)
        return mac.digest()[:_DIGEST]


@final
@dataclass(frozen=True)
class State:
    """What changes with transactions.

    A transaction that adds rows, and changes nothing else here, does not write the record: the rows
    tell the state, and a small commit writes one page of the database instead of two.
    ``transaction`` counts those that write it. ``next_seq`` is the first sequence number that no
    row ever had. ``receipts`` and ``chain`` are the number of receipts and the digest of all their
    lines. ``refused`` counts the owners that must not come back. ``phases`` are those of the
    policies, by the number of the model.
    """

    transaction: int = 0
    next_seq: int = 0
    receipts: int = 0
    chain: str = ""
    refused: int = 0
    phases: dict[int, int] | None = field(default=None, hash=False)

    def phase(self, model: int) -> int:
        """The phase of a model's policy."""
        return (self.phases or {}).get(model, 0)

    @property
    def version(self) -> int:
        """A number that grows with every transaction."""
        return self.transaction + self.next_seq

    def with_rows(self, end: int) -> State:
        """The state that rows tell which came since it was written; all are below ``end``."""
        return replace(self, next_seq=end) if end > self.next_seq else self

    def after(self, *, rows_alone: bool = False, **changes: Any) -> State:
        """The state of the next transaction; ``rows_alone``: it writes no record yet.

        >>> State().after(rows_alone=True, next_seq=3) == State().with_rows(3)
        True
        >>> State().after(rows_alone=True, next_seq=3, receipts=1).transaction
        1
        """
        others = (name for name in changes if name != "next_seq")
        if rows_alone and all(changes[name] == getattr(self, name) for name in others):
            return self.with_rows(changes["next_seq"])
        return replace(self, transaction=self.transaction + 1, **changes)

    def to_plain(self) -> list[Any]:
        """As JSON knows it."""
        phases = [[number, phase] for number, phase in (self.phases or {}).items() if phase]
        counts = [self.transaction, self.next_seq, self.receipts]
        return [*counts, self.chain, self.refused, phases]

    @classmethod
    def from_plain(cls, plain: list[Any]) -> State:
        """The state back."""
        transaction, next_seq, receipts, chain, refused, phases = plain
        return cls(transaction, next_seq, receipts, chain, refused, dict(phases))

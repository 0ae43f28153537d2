"""Notes: what a transaction that removed rows still has to do to the keys and the receipts.

A note is written in the transaction that deletes its rows. It is removed once their keys are
destroyed, the ids that left are with the keys and, for a request, the receipt is on the disk. After
a crash, opening the store finishes what its notes say. A note holds no value of a row, no owner,
and ids only hidden.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, final

from efface.store.key_segments import runs
from efface.store.left_ids import Left

PREFIX = "note "


@final
@dataclass(frozen=True)
class Note:
    """Rows that left: their sequence numbers, and for a request what its receipt says.

    ``counts`` are rows per model. ``subject`` is the keyed digest of whom the request named, None
    for rows that left by themselves. ``refused`` are keyed digests of owners that must not come
    back. ``left`` are the ids, hidden. ``removed`` is the name of a model that left with all its
    rows.
    """

    runs: tuple[tuple[int, int], ...]  # first sequence number and count
    counts: Mapping[str, int] = field(default_factory=dict, hash=False)
    subject: str | None = None
    refused: tuple[str, ...] = ()
    time: str = ""
    left: Left | None = None
    removed: str | None = None
    id: str = field(default_factory=lambda: secrets.token_hex(16))

    @classmethod
    def of(cls, seqs: Iterable[int], **about: Any) -> Note:
        """A note about rows with these sequence numbers."""
        return cls(tuple(runs(seqs)), **about)

    @property
    def name(self) -> str:
        """The name of its record."""
        return PREFIX + self.id

    @property
    def seqs(self) -> list[int]:
        """The sequence numbers of the rows."""
        return [first + k for first, count in self.runs for k in range(count)]

    @property
    def requested(self) -> bool:
        """Whether someone asked for it and is owed a receipt."""
        return self.subject is not None

    def to_plain(self) -> dict[str, Any]:
        """As JSON knows it."""
        return {
            "runs": [list(run) for run in self.runs],
            "counts": dict(self.counts),
            "subject": self.subject,
            "refused": list(self.refused),
            "time": self.time,
            "left": None if self.left is None else [self.left.day, self.left.digests.hex()],
            "removed": self.removed,
        }

    @classmethod
    def from_plain(cls, name: str, plain: Mapping[str, Any]) -> Note:
        """The note back, from the name and the content of its record."""
        found = tuple((int(first), int(count)) for first, count in plain["runs"])
        about = plain["counts"], plain["subject"], tuple(plain["refused"]), plain["time"]
        left = plain["left"] and Left(int(plain["left"][0]), bytes.fromhex(plain["left"][1]))
        number = name.removeprefix(PREFIX)
        return cls(found, *about, left=left, removed=plain["removed"], id=number)

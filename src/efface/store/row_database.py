"""What a store asks of its database of rows: whole transactions, and reading everything at open.

A database has rows (sequence number, number of the model, body) and records (name, body). All
bodies are opaque to it. A new kind of database is a subclass of ``RowDatabase`` and a line in
``efface.store.disk``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence

from efface.store.row_cipher import Body, EncryptedRows


class RowDatabase(ABC):
    """The rows and records of one store; only the process that took it over may write."""

    @abstractmethod
    def create(self, records: Mapping[str, bytes]) -> None:
        """Make the tables of a new store, with these records."""

    @abstractmethod
    def record(self, name: str) -> bytes | None:
        """The body of a record; None if there is none."""

    @abstractmethod
    def take_over(self) -> None:
        """Commit a synced write, after which no earlier owner can commit."""

    @abstractmethod
    def records(self) -> dict[str, bytes]:
        """All records."""

    @abstractmethod
    def end(self) -> int:
        """The sequence number behind that of the newest row; 0 without rows."""

    @abstractmethod
    def rows(self) -> Iterator[Body]:
        """All rows, in the order of their sequence numbers."""

    @abstractmethod
    def apply(
        self,
        inserts: Sequence[EncryptedRows],
        deletes: Sequence[int],
        puts: Mapping[str, bytes],
        drops: Sequence[str],
    ) -> None:
        """One durable transaction.

        ``StorageFailure`` means that nothing was changed. ``UnclearCommit`` means that it is
        unknown whether it was.
        """

    @abstractmethod
    def close(self) -> None:
        """Close the connection."""

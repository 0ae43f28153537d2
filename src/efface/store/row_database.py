"""What a store asks of its database of rows: whole transactions, and reading everything at open.

A database has rows (sequence number, number of the model, body) and records (name, body). All
bodies are opaque to it. A new kind of database is a subclass of ``RowDatabase`` and a line in
``layout.open_database``. In a statement, ``{schema}`` stands for where the tables are, and
``{value}`` for a value.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, ClassVar

from efface.errors import StorageFailure, StorageFull, UnclearCommit
from efface.store.row_cipher import Body, EncryptedRows

Boundary = Callable[[], AbstractContextManager[None]]


class RowDatabase(ABC):
    """The rows and records of one store; only the process that took it over may write."""

    _connection: Any
    _tables: ClassVar[Sequence[str]]  # the statements that make them
    _errors: ClassVar[type[Exception]]  # of the connection
    _advice: ClassVar[str]  # where rows cannot be written

    @abstractmethod
    def create(self, records: Mapping[str, bytes]) -> None:
        """Make the tables of a new store, with these records."""

    def _create(self, records: Mapping[str, bytes]) -> None:
        for statement in self._tables:
            self._run(statement)
        for record in records.items():
            self._run("insert into {schema}.records values ({value}, {value})", record)

    def record(self, name: str) -> bytes | None:
        """The body of a record; None if there is none."""
        with self._reading():
            query = "select body from {schema}.records where name = {value}"
            found = self._run(query, (name,)).fetchone()
        return None if found is None else bytes(found[0])

    @abstractmethod
    def take_over(self, instance: str = "", known: str = "") -> None:
        """Commit a synced write, after which no earlier owner can commit.

        The rows belong to ``instance`` then. Those of another one than this and ``known`` are
        refused, where a database can be reached from more than one folder.
        """

    def records(self) -> dict[str, bytes]:
        """All records."""
        with self._reading():
            return dict(self._run("select name, body from {schema}.records order by name"))

    def end(self) -> int:
        """The sequence number behind that of the newest row; 0 without rows."""
        with self._reading():
            (found,) = self._run("select max(seq) + 1 from {schema}.rows").fetchone()
        return found or 0

    @abstractmethod
    def rows(self) -> Iterator[Body]:
        """All rows, in the order of their sequence numbers."""

    @abstractmethod
    def copy_to(self, path: Path, boundary: Boundary, going_on: Callable[[], None]) -> None:
        """Write a SQLite file with all records and rows, as they are at the ``boundary``.

        Another thread may commit meanwhile, except inside of ``boundary``. ``going_on`` is called
        now and then, and raises what ends the copy.
        """

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

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """One transaction of the owner. An error before its commit changes nothing."""
        try:
            self._begin()
            yield
        except self._errors as error:
            self._roll_back(error)
        try:
            self._connection.execute("commit")
        except self._errors as error:
            if self._is_full(error):  # no part of it is in the file
                self._roll_back(error)
            raise self._unclear(error) from error

    def _is_full(self, error: Exception) -> bool:
        """Whether a statement failed because there is no space; then it changed nothing."""
        return False

    def _roll_back(self, error: Exception) -> None:
        try:
            self._connection.rollback()
        except self._errors:  # the connection is lost
            raise self._unclear(error) from error
        text = self._problem("cannot be written", error)
        if self._is_full(error):
            text += "; nothing was changed; free space, then ask again"
            raise StorageFull(f"{text}.") from error
        raise StorageFailure(f"{text}; nothing was changed; {self._advice}.") from error

    def _unclear(self, error: Exception) -> UnclearCommit:
        text = self._problem("may lack the last transaction", error)
        return UnclearCommit(f"{text}; it was not acknowledged; open the store again.")

    @abstractmethod
    def _run(self, statement: str, values: Sequence[Any] = ()) -> Any:
        """Run a statement; return its cursor."""

    @abstractmethod
    def _begin(self) -> None:
        """Begin a transaction, as the owner."""

    @abstractmethod
    def _problem(self, finding: str, error: Exception) -> str:
        """What was found, and the error that says so."""

    @abstractmethod
    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Turn errors of the connection into a ``DamagedStore``."""

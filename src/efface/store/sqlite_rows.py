"""Rows in a SQLite file: write-ahead log, synced at every commit, one process.

``secure_delete`` is off: what deleted rows leave in the file is ciphertext whose key is destroyed.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, final
from urllib.parse import quote

from efface.errors import DamagedStore, StorageFailure, StoreInUse
from efface.store.durable_files import open_file
from efface.store.row_cipher import Body, EncryptedRows
from efface.store.row_database import Boundary, RowDatabase

_INSERT = "insert into rows values (?, ?, ?)"
_AT_ONCE = 1_024  # rows of one statement, whose bodies are one value
_NUMBERS = (
    "create temp table numbers (k integer primary key)",
    "insert into numbers with recursive n(k) as (select 0 union all select k + 1 from n limit "
    f"{_AT_ONCE}) select k from n",
)
_INSERT_MANY = (
    "insert into rows select ?1 + k, ?2, substr(?3, 1 + k * ?4, ?4) from numbers where k < ?5"
)
_FULL = 2
_LOCKED = sqlite3.SQLITE_LOCKED
_CACHE = -8_192  # KiB: new rows lie together, and the system caches the file
_PAGES, _LAST, _PAUSE = 256, 1_024, 0.002  # pages of a step of a copy, of its end; seconds
_CHUNK = 10_000  # rows of one transaction of a copy
_LOG = 4_000  # pages of the log: a commit that moves them to the file takes longer than others


@final
class SqliteRows(RowDatabase):
    """The rows of a store in a file."""

    _tables = (
        "create table rows (seq integer primary key, model integer not null, body blob not null)",
        "create table records (name text primary key, body blob not null) without rowid",
        "create table owner (epoch integer not null)",
        "insert into owner values (0)",
    )
    _errors, _advice = sqlite3.Error, "free space or check the disk"
    _connection: sqlite3.Connection

    def __init__(self, path: Path, *, new: bool = False, frozen: bool = False) -> None:
        """Open the file, a ``new`` one, or a ``frozen`` one, which is only read."""
        self._path = path
        if new:
            with open_file(path, os.O_RDWR | os.O_CREAT):
                pass
        elif not path.exists():
            text = f"'{path.name}' is missing: expected the rows of the store"
            raise DamagedStore(f"{text}; put it in place, or run 'efface store restore'.")
        mode = "mode=ro&immutable=1" if frozen else "mode=rw"
        address = f"file:{quote(str(path.resolve()))}?{mode}"
        with self._reading():
            self._connection = sqlite3.connect(
                address, uri=True, isolation_level=None, check_same_thread=False
            )
            if not frozen:
                self._configure_or_close()

    def _configure_or_close(self) -> None:
        try:
            self._configure()
        except BaseException:
            self._connection.close()
            raise

    def _configure(self) -> None:
        run = self._connection.execute
        run("pragma locking_mode=exclusive")
        mode = run("pragma journal_mode=wal").fetchone()[0]
        run("pragma synchronous=full")
        run("pragma secure_delete=off")
        run(f"pragma cache_size={_CACHE}")
        run(f"pragma wal_autocheckpoint={_LOG}")
        run("pragma temp_store=memory")
        for statement in _NUMBERS:
            run(statement)
        if mode != "wal" or run("pragma synchronous").fetchone()[0] != _FULL:
            text = f"'{self._path.name}' cannot be made durable: expected WAL and synchronous=FULL"
            raise StorageFailure(f"{text}; use a local disk.")

    def create(self, records: Mapping[str, bytes]) -> None:
        with self._reading():
            self._create(records)

    def take_over(self, instance: str = "", known: str = "") -> None:
        with self._writing():
            self._connection.execute("update owner set epoch = epoch + 1")

    def rows(self) -> Iterator[Body]:
        with self._reading():
            yield from self._connection.execute("select seq, model, body from rows order by seq")

    def apply(
        self,
        inserts: Sequence[EncryptedRows],
        deletes: Sequence[int],
        puts: Mapping[str, bytes],
        drops: Sequence[str],
    ) -> None:
        if len(inserts) == 1 and len(inserts[0].bodies) == 1 and not (deletes or puts or drops):
            self._insert_alone(*inserts[0].each())
            return
        run = self._connection.executemany
        with self._writing():
            if deletes:
                run("delete from rows where seq = ?", ((seq,) for seq in deletes))
            for rows in inserts:
                self._insert(rows)
            if puts:
                run("replace into records values (?, ?)", puts.items())
            if drops:
                run("delete from records where name = ?", ((name,) for name in drops))

    def _insert_alone(self, row: Body) -> None:
        """A transaction of one statement, which begins and commits it."""
        try:
            self._connection.execute(_INSERT, row)
        except sqlite3.Error as error:
            if self._is_full(error):
                self._roll_back(error)
            raise self._unclear(error) from error

    def _insert(self, rows: EncryptedRows) -> None:
        first, model, bodies = rows
        if len(bodies) == 1 or len(set(map(len, bodies))) > 1:
            self._connection.executemany(_INSERT, rows.each())
            return
        for at in range(0, len(bodies), _AT_ONCE):
            part = bodies[at : at + _AT_ONCE]
            values = first + at, model, b"".join(part), len(part[0]), len(part)
            self._connection.execute(_INSERT_MANY, values)

    def take_all(
        self,
        records: Mapping[str, bytes],
        rows: Iterable[Body],
        going_on: Callable[[], None] = lambda: None,
    ) -> None:
        """Fill a new file with the records and rows of another database."""
        self.create(records)
        source = iter(rows)
        while chunk := list(islice(source, _CHUNK)):
            going_on()
            with self._writing():
                self._connection.executemany(_INSERT, chunk)

    def copy_to(self, path: Path, boundary: Boundary, going_on: Callable[[], None]) -> None:
        with open_file(path, os.O_RDWR | os.O_CREAT), ExitStack() as moment:
            waits = True

            def progress(status: int, remaining: int, total: int) -> None:
                nonlocal waits
                going_on()
                if waits and remaining <= _LAST:  # the rest is copied between two commits
                    waits = False
                    moment.enter_context(boundary())

            with self._copying():
                pages = self._connection.execute("pragma page_count").fetchone()[0]
            progress(0, pages, pages)

            with closing(sqlite3.connect(path, isolation_level=None)) as target:
                with self._copying():
                    target.execute("pragma synchronous=full")
                    # What this connection commits meanwhile is copied as well.
                    self._connection.backup(target, pages=_PAGES, progress=progress, sleep=_PAUSE)
                moment.close()
                with self._copying():
                    target.execute("vacuum")  # free pages are not for a copy

    @contextmanager
    def _copying(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            text = self._problem("cannot be copied", error)
            raise StorageFailure(f"{text}; nothing was changed; {self._advice}.") from error

    def _run(self, statement: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        return self._connection.execute(statement.format(schema="main", value="?"), values)

    def _is_full(self, error: Exception) -> bool:
        return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL

    def _begin(self) -> None:
        self._connection.execute("begin immediate")

    def _roll_back(self, error: Exception) -> None:
        self._refuse_locked(error)
        super()._roll_back(error)

    def _refuse_locked(self, error: Exception) -> None:
        """Another process that has the file open is no damage."""
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, _LOCKED):
            text = f"'{self._path.name}' is locked by another process, such as a shell or a copy"
            raise StoreInUse(
                f"{text}; nothing was changed; end that process, then try again."
            ) from error

    def _problem(self, finding: str, error: Exception) -> str:
        return f"'{self._path.name}' {finding}: {error}"

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as error:
            self._refuse_locked(error)
            text = self._problem("cannot be read", error)
            raise DamagedStore(f"{text}; restore it with 'efface store restore'.") from error

"""Rows in a PostgreSQL database, in a schema of the store's own.

Every transaction updates the row of ``owner`` under the epoch of this process. Opening increments
the epoch first: a transaction of an earlier owner that is still under way either commits before, or
never. The row also names the instance of the store that the rows belong to: no other folder can
open them, unless it takes them over. The owner holds an advisory lock of its epoch as long as its
connection lives, by which a standby sees that it is gone.

The connection sets ``synchronous_commit`` to on. A commit with a warning, such as one whose wait
for a synchronous standby was cancelled, is not acknowledged. Asynchronous replication can lose
acknowledged rows at a failover; the store then refuses to open, because its keys know of later
transactions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, final

import psycopg
from psycopg import sql

from efface.errors import (
    DamagedStore,
    StorageFailure,
    StoreInUse,
    UnclearCommit,
    UnsafeStorage,
)
from efface.store.row_cipher import Body, EncryptedRows
from efface.store.row_database import Boundary, RowDatabase
from efface.store.sqlite_rows import SqliteRows

_FETCHED = 5_000  # rows that the server sends at once


@final
class PostgresRows(RowDatabase):
    """The rows of a store in a PostgreSQL database."""

    _tables = (
        "create schema {schema}",
        "create table {schema}.rows "
        "(seq bigint primary key, model integer not null, body bytea not null)",
        "create table {schema}.records (name text primary key, body bytea not null)",
        "create table {schema}.owner (epoch bigint not null, instance text not null)",
        "insert into {schema}.owner values ((random() * 1e12)::bigint, '')",  # no epoch comes again
    )
    _errors, _advice = psycopg.Error, "check the PostgreSQL server"
    _connection: psycopg.Connection

    def __init__(self, address: str, store: str) -> None:
        self._address, self._schema = address, f"efface_{store}"
        self._epoch, self._warnings = 0, list[str]()
        try:
            self._connection = psycopg.connect(address, autocommit=True, client_encoding="utf8")
        except psycopg.Error as error:
            raise StorageFailure(
                f"'rows' is a PostgreSQL database that cannot be reached ({type(error).__name__}): "
                "check its address, and that the server runs."
            ) from error
        self._connection.add_notice_handler(self._heard)
        try:
            with self._reading():
                self._configure()
        except BaseException:
            self._connection.close()
            raise

    def _configure(self) -> None:
        self._connection.execute("set synchronous_commit to on")
        for name in ("fsync", "full_page_writes", "synchronous_commit"):
            query = sql.SQL("show {}").format(sql.Identifier(name))
            found = self._connection.execute(query).fetchone()
            if found != ("on",):
                text = f"'{name}' of the PostgreSQL server is {found and found[0]!r}"
                raise UnsafeStorage(f"{text}: expected 'on'; commits would not be durable.")

    def close(self) -> None:
        """Close the connection; its lock is free then, also if the server takes its time."""
        with suppress(psycopg.Error):  # a connection that is lost has no lock
            self._connection.execute("select pg_advisory_unlock_all()")
        self._connection.close()

    def exists(self) -> bool:
        """Whether the database has rows of this store."""
        with self._reading():
            query = "select count(*) from pg_namespace where nspname = {value}"
            found = self._run(query, (self._schema,)).fetchone()
        return found == (1,)

    def create(self, records: Mapping[str, bytes]) -> None:
        with self._reading(), self._connection.transaction():
            self._create(records)

    def take_over(self, instance: str = "", known: str = "") -> None:
        with self._reading(), self._connection.transaction():
            self._refuse_other(instance, known)
            self._own(instance)

    def claim(self, instance: str, *, force: bool) -> None:
        """Let the rows belong to another instance, whose owner is this connection.

        An owner that is still connected is refused, unless ``force`` is given.
        """
        with self._reading(), self._connection.transaction():
            epoch, _ = self._owner(lock=True)
            if not force and not self._is_free(epoch):
                text = "'rows' has an owner that is connected: expected one that is gone"
                raise StoreInUse(f"{text}; nothing was changed; stop it, or pass force.")
            self._own(instance)

    def is_vacant(self) -> bool:
        """Whether the server takes writes, and the owner of the rows is not connected."""
        with self._reading():
            if self._connection.execute("select pg_is_in_recovery()").fetchone() != (False,):
                return False
            return self._is_free(self._owner()[0])

    def instance(self) -> str:
        """The instance of the store that the rows belong to; "" for none yet."""
        with self._reading():
            return self._owner()[1]

    def refuse_other(self, *known: str) -> None:
        """Raise if the rows belong to another instance of the store than to these."""
        with self._reading():
            self._refuse_other(*known)

    def _refuse_other(self, *known: str) -> None:
        if self._owner(lock=True)[1] not in ("", *known):
            text = "'rows' belong to another instance of this store, which took them over"
            advice = "use that one; 'efface store retire' removes this folder with its keys"
            raise DamagedStore(f"{text}; nothing was changed; {advice}.")

    def _owner(self, *, lock: bool = False) -> tuple[int, str]:
        query = "select epoch, instance from {schema}.owner"
        found = self._run(query + " for update" if lock else query).fetchone()
        if found is None:
            raise DamagedStore("'rows' has no owner: restore the database from a copy.")
        return int(found[0]), str(found[1])

    def _own(self, instance: str) -> None:
        query = "update {schema}.owner set epoch = epoch + 1, instance = {value} returning epoch"
        (epoch,) = self._run(query, (instance,)).fetchone() or (0,)
        self._epoch = int(epoch)
        self._connection.execute("select pg_advisory_lock(%s, %s)", self._lock_of(self._epoch))

    def _is_free(self, epoch: int) -> bool:
        """Whether no connection is that of the owner of an epoch."""
        query = "select pg_try_advisory_xact_lock(%s, %s)"
        return self._connection.execute(query, self._lock_of(epoch)).fetchone() == (True,)

    def _lock_of(self, epoch: int) -> tuple[int, int]:
        store = self._schema.removeprefix("efface_")
        return int(store[:7], 16), epoch & 0x7FFFFFFF

    def rows(self) -> Iterator[Body]:
        with self._reading(), self._connection.transaction():
            yield from self._read()

    def apply(
        self,
        inserts: Sequence[EncryptedRows],
        deletes: Sequence[int],
        puts: Mapping[str, bytes],
        drops: Sequence[str],
    ) -> None:
        with self._writing():
            if deletes:
                self._run("delete from {schema}.rows where seq = any({value})", (list(deletes),))
            if inserts:
                self._copy(row for new in inserts for row in new.each())
            upsert = "insert into {schema}.records values ({value}, {value}) on conflict (name) "
            for record in puts.items():
                self._run(upsert + "do update set body = excluded.body", record)
            if drops:
                self._run("delete from {schema}.records where name = any({value})", (list(drops),))

    def copy_to(self, path: Path, boundary: Boundary, going_on: Callable[[], None]) -> None:
        with closing(PostgresRows(self._address, self._schema.removeprefix("efface_"))) as source:
            with boundary():
                source._fix_snapshot()
            with closing(SqliteRows(path, new=True)) as target:
                target.take_all(source.records(), source._read(), going_on)

    def _fix_snapshot(self) -> None:
        """See from now on what is committed now."""
        with self._reading():
            self._connection.execute("begin isolation level repeatable read read only")
            self._run("select count(*) from {schema}.owner")

    def _read(self) -> Iterator[Body]:
        cursor = self._connection.cursor(name="rows")
        with self._reading(), cursor:
            cursor.itersize = _FETCHED
            cursor.execute(self._query("select seq, model, body from {schema}.rows order by seq"))
            for seq, model, body in cursor:
                yield seq, model, bytes(body)

    def _copy(self, rows: Iterable[Body]) -> None:
        query = self._query("copy {schema}.rows (seq, model, body) from stdin (format binary)")
        with self._connection.cursor() as cursor, cursor.copy(query) as copy:
            copy.set_types(["int8", "int4", "bytea"])
            for row in rows:
                copy.write_row(row)

    def replace_all(self, records: Mapping[str, bytes], rows: Sequence[Body]) -> None:
        """Put other rows and records in the place of all, in one transaction."""
        with self._reading(), self._connection.transaction():
            self._run("drop schema if exists {schema} cascade")
            self._create(records)
            self._copy(rows)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        self._warnings.clear()
        with super()._writing():
            yield
        if self._warnings:  # someone cancelled the wait for the synchronous standby
            text = "'rows' may lack the last transaction on its standby (a commit with a warning)"
            raise UnclearCommit(f"{text}; it was not acknowledged; open the store again.")

    def _heard(self, notice: psycopg.errors.Diagnostic) -> None:
        if notice.severity_nonlocalized == "WARNING":
            self._warnings.append(str(notice.sqlstate))

    def _begin(self) -> None:
        self._connection.execute("begin")
        query = "update {schema}.owner set epoch = epoch where epoch = {value}"
        if self._run(query, (self._epoch,)).rowcount != 1:
            self._connection.rollback()
            raise UnclearCommit("'rows' has another owner now: open the store again.")

    def _problem(self, finding: str, error: Exception) -> str:
        return f"'rows' {finding} ({type(error).__name__})"

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            text = self._problem("cannot be read from PostgreSQL", error)
            raise DamagedStore(f"{text}: check the server, or restore the database.") from error

    def _query(self, text: str) -> sql.Composed:
        names = {"schema": sql.Identifier(self._schema), "value": sql.Placeholder()}
        return sql.SQL(text).format(**names)

    def _run(self, statement: str, values: Sequence[Any] = ()) -> psycopg.Cursor[Any]:
        return self._connection.execute(self._query(statement), values or None)

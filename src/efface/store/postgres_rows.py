"""Rows in a PostgreSQL database, in a schema of the store's own.

Every transaction updates the row of ``owner`` under the epoch of this process. Opening increments
the epoch first: a transaction of an earlier owner that is still under way either commits before, or
never. The connection sets ``synchronous_commit`` to on. Asynchronous replication can lose
acknowledged rows at a failover; the store then refuses to open, because its keys know of later
transactions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, final

import psycopg
from psycopg import sql

from efface.errors import DamagedStore, StorageFailure, UnclearCommit, UnsafeStorage
from efface.store.row_cipher import Body, EncryptedRows
from efface.store.row_database import RowDatabase

_FETCHED = 5_000  # rows that the server sends at once
_TABLES = (
    "create schema {schema}",
    "create table {schema}.rows "
    "(seq bigint primary key, model integer not null, body bytea not null)",
    "create table {schema}.records (name text primary key, body bytea not null)",
    "create table {schema}.owner (epoch bigint not null)",
    "insert into {schema}.owner values ((random() * 1e12)::bigint)",  # no epoch comes again
)


@final
class PostgresRows(RowDatabase):
    """The rows of a store in a PostgreSQL database."""

    def __init__(self, address: str, store: str) -> None:
        self._schema = f"efface_{store}"
        self._epoch = 0
        try:
            self._connection = psycopg.connect(address, autocommit=True, client_encoding="utf8")
        except psycopg.Error as error:
            raise StorageFailure(
                f"'rows' is a PostgreSQL database that cannot be reached ({type(error).__name__}): "
                "check its address, and that the server runs."
            ) from error
        try:
            with self._reading():
                self._configure()
        except BaseException:
            self._connection.close()
            raise

    def _configure(self) -> None:
        self._connection.execute("set synchronous_commit to on")
        for name, wanted in (
            ("fsync", "on"),
            ("full_page_writes", "on"),
            ("synchronous_commit", "on"),
        ):
            found = self._connection.execute(
                sql.SQL("show {}").format(sql.Identifier(name))
            ).fetchone()
            if found is None or found[0] != wanted:
                text = f"'{name}' of the PostgreSQL server is {found and found[0]!r}"
                raise UnsafeStorage(f"{text}: expected {wanted!r}; commits would not be durable.")

    def create(self, records: Mapping[str, bytes]) -> None:
        with self._reading(), self._connection.transaction():
            self._create(records)

    def _create(self, records: Mapping[str, bytes]) -> None:
        for statement in _TABLES:
            self._run(statement)
        for name, body in records.items():
            self._run("insert into {schema}.records values (%s, %s)", (name, body))

    def record(self, name: str) -> bytes | None:
        with self._reading():
            query = "select body from {schema}.records where name = %s"
            found = self._run(query, (name,)).fetchone()
        return None if found is None else bytes(found[0])

    def take_over(self) -> None:
        with self._reading():
            found = self._run(
                "update {schema}.owner set epoch = epoch + 1 returning epoch"
            ).fetchone()
        if found is None:
            raise DamagedStore("'rows' has no owner: restore the database from a copy.")
        self._epoch = int(found[0])

    def records(self) -> dict[str, bytes]:
        with self._reading():
            found = self._run("select name, body from {schema}.records order by name").fetchall()
        return {name: bytes(body) for name, body in found}

    def end(self) -> int:
        with self._reading():
            found = self._run("select max(seq) + 1 from {schema}.rows").fetchone()
        return (found and found[0]) or 0

    def rows(self) -> Iterator[Body]:
        cursor = self._connection.cursor(name="rows")
        with self._reading(), self._connection.transaction(), cursor:
            cursor.itersize = _FETCHED
            cursor.execute(self._query("select seq, model, body from {schema}.rows order by seq"))
            for seq, model, body in cursor:
                yield seq, model, bytes(body)

    def apply(
        self,
        inserts: Sequence[EncryptedRows],
        deletes: Sequence[int],
        puts: Mapping[str, bytes],
        drops: Sequence[str],
    ) -> None:
        with self._writing():
            if deletes:
                self._run("delete from {schema}.rows where seq = any(%s)", (list(deletes),))
            if inserts:
                self._copy(row for new in inserts for row in new.each())
            upsert = "insert into {schema}.records values (%s, %s) on conflict (name) do update "
            for name, body in puts.items():
                self._run(f"{upsert}set body = excluded.body", (name, body))
            if drops:
                self._run("delete from {schema}.records where name = any(%s)", (list(drops),))

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

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """One transaction of the owner. An error before its commit changes nothing."""
        try:
            self._connection.execute("begin")
            mine = self._run(
                "update {schema}.owner set epoch = epoch where epoch = %s", (self._epoch,)
            )
            if mine.rowcount != 1:
                raise UnclearCommit("'rows' has another owner now: open the store again.")
            yield
        except psycopg.Error as error:
            self._roll_back(error)
        except UnclearCommit:
            self._connection.execute("rollback")
            raise
        try:
            self._connection.execute("commit")
        except psycopg.Error as error:
            raise _unclear(error) from error

    def _roll_back(self, error: psycopg.Error) -> None:
        try:
            self._connection.execute("rollback")
        except psycopg.Error:  # the connection is lost; the server rolls back
            raise _unclear(error) from error
        text = f"'rows' cannot be written ({type(error).__name__})"
        raise StorageFailure(
            f"{text}; nothing was changed; check the PostgreSQL server."
        ) from error

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            text = f"'rows' cannot be read from PostgreSQL ({type(error).__name__})"
            raise DamagedStore(f"{text}: check the server, or restore the database.") from error

    def _query(self, text: str) -> sql.Composed:
        return sql.SQL(text).format(schema=sql.Identifier(self._schema))

    def _run(self, text: str, values: Sequence[Any] | None = None) -> psycopg.Cursor[Any]:
        return self._connection.execute(self._query(text), values)


def _unclear(error: psycopg.Error) -> UnclearCommit:
    text = f"'rows' may lack the last transaction ({type(error).__name__})"
    return UnclearCommit(f"{text}; it was not acknowledged; open the store again.")

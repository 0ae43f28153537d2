"""Rows in a SQLite file: whole transactions, synced, for one owner."""

from __future__ import annotations

import os
import sqlite3

import pytest
from store_cases import filled

from efface.errors import DamagedStore, StorageFailure, StoreInUse
from efface.store import Store
from efface.store.row_cipher import EncryptedRows
from efface.store.sqlite_rows import SqliteRows


@pytest.fixture
def database(tmp_path):
    made = SqliteRows(tmp_path / "rows.db", new=True)
    made.create({"state": b"0"})
    yield made
    made.close()


def test_a_transaction_is_there_when_the_file_is_opened_again(database, tmp_path):
    new = [EncryptedRows(5, 1, [b"five"]), EncryptedRows(2, 1, [b"two"])]
    database.apply(new, (), {"state": b"1", "note": b"n"}, ())
    database.apply([], [2], {"state": b"2"}, ["note"])
    database.close()
    again = SqliteRows(tmp_path / "rows.db")
    assert list(again.rows()) == [(5, 1, b"five")]
    assert again.records() == {"state": b"2"}
    assert again.record("state") == b"2"
    assert again.record("note") is None
    again.close()


@pytest.mark.parametrize("count", [1, 2, 1_023, 1_024, 1_025, 3_000])
@pytest.mark.parametrize("sizes", [(156,), (156, 220)])
def test_many_rows_are_inserted_as_they_are(database, count, sizes):
    bodies = [os.urandom(sizes[k % len(sizes)]) for k in range(count)]
    database.apply([EncryptedRows(7, 1, bodies), EncryptedRows(7 + count, 2, bodies)], (), {}, ())
    wanted = [(7 + k, 1, body) for k, body in enumerate(bodies)]
    wanted += [(7 + count + k, 2, body) for k, body in enumerate(bodies)]
    assert list(database.rows()) == wanted


def test_commits_are_synced_and_the_file_is_its_owners_alone(database, tmp_path):
    run = database._connection.execute
    assert run("pragma journal_mode").fetchone() == ("wal",)
    assert run("pragma synchronous").fetchone() == (2,)
    database.take_over()
    assert {path.stat().st_mode & 0o777 for path in tmp_path.glob("rows.db*")} == {0o600}
    other = sqlite3.connect(tmp_path / "rows.db", timeout=0)
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        other.execute("select * from rows")
    other.close()


def test_a_transaction_that_fails_changes_nothing(database):
    database.apply([EncryptedRows(1, 1, [b"one"])], (), {}, ())
    with pytest.raises(StorageFailure, match="nothing was changed"):
        database.apply([EncryptedRows(0, 1, [b"new", b"old"])], (), {"state": b"9"}, ())
    assert [seq for seq, _, _ in database.rows()] == [1]
    assert database.record("state") == b"0"
    database.apply([EncryptedRows(2, 1, [b"two"])], (), {}, ())
    assert [seq for seq, _, _ in database.rows()] == [1, 2]


def test_a_file_that_is_missing_or_no_database_is_refused(tmp_path):
    with pytest.raises(DamagedStore, match="missing"):
        SqliteRows(tmp_path / "rows.db")
    (tmp_path / "rows.db").write_bytes(b"no database" * 1_000)
    with pytest.raises(DamagedStore, match="cannot be read"):
        SqliteRows(tmp_path / "rows.db")


def test_a_frozen_file_is_not_touched(database, tmp_path):
    database.apply([EncryptedRows(1, 1, [b"one"])], (), {}, ())
    database.close()
    before = (tmp_path / "rows.db").read_bytes()
    frozen = SqliteRows(tmp_path / "rows.db", frozen=True)
    assert list(frozen.rows()) == [(1, 1, b"one")]
    frozen.close()
    assert (tmp_path / "rows.db").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["rows.db"]


def test_a_file_that_another_process_locks_is_not_called_damaged(tmp_path):
    filled(tmp_path / "orders").close()
    other = sqlite3.connect(tmp_path / "orders" / "rows.db", isolation_level=None)
    other.execute("begin exclusive")
    try:
        with pytest.raises(StoreInUse, match="locked by another process") as caught:
            Store(tmp_path / "orders")
    finally:
        other.close()
    assert "restore" not in str(caught.value)
    Store(tmp_path / "orders").close()

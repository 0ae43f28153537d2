"""Rows in PostgreSQL: a real server, fenced owners, crashes of client and server, no trace."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import threading
import time

import numpy as np
import psycopg
import pytest
from postgres_server import PostgresServer
from store_cases import NAMES, copied, data, filled, row_needles, slots, traces
from store_writer import Writers

from efface import Ridge
from efface.errors import DamagedStore, InvalidValue, StorageFailure, StoreError, UnsafeStorage
from efface.store import Store, restore
from efface.store.layout import About
from efface.store.postgres_rows import PostgresRows
from efface.store.row_cipher import EncryptedRows, RowCipher


@pytest.fixture(scope="module")
def server():
    running = PostgresServer()
    yield running
    running.close()


def test_a_store_works_as_with_a_file_and_opens_again(tmp_path, server):
    with filled(tmp_path / "file") as plain:
        plain.forget(owner="person 1")
        with filled(tmp_path / "orders", rows=server.address) as store:
            store.forget(owner="person 1")
            assert store.status()["database"] == "PostgreSQL"
            assert store.coefficients("demand") == plain.coefficients("demand")
        with Store(tmp_path / "orders") as store:
            assert store.status()["rows"] == 35
            assert store.coefficients("demand") == plain.coefficients("demand")
            assert store.audit()["demand"].holds
            store.learn("demand", *data(3, seed=2))
            assert store.expire() == {}
    assert not (tmp_path / "orders" / "rows.db").exists()


def test_the_address_can_change_but_not_the_kind(tmp_path, server):
    filled(tmp_path / "orders", rows=server.address).close()
    with Store(tmp_path / "orders", f"{server.address} application_name=efface") as store:
        assert store.status()["rows"] == 40
    filled(tmp_path / "file").close()
    with pytest.raises(InvalidValue, match="rows"):
        Store(tmp_path / "file", server.address)
    with pytest.raises(StorageFailure, match="cannot be reached") as caught:
        Store(tmp_path / "orders", "host=/nowhere user=efface password=hidden")
    assert "hidden" not in str(caught.value)


def test_no_file_of_the_server_can_be_read_for_a_forgotten_row(tmp_path, server):
    folder = tmp_path / "orders"
    store = filled(folder, rows=server.address)
    seqs, keys = dict(store._models["demand"].seqs), slots(folder)
    bodies = {seq: body for seq, _, body in store._disk.database.rows()}
    gone = [f"order-{k}" for k in range(3, 40, 8)]
    store.forget(owner="person 3")
    live = bodies[seqs["order-0"]]
    store.close()
    server.stop()
    try:
        assert traces(server.data, [live])  # the search can find
        (X, y), rows = data(40), range(3, 40, 8)
        lost = [keys[seqs[id]] for id in gone]
        lost += row_needles(X[rows], y[rows], gone, ["person 3"])
        assert traces(server.data, lost) == []
        assert traces(folder, lost) == []
        # The deleted ciphertext is still in the server's files. Its keys are not.
        old = [bodies[seqs[id]] for id in gone]
        assert traces(server.data, old)
        cipher, there = RowCipher(bytes.fromhex(About.read(folder).store)), slots(folder)
        for id, seq in seqs.items():
            text = cipher.decrypt(seq, 1, there.get(seq, bytes(32)), bodies[seq])
            assert (text is None) == (id in gone)
    finally:
        server.start()


def test_a_server_that_is_killed_in_the_middle_of_a_commit(tmp_path, server):
    """Whether the commit happened is unclear: nothing is acknowledged, and open finds out."""
    folder, draw, learned = tmp_path / "orders", random.Random(3), 40
    filled(folder, rows=server.address).close()
    for _ in range(3):
        store, acknowledged = Store(folder), 0
        timer = threading.Timer(0.05 + draw.random() * 0.2, server.kill)
        timer.start()
        failure = None
        while failure is None:
            try:
                store.learn("demand", *data(50, seed=learned + acknowledged))
                acknowledged += 50
            except StoreError as error:
                failure = error
        timer.join()
        store.close()
        server.start()
        with Store(folder) as store:
            rows = store.status()["rows"]
            assert rows - learned in (acknowledged, acknowledged + 50)
            assert store.audit()["demand"].holds
            learned = rows
        assert len(slots(folder)) == learned


def test_a_client_that_is_killed_loses_nothing(tmp_path, server):
    folder, writers, draw = tmp_path / "orders", Writers(), random.Random(5)
    with Store(folder, server.address) as store:
        store.add("demand", Ridge(window=200), features=2)
    log = tmp_path / "orders.log"
    try:
        for round in range(3):
            writer = writers.start(folder, round, 10_000.0 * round)
            while not log.stat().st_size:
                time.sleep(0.005)
            time.sleep(draw.random() * 0.2)
            os.kill(writer, signal.SIGKILL)
            assert writers.status() == signal.SIGKILL
            with Store(folder) as store:
                assert store.audit()["demand"].holds
                assert len(slots(folder)) == store.status()["rows"]
    finally:
        writers.close()


def test_an_owner_that_was_replaced_cannot_commit(tmp_path, server):
    store = filled(tmp_path / "orders", rows=server.address)
    copied(tmp_path / "orders", tmp_path / "copy")  # another host with the same folder
    with Store(tmp_path / "copy", rows=server.address) as other:
        with pytest.raises(StorageFailure, match="another owner"):
            store.learn("demand", *data(2))
        other.learn("demand", *data(2))
        assert other.status()["rows"] == 42
    store.close()


def test_a_transaction_of_a_killed_client_cannot_commit_after_open_has_looked(tmp_path, server):
    filled(tmp_path / "orders", rows=server.address).close()
    about = About.read(tmp_path / "orders")
    late = PostgresRows(server.address, about.store)
    late.take_over(about.instance)
    Store(tmp_path / "orders").close()
    with pytest.raises(StorageFailure):
        late.apply([EncryptedRows(900, 1, [b"late"])], (), {}, ())
    late.close()
    with Store(tmp_path / "orders") as store:
        assert store.status()["rows"] == 40


def test_an_older_database_is_refused_and_keys_stay(tmp_path, server):
    folder = tmp_path / "orders"
    with filled(folder, rows=server.address) as store:
        old = store._disk.database.records()["state"]
        store.learn("demand", *data(2))
        schema = store._disk.database._schema
    before = slots(folder)
    with psycopg.connect(server.address) as client:
        client.execute(f"update {schema}.records set body = %s where name = 'state'", (old,))
        client.execute(f"delete from {schema}.rows where seq >= 40")
    with pytest.raises(DamagedStore, match="older copy"):
        Store(folder)
    with psycopg.connect(server.address) as client:
        client.execute(f"drop schema {schema} cascade")
    with pytest.raises(DamagedStore):
        Store(folder)
    assert slots(folder) == before


def test_copies_and_restores(tmp_path, server):
    folder = tmp_path / "orders"
    with filled(folder, rows=server.address) as store:
        store.backup(tmp_path / "copy", keys=True)
        store.forget(owner="person 3")
        schema = store._disk.database._schema
    copy = sqlite3.connect(tmp_path / "copy" / "rows.db")
    assert copy.execute("select count(*) from rows").fetchone() == (40,)
    copy.close()
    with psycopg.connect(server.address) as client:
        client.execute(f"drop schema {schema} cascade")
    assert restore(folder, tmp_path / "copy") == (35, 5, 0, 0)
    with Store(folder) as store:
        assert store.audit(forgotten_owners="person 3")["demand"].holds


def test_a_server_without_durable_commits_is_refused(tmp_path, server):
    server.stop()
    server.start("fsync=off")
    try:
        with pytest.raises(UnsafeStorage, match="fsync"):
            Store(tmp_path / "orders", server.address)
        assert not (tmp_path / "orders").exists()
    finally:
        server.stop()
        server.start()


def test_a_failing_statement_changes_nothing(tmp_path, server):
    with filled(tmp_path / "orders", rows=server.address) as store:
        database, taken = store._disk.database, store._disk.state.next_seq - 1
        with pytest.raises(StorageFailure, match="nothing was changed"):
            database.apply([EncryptedRows(taken, 1, [b"again"])], (), {"state": b"x"}, ())
        X, y = data(2)
        assert store.learn("demand", X, y, ids=["a", "b"]).learned == 2
        assert np.isfinite(store.predict("demand", X)).all()
        assert store.models()["demand"]["features"] == NAMES

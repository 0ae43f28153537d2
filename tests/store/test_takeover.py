"""Takeover: two PostgreSQL servers and two processes; nothing is lost, nothing comes back."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import psycopg
import pytest
from command_line import COMMAND, run
from postgres_server import PostgresServer
from service_load import Server, loaded
from store_cases import NAMES, data, filled, slots

from efface import Ridge
from efface.errors import (
    DamagedStore,
    InvalidValue,
    StorageFailure,
    StoreInUse,
    StoreStopped,
    UnclearCommit,
    UnknownOwner,
    WrongMasterKey,
)
from efface.service.tokens import ROLES, TokenFile
from efface.store import Store, restore, take_over
from efface.store.layout import About
from efface.store.receipts import verify_chain
from efface.store.takeover import retire, wait_for_owner

MASTER = b"m" * 32


@pytest.fixture(scope="module")
def server():
    running = PostgresServer()
    yield running
    running.close()


@contextmanager
def lost_host(store):
    """A store whose process cannot be stopped, since its host cannot be reached."""
    store._disk._locks.release()
    yield store
    store.close()


def test_another_folder_goes_on_from_the_mirror(tmp_path, server):
    first = filled(tmp_path / "one", rows=server.address, mirror=tmp_path / "second")
    token = TokenFile(tmp_path / "one").create(["read"])
    first.forget(owner="person 1", forever=True)
    receipts, coefficients = first.receipts(), first.coefficients("demand")
    first.close()
    take_over(tmp_path / "two", tmp_path / "second", server.address)
    assert list((tmp_path / "second").iterdir()) == []
    assert not (tmp_path / "two" / "taken").exists()
    with Store(tmp_path / "two", mirror=tmp_path / "second") as store:
        assert store.status()["rows"] == 35
        assert store.coefficients("demand") == coefficients
        assert store.receipts() == receipts
        assert slots(tmp_path / "two") == slots(tmp_path / "one")
        with pytest.raises(InvalidValue):
            store.learn("demand", *data(1), owners=["person 1"])
        assert store.forget(owner="person 2").number == 2
        assert store.audit(forgotten_owners=["person 1", "person 2"])["demand"].holds
        verify_chain(store.receipts(), store.status()["public_key"])
    assert TokenFile(tmp_path / "two").find(token) is not None


def test_the_earlier_folder_cannot_be_opened_or_restored_and_can_be_retired(tmp_path, server):
    filled(tmp_path / "one", rows=server.address, mirror=tmp_path / "second").close()
    with pytest.raises(InvalidValue, match="rows that belong to it"):
        retire(tmp_path / "one")
    take_over(tmp_path / "two", tmp_path / "second", server.address)
    with Store(tmp_path / "two") as store:
        for open_it in (
            lambda: Store(tmp_path / "one", mirror=False),
            lambda: restore(tmp_path / "one"),
        ):
            with pytest.raises(DamagedStore, match="another instance"):
                open_it()
        store.learn("demand", *data(2))  # its fence still holds
        assert store.status()["rows"] == 42
    retire(tmp_path / "one")
    assert not (tmp_path / "one").exists()
    with Store(tmp_path / "two") as store:
        assert store.status()["rows"] == 42


def test_an_owner_that_lives_is_not_replaced_unless_forced_and_cannot_commit_then(tmp_path, server):
    first = filled(tmp_path / "one", rows=server.address, mirror=tmp_path / "second")
    with pytest.raises(StoreInUse):  # on the same host the lock of the mirror says so
        take_over(tmp_path / "two", tmp_path / "second", server.address)
    with lost_host(first):
        with pytest.raises(StoreInUse, match="connected"):
            take_over(tmp_path / "two", tmp_path / "second", server.address)
        assert not (tmp_path / "two").exists()
        first.learn("demand", *data(1), ids=["last"])
        take_over(tmp_path / "two", tmp_path / "second", server.address, force=True)
        with pytest.raises(StorageFailure, match="another owner"):
            first.learn("demand", *data(1))
        with pytest.raises(StoreStopped):
            first.forget(owner="person 1")
    with Store(tmp_path / "two") as store:
        assert "last" in store._models["demand"].seqs
        assert len(store.held("person 1")["demand"]) == 5
        assert store.audit()["demand"].holds


def test_keys_that_the_earlier_owner_writes_late_do_no_harm(tmp_path, server):
    """Its keys go to the mirror before its commit is refused; the copy was made before that."""
    first = filled(tmp_path / "one", rows=server.address, mirror=tmp_path / "second")
    with lost_host(first):
        take_over(tmp_path / "two", tmp_path / "second", server.address, force=True)
        second = Store(tmp_path / "two")
        second.learn("demand", *data(70), ids=[f"new-{k}" for k in range(70)])
        with pytest.raises(StorageFailure):
            first.learn("demand", *data(70))
        second.close()
    with Store(tmp_path / "two") as store:
        assert store.status()["rows"] == 110
        assert store.audit()["demand"].holds


@pytest.mark.parametrize("moment", ["_fill", "finish"])
def test_a_takeover_that_is_interrupted_is_repeated(tmp_path, server, monkeypatch, moment):
    filled(tmp_path / "one", rows=server.address, mirror=tmp_path / "second").close()
    with monkeypatch.context() as patch:

        def fail(*_):
            raise OSError

        patch.setattr(f"efface.store.takeover.{moment}", fail)
        with pytest.raises(StorageFailure):
            take_over(tmp_path / "two", tmp_path / "second", server.address)
    if moment == "_fill":
        assert not (tmp_path / "two").exists()
        take_over(tmp_path / "two", tmp_path / "second", server.address)
    with Store(tmp_path / "two") as store:
        assert store.status()["rows"] == 40
    assert list((tmp_path / "second").iterdir()) == []  # opening empties what was to be emptied


def test_what_cannot_be_taken_over_is_refused_before_anything_changes(tmp_path, server):
    about = {"rows": server.address, "mirror": tmp_path / "second", "master_key": MASTER}
    filled(tmp_path / "one", **about).close()
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "file").write_text("x")
    for place, key, error in (
        (tmp_path / "used", MASTER, InvalidValue),
        (tmp_path / "two", b"x" * 32, WrongMasterKey),
        (tmp_path / "two", None, WrongMasterKey),
    ):
        with pytest.raises(error):
            take_over(place, tmp_path / "second", server.address, master_key=key)
    with pytest.raises(StorageFailure, match="cannot be reached"):
        take_over(tmp_path / "two", tmp_path / "second", "host=/nowhere", master_key=MASTER)
    with Store(tmp_path / "one", master_key=MASTER) as store:
        assert store.status()["rows"] == 40
    filled(tmp_path / "file").close()
    with pytest.raises(InvalidValue, match="rows in a file"):
        retire(tmp_path / "file")


def test_a_standby_waits_while_the_owner_is_connected(tmp_path, server):
    first, looks = filled(tmp_path / "one", rows=server.address, mirror=tmp_path / "two"), []
    waiting = threading.Thread(
        target=wait_for_owner,
        args=(tmp_path / "two", server.address),
        kwargs={"after": 0.5, "waiting": lambda: looks.append(time.monotonic())},
    )
    waiting.start()
    while len(looks) < 3:
        time.sleep(0.05)
    assert waiting.is_alive()
    gone = time.monotonic()
    first.close()
    waiting.join(30)
    assert not waiting.is_alive()
    assert time.monotonic() - gone >= 0.5


# Two servers of PostgreSQL, two processes of the service


class Waiting:
    """``efface serve --standby`` in a process of its own."""

    def __init__(self, folder, mirror, rows, *options):
        self._log = open(f"{folder}.log", "ab")  # noqa: SIM115
        command = [*COMMAND, "serve", str(folder), "--port", "0", "--standby", str(mirror)]
        command += ["--rows", rows, "--standby-after", "2", *options]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=self._log, text=True
        )
        assert "waits" in self.process.stdout.readline()

    def url(self):
        """Its address, once it has taken over."""
        assert "took over" in self.process.stdout.readline()
        return self.process.stdout.readline().split(" at ")[1].strip()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(60)
        self.process.stdout.close()
        self._log.close()
        return code


@pytest.fixture
def pair():
    primary = PostgresServer()
    standby = PostgresServer(of=primary)
    yield primary, standby
    for each in (standby, primary):
        each.close()


@pytest.mark.parametrize("database_too", [True, False])
def test_a_second_process_takes_over_under_load(tmp_path, pair, database_too):
    """The first is killed, with its database or alone: within 30 s the second serves."""
    primary, standby = pair
    (tmp_path / "key").write_bytes(MASTER)
    options = ["--master-key", str(tmp_path / "key")]
    about = {"rows": primary.address, "mirror": tmp_path / "second", "master_key": MASTER}
    with Store(tmp_path / "one", **about) as store:
        store.add("demand", Ridge(), features=NAMES[:2])
    token = TokenFile(tmp_path / "one").create(ROLES)
    first = Server(tmp_path / "one", *options)
    rows = standby.address if database_too else primary.address
    second = Waiting(tmp_path / "two", tmp_path / "second", rows, *options)
    workers = loaded(first.url, token, seconds=2.0)
    began = time.monotonic()
    try:
        assert first.kill() == -signal.SIGKILL
        if database_too:
            primary.kill()
            standby.promote()
        for worker in workers:
            worker.join(30)
        with httpx.Client(
            base_url=second.url(),
            headers={"authorization": f"Bearer {token}"},
            timeout=30,
            trust_env=False,
        ) as client:
            row = {"x": [1, 2], "y": 3, "id": "after", "owner": "new"}
            client.post("/models/demand/rows", json={"rows": [row]}).raise_for_status()
            taken = time.monotonic() - began
            for worker in workers:
                for owner in worker.gone:
                    asked = client.post("/access-requests", json={"owner": owner})
                    assert asked.status_code == 404
            erased = client.post("/erasures", json={"owner": "new"})
            assert erased.json()["rows"] == 1
            assert client.post("/audits", json={}).json()["holds"]
        assert taken < 30, taken
        print(f"served after {taken:.1f} s")
    finally:
        assert second.stop() == 0
    check_answers(tmp_path / "two", workers)
    refused = run("serve", str(tmp_path / "one"), "--port", "0", *options)
    assert refused.returncode == 2  # its database is gone, or has another owner
    assert "Traceback" not in (tmp_path / "two.log").read_text("utf-8")


def test_a_commit_that_its_standby_may_lack_is_not_acknowledged(tmp_path, pair):
    primary, standby = pair
    store = filled(tmp_path / "orders", rows=primary.address)
    number, pool = store._disk.database._connection.info.backend_pid, ThreadPoolExecutor(1)
    standby.stop()
    with psycopg.connect(primary.address, autocommit=True, client_encoding="utf8") as client:
        waiting = pool.submit(store.learn, "demand", *data(1))
        query = "select wait_event from pg_stat_activity where pid = %s"
        until = time.monotonic() + 30
        while client.execute(query, (number,)).fetchone() != ("SyncRep",):
            assert time.monotonic() < until
            time.sleep(0.05)
        assert not waiting.done()
        client.execute("select pg_cancel_backend(%s)", (number,))
        with pytest.raises(UnclearCommit, match="standby"):
            waiting.result(30)
        client.execute("alter system reset synchronous_standby_names")
        client.execute("select pg_reload_conf()")
    store.close()
    pool.shutdown()


def test_the_first_goes_on_if_only_its_database_fails_over(tmp_path, pair):
    primary, standby = pair
    hosts = f"host={primary.folder},{standby.folder} user=efface dbname=postgres"
    address = f"{hosts} target_session_attrs=read-write"
    store = filled(tmp_path / "orders", rows=address, mirror=tmp_path / "second")
    store.forget(owner="person 1")
    primary.kill()
    standby.promote()
    with pytest.raises(StorageFailure):
        store.learn("demand", *data(1))
    store.close()
    with Store(tmp_path / "orders") as again:
        assert again.status()["rows"] == 35
        again.learn("demand", *data(1))
        assert again.audit(forgotten_owners="person 1")["demand"].holds
        with pytest.raises(StoreInUse):
            take_over(tmp_path / "two", tmp_path / "second", standby.address)


def test_a_mirror_that_is_gone_stops_the_store(tmp_path):
    store = filled(tmp_path / "orders", mirror=tmp_path / "second")
    shutil.rmtree(tmp_path / "second")
    with pytest.raises(StorageFailure):
        store.forget(owner="person 1")
    store.close()
    with pytest.raises(DamagedStore, match="second"):
        Store(tmp_path / "orders")
    with Store(tmp_path / "orders", mirror=False) as store:
        assert store.audit()["demand"].holds


def check_answers(folder, workers):
    """Rows that were acknowledged are there, forgotten ones are not, and all have receipts."""
    with Store(folder, master_key=MASTER) as store:
        ids = set(store._models["demand"].seqs)
        receipts = store.receipts()
        assert store.audit()["demand"].holds
        for worker in workers:
            assert worker.surprises == []
            sure = {
                id for id, row in worker.known.items() if row["owner"] not in worker.perhaps_gone
            }
            assert sure <= ids
            for owner in worker.gone:
                with pytest.raises(UnknownOwner):
                    store.held(owner)
    verify_chain(receipts)
    assert len(receipts) > sum(len(worker.gone) for worker in workers) > 0
    assert sum(len(worker.known) for worker in workers) > 20
    possible = {id for worker in workers for id in (*worker.known, *worker.unsure)}
    gone = {id for id in ids if id not in possible}
    assert gone == set()


def test_the_commands_take_over_and_retire(tmp_path, server):
    filled(tmp_path / "one", rows=server.address, mirror=tmp_path / "second").close()
    place = ["--mirror", str(tmp_path / "second"), "--rows", server.address]
    done = run("store", "takeover", str(tmp_path / "two"), *place)
    assert (done.returncode, done.stderr) == (0, "")
    assert About.read(tmp_path / "two").instance != About.read(tmp_path / "one").instance
    assert run("store", "retire", str(tmp_path / "one")).returncode == 0
    assert not os.path.exists(tmp_path / "one")
    missing = run("serve", str(tmp_path / "three"), "--standby", str(tmp_path / "second"))
    assert (missing.returncode, "--rows" in missing.stderr) == (2, True)

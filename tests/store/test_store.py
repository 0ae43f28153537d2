"""The promises of the store: rows survive a crash, and no file can be read for forgotten ones."""

from __future__ import annotations

import fcntl
import json
import os
import random
import shutil
import signal
import sqlite3
import struct
import subprocess
import time
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from store_cases import (
    NAMES,
    Twins,
    copied,
    data,
    filled,
    row_needles,
    slots,
    slots_of_rows,
    traces,
)
from store_kills import NEW, OLD, OPERATIONS, Kills, prepare
from store_writer import Writers, whole_lines

from efface import Ridge
from efface.errors import DamagedStore, WrongMasterKey
from efface.store import Store, restore
from efface.store.key_pool import AHEAD
from efface.store.layout import About
from efface.store.master_key import MasterKey
from efface.store.receipts import verify_chain
from efface.store.row_cipher import RowCipher

IDS = [f"order-{k}" for k in range(40)]


def keys_of(folder, ids):
    """The keys of rows, read before they are destroyed."""
    with Store(folder) as store:
        seqs = store._models["demand"].seqs
        numbers = [seqs[id] for id in ids]
    there = slots(folder)
    return [there[number] for number in numbers]


def needles(ids):
    """What may not be found of rows of ``filled``."""
    X, y = data(40)
    rows = [IDS.index(id) for id in ids]
    return row_needles(X[rows], y[rows], [], [])


# Bytes


def leave_by_id(folder):
    with Store(folder) as store:
        store.forget(ids=["order-3", "order-11"])
    return ["order-3", "order-11"]


def leave_by_owner(folder):
    with Store(folder) as store:
        assert store.forget(owner="person 3").rows == 5
    return IDS[3::8]


WAYS = {"id": leave_by_id, "owner": leave_by_owner}


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_no_file_holds_a_forgotten_row_or_its_key(tmp_path, way, keyed):
    filled(tmp_path / "orders", keyed=keyed).close()
    gone = IDS[3::8] if way == "owner" else ["order-3", "order-11"]
    keys = keys_of(tmp_path / "orders", gone)
    assert len(traces(tmp_path / "orders", keys)) == len(gone)  # the search can find
    assert WAYS[way](tmp_path / "orders") == gone
    assert traces(tmp_path / "orders", [*keys, *needles(gone)]) == []
    assert traces(tmp_path / "orders", [b"order-", b"person", b"shop "]) == []


@pytest.mark.parametrize("moment", ["zero_keys", "sync_keys", "sign_receipt"])
def test_no_file_holds_a_row_after_a_crash_in_the_midst_of_forget(tmp_path, monkeypatch, moment):
    folder, crashed, gone = tmp_path / "orders", tmp_path / "crashed", IDS[3::8]
    filled(folder).close()
    keys = keys_of(folder, gone)
    with Store(folder) as store:
        step = getattr(store._disk, moment)

        def crash(*values):
            if not crashed.exists():
                copied(folder, crashed)
            return step(*values)

        monkeypatch.setattr(store._disk, moment, crash)
        store.forget(owner="person 3")
    assert bool(traces(crashed, keys)) == (moment == "zero_keys")  # the search can find
    with Store(crashed) as store:
        assert store.status()["rows"] == 35
        assert len(store.receipts()) == 1
    assert traces(crashed, [*keys, *needles(gone), b"order-", b"person"]) == []


@pytest.mark.parametrize("keyed", [False, True])
def test_no_file_holds_rows_that_a_full_window_let_go(tmp_path, keyed):
    with filled(tmp_path / "orders", model=Ridge(window=10 if keyed else 30), keyed=keyed) as store:
        before = slots_of_rows(store)
        assert len(before) == 30  # ten never entered
        seqs = sorted(store._models["demand"].seqs.values())
        keys = [before[seq] for seq in seqs[:5]]
        about = {"keys": ["shop 1", "shop 2", "shop 0"] * 2} if keyed else {}
        store.learn("demand", *data(6, seed=1), **about)
        wait_for(lambda: len(slots_of_rows(store)) == 30)
        assert traces(tmp_path / "orders", keys) == []
    assert traces(tmp_path / "orders", [*keys, *needles(IDS[:15])]) == []


def wait_for(condition):
    """Rows that leave by themselves are shredded within a second."""
    end = time.monotonic() + 1.0
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("keyed", [False, True])
def test_no_file_holds_rows_whose_time_was_up(tmp_path, keyed):
    now = datetime.now(UTC)
    X, y = data(4)
    with Store(tmp_path / "orders") as store:
        store.add("demand", Ridge(window="2d"), features=NAMES, keyed=keyed)
        at = [now - timedelta(hours=47), now, now, now]
        until = [None, now + timedelta(hours=1), None, None]
        keys = ["a", "b", "a", "b"] if keyed else None
        store.learn("demand", X, y, at=at, until=until, keys=keys)
        before = slots_of_rows(store)
        assert store.expire(now + timedelta(hours=2)) == {"demand": 2}
        assert slots_of_rows(store) == {seq: before[seq] for seq in (2, 3)}
    gone = [before[0], before[1], *row_needles(X[:2], y[:2], [], [])]
    assert traces(tmp_path / "orders", gone) == []


def test_what_fell_due_while_the_store_was_closed_leaves_at_open(tmp_path):
    now = datetime.now(UTC)
    with Store(tmp_path / "orders") as store:
        store.add("demand", Ridge(), features=NAMES)
        soon = now + timedelta(seconds=0.3)
        store.learn("demand", *data(4), at=[now] * 4, until=[soon, None, None, None])
    time.sleep(0.4)
    with Store(tmp_path / "orders") as store:
        assert store.status()["rows"] == 3
    assert len(slots(tmp_path / "orders")) == 3


def test_an_old_copy_of_the_rows_cannot_be_read_for_forgotten_ones(tmp_path):
    folder = tmp_path / "orders"
    filled(folder).close()
    shutil.copy(folder / "rows.db", tmp_path / "old.db")
    with Store(folder) as store:
        seqs = dict(store._models["demand"].seqs)
        store.forget(owner="person 3")
    old = sqlite3.connect(tmp_path / "old.db")
    bodies = {seq: (model, body) for seq, model, body in old.execute("select * from rows")}
    old.close()
    cipher, there = RowCipher(bytes.fromhex(About.read(folder).store)), slots(folder)
    for id, seq in seqs.items():
        text = cipher.decrypt(seq, bodies[seq][0], there.get(seq, bytes(32)), bodies[seq][1])
        assert (text is None) == (id in IDS[3::8])


def test_an_old_copy_of_the_rows_in_its_place_is_refused_and_keys_stay(tmp_path):
    folder = tmp_path / "orders"
    filled(folder).close()
    shutil.copy(folder / "rows.db", tmp_path / "old.db")
    with Store(folder) as store:
        store.forget(owner="person 3")
        store.learn("demand", *data(2, seed=5))
    before = slots(folder)
    for content in ((tmp_path / "old.db").read_bytes(), b""):
        (folder / "rows.db").write_bytes(content)
        with pytest.raises(DamagedStore):
            Store(folder)
        assert slots(folder) == before
    (folder / "rows.db").unlink()
    with pytest.raises(DamagedStore, match=r"rows\.db"):
        Store(folder)
    filled(tmp_path / "other").close()
    shutil.copy(tmp_path / "other" / "rows.db", folder / "rows.db")
    with pytest.raises(DamagedStore, match="another store"):
        Store(folder)
    assert slots(folder) == before


def test_a_new_row_lives_after_the_newest_was_forgotten_and_a_crash(tmp_path):
    """SQLite gives the newest rowid again; a late note would destroy the key of the new row."""
    folder = tmp_path / "orders"
    with filled(folder, 4) as store:
        store.forget(ids=["order-3"])
        store.learn("demand", *data(1, seed=7), ids=["new"])
        copied(folder, tmp_path / "crashed")
    with Store(tmp_path / "crashed") as store:
        assert store._models["demand"].model.ids_ == ["order-0", "order-1", "order-2", "new"]


# Crashes


class Followed:
    """The library's models under the calls that writers logged, and the receipts that they owe."""

    def __init__(self):
        self.twins, self.receipts, self.seen, self.clock = Twins(200, 2), 0, 0, 0.0

    def follow(self, folder, lines, store):
        """Apply what was acknowledged; the last call may have happened or not."""
        calls = [json.loads(line) for line in lines]
        doubtful = calls.pop() if calls[-1]["what"] not in ("open", "done") else None
        for call in calls:
            self.apply(call)
        found = store.receipts()
        assert verify_chain(found) == len(found)
        if doubtful is not None and not self.twins.equal(store):
            self.apply(doubtful)
        elif doubtful is not None and doubtful["what"] == "forget":
            self.receipts = max(self.receipts, min(len(found), self.receipts + 1))  # of no row
        assert self.twins.equal(store)
        assert len(found) == self.receipts
        assert len(slots(folder)) == store.status()["rows"]
        assert all(each.holds for each in store.audit().values())

    def apply(self, call):
        what = call.pop("what")
        if what == "learn":
            self.twins.learn(**call)
            self.clock, self.seen = call["at"][-1], self.seen + len(call["ids"])
        elif what == "forget":
            self.twins.forget(owner=call["owner"], missing="ok")
            self.receipts += 1
        elif what == "expire":
            self.twins.expire(call["now"])


def killed_rounds(folder, rounds, seed):
    """Kill a writer at random moments; after each the store must be whole."""
    draw, twin, writers, log = random.Random(seed), Followed(), Writers(), Path(f"{folder}.log")
    with Store(folder) as store:
        twin.twins.add_to(store)
    try:
        for round in range(rounds):
            writer = writers.start(folder, seed + round, twin.clock)
            while not log.stat().st_size:  # until it has opened the store
                time.sleep(0.002)
            time.sleep(draw.random() * 0.15)
            os.kill(writer, signal.SIGKILL)
            assert writers.status() == signal.SIGKILL
            with Store(folder) as store:
                twin.follow(folder, whole_lines(log), store)
    finally:
        writers.close()
    return twin


def test_a_writer_that_is_killed_loses_nothing(tmp_path):
    twin = killed_rounds(tmp_path / "orders", 25, seed=1)
    assert twin.seen > 200
    assert twin.receipts > 5


@pytest.mark.slow
@pytest.mark.timeout(3_000)
def test_a_writer_that_is_killed_300_times_loses_nothing(tmp_path):
    assert killed_rounds(tmp_path / "orders", 300, seed=1_000).receipts > 60


# A loss of power: the file system forgets what was not synced

SHUTDOWN, NO_FLUSH = 0x8004587D, 2  # the ioctl FS_IOC_SHUTDOWN, and not even the journal is written


@contextmanager
def mounted(folder, kind, size):
    """Mounts a file as a disk; ``lose_power`` forgets all that was not synced."""
    if os.geteuid() != 0 or shutil.which(f"mkfs.{kind}") is None:
        pytest.skip(f"needs root and mkfs.{kind}, to mount an image and let it lose its power")
    disk, place = folder / "disk.img", folder / "mounted"
    place.mkdir()
    with open(disk, "wb") as file:
        file.truncate(size << 20)
    subprocess.run([f"mkfs.{kind}", "-q", disk], check=True)
    if subprocess.run(["mount", "-o", "loop", disk, place], capture_output=True).returncode:
        pytest.skip(f"loop mounts of {kind} are not allowed here")

    def lose_power():
        descriptor = os.open(place, os.O_RDONLY)
        try:
            fcntl.ioctl(descriptor, SHUTDOWN, struct.pack("I", NO_FLUSH))
        finally:
            os.close(descriptor)
        subprocess.run(["umount", place], check=True)
        subprocess.run(["mount", "-o", "loop", disk, place], check=True)

    try:
        yield place, lose_power
    finally:
        subprocess.run(["umount", place], check=True)


@pytest.fixture
def image(tmp_path):
    """A small disk with ext4."""
    with mounted(tmp_path, "ext4", 48) as disk:
        yield disk


def powerless_rounds(image, rounds, seed):
    """Let a writer lose its disk at random moments; after each the store must be whole."""
    place, lose_power = image
    draw, twin, writers, folder = random.Random(seed), Followed(), Writers(), place / "orders"
    log = place.parent / "writer.log"
    with Store(folder) as store:
        twin.twins.add_to(store)
    try:
        for round in range(rounds):
            writer = writers.start(folder, seed + round, twin.clock, log=log)
            while not log.stat().st_size:
                time.sleep(0.002)
            time.sleep(draw.random() * 0.2)
            os.kill(writer, signal.SIGSTOP)  # so that it acknowledges nothing meanwhile
            lines = whole_lines(log)
            os.kill(writer, signal.SIGKILL)
            assert writers.status() == signal.SIGKILL
            lose_power()
            with Store(folder) as store:
                twin.follow(folder, lines, store)
    finally:
        writers.close()
    return twin


def test_a_loss_of_power_loses_nothing(image):
    assert powerless_rounds(image, 6, seed=50).seen > 20


@pytest.mark.slow
@pytest.mark.timeout(1_000)
def test_many_losses_of_power_lose_nothing(image):
    powerless_rounds(image, 60, seed=5_000)


@pytest.mark.parametrize(("kind", "size"), [("ext4", 48), ("xfs", 320)])
def test_the_raw_disk_holds_no_destroyed_key(tmp_path, kind, size):
    with mounted(tmp_path, kind, size) as (place, lose_power):
        store = filled(place / "orders")
        seqs, keys = dict(store._models["demand"].seqs), slots(place / "orders")
        subprocess.run(["sync"], check=True)
        raw = written(tmp_path / "disk.img")
        assert all(key in raw for key in keys.values())  # the search can find
        store.forget(owner="person 3")
        store.close()
        (place / "not synced").write_bytes(b"x" * 4096)
        lose_power()
        assert not (place / "not synced").exists()  # it does lose what was not synced
        raw = written(tmp_path / "disk.img")
        gone = {seqs[f"order-{k}"] for k in range(3, 40, 8)} | set(range(40, AHEAD))
        assert {seq for seq, key in keys.items() if key not in raw} == gone


def written(path):
    """All that was ever written to a sparse file."""
    parts, at = [], 0
    with open(path, "rb") as file:
        while True:
            try:
                start = os.lseek(file.fileno(), at, os.SEEK_DATA)
            except OSError:  # nothing but holes from here on
                return b"".join(parts)
            at = os.lseek(file.fileno(), start, os.SEEK_HOLE)
            parts.append(os.pread(file.fileno(), at - start, start))


# Kills inside of every operation


def keys_by_id(place):
    """The master key that opens a store, and the keys of its rows."""
    for master in (None, OLD, NEW):
        try:
            store = Store(place / "orders", master_key=master)
        except WrongMasterKey:
            continue
        with store:
            (segment,) = store._disk.keys.segments[:1]
            found = store._disk.keys.read(segment)
            seqs = store._models["demand"].seqs if "demand" in store._models else {}
            mine = {id: seq for id, seq in seqs.items() if seq < 65_536}
            return master, {id: found[32 * seq : 32 * seq + 32] for id, seq in mine.items()}
    raise AssertionError("no master key opens the store")


def after_a_kill(place, name, keys):
    """Open what the kill left, forget a person, and search everything for what must be gone."""
    gone = [f"order-{k}" for k in range(3, 40, 8)]
    if name == "restore rows":
        restore(place / "orders", place / "monday")
    if name == "restore all":  # it is there as a whole, or not at all
        assert not (place / "restored").exists() or (place / "restored" / "store.json").exists()
        Store(place / "restored").close()
    if name == "mirror":
        Store(place / "orders", mirror=place / "second").close()
    master, live = keys_by_id(place)
    assert all(live[id] == keys[id] for id in keys.keys() & live.keys())
    if name not in ("forget", "expire", "remove"):
        assert keys.keys() <= live.keys()  # what was acknowledged is there
    with Store(place / "orders", master_key=master) as store:
        store.forget(owner="person 3", missing="ok")
        assert all(audit.holds for audit in store.audit().values())
    planted = [b"order-", b"person", *row_needles(*data(40), [], [])]
    assert traces(place, planted) == []
    masters = MasterKey(None), MasterKey(OLD), MasterKey(NEW)
    found = traces(place, [each.wrap(keys[id]) for id in gone for each in masters])
    copies = ("copy/", "monday/", "restored/")  # whole copies with keys are the owner's to delete
    assert [hit for hit, _ in found if not hit.startswith(copies)] == []
    stray = [path for path in place.rglob("*") if ".partial" in path.name or path.name[0] == "."]
    assert stray == []


def killed_operations(place, kills_each):
    """Kill every operation at moments that are spread evenly over its calls."""
    kills, done = Kills(), 0
    try:
        for name in OPERATIONS:
            template = place / name
            template.mkdir()
            prepare(template, name)
            keys = keys_by_id(template)[1]
            shutil.copytree(template, place / "work")
            status, calls = kills.run(name, place / "work")
            assert status == 0
            shutil.rmtree(place / "work")
            for k in range(kills_each):
                shutil.copytree(template, place / "work")
                at = 1 + (2 * k + 1) * calls // (2 * kills_each)
                assert kills.run(name, place / "work", at)[0] == signal.SIGKILL, (name, at)
                after_a_kill(place / "work", name, keys)
                shutil.rmtree(place / "work")
                done += 1
            shutil.rmtree(template)
    finally:
        kills.close()
    return done


def test_no_kill_inside_of_an_operation_leaves_a_key_or_a_file(tmp_path):
    assert killed_operations(tmp_path, 4) >= 40


@pytest.mark.slow
@pytest.mark.timeout(3_000)
def test_none_of_300_kills_leaves_a_key_or_a_file(tmp_path):
    assert killed_operations(tmp_path, 30) >= 300

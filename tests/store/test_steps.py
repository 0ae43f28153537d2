"""The order of writes, on a simulated disk that crashes at every moment, up to three times.

The disk keeps what was written apart from what was synced. A crash of the process keeps all that
was written; a loss of power keeps any part of what was not synced. The steps are those of the
store.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np
import pytest

from efface.errors import DamagedStore, StorageFailure
from efface.store.key_pool import KeyPool
from efface.store.left_ids import Left
from efface.store.notes import Note
from efface.store.records import State
from efface.store.row_cipher import EncryptedRows
from efface.store.steps import (
    MOST_KEYS,
    Found,
    Transaction,
    clear_steps,
    forget_steps,
    learn_steps,
    leave_steps,
    orphans,
    recovery_steps,
    shred_steps,
)


class Crash(Exception):
    """The process ends here."""


@dataclass(frozen=True)
class Content:
    """What a database holds."""

    state: State = field(default_factory=State)
    rows: frozenset = frozenset()  # (seq, label, key)
    notes: frozenset = frozenset()  # (name, note)

    @property
    def told(self):
        """The state that was written, and what the rows tell since."""
        return self.state.with_rows(1 + max((seq for seq, _, _ in self.rows), default=-1))


@dataclass
class SimulatedDisk:
    """A disk that crashes at a given write, and forgets what was not synced."""

    written: dict = field(default_factory=dict)  # slots
    synced: dict = field(default_factory=dict)
    visible: Content = Content()
    durable: Content = Content()
    receipts: tuple = ()
    durable_receipts: tuple = ()
    refused: frozenset = frozenset()
    durable_refused: frozenset = frozenset()
    left: frozenset = frozenset()
    durable_left: frozenset = frozenset()
    crash_at: int = -1
    ticks: int = 0
    full: bool = False  # commits fail

    def tick(self):
        if self.ticks == self.crash_at:
            raise Crash
        self.ticks += 1

    # the steps

    def write_keys(self, first, keys, started):
        for at, key in enumerate(keys):
            self.tick()
            self.written[first + at] = key

    def zero_keys(self, seqs):
        for seq in seqs:
            self.tick()
            self.written[seq] = 0

    def write_left(self, lefts):
        self.tick()
        self.left |= {left.digests for left in lefts if left is not None}

    def sync_keys(self):
        self.tick()
        self.synced = dict(self.written)
        self.tick()  # the files are synced one after the other
        self.durable_left = self.left

    def commit(self, change):
        self.tick()
        if self.full:
            raise StorageFailure("nothing was changed")
        gone, rows = set(change.deletes), set(self.visible.rows)
        rows = {row for row in rows if row[0] not in gone}
        rows |= {(seq, *body) for new in change.inserts for seq, _, body in new.each()}
        notes = {pair for pair in self.visible.notes if pair[0] not in change.drops}
        notes |= set(change.puts.items())
        known = self.visible.state
        state = change.state if change.state.transaction > known.transaction else known
        self.visible = Content(state, frozenset(rows), frozenset(notes))
        assert self.visible.told.next_seq == change.state.next_seq
        self.tick()  # the log is written, not synced
        self.durable = self.visible

    def log_destroyed(self, seqs):
        self.tick()

    def refuse_owners(self, hashes):
        self.tick()
        self.refused |= set(hashes)
        self.tick()
        self.durable_refused = self.refused

    def sign_receipt(self, note):
        self.tick()
        self.receipts = (*self.receipts, note.id)
        self.tick()
        self.durable_receipts = self.receipts

    # crashes

    def killed(self):
        """After a crash of the process: the system still holds all that was written."""
        slots = {"written": dict(self.written), "synced": dict(self.synced)}
        return replace(self, **slots, crash_at=-1, full=False)

    def power_lost(self):
        """After losses of power: each part of what was not synced is there or not."""
        slots = [slot for slot in self.written if self.written[slot] != self.synced.get(slot, 0)]
        some = {frozenset(part) for part in ((), slots, slots[:1], slots[1:])}
        databases = {self.visible, self.durable}
        chains = {self.receipts, self.durable_receipts}
        owners = {self.refused, self.durable_refused}
        gone = {self.left, self.durable_left}
        for kept, database, chain, names, left in product(some, databases, chains, owners, gone):
            slots = {**self.synced, **{slot: self.written[slot] for slot in kept}}
            files = database, database, chain, chain, names, names, left, left
            yield SimulatedDisk(dict(slots), dict(slots), *files)

    @property
    def key(self):
        slots = (
            frozenset((s, v) for s, v in each.items() if v) for each in (self.written, self.synced)
        )
        files = self.visible, self.durable, self.receipts, self.durable_receipts
        return *slots, *files, self.refused, self.durable_refused, self.left, self.durable_left


AHEAD = 3


@dataclass
class Client:
    """A store without models: plans the same steps, and remembers what was acknowledged."""

    disk: SimulatedDisk
    pool: KeyPool = None
    position: int = 0  # in the script
    drawn: int = 0  # keys
    learned: frozenset = frozenset()  # labels that were acknowledged
    gone: frozenset = frozenset()  # labels whose leaving was acknowledged
    keys: tuple = ()  # (label, key) of every encryption
    asked: frozenset = frozenset()  # notes with an acknowledged receipt
    waiting: tuple = ()  # notes of rows that left by themselves
    finished: tuple = ()  # notes that the next transaction removes

    def __post_init__(self):
        self.pool = KeyPool(AHEAD, 1, self.draw)  # of this process

    def draw(self, count):
        self.drawn += count
        return bytes(range(self.drawn + 1 - count, self.drawn + 1))

    @property
    def next_seq(self):
        return self.disk.visible.told.next_seq

    @property
    def rows(self):
        return {label: seq for seq, label, _ in self.disk.visible.rows}

    def open(self):
        """What opening does: a synced write, then recovery."""
        disk = self.disk
        disk.tick()
        disk.durable, disk.durable_receipts = disk.visible, disk.receipts
        disk.durable_refused = disk.refused
        content = disk.visible
        notes = [note for _, note in sorted(content.notes, key=lambda pair: pair[0])]
        found = Found(
            content.told.next_seq,
            np.array(sorted(seq for seq, _, _ in content.rows), dtype=np.int64),
            np.array(sorted(s for s, v in disk.written.items() if v), dtype=np.int64),
            notes,
            frozenset(disk.receipts),
        )
        for step in recovery_steps(found):
            step(disk)
        self.finished = tuple(note.name for note in notes)
        if notes:
            disk.commit(self.change())
            self.finished = ()

    def change(self, note=None, **about):
        puts = {} if note is None else {note.name: note}
        drops = self.finished
        next_seq = about.pop("next_seq", self.next_seq)
        alone = not (puts or drops or about.get("deletes"))
        state = self.disk.visible.told.after(rows_alone=alone, next_seq=next_seq)
        return Transaction(state, puts=puts, drops=drops, **about)

    def learn(self, labels, leaving=()):
        labels = [label for label in labels if label not in self.rows]
        if not labels:
            return
        first = self.next_seq
        taken = self.pool.take(first, len(labels))
        keys = taken.keys
        self.keys += tuple(zip(labels, keys, strict=True))
        rows = self.rows
        seqs = [rows[label] for label in leaving if label in rows]
        ids = Left(1, "".join(leaving).encode())
        runs = tuple((seq, 1) for seq in seqs)
        note = Note(runs, left=ids, id=f"left {labels[0]}") if seqs else None
        new = EncryptedRows(first, 1, list(zip(labels, keys, strict=True)))
        change = self.change(note, inserts=[new], deletes=seqs, next_seq=first + len(labels))
        for step in learn_steps(taken, change, list(self.waiting), 0):
            step(self.disk)
        self.pool.keep(taken)
        self.finished = tuple(note.name for note in self.waiting)  # by the next transaction
        self.waiting = () if note is None else (note,)

    def fail_to_learn(self, label):
        self.disk.full = True
        with pytest.raises(StorageFailure):
            self.learn([label])
        self.disk.full = False
        self.drop_pool()

    def drop_pool(self):
        for step in clear_steps(self.pool.slots(self.next_seq)):
            step(self.disk)
        self.pool.drop(self.next_seq)

    def forget(self, label):
        rows = self.rows
        seqs = [rows[label]] if label in rows else []
        left = Left(1, label.encode()) if seqs else None
        note = Note.of(seqs, subject="who", refused=(label,), left=left, id=f"forget {label}")
        known = {*self.disk.receipts} | {name for name, _ in self.disk.visible.notes}
        if note.id in known or note.name in known:
            return
        change = self.change(note, deletes=seqs)
        for step in forget_steps(change, note, list(self.waiting), lambda: None):
            step(self.disk)
        self.finished = (*(each.name for each in self.waiting), note.name)
        self.waiting = ()
        self.asked |= {note.id}

    def expire(self, label):
        rows = self.rows
        if label in rows:
            note = Note.of([rows[label]], left=Left(1, label.encode()), id=f"expired {label}")
            change = self.change(note, deletes=[rows[label]])
            for step in leave_steps(change, [note], lambda: None):
                step(self.disk)
            self.finished = (note.name,)

    def close(self):
        self.drop_pool()
        for step in shred_steps(list(self.waiting)):
            step(self.disk)
        self.finished += tuple(note.name for note in self.waiting)
        self.waiting = ()
        self.disk.commit(self.change())


SCRIPT = (
    lambda client: client.learn(["a", "b"]),
    lambda client: client.forget("b"),  # the newest row: its number must not come again
    lambda client: client.learn(["c", "d"], leaving=["a"]),  # one of the keys was drawn ahead
    lambda client: client.learn(["e"]),  # with a key that was drawn ahead
    lambda client: client.fail_to_learn("f"),
    lambda client: client.learn(["g"]),
    lambda client: client.expire("c"),
    Client.close,
)
LEARNED = ({"a", "b"}, set(), {"c", "d"}, {"e"}, set(), {"g"}, set(), set())
GONE = (set(), {"b"}, {"a"}, set(), set(), set(), {"c"}, set())


def advance(client):
    """Open, then go on with the script; ``position`` is what was not acknowledged yet."""
    client.open()
    check(client)
    while client.position < len(SCRIPT):
        SCRIPT[client.position](client)
        client.learned |= LEARNED[client.position]
        client.gone |= GONE[client.position]
        client.position += 1


def check(client, *, closed=False):
    """What must hold once a store is open again, and after it was closed."""
    disk, rows = client.disk, client.rows
    keys = {seq: key for seq, _, key in disk.visible.rows}
    for slots in (disk.written, disk.synced):
        assert {seq: key for seq, key in slots.items() if key} == keys, (
            "one key per row, and no other"
        )
    leaving = client.gone if closed else client.gone | GONE[client.position]  # perhaps gone
    assert client.learned - leaving <= set(rows), "acknowledged rows are there"
    assert not client.gone & set(rows), "acknowledged leaving lasts"
    secret = {key for label, key in client.keys if label in client.gone}
    assert not secret & {*disk.written.values(), *disk.synced.values()}, "destroyed keys stay so"
    used = [key for _, key in client.keys]
    assert len(set(used)) == len(used), "a key encrypts once"
    failed = {key for label, key in client.keys if label == "f"}
    assert not failed & {*disk.written.values(), *disk.synced.values()}
    assert disk.visible == disk.durable
    assert client.asked <= set(disk.durable_receipts)
    assert len(set(disk.receipts)) == len(disk.receipts), "one receipt per request"
    waiting = {note.left.digests.decode() for note in client.waiting}
    known = {digests.decode() for digests in disk.durable_left}
    assert client.gone - waiting <= known, "ids that left are with the keys"
    if closed:
        assert set(rows) == {"d", "e", "g"}
        assert set(disk.durable_receipts) == {"forget b"}
        assert disk.durable_refused == {"b"}
        assert not disk.visible.notes, "every note is finished"


def copies(client, disk):
    return replace(client, disk=disk, waiting=(), finished=())  # and a new pool


def explore(crashes):
    """All runs with up to so many crashes; return how many crashes were tried."""
    front, tried, seen = [Client(SimulatedDisk())], 0, set()
    for _ in range(crashes + 1):
        following = []
        for start in front:
            crash_at = 0
            while True:
                client = copies(start, start.disk.killed())
                client.disk.crash_at, client.disk.ticks = crash_at, 0
                try:
                    advance(client)
                except Crash:
                    pass
                else:
                    check(client, closed=True)
                    break
                crash_at += 1
                for disk in (client.disk.killed(), *client.disk.power_lost()):
                    after = copies(client, disk)
                    facts = after.position, after.learned, after.gone, after.keys, after.asked
                    if (after.disk.key, facts) not in seen:
                        seen.add((after.disk.key, facts))
                        following.append(after)
                        tried += 1
        front = following
    return tried


def test_no_three_crashes_lose_a_row_or_keep_a_destroyed_key():
    assert explore(crashes=3) > 800  # different disks after a crash


def test_the_simulation_sees_keys_that_are_not_synced(monkeypatch):
    """Without the sync before a commit, a loss of power leaves rows without keys."""
    monkeypatch.setattr(SimulatedDisk, "sync_keys", lambda disk: None)
    with pytest.raises((AssertionError, DamagedStore)):
        explore(crashes=1)


def test_the_simulation_sees_a_receipt_that_is_not_synced(monkeypatch):
    def lazy(disk, note):
        disk.receipts = (*disk.receipts, note.id)

    monkeypatch.setattr(SimulatedDisk, "sign_receipt", lazy)
    with pytest.raises(AssertionError):
        explore(crashes=1)


def test_the_simulation_sees_ids_that_are_not_written(monkeypatch):
    monkeypatch.setattr(SimulatedDisk, "write_left", lambda disk, lefts: None)
    with pytest.raises(AssertionError, match="ids that left"):
        explore(crashes=1)


# What open refuses


def found(rows, occupied, next_seq=10, notes=()):
    arrays = (np.array(each, dtype=np.int64) for each in (rows, occupied))
    return Found(next_seq, *arrays, notes, frozenset())


def test_the_keys_of_a_batch_that_was_never_committed_are_orphans():
    assert orphans(found([1, 2], [1, 2, 10, 11])) == [10, 11]


@pytest.mark.parametrize(
    "wrong",
    [
        found([1, 2], [1]),
        found([1], [1, 2]),
        found([], [1, 2]),
        found([1, 12], [1, 12]),
        found([1], [1], notes=[Note.of([1])]),
        found([1], [1, *range(10, 11 + MOST_KEYS)]),
    ],
    ids=["no key", "no row", "empty", "row ahead", "row had left", "too many"],
)
def test_rows_and_keys_that_disagree_are_refused(wrong):
    with pytest.raises(DamagedStore, match="restore"):
        recovery_steps(wrong)


def test_a_note_explains_keys_without_rows():
    assert orphans(found([1], [1, 2], notes=[Note.of([2])])) == []

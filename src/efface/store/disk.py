"""The files and the database of one open store: what the steps of a change act on."""

from __future__ import annotations

import ctypes
import os
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, cast, final

import numpy as np
from numpy.typing import NDArray

from efface.errors import DamagedStore, StoreStopped, invalid
from efface.store import layout
from efface.store.day_keys import DayKeys
from efface.store.durable_files import (
    PathLock,
    open_file,
    sync,
    unfinished_of,
    wipe,
    wipe_unfinished,
)
from efface.store.external_files import (
    KINDS,
    ExternalLocks,
    append,
    create_log,
    read_log,
    refuse_foreign,
    refuse_unusable,
)
from efface.store.file_systems import refuse_unsafe
from efface.store.key_folder import REFUSED, strange_names, wipe_strange
from efface.store.key_mirror import make_mirror, open_mirror, refuse_inside
from efface.store.key_segments import KeySegments, runs
from efface.store.layout import About, Secrets
from efface.store.left_ids import Left, LeftIds
from efface.store.master_key import MasterKey
from efface.store.notes import PREFIX, Note
from efface.store.receipts import Receipt, ReceiptChain
from efface.store.records import STATE, State
from efface.store.refusals import RefusedOwners
from efface.store.row_cipher import RowCipher
from efface.store.signing import change_key, finish_change
from efface.store.standby_files import KEPT, follow, write_standby
from efface.store.steps import Found, Transaction
from efface.store.takeover import finish

Place = str | os.PathLike[str] | Literal[False]
_THREADS = 8  # that sync files at the same time


@final
class StoreDisk:
    """The disk of a store that this process owns."""

    def __init__(
        self,
        folder: Path,
        master: MasterKey,
        rows: str | None = None,
        places: Mapping[str, Place] | None = None,
    ) -> None:
        self.folder, self._address, self.foreign = folder, rows, False
        self._lock, self._locks = PathLock(folder / layout.LOCK, folder), ExternalLocks()
        self._open: list[Callable[[], None]] = [self._lock.release, self._locks.release]
        self._places = dict(places or {})
        _OPEN.add(self)
        try:
            self._start(master)
        except BaseException:
            self.close()
            raise

    def _start(self, master: MasterKey) -> None:
        about = About.read(self.folder)
        layout.check_master(about, master)
        refuse_unsafe(self.folder / layout.KEYS, wrapped=bool(master))
        self._next = self._chosen(about, wrapped=bool(master))
        about = self.about = finish_change(self.folder, about)
        self._next = replace(self._next, signer=about.signer)
        secrets = self.secrets = Secrets.read(self.folder, about)
        self.seal = secrets.seal(about)
        self.cipher = RowCipher(bytes.fromhex(about.store))
        keys = self.folder / layout.KEYS
        self.folders = [keys]  # what is written to the keys is written to all of them
        self.keys = KeySegments(keys, about.epoch, master)
        self.mirror: KeySegments | None = None
        self._threads: ThreadPoolExecutor | None = None
        self._open.append(lambda: self._close_keys())
        if not self.keys.segments:
            raise DamagedStore(f"'{layout.KEYS}' holds no keys: restore the folder from a copy.")
        for path in (self.folder / layout.RECEIPTS, keys / REFUSED):
            with open_file(path, os.O_RDWR) as descriptor:
                sync(descriptor)  # what a killed process wrote may not be on the disk
        self.days = DayKeys(self.folders, about.epoch, master)
        self.chain = ReceiptChain(self.folder / layout.RECEIPTS, about.store, secrets.signing)
        self.refused = RefusedOwners(self.folders, secrets.blind)
        self.left = LeftIds(secrets.blind, self.days)
        self._open.append(self.left.close)
        self.digest: str | None = None  # of the state of the models, for the next receipt
        self.last_receipt: Receipt | None = None
        self.database = layout.open_database(self.folder, _moved(about, self._address))
        self._open.append(self.database.close)
        self._check_age(self._state())
        self.database.take_over(self._next.instance, about.instance)
        self.state = self._state()
        self._check_age(self.state)
        self._check_chain()

    def _chosen(self, about: About, *, wrapped: bool) -> About:
        """What ``store.json`` will say; raises what refuses the files and folders elsewhere."""
        given = {
            kind: None if p is False else os.path.abspath(p) for kind, p in self._places.items()
        }
        kept = sorted(set(about.external) - set(given))
        if about.is_copied(self.folder):
            if kept or (about.rows is not None and self._address is None):
                what = ", ".join(kept or ["rows"])
                text = f"'{self.folder}' is a copy of a store: its {what} belong to the original"
                advice = "run 'efface store restore' on the copy, which makes it a store of its own"
                raise DamagedStore(f"{text}; nothing was changed; {advice}.")
            about = replace(about, instance=layout.copied_instance(about.instance, self.folder))
        known, after = about.external, replace(about, **cast(dict[str, Any], given))
        for kind, path in after.external.items():
            if kind == "mirror":
                refuse_inside(path, self.folder)
                refuse_unsafe(path if path.is_dir() else path.parent, wrapped=wrapped)
            same = known.get(kind) == path
            (refuse_foreign if same else refuse_unusable)(path, kind, after.identity)
        self._locks.take(path for path in after.external.values() if path.exists())
        return replace(after, place=layout.place_of(self.folder))

    # -- what is there ---------------------------------------------------------------------------

    def _state(self) -> State:
        written = State.from_plain(self.seal.decode(STATE, self.database.record(STATE)))
        return written.with_rows(self.database.end())

    def _check_age(self, state: State) -> None:
        """The database must hold every transaction that the keys know of."""
        if state.version < max(self.keys.progress):
            text = f"'rows' have version {state.version:,}, but the keys know of"
            text += f" version {max(self.keys.progress):,}: the database is an older copy"
            raise DamagedStore(f"{text}; put the newest in place, or run 'efface store restore'.")

    def _check_chain(self) -> None:
        """The receipts must be those that the database and the anchor know of, or more."""
        known: dict[int, tuple[str | None, str | None]] = {}
        known[self.state.receipts] = self.state.chain, None
        for number, anchored in self._anchors()[-1:]:
            known[number] = known.get(number, (None, None))[0], anchored
        found = self.chain.digests(set(known))
        for count, (digest, head) in known.items():
            there = found.get(count, ("missing", "missing"))
            if digest not in (None, there[0]) or head not in (None, there[1]):
                text = f"'{layout.RECEIPTS}' is not the chain of which {count:,} receipts are known"
                raise DamagedStore(f"{text}: it was cut or altered; restore it from a copy.")
        if len(self.refused) < self.state.refused:
            text = f"'{REFUSED}' has {len(self.refused)} owners: expected {self.state.refused}"
            raise DamagedStore(f"{text}; restore it from a copy.")

    def _anchors(self) -> list[tuple[int, str]]:
        path = self._next.external.get("anchor")
        lines = [] if path is None or not path.exists() else read_log(path, "anchor")[1]
        pairs = (line.split() for line in lines)
        return [(int(pair[0]), pair[1]) for pair in pairs if len(pair) == 2]

    def refuse_forked(self) -> None:
        """Raise in a process that was forked from the owner."""
        if self.foreign:
            text = f"'{self.folder}' belongs to the process that opened it: this one was forked"
            raise StoreStopped(f"{text} from it; open the store in one process alone.")

    def strange_names(self) -> list[str]:
        """The names in the folders of the keys, and hidden ones, that should not be there."""
        found = [name for each in self.folders for name in strange_names(each, self.about.epoch)]
        hidden = (n for n in os.listdir(self.folder) if n[0] == "." or unfinished_of(n))
        return sorted({*found, *hidden} - KEPT)

    def occupied(self) -> NDArray[np.int64]:
        """The sequence numbers whose slots hold a key."""
        return np.concatenate([self.keys.occupied(segment) for segment in self.keys.segments])

    def found(self, rows: NDArray[np.int64], notes: Sequence[Note]) -> Found:
        """What is there, for ``recovery_steps``."""
        if self.left.torn and not notes:
            text = "'keys' have ids that left which are altered: expected whole records"
            raise DamagedStore(f"{text}; restore the keys from a copy.")
        receipts = frozenset(self.chain.notes)
        return Found(self.state.next_seq, rows, self.occupied(), notes, receipts)

    def contents(self) -> dict[str, Any]:
        """All records, checked."""
        bodies = self.database.records()
        return {name: self.seal.decode(name, body) for name, body in bodies.items()}

    def use_keys(self, about: About, keys: KeySegments) -> None:
        """Go on with the keys of another epoch."""
        self.about, self.keys = about, keys
        self.days.use(about.epoch, keys.master)
        self._open_mirror()

    def settle_folders(self) -> None:
        """Clean the folders, which must belong to the rows, and make the mirror equal to the keys.

        What is unfinished or unknown there is overwritten and removed.
        """
        self._adopt()
        finish(self.folder)
        _wipe_copy(self.folder, self.about.store)
        for name in os.listdir(self.folder):
            if unfinished_of(name) in layout.OWN:
                wipe(self.folder / name)
        wipe_unfinished(self.folder)
        wipe_strange(self.keys.folder, self.about.epoch)
        for day in {name for name in os.listdir(self.keys.folder) if name.endswith(".left")}:
            if int(day[:6]) not in self.days.keys:
                wipe(self.keys.folder / day)
        self._open_mirror()
        self.left.trim()

    def _adopt(self) -> None:
        """Make what is new elsewhere, then let ``store.json`` name it.

        A copy writes its new instance first: what is made for it is its own after a crash too.
        """
        after = self._next
        if after.instance != self.about.instance:
            none: dict[str, Any] = dict.fromkeys(KINDS)
            self.about = replace(after, **none)
            self.about.write(self.folder)
        for kind, path in after.external.items():
            if kind == "mirror":
                make_mirror(path, after.identity, wrapped=bool(self.keys.master))
            else:
                head = f"{self.chain.count} {self.chain.head}\n" if self.chain.count else ""
                create_log(path, kind, after.identity, head if kind == "anchor" else "")
        self._locks.take(after.external.values())
        if after != self.about:
            after.write(self.folder)
            self.about = after

    def _open_mirror(self) -> None:
        if self.mirror is not None:
            self.mirror.close()
        place = self.about.external.get("mirror")
        self.mirror = None if place is None else open_mirror(place, self.keys)
        self.folders[1:] = [] if place is None else [place]
        if place is not None:
            follow(place, self.folder, self.about, self.keys.master, self.chain)
        self.chain.second = None if place is None else place / layout.RECEIPTS

    @property
    def _copies(self) -> list[KeySegments]:
        return [self.keys] if self.mirror is None else [self.keys, self.mirror]

    def _close_keys(self) -> None:
        for keys in self._copies:
            keys.close()
        if self._threads is not None:
            self._threads.shutdown()

    def remove_empty(self, used: set[int]) -> None:
        """Remove the segments that hold no key; ``used`` ones stay."""
        for keys in self._copies:
            keys.remove_empty(used)

    # -- steps -----------------------------------------------------------------------------------

    def reserve(self, count: int) -> None:
        """Make room for the keys of so many rows."""
        for each in self._copies:
            each.reserve(self.state.next_seq + count - 1)

    def write_keys(self, first: int, keys: bytes, started: int) -> None:
        for each in self._copies:
            each.write(first, keys, started)

    def zero_keys(self, seqs: Iterable[int]) -> None:
        gone = list(seqs)
        for each in self._copies:
            each.zero(gone)

    def write_left(self, lefts: Sequence[Left | None]) -> None:
        self.left.write(lefts)

    def end_days(self, now: int) -> None:
        """Destroy the keys of days whose ids may come back."""
        self.left.end_days(now)

    def sync_keys(self) -> None:
        """Keys, mirror and ids that left: a disk serves many requests in the time of one."""
        files: list[KeySegments | LeftIds] = [*self._copies, self.left]
        descriptors = [each for file in files for each in file.unsynced()]
        if len(descriptors) > 1:
            self._threads = self._threads or ThreadPoolExecutor(_THREADS, "efface-sync")
            others = [self._threads.submit(sync, each) for each in descriptors[1:]]
            try:
                sync(descriptors[0])
            finally:  # no sync may go on when this has failed
                wait(others)
            for each in others:
                each.result()
        elif descriptors:
            sync(descriptors[0])
        for file in files:
            file.synced()

    def commit(self, change: Transaction) -> None:
        contents = dict(change.puts)
        if change.state.transaction > self.state.transaction:
            contents[STATE] = change.state.to_plain()
        puts = {name: self.seal.encode(name, content) for name, content in contents.items()}
        self.database.apply(change.inserts, change.deletes, puts, change.drops)
        self.state = change.state
        for each in self._copies:
            each.mark_committed(change.state.version)
        for name, content in change.puts.items():
            if name.startswith(PREFIX):
                self.left.enter(Note.from_plain(name, content).left)

    def log_destroyed(self, seqs: Iterable[int]) -> None:
        """Append the numbers of destroyed keys to a file elsewhere, if there is one."""
        if self.about.destroyed is not None:
            lines = [f"{first} {count}\n" for first, count in runs(seqs)]
            append(Path(self.about.destroyed), "".join(lines))

    def refuse_owners(self, hashes: Sequence[str]) -> None:
        self.refused.add(hashes)

    def sign_receipt(self, note: Note) -> None:
        about: dict[str, Any] = {"note": note.id, "time": note.time, "rows": dict(note.counts)}
        about |= {"subject": note.subject, "digest": self.digest}
        about |= {} if note.removed is None else {"removed": note.removed}
        self.digest = None
        self.last_receipt = self.chain.append(about)
        self.anchor_head()

    def change_signing_key(self) -> Receipt:
        """Sign by a new key from now on."""
        follow_key = self._write_standby
        self.about, record = change_key(
            self.folder, self.about, self.chain, timestamp(), follow_key
        )
        self.secrets = replace(self.secrets, signing=self.chain.key)
        follow_key()
        self.anchor_head()
        return record

    def _write_standby(self) -> None:
        if self.mirror is not None:
            write_standby(self.mirror.folder, self.folder, self.about, self.keys.master)

    def anchor_head(self) -> None:
        """Append the head of the chain to a file elsewhere, if there is one."""
        if self.about.anchor is not None:
            append(Path(self.about.anchor), f"{self.chain.count} {self.chain.head}\n")

    def status(self) -> dict[str, Any]:
        """What is known of the store beside its models."""
        about = self.about
        return {
            "store": about.store,
            "database": "SQLite" if about.rows is None else "PostgreSQL",
            "master_key": about.master is not None,
            "epoch": about.epoch,
            "mirror": about.mirror is not None,
            "receipts": self.chain.count,
            "head": self.chain.head,
            "public_key": self.secrets.signing.public,
            "refused_owners": len(self.refused),
        }

    def close(self) -> None:
        """Close everything, and let another process own the folder."""
        if self.foreign:
            return
        while self._open:
            self._open.pop()()


def _moved(about: About, rows: str | None) -> About:
    """``rows`` is another address of the same PostgreSQL database."""
    if rows is None:
        return about
    if about.rows is None:
        raise invalid("rows", "an address", "None, since the rows are in a file", "leave it out")
    return replace(about, rows=rows)


def notes_in(contents: dict[str, Any]) -> list[Note]:
    """The notes among the records."""
    names = sorted(name for name in contents if name.startswith(PREFIX))
    return [Note.from_plain(name, contents[name]) for name in names]


def timestamp() -> str:
    """Now, in UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _wipe_copy(folder: Path, store: str) -> None:
    """Overwrite and remove a copy that was not finished; the record names where it was to be."""
    record = folder / layout.UNFINISHED
    if not record.exists():
        return
    target = Path(os.fsdecode(record.read_bytes()))
    beside = target.parent.iterdir() if target.parent.is_dir() else ()
    for copy in [path for path in beside if unfinished_of(path.name) == target.name]:
        names = [name for name in os.listdir(copy) if unfinished_of(name) is None]
        if not names or (layout.is_store(copy) and About.read(copy).store == store):
            wipe(copy)
    wipe(record)


def _disown() -> None:
    """In a forked child: the store belongs to the parent, so that nothing here may touch it."""
    for disk in list(_OPEN):
        if disk._open:
            disk.foreign = True
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(disk))  # closing SQLite would write
            disk._lock.release()
            disk._locks.release()


_OPEN: weakref.WeakSet[StoreDisk] = weakref.WeakSet()
os.register_at_fork(after_in_child=_disown)

"""The files and the database of one open store: what the steps of a change act on."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from efface.errors import DamagedStore, invalid
from efface.store import layout, left_ids
from efface.store.durable_files import FolderLock, open_file, sync, write_all
from efface.store.key_mirror import make_mirror, open_mirror
from efface.store.key_segments import KeySegments, remove_other_epochs, runs
from efface.store.layout import About, Secrets
from efface.store.left_ids import LeftIds
from efface.store.master_key import MasterKey
from efface.store.notes import PREFIX, Note
from efface.store.receipts import Receipt, ReceiptChain
from efface.store.records import STATE, State
from efface.store.refusals import RefusedOwners
from efface.store.row_cipher import RowCipher
from efface.store.signing import change_key, finish_change
from efface.store.steps import Found, Transaction


@final
class StoreDisk:
    """The disk of a store that this process owns."""

    def __init__(self, folder: Path, master: MasterKey, rows: str | None = None) -> None:
        self.folder, self._address = folder, rows
        self._lock = FolderLock(folder / layout.LOCK)
        self._open: list[Callable[[], None]] = [self._lock.release]
        try:
            self._start(master)
        except BaseException:
            self.close()
            raise

    def _start(self, master: MasterKey) -> None:
        about = About.read(self.folder)
        layout.check_master(about, master)
        about = self.about = finish_change(self.folder, about)
        secrets = self.secrets = Secrets.read(self.folder, about)
        self.seal = secrets.seal(about)
        self.cipher = RowCipher(bytes.fromhex(about.store))
        remove_other_epochs(self.folder / layout.KEYS, about.epoch)
        self.keys = KeySegments(self.folder / layout.KEYS, about.epoch, master)
        self.mirror: KeySegments | None = None
        self._open.append(lambda: self._close_keys())
        if not self.keys.segments:
            raise DamagedStore(f"'{layout.KEYS}' holds no keys: restore the folder from a copy.")
        for name in (layout.RECEIPTS, layout.REFUSED):  # what a killed process wrote may not be
            with open_file(self.folder / name, os.O_RDWR) as descriptor:
                sync(descriptor)
        self.chain = ReceiptChain(self.folder / layout.RECEIPTS, about.store, secrets.signing)
        self.refused = RefusedOwners(self.folder / layout.REFUSED, secrets.blind)
        self.left = LeftIds(secrets.blind)
        self.digest: str | None = None  # of the state of the models, for the next receipt
        self.last_receipt: Receipt | None = None
        self.database = layout.open_database(self.folder, _moved(about, self._address))
        self._open.append(self.database.close)
        self._check_age(self._state())
        self.database.take_over()
        self.state = self._state()
        self._check_age(self.state)
        self._check_chain()

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
            text = (
                f"'{layout.REFUSED}' has {len(self.refused)} owners: expected {self.state.refused}"
            )
            raise DamagedStore(f"{text}; restore it from a copy.")

    def _anchors(self) -> list[tuple[int, str]]:
        path = None if self.about.anchor is None else Path(self.about.anchor)
        lines = path.read_text("ascii").splitlines() if path is not None and path.exists() else []
        pairs = (line.split() for line in lines)
        return [(int(pair[0]), pair[1]) for pair in pairs if len(pair) == 2]

    def occupied(self) -> NDArray[np.int64]:
        """The sequence numbers whose slots hold a key."""
        return np.concatenate([self.keys.occupied(segment) for segment in self.keys.segments])

    def found(self, rows: NDArray[np.int64], notes: Sequence[Note]) -> Found:
        """What is there, for ``recovery_steps``."""
        receipts = frozenset(self.chain.notes)
        return Found(self.state.next_seq, rows, self.occupied(), notes, receipts)

    def contents(self) -> dict[str, Any]:
        """All records, checked."""
        bodies = self.database.records()
        return {name: self.seal.decode(name, body) for name, body in bodies.items()}

    def use_keys(self, about: About, keys: KeySegments) -> None:
        """Go on with the keys of another epoch."""
        self.about, self.keys = about, keys
        self.open_mirror()

    def open_mirror(self) -> None:
        """Make the mirror equal to the keys, which must be those of the rows."""
        if self.mirror is not None:
            self.mirror.close()
        place = self.about.mirror
        self.mirror = None if place is None else open_mirror(Path(place), self.keys)

    def use_mirror(self, place: str | os.PathLike[str] | Literal[False]) -> None:
        """Mirror the keys in another folder from now on, or no longer."""
        chosen = None if place is False else os.path.abspath(place)
        if chosen != self.about.mirror:
            if chosen is not None:
                make_mirror(Path(chosen), self.folder, wrapped=bool(self.keys.master))
            self.about = replace(self.about, mirror=chosen)
            self.about.write(self.folder)

    @property
    def _copies(self) -> list[KeySegments]:
        return [self.keys] if self.mirror is None else [self.keys, self.mirror]

    def _close_keys(self) -> None:
        for keys in self._copies:
            keys.close()

    def remove_empty(self, used: set[int]) -> None:
        """Remove the segments that hold no key; ``used`` ones stay."""
        for keys in self._copies:
            keys.remove_empty(used)

    def keep_logs(self, places: Mapping[str, str | os.PathLike[str]]) -> None:
        """Write the log of destroyed numbers, and the heads of the chain, to these files too."""
        known: dict[str, Any] = {name: os.path.abspath(place) for name, place in places.items()}
        about = replace(self.about, **known)
        if about != self.about:
            about.write(self.folder)
            self.about = about

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

    def sync_keys(self) -> None:
        for each in self._copies:
            each.sync()

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
            if name.startswith(left_ids.PREFIX):
                self.left.enter(name, content)

    def log_destroyed(self, seqs: Iterable[int]) -> None:
        """Append the numbers of destroyed keys to a file elsewhere, if there is one."""
        if self.about.destroyed is not None:
            lines = [f"{self.about.store} {first} {count}\n" for first, count in runs(seqs)]
            _append(Path(self.about.destroyed), "".join(lines))

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
        self.about, record = change_key(self.folder, self.about, self.chain, timestamp())
        self.secrets = replace(self.secrets, signing=self.chain.key)
        self.anchor_head()
        return record

    def anchor_head(self) -> None:
        """Append the head of the chain to a file elsewhere, if there is one."""
        if self.about.anchor is not None:
            _append(Path(self.about.anchor), f"{self.chain.count} {self.chain.head}\n")

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


def _append(path: Path, text: str) -> None:
    with open_file(path, os.O_WRONLY | os.O_CREAT) as descriptor:
        write_all(descriptor, text.encode("ascii"), os.fstat(descriptor).st_size)
        sync(descriptor)

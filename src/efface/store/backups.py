"""Copies of a store, and ``restore``: rows and keys that are not of one time are brought together.

A copy is a folder with ``rows.db``, whatever the database of the store is, ``store.json``, the
receipts and the refused owners; with keys also ``keys/`` and both secrets. Restoring keeps the rows
whose keys are there. Rows whose keys are destroyed were forgotten: they do not come back. Keys
without rows are destroyed.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from efface.errors import DamagedStore, InvalidValue
from efface.store import layout
from efface.store.disk import StoreDisk
from efface.store.durable_files import (
    FOLDER_MODE,
    FolderLock,
    failures,
    new_folder,
    replace_file,
    sync_folder,
)
from efface.store.file_systems import refuse_windows
from efface.store.key_mirror import take_from_mirror
from efface.store.key_segments import SLOT, SLOTS, KeySegments
from efface.store.layout import About, Secrets
from efface.store.master_key import MasterKey
from efface.store.receipts import ReceiptChain
from efface.store.records import STATE, State
from efface.store.refusals import RefusedOwners
from efface.store.row_cipher import Body, RowCipher
from efface.store.row_database import Boundary, RowDatabase
from efface.store.signing import finish_change
from efface.store.sqlite_rows import SqliteRows

_PLAIN = (layout.ABOUT, layout.RECEIPTS, layout.REFUSED)
_SECRET = (layout.SIGNING, layout.BLIND)


def write_backup(
    disk: StoreDisk,
    target: Path,
    boundary: Boundary,
    going_on: Callable[[], None],
    *,
    keys: bool,
) -> None:
    """Write a copy of an open store; it is there as a whole or not at all.

    ``boundary`` is the moment of the copy, between two commits. ``going_on`` is called now and
    then, and raises what ends the copy.
    """
    if target.exists():
        raise InvalidValue(f"'{target}' already exists: expected a new folder; name another one.")
    with new_folder(target) as beside:

        @contextmanager
        def with_files() -> Iterator[None]:
            with boundary():
                _copy_files(disk, beside, keys=keys)
                yield

        disk.database.copy_to(beside / layout.ROWS, with_files, going_on)


def _copy_files(disk: StoreDisk, beside: Path, *, keys: bool) -> None:
    for name in _PLAIN + (_SECRET if keys else ()):
        replace_file(beside / name, (disk.folder / name).read_bytes())
    if keys:
        (beside / layout.KEYS).mkdir(FOLDER_MODE)
        for segment in disk.keys.segments:
            path = disk.keys.path(segment)
            replace_file(beside / layout.KEYS / path.name, path.read_bytes())


def _write_rows(path: Path, records: Mapping[str, bytes], rows: Iterable[Body]) -> None:
    """Write a new file of rows."""
    with closing(SqliteRows(path, new=True)) as target:
        target.take_all(records, rows)


# -- restore ---------------------------------------------------------------------------------------


class RestoreCounts(NamedTuple):
    """What a restore does: it is shown before anything changes."""

    kept: int  # rows that will be there
    forgotten: int  # rows whose keys are destroyed: they were forgotten since
    unreadable: int  # rows that do not decrypt: they are lost, and their keys are destroyed
    without_row: int  # keys without a row, which is lost or never came; they are destroyed


def restore(
    folder: str | os.PathLike[str],
    backup: str | os.PathLike[str] | None = None,
    *,
    destroyed: str | os.PathLike[str] | None = None,
    master_key: bytes | None = None,
    rows: str | None = None,
    mirror: str | os.PathLike[str] | None = None,
    confirm: Callable[[RestoreCounts], bool] = lambda counts: True,
) -> RestoreCounts:
    """Bring rows and keys of a store together; return what that changed.

    ``backup`` is a copy of the rows, None for the rows that the store has. If there is no store in
    ``folder``, the copy must have keys. ``destroyed`` is the log of destroyed numbers: their keys
    are destroyed first. ``mirror`` has the keys, if those of the store are lost. Nothing changes if
    ``confirm`` returns False.
    """
    refuse_windows()
    place, source = Path(folder), None if backup is None else Path(backup)
    with failures(str(folder)):
        if source is not None and not layout.is_store(source):
            raise InvalidValue(f"'{source}' is no copy of a store: expected a folder of 'backup'.")
        about = source, destroyed, MasterKey(master_key), rows
        if layout.is_store(place):
            work = _Restore(place, *about)
            return work.run(confirm, None if mirror is None else Path(mirror))
        if source is None:
            raise InvalidValue(f"'{place}' is no store: name the copy to restore it from.")
        with _whole_copy(source, place) as beside:
            work = _Restore(beside, *about)
            counts = work.run(confirm)
            if work.confirmed:
                os.rename(beside, place)
        return counts


@contextmanager
def _whole_copy(source: Path, place: Path) -> Iterator[Path]:
    """A copy with keys, beside a place that has none; it is removed unless it is moved there."""
    if not (source / layout.KEYS).is_dir():
        text = f"'{source}' is a copy without keys, and '{place}' has none"
        raise InvalidValue(f"{text}: restore it into the folder that has the keys.")
    beside = place.absolute().with_name(f".{place.name}.{secrets.token_hex(8)}")
    shutil.copytree(source, beside)
    try:
        replace(About.read(beside), mirror=None).write(beside)  # that is of the other folder
        yield beside
    finally:
        shutil.rmtree(beside, ignore_errors=True)
        sync_folder(place.absolute().parent)


@final
class _Restore:
    """The restore of one folder, which this process owns meanwhile."""

    def __init__(
        self,
        folder: Path,
        source: Path | None,
        destroyed: str | os.PathLike[str] | None,
        master: MasterKey,
        rows: str | None,
    ) -> None:
        self.folder, self.source, self.confirmed = folder, source, False
        about = About.read(folder)
        layout.check_master(about, master)
        about = self.about = finish_change(folder, about)
        self.address = rows or about.rows
        self.secrets = Secrets.read(folder, about)
        self.seal = self.secrets.seal(about)
        self.master = master
        self.gone = set() if destroyed is None else read_destroyed(Path(destroyed), about.store)

    def run(
        self, confirm: Callable[[RestoreCounts], bool], mirror: Path | None = None
    ) -> RestoreCounts:
        """Show what will change, and change it if that is confirmed."""
        lock = FolderLock(self.folder / layout.LOCK)
        self.keys = self._keys(self.folder / layout.KEYS if mirror is None else mirror)
        try:
            with closing(self._open_source()) as database:
                records, rows = database.records(), list(database.rows())
            found = {name: self.seal.decode(name, body) for name, body in records.items()}
            if STATE not in found:
                raise DamagedStore("'rows' has no state: restore from another copy.")
            kept, counts, doomed = self._sort(rows)
            self.confirmed = confirm(counts)
            if self.confirmed:
                if mirror is not None:
                    self._take_keys()
                state = self._state_after(State.from_plain(found[STATE]))
                records[STATE] = self.seal.encode(STATE, state.to_plain())
                self._apply(records, kept, doomed)
            return counts
        finally:
            self.keys.close()
            lock.release()

    def _keys(self, place: Path) -> KeySegments:
        return KeySegments(place, self.about.epoch, self.master)

    def _take_keys(self) -> None:
        place, mirror = self.folder / layout.KEYS, self.keys
        take_from_mirror(mirror, place)
        self.keys = self._keys(place)
        mirror.close()

    def _open_source(self) -> RowDatabase:
        if self.source is not None:
            return SqliteRows(self.source / layout.ROWS, frozen=True)
        return layout.open_database(self.folder, self.about)

    def _sort(self, rows: list[Body]) -> tuple[list[Body], RestoreCounts, list[int]]:
        """The rows that stay, the counts, and the slots to destroy."""
        cipher = RowCipher(bytes.fromhex(self.about.store))
        keys = {segment: self.keys.read(segment) for segment in self.keys.segments}
        parts = [self.keys.occupied(segment) for segment in self.keys.segments]
        occupied: NDArray[np.int64] = np.concatenate([np.zeros(0, np.int64), *parts])
        there = set(occupied.tolist()) - self.gone
        kept, forgotten, unreadable = [], 0, 0
        for seq, model, body in rows:
            if seq not in there:
                forgotten += 1
                continue
            segment, slot = divmod(seq, SLOTS)
            key = keys[segment][SLOT * slot : SLOT * slot + SLOT]
            if cipher.decrypt(seq, model, key, body) is None:
                unreadable += 1
            else:
                kept.append((seq, model, body))
        stay = {seq for seq, _, _ in kept}
        counts = RestoreCounts(len(kept), forgotten, unreadable, len(there - stay) - unreadable)
        return kept, counts, sorted(set(occupied.tolist()) - stay)

    def _state_after(self, old: State) -> State:
        """The state of the restored rows: no number comes again; the chain is that of the file."""
        chain = ReceiptChain(self.folder / layout.RECEIPTS, self.about.store, self.secrets.signing)
        refused = RefusedOwners(self.folder / layout.REFUSED, self.secrets.blind)
        return State(
            transaction=max(old.transaction, *self.keys.progress) + 1,
            next_seq=max(old.next_seq, SLOTS * (self.keys.newest + 1)),
            receipts=chain.count,
            chain=chain.digest,
            refused=len(refused),
            phases=old.phases,
        )

    def _apply(self, records: dict[str, bytes], kept: list[Body], doomed: list[int]) -> None:
        """Destroy the keys that have no row, then put the rows in place."""
        self.keys.zero(doomed)
        self.keys.sync()
        if self.address is None:
            self._replace_file(records, kept)
            return
        from efface.store.postgres_rows import PostgresRows

        with closing(PostgresRows(self.address, self.about.store)) as target:
            target.replace_all(records, kept)

    def _replace_file(self, records: dict[str, bytes], rows: list[Body]) -> None:
        beside, place = self.folder / ".rows.db.restored", self.folder / layout.ROWS
        for path in (beside, *_logs(beside)):
            path.unlink(missing_ok=True)
        _write_rows(beside, records, rows)
        for path in _logs(place):  # the log of the old file would be applied to the new one
            path.unlink(missing_ok=True)
        sync_folder(self.folder)
        os.replace(beside, place)
        sync_folder(self.folder)


def _logs(path: Path) -> list[Path]:
    return [path.with_name(path.name + end) for end in ("-wal", "-shm")]


def read_destroyed(path: Path, store: str) -> set[int]:
    """The numbers of destroyed keys in a log; a last line that is not whole is left out."""
    found: set[int] = set()
    text = path.read_text("ascii")
    for line in text[: text.rfind("\n") + 1].splitlines():
        fields = line.split()
        if len(fields) != 3 or not (fields[1].isdigit() and fields[2].isdigit()):
            raise DamagedStore(f"'{path}' is no log of destroyed numbers: name the right file.")
        if fields[0] == store:
            found.update(range(int(fields[1]), int(fields[1]) + int(fields[2])))
    return found

"""Copies of a store, and ``restore``: rows and keys that are not of one time are brought together.

A copy is a folder with ``rows.db``, whatever the database of the store is, ``store.json`` and the
receipts; with keys also ``keys/`` and both secrets. It names no file, folder or database elsewhere.
Restoring keeps the rows whose keys are there. Rows whose keys are destroyed were forgotten: they do
not come back. Keys without rows are destroyed. Ids that left, and owners that were refused, lie
with the keys: older rows do not bring them back.
"""

from __future__ import annotations

import os
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
    PathLock,
    failures,
    new_folder,
    partial,
    replace_file,
    sync,
    sync_folder,
    wipe,
)
from efface.store.external_files import read_log, refuse_foreign
from efface.store.file_systems import refuse_unsafe, refuse_windows
from efface.store.key_folder import known_names, make_equal
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
    then, and raises what ends the copy. Until the copy is whole, the store knows where it is:
    opening it removes what a crash left.
    """
    if target.exists():
        raise InvalidValue(f"'{target}' already exists: expected a new folder; name another one.")
    record = disk.folder / layout.UNFINISHED
    replace_file(record, os.fsencode(target.absolute()))
    with new_folder(target) as beside:
        disk.about.alone(disk.about.instance).write(beside)  # by which a crash's rest is known

        @contextmanager
        def with_files() -> Iterator[None]:
            with boundary():
                _copy_files(disk.folder, beside, (layout.RECEIPTS, *(_SECRET if keys else ())))
                if keys:
                    _copy_keys(disk.keys.folder, beside / layout.KEYS, disk.about.epoch)
                yield

        disk.database.copy_to(beside / layout.ROWS, with_files, going_on)
    wipe(record)


def _copy_files(source: Path, target: Path, names: Iterable[str]) -> None:
    for name in names:
        replace_file(target / name, (source / name).read_bytes())


def _copy_keys(source: Path, target: Path, epoch: int) -> None:
    target.mkdir(FOLDER_MODE)
    _copy_files(source, target, known_names(source, epoch))


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
        return _restore_copy(place, source, about, confirm)


class _NotConfirmedError(Exception):
    """Nothing shall change."""


def _restore_copy(
    place: Path, source: Path, about: _Source, confirm: Callable[[RestoreCounts], bool]
) -> RestoreCounts:
    """Make a store of a copy with keys: another instance, to which nothing elsewhere belongs."""
    if not (source / layout.KEYS).is_dir():
        text = f"'{source}' is a copy without keys, and '{place}' has none"
        raise InvalidValue(f"{text}: restore it into the folder that has the keys.")
    refuse_unsafe(place.absolute().parent, wrapped=bool(about[2]))
    found = About.read(source)
    try:
        with new_folder(place) as beside:
            found.alone(found.instance).write(beside)
            _copy_files(source, beside, (layout.RECEIPTS, *_SECRET))
            _copy_keys(source / layout.KEYS, beside / layout.KEYS, found.epoch)
            work = _Restore(beside, *about, new=True)
            counts = work.run(confirm)
            if not work.confirmed:
                raise _NotConfirmedError
    except _NotConfirmedError:
        pass
    return counts


_Source = tuple[Path | None, str | os.PathLike[str] | None, MasterKey, str | None]


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
        *,
        new: bool = False,
    ) -> None:
        self.folder, self.source, self.confirmed = folder, source, False
        about = About.read(folder)
        layout.check_master(about, master)
        refuse_unsafe(folder, wrapped=bool(master))
        self.gone = set() if destroyed is None else read_destroyed(Path(destroyed), about)
        self.copied = new or about.is_copied(folder)
        about = self.about = finish_change(folder, about)
        self.address = rows or (None if self.copied else about.rows)
        self.secrets = Secrets.read(folder, about)
        self.seal = self.secrets.seal(about)
        self.master = master

    def run(
        self, confirm: Callable[[RestoreCounts], bool], mirror: Path | None = None
    ) -> RestoreCounts:
        """Show what will change, and change it if that is confirmed."""
        lock = PathLock(self.folder / layout.LOCK, self.folder)
        if mirror is not None:
            refuse_foreign(mirror, "mirror", self.about.identity)
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
        make_equal(mirror.folder, place, self.about.epoch)
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
        refused = RefusedOwners([self.folder / layout.KEYS], self.secrets.blind)
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
        if self.address is not None:
            from efface.store.postgres_rows import PostgresRows

            with closing(PostgresRows(self.address, self.about.store)) as target:
                if self.copied and target.exists():
                    text = "'rows' is a database that has the rows of the original"
                    raise InvalidValue(f"{text}: expected another one; name it, or none.")
                if target.exists():
                    target.refuse_other(self.about.instance)
                self._destroy(doomed)
                target.replace_all(records, kept)
        else:
            self._destroy(doomed)
            self._replace_file(records, kept)
        if self.copied:  # nothing elsewhere is that of the copy
            own = self.about.alone(layout.new_instance())
            replace(own, rows=self.address).write(self.folder)

    def _destroy(self, doomed: list[int]) -> None:
        self.keys.zero(doomed)
        for descriptor in self.keys.unsynced():
            sync(descriptor)

    def _replace_file(self, records: dict[str, bytes], rows: list[Body]) -> None:
        place = self.folder / layout.ROWS
        beside = partial(place)
        _write_rows(beside, records, rows)
        for path in _logs(place):  # the log of the old file would be applied to the new one
            path.unlink(missing_ok=True)
        sync_folder(self.folder)
        os.replace(beside, place)
        sync_folder(self.folder)


def _logs(path: Path) -> list[Path]:
    return [path.with_name(path.name + end) for end in ("-wal", "-shm")]


def read_destroyed(path: Path, about: About) -> set[int]:
    """The numbers of destroyed keys in the log of a store, which must be that of the copy."""
    owner, lines = read_log(path, "destroyed")
    if owner != about.identity:
        text = f"'{path}' is the log of another store, or of another instance of this one"
        raise DamagedStore(f"{text}; nothing was changed; name the right file.")
    found: set[int] = set()
    for line in lines:
        fields = line.split()
        if len(fields) != 2 or not (fields[0].isdigit() and fields[1].isdigit()):
            raise DamagedStore(f"'{path}' is damaged: expected a number and a count per line.")
        found.update(range(int(fields[0]), int(fields[0]) + int(fields[1])))
    return found

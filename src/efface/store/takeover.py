"""Takeover: another host goes on with a store whose rows are in PostgreSQL, from its mirror.

The owner of a store holds a lock of the database as long as its connection lives, and every
transaction of it is fenced. A takeover takes the fence first. Then nothing of the earlier owner can
be committed, so that the mirror, which is copied next, has the key of every row. The copy is
another instance of the store: the folder of the earlier owner cannot be opened any more. The mirror
is overwritten and emptied, since a later ``forget`` would not reach its keys.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from efface.errors import DamagedStore, InvalidValue, StoreError
from efface.store import layout
from efface.store.durable_files import (
    FOLDER_MODE,
    PathLock,
    failures,
    new_folder,
    replace_file,
    wipe,
)
from efface.store.external_files import read_mirror
from efface.store.file_systems import refuse_unsafe, refuse_windows
from efface.store.key_folder import IDENTITY, known_names
from efface.store.layout import About
from efface.store.master_key import MasterKey
from efface.store.standby_files import Standby, read_standby

if TYPE_CHECKING:  # psycopg is an extra
    from efface.store.postgres_rows import PostgresRows

POLL = 1.0  # seconds between two looks at the owner


def take_over(
    folder: str | os.PathLike[str],
    mirror: str | os.PathLike[str],
    rows: str,
    *,
    master_key: bytes | None = None,
    force: bool = False,
) -> None:
    """Make a new folder with the store of a mirror, which nobody else can write from now on.

    ``rows`` is the address of the PostgreSQL database, such as that of a standby that was promoted.
    An owner that is still connected is refused, unless ``force`` is given. The mirror is empty
    then: name another one when the store is opened.
    """
    refuse_windows()
    place, source, master = Path(folder), Path(mirror), MasterKey(master_key)
    with failures(str(folder)):
        layout.refuse_used(place)
        refuse_unsafe(place.absolute().parent, wrapped=bool(master))
        lock = PathLock(source)
        try:
            _copy(place, source, rows, master, force=force)
        finally:
            lock.release()
        finish(place)


def _copy(place: Path, mirror: Path, rows: str, master: MasterKey, *, force: bool) -> None:
    owner, found = read_mirror(mirror), read_standby(mirror, master)
    if owner != found.about.identity:
        raise DamagedStore(f"'{mirror}' is damaged: its files name two stores; restore a copy.")
    instance = layout.new_instance()
    about = replace(found.about, rows=rows, instance=instance)
    with new_folder(place) as beside:
        with closing(_database(rows, about)) as database:
            database.claim(instance, force=force)
        _fill(beside, mirror, found, about)


def _fill(folder: Path, mirror: Path, found: Standby, about: About) -> None:
    """The files of the store, from those of its mirror; ``store.json`` comes last."""
    files = dict(found.secrets)
    for name in (layout.RECEIPTS, layout.TOKENS):
        if (mirror / name).exists():
            files[name] = (mirror / name).read_bytes()
    keys = folder / layout.KEYS
    keys.mkdir(FOLDER_MODE)
    for name in known_names(mirror, about.epoch):
        files[f"{layout.KEYS}/{name}"] = (mirror / name).read_bytes()
    former = f"{found.about.instance} {mirror.resolve()}"
    files[layout.TAKEN] = os.fsencode(former)
    for name, content in files.items():
        replace_file(folder / name, content)
    about.write(folder)


def finish(folder: Path) -> None:
    """Empty the mirror that a store was made of, if that is still to be done."""
    record = folder / layout.TAKEN
    if not record.exists():
        return
    instance, _, path = os.fsdecode(record.read_bytes()).partition(" ")
    mirror, store = Path(path), About.read(folder).store
    if (mirror / IDENTITY).exists() and read_mirror(mirror) == (store, instance):
        for name in sorted(set(os.listdir(mirror)) - {IDENTITY}):
            wipe(mirror / name)
        wipe(mirror / IDENTITY)  # last: until then a takeover that was interrupted is repeated
    wipe(record)


def wait_for_owner(
    mirror: str | os.PathLike[str],
    rows: str,
    *,
    after: float,
    master_key: bytes | None = None,
    waiting: Callable[[], None] = lambda: None,
) -> None:
    """Return once the database takes writes, and its owner was not connected for so many seconds.

    ``waiting`` is called now and then. A database that cannot be reached, or is a standby, is no
    sign that the owner is gone: who promotes the standby decides that.
    """
    about, since = read_standby(Path(mirror), MasterKey(master_key)).about, None
    while since is None or time.monotonic() < since + after:
        if not _is_vacant(rows, about):
            since = None
        elif since is None:
            since = time.monotonic()
        waiting()
        time.sleep(POLL)


def _is_vacant(rows: str, about: About) -> bool:
    try:
        with closing(_database(rows, about)) as database:
            return database.is_vacant()
    except StoreError:  # the server does not answer, or not yet
        return False


def retire(folder: str | os.PathLike[str], *, rows: str | None = None) -> None:
    """Overwrite and remove the folder of a store that another instance has taken over."""
    place = Path(folder)
    with failures(str(folder)):
        about = About.read(place)
        address = rows or about.rows
        if address is None:
            raise InvalidValue(f"'{place}' has its rows in a file: expected rows in PostgreSQL.")
        lock = PathLock(place / layout.LOCK, place)
        try:
            with closing(_database(address, about)) as database:
                if database.instance() in ("", about.instance):
                    text = f"'{place}' has rows that belong to it: expected another owner"
                    raise InvalidValue(f"{text}; nothing was changed.")
            wipe(place)
        finally:
            lock.release()


def _database(rows: str, about: About) -> PostgresRows:
    from efface.store.postgres_rows import PostgresRows

    return PostgresRows(rows, about.store)

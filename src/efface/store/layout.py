"""The folder of a store: which files it has, ``store.json``, and how a new one is made.

::

    orders/                   mode 0700; every file has 0600
      store.json              format, id of the store, public key of its receipts, epoch of the keys
      rows.db                 SQLite: rows as (number, model, ciphertext), and records
      keys/                   the keys of the rows, ids that left, owners that must not come back
      receipts.jsonl          the chain of receipts
      signing.key blind.key   the secrets that sign receipts and hide names
      unfinished              while a copy is written: where
      taken                   after a takeover: the mirror that must be removed
      lock                    held by the process that has the store open

A new store is made beside its place and then renamed: it is there as a whole, or not at all.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, final

from efface.errors import DamagedStore, InvalidValue, NewerFile, WrongMasterKey
from efface.store.day_keys import encode_days
from efface.store.durable_files import FOLDER_MODE, new_folder, replace_file
from efface.store.external_files import KINDS, Identity
from efface.store.file_systems import refuse_unsafe
from efface.store.key_folder import REFUSED, days_name
from efface.store.key_segments import KeySegments
from efface.store.master_key import MasterKey
from efface.store.receipts import SigningKey
from efface.store.records import MODELS, STATE, RecordSeal, State
from efface.store.refusals import HEADER
from efface.store.row_database import RowDatabase
from efface.store.sqlite_rows import SqliteRows

FORMAT = 1
ABOUT, ROWS, KEYS, LOCK = "store.json", "rows.db", "keys", "lock"
RECEIPTS, UNFINISHED, TAKEN = "receipts.jsonl", "unfinished", "taken"
TOKENS = "tokens.json"  # of the service
SIGNING, BLIND = "signing.key", "blind.key"
SECRET = 32
OWN = (ABOUT, ROWS, RECEIPTS, SIGNING, f"{SIGNING}.next", BLIND, UNFINISHED, TAKEN)


@final
@dataclass(frozen=True)
class About:
    """What ``store.json`` says.

    ``rows`` is the address of a PostgreSQL database, None for ``rows.db``. ``blind`` is the digest
    of ``blind.key``, ``master`` the fingerprint of the master key, None without one. ``destroyed``
    and ``anchor`` are files elsewhere: the log of destroyed numbers, and the heads of the chain.
    ``mirror`` is a folder elsewhere with the same keys. ``instance`` changes with every copy.
    ``place`` says where the folder was when it was last opened: a copy lies elsewhere.
    """

    store: str
    signer: str
    blind: str
    epoch: int = 1
    master: str | None = None
    rows: str | None = None
    destroyed: str | None = None
    anchor: str | None = None
    format: int = FORMAT
    mirror: str | None = None
    instance: str = ""
    place: str | None = None

    @property
    def identity(self) -> Identity:
        """What files elsewhere carry."""
        return Identity(self.store, self.instance)

    @property
    def external(self) -> dict[str, Path]:
        """The files and folders elsewhere, by their kind."""
        found = {kind: getattr(self, kind) for kind in KINDS}
        return {kind: Path(path) for kind, path in found.items() if path is not None}

    def alone(self, instance: str) -> About:
        """The same of a copy: nothing elsewhere belongs to it, no database and no password."""
        own: dict[str, Any] = dict.fromkeys((*KINDS, "rows", "place"))
        return replace(self, **own, instance=instance)

    def is_copied(self, folder: Path) -> bool:
        """Whether the folder is a copy: it has another path, and consists of other folders."""
        known = (self.place or "").split(maxsplit=2)
        now = place_of(folder).split(maxsplit=2)
        return len(known) == 3 and known[2] != now[2] and known[:2] != now[:2]

    def write(self, folder: Path) -> None:
        """Replace ``store.json``."""
        replace_file(folder / ABOUT, self.encode())

    def encode(self) -> bytes:
        """The content of ``store.json``."""
        plain = asdict(self)
        content = {**plain, "check": _check(plain)}
        return json.dumps(content, indent=1).encode("ascii") + b"\n"

    @classmethod
    def read(cls, folder: Path) -> About:
        """Read and check ``store.json``."""
        return cls.decode((folder / ABOUT).read_bytes(), folder, ABOUT)

    @classmethod
    def decode(cls, content: bytes, folder: Path, name: str) -> About:
        """What ``encode`` wrote, checked; errors name the folder and the file."""
        try:
            plain = json.loads(content)
            check = plain.pop("check")
            whole = check == _check(plain)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise _damaged(name, "it is no whole JSON") from error
        if not whole:
            raise _damaged(name, "its content was altered")
        if plain["format"] > FORMAT:
            text = f"'{folder}' has format {plain['format']}: this efface reads {FORMAT}"
            raise NewerFile(f"{text}; upgrade efface to open it.")
        return cls(**plain)


def _check(plain: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode("ascii")).hexdigest()


def _damaged(name: str, finding: str) -> DamagedStore:
    return DamagedStore(f"'{name}' is damaged: {finding}; restore it from a copy.")


@final
@dataclass(frozen=True, repr=False)
class Secrets:
    """The secrets of a store."""

    signing: SigningKey
    blind: bytes

    @classmethod
    def read(cls, folder: Path, about: About) -> Secrets:
        """Read both secrets; one that is not that of the store is refused."""
        blind = _secret(folder / BLIND)
        signing = SigningKey(_secret(folder / SIGNING))
        if hashlib.sha256(blind).hexdigest() != about.blind:
            raise _damaged(BLIND, "it is not that of this store")
        if signing.public != about.signer:
            raise _damaged(SIGNING, "it is not that of this store")
        return cls(signing, blind)

    def seal(self, about: About) -> RecordSeal:
        """What checks the records of the database."""
        return RecordSeal(bytes.fromhex(about.store), self.blind)


def _secret(path: Path) -> bytes:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise _damaged(path.name, "it is missing") from None
    if len(content) != SECRET:
        raise _damaged(path.name, f"it has {len(content)} bytes and not {SECRET}")
    return content


def place_of(folder: Path) -> str:
    """Where a folder is: the numbers of it and of its keys in the file system, and its path."""
    keys = folder / KEYS
    number = keys.stat().st_ino if keys.is_dir() else 0
    return f"{folder.stat().st_ino} {number} {os.path.realpath(folder)}"


def new_instance() -> str:
    """The id of an instance."""
    return secrets.token_hex(8)


def copied_instance(original: str, folder: Path) -> str:
    """The id of a copy at this place: the same again if opening it is interrupted."""
    return hashlib.sha256(f"{original} {place_of(folder)}".encode()).hexdigest()[:16]


def is_store(folder: Path) -> bool:
    """Whether there is a store in this folder."""
    return (folder / ABOUT).exists()


def check_master(about: About, master: MasterKey) -> None:
    """Raise unless this is the master key of the store."""
    if about.master != master.fingerprint:
        given = "missing" if not master else "another one" if about.master else "given"
        expected = "the master key of this store" if about.master else "none: keys are not wrapped"
        raise WrongMasterKey(f"'master_key' is {given}: expected {expected}; nothing was changed.")


def open_database(folder: Path, about: About, *, new: bool = False) -> RowDatabase:
    """The database of a store, by the address in ``store.json``."""
    if about.rows is None:
        return SqliteRows(folder / ROWS, new=new)
    from efface.store.postgres_rows import PostgresRows

    return PostgresRows(about.rows, about.store)


def refuse_used(folder: Path, finding: str = "is there") -> None:
    """Raise unless a store can be made in this place."""
    parent = folder.absolute().parent
    if not parent.is_dir():
        raise InvalidValue(f"'{parent}' is not a folder: expected one; name another place.")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        text = f"'{folder}' {finding}: expected a new or an empty folder"
        raise InvalidValue(f"{text}; name another place.")


def create(folder: Path, master: MasterKey, rows: str | None = None) -> None:
    """Make a new store without models; ``rows`` is the address of a PostgreSQL database."""
    refuse_used(folder, "is there, but is no store")
    refuse_unsafe(folder.absolute().parent, wrapped=bool(master))
    with new_folder(folder) as beside:
        about = _write_files(beside, master, rows)
        seal = Secrets.read(beside, about).seal(about)
        contents = {STATE: State().to_plain(), MODELS: []}
        with closing(open_database(beside, about, new=True)) as database:
            database.create({name: seal.encode(name, plain) for name, plain in contents.items()})


def _write_files(folder: Path, master: MasterKey, rows: str | None) -> About:
    blind, signing = secrets.token_bytes(SECRET), secrets.token_bytes(SECRET)
    about = About(
        store=secrets.token_hex(16),
        signer=SigningKey(signing).public,
        blind=hashlib.sha256(blind).hexdigest(),
        master=master.fingerprint,
        rows=rows,
        instance=new_instance(),
    )
    (folder / KEYS).mkdir(FOLDER_MODE)
    files = {SIGNING: signing, BLIND: blind, RECEIPTS: b"", f"{KEYS}/{REFUSED}": HEADER}
    files[f"{KEYS}/{days_name(about.epoch)}"] = encode_days({}, master)
    for name, content in files.items():
        replace_file(folder / name, content)
    KeySegments(folder / KEYS, about.epoch, master).reserve(0)
    about.write(folder)
    return about

"""Files and folders outside of a store that belong to it: each names its store, and is locked.

The anchor has the heads of the chain of receipts, the log of destroyed numbers those of destroyed
keys, the mirror a second copy of the keys. Each names the store and its instance, which changes
with every copy: a copy of a store cannot write to what belongs to the original.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, final

from efface.errors import DamagedStore, InvalidValue
from efface.store.durable_files import (
    PathLock,
    open_file,
    replace_file,
    sync,
    unfinished_of,
    write_all,
)
from efface.store.key_folder import IDENTITY

KINDS = ("anchor", "destroyed", "mirror")


class Identity(NamedTuple):
    """The id of a store, and of this instance of it."""

    store: str
    instance: str


def _header(kind: str, owner: Identity) -> str:
    return f"efface {kind} 1 {owner.store} {owner.instance}\n"


def read_log(path: Path, kind: str) -> tuple[Identity, list[str]]:
    """Whose file it is, and its lines; a last line that is not whole is left out."""
    try:
        text = path.read_bytes().decode("ascii", "replace")
    except FileNotFoundError:
        raise _missing(path, kind) from None
    first, *lines = text[: text.rfind("\n") + 1].splitlines() or [""]
    fields = first.split()
    if len(fields) != 5 or fields[:3] != ["efface", kind, "1"]:
        raise DamagedStore(f"'{path}' is no file of kind '{kind}': name the right file.")
    return Identity(fields[3], fields[4]), lines


def read_mirror(folder: Path) -> Identity:
    """Whose keys a mirror holds."""
    try:
        found = json.loads((folder / IDENTITY).read_bytes())
        return Identity(str(found["store"]), str(found["instance"]))
    except FileNotFoundError:
        raise _missing(folder, "mirror") from None
    except (ValueError, KeyError, TypeError) as error:
        text = f"'{folder / IDENTITY}' is damaged: expected the store that a mirror belongs to"
        raise DamagedStore(f"{text}; make another mirror.") from error


def _missing(path: Path, kind: str) -> DamagedStore:
    text = f"'{path}' is missing: expected the {_WORDS[kind]} of the store"
    advice = f"mount its disk or put it back, or give it up with 'efface store {kind} --stop'"
    return DamagedStore(f"{text}; {advice}.")


_WORDS = {"anchor": "anchor", "destroyed": "log of destroyed numbers", "mirror": "mirror"}


def owner_of(path: Path, kind: str) -> Identity:
    """Whose file or mirror it is."""
    return read_mirror(path) if kind == "mirror" else read_log(path, kind)[0]


def refuse_foreign(path: Path, kind: str, owner: Identity) -> None:
    """Raise unless a file or mirror belongs to this instance of this store."""
    found = owner_of(path, kind)
    if found != owner:
        other = "another instance of this store" if found.store == owner.store else "another store"
        text = f"'{path}' belongs to {other}: expected the {_WORDS[kind]} of this one"
        raise DamagedStore(f"{text}; nothing was changed; name another place.")


def refuse_unusable(path: Path, kind: str, owner: Identity) -> None:
    """Raise unless a new file or mirror can be made there, or is there already."""
    names = os.listdir(path) if path.is_dir() else []
    used = path.is_file() or any(unfinished_of(name) is None for name in names)
    if used and (kind != "mirror" or (path / IDENTITY).exists()):
        refuse_foreign(path, kind, owner)
    elif used or not path.parent.is_dir():
        what = "folder" if kind == "mirror" else "file"
        text = f"'{kind}' is '{path}': expected a new or an empty {what}"
        raise InvalidValue(f"{text}; name another place.")


def create_log(path: Path, kind: str, owner: Identity, first: str = "") -> None:
    """Make a file that belongs to a store, unless it is there."""
    if not path.exists():
        replace_file(path, (_header(kind, owner) + first).encode("ascii"))


def create_identity(folder: Path, owner: Identity) -> None:
    """Let a mirror name its store."""
    if not (folder / IDENTITY).exists():
        replace_file(folder / IDENTITY, json.dumps(owner._asdict()).encode("ascii") + b"\n")


def append(path: Path, text: str) -> None:
    """Add lines to a file that is there; they are on the disk when this returns."""
    with open_file(path, os.O_WRONLY) as descriptor:
        write_all(descriptor, text.encode("ascii"), os.fstat(descriptor).st_size)
        sync(descriptor)


@final
class ExternalLocks:
    """The locks of what belongs to a store outside of it."""

    def __init__(self) -> None:
        self._held: dict[Path, PathLock] = {}

    def take(self, paths: Iterable[Path]) -> None:
        """Lock these; raise if another process has one."""
        for path in paths:
            if path not in self._held:
                self._held[path] = PathLock(path)

    def release(self) -> None:
        """Let others have them."""
        while self._held:
            self._held.popitem()[1].release()

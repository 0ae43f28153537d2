"""A mirror of the keys in a folder on another disk, since losing ``keys/`` loses all rows.

Keys are written to both and destroyed in both before anything is acknowledged. ``keys/`` decides:
once it was found to belong to the rows, opening a store makes the mirror equal to it. A mirror
belongs to one instance of one store: a copy of the store cannot open it. A mirror also has what
another host needs to go on with the store: see ``efface.store.standby_files``.
"""

from __future__ import annotations

from pathlib import Path

from efface.errors import InvalidValue
from efface.store.durable_files import FOLDER_MODE, sync_folder
from efface.store.external_files import Identity, create_identity
from efface.store.file_systems import refuse_unsafe
from efface.store.key_folder import make_equal
from efface.store.key_segments import KeySegments


def refuse_inside(folder: Path, store: Path) -> None:
    """Raise if a mirror would be part of its store."""
    place = folder.resolve()
    if place == store.resolve() or store.resolve() in place.parents:
        text = f"'mirror' is '{folder}': expected a folder outside of the store"
        raise InvalidValue(f"{text}, on another disk; name another place.")


def make_mirror(folder: Path, owner: Identity, *, wrapped: bool) -> None:
    """Make the folder of a mirror, or accept an empty one."""
    place = folder.resolve()
    refuse_unsafe(place.parent, wrapped=wrapped)
    place.mkdir(FOLDER_MODE, exist_ok=True)
    place.chmod(FOLDER_MODE)
    create_identity(place, owner)
    sync_folder(place.parent)


def open_mirror(folder: Path, keys: KeySegments) -> KeySegments:
    """The segments of a mirror, which is made equal to ``keys`` first.

    Keys of an earlier epoch are still there: ``standby_files`` removes them once it names this one.
    """
    make_equal(keys.folder, folder, keys.epoch)
    return KeySegments(folder, keys.epoch, keys.master)

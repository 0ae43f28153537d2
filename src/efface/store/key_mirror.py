"""A mirror of the keys in a folder on another disk, since losing ``keys/`` loses all rows.

Keys are written to both and destroyed in both before anything is acknowledged. ``keys/`` decides:
once it was found to belong to the rows, opening a store makes the mirror equal to it.
"""

from __future__ import annotations

from pathlib import Path

from efface.errors import InvalidValue, StorageFailure
from efface.store.durable_files import FOLDER_MODE, overwrite, replace_file, sync_folder
from efface.store.file_systems import refuse_unsafe
from efface.store.key_segments import KeySegments


def make_mirror(folder: Path, store: Path, *, wrapped: bool) -> None:
    """Make the folder of a mirror, or accept an empty one."""
    place = folder.resolve()
    if place == store.resolve() or store.resolve() in place.parents:
        text = f"'mirror' is '{folder}': expected a folder outside of the store"
        raise InvalidValue(f"{text}, on another disk; name another place.")
    if not place.parent.is_dir() or (place.exists() and any(place.iterdir())):
        text = f"'mirror' is '{folder}': expected a new or an empty folder"
        raise InvalidValue(f"{text}; name another place.")
    refuse_unsafe(place.parent, wrapped=wrapped)
    place.mkdir(FOLDER_MODE, exist_ok=True)
    place.chmod(FOLDER_MODE)
    sync_folder(place.parent)


def open_mirror(folder: Path, keys: KeySegments) -> KeySegments:
    """The segments of a mirror, which is made equal to ``keys`` first."""
    if not folder.is_dir():
        text = f"'{folder}' is missing: expected the mirror of the keys"
        raise StorageFailure(f"{text}; mount its disk, or stop the mirror ('efface store mirror').")
    names = {keys.path(segment).name for segment in keys.segments}
    for path in folder.glob("*.bin"):
        if path.name not in names:
            overwrite(path)
            path.unlink()
    for name in sorted(names):
        content = (keys.folder / name).read_bytes()
        there = folder / name
        if not there.exists() or there.stat().st_size != len(content):
            if there.exists():
                overwrite(there)
            replace_file(there, content)
        elif there.read_bytes() != content:
            overwrite(there, content)
    sync_folder(folder)
    return KeySegments(folder, keys.epoch, keys.master)


def take_from_mirror(mirror: KeySegments, folder: Path) -> None:
    """Put the segments of a mirror into the folder of the keys."""
    folder.mkdir(FOLDER_MODE, exist_ok=True)
    for segment in mirror.segments:
        path = mirror.path(segment)
        replace_file(folder / path.name, path.read_bytes())

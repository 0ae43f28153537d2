"""The folder of the keys, and its mirror: which names it may have, and how a copy is made equal.

::

    EPOCH-NNNNNN.bin   the keys of rows, of the present epoch of the master key
    EPOCH.days         the keys of days, under which ids that left are hidden
    DDDDDD.left        the ids that left on a day
    refused.owners     the owners that must not come back
    instance.json      in a mirror: the store that it belongs to

All of it must never be of an earlier time, so it lies together, apart from the rows. Any other name
is what a killed process left, or a foreign file: opening a store overwrites and removes it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from efface.store.durable_files import FOLDER_MODE, overwrite, replace_file, sync_folder, wipe

REFUSED, IDENTITY = "refused.owners", "instance.json"
_EPOCHS = re.compile(r"(\d{4})(-\d{6}\.bin|\.days)")
_LEFT = re.compile(r"\d{6}\.left")


def segment_name(epoch: int, segment: int) -> str:
    """The file of a segment of keys.

    >>> segment_name(1, 7)
    '0001-000007.bin'
    """
    return f"{epoch:04d}-{segment:06d}.bin"


def days_name(epoch: int) -> str:
    """The file of the keys of days."""
    return f"{epoch:04d}.days"


def left_name(day: int) -> str:
    """The file of the ids that left on a day."""
    return f"{day:06d}.left"


def is_known(name: str, epoch: int) -> bool:
    """Whether a file of this name belongs to the keys of an epoch.

    >>> is_known("0001-000000.bin", 1), is_known("0001-000000.bin", 2), is_known(".0001", 1)
    (True, False, False)
    """
    found = _EPOCHS.fullmatch(name)
    return (found is not None and int(found[1]) == epoch) or is_shared(name)


def is_shared(name: str) -> bool:
    """Whether a file of this name belongs to the keys of every epoch."""
    return name == REFUSED or _LEFT.fullmatch(name) is not None


def known_names(folder: Path, epoch: int) -> list[str]:
    """The files of the keys of an epoch."""
    return sorted(name for name in os.listdir(folder) if is_known(name, epoch))


def strange_names(folder: Path, epoch: int) -> list[str]:
    """The names in a folder of keys that should not be there."""
    return sorted(name for name in os.listdir(folder) if not is_known(name, epoch))


def wipe_strange(folder: Path, epoch: int, *, keep: frozenset[str] = frozenset()) -> None:
    """Overwrite and remove what is neither of this epoch nor to be kept."""
    for name in strange_names(folder, epoch):
        if name not in keep:
            wipe(folder / name)


def make_equal(source: Path, target: Path, epoch: int) -> None:
    """Let a folder have the same keys as another: what it has to itself is overwritten."""
    target.mkdir(FOLDER_MODE, exist_ok=True)
    names = known_names(source, epoch)
    for name in known_names(target, epoch):
        if name not in names:
            wipe(target / name)
    for name in names:
        content, there = (source / name).read_bytes(), target / name
        if not there.exists() or there.stat().st_size != len(content):
            wipe(there)
            replace_file(there, content)
        elif there.read_bytes() != content:
            overwrite(there, content)
    sync_folder(target)

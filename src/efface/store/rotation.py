"""Rotation: the keys of rows under another master key, in new files, under the next epoch.

Once the old master key is destroyed, older copies of ``keys/`` cannot be read. The files of the
next epoch are complete before ``store.json`` names it. Those of the last epoch are then overwritten
and removed. Opening a store finishes or undoes a rotation that was interrupted.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from efface.store.day_keys import encode_days
from efface.store.disk import StoreDisk
from efface.store.durable_files import replace_file
from efface.store.file_systems import refuse_unsafe
from efface.store.key_folder import days_name, wipe_strange
from efface.store.key_segments import SLOT, SLOTS, KeySegments
from efface.store.layout import KEYS
from efface.store.master_key import MasterKey


def rotate(disk: StoreDisk, master: MasterKey) -> None:
    """Wrap all keys by another master key, or by none."""
    refuse_unsafe(disk.folder, wrapped=bool(master))
    old, epoch = disk.keys, disk.about.epoch + 1
    for segment in old.segments:
        slots, trailer = rewrapped(old, segment, master)
        replace_file(old.path(segment, epoch), slots + trailer)
    days = encode_days(disk.days.keys, master)
    replace_file(old.folder / days_name(epoch), days)
    about = replace(disk.about, epoch=epoch, master=master.fingerprint)
    about.write(disk.folder)
    old.close()
    wipe_strange(disk.folder / KEYS, epoch)
    disk.use_keys(about, KeySegments(disk.folder / KEYS, epoch, master))


def rewrapped(keys: KeySegments, segment: int, master: MasterKey) -> tuple[bytes, bytes]:
    """The slots of a segment under another master key, and its trailer; zeros stay zeros."""
    content = keys.path(segment).read_bytes()
    old = np.frombuffer(content, np.uint8, count=SLOT * SLOTS).reshape(SLOTS, SLOT)
    new = np.frombuffer(master.wrap(keys.read(segment)), np.uint8).reshape(SLOTS, SLOT).copy()
    new[~old.any(axis=1)] = 0
    return new.tobytes(), content[SLOT * SLOTS :]

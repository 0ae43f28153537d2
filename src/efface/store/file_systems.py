"""Which file systems overwrite in place: on others a destroyed key would stay readable.

Measured on raw images: ext4 (ordered) and xfs overwrite in place and keep no key. btrfs and ext4
with data=journal keep copies. There, and on other copy-on-write and network file systems, a store
needs a master key, which can be destroyed instead.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NamedTuple

from efface.errors import UnsafeStorage

_COPIES = {"apfs", "bcachefs", "btrfs", "f2fs", "nilfs2", "ubifs", "zfs"}
_NETWORK = {
    "9p",
    "afs",
    "ceph",
    "cifs",
    "glusterfs",
    "lustre",
    "ncpfs",
    "nfs",
    "nfs4",
    "smb3",
    "smbfs",
}
_MOUNTS = Path("/proc/self/mountinfo")


class Mount(NamedTuple):
    """A mounted file system: where, its type, and its options."""

    point: str
    type: str
    options: frozenset[str]

    @property
    def fault(self) -> str | None:
        """Why keys on it cannot be destroyed by overwriting; None if they can."""
        if self.type in _COPIES:
            return f"{self.type} writes changes elsewhere and keeps the old blocks"
        if self.type in _NETWORK or self.type.startswith("fuse"):
            return f"{self.type} keeps its data on another machine or in another program"
        if "data=journal" in self.options:
            return f"{self.type} with data=journal writes data to its journal first"
        return None


def parse_mounts(text: str) -> list[Mount]:
    """The file systems that Linux lists in ``/proc/self/mountinfo``."""
    mounts = []
    for line in text.splitlines():
        own, _, rest = line.partition(" - ")
        fields, described = own.split(), rest.split()
        point = fields[4].encode("ascii", "replace").decode("unicode_escape")
        options = fields[5].split(",") + (described[2].split(",") if len(described) > 2 else [])
        mounts.append(Mount(point, described[0], frozenset(options)))
    return mounts


def mount_of(folder: Path, mounts: list[Mount]) -> Mount | None:
    """The file system of a folder: that of the longest mount point, the latest if there are two."""
    path, best = os.path.realpath(folder), None
    for mount in mounts:
        root = mount.point.rstrip("/")
        inside = path == root or path.startswith(f"{root}/")
        if inside and (best is None or len(mount.point) >= len(best.point)):
            best = mount
    return best


def refuse_windows() -> None:
    """Raise on Windows, which lacks what makes writes durable."""
    if sys.platform == "win32":
        text = "'platform' is Windows: expected Linux or macOS, where writes can be made durable"
        raise UnsafeStorage(f"{text}; use the store there.")


def refuse_unsafe(folder: Path, *, wrapped: bool) -> None:
    """Raise unless keys in this folder can be destroyed, or are ``wrapped`` by a master key."""
    refuse_windows()
    if wrapped:
        return
    mount = mount_of(folder, parse_mounts(_MOUNTS.read_text("utf-8"))) if _MOUNTS.exists() else None
    fault = "APFS keeps the old blocks" if sys.platform == "darwin" else mount and mount.fault
    if fault:
        text = f"'{folder}' is on storage that keeps destroyed keys ({fault})"
        raise UnsafeStorage(
            f"{text}: expected a file system that overwrites in place, such as ext4 or xfs; "
            "use another folder, or a master key."
        )

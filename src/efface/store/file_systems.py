"""Which file systems overwrite in place: on others a destroyed key would stay readable.

Measured on raw images: ext4 (ordered) and xfs overwrite in place and keep no key. btrfs and ext4
with data=journal keep copies. There, and on other copy-on-write and network file systems, a store
needs a master key, which can be destroyed instead. What counts is how a file system is mounted,
which is not only what ``mount`` was told: ext4 has default options in its superblock, and folders
may have the attribute that their files are journaled.
"""

from __future__ import annotations

import os
import struct
import sys
from pathlib import Path
from typing import NamedTuple

from efface.errors import UnsafeStorage

if sys.platform != "win32":  # where stores are refused
    import fcntl

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
_MOUNTS, _EXT4 = Path("/proc/self/mountinfo"), Path("/proc/fs/ext4")
_GET_FLAGS, _JOURNALED = 0x80086601, 0x4000  # FS_IOC_GETFLAGS, FS_JOURNAL_DATA_FL


class Mount(NamedTuple):
    """A mounted file system: where, its type, and its options."""

    point: str
    type: str
    options: frozenset[str]
    source: str = "none"

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
        source = described[1] if len(described) > 1 else "none"
        mounts.append(Mount(point, described[0], frozenset(options), source))
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


def effective_options(mount: Mount) -> frozenset[str]:
    """All options of a file system, also those that its superblock sets."""
    if not mount.type.startswith("ext"):
        return mount.options
    name = os.path.basename(os.path.realpath(mount.source))
    listed = _EXT4 / name / "options"
    if listed.exists():
        return mount.options | frozenset(listed.read_text("ascii").split())
    return mount.options | _superblock_options(Path(mount.source))


def _superblock_options(device: Path) -> frozenset[str]:
    """The journal mode in the superblock of ext4, where this process may read it."""
    try:
        with device.open("rb") as file:
            file.seek(1024)
            block = file.read(1024)
    except OSError:  # only root may look; what the mount says is all that is known then
        return frozenset()
    magic, defaults = struct.unpack_from("<H", block, 0x38), struct.unpack_from("<I", block, 0x100)
    journaled = magic == (0xEF53,) and defaults[0] & 0x60 == 0x20
    return frozenset({"data=journal"} if journaled else ())


def is_journaled(folder: Path) -> bool:
    """Whether the attribute of a folder lets ext4 write the data of its files to the journal."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        flags = struct.unpack("l", fcntl.ioctl(descriptor, _GET_FLAGS, bytes(8)))[0]
    except OSError:  # a file system without attributes
        return False
    finally:
        os.close(descriptor)
    return bool(flags & _JOURNALED)


def refuse_windows() -> None:
    """Raise on Windows, which lacks what makes writes durable."""
    if sys.platform == "win32":
        text = "'platform' is Windows: expected Linux or macOS, where writes can be made durable"
        raise UnsafeStorage(f"{text}; use the store there.")


def _fault(folder: Path) -> str | None:
    if not _MOUNTS.exists():
        return None
    mount = mount_of(folder, parse_mounts(_MOUNTS.read_text("utf-8")))
    if mount is None:
        return None
    fault = mount._replace(options=effective_options(mount)).fault
    journaled = not fault and mount.type.startswith("ext") and folder.exists()
    return "its files have the attribute 'j'" if journaled and is_journaled(folder) else fault


def refuse_unsafe(folder: Path, *, wrapped: bool) -> None:
    """Raise unless keys in this folder can be destroyed, or are ``wrapped`` by a master key."""
    refuse_windows()
    if wrapped:
        return
    fault = "APFS keeps the old blocks" if sys.platform == "darwin" else _fault(folder)
    if fault:
        text = f"'{folder}' is on storage that keeps destroyed keys ({fault})"
        raise UnsafeStorage(
            f"{text}: expected a file system that overwrites in place, such as ext4 or xfs; "
            "use another folder, or a master key."
        )

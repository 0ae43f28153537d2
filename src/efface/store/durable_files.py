"""Files that survive a crash: synced writes, whole files that are replaced at once, an owner's
lock.

A new file is written beside its destination, synced, renamed there, and its folder is synced.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from efface.errors import StorageFailure, StorageFull, StoreInUse

if sys.platform != "win32":  # where stores are refused
    import fcntl

FILE_MODE, FOLDER_MODE = 0o600, 0o700
FULL = (errno.ENOSPC, errno.EDQUOT)  # of a disk, of a user


def sync(descriptor: int) -> None:
    """Return once the data of a file is on the disk."""
    if sys.platform == "darwin":  # fsync leaves data in the drive's cache there
        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    else:
        os.fdatasync(descriptor)


def sync_folder(folder: Path) -> None:
    """Return once the names in a folder are on the disk."""
    with open_file(folder, os.O_RDONLY | os.O_DIRECTORY) as descriptor:
        os.fsync(descriptor)


def write_all(descriptor: int, content: bytes, offset: int) -> None:
    """Write at an offset, whatever the number of calls that it takes."""
    done = os.pwrite(descriptor, content, offset)
    while done < len(content):
        done += os.pwrite(descriptor, memoryview(content)[done:], offset + done)


def replace_file(path: Path, content: bytes) -> None:
    """Create or replace a file, whole or not at all."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with open_file(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL) as descriptor:
            write_all(descriptor, content, 0)
            sync(descriptor)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
    sync_folder(path.parent)


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """A folder to fill, which then takes its place: it is there whole or not at all."""
    beside = folder.absolute().with_name(f".{folder.name}.{secrets.token_hex(8)}")
    beside.mkdir(FOLDER_MODE)
    try:
        yield beside
        os.rename(beside, folder)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    sync_folder(beside.parent)


def overwrite(path: Path, content: bytes | None = None) -> None:
    """Write over a file where it lies, zeros by default: what it held is gone from the disk."""
    with open_file(path, os.O_WRONLY) as descriptor:
        zeros = bytes(os.fstat(descriptor).st_size) if content is None else b""
        write_all(descriptor, content or zeros, 0)
        sync(descriptor)


@contextmanager
def open_file(path: Path, flags: int) -> Iterator[int]:
    """The descriptor of a file that only its owner may read."""
    descriptor = os.open(path, flags | os.O_CLOEXEC, FILE_MODE)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def failures(doing: str) -> Iterator[None]:
    """Turn errors of the operating system into a ``StorageFailure``."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            text = f"'{doing}' failed: the disk is full; nothing was changed"
            raise StorageFull(f"{text}; free space, then ask again.") from error
        reason = error.strerror or type(error).__name__
        advice = "free space or repair the disk, then open the store again"
        raise StorageFailure(
            f"'{doing}' failed: {reason}; nothing was acknowledged; {advice}."
        ) from error


class FolderLock:
    """The lock by which one process owns a folder; the system frees it when the process ends."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._descriptor)
            text = f"'{path.parent}' is in use: expected no other process that has this store open"
            raise StoreInUse(f"{text}; stop it, or ask it.") from None

    def release(self) -> None:
        """Let another process own the folder."""
        os.close(self._descriptor)

"""Files that survive a crash: synced writes, whole files that are replaced at once, an owner's
lock.

A new file is written beside its destination, synced, renamed there, and its folder is synced. Its
name ends in ``.partial`` until then, as does that of a new folder: what a killed process leaves is
known as unfinished, and is overwritten and removed by the next that has the place to itself.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from efface.errors import StorageFailure, StorageFull, StoreInUse

if sys.platform != "win32":  # where stores are refused
    import fcntl

FILE_MODE, FOLDER_MODE = 0o600, 0o700
_PARTIAL = re.compile(r"(.+)\.[0-9a-f]{16}\.partial(-wal|-shm|-journal)?")
_CHUNK = 1 << 20  # bytes that are overwritten at once
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


def partial(path: Path) -> Path:
    """A name under which a file or folder is unfinished.

    >>> unfinished_of(partial(Path("orders")).name)
    'orders'
    """
    return path.with_name(f"{path.name}.{secrets.token_hex(8)}.partial")


def unfinished_of(name: str) -> str | None:
    """What a name that ``partial`` made will be called; None for other names."""
    found = _PARTIAL.fullmatch(name)
    return found and found[1]


def replace_file(path: Path, content: bytes) -> None:
    """Create or replace a file, whole or not at all."""
    beside = partial(path)
    try:
        with open_file(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL) as descriptor:
            write_all(descriptor, content, 0)
            sync(descriptor)
        os.replace(beside, path)
    except BaseException:
        wipe(beside)
        raise
    sync_folder(path.parent)


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """A folder to fill, which then takes its place: it is there whole or not at all.

    It is locked meanwhile, so that no other process takes it for one that was left behind.
    """
    wipe_unfinished(folder)
    beside = partial(folder.absolute())
    beside.mkdir(FOLDER_MODE)
    lock = PathLock(beside)
    try:
        yield beside
        os.rename(beside, folder)
    except BaseException:
        wipe(beside)
        raise
    finally:
        lock.release()
    sync_folder(beside.parent)


def wipe_unfinished(folder: Path) -> None:
    """Overwrite and remove what killed processes left of a folder that was to have this name."""
    place = folder.absolute()
    names = os.listdir(place.parent) if place.parent.is_dir() else []
    for name in names:
        if unfinished_of(name) == place.name:
            beside = place.with_name(name)
            lock = PathLock(beside)
            try:
                wipe(beside)
            finally:
                lock.release()


def wipe(path: Path) -> None:
    """Overwrite a file, or all files in a folder, with zeros, and remove it; links are cut."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if stat.S_ISDIR(mode):
        for each in sorted(path.iterdir()):
            wipe(each)
        path.rmdir()
    else:
        if stat.S_ISREG(mode):
            overwrite(path)
        path.unlink()
    sync_folder(path.parent)


def overwrite(path: Path, content: bytes | None = None) -> None:
    """Write over a file where it lies, zeros by default: what it held is gone from the disk."""
    with open_file(path, os.O_WRONLY) as descriptor:
        if content is not None:
            write_all(descriptor, content, 0)
            sync(descriptor)
        else:
            _overwrite(descriptor)


def _overwrite(descriptor: int) -> None:
    size = os.fstat(descriptor).st_size
    for at in range(0, size, _CHUNK):
        write_all(descriptor, bytes(min(_CHUNK, size - at)), at)
    sync(descriptor)


def replace_secret(path: Path, content: bytes) -> None:
    """The same as ``replace_file``; what the file held before is overwritten."""
    if not path.exists():
        replace_file(path, content)
        return
    with open_file(path, os.O_WRONLY) as before:
        replace_file(path, content)
        _overwrite(before)


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


class PathLock:
    """The lock by which one process owns a file or folder; the system frees it when that ends."""

    def __init__(self, path: Path, subject: Path | None = None) -> None:
        flags = os.O_RDONLY if path.is_dir() else os.O_RDWR | os.O_CREAT
        self._descriptor = os.open(path, flags | os.O_CLOEXEC, FILE_MODE)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._descriptor)
            text = f"'{subject or path}' is in use: expected no other process that has it open"
            raise StoreInUse(f"{text}; stop it, or ask it.") from None

    def release(self) -> None:
        """Let another process own it."""
        os.close(self._descriptor)

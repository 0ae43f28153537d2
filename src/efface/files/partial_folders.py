"""Hidden folders of unfinished results, and their removal if the process that wrote them is gone.

A process holds a lock on its folder. The system releases the lock when the process ends, also when
it is killed, so that the next run can tell an abandoned folder from one that is being written.
"""

from __future__ import annotations

import glob
import os
import shutil
import sys
import tempfile
from pathlib import Path

if sys.platform != "win32":
    import fcntl

_LOCK = "lock"
_SUFFIX = ".partial"


def temporary_folder(path: Path) -> PartialFolder:
    """A new hidden folder beside ``path``; folders that a killed process left there are removed."""
    _remove_abandoned(path)
    return PartialFolder(path)


class PartialFolder:
    """A locked folder that is removed at the end."""

    def __init__(self, path: Path) -> None:
        prefix = f".{path.name}."
        new = Path(tempfile.mkdtemp(prefix=prefix, suffix=".new", dir=path.parent))
        self._lock = os.open(new / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        _try_lock(self._lock)
        self.path = new.with_suffix(_SUFFIX)  # under this name there is always a lock
        new.rename(self.path)

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        os.close(self._lock)
        shutil.rmtree(self.path, ignore_errors=True)


def _remove_abandoned(path: Path) -> None:
    """Remove the unfinished results for ``path`` whose process is gone."""
    if sys.platform == "win32":  # no such locks: abandoned folders cannot be told apart
        return
    for partial in path.parent.glob(f".{glob.escape(path.name)}.*{_SUFFIX}"):
        try:
            lock = os.open(partial / _LOCK, os.O_RDWR)
        except OSError:  # another run has just removed it, or it belongs to another user
            continue
        if _try_lock(lock):
            shutil.rmtree(partial, ignore_errors=True)
        os.close(lock)


def _try_lock(file: int) -> bool:
    """Lock an open file unless another process holds its lock."""
    if sys.platform == "win32":
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True

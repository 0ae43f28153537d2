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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

if sys.platform != "win32":
    import fcntl

_LOCK = "lock"
_SUFFIX = ".partial"


@contextmanager
def temporary_folder(path: Path) -> Iterator[Path]:
    """A new hidden folder beside ``path``, locked, and removed at the end.

    Folders that a killed process left there are removed at once.
    """
    _remove_abandoned(path)
    new = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".new", dir=path.parent))
    lock = os.open(new / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    _try_lock(lock)
    partial = new.rename(new.with_suffix(_SUFFIX))  # under this name there is always a lock
    try:
        yield partial
    finally:
        os.close(lock)
        shutil.rmtree(partial, ignore_errors=True)


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

"""Whether the disk of a store takes writes: a small file without a name is synced now and then.

It has a thread of its own, since a frozen disk does not return.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
from pathlib import Path
from typing import final

EVERY = 5.0  # seconds
_SIZE = 65_536  # bytes


@final
class DiskProbe:
    """Writes to a folder until it is closed; ``age`` is the time since the last sync returned."""

    def __init__(self, folder: Path, every: float = EVERY) -> None:
        self._folder, self._every = folder, every
        self._last = time.monotonic()
        self.error: str | None = None
        self.free: int | None = None  # bytes
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="efface-disk", daemon=True)
        self._thread.start()

    @property
    def age(self) -> float:
        """Seconds since a sync returned."""
        return time.monotonic() - self._last

    def close(self) -> None:
        """Stop; a write that hangs is not waited for."""
        self._stop.set()
        self._thread.join(1.0)

    def _work(self) -> None:
        while not self._stop.is_set():
            try:
                self._write()
            except OSError as error:
                self.error = error.strerror or type(error).__name__
            else:
                self.error, self._last = None, time.monotonic()
            self._stop.wait(self._every)

    def _write(self) -> None:
        found = os.statvfs(self._folder)
        self.free = found.f_bavail * found.f_frsize
        with tempfile.TemporaryFile(dir=self._folder, buffering=0) as file:
            file.write(bytes(_SIZE))
            os.fsync(file.fileno())

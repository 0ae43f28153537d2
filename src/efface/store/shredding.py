"""The keys of rows that left by themselves: destroyed with the next batch, or within 1 s."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import final

from efface.store.notes import Note

DELAY = 0.5  # seconds


@final
class Shredder:
    """Notes whose slots wait to be overwritten, and a thread that sees to it.

    ``shred`` is called by the thread; it takes what waits under the lock of the store.
    """

    def __init__(self, shred: Callable[[], None]) -> None:
        self._shred = shred
        self._notes: list[Note] = []
        self._wake, self._over = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None

    def __repr__(self) -> str:
        return f"Shredder({len(self._notes)} notes)"

    def __bool__(self) -> bool:
        return bool(self._notes)

    def add(self, note: Note | None) -> None:
        """The rows of a note have left."""
        if note is None:
            return
        self._notes.append(note)
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="efface-shredder", daemon=True)
            self._thread.start()
        self._wake.set()

    def take(self) -> list[Note]:
        """The notes whose slots wait; none waits after that."""
        taken, self._notes = self._notes, []
        self._wake.clear()
        return taken

    def put_back(self, notes: list[Note]) -> None:
        """What was taken waits again, since it could not be destroyed."""
        self._notes = notes + self._notes
        if notes:
            self._wake.set()

    def stop(self) -> None:
        """End the thread."""
        self._over.set()
        self._wake.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def _work(self) -> None:
        while True:
            self._wake.wait()
            if self._over.wait(DELAY):
                return
            if self._wake.is_set():
                self._wake.clear()
                self._shred()

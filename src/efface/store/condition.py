"""Whether a store can write: a value that is read without waiting for the disk."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, final


class StoreState(NamedTuple):
    """Whether a store can write. Ages are in seconds.

    "read-only": the last write was refused since the disk is full, or a write hangs. Predictions go
    on, and each new write is tried. "stopped": the store must be opened again.
    """

    state: Literal["writable", "read-only", "stopped"]
    reason: str | None
    oldest_write: float  # age of the write that is under way; 0.0 if there is none
    last_sync: float  # age of the last write that became durable


HANGS = 10.0  # seconds after which a write is taken for one that hangs


@final
@dataclass(slots=True)
class Condition:
    """What the writer notes, for ``state``.

    >>> noted = Condition()
    >>> noted.began()
    >>> noted.ended("the disk is full")
    >>> noted.state(None).state
    'read-only'
    """

    full: str | None = None
    synced: float = 0.0
    started: float | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.synced = time.monotonic()

    def began(self) -> None:
        """A write is under way."""
        self.started = time.monotonic()

    def ended(self, full: str | None = None) -> None:
        """It is durable, or it was refused since the disk is full."""
        with self.lock:
            self.started, self.full = None, full
            if full is None:
                self.synced = time.monotonic()

    def given_up(self) -> None:
        """It was no change of rows, or it failed for another reason and changed nothing."""
        with self.lock:
            self.started = None

    @contextmanager
    def under_way(self) -> Iterator[bool]:
        """Whether a write is under way: then it does not end inside, and no model changes."""
        with self.lock:
            yield self.started is not None

    def state(self, failure: BaseException | None) -> StoreState:
        """The state now; ``failure`` is why the writer stopped."""
        now, started = time.monotonic(), self.started
        age = 0.0 if started is None else now - started
        ages = age, now - self.synced
        if failure is not None:
            return StoreState("stopped", type(failure).__name__, *ages)
        if age > HANGS:
            return StoreState("read-only", "a write hangs", *ages)
        if self.full is not None:
            return StoreState("read-only", self.full, *ages)
        return StoreState("writable", None, *ages)

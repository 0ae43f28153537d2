"""The options of the command line that suites use."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """How long to measure and with how many threads."""

    quick: bool = False
    threads: int = 1
    seed: int | None = None  # of the streams of a suite that lets the caller choose

    @property
    def rounds(self) -> int:
        """How often each contender is timed."""
        return 3 if self.quick else 5

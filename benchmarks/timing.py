"""Interleaved timing (A B C A B C ...): a change of the machine's speed affects all contenders."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

Run = Callable[[], object]
BUSY = 0.9  # with a smaller share of a core, other processes disturb the times
BUSY_NOTE = f"MACHINE BUSY: a contender got less than {BUSY:.0%} of a core, measure again"


@dataclass
class Timing:
    """Wall and processor seconds of one contender, one entry per round."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        """Median wall seconds."""
        return statistics.median(self.wall)

    @property
    def minimum(self) -> float:
        """Smallest number of wall seconds."""
        return min(self.wall)

    @property
    def cores(self) -> float:
        """The average number of busy cores."""
        return sum(self.cpu) / sum(self.wall)

    def add(self, run: Run) -> None:
        """Time one call without garbage collection and without freeing its result."""
        gc.collect()
        gc.disable()
        try:
            cpu, wall = time.process_time(), time.perf_counter()
            result = run()
            self.wall.append(time.perf_counter() - wall)
            self.cpu.append(time.process_time() - cpu)
        finally:
            gc.enable()
        del result


def interleave(runs: Mapping[str, Run], rounds: int) -> dict[str, Timing]:
    """Time every contender once per round, in the same order each round."""
    timings = {name: Timing() for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            timings[name].add(run)
    return timings


def busy_notes(timings: Iterable[Timing]) -> list[str]:
    """A warning if other processes used the core."""
    return [BUSY_NOTE] if any(timing.cores < BUSY for timing in timings) else []


def seconds(run: Run) -> float:
    """Wall seconds of one call."""
    timing = Timing()
    timing.add(run)
    return timing.wall[0]

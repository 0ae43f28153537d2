"""Many digests with a number each, in little memory: sorted arrays that are merged as they grow.

The first eight bytes of a digest stand for it. Digests are random, so that among a hundred million
of them a given other one is taken for one of them with a probability of 5e-12.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

SIZE = 8  # bytes of a digest that are kept
Prefixes = NDArray[np.uint64]


class _Run(NamedTuple):
    """Sorted digests, and their numbers."""

    digests: Prefixes
    numbers: NDArray[Any]


@final
class DigestTable:
    """Digests, each with a number of type ``kind``.

    >>> table = DigestTable(np.uint16)
    >>> table.add([b"a" * 16, b"b" * 16], 7)
    >>> table.find([b"b" * 16, b"c" * 16])
    [7, None]
    >>> table.keep(lambda numbers: numbers != 7)
    >>> len(table)
    0
    """

    def __init__(self, kind: type[np.unsignedinteger[Any]]) -> None:
        self._kind = kind
        self._runs: list[_Run] = []  # each more than twice as long as the next

    def __repr__(self) -> str:
        return f"DigestTable({len(self)} digests)"

    def __len__(self) -> int:
        return sum(len(run.digests) for run in self._runs)

    def add(self, digests: Sequence[bytes], numbers: int | Sequence[int]) -> None:
        """Add digests with their numbers, or with one for all; the last of a digest counts."""
        each = np.broadcast_to(np.asarray(numbers, self._kind), len(digests))
        run = _sorted(_prefixes(digests), each)
        while self._runs and len(self._runs[-1].digests) <= 2 * len(run.digests):
            last = self._runs.pop()
            run = _sorted(*(np.concatenate(pair) for pair in zip(last, run, strict=True)))
        if len(run.digests):
            self._runs.append(run)

    def find(self, digests: Sequence[bytes]) -> list[int | None]:
        """The number of each digest; None if it is not there."""
        wanted = _prefixes(digests)
        found: list[int | None] = [None] * len(wanted)
        for run in self._runs:
            at = np.searchsorted(run.digests, wanted, side="right") - 1
            there = np.flatnonzero((at >= 0) & (run.digests[at] == wanted))
            for place, number in zip(there.tolist(), run.numbers[at[there]].tolist(), strict=True):
                found[place] = number
        return found

    def keep(self, which: Callable[[NDArray[Any]], NDArray[np.bool_]]) -> None:
        """Drop the digests whose numbers ``which`` does not select."""
        masks = [which(run.numbers) for run in self._runs]
        kept = [_Run(r.digests[m], r.numbers[m]) for r, m in zip(self._runs, masks, strict=True)]
        self._runs = [run for run in kept if len(run.digests)]


def _prefixes(digests: Sequence[bytes]) -> Prefixes:
    return np.frombuffer(b"".join([each[:SIZE] for each in digests]), np.uint64)


def _sorted(digests: Prefixes, numbers: NDArray[Any]) -> _Run:
    order = np.argsort(digests, kind="stable")
    return _Run(digests[order], numbers[order])

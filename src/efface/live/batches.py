"""Many rows pass through a memory: a window that slides one row at a time, in long strides.

Where exactly one row leaves as one comes, eight neighbouring windows are solved side by side (see
``kernels.strides``). All other rows, and the windows that are not safe to solve so, pass one by
one. The memory ends with the same rows either way, and its state follows from them alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from efface.engine.events.leverage import GAUGES
from efface.engine.jit.views import Ints, Matrix, Vector
from efface.engine.linalg.dense import SAFE
from efface.engine.linalg.spectrum import conditioning, rank_of
from efface.engine.windows.batched_replay import replay_windows
from efface.engine.windows.systems import MOST_UNKNOWNS
from efface.live.memory import Memory, departures
from efface.live.trace import Asked, Gauges, Trace, joined

LONG = 10_000  # rows, from which on a passage is worth the seconds that its kernel takes to compile
_FEW = 256  # rows in a run: fewer are passed sooner one by one
_SHARE = 8  # of the rows in a window: so many times fewer arrivals than those are few, too
_NEAR = 32  # rows between two windows that are not safe: these pass one by one with them
_LEAP = 1 << 14  # rows that are copied behind those already there


class Run(NamedTuple):
    """Rows first..last - 1 of the arrivals, each of them predicted by ``size`` rows."""

    first: int
    last: int
    size: int


@final
@dataclass(frozen=True)
class Passage:
    """Rows on their way through a memory.

    >>> from efface.live.memory import Penalty
    >>> memory = Memory(1, Penalty(), intercept=False)
    >>> passage = Passage(memory, intercept=False, asked=Asked(False, False, False))
    >>> none, one = np.zeros(300, np.int64), np.ones(300, np.int64)
    >>> memory.extend(np.ones((2, 1)), np.array([1.0, 3.0]))
    >>> passage.replay(np.ones((300, 1)), np.arange(300.0), none, one, np.ones(300)).prediction[:4]
    array([2. , 1.5, 0.5, 1.5])
    """

    memory: Memory
    intercept: bool
    asked: Asked

    def replay(self, X: Matrix, y: Vector, before: Ints, after: Ints, weights: Vector) -> Trace:
        """``Memory.replay``, in strides where that is possible and worth it."""
        memory, run = self.memory, longest_run(self.memory.n_rows, before, after)
        even = bool((weights == 1.0).all() and (memory.weights == 1.0).all())
        if not (memory.strides and even and self._worth(run)):
            return self.one_by_one(X, y, before, after, weights)
        memory.drop(int(before[0]))
        past, leaving = memory.rows(), departures(before, after)
        trace = joined(
            [
                *self._rest(X, y, leaving, slice(0, run.first)),
                *self._strides(X, y, past, run),
                *self._rest(X, y, leaving, slice(run.last, y.size)),
            ]
        )
        return self._conditioned(trace, X, past[0]) if self.asked.diagnostics else trace

    def _worth(self, run: Run) -> bool:
        """Are the rows of a run many enough, and their features few enough?"""
        unknowns = self.memory.width + self.intercept
        enough = run.last - run.first >= max(_FEW, run.size // _SHARE)
        return enough and unknowns <= MOST_UNKNOWNS and run.size > unknowns

    def one_by_one(
        self, X: Matrix, y: Vector, before: Ints, after: Ints, weights: Vector | None = None
    ) -> Trace:
        """``Memory.replay``."""
        return self.memory.replay(X, y, before, after, **self.asked._asdict(), weights=weights)

    def _rest(self, X: Matrix, y: Vector, leaving: Ints, part: slice) -> Iterator[Trace]:
        """Rows before or after a run, if there are any."""
        if part.start < part.stop:
            none = np.zeros(part.stop - part.start, np.int64)
            yield self.one_by_one(X[part], y[part], none, leaving[part])

    def _strides(
        self, X: Matrix, y: Vector, past: tuple[Matrix, Vector], run: Run
    ) -> Iterator[Trace]:
        """A run: first the windows that have rows of the past, then those that have not."""
        first, last, s = run
        middle = min(last, max(s, _LEAP)) if first < s else first
        if first < middle:
            ago = len(past[1]) + first - s
            rows = np.concatenate([past[0][ago:], X[:middle]])
            yield self._stride(rows, np.concatenate([past[1][ago:], y[:middle]]), s)
        if middle < last:
            yield self._stride(X[middle - s : last], y[middle - s : last], s)

    def _stride(self, X: Matrix, y: Vector, s: int) -> Trace:
        """The rows after the first s, each predicted by the s before it; the last s stay."""
        n, memory, asked = y.size - s, self.memory, self.asked
        states, coef = np.full((8, n), np.nan), np.empty((n if asked.coef else 0, memory.width))
        gauges = np.empty((GAUGES, n if asked.gauges else 0))
        margin = replay_windows(X, y, s, memory.rule(s), self.intercept, states[:6], coef, gauges)
        rank = np.where(states[1] == 0.0, memory.width, -1)
        if asked.diagnostics:
            self._rank(rank, X, s, margin)
        n_rows = np.full(n, s)
        trace = Trace.of(
            states,
            n_rows,
            asked,
            rank=rank if asked.diagnostics or memory.unpenalised else None,
            coef=coef if asked.coef else None,
            gauges=Gauges(n_rows, rank, states[1], *gauges) if asked.gauges else None,
        )
        for first, last in _doubtful(margin):
            memory.replace(X[first : first + s], y[first : first + s])
            self._correct(trace, first, X[first + s : last + s], y[first + s : last + s])
        memory.replace(X[n:], y[n:])
        return trace

    def _correct(self, trace: Trace, first: int, X: Matrix, y: Vector) -> None:
        """Put in what rows tell that pass one by one, from row ``first`` on."""
        none, one = np.zeros(y.size, np.int64), np.ones(y.size, np.int64)
        right = self.one_by_one(X, y, none, one)
        for target, source in zip(trace.arrays, right.arrays, strict=True):
            target[first : first + y.size] = source

    def _rank(self, rank: Ints, X: Matrix, s: int, margin: Vector) -> None:
        """Put in the rank of windows whose penalty hides it.

        Where some rows have all of it, so have the windows that these rows are in.
        """
        hidden, i = np.flatnonzero((rank < 0) & (margin >= SAFE)), 0
        while i < hidden.size:
            t = int(hidden[i])
            found, newest = rank_of(X[t : t + s], np.ones(s), self.intercept)
            last = t + s - newest if newest and found == X.shape[1] else t
            rank[t : last + 1] = found
            i = int(np.searchsorted(hidden, last + 1))

    def _conditioned(self, trace: Trace, X: Matrix, past: Matrix) -> Trace:
        """phi2 and condition at the rows of the whole at which ``Memory.replay`` tells them."""
        found = np.full((2, len(X)), np.nan)
        for t in self.memory.marks(len(X)):
            first = t - int(trace.n_rows[t])
            window = X[first:t] if first >= 0 else np.concatenate([past[first:], X[:t]])
            found[:, t] = conditioning(window, np.ones(len(window)), self.intercept)
        return trace._replace(phi2=found[0], condition=found[1])


def longest_run(n_rows: int, before: Ints, after: Ints) -> Run:
    """The longest run of rows that make one row leave each; ``n_rows`` are there at first.

    >>> longest_run(0, np.zeros(5, np.int64), np.array([0, 0, 1, 1, 1]))
    Run(first=2, last=5, size=2)
    """
    leaving = departures(before, after)
    edges = np.concatenate([[-1], np.flatnonzero(leaving != 1), [leaving.size]])
    longest = int(np.diff(edges).argmax())
    first, last = int(edges[longest]) + 1, int(edges[longest + 1])
    return Run(first, last, n_rows - int(before[:1].sum()) + first - int(leaving[:first].sum()))


def _doubtful(margin: Vector) -> Iterator[tuple[int, int]]:
    """Runs of windows that are not safe, joined where only a few that are lie between."""
    places = np.flatnonzero(~(margin >= SAFE))
    if places.size:
        for run in np.split(places, np.flatnonzero(np.diff(places) > _NEAR) + 1):
            yield int(run[0]), int(run[-1]) + 1

"""Many rows pass through a memory: a window that slides one row at a time, in long strides.

Where exactly one row leaves as one comes, eight neighbouring windows are solved side by side (see
``kernels.strides``). All other rows, and the windows that are not safe to solve so, pass one by
one. The memory ends with the same rows either way, and its state follows from them alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from efface.kernels.dense import SAFE
from efface.kernels.leverage import GAUGES
from efface.kernels.spectrum import conditioning, rank_of
from efface.kernels.strides import MOST, stride_windows
from efface.kernels.views import Ints, Matrix, Vector
from efface.memory import Gauges, Memory, Trace

LONG = 10_000  # rows, from which on a passage is worth the seconds that its kernel takes to compile
_FEW = 256  # rows in a run: fewer are passed sooner one by one
_SHARE = 8  # of the rows in a window: so many times fewer arrivals than those are few, too
_NEAR = 32  # rows between two windows that are not safe: these pass one by one with them
_LEAP = 1 << 14  # rows that are copied behind those already there


class Asked(NamedTuple):
    """What is to be told of each row beside its prediction."""

    coef: bool
    diagnostics: bool
    gauges: bool


class _Run(NamedTuple):
    """Rows first..last-1 of the arrivals, each of them predicted by ``size`` rows."""

    first: int
    last: int
    size: int


def replay(
    memory: Memory, X: Matrix, y: Vector, before: Ints, after: Ints, asked: Asked, *, intercept: bool
) -> Trace:
    """``Memory.replay``, in strides where that is possible and worth it."""
    run = _longest_run(memory, before, after)
    if not _worth(run, memory.width + intercept):
        return memory.replay(X, y, before, after, **asked._asdict())
    memory.drop(int(before[0]))
    leaving, past = _leaving(before, after), memory.rows()
    parts = [
        _one_by_one(memory, X, y, leaving, asked, 0, run.first),
        *_strides(memory, X, y, past, run, asked, intercept),
        _one_by_one(memory, X, y, leaving, asked, run.last, y.size),
    ]
    trace = joined([part for part in parts if part is not None])
    return _conditioned(trace, memory, X, past, intercept) if asked.diagnostics else trace


def joined(parts: Sequence[Trace]) -> Trace:
    """One trace after the other; all have the same fields."""
    return parts[0] if len(parts) == 1 else Trace(*map(_concatenated, zip(*parts, strict=True)))


def _concatenated(field: Sequence[Any]) -> Any:
    if isinstance(field[0], Gauges):
        return Gauges(*map(np.concatenate, zip(*field, strict=True)))
    return None if field[0] is None else np.concatenate(field)


def _leaving(before: Ints, after: Ints) -> Ints:
    """How many rows go once each row is learned; those that go before the first are gone."""
    leaving = after.copy()
    leaving[:-1] += before[1:]
    return leaving


def _longest_run(memory: Memory, before: Ints, after: Ints) -> _Run:
    """The longest run of rows that make one row leave each."""
    leaving = _leaving(before, after)
    edges = np.concatenate([[-1], np.flatnonzero(leaving != 1), [leaving.size]])
    longest = int(np.diff(edges).argmax())
    first, last = int(edges[longest]) + 1, int(edges[longest + 1])
    alive = memory.n_rows - int(before[:1].sum()) + first - int(leaving[:first].sum())
    return _Run(first, last, alive)


def _worth(run: _Run, unknowns: int) -> bool:
    """Are the rows of a run many enough, and their features few enough?"""
    enough = run.last - run.first >= max(_FEW, run.size // _SHARE)
    return enough and unknowns <= MOST and run.size > unknowns


def _one_by_one(
    memory: Memory, X: Matrix, y: Vector, leaving: Ints, asked: Asked, first: int, last: int
) -> Trace | None:
    if first == last:
        return None
    none, part = np.zeros(last - first, np.int64), slice(first, last)
    return memory.replay(X[part], y[part], none, leaving[part], **asked._asdict())


def _strides(
    memory: Memory,
    X: Matrix,
    y: Vector,
    past: tuple[Matrix, Vector],
    run: _Run,
    asked: Asked,
    intercept: bool,
) -> Iterator[Trace]:
    """A run, first the windows that have rows of the past, then those that have not."""
    first, last, s = run
    middle = min(last, max(s, _LEAP)) if first < s else first
    if first < middle:
        ago = len(past[1]) + first - s
        rows = np.concatenate([past[0][ago:], X[:middle]])
        responses = np.concatenate([past[1][ago:], y[:middle]])
        yield _stride(memory, rows, responses, s, asked, intercept)
    if middle < last:
        yield _stride(memory, X[middle - s : last], y[middle - s : last], s, asked, intercept)


def _stride(
    memory: Memory, X: Matrix, y: Vector, s: int, asked: Asked, intercept: bool
) -> Trace:
    """The rows after the first s, each predicted by the s before it; the last s stay."""
    n, width = y.size - s, memory.width
    states, coef = np.empty((6, n)), np.empty((n if asked.coef else 0, width))
    gauges = np.empty((GAUGES, n if asked.gauges else 0))
    margin = stride_windows(X, y, s, memory.rule(s), intercept, states, coef, gauges)
    rank = np.where(states[1] == 0.0, width, -1)
    if asked.diagnostics and not memory.unpenalised:
        _rank(rank, X, s, intercept, margin)
    n_rows = np.full(n, s)
    trace = Trace(
        *states[:3],
        n_rows,
        rank=rank if asked.diagnostics or memory.unpenalised else None,
        coef=coef if asked.coef else None,
        gauges=Gauges(n_rows, rank, states[1], *gauges) if asked.gauges else None,
    )
    if asked.diagnostics:
        nowhere = np.full((2, n), np.nan)
        trace = trace._replace(
            leverage_new=states[3],
            leverage_old=states[4],
            frt=states[5],
            phi2=nowhere[0],
            condition=nowhere[1],
        )
    for first, last in _doubtful(margin):
        memory.replace(X[first : first + s], y[first : first + s])
        _correct(trace, first, memory, X[first + s : last + s], y[first + s : last + s], asked)
    memory.replace(X[n:], y[n:])
    return trace


def _correct(
    trace: Trace, first: int, memory: Memory, X: Matrix, y: Vector, asked: Asked
) -> None:
    """Put in what the rows tell that pass one by one, from row ``first`` on."""
    none, one = np.zeros(y.size, np.int64), np.ones(y.size, np.int64)
    right = memory.replay(X, y, none, one, **asked._asdict())
    for target, source in zip(_arrays(trace), _arrays(right), strict=True):
        target[first : first + y.size] = source


def _arrays(trace: Trace) -> list[NDArray[Any]]:
    fields: Iterable[Any] = [*trace._replace(gauges=None), *(trace.gauges or ())]
    return [field for field in fields if field is not None]


def _doubtful(margin: Vector) -> Iterator[tuple[int, int]]:
    """Runs of windows that are not safe, with those of a few safe ones between joined."""
    places = np.flatnonzero(~(margin >= SAFE))
    if places.size:
        for run in np.split(places, np.flatnonzero(np.diff(places) > _NEAR) + 1):
            yield int(run[0]), int(run[-1]) + 1


def _rank(rank: Ints, X: Matrix, s: int, intercept: bool, margin: Vector) -> None:
    """Put in the rank of the windows whose penalty hides it; as long as some rows have all of it,
    windows that have those rows do."""
    hidden, i = np.flatnonzero((rank < 0) & (margin >= SAFE)), 0
    while i < hidden.size:
        t = int(hidden[i])
        found, newest = rank_of(X[t : t + s], intercept)
        last = t + s - newest if newest and found == X.shape[1] else t
        rank[t : last + 1] = found
        i = int(np.searchsorted(hidden, last + 1))


def _conditioned(
    trace: Trace, memory: Memory, X: Matrix, past: tuple[Matrix, Vector], intercept: bool
) -> Trace:
    """phi2 and condition at the rows that ``Memory.replay`` would have them at, all in one."""
    n, alive = len(X), len(past[1])
    found = np.full((2, n), np.nan)
    for t in memory.marks(n):
        ago = int(trace.n_rows[t]) - t
        old = past[0][alive - max(ago, 0) :]
        found[:, t] = conditioning(np.concatenate([old, X[max(0, -ago) : t]]), intercept)
    return trace._replace(phi2=found[0], condition=found[1])

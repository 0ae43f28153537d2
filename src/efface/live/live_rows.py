"""The live rows of a model: raw values, ids and times, and the policy that plans which rows leave.

The solver (with its row store) and the index of ids change together here, and nowhere else. Every
method first checks and plans, then applies. What it refuses, it refuses before anything changed.
"""

from __future__ import annotations

import copy
import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.errors import InvalidValue, unusable
from efface.inputs.ids import Id, as_id, as_ids, some_ids
from efface.inputs.times import Time, Times, as_time, as_times, kind_of
from efface.live.batches import LONG, SlidingReplay
from efface.live.index import RowIndex, repeated
from efface.live.penalties import Penalty
from efface.live.policies import Policy, Schedule
from efface.live.solver import Solver
from efface.live.solvers import solver_for
from efface.live.trace import Asked, Gauges, Trace, joined

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Window = tuple[Matrix, Vector, Vector]  # rows, responses, weights
Windows = Iterable[Window]  # the live rows at each entry, or at all
Widths = Callable[[Gauges, "LiveRows", Windows], Vector]


@dataclass(frozen=True, eq=False)
class Arrivals:
    """Checked rows that are about to be learned, in the order of their arrival."""

    X: Matrix
    y: Vector
    ids: Sequence[Id]
    times: Times | None
    numbered: bool  # no ids were given: they are numbered on from the live rows
    weights: Vector

    def __len__(self) -> int:
        return len(self.y)

    def part(self, first: int, end: int | None = None) -> Arrivals:
        """The rows from ``first`` on, those before ``end``."""
        rows = slice(first, end)
        times = None if self.times is None else self.times[rows]
        mine = self.X[rows], self.y[rows], self.ids[rows], times
        return Arrivals(*mine, self.numbered, self.weights[rows])


class LiveRows:
    """Rows that are learned, expire and are forgotten under a policy."""

    def __init__(
        self,
        width: int,
        penalty: Penalty,
        *,
        intercept: bool,
        policy: Policy,
        standardize: bool = False,
    ) -> None:
        fresh = partial(
            solver_for,
            width,
            penalty,
            intercept=intercept,
            shrinks=policy.shrinks,
            standardize=standardize,
        )
        self._begin(fresh, width, policy)

    def _begin(self, fresh: Callable[..., Any], width: int, policy: Policy) -> None:
        self._fresh = fresh
        self.shape = (width,)
        self.policy = policy
        self.timed = policy.needs_time
        self.phase = 0
        self.replayed = 0  # rows, since the last rebuild
        self.solver: Solver = self._fresh()
        self.index = RowIndex()

    @property
    def intercept(self) -> bool:
        """Does the regression have an intercept?"""
        return self.solver.intercepts

    # -- one row comes ---------------------------------------------------------------------------

    def learn_one(self, x: Vector, y: float, id: object, at: object, weight: float = 1.0) -> None:
        """Learn a row; the rows leave that the policy says."""
        index = self.index
        if at is not None or self.timed or index.named:
            self._learn_named(x, y, id, at, weight)
            return
        if id is not None and as_id(id) != index.stop:
            self._learn_named(x, y, id, at, weight)
            return
        n_rows = index.stop - index.start + 1
        leaving, self.phase = self.policy.after(n_rows, self.phase)
        self.solver.learn(x, y, leaving, weight)
        if leaving == n_rows:
            index.drop(n_rows - 1)
        else:
            index.stop += 1
            index.start += leaving

    def _learn_named(self, x: Vector, y: float, id: object, at: object, weight: float) -> None:
        """Learn a row that has an id or a time of its own, at its place in time."""
        time = None if at is None else as_time(at)
        self._refuse_kind(None if time is None else type(time))
        name = self.index.next_id() if id is None else as_id(id)
        self._learn_checked(x, y, name, time, weight)

    def _learn_checked(
        self, x: Vector, y: float, name: Id, time: Time | None, weight: float
    ) -> None:
        """Learn a row whose id and time are checked: a checked calendar time is a plain int."""
        index, policy = self.index, self.policy
        now = None if time is None else self._clock(time)
        expired = 0 if now is None else policy.expired(index.since, now)
        if name in index and name not in index.oldest(expired):
            raise repeated(name)
        self._drop(expired)
        if time is None or now is None or not policy.expired((time,), now):
            self._place(x, y, name, time, weight)

    def _place(self, x: Vector, y: float, id: Id, time: Time | None, weight: float) -> None:
        """Learn a row at its place in time; a row that would leave at once never enters."""
        position, n_rows = self.index.place(time), len(self.index)
        leaving, self.phase = self.policy.after(n_rows + 1, self.phase)
        if position < leaving:
            self._drop(leaving - 1)
            return
        if time is None or position == n_rows:
            self.solver.learn(x, y, leaving, weight)
            self.index.append(id, time)
            self.index.drop(leaving)
        else:
            self.solver.insert(position, x, y, weight)
            self.index.insert(position, id, time)
            self._drop(leaving)

    # -- many rows come --------------------------------------------------------------------------

    def arrivals(
        self,
        X: Matrix,
        y: Vector,
        ids: Iterable[object] | None,
        at: object,
        weights: Vector | None = None,
    ) -> Arrivals:
        """Check ids, times and weights of rows; ids that are not given are numbered on."""
        weights = np.ones(len(y)) if weights is None else weights
        times = None if at is None else as_times(at, len(y))
        if len(y):
            self._refuse_kind(kind_of(times))
        if ids is not None:
            return Arrivals(X, y, as_ids(ids, len(y)), times, False, weights)
        first = self.index.next_id()
        return Arrivals(X, y, range(first, first + len(y)), times, True, weights)

    def learn(self, new: Arrivals) -> None:
        """Learn rows as if one by one, at the cost of the rows that stay."""
        plan, n_rows = self._plan(new), len(self.index)
        if plan is None:
            order, names, phase = self._survivors(new)
            self._rearrange(new, order, [names[k] for k in order], phase)
            return
        self._drop(min(plan.leaving, n_rows))
        kept = new.part(max(0, plan.leaving - n_rows))
        self.solver.extend(kept.X, kept.y, kept.weights)
        self._enter(kept.ids, kept.times)
        self.phase = plan.phase

    def replay(
        self, new: Arrivals, *, coef: bool, diagnostics: bool, widths: Widths | None = None
    ) -> Trace:
        """Predict, then learn, row by row; rows that are too old by then leave first.

        ``widths`` says how far to each side of a prediction an interval reaches.
        """
        asked = Asked(coef, diagnostics, widths is not None)
        return joined([self._replay_run(*run, asked, widths) for run in self.runs(new)])

    def runs(self, new: Arrivals) -> Iterator[tuple[Arrivals, Schedule | None]]:
        """Runs of rows in order of time with their schedules; None for a single row that is late.

        Each run must be learned before the next one is taken. A repeated id is refused before the
        first.
        """
        plan = self._plan(new)
        if plan is not None:
            yield new, plan
            return
        names = self._survivors(new)[1][len(self.index) :]
        new, first = replace(new, ids=names, numbered=False), 0
        times = None if new.times is None else new.times.tolist()
        while first < len(new):
            if times is not None:
                self._drop(self.policy.expired(self.index.since, self._clock(times[first])))
            end = max(self._run_end(names, times, first), first + 1)
            run, first = new.part(first, end), end
            yield run, self._plan(run)

    def _run_end(self, names: list[Id], times: list[Time] | None, first: int) -> int:
        """The end of the rows from ``first`` on that are in order, under ids of no live row."""
        newest, seen = self.index.newest, set[Id]()
        for t in range(first, len(names)):
            late = times is not None and newest is not None and times[t] < newest
            if late or names[t] in seen or names[t] in self.index:
                return t
            newest = None if times is None else times[t]
            seen.add(names[t])
        return len(names)

    def _settle(self, new: Arrivals, plan: Schedule) -> None:
        """Let the index and the phase follow the solver, which has gone through these rows."""
        n_rows = len(self.index)
        self.index.drop(min(plan.leaving, n_rows))
        kept = new.part(max(0, plan.leaving - n_rows))
        self._enter(kept.ids, kept.times)
        self.phase = plan.phase

    def values(self) -> Window:
        """Copies of the live rows, their responses and weights, oldest first."""
        return self.solver.values()

    def _replay_run(
        self, new: Arrivals, plan: Schedule | None, asked: Asked, widths: Widths | None
    ) -> Trace:
        """Replay one of ``runs``, with intervals if there are widths."""
        past = self.values() if widths else None
        trace = (
            self._replay_late(new, asked)
            if plan is None
            else self._replay_in_order(new, plan, asked)
        )
        if widths is not None and past is not None:
            trace = self._bounded(trace, widths, past, new)
        return trace

    def _replay_in_order(self, new: Arrivals, plan: Schedule, asked: Asked) -> Trace:
        """Replay rows that come in order of time; a long stream in batches of windows."""
        self.replayed += len(new)
        rows = new.X, new.y, plan.before, plan.after, new.weights
        replay = SlidingReplay(self.solver, asked)
        trace = replay.batched(*rows) if self.replayed >= LONG else replay.one_by_one(*rows)
        self._settle(new, plan)
        return trace

    def _bounded(self, trace: Trace, widths: Widths, past: Window, new: Arrivals) -> Trace:
        """The trace with its intervals."""

        def windows() -> Iterator[Window]:
            pairs = zip(past, (new.X, new.y, new.weights), strict=True)
            X, y, weights = (np.concatenate(pair) for pair in pairs)
            for t, n in enumerate(trace.n_rows.tolist(), len(past[1])):
                yield X[t - n : t], y[t - n : t], weights[t - n : t]

        if trace.gauges is None:
            return trace
        half = widths(trace.gauges, self, windows())
        lower, upper = trace.prediction - half, trace.prediction + half
        return trace._replace(lower=lower, upper=upper, gauges=None)

    def scratch(self) -> Solver:
        """A solver of the same kind without rows, for rows that never leave by themselves."""
        solver: Solver = self._fresh(shrinks=False)
        return solver

    def clone(self) -> LiveRows:
        """A copy with the same rows and the same state, bit for bit."""
        return copy.deepcopy(self)

    def _replay_late(self, new: Arrivals, asked: Asked) -> Trace:
        """Replay a single row at its place in time, by a copy of the solver."""
        solver, none = self._fresh(), np.zeros(1, dtype=np.int64)
        solver.extend(*self.values())
        trace: Trace = solver.replay(new.X, new.y, none, none, asked, new.weights)
        solver.drop(solver.rows.n_rows)
        self._learn_late(new)
        return trace

    def _learn_late(self, new: Arrivals) -> None:
        """Learn a single row at its place in time."""
        time = None if new.times is None else new.times[0].item()
        self._learn_checked(new.X[0], float(new.y[0]), new.ids[0], time, float(new.weights[0]))

    # -- rows leave ------------------------------------------------------------------------------

    def forget(self, ids: object) -> None:
        """Rows leave by id, as one rebuild."""
        self._remove(self.index.positions(some_ids(ids)))

    def expire(self, now: object) -> int:
        """Rows that are too old at ``now`` leave, as one rebuild; return how many."""
        if not self.policy.needs_time:
            advice = "use window='90d' or KeepFor to give rows a time to leave"
            raise InvalidValue(unusable("window", self.policy, "a duration to expire by", advice))
        time = as_time(now)
        self._refuse_kind(type(time))
        count = self.policy.expired(self.index.since, time)
        self._remove(np.arange(count, dtype=np.intp))
        return count

    def rebuild(self) -> None:
        """Make the state that of a model that has just learned the live rows, and no other row."""
        self.solver.rebuild()
        self.replayed = 0

    def wipe(self) -> None:
        """All rows leave."""
        self._drop(len(self.index))

    def _remove(self, positions: NDArray[np.intp]) -> None:
        """Rows leave; even if there are none, what was derived from earlier rows is discarded."""
        self.solver.remove(positions)
        self.replayed = 0
        if positions.size:
            self.index.remove(positions.tolist())

    def _drop(self, count: int) -> None:
        if count:
            self.solver.drop(count)
            self.index.drop(count)

    def restore(
        self,
        X: Matrix,
        y: Vector,
        ids: list[Id],
        times: Times | None,
        phase: int,
        weights: Vector | None = None,
    ) -> None:
        """Take over live rows of a snapshot; nothing may have been learned before."""
        names = as_ids(ids, len(y))
        if names:
            self._refuse_kind(kind_of(times))
        self.solver.extend(X, y, weights)
        self._enter(names, times)
        self.phase = phase

    # -- plans -----------------------------------------------------------------------------------

    def _refuse_kind(self, kind: type | None) -> None:
        self.policy.refuse_time(kind)
        self.index.refuse_time(kind)

    def _clock(self, time: Time) -> Time:
        newest = self.index.newest
        return time if newest is None or time > newest else newest

    def _plan(self, new: Arrivals) -> Schedule | None:
        """The schedule of rows that come in order of time, each under an id of its own.

        None for other rows: their places or ids depend on which rows are alive when they come.
        """
        if not len(new):
            return Schedule(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), self.phase)
        times, newest = new.times, self.index.newest
        if times is not None and not (
            (times[1:] >= times[:-1]).all() and (newest is None or times[0] >= newest)
        ):
            return None
        if times is not None and self.policy.needs_time and len(self.index):
            times = np.concatenate([self.index.times, times])
        plan = self.policy.schedule(len(self.index), len(new), self.phase, times)
        if new.numbered:  # numbered on, unless no live row is left to number on from
            return plan if (plan.alive(len(self.index))[:-1] > 0).all() else None
        fresh = len(set(new.ids)) == len(new) and not any(id in self.index for id in new.ids)
        return plan if fresh else None

    def _survivors(self, new: Arrivals) -> tuple[list[int], list[Id], int]:
        """Which rows are alive at the end, oldest first, the ids of all, and the phase.

        The rows come one by one. They are counted from the oldest live row on.
        """
        names: list[Id] = self.index.ids
        since: Sequence[Time] = self.index.since or [0.0] * len(names)
        coming: list[Time] = [0.0] * len(new) if new.times is None else new.times.tolist()
        heap = [(time, k) for k, time in enumerate(since)]  # sorted, hence a heap
        live, phase, largest = set(names), self.phase, self.index.next_id() - 1
        now = since[-1] if names else coming[0]

        def leave() -> None:
            nonlocal largest
            gone = names[heapq.heappop(heap)[1]]
            live.remove(gone)
            if gone == largest:
                largest = max((id for id in live if isinstance(id, int)), default=-1)

        for i, time in enumerate(coming):
            now = max(now, time)
            name = max(largest, -1) + 1 if new.numbered else new.ids[i]
            while heap and self.policy.expired(heap[0][:1], now):
                leave()
            if name in live:
                raise repeated(name)
            names.append(name)
            if self.policy.expired((time,), now):
                continue  # too old on arrival
            heapq.heappush(heap, (time, len(names) - 1))
            live.add(name)
            largest = max(largest, name) if isinstance(name, int) else largest
            leaving, phase = self.policy.after(len(heap), phase)
            for _ in range(leaving):
                leave()
        return [k for _, k in sorted(heap)], names, phase

    # -- changes ---------------------------------------------------------------------------------

    def _enter(self, ids: Sequence[Id], times: Times | None) -> None:
        self.index.extend(ids, None if times is None else times.tolist())

    def _rearrange(self, new: Arrivals, order: list[int], ids: list[Id], phase: int) -> None:
        """Live and new rows, those of ``order``, as one rebuild."""
        pairs = zip(self.values(), (new.X, new.y, new.weights), strict=True)
        rows = [np.concatenate(pair)[order] for pair in pairs]
        times = new.times
        if times is not None:
            times = np.concatenate([*([self.index.times] if len(self.index) else []), times])[order]
        self.wipe()
        self.solver.extend(*rows)
        self._enter(ids, times)
        self.phase = phase

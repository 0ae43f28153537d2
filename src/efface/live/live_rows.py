"""The live rows of a model: raw values, ids and times, and the policy that plans which rows leave.

The solver (with its row store), the index of ids, the owners and the ends of rows change together
here, and nowhere else. Every method first checks and plans (see ``plans``), then applies. What it
refuses, it refuses before anything changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.inputs.ids import Id, as_id, as_ids, as_owners, some_ids
from efface.inputs.times import Time, Times, as_time, as_times, as_untils, kind_of
from efface.inputs.types import Matrix, Vector
from efface.live.arrivals import Arrivals, Survivors
from efface.live.fading import Fading
from efface.live.half_life import HalfLife
from efface.live.index import RowIndex, repeated
from efface.live.marks import NO_END, UNMARKED, Mark, RowMarks, refuse_end_kind
from efface.live.penalties import Penalty
from efface.live.plans import Outcome, Plans
from efface.live.policies import Policy, Schedule
from efface.live.solver import Solver

Window = tuple[Matrix, Vector, Vector]  # rows, responses, weights


class LiveRows:
    """Rows that are learned, expire and are forgotten under a policy."""

    fading: Fading | None = None  # None: weights do not fade

    def __init__(
        self,
        width: int,
        penalty: Penalty,
        *,
        intercept: bool,
        policy: Policy,
        standardize: bool = False,
        halflife: HalfLife | None = None,
    ) -> None:
        fresh = partial(
            Solver,
            width,
            penalty,
            intercept=intercept,
            standardize=standardize,
            fades=halflife is not None,
        )
        self._begin(fresh, width, policy)
        if halflife is not None:
            self.fading = Fading(halflife, self.solver, self.index)

    def _begin(self, fresh: Callable[..., Any], width: int, policy: Policy) -> None:
        self._fresh = fresh
        self.shape = (width,)
        self.policy = policy
        self.timed = policy.needs_time
        self.phase = 0
        self.solver: Solver = self._fresh()
        self.index = RowIndex()
        self.solver.use_walls(self.index.walls)
        self.marks = RowMarks()
        self._plans = Plans(self.index, self.marks, policy)

    @property
    def intercept(self) -> bool:
        """Does the regression have an intercept?"""
        return self.solver.intercepts

    # -- one row comes ---------------------------------------------------------------------------

    def learn_one(
        self,
        x: Vector,
        y: float,
        id: object,
        at: object,
        weight: float = 1.0,
        owner: object = None,
        until: object = None,
    ) -> None:
        """Learn a row; the rows leave that the policy says, and those that are due."""
        index = self.index
        marked = self.marks.some or owner is not None or until is not None
        named = at is not None or self.timed or index.named or index.gaps or marked
        if named or (id is not None and as_id(id) != index.stop):
            self._learn_named(x, y, id, at, weight, owner, until)
            return
        n_rows = index.stop - index.start + 1
        leaving, self.phase = self.policy.after(n_rows, self.phase)
        if self.fading is None:
            self.solver.learn(x, y, leaving, weight)
        else:
            self.fading.learn(x, y, leaving, weight, None)
        if leaving == n_rows:
            index.drop(n_rows - 1)
        else:
            index.stop += 1
            index.start += leaving

    def _learn_named(
        self,
        x: Vector,
        y: float,
        id: object,
        at: object,
        weight: float,
        owner: object,
        until: object,
    ) -> None:
        """Learn a row that has an id, a time, an owner or an end, at its place in time."""
        time = None if at is None else as_time(at)
        end = None if until is None else as_time(until, "until")
        self._plans.refuse_kind(
            None if time is None else type(time), None if end is None else type(end)
        )
        mark = Mark(None if owner is None else as_id(owner, "owner"), end)
        name = self.index.next_id() if id is None else as_id(id)
        self._learn_checked(x, y, name, time, weight, mark)

    def _learn_checked(
        self, x: Vector, y: float, name: Id, time: Time | None, weight: float, mark: Mark = UNMARKED
    ) -> None:
        """Learn a row whose id and time are checked: a checked calendar time is a plain int."""
        now = None if time is None else self._plans.clock(time)
        expired, due = self._plans.over(now)
        if name in self.index and name not in self.index.oldest(expired) and name not in due:
            raise repeated(name)
        self._leave(expired, due)
        if time is None or now is None or not self._plans.late(time, mark.until, now):
            self._place(x, y, name, time, weight)
            if mark != UNMARKED and name in self.index:
                ends = None if mark.until is None else [mark.until]
                self.marks.add([name], [mark.owner], ends)

    def _place(self, x: Vector, y: float, id: Id, time: Time | None, weight: float) -> None:
        """Learn a row at its place in time; a row that would leave at once never enters."""
        index = self.index
        position, n_rows = index.place(time), len(index)
        leaving, self.phase = self.policy.after(n_rows + 1, self.phase)
        if leaving > n_rows or (leaving and position <= index.reach(leaving - 1)):
            self._drop(leaving - 1)
            return
        if time is None or position == index.places:
            self._append(x, y, id, time, leaving, weight)
        else:
            index.insert(position, id, time)
            self.solver.insert(position, x, y, weight)
            self._drop(leaving)
            self._renew_weights()

    def _append(
        self, x: Vector, y: float, id: Id, time: Time | None, leaving: int, weight: float
    ) -> None:
        """Learn the newest row; then the oldest ``leaving`` rows leave."""
        if self.fading is not None:
            self.fading.learn(x, y, leaving, weight, time)
        self.index.append(id, time)
        places = self._drop_keys(leaving) if leaving else 0
        if self.fading is None:
            self.solver.learn(x, y, places, weight)

    def _renew_weights(self) -> None:
        """Make the weights of rows that fade anew, after a row came or left between others."""
        if self.fading is not None:
            self.fading.renew()

    # -- many rows come --------------------------------------------------------------------------

    def arrivals(
        self,
        X: Matrix,
        y: Vector,
        ids: Iterable[object] | None,
        at: object,
        weights: Vector | None = None,
        *,
        owners: object = None,
        until: object = None,
    ) -> Arrivals:
        """Check what belongs to rows; ids that are not given are numbered on."""
        count = len(y)
        weights = np.ones(count) if weights is None else weights
        times = None if at is None else as_times(at, count)
        untils = as_untils(until, count)
        if count:
            self._plans.refuse_kind(kind_of(times), kind_of(untils))
        marks = as_owners(owners, count), untils
        if ids is not None:
            return Arrivals(X, y, as_ids(ids, count), times, False, weights, *marks)
        first = self.index.next_id()
        return Arrivals(X, y, range(first, first + count), times, True, weights, *marks)

    def learn(self, new: Arrivals, plan: Schedule | None = None) -> None:
        """Learn rows as if one by one, at the cost of the rows that stay.

        ``plan`` is the schedule of their ``outcome``, if nothing has changed since.
        """
        plan, n_rows = plan or self._plans.schedule(new, self.phase), len(self.index)
        if plan is None:
            self._rearrange(new, self._plans.simulate(new, self.phase))
            return
        leaving = plan.leaving
        self._drop(min(leaving, n_rows))
        kept = new.part(max(0, leaving - n_rows))
        self._extend(kept.X, kept.y, kept.weights, kept.times)
        self._enter(kept)
        self.phase = plan.phase

    def outcome(self, new: Arrivals) -> Outcome:
        """What ``learn`` would do with these rows, which have ids; nothing changes."""
        return self._plans.outcome(new, self.phase)

    def runs(self, new: Arrivals) -> Iterator[tuple[Arrivals, Schedule | None]]:
        """Divide rows into runs that have a schedule, and single rows that have none.

        Within a run rows come in order of time under ids of no live row, and no row becomes due.
        The rows that are too old or due when a run begins leave as it is handed out. The caller
        learns a run before it asks for the next. A repeated id is refused before the first.
        """
        self._close_gaps()  # the compiled replays know none
        plan = self._plans.schedule(new, self.phase)
        if plan is not None:
            yield new, plan
            return
        names = self._plans.simulate(new, self.phase).names[len(self.index) :]
        new, first = replace(new, ids=names, numbered=False), 0
        while first < len(new):
            if new.times is not None:
                self._leave(*self._plans.over(self._plans.clock(new.since[first])))
                self._close_gaps()
            end = max(first + 1, new.run_end(first, self.index, self.marks.consents.earliest))
            run, first = new.part(first, end), end
            yield run, self._plans.schedule(run, self.phase)

    def settle(self, new: Arrivals, plan: Schedule) -> None:
        """Let the index and the phase follow the solver, which has gone through these rows."""
        n_rows = len(self.index)
        self._drop_keys(min(plan.leaving, n_rows))
        kept = new.part(max(0, plan.leaving - n_rows))
        self._enter(kept)
        self.phase = plan.phase

    def values(self) -> Window:
        """Copies of the live rows, their responses and weights, oldest first."""
        return self.solver.values(self.index.occupied() if self.index.gaps else None)

    def views(self) -> Window:
        """The same without a copy if there are no gaps; valid until a row comes or leaves."""
        return self.values() if self.index.gaps else self.solver.views()

    def as_arrivals(self) -> Arrivals:
        """The live rows as rows that others can learn; valid until a row comes or leaves."""
        X, y, weights = self.views()
        ids, times = self.index.ids, self.index.times
        owners, untils = self.marks.owner_of_each(ids), self.marks.until_of_each(ids)
        return Arrivals(X, y, ids, times, False, weights, owners, untils)

    def learn_single(self, new: Arrivals) -> None:
        """Learn a single row that ``runs`` hands out, at its place in time."""
        time = None if new.times is None else new.since[0]
        until = None if new.untils is None else new.untils[0].item()
        mark = Mark(None if new.owners is None else new.owners[0], until)
        weight = float(new.weights[0])
        self._learn_checked(new.X[0], float(new.y[0]), new.ids[0], time, weight, mark)

    # -- rows leave ------------------------------------------------------------------------------

    def forget(self, ids: object, owners: object = (), *, lenient: bool = False) -> int:
        """Rows leave by id and by owner, as one rebuild; return how many.

        An id or an owner without a live row is an error, unless ``lenient``.
        """
        if type(ids) is int and not owners and not lenient:
            self._remove(self.index.positions((ids,)))
            return 1
        wanted = self.named(ids, owners, lenient=lenient)
        self._remove(self.index.positions(wanted))
        return len(wanted)

    def named(self, ids: object, owners: object = (), *, lenient: bool = False) -> list[Id]:
        """The ids of the live rows that have these ids or owners, each once."""
        named = [id for id in some_ids(ids) if not lenient or id in self.index]
        rows_of, people = self.marks.owners, some_ids(owners, "owner")
        theirs = [rows_of.ids_of(each) for each in people if not lenient or each in rows_of]
        return list(dict.fromkeys([*named, *(id for rows in theirs for id in rows)]))

    def expire(self, now: object) -> int:
        """Rows that are too old or due at ``now`` leave, as one rebuild; return how many."""
        positions = self._overdue(now)
        self._remove(positions)
        return len(positions)

    def overdue(self, now: object) -> list[Id]:
        """The ids of the rows that ``expire`` would remove at ``now``; nothing changes."""
        return self.index.ids_at(self._overdue(now))

    def _overdue(self, now: object) -> NDArray[np.intp]:
        time = as_time(now)
        self.policy.refuse_time(type(time))
        if self.index.kind is not None:
            self.index.refuse_time(type(time))
        else:
            refuse_end_kind(type(time), None, self.marks.consents.kind)
        expired, due = self._plans.over(time)
        oldest = self.index.occupied()[:expired] if self.index.gaps else np.arange(expired)
        return np.union1d(oldest, self.index.positions(due)).astype(np.intp)

    def rebuild(self) -> None:
        """Make the state that of a model that has just learned the live rows, and no other row."""
        self.solver.keep(self.index.occupied())
        self.index.close_gaps()
        self._renew_weights()

    def wipe(self) -> None:
        """All rows leave."""
        self._drop(len(self.index))

    def _remove(self, positions: NDArray[np.intp]) -> None:
        """Rows leave from anywhere. Where many stay they stay where they are, with gaps between.

        Even if no row leaves, what was derived from earlier rows is discarded.
        """
        index, solver = self.index, self.solver
        if self.marks.some:
            self.marks.remove(index.ids_at(positions))
        kept = len(index) - positions.size
        if self.fading is not None or solver.gaps_from is None or kept < solver.gaps_from:
            solver.keep(np.setdiff1d(index.occupied(), positions, assume_unique=True))
            index.remove(positions)
            index.close_gaps()
            self._renew_weights()
            return
        solver.blank(positions, index.remove(positions))
        if index.gaps > kept:
            self._close_gaps()

    def _close_gaps(self) -> None:
        """Move the rows together; the state is made anew."""
        if self.index.gaps:
            self.solver.keep(self.index.occupied())
            self.index.close_gaps()

    def _drop(self, count: int) -> None:
        if count:
            self.solver.drop(self._drop_keys(count))

    def _drop_keys(self, count: int) -> int:
        """The oldest rows leave the index, and their marks; return how many positions."""
        if count and self.marks.some:
            self.marks.remove(self.index.oldest(count))
        return self.index.drop(count)

    def _leave(self, expired: int, due: list[Id]) -> None:
        """The oldest rows leave, and rows whose end has come."""
        self._drop(expired)
        left = [id for id in due if id in self.index]
        if left:
            self._remove(self.index.positions(left))

    def restore(self, rows: Arrivals, phase: int) -> None:
        """Take over the live rows of others; nothing may have been learned before."""
        if len(rows):
            self._plans.refuse_kind(kind_of(rows.times), kind_of(rows.untils))
        self._extend(rows.X, rows.y, rows.weights, rows.times)
        self._enter(rows)
        self.phase = phase

    def residues(self) -> list[str]:
        """The names of what does not follow from the live rows alone."""
        return [*self.solver.residues(), *self.marks.residues(self.index.ids)]

    # -- changes ---------------------------------------------------------------------------------

    def _extend(self, X: Matrix, y: Vector, weights: Vector, times: Times | None) -> None:
        """Learn many newest rows, which the index does not have yet."""
        if self.fading is None:
            self.solver.extend(X, y, weights)
        else:
            self.fading.extend(X, y, weights, times)

    def _enter(self, new: Arrivals) -> None:
        """Add rows that the solver has learned to the index and the marks."""
        self.index.extend(new.ids, None if new.times is None else new.times.tolist())
        if new.owners is not None or new.untils is not None:
            self.marks.add(new.ids, new.owners, None if new.untils is None else new.untils.tolist())

    def _rearrange(self, new: Arrivals, survivors: Survivors) -> None:
        """Live and new rows, those that survive, as one rebuild."""
        order, names = survivors.order, self.index.ids
        pairs = zip(self.values(), (new.X, new.y, new.weights), strict=True)
        X, y, weights = (np.concatenate(pair)[order] for pair in pairs)
        times = new.times
        if times is not None:
            times = np.concatenate([*([self.index.times] if names else []), times])[order]
        owners = [*self.marks.owners.of(names), *(new.owners or [None] * len(new))]
        coming = [NO_END] * len(new) if new.untils is None else new.untils.tolist()
        untils = [*self.marks.consents.of(names), *coming]
        self.wipe()
        self._extend(X, y, weights, times)
        self.index.extend(survivors.ids, None if times is None else times.tolist())
        self.marks.add(survivors.ids, [owners[k] for k in order], [untils[k] for k in order])
        self.phase = survivors.phase

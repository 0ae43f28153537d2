"""Plans for live rows: which of them leave, and when, as other rows come. Nothing changes here.

The clock is the latest time of a live row or of a row that arrives. A row leaves when the clock
reaches its end (``until``), or earlier if the policy says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from efface.inputs.ids import Id
from efface.inputs.times import Time
from efface.live.arrivals import Arrivals, Simulation, Survivors, survivors_by_time
from efface.live.index import RowIndex
from efface.live.marks import RowMarks, refuse_end_kind
from efface.live.policies import Policy, Schedule


class Outcome(NamedTuple):
    """Which rows leave and which enter when rows are learned, and the phase of the policy then."""

    left: list[Id]  # the ids of live rows that leave
    entered: NDArray[np.intp]  # which of the new rows are alive in the end, oldest first
    phase: int
    schedule: Schedule | None = None  # if they have one


@final
@dataclass(frozen=True, eq=False)
class Plans:
    """Plans for the rows of an index, with their marks, under a policy.

    >>> from efface.live.policies import KeepFor
    >>> index = RowIndex()
    >>> index.extend(["a", "b"], [1.0, 2.0])
    >>> Plans(index, RowMarks(), KeepFor(5.0)).over(6.5)
    (1, [])
    """

    index: RowIndex
    marks: RowMarks
    policy: Policy

    def refuse_kind(self, kind: type | None, end: type | None) -> None:
        """Raise unless rows may have times and ends of these kinds."""
        self.policy.refuse_time(kind)
        self.index.refuse_time(kind)
        if end is not None:
            refuse_end_kind(end, kind, self.marks.consents.kind)

    def over(self, now: Time | None) -> tuple[int, list[Id]]:
        """How many of the oldest rows are too old at ``now``, and the ids of rows that are due."""
        if now is None:
            return 0, []
        due = self.marks.consents.due(now) if self.marks.some else []
        return self.policy.expired(self.index.since, now), due

    def late(self, time: Time, until: Time | None, now: Time) -> bool:
        """Is a row too old or due on arrival?"""
        return bool(self.policy.expired((time,), now)) or (until is not None and until <= now)

    def clock(self, time: Time) -> Time:
        """The time when a row of this time comes."""
        newest = self.index.newest
        return time if newest is None or time > newest else newest

    def schedule(self, new: Arrivals, phase: int) -> Schedule | None:
        """The schedule of rows that come in order of time, each under an id of its own.

        None for other rows: their places or ids depend on which rows are alive when they come.
        """
        if not len(new):
            return Schedule(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), phase)
        times, newest = new.times, self.index.newest
        if times is not None and not (
            (times[1:] >= times[:-1]).all() and (newest is None or times[0] >= newest)
        ):
            return None
        if times is not None and self._ends_by(new, times[-1].item()):
            return None
        if times is not None and self.policy.needs_time and len(self.index):
            times = np.concatenate([self.index.times, times])
        plan = self.policy.schedule(len(self.index), len(new), phase, times)
        if new.numbered:  # numbered on, unless no live row is left to number on from
            return plan if (plan.alive(len(self.index))[:-1] > 0).all() else None
        fresh = len(set(new.ids)) == len(new) and self.index.disjoint(new.ids)
        return plan if fresh else None

    def _ends_by(self, new: Arrivals, now: Time) -> bool:
        """Is a live or an arriving row due at ``now``?"""
        earliest = self.marks.consents.earliest
        coming = new.untils is not None and bool(new.untils.min() <= now)
        return coming or (earliest is not None and earliest <= now)

    def simulate(self, new: Arrivals, phase: int) -> Survivors:
        """Which rows are alive at the end; refuses a repeated id."""
        consents = self.marks.consents
        ends = consents.of(self.index.ids) if consents and new.times is not None else []
        at_once = survivors_by_time(self.index, ends, self.policy, new)
        if at_once is not None:
            return at_once
        simulation = Simulation(self.index, ends, self.policy, phase)
        for row in range(len(new)):
            name = simulation.next_id() if new.numbered else new.ids[row]
            simulation.arrive(name, new.since[row], new.ends[row])
        return simulation.survivors

    def outcome(self, new: Arrivals, phase: int) -> Outcome:
        """Which rows leave and enter as these come, which have ids."""
        plan, n_rows = self.schedule(new, phase), len(self.index)
        if plan is not None:
            leaving = plan.leaving
            left = self.index.oldest(min(leaving, n_rows))
            return Outcome(left, np.arange(max(0, leaving - n_rows), len(new)), plan.phase, plan)
        survivors = self.simulate(new, phase)
        order = np.array(survivors.order, dtype=np.intp)
        gone = np.setdiff1d(np.arange(n_rows), order)
        left = [survivors.names[row] for row in gone.tolist()]
        return Outcome(left, order[order >= n_rows] - n_rows, survivors.phase)

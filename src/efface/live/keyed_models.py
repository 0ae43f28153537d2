"""The models of many keys: rows in shared columns, and regressions on them when they are asked for.

It is to many keys what ``LiveRows`` is to one. A change is planned first, and then applied: what is
refused, is refused before anything changed. The rows of a key that come in order of time are
planned and solved together with those of all other keys. A key that gets a late row, or has a row
whose end comes, goes through one ``LiveRows`` that all such keys share, one after the other.
Between calls that holds no row.
"""

from __future__ import annotations

from typing import Any, NamedTuple, final

import numpy as np

from efface.errors import EffaceError
from efface.inputs.ids import Id, some_ids
from efface.inputs.times import Times, as_time, kind_of, never
from efface.inputs.types import Ints, Matrix, Vector
from efface.live.arrivals import Arrivals
from efface.live.departures import plan_departures
from efface.live.hash_table import ABSENT
from efface.live.index import refuse_other_kind, unknown
from efface.live.keyed_arrivals import (
    GroupedArrivals,
    KeyedArrivals,
    RowMarksGiven,
    keyed_arrivals,
)
from efface.live.keyed_rows import KeyedChange, KeyedRows
from efface.live.live_rows import LiveRows
from efface.live.marks import refuse_end_kind, unknown_owner
from efface.live.names import NOBODY
from efface.live.policies import KeepFor
from efface.live.range_replay import KeyFits, RangeReplay, RowRanges, marked
from efface.live.replays import Intervals, replay_rows
from efface.live.row_table import RowTable, joined
from efface.live.trace import Asked, RowWindows, Trace
from efface.live.trace import joined as joined_traces


class Plan(NamedTuple):
    """Rows that were checked and simulated, and what follows when they come."""

    change: KeyedChange
    trace: Trace | None  # of a replay, in the order of arrival
    version: int  # of the rows that it was made for
    arrivals: Ints  # the number of each row that comes, as they lie in ``change``


class _Part(NamedTuple):
    """A plan for some of the keys."""

    grouped: GroupedArrivals
    order: Ints
    counts: Ints
    phases: Ints
    trace: Trace | None


class Wanted(NamedTuple):
    """What a replay returns, and on how many threads it runs."""

    asked: Asked
    intervals: Intervals | None = None
    workers: int = 1


@final
class KeyedModels:
    """Rows of many keys that are learned, expire and are forgotten, each key under one policy.

    ``live`` has the policy and the solver of all keys, and no rows.
    """

    def __init__(self, live: LiveRows) -> None:
        self._live = live
        self.policy = live.policy
        self.rows = KeyedRows(live.shape[0])
        self._version = 0

    # -- rows come -------------------------------------------------------------------------------

    def arrivals(
        self, keys: Any, batch: tuple[Matrix, Vector, Vector | None], given: RowMarksGiven
    ) -> KeyedArrivals:
        """Check the keys of rows, and what else belongs to them."""
        return keyed_arrivals(self.rows, self.policy, keys, batch, given)

    def plan(self, new: KeyedArrivals, wanted: Wanted | None = None) -> Plan:
        """What happens when rows come, each key as if one by one; nothing changes yet.

        With ``wanted`` every row is predicted before it is learned.
        """
        grouped = GroupedArrivals.of(self.rows, new)
        odd = grouped.irregular()
        parts = []
        if not odd.all() or not odd.size:
            parts.append(self._plan_regular(grouped.part(~odd), wanted))
        if odd.any():
            parts.append(self._plan_irregular(grouped.part(odd), wanted))
        arrivals = np.concatenate([part.grouped.order for part in parts])
        return Plan(_change(parts, new), _trace(parts, len(new)), self._version, arrivals)

    def apply(self, plan: Plan) -> None:
        """Let the rows of a plan come, and rows leave; the plan must be the latest."""
        if plan.version != self._version:
            raise EffaceError("'plan' is outdated: rows have come or left since it was made.")
        self._change(plan.change)

    def _change(self, change: KeyedChange) -> None:
        self._version += 1
        self.rows.apply(change)

    def _plan_regular(self, grouped: GroupedArrivals, wanted: Wanted | None) -> _Part:
        """Rows that come in order of time, of all keys at once."""
        bounds, alive, rows = grouped.bounds, grouped.alive, grouped.rows
        phases = self.rows.phases(grouped.slots)
        leaving = plan_departures(self.policy, bounds, alive, phases, rows.times)
        last = np.cumsum(np.diff(bounds) - alive) - 1  # the last arrival of each key
        first = leaving.after[last]
        gone = np.arange(len(rows)) < first[grouped.key_of_row]
        counts = bounds[1:] - first
        trace = None if wanted is None else self._replay(grouped, leaving.before, wanted)
        return _Part(grouped, np.flatnonzero(~gone), counts, leaving.phases, trace)

    def _replay(self, grouped: GroupedArrivals, before: Ints, wanted: Wanted) -> Trace:
        rows, at = grouped.rows, np.flatnonzero(grouped.came)
        ranges = RowRanges(rows.X, rows.y, rows.weights, before, at)
        replay = RangeReplay(self._live.solver, wanted.workers)
        asked, intervals, marks = wanted.asked, wanted.intervals, np.zeros(0, np.int64)
        if asked.diagnostics:
            marks = np.flatnonzero(np.isin(grouped.order, marked(len(at), self._live.solver.width)))
        if intervals is not None:
            asked = asked._replace(coef=asked.coef or intervals.needs_coef)
        trace = replay.replay(ranges, asked, marks.tolist())
        if intervals is None or trace.gauges is None:
            return trace
        fit = rows.X[at], trace.coef, trace.intercept
        windows = RowWindows(rows.X, rows.y, rows.weights, before, at, *fit)
        lower, upper = intervals.bounds(trace.prediction, trace.gauges, self._live, windows)
        coef = trace.coef if wanted.asked.coef else None
        return trace._replace(lower=lower, upper=upper, gauges=None, coef=coef)

    def _plan_irregular(self, grouped: GroupedArrivals, wanted: Wanted | None) -> _Part:
        """Rows that come late or become due, one key after the other."""
        orders, traces = [], []
        phases = self.rows.phases(grouped.slots)
        for g, first in enumerate(grouped.bounds[:-1].tolist()):
            order, phases[g], trace = self._plan_key(grouped, g, int(phases[g]), wanted)
            orders.append(first + order)
            if trace is not None:
                traces.append(trace)
        counts = np.array([order.size for order in orders], np.int64)
        trace = joined_traces(traces) if traces else None
        return _Part(grouped, np.concatenate(orders), counts, phases, trace)

    def _plan_key(
        self, grouped: GroupedArrivals, g: int, phase: int, wanted: Wanted | None
    ) -> tuple[Ints, int, Trace | None]:
        """The rows of one key that live in the end, as places among its rows."""
        live, alive = self._live, int(grouped.alive[g])
        rows = grouped.rows.take(slice(grouped.bounds[g], grouped.bounds[g + 1]))
        marks = list(range(len(rows))), rows.times, False, rows.weights, None, rows.untils
        whole = Arrivals(rows.X, rows.y, *marks)
        try:
            live.restore(whole.part(0, alive), phase)
            coming = whole.part(alive)
            trace = None
            if wanted is None:
                live.learn(coming)
            else:
                coef, diagnostics, _ = wanted.asked
                choice: Any = {"coef": coef, "diagnostics": diagnostics}
                trace = replay_rows(live, coming, **choice, intervals=wanted.intervals)
            return np.array(live.index.ids, np.int64), live.phase, trace
        finally:
            self._wipe()

    def _wipe(self) -> None:
        self._live.wipe()
        self._live.rebuild()
        self._live.phase = 0

    # -- rows leave ------------------------------------------------------------------------------

    def forget(self, ids: object, owners: object = (), *, lenient: bool = False) -> int:
        """Rows leave by id and by owner, whatever their keys; return how many."""
        return self._remove(self.named(some_ids(ids), some_ids(owners, "owner"), lenient=lenient))

    def named(self, ids: list[Id], owners: list[Id], *, lenient: bool = False) -> Ints:
        """The places of the rows with these ids or owners."""
        owned = [self._owned(owner, lenient) for owner in owners]
        return np.unique(np.concatenate([self._named(ids, lenient), *owned]))

    def _owned(self, owner: Id, lenient: bool) -> Ints:
        """The places of the rows of an owner."""
        found = self.rows.owned(int(self.rows.owners.find([owner])[0]))
        if not found.size and not lenient:
            raise unknown_owner(owner)
        return found

    def _named(self, ids: list[Id], lenient: bool) -> Ints:
        """The places of the rows that have these ids."""
        codes = self.rows.ids.find(ids)
        slots = self.rows.slots_of_ids(codes)
        absent = np.flatnonzero(slots == ABSENT)
        if absent.size and not lenient:
            raise unknown(ids[int(absent[0])])
        places = self.rows.places(np.unique(slots[slots != ABSENT]))
        return np.asarray(places[np.isin(self.rows.table.ids[places], codes)])

    def expire(self, now: object) -> int:
        """Rows that are too old or due at ``now`` leave, of all keys; return how many."""
        return self._remove(self.overdue(now))

    def overdue(self, now: object) -> Ints:
        """The places of the rows that are too old or due at ``now``."""
        time, rows = as_time(now), self.rows
        self.policy.refuse_time(type(time))
        if rows.kind is not None:
            refuse_other_kind(type(time), rows.kind)
        else:
            refuse_end_kind(type(time), None, rows.end_kind)
        places = rows.live()
        leave = np.zeros(places.size, np.bool_)
        if isinstance(self.policy, KeepFor) and rows.table.times is not None:
            limit = self.policy.limits(np.array([time]))[0]
            leave |= rows.table.times[places] <= limit
        if rows.table.untils is not None:
            leave |= rows.table.untils[places] <= time
        return np.asarray(places[leave])

    def _remove(self, places: Ints) -> int:
        """The rows at these places leave."""
        rows = self.rows
        slots = np.unique(rows.slots_of_ids(rows.table.ids[places]))
        mine = rows.places(slots)
        order = np.flatnonzero(~np.isin(mine, places))
        key = np.repeat(np.arange(slots.size), rows.counts(slots))
        counts = np.bincount(key[order], minlength=slots.size).astype(np.int64)
        came, table = np.zeros(mine.size, np.bool_), rows.table.take(mine)
        keys, phases = rows.codes(slots), rows.phases(slots)
        self._change(KeyedChange(keys, slots, table, came, order, counts, phases, {}, {}, {}))
        return places.size

    # -- regressions -----------------------------------------------------------------------------

    def fit(self, slots: Ints, workers: int) -> KeyFits:
        """The regressions of keys."""
        return RangeReplay(self._live.solver, workers).fit(self._ranges(slots))

    def intervals(
        self, slots: Ints, rows: Matrix, intervals: Intervals, workers: int
    ) -> tuple[Vector, Vector]:
        """Predictions of rows, each by the key of its slot, and half the widths of intervals."""
        ranges, replay = self._ranges(slots), RangeReplay(self._live.solver, workers)
        prediction, gauges = replay.gauge(ranges, rows, np.arange(len(rows)))
        windows = RowWindows(ranges.X, ranges.y, ranges.weights, ranges.lo, ranges.hi, rows)
        if intervals.needs_coef:
            fits = replay.fit(ranges)
            windows = windows._replace(coef=fits.coef, intercept=fits.intercept)
        return prediction, intervals.widths(gauges, self._live, windows)

    def rows_of(self, owner: Id) -> tuple[Ints, RowTable]:
        """The rows of an owner, key by key in the order of keys, and the code of the key of each.

        An owner without a live row is an error.
        """
        held, slots = self.rows, self.rows.slots()
        mine = np.zeros(len(held.table), np.bool_)
        mine[self._owned(owner, False)] = True
        every, keys = held.places(slots), np.repeat(held.codes(slots), held.counts(slots))
        chosen = mine[every]
        return keys[chosen], held.table.take(every[chosen])

    def rows_named(self, ids: list[Id]) -> tuple[Ints, RowTable]:
        """The rows with these ids, in their order, and the code of the key of each.

        An id without a live row is an error.
        """
        held, places, codes = self.rows, self._named(ids, False), self.rows.ids.find(ids)
        order = np.argsort(held.table.ids[places])
        found = places[order[np.searchsorted(held.table.ids[places], codes, sorter=order)]]
        return held.codes(held.slots_of_ids(codes)), held.table.take(found)

    def marks(self, rows: RowTable) -> tuple[list[Id | None] | None, Times | None]:
        """The owners and the ends of rows; None if none of them has one."""
        owners, untils = rows.owners, rows.untils
        if owners is not None and (owners == NOBODY).all():
            owners = None
        if untils is not None and (untils == never(kind_of(untils))).all():
            untils = None
        return None if owners is None else self.rows.owners.decode(owners), untils

    def _ranges(self, slots: Ints) -> RowRanges:
        """The rows of slots, which may repeat; a range without rows for ABSENT."""
        known, inverse = np.unique(slots, return_inverse=True)
        rows, counts = self.rows.table.take(self.rows.places(known)), self.rows.counts(known)
        hi = np.cumsum(counts)
        return RowRanges(rows.X, rows.y, rows.weights, (hi - counts)[inverse], hi[inverse])

    def residues(self) -> list[str]:
        """The names of what does not follow from the live rows alone."""
        return [*self.rows.residues(), *self._live.residues()]


def _change(parts: list[_Part], new: KeyedArrivals) -> KeyedChange:
    """The plans for some keys, as one change."""
    starts = np.cumsum([0, *(len(part.grouped.rows) for part in parts)])
    order = [part.order + start for part, start in zip(parts, starts, strict=False)]
    return KeyedChange(
        np.concatenate([part.grouped.keys for part in parts]),
        np.concatenate([part.grouped.slots for part in parts]),
        joined([part.grouped.rows for part in parts]),
        np.concatenate([part.grouped.came for part in parts]),
        np.concatenate(order),
        np.concatenate([part.counts for part in parts]),
        np.concatenate([part.phases for part in parts]),
        new.keys.new,
        new.new_ids,
        new.new_owners,
    )


def _trace(parts: list[_Part], count: int) -> Trace | None:
    """The traces of some keys as one, in the order of arrival."""
    traces = [part.trace for part in parts if part.trace is not None]
    if not traces:
        return None
    whole = joined_traces(traces)
    back = np.empty(count, np.int64)
    back[np.concatenate([part.grouped.order for part in parts])] = np.arange(count)
    return whole.take(back)

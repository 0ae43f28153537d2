"""The state of one key of a stream: its model and its tombstones, and what an event does to them.

No event stops a stream: what cannot be used changes nothing, and its status says so.

=============  =========================================================================
``learned``    predicted, then learned
``late``       the same, at its place in time: a later row was learned before
``outdated``   predicted; it is older than the window, or due, so it was not learned
``predicted``  predicted: the event has no response
``repeated``   the id is that of a live row; nothing changed
``refused``    the id or the owner was forgotten at or after the time of the row
``forgotten``  rows were forgotten; ``forgotten`` says how many
``unknown``    no live row has this id or owner; a row that comes later is refused
``expired``    rows left because their time was up
``malformed``  a value, the time, the id or the kind cannot be used; nothing changed
=============  =========================================================================
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from efface.batch.replay import replay
from efface.errors import InvalidValue
from efface.inputs.ids import Id
from efface.live import snapshot
from efface.live.policies import KeepFor
from efface.models.intervals import DEFAULT_METHOD, MethodName, as_limits
from efface.models.linear import from_snapshot
from efface.models.regression import Model
from efface.spark.tombstones import Tombstones

LEARN, PREDICT, FORGET = KINDS = ("learn", "predict", "forget")
_LATEST = 2**63 - 2  # nanoseconds: the year 2262
_CENTURY = 100 * 366 * 86_400 * 10**9


class Event(NamedTuple):
    """An event of a key; times are nanoseconds since 1970."""

    kind: str | None  # None: learn with a response, predict without one
    id: Id | None
    at: int | None
    x: tuple[float | None, ...] = ()
    y: float | None = None
    owner: Id | None = None
    until: int | None = None
    weight: float | None = None

    @property
    def task(self) -> str | None:
        """What is asked for."""
        if self.kind is None:
            return PREDICT if self.y is None else LEARN
        return self.kind if self.kind in KINDS else None

    @property
    def usable(self) -> bool:
        """Is everything there that its kind needs?"""
        if self.task is None or self.at is None or abs(self.at) > _LATEST:
            return False
        if self.task == FORGET:
            return self.id is not None or self.owner is not None
        known = all(value is not None and math.isfinite(value) for value in self.x)
        if self.task == PREDICT:
            return known
        return known and self.id is not None and self.y is not None and math.isfinite(self.y)


class EventResult(NamedTuple):
    """What an event did; the fields from ``id`` to ``kind`` are its own."""

    id: Id | None
    at: int | None
    kind: str | None
    status: str
    prediction: float | None
    lower: float | None
    upper: float | None
    n_rows: int  # live rows when the row was predicted; after a request, those that remain
    forgotten: int  # rows that left by this event


@dataclass(frozen=True)
class KeySettings:
    """What all keys of a stream share."""

    model: Any
    width: int
    interval: float | None = None
    method: MethodName = DEFAULT_METHOD
    lower: float | None = None  # limits of the response
    upper: float | None = None
    remember: int = 7 * 86_400 * 10**9  # nanoseconds for which tombstones are kept


class KeyState:
    """The live rows of one key, and its tombstones.

    >>> from efface import Ridge
    >>> state = KeyState(KeySettings(Ridge(window=5), width=1))
    >>> rows = [Event(None, "a", 1, (1.0,), 2.0), Event(None, "b", 2, (2.0,), 4.0)]
    >>> [result.status for result in state.apply([*rows, Event("forget", "a", 3)])]
    ['learned', 'learned', 'forgotten']
    >>> KeyState(state.settings, *state.encode()).model.ids_
    ['b']
    """

    def __init__(
        self, settings: KeySettings, rows: bytes | None = None, tombstones: bytes | None = None
    ) -> None:
        self.settings = settings
        self.tombstones = Tombstones() if tombstones is None else Tombstones.decode(tombstones)
        if rows is None:
            self.model: Model = settings.model.empty(settings.width)
        else:
            self.model = from_snapshot(snapshot.decode(rows, "state"))

    def encode(self) -> tuple[bytes | None, bytes | None]:
        """The rows, as ``save`` writes them, and the tombstones; None for none."""
        rows = snapshot.encode(self.model._snapshot()) if self.model.n_rows_ else None
        return rows, self.tombstones.encode() if len(self.tombstones) else None

    def try_out(self, event: Event) -> None:
        """Learn a row, and raise what the library refuses: parameters are checked so."""
        self._replay([event], "learned")

    # -- events ----------------------------------------------------------------------------------

    def apply(self, events: Iterable[Event]) -> Iterator[EventResult]:
        """Apply the events of a batch in the order of their times, whatever order they come in."""
        newest = self._newest
        run: dict[Id | None, Event] = {}
        for event in sorted(events, key=_order):
            if event.id in run or not self._follows(event, newest):
                yield from self._learn(list(run.values()))
                run = {}
            if self._follows(event, newest):
                run[event.id] = event
            else:
                yield self._apply_one(event)
        yield from self._learn(list(run.values()))

    def _follows(self, event: Event, newest: int | None) -> bool:
        """Is the event a new row that is learned behind all others?"""
        if not event.usable or event.task != LEARN or event.id in self.model:
            return False
        assert event.at is not None
        due = event.until is not None and event.until <= event.at
        late = newest is not None and event.at < newest
        return not due and not late and not self._is_refused(event)

    @property
    def _newest(self) -> int | None:
        """The time of the newest live row."""
        times = self.model.live_rows.index.times
        return None if times is None or not times.size else int(times[-1])

    def _is_refused(self, event: Event) -> bool:
        assert event.at is not None
        cover = self.tombstones.cover
        return cover("id", event.id, event.at) or cover("owner", event.owner, event.at)

    def _apply_one(self, event: Event) -> EventResult:
        """Apply an event that is no row in order."""
        if not event.usable:
            return self._result(event, "malformed")
        if event.task == FORGET:
            return self._forget(event)
        if event.task == PREDICT:
            return self._guarded(event, self._predict)
        if self._is_refused(event):
            return self._result(event, "refused")
        if event.id in self.model:
            return self._result(event, "repeated")
        return self._guarded(event, self._learn_late)

    def _guarded(self, event: Event, run: Callable[[Event], EventResult]) -> EventResult:
        """A value that the library refuses leaves everything as it was."""
        try:
            return run(event)
        except InvalidValue:
            return self._result(event, "malformed")

    def _learn(self, run: list[Event]) -> Iterator[EventResult]:
        """Learn rows in order; if one of them is refused, one by one."""
        if not run:
            return
        try:
            yield from self._replay(run, "learned")
        except InvalidValue:
            for event in run:
                yield self._guarded(event, lambda one: self._replay([one], "learned")[0])

    def _learn_late(self, event: Event) -> EventResult:
        found = self._replay([event], "late")[0]
        return found if event.id in self.model else found._replace(status="outdated")

    def _replay(self, run: list[Event], status: str) -> list[EventResult]:
        limits: Any = {"lower": self.settings.lower, "upper": self.settings.upper}
        told = replay(
            self.model,
            np.array([event.x for event in run], dtype=np.float64),
            np.array([event.y for event in run], dtype=np.float64),
            ids=[event.id for event in run],
            at=_times([event.at for event in run]),
            owners=_some([event.owner for event in run]),
            until=_times([_end_of(event) for event in run]),
            sample_weight=_weights([event.weight for event in run]),
            interval=self.settings.interval,
            method=self.settings.method,
            **limits,
        )
        nothing = [None] * len(run)
        columns = (
            told.prediction.tolist(),
            nothing if told.lower is None else told.lower.tolist(),
            nothing if told.upper is None else told.upper.tolist(),
            told.n_rows.tolist(),
        )
        rows = zip(run, *columns, strict=True)
        return [EventResult(*_own(event), status, p, a, b, n, 0) for event, p, a, b, n in rows]

    def _predict(self, event: Event) -> EventResult:
        rows, at = np.array([event.x], dtype=np.float64), event.at
        assert at is not None
        newest = self._newest
        if newest is None or at >= newest:
            self.model.expire(np.datetime64(at, "ns"))
        told = self.settings
        limits = told.lower, told.upper
        prediction = as_limits(*limits).bound(self.model.predict(rows))
        found = self._result(event, "predicted", prediction=float(prediction[0]))
        if told.interval is None:
            return found
        least, most = limits
        about = told.interval, told.method
        bounds = self.model.predict_interval(rows, *about, lower=least, upper=most)
        return found._replace(lower=float(bounds.lower[0]), upper=float(bounds.upper[0]))

    def _forget(self, event: Event) -> EventResult:
        assert event.at is not None
        ids = [] if event.id is None else [event.id]
        owners = [] if event.owner is None else [event.owner]
        for role, names in (("id", ids), ("owner", owners)):
            for name in names:
                self.tombstones.add(role, name, event.at)
        count = self.model.forget(ids, owners=owners, missing="ok")
        return self._result(event, "forgotten" if count else "unknown", forgotten=count)

    def _result(self, event: Event, status: str, **told: Any) -> EventResult:
        plain = EventResult(*_own(event), status, None, None, None, self.model.n_rows_, 0)
        return plain._replace(**told)

    # -- time ------------------------------------------------------------------------------------

    def expire(self, now: int) -> EventResult | None:
        """Rows whose time is up at ``now`` leave, and tombstones that are old; None if no row."""
        self.tombstones.drop(now - self.settings.remember)
        count = self.model.expire(np.datetime64(now, "ns")) if self.model.n_rows_ else 0
        if not count:
            return None
        return self._result(Event(None, None, now), "expired", forgotten=count)

    @property
    def due(self) -> int | None:
        """The next time at which a row or a tombstone leaves; None if none does by itself."""
        live, ends = self.model.live_rows, []
        times = live.index.times
        if isinstance(live.policy, KeepFor) and times is not None and times.size:
            ends.append(_end(live.policy, int(times[0])))
        if live.marks.consents.earliest is not None:
            ends.append(int(live.marks.consents.earliest))
        if self.tombstones.earliest is not None:
            ends.append(self.tombstones.earliest + self.settings.remember)
        return min(ends, default=None)


def _order(event: Event) -> tuple[Any, ...]:
    """By time; at one time rows come before requests. Names decide what is left."""
    at = -1 if event.at is None else event.at
    return at, event.task == FORGET, str(event.id), str(event.owner), repr(event)


def _own(event: Event) -> tuple[Id | None, int | None, str | None]:
    return event.id, event.at, event.task or event.kind


def _end(policy: KeepFor, time: int) -> int:
    """When a row of this time is too old."""
    if isinstance(policy.length, int):
        return time + policy.length
    later = range(time, time + _CENTURY)  # months differ in length
    return later[bisect_left(later, time, key=lambda now: int(policy.limits(np.array([now]))[0]))]


def _end_of(event: Event) -> int | None:
    """The end of a row; one that is later than all times is none."""
    return None if event.until is None or event.until > _LATEST else max(event.until, -_LATEST)


def _times(times: list[int | None]) -> Any:
    """Times for the library; None if no row has one."""
    if all(time is None for time in times):
        return None
    return np.array([np.datetime64("NaT") if time is None else time for time in times], "M8[ns]")


def _some(names: list[Any]) -> list[Any] | None:
    return None if all(name is None for name in names) else names


def _weights(weights: list[float | None]) -> Any:
    if all(weight is None for weight in weights):
        return None
    return np.array([1.0 if weight is None else weight for weight in weights])

"""Which rows must leave, and when: planned here, done elsewhere.

A policy reads how many rows are alive, or how old they are, and says how many of the oldest leave.
It holds no state: what it must remember between arrivals is an int, the phase, which it is handed
and hands back.

============================  ======================================================
``FIFD(rows)``                first in, first deleted: the newest ``rows`` rows stay
``KeepFor(duration)``         a row leaves once it is ``duration`` old
``AddDrop(add, drop, start)`` after every ``add`` arrivals the oldest ``drop`` leave
``KeepAll()``                 rows leave only on request
============================  ======================================================
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from datetime import timedelta
from typing import Any, ClassVar, NamedTuple

import numpy as np

from efface.errors import BadTime, InvalidValue, unusable
from efface.inputs.months import Months
from efface.inputs.parameters import whole
from efface.inputs.times import Time, Times, as_duration, kind_name, spell
from efface.inputs.types import Ints


class Schedule(NamedTuple):
    """How many of the oldest rows leave before and after each arrival, and the last phase."""

    before: Ints  # leave before arrival t is predicted
    after: Ints  # leave once arrival t is learned
    phase: int

    @property
    def leaving(self) -> int:
        """Rows that leave altogether."""
        if len(self.after) == 1:  # a sum of one number takes NumPy ten times as long
            return int(self.before[0]) + int(self.after[0])
        return int(np.add.reduce(self.before) + np.add.reduce(self.after))

    def alive(self, n_rows: int) -> Ints:
        """Rows after each arrival, with ``n_rows`` before the first."""
        gone = np.cumsum(self.before + self.after)
        return np.asarray(n_rows + np.arange(1, gone.size + 1) - gone)


class Policy(ABC):
    """Plans which rows leave."""

    needs_time: ClassVar[bool] = False
    shrinks: ClassVar[bool] = True  # False: rows never leave by themselves

    def expired(self, times: Iterable[Time], now: Time) -> int:
        """How many of the oldest rows are too old at ``now``."""
        return 0

    @abstractmethod
    def after(self, n_rows: int, phase: int) -> tuple[int, int]:
        """How many of the oldest of ``n_rows`` rows leave after an arrival, and the next phase."""

    @abstractmethod
    def schedule(self, n_rows: int, arrivals: int, phase: int, times: Times | None) -> Schedule:
        """The same for many arrivals in order; ``times`` are those of live and arriving rows."""

    def refuse_time(self, kind: type | None) -> None:
        """Raise unless rows may have times of this kind (None: no time)."""
        return


@dataclass(frozen=True)
class FIFD(Policy):
    """First in, first deleted: the newest ``rows`` rows stay.

    >>> FIFD(3).after(4, 0)
    (1, 0)
    """

    rows: int

    def __post_init__(self) -> None:
        _count(self, "rows", 1)

    def after(self, n_rows: int, phase: int) -> tuple[int, int]:
        return (n_rows - self.rows if n_rows > self.rows else 0), 0

    def schedule(self, n_rows: int, arrivals: int, phase: int, times: Times | None) -> Schedule:
        gone = np.maximum(n_rows + np.arange(1, arrivals + 1) - self.rows, 0)
        return Schedule(_none(arrivals), np.diff(gone, prepend=0), 0)


@dataclass(frozen=True)
class KeepFor(Policy):
    """A row leaves once it is ``duration`` old: it is kept while ``now - at < duration``.

    The clock is the newest time among the live rows, or that given to ``expire``. A text ("90d",
    "1h30m"), a timedelta or a numpy.timedelta64 is for calendar times; a number is in the unit of
    times that are numbers. Months and years ("3mo", "1y") end on the same day of a later month in
    UTC, at the same time of day. Where that month has no such day, they end with the month.

    >>> KeepFor(timedelta(days=90)), KeepFor("12mo")
    (KeepFor(duration='90d'), KeepFor(duration='1y'))
    >>> KeepFor(10).expired([1.0, 5.0, 5.5], now=15.0)
    2
    """

    duration: str | timedelta | np.timedelta64 | float
    length: Time | Months = field(init=False, repr=False, compare=False)

    needs_time: ClassVar[bool] = True

    def __post_init__(self) -> None:
        length = as_duration(self.duration)
        object.__setattr__(self, "length", length)
        text = length if isinstance(length, float) else spell(length)
        object.__setattr__(self, "duration", text)

    def expired(self, times: Iterable[Time], now: Time) -> int:
        limit, count = self._limit(now), 0
        for time in times:
            if time > limit:
                break
            count += 1
        return count

    def after(self, n_rows: int, phase: int) -> tuple[int, int]:
        return 0, 0

    def schedule(self, n_rows: int, arrivals: int, phase: int, times: Times | None) -> Schedule:
        assert times is not None
        gone = np.searchsorted(times, self.limits(times[n_rows:]), side="right")
        return Schedule(np.diff(gone, prepend=0), _none(arrivals), 0)

    def refuse_time(self, kind: type | None) -> None:
        if kind is None:
            raise BadTime(
                f"'at' is None: expected the time of the row, which {self!r} needs; pass at=."
            )
        expected = float if isinstance(self.length, float) else int
        if kind is not expected:
            got, need = kind_name(kind), kind_name(expected)
            advice = "use a duration like '90d' with datetimes, a number with numbers"
            raise BadTime(f"'at' is {got}: expected {need}, which {self!r} needs; {advice}.")

    def _limit(self, now: Time) -> Time:
        """The latest time that is too old at ``now``."""
        if isinstance(self.length, Months):
            return self.length.limit(int(now))
        return now - self.length

    def limits(self, now: Times) -> Times:
        """The latest time that is too old at each time."""
        if isinstance(self.length, Months):
            return self.length.limits(np.asarray(now, dtype=np.int64))
        if isinstance(self.length, int):  # the earliest times would wrap around
            earliest = np.iinfo(np.int64).min + self.length
            return np.asarray(np.maximum(now, earliest) - self.length, dtype=np.int64)
        return np.asarray(now - self.length, dtype=np.float64)


@dataclass(frozen=True)
class AddDrop(Policy):
    """After every ``add`` arrivals the oldest ``drop`` leave: the paper's (+k, -1) is (k, 1).

    The first ``start`` arrivals do not count. The phase is the number of arrivals, from ``start``
    on those since rows last left.

    >>> policy, phase = AddDrop(2), 0
    >>> for n_rows in 1, 2, 2:
    ...     leaving, phase = policy.after(n_rows, phase)
    ...     print(leaving, phase)
    0 1
    1 0
    0 1
    """

    add: int
    drop: int = 1
    start: int = 0

    def __post_init__(self) -> None:
        for name, least in (("add", 1), ("drop", 1), ("start", 0)):
            _count(self, name, least)
        if self.drop > self.add:
            expected, advice = f"at most add, which is {self.add}", "memory would never fill"
            raise InvalidValue(unusable("drop", self.drop, expected, advice))

    def after(self, n_rows: int, phase: int) -> tuple[int, int]:
        if phase + 1 < self.start + self.add:
            return 0, phase + 1
        return min(self.drop, n_rows), self.start

    def schedule(self, n_rows: int, arrivals: int, phase: int, times: Times | None) -> Schedule:
        count = phase + np.arange(1, arrivals + 1) - self.start
        steps = np.flatnonzero((count > 0) & (count % self.add == 0))
        after = _none(arrivals)
        after[steps] = self.drop
        if steps.size:  # later steps find at least the `add` rows that came since
            after[steps[0]] = min(self.drop, n_rows + int(steps[0]) + 1)
        last = phase + arrivals
        return Schedule(
            _none(arrivals),
            after,
            last if last < self.start else self.start + (last - self.start) % self.add,
        )


@dataclass(frozen=True)
class KeepAll(Policy):
    """Rows leave only on request."""

    shrinks: ClassVar[bool] = False

    def after(self, n_rows: int, phase: int) -> tuple[int, int]:
        return 0, 0

    def schedule(self, n_rows: int, arrivals: int, phase: int, times: Times | None) -> Schedule:
        return Schedule(_none(arrivals), _none(arrivals), 0)


def as_policy(window: object) -> Policy:
    """The policy that a ``window`` argument stands for.

    >>> as_policy(500), as_policy("90d"), as_policy(None)
    (FIFD(rows=500), KeepFor(duration='90d'), KeepAll())
    """
    if isinstance(window, Policy):
        return window
    if window is None:
        return KeepAll()
    if isinstance(window, str | timedelta | np.timedelta64):
        return KeepFor(window)
    if isinstance(window, int | np.integer) and not isinstance(window, bool):
        return FIFD(int(window))
    expected = "a number of rows, a duration such as '90d', a policy or None"
    raise InvalidValue(unusable("window", window, expected, "for a number as time use KeepFor"))


_POLICIES: dict[str, Any] = {kind.__name__: kind for kind in (FIFD, KeepFor, AddDrop, KeepAll)}


def to_plain(window: Any) -> Any:
    """A ``window`` argument as JSON knows it.

    >>> to_plain(AddDrop(3))
    {'AddDrop': {'add': 3, 'drop': 1, 'start': 0}}
    """
    if isinstance(window, Policy):
        name = type(window).__name__
        if _POLICIES.get(name) is not type(window):
            raise InvalidValue(
                unusable("window", window, "a policy of efface", "files hold no code")
            )
        kind: Any = type(window)
        names = [each.name for each in fields(kind) if each.init]
        return {name: {each: getattr(window, each) for each in names}}
    if isinstance(window, np.timedelta64):
        unit, count = np.datetime_data(window.dtype)
        return {"timedelta64": [int(window.astype(np.int64)) * count, unit]}
    if isinstance(window, timedelta):
        return {"timedelta": [window.days, window.seconds, window.microseconds]}
    return int(window) if isinstance(window, np.integer) else window


def from_plain(plain: Any) -> Any:
    """The ``window`` argument back.

    >>> from_plain(to_plain(timedelta(hours=1)))
    datetime.timedelta(seconds=3600)
    """
    if not isinstance(plain, dict):
        return plain
    ((name, value),) = plain.items()
    if name == "timedelta64":
        return np.timedelta64(*value)
    return timedelta(*value) if name == "timedelta" else _POLICIES[name](**value)


def _none(arrivals: int) -> Ints:
    return np.zeros(arrivals, dtype=np.int64)


def _count(policy: Policy, name: str, least: int) -> None:
    object.__setattr__(policy, name, whole(name, getattr(policy, name), least))

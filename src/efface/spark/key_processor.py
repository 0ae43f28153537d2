"""What Spark calls for each key and batch: it reads the state, applies the events, writes it back.

This module is imported where Spark is installed, by ``stream`` and on executors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor

from efface.spark.key_state import Event, EventResult, KeySettings, KeyState

STATE = "model"  # the name of the state variable: what ``statestore`` readers ask for
STATE_SCHEMA = "rows binary, tombstones binary, due bigint"
_MICRO, _MILLI = 1_000, 1_000_000  # nanoseconds


class KeyProcessor(StatefulProcessor):
    """One model per key, in a state variable of three columns."""

    def __init__(self, settings: KeySettings, timers: bool) -> None:
        self._settings, self._timers = settings, timers

    def init(self, handle: Any) -> None:
        """Declare the state."""
        self._handle = handle
        self._stored = handle.getValueState(STATE, STATE_SCHEMA)

    def handleInputRows(self, key: Any, rows: Iterable[Any], timerValues: Any) -> Iterator[Any]:  # noqa: N802
        """Apply the events of a key; one row per event."""
        events = [_event(row) for row in rows]
        if key[0] is None:  # no model: requests find nothing, rows belong nowhere
            yield from map(_keyless, events)
            return
        state, due = self._read()
        for result in state.apply(events):
            yield _row(key[0], result)
        if not self._timers:
            newest = max((event.at for event in events if event.at is not None), default=None)
            state.tombstones.drop((newest or 0) - self._settings.remember)
        self._write(state, due)

    def handleExpiredTimer(  # noqa: N802
        self,
        key: Any,
        timerValues: Any,
        expiredTimerInfo: Any,
    ) -> Iterator[Any]:
        """Let rows leave whose time is up."""
        state, _ = self._read()
        result = state.expire(timerValues.getCurrentProcessingTimeInMs() * _MILLI)
        self._write(state, None)
        if result is not None:
            yield _row(key[0], result)

    def close(self) -> None:
        """Nothing is open."""

    def _read(self) -> tuple[KeyState, int | None]:
        """The state of the key, and the time of its timer."""
        found = self._stored.get()
        if found is None:
            return KeyState(self._settings), None
        rows, tombstones, due = found
        return KeyState(self._settings, rows, tombstones), due

    def _write(self, state: KeyState, due: int | None) -> None:
        rows, tombstones = state.encode()
        nanoseconds = state.due if self._timers else None
        later = None if nanoseconds is None else -(-nanoseconds // _MILLI)
        if due != later:
            if due is not None:
                self._handle.deleteTimer(due)
            if later is not None:
                self._handle.registerTimer(later)
        if rows is None and tombstones is None:
            self._stored.clear()
        else:
            self._stored.update((rows, tombstones, later))


def _event(row: Any) -> Event:
    at = None if row.at is None else row.at * _MICRO
    until = None if row.until is None else row.until * _MICRO
    return Event(row.kind, row.id, at, tuple(row.x), row.y, row.owner, until, row.weight)


def _keyless(event: Event) -> Any:
    status = "unknown" if event.usable and event.task == "forget" else "malformed"
    own = event.id, event.at, event.task or event.kind
    return _row(None, EventResult(*own, status, None, None, None, 0, 0))


def _row(key: Any, result: EventResult) -> Any:
    at = None if result.at is None else result.at // _MICRO
    return Row(key=key, **result._replace(at=at)._asdict())

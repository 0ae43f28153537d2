"""What is read and written for a key: one state, and at most one timer."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

pytest.importorskip("pyspark")

from efface import KeepFor, Ridge
from efface.spark.key_processor import KeyProcessor
from efface.spark.key_state import KeySettings

SECOND = 1_000_000  # microseconds


class Handle:
    """The state and the timers of one key, in memory."""

    def __init__(self):
        self.value, self.timers = None, set()

    def getValueState(self, name, schema):  # noqa: N802
        return self

    def get(self):
        return self.value

    def update(self, value):
        self.value = value

    def clear(self):
        self.value = None

    def registerTimer(self, at):  # noqa: N802
        self.timers.add(at)

    def deleteTimer(self, at):  # noqa: N802
        self.timers.remove(at)


class Clock:
    """The time of a batch."""

    def __init__(self, milliseconds):
        self._now = milliseconds

    def getCurrentProcessingTimeInMs(self):  # noqa: N802
        return self._now


def started(model, timers=True):
    handle, processor = Handle(), KeyProcessor(KeySettings(model, width=1), timers)
    processor.init(handle)
    return handle, processor


def row(name, seconds, kind=None, **more):
    empty = {"owner": None, "until": None, "weight": None, "x": [1.0], "y": 2.0}
    return SimpleNamespace(kind=kind, id=name, at=seconds * SECOND, **{**empty, **more})


def handled(processor, *rows, key="a"):
    return [found.status for found in processor.handleInputRows((key,), iter(rows), Clock(0))]


def fire(handle, processor, milliseconds):
    handle.timers = {at for at in handle.timers if at > milliseconds}
    return [f.forgotten for f in processor.handleExpiredTimer(("a",), Clock(milliseconds), None)]


def test_a_key_has_one_timer_that_follows_its_oldest_row():
    handle, processor = started(Ridge(window=KeepFor("10s")))
    assert handled(processor, row("r1", 1), row("r2", 5)) == ["learned"] * 2
    assert handle.timers == {11_000}
    assert handled(processor, row("r3", 12)) == ["learned"]
    assert handle.timers == {15_000}
    assert fire(handle, processor, 15_000) == [1]
    assert handle.timers == {22_000}
    assert fire(handle, processor, 22_000) == [1]
    assert (handle.timers, handle.value) == (set(), None)


def test_without_timers_there_are_none():
    handle, processor = started(Ridge(window=KeepFor("10s")), timers=False)
    handled(processor, row("r1", 1))
    assert handle.timers == set()
    assert handle.value[2] is None


def test_tombstones_have_a_timer_too():
    handle, processor = started(Ridge(window=5))
    assert handled(processor, row("r1", 1), row("r1", 2, kind="forget")) == ["learned", "forgotten"]
    (due,) = handle.timers
    assert due == 2_000 + 7 * 86_400_000
    assert fire(handle, processor, due) == []
    assert (handle.timers, handle.value) == (set(), None)


def test_without_timers_tombstones_leave_with_a_later_event():
    handle, processor = started(Ridge(window=5), timers=False)
    handled(processor, row("r1", 1, kind="forget"))
    assert handle.value[1] is not None
    handled(processor, row("r2", 8 * 86_400))
    assert handle.value[1] is None


def test_events_without_a_key_are_answered_and_kept_nowhere():
    handle, processor = started(Ridge(window=5))
    rows = row("r1", 1), row("r1", 2, kind="forget"), row(None, 3, kind="forget")
    assert handled(processor, *rows, key=None) == ["malformed", "unknown", "malformed"]
    assert handle.value is None
    processor.close()

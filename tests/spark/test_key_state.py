"""The state of a key: every event as the table says, equal to a list of rows that is refitted."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from twins.keyed_events import DAY, ListedRows

from efface import AddDrop, AutoRidge, KeepFor, Ridge
from efface.spark.key_state import Event, KeySettings, KeyState

SETTINGS = KeySettings(Ridge(window=4, alpha=0.5), width=1)


def row(name, at, x=1.0, y=2.0, **more):
    return Event(None, name, at, (x,), y, **more)


def statuses(state, *events):
    return [result.status for result in state.apply(events)]


def stored(state):
    return KeyState(state.settings, *state.encode())


def test_a_batch_is_applied_in_the_order_of_times():
    events = [Event("forget", "a", 5), row("b", 2), row("a", 1), Event(None, None, 3, (1.0,))]
    state = KeyState(SETTINGS)
    results = list(state.apply(events))
    assert [(found.at, found.status) for found in results] == [
        (1, "learned"),
        (2, "learned"),
        (3, "predicted"),
        (5, "forgotten"),
    ]
    assert state.model.ids_ == ["b"]


BAD = {
    "no time": Event(None, "a", None, (1.0,), 2.0),
    "no id": Event(None, None, 1, (1.0,), 2.0),
    "a missing value": Event(None, "a", 1, (None,), 2.0),
    "NaN": Event(None, "a", 1, (math.nan,), 2.0),
    "infinity": Event(None, "a", 1, (1.0,), math.inf),
    "no response": Event("learn", "a", 1, (1.0,), None),
    "an unknown kind": Event("erase", "a", 1, (1.0,), 2.0),
    "nothing to forget": Event("forget", None, 1),
    "nothing to predict": Event("predict", "a", 1, (None,)),
    "a negative weight": Event(None, "a", 1, (1.0,), 2.0, weight=-1.0),
    "a time out of range": Event(None, "a", 2**70, (1.0,), 2.0),
}


@pytest.mark.parametrize("event", BAD.values(), ids=BAD)
def test_a_malformed_event_changes_nothing(event):
    state = KeyState(SETTINGS)
    assert statuses(state, row("z", 0)) == ["learned"]
    before = state.encode()
    assert statuses(state, event) == ["malformed"]
    assert state.encode() == before


def test_a_malformed_row_takes_none_of_its_batch_with_it():
    state = KeyState(SETTINGS)
    events = row("a", 1), row("b", 2, weight=-1.0), row("c", 3)
    assert statuses(state, *events) == ["learned", "malformed", "learned"]
    assert state.model.ids_ == ["a", "c"]


def test_late_outdated_and_repeated_rows():
    state = KeyState(SETTINGS)
    assert statuses(state, *(row(f"r{t}", t) for t in (10, 20, 30, 40))) == ["learned"] * 4
    state = stored(state)
    assert statuses(state, row("late", 25)) == ["late"]
    assert state.model.ids_ == ["r20", "late", "r30", "r40"]
    assert statuses(state, row("old", 5)) == ["outdated"]
    assert statuses(state, row("r30", 50), row("new", 60), row("new", 60)) == [
        "repeated",
        "learned",
        "repeated",
    ]
    assert state.model.ids_ == ["late", "r30", "r40", "new"]


def test_a_forgotten_row_does_not_come_back():
    state = KeyState(SETTINGS)
    assert statuses(state, row("a", 1, owner="ann"), Event("forget", None, 9, owner="ann")) == [
        "learned",
        "forgotten",
    ]
    state = stored(state)
    assert statuses(state, row("a", 1, owner="ann"), row("b", 8, owner="ann")) == ["refused"] * 2
    assert statuses(state, Event("forget", "c", 9)) == ["unknown"]
    assert statuses(state, row("c", 2)) == ["refused"]
    assert statuses(state, row("a", 10, owner="ann"), row("c", 10)) == ["learned", "learned"]


def test_tombstones_are_dropped_in_time():
    state = KeyState(SETTINGS)
    list(state.apply([Event("forget", "a", 1)]))
    assert state.due == 1 + SETTINGS.remember
    assert state.expire(state.due) is None
    assert state.encode() == (None, None)


@pytest.mark.parametrize("model", [Ridge(window=4), AutoRidge(window=4), Ridge(window=AddDrop(2))])
def test_after_a_forget_the_state_is_that_of_a_key_that_never_saw_the_row(model):
    chosen = KeySettings(model, width=1, remember=0)
    events = [row(f"r{t}", t, math.sin(t), math.cos(t), owner=f"o{t % 2}") for t in range(4)]
    state, never = KeyState(chosen), KeyState(chosen)
    list(state.apply([*events, Event("forget", "r2", 9)]))
    state.tombstones.drop(9)
    list(never.apply(event for event in events if event.id != "r2"))
    if not isinstance(model.window, AddDrop):  # its phase counts arrivals
        assert state.encode() == never.encode()
    assert b"r2" not in state.encode()[0]
    assert np.float64(math.sin(2)).tobytes() not in state.encode()[0]


def test_rows_leave_when_their_time_is_up():
    state = KeyState(KeySettings(Ridge(window=KeepFor("2d")), width=1))
    list(state.apply([row("a", 0), row("b", DAY, until=DAY + 5)]))
    assert state.due == DAY + 5
    found = state.expire(DAY + 5)
    assert (found.status, found.forgotten, found.n_rows) == ("expired", 1, 1)
    assert state.due == 2 * DAY
    assert state.expire(2 * DAY).n_rows == 0
    assert state.due is None
    assert state.encode() == (None, None)


def test_an_end_beyond_all_times_is_none():
    state = KeyState(SETTINGS)
    assert statuses(state, row("a", 1, until=2**70), row("b", 2, until=7)) == ["learned"] * 2
    assert state.due == 7
    assert statuses(state, row("c", 8, until=-(2**70))) == ["outdated"]


def test_rows_that_a_half_life_lets_leave_have_a_timer():
    state = KeyState(KeySettings(Ridge(halflife="1d"), width=1))
    list(state.apply([row("a", 0)]))
    assert state.due == 53 * DAY
    assert state.expire(53 * DAY).forgotten == 1


def test_a_month_ends_on_its_day():
    state = KeyState(KeySettings(Ridge(window=KeepFor("1mo")), width=1))
    list(state.apply([row("a", 30 * DAY)]))  # the 31st of January 1970
    assert state.due == 59 * DAY  # the 1st of March
    assert state.expire(59 * DAY - 1) is None
    assert state.expire(59 * DAY).forgotten == 1


def test_a_prediction_sees_the_rows_of_its_time():
    state = KeyState(KeySettings(Ridge(window=KeepFor("2d")), 1, interval=0.9))
    events = [row(f"r{t}", t, float(t), 2.0 * t) for t in range(9)]
    *_, found = state.apply([*events, Event(None, None, DAY, (1.0,))])
    assert found.lower < found.prediction < found.upper
    *_, found = state.apply([Event(None, None, 3 * DAY, (1.0,))])
    assert (found.prediction, found.n_rows) == (0.0, 0)


names, times = st.sampled_from("abcdef"), st.integers(0, 30)
values = st.integers(-3, 3).map(float)
people = st.sampled_from("uv")
rows = st.tuples(names, times, values, values, people).map(
    lambda drawn: row(drawn[0], drawn[1], drawn[2], drawn[3], owner=drawn[4])
)
asked = st.tuples(times, values).map(lambda drawn: Event("predict", None, drawn[0], (drawn[1],)))
by_id = st.tuples(names, times).map(lambda drawn: Event("forget", *drawn))
by_owner = st.tuples(times, people).map(
    lambda drawn: Event("forget", None, drawn[0], owner=drawn[1])
)
batches = st.lists(st.lists(st.one_of(rows, rows, asked, by_id, by_owner), max_size=8), max_size=5)


@given(batches)
@settings(deadline=None, max_examples=40)
def test_events_do_what_they_do_to_a_list_of_rows(batches):
    state, twin = KeyState(SETTINGS), ListedRows(window=4, alpha=0.5)
    for events in batches:
        found = list(state.apply(events))
        for result, (status, prediction, forgotten) in zip(found, twin.apply(events), strict=True):
            assert {"late": "learned"}.get(result.status, result.status) == status
            assert result.forgotten == forgotten
            if prediction is not None:
                assert result.prediction == pytest.approx(prediction, rel=1e-9, abs=1e-9)
        assert state.model.ids_ == [row.id for row in twin.rows]
        state = stored(state)


def test_parameters_are_refused_before_a_stream_begins():
    with pytest.raises(ValueError, match="interval"):
        KeyState(KeySettings(Ridge(), 1, interval=2.0)).try_out(row("a", 1))

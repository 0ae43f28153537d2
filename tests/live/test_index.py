"""Ids and times of the live rows: numbering, order, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from efface.errors import BadTime, UnknownId
from efface.live.index import RowIndex


def index_of(ids, times=None):
    index = RowIndex()
    index.extend(ids, times)
    return index


def test_the_next_id_follows_the_largest_live_int():
    index = RowIndex()
    assert index.next_id() == 0
    for id in ("ann", 41, 7, -3):
        index.append(id, None)
    assert index.next_id() == 42
    index.remove(index.positions([41]))
    assert index.next_id() == 8
    index.drop(2)
    assert index.ids == [-3]
    assert index.next_id() == 0


def test_numbering_does_not_depend_on_rows_that_have_left():
    index = index_of(range(5))
    index.drop(5)
    assert index.next_id() == 0
    assert index.ids == []


def test_consecutive_ids_may_start_anywhere_and_be_followed_by_names():
    index = index_of(range(100, 103))
    assert not index.named
    index.append("ann", None)
    assert index.named
    assert index.ids == [100, 101, 102, "ann"]
    assert 101 in index
    assert "ann" in index
    assert 103 not in index
    assert index.next_id() == 103


def test_positions_are_in_order_of_age():
    assert index_of(["c", "a", "b"]).positions(["b", "c"]).tolist() == [0, 2]
    assert index_of(range(5, 9)).positions([8, 6]).tolist() == [1, 3]


@pytest.mark.parametrize("ids", [range(3), ["a", "b"]])
def test_an_unknown_id_is_named(ids):
    with pytest.raises(UnknownId, match="'id' is 'zoe': no live row has it; 'ids_' lists those"):
        index_of(ids).positions(["zoe"])


def test_a_number_and_its_text_are_two_ids():
    index = index_of([1, "1"])
    assert index.positions(["1"]).tolist() == [1]


def test_rows_lie_in_order_of_time_and_ties_in_order_of_arrival():
    index = RowIndex()
    for id, time in (("a", 5.0), ("b", 1.0), ("c", 5.0), ("d", 3.0), ("e", 1.0)):
        position = index.place(time)
        if position == len(index):
            index.append(id, time)
        else:
            index.insert(position, id, time)
    assert index.ids == ["b", "e", "d", "a", "c"]
    assert index.times.tolist() == [1.0, 1.0, 3.0, 5.0, 5.0]
    assert index.times_at(np.array([1, 2])).tolist() == [1.0, 3.0]
    index.drop(2)
    assert index.ids == ["d", "a", "c"]
    assert index.newest == 5.0
    index.remove(np.array([1]))
    assert index.times.tolist() == [3.0, 5.0]
    assert index.times_at(index.occupied()).tolist() == [3.0, 5.0]


def test_times_are_calendar_times_or_numbers():
    assert index_of([0], [3]).times.dtype == np.int64
    assert index_of([0], [3.0]).times.dtype == np.float64
    assert index_of([0]).times is None


@pytest.mark.parametrize(
    ("had", "got", "text"),
    [
        ([1.0], int, "'at' is calendar times: expected numbers, as for the live rows"),
        ([1], float, "'at' is numbers: expected calendar times, as for the live rows"),
        ([1], None, "'at' is None: expected calendar times"),
        (None, float, "'at' is numbers: expected None"),
    ],
)
def test_kinds_of_times_do_not_mix(had, got, text):
    with pytest.raises(BadTime, match=text):
        index_of(["a"], had).refuse_time(got)


def test_any_kind_of_time_is_accepted_once_no_row_is_left():
    index = index_of(["a"], [1.0])
    index.drop(1)
    index.refuse_time(None)
    index.refuse_time(int)


@settings(deadline=None)
@given(
    st.lists(st.one_of(st.none(), st.integers(-3, 12), st.sampled_from("abc")), max_size=30),
    st.data(),
)
def test_random_events_equal_a_plain_list(names, data):
    index, rows, places = RowIndex(), [], []
    for name in names:
        id = max([i for i in rows if isinstance(i, int)] + [-1]) + 1 if name is None else name
        assert index.next_id() == max([i for i in rows if isinstance(i, int)] + [-1]) + 1
        assert (id in index) == (id in rows)
        if id not in rows:
            index.append(id, None)
            rows.append(id)
        places.extend(rows[len([row for row in places if row is not None]) :])
        match data.draw(st.sampled_from(["nothing", "drop", "remove", "close"])):
            case "drop":
                count = data.draw(st.integers(0, len(rows)))
                reach = index.drop(count)
                del rows[:count], places[:reach]
            case "remove" if rows:
                gone = data.draw(st.sets(st.sampled_from(rows)))
                front, back = index.remove(index.positions(gone))
                rows = [row for row in rows if row not in gone]
                places = [row if row in rows else None for row in places]
                places = places[front : len(places) - back]
            case "close":
                index.close_gaps()
                places = list(rows)
        assert index.ids == rows
        assert len(index) == len(rows)
        assert index.places == len(places)
        assert index.gaps == places.count(None)
        assert index.gaps or index._live is None
        assert not places or (places[0] is not None and places[-1] is not None)
        assert index.occupied().tolist() == [at for at, row in enumerate(places) if row is not None]
        assert index.ids_at(index.occupied()) == rows
        for count in range(len(rows)):
            assert index.reach(count) == places.index(rows[count])
            assert index.oldest(count) == rows[:count]


@pytest.mark.parametrize("renumbered_at", [3, 256])
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 3)), min_size=20, max_size=120))
@settings(deadline=None, max_examples=60)
def test_positions_stay_right_while_rows_are_put_in_before_others(renumbered_at, events):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("efface.live.index._LATE", renumbered_at)
        index, rows = RowIndex(), []  # rows: (time, id) in order, None for a gap
        for number, (time, leaving) in enumerate(events):
            place = index.place(time)
            if place == index.places:
                index.append(f"r{number}", time)
            else:
                index.insert(place, f"r{number}", time)
            rows.insert(place, f"r{number}")
            if leaving == 1 and len(index) > 2:
                rows = rows[index.drop(1) :]
            elif leaving == 2 and len(index) > 2:
                middle = [at for at, id in enumerate(rows) if id is not None][len(index) // 2]
                old, new = index.remove(np.array([middle]))
                rows[middle] = None
                rows = rows[old : len(rows) - new]
            for at, id in enumerate(rows):
                assert id is None or index.positions([id]).tolist() == [at]
        assert index.ids == [id for id in rows if id is not None]


def test_ids_that_no_live_row_has_are_disjoint():
    for ids in (range(5), ["a", 7]):
        index = RowIndex()
        for id in ids:
            index.append(id, None)
        known = list(ids)
        assert index.disjoint([])
        assert index.disjoint(["z", 99, -1])
        assert not index.disjoint([known[0], "z"])
        assert not index.disjoint([99, known[-1]])

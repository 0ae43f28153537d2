"""Ids and times of the live rows: numbering, order, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from efface.errors import BadTime, InvalidValue, UnknownId
from efface.live.index import Ledger, as_id, as_ids, some_ids


def ledger_of(ids, times=None):
    ledger = Ledger()
    ledger.extend(ids, times)
    return ledger


@pytest.mark.parametrize(
    ("id", "plain"), [(7, 7), (np.uint8(7), 7), ("ann", "ann"), (np.str_("ann"), "ann"), (-1, -1)]
)
def test_ids_are_ints_and_texts(id, plain):
    assert as_id(id) == plain
    assert type(as_id(id)) is type(plain)


@pytest.mark.parametrize("id", [True, np.True_, 1.0, None, b"ann", (1,), math.nan])
def test_other_ids_are_refused(id):
    with pytest.raises(InvalidValue, match=r"'id' is .*: expected an int or a str"):
        as_id(id)


@pytest.mark.parametrize(
    "ids", [[1, 2], np.array([1, 2]), pd.Series([1, 2]), range(1, 3), iter([1, 2])]
)
def test_ids_of_many_rows(ids):
    found = as_ids(ids, 2)
    assert found == [1, 2]
    assert all(type(id) is int for id in found)


def test_ids_of_many_rows_in_a_text_array():
    assert as_ids(np.array(["a", "b"]), 2) == ["a", "b"]


@pytest.mark.parametrize("ids", ["ab", 3, None])
def test_a_single_id_is_not_one_a_row(ids):
    with pytest.raises(InvalidValue, match=r"'ids' is .*: expected 2 ids"):
        as_ids(ids, 2)


def test_too_few_ids():
    with pytest.raises(InvalidValue, match="'ids' is '1 long': expected 2 ids"):
        as_ids([1], 2)


def test_some_ids_takes_one_or_many_each_once():
    assert some_ids("ann") == ["ann"]
    assert some_ids(np.int64(3)) == [3]
    assert some_ids([3, "ann", 3]) == [3, "ann"]
    assert some_ids(np.array([], dtype=int)) == []
    with pytest.raises(InvalidValue, match="'id' is None"):
        some_ids(None)


def test_rows_are_numbered_on_from_the_largest_live_int():
    ledger = Ledger()
    assert ledger.next_id() == 0
    for id in ("ann", 41, 7, -3):
        ledger.append(id, None)
    assert ledger.next_id() == 42
    ledger.remove(ledger.positions([41]).tolist())
    assert ledger.next_id() == 8
    ledger.drop(2)
    assert ledger.ids == [-3]
    assert ledger.next_id() == 0


def test_numbering_remembers_nothing_of_rows_that_left():
    ledger = ledger_of(range(5))
    ledger.drop(5)
    assert ledger.next_id() == 0
    assert ledger.ids == []


def test_a_run_of_numbers_may_start_anywhere_and_be_named_later():
    ledger = ledger_of(range(100, 103))
    assert not ledger.named
    ledger.append("ann", None)
    assert ledger.named
    assert ledger.ids == [100, 101, 102, "ann"]
    assert 101 in ledger
    assert "ann" in ledger
    assert 103 not in ledger
    assert ledger.next_id() == 103


def test_positions_are_in_order_of_age():
    assert ledger_of(["c", "a", "b"]).positions(["b", "c"]).tolist() == [0, 2]
    assert ledger_of(range(5, 9)).positions([8, 6]).tolist() == [1, 3]


@pytest.mark.parametrize("ids", [range(3), ["a", "b"]])
def test_an_unknown_id_is_named(ids):
    with pytest.raises(UnknownId, match="'id' is 'zoe': no live row has it; 'ids_' lists those"):
        ledger_of(ids).positions(["zoe"])


def test_a_number_and_its_text_are_two_ids():
    ledger = ledger_of([1, "1"])
    assert ledger.positions(["1"]).tolist() == [1]


def test_rows_lie_in_order_of_time_and_ties_in_order_of_arrival():
    ledger = Ledger()
    for id, time in (("a", 5.0), ("b", 1.0), ("c", 5.0), ("d", 3.0), ("e", 1.0)):
        position = ledger.place(time)
        if position == len(ledger):
            ledger.append(id, time)
        else:
            ledger.insert(position, id, time)
    assert ledger.ids == ["b", "e", "d", "a", "c"]
    assert ledger.times.tolist() == [1.0, 1.0, 3.0, 5.0, 5.0]
    ledger.drop(2)
    assert ledger.ids == ["d", "a", "c"]
    assert ledger.newest == 5.0


def test_times_of_the_two_kinds():
    assert ledger_of([0], [3]).times.dtype == np.int64
    assert ledger_of([0], [3.0]).times.dtype == np.float64
    assert ledger_of([0]).times is None


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
        ledger_of(["a"], had).refuse_time(got)


def test_the_kind_is_free_again_once_no_row_is_left():
    ledger = ledger_of(["a"], [1.0])
    ledger.drop(1)
    ledger.refuse_time(None)
    ledger.refuse_time(int)


@given(
    st.lists(st.one_of(st.none(), st.integers(-3, 12), st.sampled_from("abc")), max_size=30),
    st.data(),
)
def test_against_a_plain_list(names, data):
    ledger, rows = Ledger(), []
    for name in names:
        id = max([i for i in rows if isinstance(i, int)] + [-1]) + 1 if name is None else name
        assert ledger.next_id() == max([i for i in rows if isinstance(i, int)] + [-1]) + 1
        assert (id in ledger) == (id in rows)
        if id not in rows:
            ledger.append(id, None)
            rows.append(id)
        match data.draw(st.sampled_from(["nothing", "drop", "remove"])):
            case "drop":
                count = data.draw(st.integers(0, len(rows)))
                ledger.drop(count)
                del rows[:count]
            case "remove" if rows:
                gone = data.draw(st.sets(st.sampled_from(range(len(rows)))))
                ledger.remove(gone)
                rows = [row for at, row in enumerate(rows) if at not in gone]
        assert ledger.ids == rows
        assert len(ledger) == len(rows)

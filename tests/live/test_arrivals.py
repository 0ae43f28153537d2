"""Rows that are about to be learned, and the simulation of their arrival."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from efface.errors import RepeatedId
from efface.live.arrivals import Arrivals, Simulation, survivors_by_time
from efface.live.index import RowIndex
from efface.live.policies import FIFD, KeepAll, KeepFor


def arrivals(times=None, untils=None, owners=None, numbered=False, count=4):
    X, ids = np.arange(2.0 * count).reshape(count, 2), list(range(10, 10 + count))
    times = None if times is None else np.array(times, dtype=float)
    untils = None if untils is None else np.array(untils, dtype=float)
    return Arrivals(X, X[:, 0], ids, times, numbered, np.ones(count), owners, untils)


def test_a_part_has_the_rows_between_two_places():
    new = arrivals([1, 2, 3, 4], [5, 6, 7, 8], ["a", "b", None, "c"])
    part = new.part(1, 3)
    assert len(part) == 2
    assert (part.ids, part.owners) == ([11, 12], ["b", None])
    assert (part.since, part.ends) == ([2.0, 3.0], [6.0, 7.0])
    assert (new.X[1:3] == part.X).all()
    assert new.part(3).ids == [13]


def test_rows_without_times_are_never_due_as_they_come():
    assert arrivals(untils=[1, 2, 3, 4]).ends == [np.inf] * 4


@pytest.mark.parametrize(
    ("times", "untils", "newest", "earliest", "end"),
    [
        (None, None, None, None, 4),
        ([1, 2, 2, 5], None, None, None, 4),
        ([1, 2, 1, 5], None, None, None, 2),
        ([1, 2, 3, 5], None, 1.5, None, 0),
        ([1, 2, 3, 5], None, 1.0, 3.0, 2),
        ([1, 2, 3, 5], [9, 3, 9, 9], None, None, 2),
        ([1, 2, 3, 5], [9, 2, 9, 9], None, None, 1),
        ([1, 2, 3, 5], [9, 9, 4, 9], None, 9.0, 3),
    ],
)
def test_a_run_ends_at_a_late_row_and_where_a_row_is_due(times, untils, newest, earliest, end):
    index = RowIndex()
    if newest is not None:
        index.append("first", newest)
    assert arrivals(times, untils).run_end(0, index, earliest) == end


def test_a_run_ends_before_an_id_that_a_row_has():
    index, new = RowIndex(), arrivals()
    index.append(12, None)
    assert new.run_end(0, index, None) == 2
    assert replace(new, ids=["a", "b", "a", "c"]).run_end(1, index, None) == 4
    assert replace(new, ids=["a", "b", "a", "c"]).run_end(0, index, None) == 2


def test_rows_without_times_are_one_run_whatever_the_ends_of_live_rows():
    assert arrivals(untils=[-1, 0, 1, 2]).run_end(0, RowIndex(), -3.0) == 4


def simulated(rows, policy, *, before=()):
    index = RowIndex()
    index.extend([name for name, _, _ in before], [time for _, time, _ in before])
    simulation = Simulation(index, [end for _, _, end in before], policy, 0)
    for name, time, end in rows:
        simulation.arrive(name, time, end)
    return simulation


def test_a_row_that_is_due_on_arrival_does_not_move_the_clock():
    rows = [("a", 1.0, 9.0), ("b", 5.0, 5.0), ("c", 2.0, 4.0)]
    assert simulated(rows, KeepAll()).survivors.ids == ["a", "c"]


def test_live_rows_leave_when_they_are_due():
    before = [("a", 0.0, 3.0), ("b", 1.0, 9.0)]
    assert simulated([("c", 3.0, 9.0)], FIFD(5), before=before).survivors.ids == ["b", "c"]
    survivors = simulated([("c", 3.0, 9.0)], KeepFor(2), before=before).survivors
    assert (survivors.order, survivors.ids) == ([2], ["c"])


def test_the_next_number_follows_from_the_live_rows():
    before = [(4, 0.0, 2.0), ("b", 1.0, 9.0)]
    simulation = simulated([], KeepAll(), before=before)
    assert simulation.next_id() == 5
    simulation.arrive("c", 2.0, 9.0)
    assert simulation.next_id() == 0


def test_an_id_may_come_again_once_its_row_has_left():
    rows = [("a", 1.0, 2.0), ("a", 2.0, 9.0)]
    assert simulated(rows, KeepAll()).survivors.order == [1]
    with pytest.raises(RepeatedId, match="'id' is 'a': a live row has it"):
        simulated([*rows, ("a", 3.0, 9.0)], KeepAll())


@pytest.mark.parametrize("policy", [KeepAll(), KeepFor(6)])
@pytest.mark.parametrize("numbered", [False, True])
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9)), max_size=8),
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9)), min_size=1, max_size=8),
)
@settings(deadline=None)
def test_survivors_found_at_once_are_those_of_the_simulation(policy, numbered, before, rows):
    gaps = [gap for gap, _ in before + rows]
    times = np.cumsum(gaps, dtype=float)
    ends = times + [end + 1e6 * (end == 9) for _, end in before + rows]
    start = len(before)
    live = [(k, times[k], max(ends[k], times[start])) for k in range(start)]
    live = [row for row in live if row[2] > times[start - 1] and row[1] > times[start - 1] - 6]
    index = RowIndex()
    index.extend([name for name, _, _ in live], [time for _, time, _ in live])
    new = arrivals(times[start:], ends[start:], None, numbered, len(rows))
    first = index.next_id()
    new = replace(new, ids=range(first, first + len(new))) if numbered else new
    held = [end for _, _, end in live]
    found = survivors_by_time(index, held, policy, new)
    simulation = Simulation(index, held, policy, 0)
    for row in range(len(new)):
        name = simulation.next_id() if numbered else new.ids[row]
        simulation.arrive(name, new.since[row], new.ends[row])
    assert found == simulation.survivors or (found is None and numbered)


def test_survivors_are_simulated_where_more_than_time_matters():
    index = RowIndex()
    index.extend([10], [1.0])
    new = arrivals([2, 3, 4, 5])
    assert survivors_by_time(index, [], KeepAll(), new) is None  # row 10 may still be alive
    assert survivors_by_time(RowIndex(), [], FIFD(3), new) is None
    assert survivors_by_time(RowIndex(), [], KeepAll(), arrivals([2, 1, 4, 5])) is None
    assert survivors_by_time(index, [], KeepAll(), arrivals([0, 1, 4, 5])) is None
    assert survivors_by_time(RowIndex(), [], KeepAll(), arrivals()) is None
    assert survivors_by_time(RowIndex(), [], KeepAll(), new).order == [0, 1, 2, 3]

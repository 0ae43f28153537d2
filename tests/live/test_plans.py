"""Plans say which rows leave and enter, and change nothing."""

from __future__ import annotations

import numpy as np
import pytest

from efface.errors import BadTime
from efface.live.arrivals import Arrivals
from efface.live.index import RowIndex
from efface.live.marks import RowMarks
from efface.live.plans import Plans
from efface.live.policies import FIFD, KeepFor


def plans(policy, ids, times=None):
    index = RowIndex()
    index.extend(ids, times)
    return Plans(index, RowMarks(), policy)


def arriving(ids, times=None, untils=None):
    n = len(ids)
    ends = None if untils is None else np.array(untils)
    at = None if times is None else np.array(times)
    return Arrivals(np.ones((n, 1)), np.ones(n), ids, at, False, np.ones(n), None, ends)


def test_rows_in_order_have_a_schedule_and_others_have_none():
    found = plans(FIFD(3), ["a", "b"]).schedule(arriving(["c", "d"]), 0)
    assert found.after.tolist() == [0, 1]
    assert plans(FIFD(3), ["a", "b"]).schedule(arriving(["b"]), 0) is None
    timed = plans(KeepFor(5.0), ["a"], [4.0])
    assert timed.schedule(arriving(["b"], [3.0]), 0) is None
    assert timed.schedule(arriving(["b"], [9.0], [8.0]), 0) is None
    assert timed.schedule(arriving(["b"], [9.5]), 0).before.tolist() == [1]


def test_the_outcome_names_rows_that_leave_and_enter():
    found = plans(FIFD(2), ["a", "b"]).outcome(arriving(["c"]), 0)
    assert (found.left, found.entered.tolist()) == (["a"], [0])
    late = plans(KeepFor(5.0), ["a", "b"], [1.0, 4.0]).outcome(arriving(["c", "d"], [7.0, 3.0]), 0)
    assert (late.left, late.entered.tolist()) == (["a"], [1, 0])


def test_the_clock_is_the_latest_time():
    found = plans(KeepFor(5.0), ["a", "b"], [1.0, 4.0])
    assert (found.clock(3.0), found.clock(6.0)) == (4.0, 6.0)
    assert found.over(6.0) == (1, [])
    assert found.over(None) == (0, [])
    assert found.late(1.0, None, 6.0)
    assert found.late(5.0, 6.0, 6.0)
    assert not found.late(5.0, None, 6.0)


def test_times_of_another_kind_are_refused():
    with pytest.raises(BadTime):
        plans(KeepFor(5.0), ["a"], [1.0]).refuse_kind(int, None)

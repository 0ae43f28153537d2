"""When rows of many keys leave: as the schedule of each key says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from efface.live.departures import departures, plan_departures
from efface.live.policies import FIFD, AddDrop, KeepAll, KeepFor

POLICIES = [FIFD(3), FIFD(50), KeepFor(4.0), AddDrop(3, 2, 2), KeepAll()]


@settings(deadline=None)
@given(st.sampled_from(POLICIES), st.integers(0, 9999))
def test_all_keys_at_once_equal_each_key_alone(policy, seed):
    rng = np.random.default_rng(seed)
    keys = int(rng.integers(1, 6))
    alive = rng.integers(0, 4, size=keys)
    if isinstance(policy, FIFD):
        alive = np.minimum(alive, policy.rows)
    came = rng.integers(1, 7, size=keys)
    bounds = np.concatenate([[0], np.cumsum(alive + came)])
    phases = rng.integers(0, 3, size=keys) if isinstance(policy, AddDrop) else np.zeros(keys, int)
    times = np.concatenate([np.sort(rng.integers(0, 9, n)) for n in alive + came]).astype(float)
    found = plan_departures(policy, bounds, alive, phases, times)
    before, after = [], []
    for g in range(keys):
        own = times[bounds[g] : bounds[g + 1]]
        plan = policy.schedule(int(alive[g]), int(came[g]), int(phases[g]), own)
        gone = bounds[g] + np.cumsum(plan.before + plan.after)
        after += gone.tolist()
        before += (gone - plan.after).tolist()
        assert found.phases[g] == plan.phase
    assert found.before.tolist() == before
    assert found.after.tolist() == after


@pytest.mark.parametrize("policy", POLICIES)
def test_no_rows_leave_where_none_come(policy):
    none = np.zeros(0, np.int64)
    found = plan_departures(policy, np.array([0]), none, none, np.zeros(0))
    assert found.before.size == found.after.size == 0


def test_calendar_months_leave_for_all_keys():
    days = np.array(["2024-01-31", "2024-02-29", "2024-03-31"], "datetime64[ns]").astype(np.int64)
    bounds, none = np.array([0, 3, 6]), np.zeros(2, np.int64)
    found = plan_departures(KeepFor("1mo"), bounds, none, none, np.tile(days, 2))
    plan = KeepFor("1mo").schedule(0, 3, 0, days)
    assert found.before.tolist() == [*np.cumsum(plan.before), *(3 + np.cumsum(plan.before))]


@pytest.mark.parametrize("seed", range(5))
def test_departures_are_those_after_a_row_and_before_the_next(seed):
    rng = np.random.default_rng(seed)
    before, after = rng.integers(0, 4, size=(2, 9))
    expected = [after[t] + (before[t + 1] if t < 8 else 0) for t in range(9)]
    assert departures(before, after).tolist() == expected
    assert after.sum() + before[1:].sum() == departures(before, after).sum()

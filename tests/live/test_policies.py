"""Policies: which rows leave when, and schedules that equal their arrivals one by one."""

from __future__ import annotations

import copy
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from efface.errors import BadTime, InvalidValue
from efface.live.policies import FIFD, AddDrop, KeepAll, KeepFor, as_policy, from_plain, to_plain

DAY = 86_400_000_000_000


@pytest.mark.parametrize(
    ("window", "policy"),
    [
        (None, KeepAll()),
        (500, FIFD(500)),
        (np.int64(5), FIFD(5)),
        ("90d", KeepFor("90d")),
        ("12mo", KeepFor("1y")),
        (np.timedelta64(3, "M"), KeepFor("3mo")),
        (timedelta(hours=36), KeepFor("1d12h")),
        (np.timedelta64(90, "m"), KeepFor("1h30m")),
        (AddDrop(3), AddDrop(3, 1)),
    ],
)
def test_a_window_stands_for_a_policy(window, policy):
    assert as_policy(window) == policy


@pytest.mark.parametrize("window", [2.5, True, [5], KeepAll])
def test_an_invalid_window_is_refused(window):
    with pytest.raises(
        InvalidValue, match=r"'window' is .*: expected a number of rows, a duration"
    ):
        as_policy(window)


@pytest.mark.parametrize("window", [0, -1])
def test_a_window_holds_at_least_one_row(window):
    with pytest.raises(InvalidValue, match=r"'rows' is .*: expected a whole number of at least 1"):
        as_policy(window)


@pytest.mark.parametrize("arguments", [(0,), (1.5,), (2, 0), (2, 3), (2, 1, -1)])
def test_add_drop_refuses_invalid_counts(arguments):
    with pytest.raises(InvalidValue):
        AddDrop(*arguments)


def test_add_drop_may_not_drop_more_than_it_adds():
    with pytest.raises(InvalidValue, match="'drop' is 3: expected at most add, which is 2; "):
        AddDrop(2, 3)


@pytest.mark.parametrize("policy", [FIFD(3), KeepFor("3d"), AddDrop(3), KeepAll()])
def test_policies_are_values(policy):
    assert copy.deepcopy(policy) == policy
    assert hash(policy) == hash(copy.deepcopy(policy))
    with pytest.raises(AttributeError):
        policy.rows = 4


def test_a_row_leaves_when_it_is_exactly_as_old_as_the_duration():
    policy = KeepFor("90d")
    assert policy.expired([0], now=90 * DAY - 1) == 0
    assert policy.expired([0], now=90 * DAY) == 1


def test_a_duration_over_whole_times_holds_as_many_rows_as_a_window():
    times = np.arange(10.0)
    by_age = KeepFor(3).schedule(0, 10, 0, times)
    assert by_age.before.tolist() == [0, 0, 0, 1, 1, 1, 1, 1, 1, 1]
    assert FIFD(3).schedule(0, 10, 0, None).after.tolist() == by_age.before.tolist()


@pytest.mark.parametrize(
    ("policy", "kind", "text"),
    [
        (
            KeepFor("90d"),
            None,
            r"'at' is None: expected the time of the row, which KeepFor\(.*'90d'",
        ),
        (KeepFor("3mo"), float, "'at' is numbers: expected calendar times, which KeepFor"),
        (KeepFor("90d"), float, "'at' is numbers: expected calendar times, which KeepFor"),
        (KeepFor(90), int, "'at' is calendar times: expected numbers, which KeepFor"),
    ],
)
def test_times_must_be_of_the_kind_of_the_duration(policy, kind, text):
    with pytest.raises(BadTime, match=text):
        policy.refuse_time(kind)


def test_policies_without_a_duration_take_any_time():
    for policy in (FIFD(3), AddDrop(3), KeepAll()):
        for kind in (None, int, float):
            policy.refuse_time(kind)
        assert policy.expired([0.0], 1e9) == 0


def test_add_three_drop_one():
    assert AddDrop(3, 1).schedule(0, 9, 0, None).after.tolist() == [0, 0, 1] * 3


def test_the_first_arrivals_can_be_exempt():
    assert AddDrop(2, 1, start=3).schedule(0, 8, 0, None).after.tolist() == [0] * 4 + [1, 0, 1, 0]
    assert AddDrop(1, 1, start=3).schedule(0, 6, 0, None).after.tolist() == [0] * 3 + [1] * 3


def test_add_drop_never_drops_more_rows_than_there_are():
    assert AddDrop(4, 4).after(2, 3) == (2, 0)
    assert AddDrop(4, 4).schedule(0, 2, 3, None).after.tolist() == [1, 0]


def test_the_earliest_times_do_not_overflow():
    earliest = np.iinfo(np.int64).min + 1
    times = np.array([earliest, earliest + 5])
    assert KeepFor("100000d").schedule(0, 2, 0, times).leaving == 0


policies = st.one_of(
    st.builds(FIFD, st.integers(1, 8)),
    st.just(KeepAll()),
    st.integers(1, 5).flatmap(
        lambda add: st.builds(AddDrop, st.just(add), st.integers(1, add), st.integers(0, 6))
    ),
)


@given(policies, st.integers(0, 10), st.integers(0, 25), st.integers(0, 10))
def test_a_schedule_equals_its_arrivals_one_by_one(policy, n_rows, arrivals, phase):
    phase = min(phase, policy.start + policy.add - 1) if isinstance(policy, AddDrop) else 0
    plan = policy.schedule(n_rows, arrivals, phase, None)
    for leaving in plan.after:
        n_rows += 1
        expected, phase = policy.after(n_rows, phase)
        assert leaving == expected
        n_rows -= expected
    assert plan.phase == phase
    assert plan.before.sum() == 0


@given(
    st.lists(st.integers(0, 40), max_size=25).map(sorted), st.integers(1, 20), st.integers(0, 25)
)
def test_a_schedule_by_age_equals_its_arrivals_one_by_one(times, length, n_rows):
    n_rows, policy = min(n_rows, len(times)), KeepFor(length)
    plan = policy.schedule(n_rows, len(times) - n_rows, 0, np.array(times, dtype=float))
    live = times[:n_rows]
    for leaving, time in zip(plan.before, times[n_rows:], strict=True):
        assert leaving == policy.expired(live, time)
        live = [*live[leaving:], time]


@given(
    st.lists(st.integers(0, 500), max_size=25).map(sorted), st.integers(1, 5), st.integers(0, 25)
)
def test_a_schedule_by_months_equals_its_arrivals_one_by_one(half_days, months, n_rows):
    start = np.datetime64("2023-11-28T07", "ns").astype(np.int64)
    times = start + DAY // 2 * np.array(half_days, dtype=np.int64)
    n_rows, policy = min(n_rows, len(times)), KeepFor(f"{months}mo")
    plan = policy.schedule(n_rows, len(times) - n_rows, 0, times)
    live = times[:n_rows].tolist()
    for leaving, time in zip(plan.before, times[n_rows:].tolist(), strict=True):
        assert leaving == policy.expired(live, time)
        live = [*live[leaving:], time]


def test_months_end_on_the_same_day():
    def at(text):
        return int(np.datetime64(text, "ns").astype(np.int64))

    policy = KeepFor("1mo")
    times = [at("2026-01-28"), at("2026-01-31T09"), at("2026-02-01")]
    assert policy.expired(times, at("2026-02-27T23")) == 0
    assert policy.expired(times, at("2026-02-28")) == 1
    assert policy.expired(times, at("2026-02-28T23:59")) == 1
    assert policy.expired(times, at("2026-03-01")) == 3


@pytest.mark.parametrize(
    "window",
    [
        *(None, 5, np.int64(5), "90d", timedelta(days=2, microseconds=3), np.timedelta64(7, "h")),
        *(
            "3mo",
            np.timedelta64(3, "M"),
            KeepFor("1y6mo"),
            np.timedelta64(2, "25s"),
            FIFD(4),
            KeepFor("1h"),
            KeepFor(2.5),
            AddDrop(3, 2, 1),
        ),
        KeepAll(),
    ],
)
def test_a_window_is_restored_from_plain_values(window):
    again = from_plain(to_plain(window))
    assert again == window
    assert as_policy(again) == as_policy(window)


def test_a_custom_policy_cannot_be_saved():
    class FIFD(KeepAll):
        pass

    with pytest.raises(InvalidValue, match=r"'window' is .*: expected a policy of efface"):
        to_plain(FIFD())

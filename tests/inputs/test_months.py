"""Durations of calendar months, compared with dates of the standard library."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from efface.inputs.months import Months

FIRST, LAST = datetime(1678, 1, 1, tzinfo=UTC), datetime(2262, 1, 1, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
moments = st.datetimes(FIRST.replace(tzinfo=None), LAST.replace(tzinfo=None))
counts = st.integers(1, 40) | st.integers(1, 9_000)


def nanoseconds(moment):
    return (moment.replace(tzinfo=UTC) - EPOCH) // timedelta(microseconds=1) * 1000


def due(at, count):
    """``at`` plus months; a day that does not exist becomes the first instant of the next month."""
    month = 12 * at.year + at.month - 1 + count
    try:
        return at.replace(year=month // 12, month=month % 12 + 1)
    except ValueError:  # no such day
        return datetime((month + 1) // 12, (month + 1) % 12 + 1, 1)


@given(moments, moments, counts)
@example(datetime(2026, 1, 31), datetime(2026, 3, 1), 1)
@example(datetime(2026, 1, 31), datetime(2026, 2, 28, 23, 59, 59, 999_999), 1)
@example(datetime(2024, 2, 29), datetime(2025, 3, 1), 12)
@example(datetime(2024, 2, 29), datetime(2025, 2, 28), 12)
def test_a_time_is_over_when_it_is_due(at, now, count):
    limit = Months(count).limit(nanoseconds(now))
    assert (nanoseconds(at) <= limit) == (due(at, count) <= now)


@given(moments, st.integers(1, 40))
def test_a_time_is_over_from_the_nanosecond_on_at_which_it_is_due(at, count):
    end = nanoseconds(due(at, count))
    assert Months(count).limit(end - 1) < nanoseconds(at) <= Months(count).limit(end)


@given(st.lists(moments, min_size=2, max_size=20).map(sorted), counts)
@example([datetime(1765, 1, 1), datetime(1765, 2, 1)], 1057)
def test_later_times_are_never_due_earlier(times, count):
    limits = [Months(count).limit(nanoseconds(time)) for time in times]
    assert limits == sorted(limits)


@given(
    st.lists(st.integers(-(2**63) + 1, 2**63 - 1), max_size=20),
    counts | st.just(10**15),
)
def test_many_limits_equal_their_times_one_by_one(times, count):
    months = Months(count)
    one_by_one = [max(months.limit(time), -(2**63)) for time in times]
    assert months.limits(np.array(times, dtype=np.int64)).tolist() == one_by_one


@pytest.mark.parametrize(
    ("at", "count", "end"),
    [
        ("2026-01-31T12:00", 1, "2026-03-01T00:00"),
        ("2026-01-28T12:00", 1, "2026-02-28T12:00"),
        ("2024-01-31T12:00", 1, "2024-03-01T00:00"),
        ("2024-02-29T06:00", 12, "2025-03-01T00:00"),
        ("2026-08-31T00:00", 3, "2026-12-01T00:00"),
        ("2026-11-30T08:00", 3, "2027-03-01T00:00"),
        ("2026-12-15T08:00", 1, "2027-01-15T08:00"),
    ],
)
def test_examples(at, count, end):
    start, last = (int(np.datetime64(each, "ns").astype(np.int64)) for each in (at, end))
    assert Months(count).limit(last) >= start
    assert Months(count).limit(last - 1) < start


def test_texts():
    texts = [str(Months(count)) for count in (1, 11, 12, 14, 24)]
    assert texts == ["1mo", "11mo", "1y", "1y2mo", "2y"]

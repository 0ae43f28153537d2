"""Times and durations: every accepted form, and what is refused."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from efface.errors import BadTime, InvalidValue
from efface.inputs.months import Months
from efface.inputs.times import (
    as_duration,
    as_time,
    as_times,
    as_untils,
    calendar_time,
    never,
    outside_range,
    spell,
)

SECOND = 1_000_000_000
NOON = datetime(2024, 2, 29, 12, 0, 0, 250_000)
NOON_NS = int(np.datetime64("2024-02-29T12:00:00.25", "ns").astype(np.int64))


@pytest.mark.parametrize(
    "at",
    [
        NOON,
        NOON.replace(tzinfo=UTC),
        datetime(2024, 2, 29, 17, 30, 0, 250_000, tzinfo=timezone(timedelta(hours=5, minutes=30))),
        np.datetime64(NOON),
        pd.Timestamp(NOON),
        pd.Timestamp(NOON, tz="UTC").tz_convert("America/New_York"),
    ],
)
def test_calendar_times_are_nanoseconds_in_utc(at):
    assert as_time(at) == NOON_NS
    assert type(as_time(at)) is int


def test_a_day_is_its_midnight_in_every_library():
    days = [date(2024, 2, 29), date(2024, 3, 1)]
    midnight = int(np.datetime64("2024-02-29", "ns").astype(np.int64))
    assert as_time(days[0]) == as_time(np.datetime64("2024-02-29")) == midnight
    for column in (days, pd.Series(days), pl.Series(days), pa.chunked_array([days])):
        assert as_times(column, 2).tolist() == [midnight, midnight + 86_400 * SECOND]


def test_a_pandas_timestamp_keeps_its_nanoseconds():
    assert as_time(pd.Timestamp(1_700_000_000_123_456_789)) == 1_700_000_000_123_456_789


@pytest.mark.parametrize("at", [3, 3.0, np.int32(3), np.float32(3), np.float64(3)])
def test_numeric_times_are_floats(at):
    assert as_time(at) == 3.0
    assert type(as_time(at)) is float


@pytest.mark.parametrize(
    ("at", "verdict"),
    [
        (True, "expected a number, a datetime"),
        ("2024-02-29", "expected a number, a datetime"),
        (None, "expected a number, a datetime"),
        (np.timedelta64(3, "s"), "expected a number, a datetime"),
        (math.nan, "expected a finite number"),
        (-math.inf, "expected a finite number"),
        (10**400, "expected a finite number"),
        (2**53 + 1, "pass a numpy.datetime64 if it counts nanoseconds"),
        (np.datetime64("NaT"), "between the years 1678 and 2262"),
        (np.datetime64("3000-01-01"), "between the years 1678 and 2262"),
        (datetime(1500, 1, 1), "between the years 1678 and 2262"),
    ],
)
def test_invalid_times_are_refused(at, verdict):
    with pytest.raises(BadTime, match=f"'at' is .*: .*{verdict}"):
        as_time(at)


MIXED = [np.datetime64("9999-12-31"), np.datetime64("2024-01-01", "ns")]


@pytest.mark.parametrize("column", [MIXED, [MIXED[1], MIXED[0]], [*MIXED[::-1], None]])
def test_mixed_units_do_not_wrap_around(column):
    for read in (as_times, lambda until, count, _="": as_untils(until, count)):
        with pytest.raises(BadTime, match=r"is '9999-12-31|is None"):
            read(column, len(column))
    near = [np.datetime64("2024-01-01", "D"), np.datetime64("2024-01-02", "ns")]
    assert as_times(near, 2).tolist() == STAMPS_NS


def test_the_last_integer_is_no_time_since_it_stands_for_none():
    for at in (np.datetime64(2**63 - 1, "ns"), pd.Timestamp(2**63 - 1)):
        with pytest.raises(BadTime, match="between the years 1678 and 2262"):
            as_time(at)
    assert as_time(np.datetime64(2**63 - 2, "ns")) == 2**63 - 2


@given(st.datetimes(), st.integers(-1439, 1439), st.integers(0, 999))
def test_texts_of_all_years_are_kept_right_or_refused(moment, minutes, nanoseconds):
    zone = timezone(timedelta(minutes=minutes))
    text = f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond:06}{nanoseconds:03}"
    text = text.rjust(29, "0") + moment.replace(tzinfo=zone).isoformat()[-6:]
    since = moment.replace(tzinfo=zone) - datetime(1970, 1, 1, tzinfo=UTC)
    expected = since // timedelta(microseconds=1) * 1000 + nanoseconds
    if -(2**63) < expected < 2**63 - 1:
        assert calendar_time(text).astype(np.int64) == expected
    else:
        with pytest.raises(BadTime, match=r"'until' is '.*: expected a time between the years"):
            calendar_time(text, "until")


@pytest.mark.parametrize(
    "text",
    ["", "now", "2026", "2026-02-31", "2026-01-31T25:00", "2026-01-31T12:00-24:00", "x2026-01-01"],
)
def test_other_texts_are_no_times(text):
    with pytest.raises(BadTime, match=f"'at' is '{text}': expected a time in ISO"):
        calendar_time(text)


@pytest.mark.parametrize("unit", ["D", "h", "s", "ms", "us"])
def test_arrays_of_all_units_show_what_is_outside(unit):
    texts = ["0001-01-01", "1677-09-20", "1678-01-01", "2262-04-11", "2262-04-13", "NaT"]
    outside = outside_range(np.array(texts, f"datetime64[{unit}]"))
    assert outside.tolist() == [True, True, False, False, True, False]


STAMPS = pd.to_datetime(["2024-01-01", "2024-01-02"])
STAMPS_NS = [int(stamp.value) for stamp in STAMPS.as_unit("ns")]


@pytest.mark.parametrize(
    "at",
    [
        STAMPS,
        pd.Series(STAMPS),
        pd.Series(STAMPS).dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"),
        STAMPS.to_numpy(),
        STAMPS.to_pydatetime().tolist(),
        pl.Series(STAMPS.to_pydatetime().tolist()),
        STAMPS.to_numpy().astype("datetime64[D]"),
    ],
)
def test_columns_of_calendar_times(at):
    times = as_times(at, 2)
    assert times.dtype == np.int64
    assert times.tolist() == STAMPS_NS


@pytest.mark.parametrize("at", [[1, 2.5], (1, 2.5), np.array([1, 2.5], np.float32)])
def test_columns_of_numbers(at):
    times = as_times(at, 2)
    assert times.dtype == np.float64
    assert times.tolist() == [1.0, 2.5]


def test_one_time_for_all_rows():
    assert as_times(NOON, 3).tolist() == [NOON_NS] * 3
    assert as_times(2, 3).tolist() == [2.0] * 3


@pytest.mark.parametrize(
    ("at", "verdict"),
    [
        ([1.0, math.nan], r"'at\[1\]' is nan: expected a finite number"),
        ([1.0, NOON], r"'at\[1\]' is .*: expected numbers, as for at\[0\]"),
        ([NOON, "x"], r"'at\[1\]' is 'x': expected a number, a datetime"),
        ([0, 2**60], r"'at\[1\]' is .*: expected a number that a float holds exactly"),
        ([True, False], r"'at\[0\]' is True"),
        (np.array(["2024", "NaT"], "datetime64[D]"), r"'at\[1\]' is 'NaT'"),
        ([1.0], r"'at' is \(1,\): expected the shape \(2,\)"),
    ],
)
def test_the_error_for_an_invalid_time_names_its_row(at, verdict):
    with pytest.raises(BadTime, match=verdict):
        as_times(at, 2)


@pytest.mark.parametrize(
    ("duration", "length"),
    [
        ("90d", 90 * 86_400 * SECOND),
        ("2w", 14 * 86_400 * SECOND),
        ("1h30m", 5_400 * SECOND),
        ("1.5h", 5_400 * SECOND),
        ("30m1h", 5_400 * SECOND),
        ("10s250ms", 10_250_000_000),
        ("3us7ns", 3_007),
        (timedelta(days=1, microseconds=1), 86_400 * SECOND + 1_000),
        (np.timedelta64(36, "h"), 36 * 3_600 * SECOND),
        (np.timedelta64(1, "W"), 7 * 86_400 * SECOND),
        ("3mo", Months(3)),
        ("1y6mo", Months(18)),
        ("1.5y", Months(18)),
        ("3m", 180 * SECOND),
        (np.timedelta64(2, "M"), Months(2)),
        (np.timedelta64(2, "Y"), Months(24)),
        (60, 60.0),
        (np.float64(0.5), 0.5),
    ],
)
def test_durations(duration, length):
    assert as_duration(duration) == length
    assert type(as_duration(duration)) is type(length)


@pytest.mark.parametrize(
    "duration",
    [
        *("", "d", "90", "90 d", "-1d", "90D", "0s", "1.5ns", "300000w"),
        *("0mo", "1.5mo", "1mo3d", "1y1d", "3mon", "-1y", "1M"),
        *(timedelta(0), timedelta(days=-1), 0, -1.0, math.nan, math.inf, 10**400, True, None),
        *(np.timedelta64("NaT"), np.timedelta64(3), np.timedelta64(-1, "M")),
    ],
)
def test_invalid_durations_are_refused(duration):
    with pytest.raises(InvalidValue, match=r"'duration' is .*: expected a length of time above 0"):
        as_duration(duration)


@given(st.integers(1, 2**63 - 1) | st.integers(1, 999).map(Months))
def test_a_duration_survives_the_round_trip_through_text(length):
    assert as_duration(spell(length)) == length


LAST = 2**63 - 1


@pytest.mark.parametrize(
    ("until", "ends"),
    [
        ([1, None, 2.5], [1.0, math.inf, 2.5]),
        (np.array([1.0, math.nan, 2.5]), [1.0, math.inf, 2.5]),
        (pl.Series([1.0, None, 2.5]), [1.0, math.inf, 2.5]),
        ([None, NOON, None], [LAST, NOON_NS, LAST]),
        (pd.Series([NOON, pd.NaT, NOON]), [NOON_NS, LAST, NOON_NS]),
        (pd.Series([NOON, None, pd.NaT], dtype=object), [NOON_NS, LAST, LAST]),
        (pl.Series([NOON, None, NOON]), [NOON_NS, LAST, NOON_NS]),
        (NOON, [NOON_NS] * 3),
        ([np.datetime64(NOON), None, NOON], [NOON_NS, LAST, NOON_NS]),
        ([np.datetime64(NOON_NS + 1, "ns"), None, None], [NOON_NS + 1, LAST, LAST]),
        (np.array([None, pd.Timestamp(NOON_NS + 1), None]), [LAST, NOON_NS + 1, LAST]),
    ],
)
def test_a_gap_is_a_row_without_an_end(until, ends):
    found = as_untils(until, 3)
    assert found.tolist() == ends
    assert found.dtype == (np.int64 if isinstance(ends[1], int) else np.float64)


def test_no_end_at_all_is_none():
    assert as_untils(None, 2) is as_untils([None, None], 2) is as_untils([], 0) is None
    assert (never(int), never(float)) == (LAST, math.inf)


@pytest.mark.parametrize(
    ("until", "text"),
    [
        ([None, "soon"], r"'until\[1\]' is 'soon': expected a number, a datetime"),
        ([None, 1.0, NOON], r"'until' is \(3,\): expected the shape \(2,\)"),
        ([1.0, math.inf], r"'until\[1\]' is inf: expected a finite number"),
        ([NOON, 1.0], r"'until\[1\]' is 1\.0: expected calendar times, as for until\[0\]"),
        (math.nan, "'until' is nan: expected a finite number"),
    ],
)
def test_invalid_ends_are_refused(until, text):
    with pytest.raises(BadTime, match=text):
        as_untils(until, 2)


def test_a_masked_end_is_refused():
    until = np.ma.array([5.0, 6.0], mask=[False, True])
    with pytest.raises(BadTime, match=r"'until\[1\]' is masked: expected a number"):
        as_untils(until, 2)

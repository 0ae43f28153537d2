"""Checked times and durations, as plain numbers.

There are two kinds, which never mix. A calendar time is an ``int``: nanoseconds since 1970 UTC. A
time in a unit of the caller is a ``float``. The same holds for durations, and a duration of
calendar months is a ``Months``. The type of a time is its kind; for an array it is the dtype, int64
or float64.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efface.errors import BadTime, invalid, unusable
from efface.inputs.frames import items, missing
from efface.inputs.masks import first_masked
from efface.inputs.months import Months
from efface.inputs.parameters import to_float

Time = int | float
Times = NDArray[np.int64] | NDArray[np.float64]
Number = int | float | np.integer | np.floating
CalendarTimes = NDArray[np.datetime64]

_UNITS = {
    "w": 604_800_000_000_000,
    "d": 86_400_000_000_000,
    "h": 3_600_000_000_000,
    "m": 60_000_000_000,
    "s": 1_000_000_000,
    "ms": 1_000_000,
    "us": 1_000,
    "ns": 1,
}
_MONTHS = {"y": 12, "mo": 1}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ns|us|ms|mo|s|m|h|d|w|y)")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_LIMIT = 2**63
_EXACT = 2**53
_EXPECTED = "a number, a datetime, a date or a numpy.datetime64"
RANGE = "a time between the years 1678 and 2262"
_ISO = re.compile(  # of ISO 8601: a date, perhaps a time of day with up to 9 decimals and a zone
    r"(\d{4})-(\d\d)-(\d\d)"
    r"(?:[T ](\d\d)(?::(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?)?(?:Z|([+-])(\d\d):(\d\d))?)?"
)


def calendar_time(text: str, subject: str = "at") -> np.datetime64:
    """A time in ISO 8601; UTC if it has no zone. It is refused outside the range of the library.

    >>> calendar_time("2026-01-31T12:00:00.000000001Z"), calendar_time("2026-01-31 12:00+02:00")
    (np.datetime64('2026-01-31T12:00:00.000000001'), np.datetime64('2026-01-31T10:00:00.000000000'))
    """
    found = _ISO.fullmatch(text)
    try:
        time = None if found is None else _from_iso(*found.groups(default=""))
    except ValueError:  # a day or an hour that does not exist
        time = None
    if time is None:
        expected, advice = "a time in ISO 8601", "write 2024-05-31 or 2024-05-31T12:00Z"
        raise BadTime(unusable(subject, text, expected, advice))
    return np.datetime64(_in_range(time, text, subject), "ns")


def _from_iso(*parts: str) -> int:
    """Nanoseconds since 1970, as wide as they are, of the groups of ``_ISO``."""
    fraction, sign, hours, minutes = parts[6:]
    if int(hours or 0) > 23 or int(minutes or 0) > 59:
        raise ValueError(hours)
    ahead = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
    year, month, day, hour, minute, second = (int(part or 0) for part in parts[:6])
    since = datetime(year, month, day, hour, minute, second, tzinfo=UTC) - _EPOCH
    since = since + ahead if sign == "-" else since - ahead
    return since // _MICROSECOND * 1000 + int(fraction.ljust(9, "0"))


def outside_range(values: CalendarTimes) -> NDArray[np.bool_]:
    """Which calendar times of any unit the library does not keep; a gap is none of them.

    >>> outside_range(np.array(["2024-05-31", "9999-12-31", "NaT"], "datetime64[s]"))
    array([False,  True, False])
    """
    precise = values.astype("datetime64[ns]")  # times outside wrap around, and come back as others
    kept = (precise.astype(values.dtype) == values) & (precise.astype(np.int64) < _LIMIT - 1)
    return np.asarray(~(kept | np.isnat(values)))


def _in_range(time: int, given: object, subject: str) -> int:
    """A calendar time that is not later than the last one: the last integer is ``never``."""
    if not -_LIMIT < time < _LIMIT - 1:
        raise BadTime(unusable(subject, str(given), RANGE, "correct it"))
    return time


def as_time(at: object, subject: str = "at") -> Time:
    """One time: nanoseconds for a calendar time (UTC if it has no zone), a float for a number.

    >>> as_time(1.5), as_time(datetime(1970, 1, 1, 0, 0, 1))
    (1.5, 1000000000)
    """
    if type(at) is float and math.isfinite(at):
        return at
    _refuse_masked(at, subject)
    if hasattr(at, "to_datetime64"):  # pandas.Timestamp: has nanoseconds, datetime has not
        at = at.to_datetime64()
    if isinstance(at, np.datetime64):
        return int(_nanoseconds(np.asarray(at)[np.newaxis], subject)[0])
    if isinstance(at, datetime):
        return _from_datetime(at, subject)
    if isinstance(at, date):  # a day is its midnight
        return _from_datetime(datetime(at.year, at.month, at.day), subject)
    if isinstance(at, Number) and not isinstance(at, bool | np.timedelta64):
        return _from_number(at, subject)
    raise BadTime(unusable(subject, at, _EXPECTED, "convert it"))


def as_times(at: Any, count: int, subject: str = "at") -> Times:
    """``count`` times, from one per row or one for all rows.

    >>> as_times([0, 1.5], 2)
    array([0. , 1.5])
    """
    _refuse_masked(at, subject)
    values = _column(at)
    if values.ndim == 0:
        return pack([as_time(values.item() if values.dtype == object else at, subject)] * count)
    if values.shape != (count,):
        expected = f"the shape ({count},)"
        raise BadTime(unusable(subject, values.shape, expected, "pass one time per row"))
    if values.dtype.kind == "M":
        return _nanoseconds(values, f"{subject}[{{}}]")
    if values.dtype.kind == "f" and np.isfinite(values).all():
        return values.astype(np.float64)
    return _one_by_one(values, subject)


def as_untils(until: Any, count: int) -> Times | None:
    """The ends of ``count`` rows, from one per row or one for all rows; None if no row has one.

    In a column a gap (None, NaT, NaN) is a row without an end, whose end is ``never``.

    >>> as_untils([3.0, None], 2), as_untils([None], 1)
    (array([ 3., inf]), None)
    """
    if until is None:
        return None
    _refuse_masked(until, "until")
    values = _column(until)
    gaps = _gaps(values)
    if values.shape != (count,) or not gaps.any():
        return as_times(until, count, "until") if count else None
    if gaps.all():
        return None
    first = int(np.argmin(gaps))
    as_time(values[first], f"until[{first}]")  # before it fills the gaps of earlier rows
    filled: Any = [values[first if gap else row] for row, gap in enumerate(gaps.tolist())]
    ends = as_times(filled, count, "until")
    ends[gaps] = never(kind_of(ends))
    return ends


def never(kind: type | None) -> Time:
    """The time of this kind that stands for no end: it is later than every other time."""
    return _LIMIT - 1 if kind is int else math.inf


def _refuse_masked(at: Any, subject: str) -> None:
    masked = first_masked(at)
    if masked is not None:
        where = f"{subject}[{masked[0]}]" if masked else subject
        raise BadTime(f"'{where}' is masked: expected {_EXPECTED}; correct it, or leave it out.")


def pack(times: Collection[Time]) -> Times:
    """Times of one kind as an array."""
    if times and isinstance(next(iter(times)), int):
        return np.array(times, dtype=np.int64)
    return np.array(times, dtype=np.float64)


def kind_of(times: Times | None) -> type | None:
    """The kind of an array of times; None for no times."""
    return None if times is None else int if times.dtype == np.int64 else float


def kind_name(kind: type | None) -> str:
    """The name of a kind of times, for error messages."""
    return "None" if kind is None else "calendar times" if kind is int else "numbers"


def _column(data: Any) -> NDArray[Any]:
    """A column as an array; NumPy would wrap times around where units are mixed, so they stay."""
    given = items(data)
    if isinstance(given, list | tuple):
        units = {each.dtype for each in given if isinstance(each, np.datetime64)}
        if len(units) > 1:
            return np.array(given, dtype=object)
    return np.asarray(given)


def _gaps(values: NDArray[Any]) -> NDArray[np.bool_]:
    if values.dtype.kind in "fM":
        return np.asarray(values != values)
    found = [values.dtype.kind == "O" and missing(value) for value in values.ravel()]
    return np.array(found, dtype=bool).reshape(values.shape)


def _one_by_one(values: NDArray[np.generic], subject: str) -> Times:
    times = [as_time(value, f"{subject}[{row}]") for row, value in enumerate(values.tolist())]
    for row, time in enumerate(times):
        if type(time) is not type(times[0]):
            expected = f"{kind_name(type(times[0]))}, as for {subject}[0]"
            raise BadTime(unusable(f"{subject}[{row}]", values[row], expected, "convert it"))
    return pack(times)


def _nanoseconds(values: CalendarTimes, subject: str) -> NDArray[np.int64]:
    wrong = outside_range(values) | np.isnat(values)
    if wrong.any():
        row = int(wrong.argmax())
        raise BadTime(unusable(subject.format(row), str(values[row]), RANGE, "correct it"))
    return np.asarray(values.astype("datetime64[ns]").astype(np.int64))


def _from_datetime(at: datetime, subject: str) -> int:
    moment = at.replace(tzinfo=UTC) if at.tzinfo is None else at
    return _in_range((moment - _EPOCH) // _MICROSECOND * 1000, at, subject)


def _from_number(at: int | float | np.integer[Any] | np.floating[Any], subject: str) -> float:
    time = to_float(at)
    if not math.isfinite(time):
        raise BadTime(unusable(subject, time, "a finite number", "correct it"))
    if isinstance(at, int | np.integer) and abs(int(at)) > _EXACT:
        advice = "pass a numpy.datetime64 if it counts nanoseconds"
        raise BadTime(unusable(subject, at, "a number that a float holds exactly", advice))
    return time


def as_duration(duration: object) -> Time | Months:
    """A positive duration: nanoseconds or months for calendar times, a float for a number.

    >>> as_duration("1h30m"), as_duration(timedelta(seconds=2)), as_duration(3600)
    (5400000000000, 2000000000, 3600.0)
    >>> as_duration("1y6mo")
    Months(count=18)
    """
    length = _length(duration)
    size = length.count if isinstance(length, Months) else length
    if length is None or size is None or not 0 < size < _LIMIT:
        expected = "a length of time above 0 such as '90d', '3mo', '1h30m', a timedelta or a number"
        advice = "units are w, d, h, m (minutes), s, ms, us and ns, or y and mo (months) alone"
        raise invalid("duration", duration, expected, advice)
    return length


def _length(duration: object) -> Time | Months | None:
    if isinstance(duration, str):
        return _parse(duration)
    if isinstance(duration, np.timedelta64):
        return None if np.isnat(duration) else _exact(duration)
    if isinstance(duration, timedelta):
        return duration // _MICROSECOND * 1000
    if isinstance(duration, Number) and not isinstance(duration, bool):
        return to_float(duration)
    return None


def _exact(duration: np.timedelta64) -> int | Months | None:
    """In nanoseconds or months; None for a missing unit."""
    unit, step = np.datetime_data(duration.dtype)
    count = int(duration.astype(np.int64)) * step
    if unit in ("M", "Y"):
        return Months(count * (12 if unit == "Y" else 1))
    names = {"W": "w", "D": "d"}
    scale = _UNITS.get(names.get(unit, unit))
    return None if scale is None else count * scale


def _parse(text: str) -> int | Months | None:
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    monthly = [unit in _MONTHS for _, unit in parts]
    if any(monthly) and not all(monthly):
        return None
    sizes = _MONTHS if monthly[0] else _UNITS
    total = sum(Fraction(number) * sizes[unit] for number, unit in parts)
    if total != int(total):
        return None
    return Months(int(total)) if monthly[0] else int(total)


def spell(length: int | Months) -> str:
    """The shortest text of a calendar duration, without weeks: "90d", not "12w6d".

    >>> spell(90 * 86_400_000_000_000), spell(5_400_000_000_000), spell(Months(14))
    ('90d', '1h30m', '1y2mo')
    """
    if isinstance(length, Months):
        return str(length)
    text, nanoseconds = "", length
    for unit, size in list(_UNITS.items())[1:]:
        count, nanoseconds = divmod(nanoseconds, size)
        text += f"{count}{unit}" if count else ""
    return text

"""Calendar durations: months and years, which have no fixed length.

A time plus m months is the same day of the month and the same time of day in UTC. A day that does
not exist becomes the first instant of the next month: 31 January plus a month is 1 March. (The last
day of the month would not be monotone: 28 January at noon would be due after 31 January at 1 am.)

Times are nanoseconds since 1970 UTC, see ``times``.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import final

import numpy as np

from efface.inputs.types import Ints

_DAY = 86_400_000_000_000  # nanoseconds
_EPOCH = date(1970, 1, 1).toordinal()
_EARLIEST = -(2**63)  # earlier than every time
_FIRST_YEAR = 1677  # of a time


@final
@dataclass(frozen=True)
class Months:
    """A duration of calendar months.

    A row of time t is ``count`` months old at ``now`` if t <= ``limit(now)``.

    >>> march = Months(1).limit(int(np.datetime64("2026-03-01T00", "ns").astype(np.int64)))
    >>> np.datetime64(march, "ns")
    np.datetime64('2026-02-01T00:00:00.000000000')
    """

    count: int

    def limit(self, now: int) -> int:
        """The latest time that is at least this old at ``now``.

        It is the same day and time, ``count`` months earlier, or the last instant of that month if
        it has no such day: all days of that month are then old enough.
        """
        days, rest = divmod(now, _DAY)
        today = date.fromordinal(_EPOCH + days)
        month = 12 * today.year + today.month - 1 - self.count
        if month < 12 * _FIRST_YEAR:
            return _EARLIEST
        same = (_first_day(month) + today.day - 1) * _DAY + rest
        return max(min(same, _first_day(month + 1) * _DAY - 1), _EARLIEST)

    def limits(self, now: Ints) -> Ints:
        """``limit`` of many times; limits before all times are ``-2**63``."""
        days, rest = np.divmod(now, _DAY)
        today = days.astype("datetime64[D]")
        this = today.astype("datetime64[M]")
        month = this - np.timedelta64(min(self.count, 12 * 10_000), "M")
        first, after = (
            each.astype("datetime64[D]").astype(np.int64) for each in (month, month + 1)
        )
        same = first + days - this.astype("datetime64[D]").astype(np.int64)
        exists = same < after
        day, rest = np.where(exists, same, after - 1), np.where(exists, rest, _DAY - 1)
        earliest = _EARLIEST // _DAY + 1
        return np.where(day < earliest, _EARLIEST, np.maximum(day, earliest) * _DAY + rest)

    def __str__(self) -> str:
        """The shortest text: "18mo" is "1y6mo".

        >>> str(Months(3)), str(Months(12)), str(Months(18))
        ('3mo', '1y', '1y6mo')
        """
        years, months = divmod(self.count, 12)
        return (f"{years}y" if years else "") + (f"{months}mo" if months else "")


def _first_day(month: int) -> int:
    """The first day of a month, in days since 1970; months are counted from the year 0."""
    return date(month // 12, month % 12 + 1, 1).toordinal() - _EPOCH

"""Numbers and times as text for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def figure(value: float | None) -> str:
    """A number with three or four digits.

    >>> figure(0.012345), figure(1234.5), figure(None)
    ('0.0123', '1,234', '–')
    """
    if value is None:
        return "–"
    if value and not 1e-4 <= abs(value) < 1e7:
        return f"{value:.2e}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def share(value: float | None) -> str:
    """A fraction with three decimals."""
    return "–" if value is None else f"{value:.3f}"


def duration(seconds: float) -> str:
    """A time that something took, with two or three digits.

    >>> duration(0.00047), duration(0.0123), duration(2.5)
    ('470 µs', '12.3 ms', '2.5 s')
    """
    unit, size = ("s", 1.0) if seconds >= 1.0 else ("ms", 1e-3) if seconds >= 1e-3 else ("µs", 1e-6)
    count = seconds / size
    return f"{count:.0f} {unit}" if count >= 99.95 else f"{count:.3g} {unit}"


def request_text(entry: Mapping[str, Any]) -> str:
    """What a request of a summary names: a row, a person, or, redacted, its line in the file.

    >>> request_text({"id": None, "owner": "ann", "line": 3})
    'owner ann'
    """
    for name in ("id", "owner"):
        if entry[name] is not None:
            return f"{name} {entry[name]}"
    return f"line {entry['line']}"


def place_text(asked: Any) -> str:
    """When a request of a summary was to be answered.

    >>> place_text(2015), place_text("2011-03-20 12:00"), place_text(None)
    ('row 2,015', '2011-03-20 12:00', 'the end')
    """
    if asked is None:
        return "the end"
    return f"row {asked:,}" if isinstance(asked, int) else str(asked)


def requests_text(summary: Mapping[str, Any]) -> str:
    """The requests of a summary in one sentence."""
    took, people, failed = summary["forgetting"], summary["people"], summary["audits"]["failed"]
    done = f"{summary['left']['asked']:,} rows"
    if people is not None:
        done = f"{people['forgotten']:,} of {people['seen']:,} people and {done}"
    text = f"{len(summary['requests']):,} requests: {done} forgotten"
    if took["requests"]:
        text += f", in {duration(took['median_seconds'])} each"
        text += f" (median; the slowest {duration(took['most_seconds'])})"
    held = f"{failed:,} failed the audit" if failed else "every audit passed"
    return f"{text}; {held}"


def time_text(time: Any) -> Any:
    """A calendar time as text; a numeric time as a number.

    >>> time_text(np.datetime64("2011-01-31T14:00", "ns"))
    '2011-01-31 14:00'
    """
    if not isinstance(time, np.datetime64):
        return float(time)
    return str(np.datetime_as_string(time, unit="auto")).replace("T", " ")

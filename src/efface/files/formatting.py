"""Numbers and times as text for people."""

from __future__ import annotations

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


def time_text(time: Any) -> Any:
    """A calendar time as text; a numeric time as a number.

    >>> time_text(np.datetime64("2011-01-31T14:00", "ns"))
    '2011-01-31 14:00'
    """
    if not isinstance(time, np.datetime64):
        return float(time)
    return str(np.datetime_as_string(time, unit="auto")).replace("T", " ")

"""Numbers as people read them."""

from __future__ import annotations


def figure(value: float | None) -> str:
    """A number in three or four digits.

    >>> figure(0.012345), figure(1234.5), figure(None)
    ('0.0123', '1,234', '–')
    """
    if value is None:
        return "–"
    if value and not 1e-4 <= abs(value) < 1e7:
        return f"{value:.2e}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def share(value: float | None) -> str:
    """A part of one."""
    return "–" if value is None else f"{value:.3f}"

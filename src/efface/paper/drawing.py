"""What figures share: an empty figure, the time axis, values beside a panel, distinct values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from efface.paper.verdicts import with_error

Row = Mapping[str, Any]


def new_figure(width: float, height: float) -> Figure:
    """An empty figure that can be written without a display."""
    drawn = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(drawn)
    return drawn


def format_time(axis: Axes) -> None:
    """A grid, and few ticks along the time axis."""
    axis.grid(alpha=0.25, linewidth=0.6)
    axis.xaxis.set_major_locator(MaxNLocator(4, integer=True))


def values_of(rows: Iterable[Row], column: str) -> list[Any]:
    """The distinct values of a column, in their order."""
    return list(dict.fromkeys(row[column] for row in rows))


def final_values(axis: Axes, ends: Sequence[tuple[float, float, str]]) -> None:
    """Print values with their errors, each in its colour, to the right of a panel.

    Each stands at its height, or as near to it as the others allow; an arrow marks a value above
    the panel.
    """
    bottom, top = axis.get_ylim()
    ordered = sorted(ends)
    heights = separated([(mean - bottom) / (top - bottom) for mean, _, _ in ordered])
    for height, (mean, error, colour) in zip(heights, ordered, strict=True):
        text = with_error(mean, error) or figure(mean)
        arrow = " ↑" if mean > top else ""
        axis.text(
            1.01,
            height,
            text + arrow,
            color=colour,
            transform=axis.transAxes,
            va="center",
            fontsize=6.5,
        )


def separated(heights: Sequence[float], gap: float = 0.095) -> list[float]:
    """Increasing heights moved apart to at least ``gap``, all of them at most 1.

    >>> separated([0.2, 0.21, 3.0], gap=0.1)
    [0.2, 0.30000000000000004, 1.0]
    """
    placed: list[float] = []
    for height in heights:
        placed.append(max(height, placed[-1] + gap) if placed else max(height, 0.04))
    for i in reversed(range(len(placed))):
        placed[i] = min(placed[i], 1.0 - gap * (len(placed) - 1 - i))
    return placed


def figure(value: float) -> str:
    """A number with two digits behind the point, fewer if it is large.

    >>> figure(2710.4), figure(30.16), figure(1.0), figure(0.987)
    ('2,710', '30.2', '1.00', '0.99')
    """
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"

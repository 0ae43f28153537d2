"""What figures share: sizes for a printed page, an empty figure, axes, and distinct values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullFormatter, NullLocator

Row = Mapping[str, Any]

WIDTH = 7.2  # inches: the text of a page
STYLE: Any = {  # of matplotlib
    "font.size": 7.5,
    "axes.titlesize": 8,
    "axes.labelsize": 7.5,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
}

_LOG_TICKS = (0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.3, 1.5, 2, 3, 4, 5, 7, 10, 20, 50, 100)


def new_figure(height: float, width: float = WIDTH) -> Figure:
    """An empty figure that can be written without a display."""
    drawn = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(drawn)
    return drawn


def format_time(axis: Axes) -> None:
    """A grid, and few ticks along the time axis."""
    axis.grid(alpha=0.25, linewidth=0.5)
    axis.xaxis.set_major_locator(MaxNLocator(3, integer=True))


def format_numbers(axis: Axes) -> None:
    """Few ticks with separators of thousands along a linear axis."""
    axis.yaxis.set_major_locator(MaxNLocator(5))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _tick(value)))


def format_powers(axis: Axes) -> None:
    """A logarithmic axis with powers of ten, and 2 and 5 between them, as plain numbers."""
    axis.set_yscale("log")
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _tick(value)))
    axis.yaxis.set_minor_formatter(FuncFormatter(_few_labels))


def format_ratios(axis: Axes, low: float, high: float) -> None:
    """A logarithmic axis for ratios from ``low`` to ``high``, with plain numbers."""
    axis.set_yscale("log")
    axis.set_ylim(low, high)
    axis.yaxis.set_major_locator(FixedLocator(log_ticks(low, high)))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.yaxis.set_minor_locator(NullLocator())
    axis.yaxis.set_minor_formatter(NullFormatter())


def log_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers from ``low`` to ``high``, 1 among them, about evenly spaced in logarithms.

    >>> log_ticks(0.92, 1.4), log_ticks(0.9, 40.0)
    ([1, 1.1, 1.2, 1.3], [1, 2, 4, 10, 20])
    """
    inside = [tick for tick in _LOG_TICKS if low <= tick <= high]
    gap = (high / low) ** (1 / most)
    kept = [1.0] if low <= 1 <= high else inside[:1]
    for tick in sorted(inside, key=lambda tick: abs(tick - 1)):
        if all(max(tick / other, other / tick) >= gap for other in kept):
            kept.append(tick)
    return sorted({int(tick) if tick == int(tick) else tick for tick in kept})


def _tick(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:g}"


def _few_labels(value: float, _: object) -> str:
    """Between powers of ten, label only 2 and 5."""
    return _tick(value) if f"{value:e}"[0] in "25" and f"{value:.1e}"[2] == "0" else ""


def values_of(rows: Iterable[Row], column: str) -> list[Any]:
    """The distinct values of a column, in their order."""
    return list(dict.fromkeys(row[column] for row in rows))


def extent(rows: Sequence[Row], quantity: str) -> tuple[float, float]:
    """The smallest and the largest value of a quantity, its error bars included."""
    lows, highs = [], []
    for row in rows:
        mean, error = row[f"{quantity}_mean"], row[f"{quantity}_se"]
        bar = error if error == error else 0.0  # one run has no error
        lows.append(mean - bar)
        highs.append(mean + bar)
    return min(lows), max(highs)

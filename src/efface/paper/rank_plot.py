"""Fig. 2: the rank of the window over time, over all steps and over the last ones."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from efface.paper.drawing import Row, format_time, new_figure, values_of
from efface.paper.figure_rows import expected_rank

_RUN, _EXPECTED = "#0072B2", "#D55E00"
_DIMENSION = 100
_LAST = 300  # steps of the lower row


def draw_ranks(rows: Sequence[Row]) -> Figure:
    """One column per window; the lower row shows single steps, at its own scale."""
    windows = values_of(rows, "s")
    drawn = new_figure(3.7)
    axes = drawn.subplots(2, len(windows), sharey=False, squeeze=False)
    for column, s in enumerate(windows):
        part = [row for row in rows if row["s"] == s]
        for axis, shown in ((axes[0][column], part), (axes[1][column], part[-_LAST:])):
            _draw_ranks(axis, shown, expected_rank(s, _DIMENSION))
        axes[0][column].axhline(_DIMENSION, color="0.4", linewidth=0.8, linestyle=":")
        axes[0][column].set_ylim(0, 106)
        axes[0][column].set_title(f"s = {s}")
        axes[1][column].margins(y=0.15)
        axes[1][column].yaxis.set_major_locator(MaxNLocator(5, integer=True))
        axes[1][column].set_xlabel("t")
    axes[0][0].set_ylabel("rank of the window")
    axes[1][0].set_ylabel(f"the last {_LAST} steps")
    handles = [
        Line2D([], [], color=_RUN, linewidth=0.8, label="one run"),
        Line2D([], [], color=_EXPECTED, linewidth=1.1, label="expectation, d (1 − (1 − 1/d)^s)"),
        Line2D([], [], color="0.4", linestyle=":", linewidth=0.8, label="d"),
    ]
    drawn.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    return drawn


def _draw_ranks(axis: Axes, rows: Sequence[Row], expected: float) -> None:
    ranks = [row["rank"] for row in rows]
    axis.step([row["t"] for row in rows], ranks, color=_RUN, linewidth=0.6, zorder=3)
    axis.axhline(expected, color=_EXPECTED, linewidth=1.1, zorder=2)
    format_time(axis)
    axis.xaxis.set_major_locator(MaxNLocator(2, integer=True))

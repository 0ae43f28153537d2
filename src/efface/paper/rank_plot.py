"""Fig. 2: the rank of the window over time, over all steps and over the last ones."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from efface.paper.drawing import Row, format_time, new_figure, values_of

_RUN, _MEAN = "#0072B2", "#D55E00"
_LAST = 300  # steps of the lower row


def draw_ranks(rows: Sequence[Row]) -> Figure:
    """One column per window; the lower row shows single steps, at its own scale."""
    windows = values_of(rows, "s")
    drawn = new_figure(3.1 * len(windows) + 0.8, 5.4)
    axes = drawn.subplots(2, len(windows), sharey=False, squeeze=False)
    for column, s in enumerate(windows):
        part = [row for row in rows if row["s"] == s]
        _draw_all(axes[0][column], part)
        _draw_last(axes[1][column], part)
        falls = f"{part[-1]['falls_mean']:,.0f} falls in {len(part) - 1:,} steps"
        axes[0][column].set_title(f"s = {s}\n{falls}", fontweight="bold", fontsize=9)
        axes[1][column].set_xlabel("t")
    axes[0][0].set_ylabel("rank of the window")
    axes[1][0].set_ylabel(f"the same run, last {_LAST} steps")
    runs = rows[0]["runs"]
    drawn.suptitle(
        "Fig. 2: the rank of the window swings as rows arrive and leave\n"
        "contexts uniform on the unit vectors e1 .. e100, d = 100; "
        f"falls: steps that lower the rank, mean of {runs} runs",
        fontsize=11,
    )
    handles = [
        Line2D([], [], color=_RUN, label="one run"),
        Line2D([], [], color=_MEAN, label=f"mean of {runs} runs"),
        Line2D([], [], color="0.4", linestyle=":", label="d"),
    ]
    drawn.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    return drawn


def _draw_all(axis: Axes, rows: Sequence[Row]) -> None:
    t = [row["t"] for row in rows]
    axis.plot(t, [row["rank"] for row in rows], color=_RUN, linewidth=0.6)
    axis.plot(t, [row["rank_mean"] for row in rows], color=_MEAN, linewidth=0.9)
    axis.axhline(100, color="0.4", linewidth=0.9, linestyle=":")
    axis.set_ylim(0, 106)
    format_time(axis)


def _draw_last(axis: Axes, rows: Sequence[Row]) -> None:
    last = rows[-_LAST:]
    axis.step([row["t"] for row in last], [row["rank"] for row in last], color=_RUN, linewidth=0.9)
    axis.margins(y=0.15)
    axis.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    format_time(axis)

"""Draws the figures from rows; computes nothing but the positions of what it draws.

Figs. 3 to 7 are laid out as in the paper: one row of subplots per noise level, one column per
window. Subplots of a row share their axes, and no line leaves them. Each method has the same colour
in every figure. The colours are those of Okabe and Ito, which colour-blind readers can tell apart.
The paper's methods have solid lines and markers, the others have broken lines. Titles and last
values are in ``captions``, so that figures can be printed with captions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from efface.paper.drawing import (
    STYLE,
    Row,
    extent,
    format_numbers,
    format_powers,
    format_ratios,
    format_time,
    new_figure,
    values_of,
)
from efface.paper.memory_plot import draw_memory
from efface.paper.protocol_drawing import draw_protocol
from efface.paper.rank_plot import draw_ranks

RELATIVE = ("fig3", "fig4", "fig4-variance", "fig5")  # also relative to the best fixed penalty

_BARS = 8  # error bars per line
_EARLY = 20  # one in so many ratios is left out at the start: ratios of small sums mean little


@dataclass(frozen=True)
class LineStyle:
    """How a method is drawn and named."""

    colour: str
    label: str
    marker: str = ""
    dash: Any = "-"


STYLES: dict[Any, LineStyle] = {
    "adaptive": LineStyle("#0072B2", "adaptive ridge", "o"),
    "switching": LineStyle("#56B4E9", "switching ridge", "D"),
    1.0: LineStyle("#009E73", "fixed ridge, λ = σ", "s"),
    10.0: LineStyle("#D55E00", "fixed ridge, λ = 10 σ", "^"),
    100.0: LineStyle("#E69F00", "fixed ridge, λ = 100 σ", "v"),
    "oracle": LineStyle("#000000", "best ridge, λ = d var(ε) *", dash=(0, (5, 2))),
    "auto": LineStyle("#CC79A7", "AutoRidge *", dash=(0, (6, 1.5, 1, 1.5))),
    "zero": LineStyle("#888888", "estimate 0 *", dash=(0, (1, 1.5))),
}


@dataclass(frozen=True)
class _Layout:
    """A quantity, and the parameters that vary over the rows and the columns of the figure."""

    quantity: str
    axis: str
    down: tuple[str, str]  # name in the rows, symbol
    along: tuple[str, str]
    level: tuple[float, str] | None = None
    zoomed: bool = False  # a last row with the adaptive ridge alone


_SIGMA, _S = ("sigma", "σ"), ("s", "s")
_SUBPLOTS = {
    "fig3": (_SIGMA, _S),
    "fig4": (("df", "df"), _S),
    "fig4-variance": (("df", "df"), _S),
    "fig5": (_SIGMA, ("k", "k")),
}
_LAYOUTS = {
    **{name: _Layout("regret", "regret R(t)", *subplots) for name, subplots in _SUBPLOTS.items()},
    **{
        f"{name}-relative": _Layout(
            "relative", "R(t) / best fixed", *subplots, level=(1.0, "best fixed penalty")
        )
        for name, subplots in _SUBPLOTS.items()
    },
    "fig6": _Layout(
        "l2", "L2 error", _SIGMA, _S, level=(1.0, "error of the estimate 0 *"), zoomed=True
    ),
    "fig7": _Layout("lambda", "penalty λ", _SIGMA, _S),
}


def draw(figure: str, rows: Sequence[Row]) -> Figure:
    """The figure of the rows of one reading; Fig. 1 needs none."""
    with mpl.rc_context(STYLE):
        if figure == "fig1":
            return draw_protocol()
        if figure == "fig2":
            return draw_ranks(rows)
        return draw_memory(rows) if figure == "memory" else _grid(_LAYOUTS[figure], rows)


def save(drawn: Figure, png: Path, svg: Path) -> None:
    """Write both files; the same figure gives the same bytes."""
    drawn.savefig(png, dpi=200, metadata={"Software": None})
    drawn.set_layout_engine("none")  # the same places in both files, found once
    with mpl.rc_context({"svg.hashsalt": "efface", "svg.fonttype": "none"}):
        drawn.savefig(svg, metadata={"Date": None, "Creator": None})
    # Coordinates rounded to 0.01 points look the same and halve the file.
    text = re.sub(r"\d+\.\d{3,}", lambda found: f"{float(found[0]):.2f}", svg.read_text("utf-8"))
    svg.write_text(text, "utf-8", newline="\n")


def _grid(layout: _Layout, rows: Sequence[Row]) -> Figure:
    down, along = values_of(rows, layout.down[0]), values_of(rows, layout.along[0])
    count = len(down) + layout.zoomed
    drawn = new_figure(1.5 * count + 0.75)
    axes = drawn.subplots(count, len(along), sharex=True, sharey="row", squeeze=False)
    for i, value in enumerate(down):
        part = [row for row in rows if row[layout.down[0]] == value]
        for j, other in enumerate(along):
            _draw_lines(axes[i][j], layout, [row for row in part if row[layout.along[0]] == other])
        _limit(axes[i][0], layout, part)
        axes[i][0].set_ylabel(f"{layout.down[1]} = {value:g}\n{layout.axis}")
    if layout.zoomed:
        _draw_zoomed(axes[-1], layout, rows)
    for axis, other in zip(axes[0], along, strict=True):
        axis.set_title(f"{layout.along[1]} = {other:g}")
    for axis in axes[-1]:
        axis.set_xlabel("t (steps)" if layout.along[0] == "k" else "t")
    _add_legend(drawn, layout, rows)
    return drawn


def _draw_lines(axis: Axes, layout: _Layout, rows: Sequence[Row]) -> None:
    for place, (style, line) in enumerate(methods_in(rows)):
        shown = _late(line) if layout.quantity == "relative" else line
        if "lambda_run" in line[0] and style is STYLES["adaptive"]:
            run = [row["lambda_run"] for row in line]
            times = [row["t"] for row in line]
            axis.plot(times, run, color=style.colour, linewidth=0.6, alpha=0.5)
        _draw_line(axis, shown, layout.quantity, style, place)
    format_time(axis)
    if layout.level is not None:
        axis.axhline(layout.level[0], color="0.5", linewidth=0.8, zorder=1)


def _draw_line(
    axis: Axes, line: Sequence[Row], quantity: str, style: LineStyle, place: int
) -> None:
    error = [row[f"{quantity}_se"] for row in line]
    every = max(1, len(line) // _BARS)
    axis.errorbar(
        [row["t"] for row in line], [row[f"{quantity}_mean"] for row in line],
        yerr=error if any(error) else None, color=style.colour, linewidth=1.0,
        linestyle=style.dash, marker=style.marker, markersize=2.4,
        markevery=(place * every // 8, every), elinewidth=1.0,
        errorevery=(place * every // 8, every), zorder=2 + 0.01 * place,
    )  # fmt: skip


def _late(line: Sequence[Row]) -> Sequence[Row]:
    return line[len(line) // _EARLY :]


def _limit(axis: Axes, layout: _Layout, rows: Sequence[Row]) -> None:
    """Limits of a row of subplots that contain all of its lines."""
    if layout.quantity == "relative":
        subplots = ([row for row in rows if row[layout.along[0]] == j] for j in
                  values_of(rows, layout.along[0]))  # fmt: skip
        shown = [
            row for subplot in subplots for _, line in methods_in(subplot) for row in _late(line)
        ]
        low, high = extent(shown, "relative")
        low = max(low, 0.5 * min(row["relative_mean"] for row in shown))  # a bar may reach below 0
        margin = (high / min(low, 1.0)) ** 0.06  # so that no line lies on the edge
        format_ratios(axis, min(low, 1.0) / margin, high * margin)
    elif layout.quantity == "lambda":
        format_powers(axis)
    else:
        axis.set_ylim(0, 1.05 * max(extent(rows, layout.quantity)[1], 1.0))
        format_numbers(axis)


_SHADES = ("#0072B2", "#56B4E9", "#003a5c")
_DASHES: tuple[Any, ...] = ("-", (0, (4, 1.5)), (0, (1.5, 1)))


def _draw_zoomed(axes: Sequence[Axes], layout: _Layout, rows: Sequence[Row]) -> None:
    """The adaptive ridge alone, all noise levels in a subplot, around the level."""
    mine = [row for row in rows if row["method"] == "adaptive"]
    low, high = extent(mine, layout.quantity)
    for axis, other in zip(axes, values_of(rows, layout.along[0]), strict=True):
        for place, value in enumerate(values_of(rows, layout.down[0])):
            line = [r for r in mine if r[layout.along[0]] == other and r[layout.down[0]] == value]
            label = f"{layout.down[1]} = {value:g}"
            style = LineStyle(_SHADES[place], label, dash=_DASHES[place])
            _draw_line(axis, line, layout.quantity, style, place)
        format_time(axis)
        axis.axhline(1.0, color="0.5", linewidth=0.8, zorder=1)
    handles = [
        Line2D([], [], color=c, linestyle=d, linewidth=1.0, label=f"{layout.down[1]} = {v:g}")
        for c, d, v in zip(_SHADES, _DASHES, values_of(rows, layout.down[0]), strict=True)
    ]
    low, high = min(low, 1.0), max(high, 1.0)  # so that the level is in every subplot
    axes[0].set_ylim(low - 0.2 * (high - low), high + 0.05 * (high - low))
    axes[0].legend(handles=handles, loc="lower left", ncols=3, frameon=False, fontsize=6.5,
                   handlelength=1.4, columnspacing=0.8, borderpad=0.1)  # fmt: skip
    axes[0].set_ylabel(f"adaptive alone\n{layout.axis}")
    format_numbers(axes[0])


def _add_legend(drawn: Figure, layout: _Layout, rows: Sequence[Row]) -> None:
    handles = [_handle(style) for style, _ in methods_in(rows)]
    if "lambda_run" in rows[0]:
        handles.append(Line2D([], [], color="#0072B2", linewidth=0.6, label="adaptive, one run"))
    if layout.level is not None:
        handles.append(Line2D([], [], color="0.5", linewidth=0.8, label=layout.level[1]))
    drawn.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False)


def _handle(style: LineStyle) -> Line2D:
    return Line2D(
        [], [], color=style.colour, marker=style.marker, linestyle=style.dash, markersize=4,
        linewidth=1.0, label=style.label,
    )  # fmt: skip


def methods_in(rows: Sequence[Row]) -> Iterable[tuple[LineStyle, Sequence[Row]]]:
    """The rows of each method, with its style."""
    for key in STYLES:
        line = [row for row in rows if _key(row) == key]
        if line:
            yield STYLES[key], line


def _key(row: Row) -> Any:
    """The name of a method; for a fixed ridge, its penalty divided by sigma."""
    return row["penalty"] / row["sigma"] if row["method"] == "fixed" else row["method"]

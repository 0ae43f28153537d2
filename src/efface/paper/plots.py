"""Draws the figures from rows; computes nothing but the positions of what it draws.

The figures are laid out as in the paper: one row of panels per noise level, one column per window.
Each method has the same colour in every figure. The colours are those of Okabe and Ito, which
colour-blind readers can distinguish; markers distinguish the methods without colour.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator

Row = Mapping[str, Any]

_BARS = 12  # error bars per line


@dataclass(frozen=True)
class _Style:
    colour: str
    marker: str
    label: str


_STYLES = {
    "adaptive": _Style("#0072B2", "o", "adaptive ridge"),
    "switching": _Style("#56B4E9", "D", "switching ridge (OLS above 2d rows)"),
    1.0: _Style("#009E73", "s", "fixed ridge, λ = σ"),
    10.0: _Style("#D55E00", "^", "fixed ridge, λ = 10 σ"),
    100.0: _Style("#E69F00", "v", "fixed ridge, λ = 100 σ"),
}


@dataclass(frozen=True)
class _Layout:
    """A quantity, and the parameters that vary over the rows and the columns of the figure."""

    title: str
    quantity: str
    axis: str
    down: tuple[str, str]  # name in the rows, symbol
    along: tuple[str, str]
    log: bool = False
    final: bool = False  # print the last values beside each panel
    level: tuple[float, str] | None = None


_REGRET = "cumulative regret R(t)"
_LAYOUTS = {
    "fig3": _Layout(
        "Fig. 3: cumulative regret, memory of s rows, Gaussian noise",
        "regret", _REGRET, ("sigma", "σ"), ("s", "s"), final=True,
    ),
    "fig4": _Layout(
        "Fig. 4: cumulative regret, memory of s rows, Student-t noise (σ = 1)",
        "regret", _REGRET, ("df", "df"), ("s", "s"), final=True,
    ),
    "fig5": _Layout(
        "Fig. 5: cumulative regret, (+k, −1): k rows arrive and one leaves at each step",
        "regret", _REGRET, ("sigma", "σ"), ("k", "k"), final=True,
    ),
    "fig6": _Layout(
        "Fig. 6: L2 error of the estimate, memory of s rows, Gaussian noise",
        "l2", "L2 error", ("sigma", "σ"), ("s", "s"),
        level=(1.0, "error of the estimate 0"),
    ),
    "fig7": _Layout(
        "Fig. 7: the penalty λ, memory of s rows, Gaussian noise",
        "lambda", "penalty λ", ("sigma", "σ"), ("s", "s"), log=True,
    ),
}  # fmt: skip


def draw(figure: str, rows: Sequence[Row]) -> Figure:
    """The figure of the rows of one reading."""
    with mpl.rc_context({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}):
        return _ranks(rows) if figure == "fig2" else _grid(_LAYOUTS[figure], rows)


def save(drawn: Figure, png: Path, svg: Path) -> None:
    """Write both files; the same figure gives the same bytes."""
    drawn.savefig(png, dpi=100, metadata={"Software": None})
    with mpl.rc_context({"svg.hashsalt": "efface", "svg.fonttype": "none"}):
        drawn.savefig(svg, metadata={"Date": None, "Creator": None})
    # Coordinates rounded to 0.01 points look the same and halve the file.
    text = re.sub(r"\d+\.\d{3,}", lambda found: f"{float(found[0]):.2f}", svg.read_text("utf-8"))
    svg.write_text(text, "utf-8", newline="\n")


def _grid(layout: _Layout, rows: Sequence[Row]) -> Figure:
    down, along = _values(rows, layout.down[0]), _values(rows, layout.along[0])
    drawn, axes = _axes(len(down), len(along), sharey="none" if layout.final else "row")
    for i, value in enumerate(down):
        for j, other in enumerate(along):
            part = [row for row in rows if row[layout.down[0]] == value]
            _draw_lines(axes[i][j], layout, [row for row in part if row[layout.along[0]] == other])
            if i == 0:
                axes[i][j].set_title(f"{layout.along[1]} = {other:g}", fontweight="bold")
        axes[i][0].set_ylabel(f"{layout.down[1]} = {value:g}\n{layout.axis}")
    for axis in axes[-1]:
        axis.set_xlabel("t (steps)" if layout.along[0] == "k" else "t")
    _add_title_and_legend(drawn, layout, rows)
    return drawn


def _axes(down: int, along: int, *, sharey: Literal["none", "row"]) -> tuple[Figure, Any]:
    drawn = Figure(figsize=(3.1 * along + 0.8, 2.35 * down + 1.3), layout="constrained")
    FigureCanvasAgg(drawn)
    return drawn, drawn.subplots(down, along, sharex=True, sharey=sharey, squeeze=False)


def _draw_lines(axis: Axes, layout: _Layout, rows: Sequence[Row]) -> None:
    methods = list(_methods(rows))
    for place, (style, line) in enumerate(methods):
        t = [row["t"] for row in line]
        mean = [row[f"{layout.quantity}_mean"] for row in line]
        error = [row[f"{layout.quantity}_se"] for row in line]
        every = max(1, len(t) // _BARS)
        axis.errorbar(
            t, mean, yerr=error if any(error) else None, color=style.colour, linewidth=1.3,
            marker=style.marker, markersize=3, markevery=(place * every // 5, every),
            elinewidth=1.6, errorevery=(place * every // 5, every),
        )  # fmt: skip
    _format_axis(axis, layout)
    if layout.final:
        _write_final(axis, layout, methods)


def _format_axis(axis: Axes, layout: _Layout) -> None:
    axis.grid(alpha=0.25, linewidth=0.6)
    axis.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    if layout.level is not None:
        axis.axhline(layout.level[0], color="0.4", linewidth=0.9, linestyle=":")
    if layout.log:
        axis.set_yscale("log")
        axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.yaxis.set_minor_formatter(FuncFormatter(_few_labels))
    else:
        axis.yaxis.set_major_formatter(FuncFormatter(_tick))
    if layout.final:
        axis.set_ylim(bottom=0)


def _tick(value: float, _: object) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:g}"


def _few_labels(value: float, _: object) -> str:
    """Between powers of ten, label only 2 and 5."""
    return f"{value:g}" if f"{value:e}"[0] in "25" and f"{value:.1e}"[2] == "0" else ""


def _write_final(
    axis: Axes, layout: _Layout, methods: Iterable[tuple[_Style, Sequence[Row]]]
) -> None:
    """Print the last value of each line with its standard error to the right of the panel."""
    ends = sorted(
        (line[-1][f"{layout.quantity}_mean"], line[-1][f"{layout.quantity}_se"], style.colour)
        for style, line in methods
    )
    top = axis.get_ylim()[1]
    for height, (mean, error, colour) in zip(
        _separated([mean / top for mean, _, _ in ends]), ends, strict=True
    ):
        axis.text(
            1.01, height, f"{_figure(mean)}\n± {_figure(error)}", color=colour,
            transform=axis.transAxes, va="center", fontsize=7, linespacing=0.95,
        )  # fmt: skip


def _separated(heights: Sequence[float], gap: float = 0.17) -> list[float]:
    """Increasing heights moved apart to at least ``gap``, all of them at most 1."""
    placed: list[float] = []
    for height in heights:
        placed.append(max(height, placed[-1] + gap) if placed else max(height, 0.05))
    for i in reversed(range(len(placed))):
        placed[i] = min(placed[i], 1.0 - gap * (len(placed) - 1 - i))
    return placed


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}" if value < 10 else f"{value:.3g}"


def _add_title_and_legend(drawn: Figure, layout: _Layout, rows: Sequence[Row]) -> None:
    first = rows[0]
    what = [f"{first['reading']} contexts, d = 100, {first['runs']} runs, bars: standard error"]
    if layout.final:
        what.append("beside a panel: R at the last t ± its standard error")
    drawn.suptitle(f"{layout.title}\n{'; '.join(what)}", fontsize=11)
    handles = [
        Line2D([], [], color=style.colour, marker=style.marker, markersize=5, label=style.label)
        for style, _ in _methods(rows)
    ]
    if layout.level is not None:
        handles.append(Line2D([], [], color="0.4", linestyle=":", label=layout.level[1]))
    drawn.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False)


def _ranks(rows: Sequence[Row]) -> Figure:
    windows = _values(rows, "s")
    drawn, axes = _axes(1, len(windows), sharey="row")
    for axis, s in zip(axes[0], windows, strict=True):
        part = [row for row in rows if row["s"] == s]
        t = [row["t"] for row in part]
        axis.plot(t, [row["rank"] for row in part], color="#0072B2", linewidth=0.6)
        axis.plot(t, [row["rank_mean"] for row in part], color="#D55E00", linewidth=0.9)
        axis.axhline(100, color="0.4", linewidth=0.9, linestyle=":")
        axis.set_title(f"s = {s}", fontweight="bold")
        axis.set_xlabel("t")
        axis.grid(alpha=0.25, linewidth=0.6)
        axis.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes[0][0].set_ylabel("rank of the window")
    axes[0][0].set_ylim(0, 106)
    drawn.suptitle(
        "Fig. 2: the rank of the window swings as rows arrive and leave\n"
        "contexts uniform on the unit vectors e1 .. e100, d = 100",
        fontsize=11,
    )
    handles = [
        Line2D([], [], color="#0072B2", label="one run"),
        Line2D([], [], color="#D55E00", label=f"mean of {rows[0]['runs']} runs"),
        Line2D([], [], color="0.4", linestyle=":", label="d"),
    ]
    drawn.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    return drawn


def _values(rows: Iterable[Row], column: str) -> list[Any]:
    return list(dict.fromkeys(row[column] for row in rows))


def _methods(rows: Sequence[Row]) -> Iterable[tuple[_Style, Sequence[Row]]]:
    """The rows of each method, with its style."""
    for key in _STYLES:
        line = [row for row in rows if _key(row) == key]
        if line:
            yield _STYLES[key], line


def _key(row: Row) -> Any:
    """The name of a method; for a fixed ridge, its penalty divided by sigma."""
    return row["penalty"] / row["sigma"] if row["method"] == "fixed" else row["method"]

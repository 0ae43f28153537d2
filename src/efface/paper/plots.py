"""Draws the figures from rows; computes nothing but the positions of what it draws.

Figs. 3 to 7 are laid out as in the paper: one row of panels per noise level, one column per window.
Panels of a row share their axes. Each method has the same colour in every figure. The colours are
those of Okabe and Ito, which colour-blind readers can distinguish; the paper's methods have solid
lines and markers, the others have broken lines.
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
from matplotlib.ticker import FuncFormatter

from efface.paper.drawing import Row, final_values, format_time, new_figure, values_of
from efface.paper.protocol_drawing import draw_protocol
from efface.paper.rank_plot import draw_ranks

RELATIVE = ("fig3", "fig4", "fig5")  # also drawn relative to the best fixed penalty

_BARS = 12  # error bars per line
_ABOVE_ZERO = 1.45  # a panel ends at this multiple of the regret of the estimate 0
_ABOVE_BEST = 1.5  # and at this multiple of the regret of the best fixed penalty


@dataclass(frozen=True)
class _Style:
    colour: str
    label: str
    marker: str = ""
    dash: Any = "-"


_STYLES = {
    "adaptive": _Style("#0072B2", "adaptive ridge", "o"),
    "switching": _Style("#56B4E9", "switching ridge (OLS above 2d rows)", "D"),
    1.0: _Style("#009E73", "fixed ridge, λ = σ", "s"),
    10.0: _Style("#D55E00", "fixed ridge, λ = 10 σ", "^"),
    100.0: _Style("#E69F00", "fixed ridge, λ = 100 σ", "v"),
    "oracle": _Style("#000000", "best ridge, λ = d var(ε)  [not the paper's]", dash=(0, (5, 2))),
    "auto": _Style("#CC79A7", "AutoRidge  [not the paper's]", dash=(0, (6, 1.5, 1, 1.5))),
    "zero": _Style("#888888", "estimate 0  [not the paper's]", dash=(0, (1, 1.5))),
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
    final: str = ""  # what is printed beside each panel
    level: tuple[float, str] | None = None


_REGRET = "cumulative regret R(t)"
_SETTINGS = {
    "fig3": ("memory of s rows, Gaussian noise", ("sigma", "σ"), ("s", "s")),
    "fig4": ("memory of s rows, Student-t noise (σ = 1)", ("df", "df"), ("s", "s")),
    "fig5": (
        "(+k, −1): k rows arrive and one leaves at each step",
        ("sigma", "σ"),
        ("k", "k"),
    ),
}
_LAYOUTS = {
    **{
        name: _Layout(
            f"Fig. {name[-1]}: cumulative regret, {what}",
            "regret", _REGRET, down, along, final="R at the last t ± its standard error",
        )
        for name, (what, down, along) in _SETTINGS.items()
    },
    **{
        f"{name}-relative": _Layout(
            f"Fig. {name[-1]}, relative: regret over that of the best fixed penalty, {what}",
            "relative", "R(t) / best fixed", down, along,
            final="the last value ± its standard error", level=(1.0, "best fixed penalty"),
        )
        for name, (what, down, along) in _SETTINGS.items()
    },
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
    """The figure of the rows of one reading; Fig. 1 needs none."""
    with mpl.rc_context({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}):
        if figure == "fig1":
            return draw_protocol()
        return draw_ranks(rows) if figure == "fig2" else _grid(_LAYOUTS[figure], rows)


def save(drawn: Figure, png: Path, svg: Path) -> None:
    """Write both files; the same figure gives the same bytes."""
    drawn.savefig(png, dpi=100, metadata={"Software": None})
    drawn.set_layout_engine("none")  # the same places in both files, found once
    with mpl.rc_context({"svg.hashsalt": "efface", "svg.fonttype": "none"}):
        drawn.savefig(svg, metadata={"Date": None, "Creator": None})
    # Coordinates rounded to 0.01 points look the same and halve the file.
    text = re.sub(r"\d+\.\d{3,}", lambda found: f"{float(found[0]):.2f}", svg.read_text("utf-8"))
    svg.write_text(text, "utf-8", newline="\n")


def _grid(layout: _Layout, rows: Sequence[Row]) -> Figure:
    down, along = values_of(rows, layout.down[0]), values_of(rows, layout.along[0])
    size = (3.1 * len(along) + (1.6 if layout.final else 0.8), 2.35 * len(down) + 1.5)
    drawn = new_figure(*size)
    axes = drawn.subplots(len(down), len(along), sharex=True, sharey="row", squeeze=False)
    for i, value in enumerate(down):
        part = [row for row in rows if row[layout.down[0]] == value]
        for j, other in enumerate(along):
            _draw_lines(axes[i][j], layout, [row for row in part if row[layout.along[0]] == other])
            if i == 0:
                axes[i][j].set_title(f"{layout.along[1]} = {other:g}", fontweight="bold")
        _limit(axes[i][0], layout, part)
        for j, other in enumerate(along):
            subplot = [row for row in part if row[layout.along[0]] == other]
            _write_final(axes[i][j], layout, subplot)
        axes[i][0].set_ylabel(f"{layout.down[1]} = {value:g}\n{layout.axis}")
    for axis in axes[-1]:
        axis.set_xlabel("t (steps)" if layout.along[0] == "k" else "t")
    _add_title_and_legend(drawn, layout, rows)
    return drawn


def _draw_lines(axis: Axes, layout: _Layout, rows: Sequence[Row]) -> None:
    for place, (style, every_row) in enumerate(_methods(rows)):
        # Ratios of small sums mean little: the first of them are left out.
        line = every_row[len(every_row) // 20 if layout.quantity == "relative" else 0 :]
        t = [row["t"] for row in line]
        mean = [row[f"{layout.quantity}_mean"] for row in line]
        error = [row[f"{layout.quantity}_se"] for row in line]
        every = max(1, len(t) // _BARS)
        if "lambda_run" in line[0] and style.label == _STYLES["adaptive"].label:
            run = [row["lambda_run"] for row in line]
            axis.plot(t, run, color=style.colour, linewidth=0.7, alpha=0.55)
        axis.errorbar(
            t, mean, yerr=error if any(error) else None, color=style.colour, linewidth=1.3,
            linestyle=style.dash, marker=style.marker, markersize=3,
            markevery=(place * every // 8, every), elinewidth=1.6,
            errorevery=(place * every // 8, every), zorder=2 + 0.01 * place,
        )  # fmt: skip
    _format_axis(axis, layout)


def _format_axis(axis: Axes, layout: _Layout) -> None:
    format_time(axis)
    if layout.level is not None:
        axis.axhline(layout.level[0], color="0.6", linewidth=0.8)
    if layout.log:
        axis.set_yscale("log")
        axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.yaxis.set_minor_formatter(FuncFormatter(_few_labels))
    else:
        axis.yaxis.set_major_formatter(FuncFormatter(_tick))


def _limit(axis: Axes, layout: _Layout, rows: Sequence[Row]) -> None:
    """Limits for a row of panels in which lines that are close together can be told apart."""
    if not layout.final:
        return
    end = rows[-1]["t"]
    ends = [row for row in rows if row["t"] == end]
    last = [row[f"{layout.quantity}_mean"] for row in ends]
    if layout.quantity == "relative":
        late = [row["relative_mean"] for row in rows if row["t"] > 0.2 * end]
        axis.set_ylim(min(late) - 0.03, min(_ABOVE_BEST, max(late) + 0.05))
        return
    zero = [row["regret_mean"] for row in ends if row["method"] == "zero"]
    axis.set_ylim(0, min(1.05 * max(last), _ABOVE_ZERO * max(zero, default=max(last))))


def _tick(value: float, _: object) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:g}"


def _few_labels(value: float, _: object) -> str:
    """Between powers of ten, label only 2 and 5."""
    return f"{value:g}" if f"{value:e}"[0] in "25" and f"{value:.1e}"[2] == "0" else ""


def _write_final(axis: Axes, layout: _Layout, rows: Sequence[Row]) -> None:
    """Print the last value of each line with its standard error to the right of the panel."""
    if layout.final:
        ends = [
            (line[-1][f"{layout.quantity}_mean"], line[-1][f"{layout.quantity}_se"], style.colour)
            for style, line in _methods(rows)
        ]
        final_values(axis, ends)


def _add_title_and_legend(drawn: Figure, layout: _Layout, rows: Sequence[Row]) -> None:
    first = rows[0]
    runs = f"{first['runs']} runs"
    auto = {row["runs"] for row in rows if row["method"] == "auto"}
    if auto and auto != {first["runs"]}:
        runs += f" (AutoRidge {min(auto)})"
    what = [f"{first['reading']} contexts, d = 100, {runs}"]
    what.append("bars: standard error, often smaller than the markers")
    lines = ["; ".join(what), *([f"beside a panel: {layout.final}"] if layout.final else [])]
    drawn.suptitle("\n".join([layout.title, *lines]), fontsize=11)
    handles = [_handle(style) for style, _ in _methods(rows)]
    if "lambda_run" in first:
        handles.append(Line2D([], [], color="#0072B2", linewidth=0.7, label="adaptive, one run"))
    if layout.level is not None:
        handles.append(Line2D([], [], color="0.6", linewidth=0.8, label=layout.level[1]))
    columns = min(len(handles), 4)
    drawn.legend(handles=handles, loc="outside lower center", ncols=columns, frameon=False)


def _handle(style: _Style) -> Line2D:
    return Line2D(
        [], [], color=style.colour, marker=style.marker, linestyle=style.dash, markersize=5,
        label=style.label,
    )  # fmt: skip


def _methods(rows: Sequence[Row]) -> Iterable[tuple[_Style, Sequence[Row]]]:
    """The rows of each method, with its style."""
    for key in _STYLES:
        line = [row for row in rows if _key(row) == key]
        if line:
            yield _STYLES[key], line


def _key(row: Row) -> Any:
    """The name of a method; for a fixed ridge, its penalty divided by sigma."""
    return row["penalty"] / row["sigma"] if row["method"] == "fixed" else row["method"]

"""The error of each method against the number of rows that it may keep."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from efface.paper.drawing import Row, format_powers, new_figure, values_of

#: Colour, label, line and marker of each method; those of the other figures where they occur there.
_LINES = {
    "ols": ("#D55E00", "least squares", "s"),
    "adaptive": ("#0072B2", "adaptive ridge (the paper's)", "o"),
    "oracle": ("#000000", "best ridge, λ = d σ² *", "x"),
    "auto": ("#CC79A7", "AutoRidge *", "^"),
}


def draw_memory(rows: Sequence[Row]) -> Figure:
    """One subplot per noise level, both axes logarithmic."""
    sigmas = values_of(rows, "sigma")
    drawn = new_figure(2.9)
    axes = drawn.subplots(1, len(sigmas), squeeze=False)[0]
    for axis, sigma in zip(axes, sigmas, strict=True):
        _draw_subplot(axis, [row for row in rows if row["sigma"] == sigma])
        axis.set_title(f"σ = {sigma:g}")
        axis.set_xlabel("rows n")
    axes[0].set_ylabel("expected squared regret\nof one prediction")
    handles, labels = axes[0].get_legend_handles_labels()
    drawn.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return drawn


def _draw_subplot(axis: Axes, rows: Sequence[Row]) -> None:
    n = values_of(rows, "n")
    floor = {row["n"]: row["floor"] for row in rows}
    axis.plot(n, [floor[k] for k in n], color="0.6", linewidth=3, label="floor of the prior *")
    exact = {row["n"]: row["ols_exact"] for row in rows if row["ols_exact"] is not None}
    axis.plot(list(exact), list(exact.values()), color="#D55E00", linewidth=0.8, linestyle=":",
              label="least squares, exact: σ² d / (n − d − 1)")  # fmt: skip
    for method, (colour, label, marker) in _LINES.items():
        line = [row for row in rows if row["method"] == method]
        axis.errorbar(
            [row["n"] for row in line], [row["error_mean"] for row in line],
            yerr=[row["error_se"] for row in line], color=colour, label=label, marker=marker,
            markersize=2.8, linewidth=0.8, elinewidth=0.8,
        )  # fmt: skip
    axis.axvline(100, color="0.75", linewidth=0.8, zorder=0)
    axis.set_xscale("log")
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    format_powers(axis)
    axis.grid(alpha=0.25, linewidth=0.5)

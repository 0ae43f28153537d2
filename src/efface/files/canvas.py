"""The paper that charts are drawn on: one common axis of time, two themes, lines, bands and dots.

Colours are names; the page turns them into those of its light or dark theme.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from bokeh.models import (
    BasicTickFormatter,
    ColumnDataSource,
    DatetimeTickFormatter,
    HoverTool,
    Model,
    Range1d,
)
from bokeh.models.annotations import Span
from bokeh.plotting import figure

LIGHT = {
    "ink": "#1c2430",
    "muted": "#5b6675",
    "grid": "#e6e9ee",
    "ours": "#1d5fd1",
    "band": "#9dbdf2",
    "truth": "#39424f",
    "warn": "#b4431f",
    "0": "#c77700",
    "1": "#0b8a7d",
    "2": "#a58be0",
    "3": "#7b53cc",
    "4": "#4f2c9e",
    "5": "#c2408f",
    "6": "#8a94a3",
}
DARK = {
    "ink": "#e8ecf2",
    "muted": "#a3adbb",
    "grid": "#2b323d",
    "ours": "#6ea8ff",
    "band": "#2f568f",
    "truth": "#cfd6e0",
    "warn": "#ff9068",
    "0": "#f2b04a",
    "1": "#45d0bf",
    "2": "#7c66b3",
    "3": "#a78bf0",
    "4": "#d3c2ff",
    "5": "#f285c4",
    "6": "#77818f",
}
Scale = Literal["linear", "log"]
Axis = Literal["calendar", "number", "row"]

_SHORT = "%Y-%m-%d %H:%M"
_TIP = "display:grid;grid-template-columns:auto auto;gap:2px 10px;font:13px system-ui,sans-serif"
_MARKS = 40  # as many lines may cross a chart


class Canvas:
    """Figures that share an axis; ``themed`` says which of their properties follow the theme."""

    def __init__(self, x: Any, axis: Axis, marks: Sequence[float]) -> None:
        self.themed: dict[str, dict[str, str]] = {}
        self._axis, self._marks = axis, sorted(set(marks))[:_MARKS]
        pad = 0.01 * (x[-1] - x[0]) or 1.0
        self.start, self.end = float(x[0] - pad), float(x[-1] + pad)
        bounds = self.start - 2 * pad, self.end + 2 * pad
        self.axis = Range1d(start=self.start, end=self.end, bounds=bounds)

    def figure(self, height: int, label: str, scale: Scale = "linear") -> Any:
        plot = figure(
            height=height,
            sizing_mode="stretch_width",
            x_range=self.axis,
            x_axis_type="datetime" if self._axis == "calendar" else "linear",
            y_axis_type=scale,
            y_axis_label=label,
            tools="xbox_zoom,xpan,xwheel_zoom,reset",
            active_drag="xbox_zoom",
            active_scroll=None,
            toolbar_location=None,
            background_fill_alpha=0,
            border_fill_alpha=0,
            outline_line_alpha=0,
            output_backend="canvas",
            min_border_right=12,
        )
        plot.toolbar.logo = None
        ticker: Any = plot.yaxis[0].ticker
        ticker.desired_num_ticks = 5
        self._dress(plot)
        self._mark(plot)
        return plot

    def level(self, plot: Any, value: float) -> None:
        mark = Span(location=value, dimension="width", line_dash="dashed", line_width=1.2)
        self.theme(mark, line_color="muted")
        plot.add_layout(mark)

    def line(
        self, plot: Any, source: Any, name: str, colour: str, width: float, label: str = ""
    ) -> Any:
        labels = {"legend_label": label} if label else {}
        line = plot.line("x", name, source=source, line_width=width, line_join="round", **labels)
        self.theme(line.glyph, line_color=colour)
        return line

    def band(
        self, plot: Any, source: Any, low: str, high: str, colour: str, alpha: float, label: str
    ) -> Any:
        band = plot.varea("x", low, high, source=source, fill_alpha=alpha, legend_label=label)
        self.theme(band.glyph, fill_color=colour)
        return band

    def dots(self, plot: Any, source: Any, name: str, colour: str, label: str = "") -> Any:
        """One dot a row."""
        labels = {"legend_label": label} if label else {}
        dots = plot.scatter("x", name, source=source, size=3.5, line_color=None, **labels)
        dots.glyph.fill_alpha = 0.75
        self.theme(dots.glyph, fill_color=colour)
        return dots

    def hover(self, plot: Any, renderer: Any, lines: list[tuple[str, str]]) -> None:
        """Figures beside the pointer; in HTML that takes its colours from the page."""
        name = "time" if self._axis != "row" else "row"
        when = f"@x{{{_SHORT}}}" if self._axis == "calendar" else "@x{0,0.[00]}"
        formatters: Any = {"@x": "datetime"} if self._axis == "calendar" else {}
        rows = "".join(
            f'<span style="opacity:.75">{label}</span><b style="font-weight:600">{value}</b>'
            for label, value in [(name, when), *lines]
        )
        plot.add_tools(
            HoverTool(
                renderers=[renderer],
                tooltips=f'<div style="{_TIP}">{rows}</div>',
                formatters=formatters,
                mode="vline",
                visible=False,
            )
        )

    def theme(self, model: Model, **colours: str) -> None:
        """Colour a model, and note that the page may colour it anew."""
        for name, colour in colours.items():
            setattr(model, name, LIGHT[colour])
        self.themed.setdefault(model.id, {}).update(colours)

    def _dress(self, plot: Any) -> None:
        for axis in (plot.xaxis[0], plot.yaxis[0]):
            axis.axis_line_color = None
            axis.minor_tick_line_color = None
            axis.axis_label_text_font_style = "normal"
            axis.axis_label_text_font = axis.major_label_text_font = "system-ui, sans-serif"
            axis.axis_label_text_font_size = axis.major_label_text_font_size = "12px"
            self.theme(axis, axis_label_text_color="muted", major_label_text_color="muted")
            self.theme(axis, major_tick_line_color="grid")
        for grid in plot.grid:
            self.theme(grid, grid_line_color="grid")
        plot.xgrid[0].visible = False
        if self._axis != "calendar":
            plot.xaxis[0].axis_label = "time" if self._axis != "row" else "row"
            plot.xaxis[0].formatter = BasicTickFormatter(use_scientific=False)
        else:
            plot.xaxis[0].formatter = DatetimeTickFormatter(
                hours="%H:%M",
                days="%e %b",
                months="%b",
                years="%Y",
                context=DatetimeTickFormatter(hours="%e %b %Y", days="%Y", months="%Y", years=""),
                context_which="start",
                hide_repeats=True,
            )

    def _mark(self, plot: Any) -> None:
        """A dotted line wherever something is marked."""
        for place in self._marks:
            mark = Span(location=place, dimension="height", line_dash="dotted", line_width=1)
            self.theme(mark, line_color="warn")
            plot.add_layout(mark)


def put_legend_above(plot: Any) -> None:
    legend = plot.legend[0]
    legend.orientation = "horizontal"
    legend.background_fill_alpha = legend.border_line_alpha = 0
    legend.label_text_font = "system-ui, sans-serif"
    legend.label_text_font_size = "12px"
    legend.glyph_width, legend.spacing, legend.padding, legend.margin = 18, 10, 2, 2
    plot.add_layout(legend, "above")


def as_source(columns: Mapping[str, Any]) -> ColumnDataSource:
    """Single precision is finer than a screen; times are not single."""
    return ColumnDataSource(
        {
            name: np.asarray(values, np.float64 if name == "x" else np.float32)
            for name, values in columns.items()
        }
    )

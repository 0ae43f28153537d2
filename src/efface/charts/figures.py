"""Bokeh figures that share one x axis, with lines, bands and dots that follow the page's theme."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from bokeh.models import (
    BasicTickFormatter,
    ColumnDataSource,
    CustomJS,
    DatetimeTickFormatter,
    HoverTool,
    Model,
    Range1d,
)
from bokeh.models.annotations import Span
from bokeh.plotting import figure

from efface.charts.history import AxisKind
from efface.charts.themes import LIGHT

Scale = Literal["linear", "log"]

_TIME_FORMAT = "%Y-%m-%d %H:%M"
_TIP = "display:grid;grid-template-columns:auto auto;gap:2px 10px;font:13px system-ui,sans-serif"
MOST_MARKS = 40  # vertical lines in one chart
_FONT = "system-ui, sans-serif"


_FIT_TO_VIEW = """
const inside = [], x = source.data.x
for (let i = 0; i < x.length; i++) if (x[i] >= axis.start && x[i] <= axis.end) inside.push(i)
function extent(names, low, high) {
  for (const name of names) for (const i of inside) {
    const value = source.data[name][i]
    if (Number.isFinite(value)) { low = Math.min(low, value); high = Math.max(high, value) }
  }
  return [low, high]
}
let [low, high] = extent(inner, Infinity, -Infinity)
if (low > high) return
const room = 3 * (high - low || Math.abs(high) || 1)
const [bottom, top] = extent(outer, low, high)
low = outer.length ? Math.max(bottom, low - room) : 0
high = Math.min(top, high + room)
const pad = 0.06 * (high - low || 1)
range.setv({start: outer.length ? low - pad : 0, end: high + pad})
"""


class LinkedFigures:
    """Figures that zoom together. ``themed`` lists the colour properties that follow the theme."""

    def __init__(self, x: Any, axis: AxisKind, marks: Sequence[float]) -> None:
        self.themed: dict[str, dict[str, str]] = {}
        self._kind, self._marks = axis, _spread(sorted(set(marks)))
        pad = 0.01 * (x[-1] - x[0]) or 1.0
        self.start, self.end = float(x[0] - pad), float(x[-1] + pad)
        bounds = self.start - 2 * pad, self.end + 2 * pad
        self.axis = Range1d(start=self.start, end=self.end, bounds=bounds)

    def figure(self, height: int, label: str, scale: Scale = "linear") -> Any:
        """A new figure with the marks drawn in."""
        plot = figure(
            height=height,
            sizing_mode="stretch_width",
            x_range=self.axis,
            x_axis_type="datetime" if self._kind == "calendar" else "linear",
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
        self._style_axes(plot)
        for place in self._marks:
            self._rule(plot, place, "height", "dotted", 1.0, "warn")
        return plot

    def follow(self, plot: Any, source: Any, inner: list[str], outer: list[str]) -> None:
        """Fit the y range to what is in view: to ``inner`` columns, and to ``outer`` ones.

        An outer column, such as a very wide interval of a few rows, is cut off beyond three times
        the extent of the inner ones. Without outer columns, the range starts at 0.
        """
        plot.y_range = Range1d(start=0.0, end=1.0)
        args = {"axis": self.axis, "source": source, "range": plot.y_range}
        react = CustomJS(args=args | {"inner": inner, "outer": outer}, code=_FIT_TO_VIEW)
        self.axis.js_on_change("start", react)
        self.axis.js_on_change("end", react)
        source.js_on_change("data", react)

    def level(self, plot: Any, value: float) -> None:
        """A dashed horizontal line."""
        self._rule(plot, value, "width", "dashed", 1.2, "muted")

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
        """The area between two columns, below everything else."""
        band = plot.varea("x", low, high, source=source, fill_alpha=alpha, legend_label=label)
        band.level = "underlay"
        self.theme(band.glyph, fill_color=colour)
        return band

    def dots(self, plot: Any, source: Any, name: str, colour: str, label: str = "") -> Any:
        """One dot per row."""
        labels = {"legend_label": label} if label else {}
        dots = plot.scatter("x", name, source=source, size=3.5, line_color=None, **labels)
        dots.glyph.fill_alpha = 0.75
        self.theme(dots.glyph, fill_color=colour)
        return dots

    def hover(self, plot: Any, renderer: Any, lines: list[tuple[str, str]]) -> None:
        """A tooltip, in HTML that takes its colours from the page."""
        calendar = self._kind == "calendar"
        when = f"@x{{{_TIME_FORMAT}}}" if calendar else "@x{0,0.[00]}"
        formatters = {"@x": "datetime"} if calendar else {}
        rows = "".join(
            f'<span style="opacity:.75">{label}</span><b style="font-weight:600">{value}</b>'
            for label, value in [(self._axis_name, when), *lines]
        )
        tip = f'<div style="{_TIP}">{rows}</div>'
        options: Any = {"formatters": formatters, "mode": "vline", "visible": False}
        plot.add_tools(HoverTool(renderers=[renderer], tooltips=tip, **options))

    def legend_above(self, plot: Any) -> None:
        legend = plot.legend[0]
        legend.orientation = "horizontal"
        legend.background_fill_alpha = legend.border_line_alpha = 0
        legend.label_text_font, legend.label_text_font_size = _FONT, "12px"
        legend.glyph_width, legend.spacing, legend.padding, legend.margin = 18, 10, 2, 2
        plot.add_layout(legend, "above")
        self.theme(legend, label_text_color="ink")

    def theme(self, model: Model, **colours: str) -> None:
        """Colour a Bokeh model, and record which properties the page recolours."""
        for name, colour in colours.items():
            setattr(model, name, LIGHT[colour])
        self.themed.setdefault(model.id, {}).update(colours)

    @property
    def _axis_name(self) -> str:
        return "row" if self._kind == "row" else "time"

    def _rule(
        self, plot: Any, at: float, dimension: Any, dash: Any, width: float, colour: str
    ) -> None:
        rule = Span(location=at, dimension=dimension, line_dash=dash, line_width=width)
        self.theme(rule, line_color=colour)
        plot.add_layout(rule)

    def _style_axes(self, plot: Any) -> None:
        for axis in (plot.xaxis[0], plot.yaxis[0]):
            axis.axis_line_color = None
            axis.minor_tick_line_color = None
            axis.axis_label_text_font_style = "normal"
            axis.axis_label_text_font = axis.major_label_text_font = _FONT
            axis.axis_label_text_font_size = axis.major_label_text_font_size = "12px"
            self.theme(axis, axis_label_text_color="muted", major_label_text_color="muted")
            self.theme(axis, major_tick_line_color="grid")
        for grid in plot.grid:
            self.theme(grid, grid_line_color="grid")
        plot.xgrid[0].visible = False
        if self._kind == "calendar":
            plot.xaxis[0].formatter = _calendar_ticks()
            plot.xaxis[0].ticker.desired_num_ticks = 5  # labels with years are wide
        else:
            plot.xaxis[0].axis_label = self._axis_name
            plot.xaxis[0].formatter = BasicTickFormatter(use_scientific=False)


def _spread(marks: Sequence[float]) -> list[float]:
    """At most ``MOST_MARKS`` marks, evenly chosen."""
    if len(marks) <= MOST_MARKS:
        return list(marks)
    return [marks[k] for k in np.linspace(0, len(marks) - 1, MOST_MARKS).round().astype(int)]


def _calendar_ticks() -> DatetimeTickFormatter:
    return DatetimeTickFormatter(
        hours="%H:%M",
        days="%e %b",
        months="%b %Y",
        years="%Y",
        context=DatetimeTickFormatter(hours="%e %b %Y", days="%Y", months="", years=""),
        context_which="start",
        hide_repeats=True,
    )


def as_source(columns: Mapping[str, Any]) -> ColumnDataSource:
    """Columns for Bokeh in single precision, which is enough for a screen, but not for times."""
    return ColumnDataSource(
        {
            name: np.asarray(values, np.float64 if name == "x" else np.float32)
            for name, values in columns.items()
        }
    )

"""The charts of a report: what the log of a journey looks like, drawn by Bokeh.

All charts share one axis of time, so that zooming into one zooms into all. Colours are names that
the page turns into those of its light or dark theme.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from bokeh.models import (
    BasicTickFormatter,
    ColumnDataSource,
    CustomJS,
    DatetimeTickFormatter,
    HoverTool,
    Model,
    NumeralTickFormatter,
    Range1d,
)
from bokeh.models.annotations import Span
from bokeh.plotting import figure

from efface.digests import Digest
from efface.journey import Log

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

_SHORT = "%Y-%m-%d %H:%M"
_SHORTLY = "{0.[000]a}"
_PREDICTED = [
    ("prediction", f"@prediction{_SHORTLY}"),
    ("interval", f"@lower{_SHORTLY} to @upper{_SHORTLY}"),
]
_TIP = "display:grid;grid-template-columns:auto auto;gap:2px 10px;font:13px system-ui,sans-serif"
_MARKS = 40  # requests that are drawn as lines
_NEAR = 1500  # rows in view, from which on they are drawn one by one
_BY_DISTANCE = """
const close = axis.end - axis.start < limit
for (const each of near) each.visible = close
for (const each of far) each.visible = !close
"""


class Chart(NamedTuple):
    """A figure with a heading and the sentence that says what it shows."""

    name: str
    title: str
    says: str
    figure: Any
    wide: bool = False


@dataclass
class Gallery:
    """All charts of a report, and which of their properties follow the theme."""

    charts: list[Chart] = field(default_factory=list)
    themed: dict[str, dict[str, str]] = field(default_factory=dict)
    lines: dict[str, tuple[str, str]] = field(default_factory=dict)  # of errors: id and colour
    axis: str = ""  # the id of the common one
    views: list[tuple[str, float, float]] = field(default_factory=list)


def draw(summary: Mapping[str, Any], log: Log) -> Gallery:
    """The charts of a journey."""
    artist = _Artist(summary, log)
    for chart in (
        artist.predictions(),
        artist.errors(),
        artist.coverage(),
        artist.penalty(),
        artist.rank(),
        artist.condition(),
        artist.leverage(),
        artist.regret(),
    ):
        artist.gallery.charts.append(chart)
    return artist.gallery


class _Artist:
    """Draws on one common axis."""

    def __init__(self, summary: Mapping[str, Any], log: Log) -> None:
        self.summary, self.log = summary, log
        self.gallery = Gallery()
        self._calendar = isinstance(log.first, np.datetime64)
        self._timed = log.first is not None
        x = log.fine.mean("x")
        pad = 0.01 * (x[-1] - x[0]) or 1.0
        bounds = x[0] - 3 * pad, x[-1] + 3 * pad
        self._range = Range1d(start=x[0] - pad, end=x[-1] + pad, bounds=bounds)
        self._span = float(x[-1] - x[0] + 2 * pad)
        self.gallery.axis = self._range.id
        self.gallery.views = _views(x, log.fine.width, pad)

    # -- the charts ------------------------------------------------------------------------------

    def predictions(self) -> Chart:
        log, target = self.log, self.summary["source"]["target"]
        plot = self._figure(340, target)
        plot.toolbar_location = "above"
        plot.y_range = _padded(log.medium.low("y"), log.medium.high("y"))
        near = self._near(plot)
        if log.medium.width > 1:
            self._by_distance(self._far(plot), near)
        _legend(plot)
        self._theme(plot.legend[0], label_text_color="ink")
        level = self.summary["interval"]["level"]
        says = (
            f"Each row is predicted before it is learned; the blue band is the {level:.0%} "
            "interval. Drag to zoom in: all charts move together. Dotted lines are requests to "
            "forget."
        )
        return Chart("predictions", "Prediction against truth", says, plot, wide=True)

    def _near(self, plot: Any) -> list[Any]:
        """The rows themselves, or as many of them as the log has kept apart."""
        source = self._means(self.log.fine)
        line = self._line(plot, source, "prediction", "ours", 1.6, "prediction")
        band = self._band(plot, source, "lower", "upper", "band", 0.55, "interval")
        band.level = "underlay"
        dots = self._dots(plot, source, "y", "truth")
        self._hover(plot, line, [("truth", f"@y{_SHORTLY}"), *_PREDICTED])
        return [band, dots, line]

    def _far(self, plot: Any) -> list[Any]:
        """Bins of rows, with the extremes of the truth and of the intervals."""
        source = self._means(self.log.medium)
        line = self._line(plot, source, "prediction", "ours", 2.0, "prediction")
        band = self._band(plot, source, "lower", "upper", "band", 0.55, "interval")
        truth = self._band(plot, source, "y_low", "y_high", "truth", 0.28, "truth")
        band.level = truth.level = "underlay"
        extent = f"@y_low{_SHORTLY} to @y_high{_SHORTLY} in {self.log.medium.width} rows"
        self._hover(plot, line, [("truth", extent), *_PREDICTED])
        return [band, truth, line]

    def errors(self) -> Chart:
        digest, names = self.log.coarse, list(self.summary["errors"])
        plot = self._figure(300, "mean absolute error")
        means = {name: digest.mean(name) for name in names}
        plot.y_range = Range1d(start=0, end=1.05 * max(map(_greatest, means.values())) or 1.0)
        source = _source({"x": digest.mean("x"), **means})
        for place, name in reversed(list(enumerate(names))):
            colour = _colour(place)
            line = self._line(plot, source, name, colour, 1.5 if place else 2.8)
            self.gallery.lines[name] = line.id, colour
        self._hover(plot, line, [(name, f"@{{{name}}}{_SHORTLY}") for name in names])
        says = (
            f"The mean absolute error of every {digest.width} rows; lower is better. The table "
            "names the lines."
        )
        return Chart("errors", "Running error", says, plot, wide=True)

    def coverage(self) -> Chart:
        digest, level = self.log.coarse, self.summary["interval"]["level"]
        plot = self._figure(230, "held the truth")
        rate = digest.mean("covered")
        lowest = np.nanmin(rate) if np.isfinite(rate).any() else level
        plot.y_range = Range1d(start=max(0.0, min(0.8, lowest - 0.05)), end=1.02)
        plot.yaxis.formatter = NumeralTickFormatter(format="0%")
        source = _source({"x": digest.mean("x"), "covered": rate})
        self._level(plot, level)
        line = self._line(plot, source, "covered", "ours", 2.0)
        self._hover(plot, line, [("held", "@covered{0.0%}"), ("promised", f"{level:.0%}")])
        says = (
            f"How often the {level:.0%} interval held the truth, in every {digest.width} rows; "
            "the dashed line is what it promises."
        )
        return Chart("coverage", "Coverage over time", says, plot)

    def penalty(self) -> Chart:
        says = "The ridge penalty that the model chose from the live rows."
        if self.summary["model"]["alpha"] is not None:
            says = "The ridge penalty, which is fixed for this model."
        if self.summary["model"]["name"] == "OLS":
            says = "Least squares has no penalty."
        return self._series("penalty", "Penalty", says, "penalty", "mean")

    def rank(self) -> Chart:
        digest = self.log.medium
        plot = self._figure(230, "rank")
        count = len(self.summary["source"]["features"])
        source = _source(
            {"x": digest.mean("x"), "rank": digest.low("rank"), "rows": digest.mean("n_rows")}
        )
        self._level(plot, count)
        line = self._line(plot, source, "rank", "ours", 2.0)
        plot.y_range = Range1d(start=0, end=1.12 * count)
        self._hover(plot, line, [("rank", "@rank"), ("rows alive", "@rows{0,0}")])
        says = (
            f"The rank of the live rows, at its lowest; below the dashed line ({count} features) "
            "they do not determine all coefficients."
        )
        return Chart("rank", "Rank", says, plot)

    def condition(self) -> Chart:
        says = (
            "The condition number of the system that is solved, at its highest; large is fragile."
        )
        return self._series("condition", "Condition", says, "condition", "high", log_scale=True)

    def leverage(self) -> Chart:
        says = (
            "How much the model leans on the oldest row, the next to be deleted, at its highest; "
            "near 1 it hangs on that row alone."
        )
        title = "Leverage of what is deleted"
        return self._series("leverage_oldest", title, says, "leverage", "high")

    def regret(self) -> Chart:
        says = (
            "The forgetting regret term at its highest: peaks mark the deletions that hurt, "
            "because no row left could stand in."
        )
        return self._series(
            "frt", "When deletion hurt", says, "FRT", "high", log_scale=True, colour="warn"
        )

    def _series(
        self,
        name: str,
        title: str,
        says: str,
        label: str,
        which: str,
        *,
        log_scale: bool = False,
        colour: str = "ours",
    ) -> Chart:
        digest = self.log.medium
        values, x = getattr(digest, which)(name), digest.mean("x")
        known = np.isfinite(values) & (values > 0 if log_scale else True)
        plot = self._figure(230, label, "log" if log_scale else "linear")
        if not log_scale:
            plot.y_range = Range1d(start=0, end=1.1 * values[known].max(initial=0.0) or 1.0)
        source = _source({"x": x[known], "value": values[known]})
        line = self._line(plot, source, "value", colour, 1.8)
        self._hover(plot, line, [(label, "@value{0.[0000]a}")])
        return Chart(name, title, says, plot)

    # -- what they are made of -------------------------------------------------------------------

    def _figure(self, height: int, label: str, scale: Scale = "linear") -> Any:
        plot = figure(
            height=height,
            sizing_mode="stretch_width",
            x_range=self._range,
            x_axis_type="datetime" if self._calendar else "linear",
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
        self._requests(plot)
        return plot

    def _dress(self, plot: Any) -> None:
        for axis in (plot.xaxis[0], plot.yaxis[0]):
            axis.axis_line_color = None
            axis.minor_tick_line_color = None
            axis.axis_label_text_font_style = "normal"
            axis.axis_label_text_font = axis.major_label_text_font = "system-ui, sans-serif"
            axis.axis_label_text_font_size = axis.major_label_text_font_size = "12px"
            self._theme(axis, axis_label_text_color="muted", major_label_text_color="muted")
            self._theme(axis, major_tick_line_color="grid")
        for grid in plot.grid:
            self._theme(grid, grid_line_color="grid")
        plot.xgrid[0].visible = False
        if not self._calendar:
            plot.xaxis[0].axis_label = "time" if self._timed else "row"
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

    def _theme(self, model: Model, **colours: str) -> None:
        """Colour a model, and note that the page may colour it anew."""
        for name, colour in colours.items():
            setattr(model, name, LIGHT[colour])
        self.gallery.themed.setdefault(model.id, {}).update(colours)

    def _requests(self, plot: Any) -> None:
        """A dotted line wherever a request was answered."""
        if not self.log.rows:
            return
        for place in sorted({self._at(o.row) for o in self.log.outcomes})[:_MARKS]:
            mark = Span(location=place, dimension="height", line_dash="dotted", line_width=1)
            self._theme(mark, line_color="warn")
            plot.add_layout(mark)

    def _at(self, row: int) -> float:
        digest = self.log.fine
        x = digest.mean("x")
        return float(x[min(row // digest.width, len(x) - 1)])

    def _level(self, plot: Any, value: float) -> None:
        mark = Span(location=value, dimension="width", line_dash="dashed", line_width=1.2)
        self._theme(mark, line_color="muted")
        plot.add_layout(mark)

    def _means(self, digest: Digest) -> ColumnDataSource:
        columns = {name: digest.mean(name) for name in ("x", "y", "prediction")}
        columns |= {"lower": digest.low("lower"), "upper": digest.high("upper")}
        if digest.width > 1:
            columns |= {"y_low": digest.low("y"), "y_high": digest.high("y")}
        return _source(columns)

    def _line(
        self, plot: Any, source: Any, name: str, colour: str, width: float, label: str = ""
    ) -> Any:
        labels = {"legend_label": label} if label else {}
        line = plot.line("x", name, source=source, line_width=width, line_join="round", **labels)
        self._theme(line.glyph, line_color=colour)
        return line

    def _band(
        self, plot: Any, source: Any, low: str, high: str, colour: str, alpha: float, label: str
    ) -> Any:
        band = plot.varea("x", low, high, source=source, fill_alpha=alpha, legend_label=label)
        self._theme(band.glyph, fill_color=colour)
        return band

    def _dots(self, plot: Any, source: Any, name: str, label: str) -> Any:
        dots = plot.scatter(
            "x", name, source=source, size=3.5, line_color=None, fill_alpha=0.75, legend_label=label
        )
        self._theme(dots.glyph, fill_color="truth")
        return dots

    def _hover(self, plot: Any, renderer: Any, lines: list[tuple[str, str]]) -> None:
        """Figures beside the pointer; in HTML that takes its colours from the page."""
        name = "time" if self._timed else "row"
        when = f"@x{{{_SHORT}}}" if self._calendar else "@x{0,0.[00]}"
        formatters: Any = {"@x": "datetime"} if self._calendar else {}
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

    def _by_distance(self, far: list[Any], near: list[Any]) -> None:
        """From afar bins with their extremes, from near the rows: a thousand dots say nothing."""
        for each in near:
            each.visible = False
        limit = self._span * _NEAR / self.log.rows
        args = {"axis": self._range, "near": near, "far": far, "limit": limit}
        react = CustomJS(args=args, code=_BY_DISTANCE)
        self._range.js_on_change("start", react)
        self._range.js_on_change("end", react)


def _legend(plot: Any) -> None:
    legend = plot.legend[0]
    legend.orientation = "horizontal"
    legend.background_fill_alpha = legend.border_line_alpha = 0
    legend.label_text_font = "system-ui, sans-serif"
    legend.label_text_font_size = "12px"
    legend.glyph_width, legend.spacing, legend.padding, legend.margin = 18, 10, 2, 2
    plot.add_layout(legend, "above")


def _colour(place: int) -> str:
    """The model first, the value before it last, the others between."""
    return "ours" if place == 0 else str((place - 2) % 7)


def _greatest(values: Any) -> float:
    return float(np.nanmax(values)) if np.isfinite(values).any() else 0.0


def _views(x: Any, width: int, pad: float) -> list[tuple[str, float, float]]:
    """What buttons offer to look at: everything, or the last rows."""
    views = [("all rows", float(x[0] - pad), float(x[-1] + pad))]
    for rows in (10_000, 1_000, 200):
        if rows < 0.7 * len(x) * width and rows > 2 * width:
            first = float(x[-rows // width])
            views.append((f"last {rows:,}", first, float(x[-1]) + 0.02 * (float(x[-1]) - first)))
    return views


def _source(columns: Mapping[str, Any]) -> ColumnDataSource:
    """Single precision is finer than a screen; times are not single."""
    return ColumnDataSource(
        {
            name: np.asarray(values, np.float64 if name == "x" else np.float32)
            for name, values in columns.items()
        }
    )


def _padded(low: Any, high: Any) -> Range1d:
    bottom, top = float(np.nanmin(low)), float(np.nanmax(high))
    pad = 0.08 * (top - bottom) or 1.0
    return Range1d(start=bottom - pad, end=top + pad)

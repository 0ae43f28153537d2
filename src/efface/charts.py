"""The charts of a report: what the log of a journey looks like, drawn by Bokeh.

All charts share one axis of time, so that zooming into one zooms into all. Colours are names that
the page turns into those of its light or dark theme.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

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
    Span,
)
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
_SHORT = "%Y-%m-%d %H:%M"
_SHORTLY = "{0.[000]a}"
_PREDICTED = [
    ("prediction", f"@prediction{_SHORTLY}"),
    ("interval", f"@lower{_SHORTLY} to @upper{_SHORTLY}"),
]
_MARKS = 40  # requests that are drawn as lines
_NEAR = 1500  # rows in view, from which on they are drawn one by one
_BY_DISTANCE = """
const close = axis.end - axis.start < limit
for (const each of near) each.visible = close
for (const each of far) each.visible = !close
"""


@dataclass(frozen=True)
class Chart:
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
        self._range = Range1d(
            x[0] - pad, x[-1] + pad, bounds=(x[0] - 3 * pad, x[-1] + 3 * pad), min_interval=pad / 50
        )

    # -- the charts ------------------------------------------------------------------------------

    def predictions(self) -> Chart:
        log, target = self.log, self.summary["source"]["target"]
        plot = self._figure(330, target)
        plot.y_range = _padded(log.medium.low("y"), log.medium.high("y"))
        near = self._near(plot)
        if log.medium.width > 1:
            self._by_distance(self._far(plot), near)
        self._legend(plot)
        level = self.summary["interval"]["level"]
        says = (
            f"Each row is predicted before it is learned; the band is the {level:.0%} interval. "
            "Drag to zoom: all charts move together."
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
        """Bins of rows, with the extremes of the truth."""
        source = self._means(self.log.medium)
        line = self._line(plot, source, "prediction", "ours", 1.6, "prediction")
        band = self._band(plot, source, "lower", "upper", "band", 0.55, "interval")
        truth = self._band(plot, source, "y_low", "y_high", "truth", 0.3, "truth")
        band.level = truth.level = "underlay"
        extent = f"@y_low{_SHORTLY} to @y_high{_SHORTLY} in {self.log.medium.width} rows"
        self._hover(plot, line, [("truth", extent), *_PREDICTED])
        return [band, truth, line]

    def errors(self) -> Chart:
        digest, names = self.log.coarse, list(self.summary["errors"])
        plot = self._figure(320, "mean absolute error")
        source = _source({"x": digest.mean("x"), **{n: digest.mean(n) for n in names}})
        for place, name in enumerate(names[1:]):
            self._line(plot, source, name, str((place - 1) % 7), 1.4, name)
        ours = self._line(plot, source, names[0], "ours", 2.8, names[0])
        self._hover(plot, ours, [(name, f"@{{{name}}}{{0.[000]a}}") for name in names])
        self._legend(plot, below=True)
        says = (
            f"The mean absolute error of every {digest.width} rows, lower is better; "
            "click a name to hide its line. Dotted lines are requests to forget."
        )
        return Chart("errors", "Running error", says, plot, wide=True)

    def coverage(self) -> Chart:
        digest, level = self.log.coarse, self.summary["interval"]["level"]
        plot = self._figure(230, "held the truth")
        rate = digest.mean("covered")
        lowest = np.nanmin(rate) if np.isfinite(rate).any() else level
        plot.y_range = Range1d(max(0.0, min(0.8, lowest - 0.05)), 1.02)
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
        plot.y_range = Range1d(0, 1.12 * count)
        self._hover(plot, line, [("rank", "@rank"), ("rows alive", "@rows{0,0}")])
        says = (
            f"The rank of the live rows, at its lowest; below the dashed line ({count} features) "
            "they do not determine all coefficients."
        )
        return Chart("rank", "Rank", says, plot)

    def condition(self) -> Chart:
        says = "The condition number of the system that is solved, at its highest; large is fragile."
        return self._series("condition", "Condition", says, "condition", "high", log_scale=True)

    def leverage(self) -> Chart:
        says = (
            "How much the model leans on the oldest row, the next to be deleted, at its highest; "
            "near 1 it hangs on that row alone."
        )
        return self._series(
            "leverage_oldest", "Leverage of what is deleted", says, "leverage", "high"
        )

    def regret(self) -> Chart:
        says = (
            "The forgetting regret term at its highest: peaks mark the deletions that hurt, "
            "because no row left could stand in."
        )
        return self._series("frt", "When deletion hurt", says, "FRT", "high", colour="warn")

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
        known = np.isfinite(values)
        plot = self._figure(230, label, "log" if log_scale else "linear")
        source = _source({"x": x[known], "value": values[known]})
        line = self._line(plot, source, "value", colour, 1.8)
        self._hover(plot, line, [(label, "@value{0.[0000]a}")])
        return Chart(name, title, says, plot)

    # -- what they are made of -------------------------------------------------------------------

    def _figure(self, height: int, label: str, scale: str = "linear") -> Any:
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
            toolbar_location="above",
            background_fill_alpha=0,
            border_fill_alpha=0,
            outline_line_alpha=0,
            output_backend="canvas",
            min_border_right=12,
        )
        plot.toolbar.logo = None
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
                hours="%H:%M", days="%e %b", months="%b %Y", years="%Y"
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
        columns = {name: digest.mean(name) for name in ("x", "y", "prediction", "lower", "upper")}
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
        when = ("time", f"@x{{{_SHORT}}}") if self._calendar else (
            "time" if self._timed else "row", "@x{0,0.[00]}"
        )
        formatters = {"@x": "datetime"} if self._calendar else {}
        plot.add_tools(
            HoverTool(
                renderers=[renderer],
                tooltips=[when, *lines],
                formatters=formatters,
                mode="vline",
                visible=False,
            )
        )

    def _legend(self, plot: Any, *, below: bool = False) -> None:
        legend = plot.legend[0]
        legend.click_policy = "hide" if below else "none"
        legend.orientation = "horizontal"
        legend.background_fill_alpha = legend.border_line_alpha = 0
        legend.label_text_font = "system-ui, sans-serif"
        legend.label_text_font_size = "12px"
        legend.glyph_width, legend.spacing, legend.padding, legend.margin = 18, 10, 2, 2
        legend.ncols = "auto" if not below else 2
        self._theme(legend, label_text_color="ink")
        plot.add_layout(legend, "below" if below else "above")

    def _by_distance(self, far: list[Any], near: list[Any]) -> None:
        """From afar bins with their extremes, from near the rows: a thousand dots say nothing."""
        for each in near:
            each.visible = False
        whole = self._range.end - self._range.start
        args = {"axis": self._range, "near": near, "far": far, "limit": whole * _NEAR / self.log.rows}
        react = CustomJS(args=args, code=_BY_DISTANCE)
        self._range.js_on_change("start", react)
        self._range.js_on_change("end", react)


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
    return Range1d(bottom - pad, top + pad)

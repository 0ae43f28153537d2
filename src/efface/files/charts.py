"""The charts of a report: what the log of a journey looks like, drawn by Bokeh.

All charts share one axis of time, so that zooming into one zooms into all. Colours are names that
the page turns into those of its light or dark theme.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from bokeh.models import ColumnDataSource, CustomJS, NumeralTickFormatter, Range1d

from efface.files.canvas import Axis, Canvas, as_source, put_legend_above
from efface.files.downsampling import Digest
from efface.files.streaming import Log

_SHORTLY = "{0.[000]a}"
_PREDICTED = [
    ("prediction", f"@prediction{_SHORTLY}"),
    ("interval", f"@lower{_SHORTLY} to @upper{_SHORTLY}"),
]
_FEW = 60  # points, below which each is drawn
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
        x = log.fine.mean("x")
        marks = [_at(x, log.fine.width, outcome.row) for outcome in log.outcomes]
        self.canvas = Canvas(x, _axis(log), marks)
        self.gallery = Gallery(
            themed=self.canvas.themed,
            axis=self.canvas.axis.id,
            views=_views(x, log.fine.width, self.canvas),
        )

    # -- the charts ------------------------------------------------------------------------------

    def predictions(self) -> Chart:
        log, target = self.log, self.summary["source"]["target"]
        plot = self.canvas.figure(340, target)
        plot.toolbar_location = "above"
        plot.y_range = _padded(log.medium.low("y"), log.medium.high("y"))
        near = self._near(plot)
        if log.medium.width > 1:
            self._by_distance(self._far(plot), near)
        put_legend_above(plot)
        self.canvas.theme(plot.legend[0], label_text_color="ink")
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
        line = self.canvas.line(plot, source, "prediction", "ours", 1.6, "prediction")
        band = self.canvas.band(plot, source, "lower", "upper", "band", 0.55, "interval")
        band.level = "underlay"
        dots = self.canvas.dots(plot, source, "y", "truth", "truth")
        self.canvas.hover(plot, line, [("truth", f"@y{_SHORTLY}"), *_PREDICTED])
        return [band, dots, line]

    def _far(self, plot: Any) -> list[Any]:
        """Bins of rows, with the extremes of the truth and of the intervals."""
        source = self._means(self.log.medium)
        line = self.canvas.line(plot, source, "prediction", "ours", 2.0, "prediction")
        band = self.canvas.band(plot, source, "lower", "upper", "band", 0.55, "interval")
        truth = self.canvas.band(plot, source, "y_low", "y_high", "truth", 0.28, "truth")
        band.level = truth.level = "underlay"
        extent = f"@y_low{_SHORTLY} to @y_high{_SHORTLY} in {self.log.medium.width} rows"
        self.canvas.hover(plot, line, [("truth", extent), *_PREDICTED])
        return [band, truth, line]

    def errors(self) -> Chart:
        digest, names = self.log.coarse, list(self.summary["errors"])
        plot = self.canvas.figure(300, "mean absolute error")
        means = {name: digest.mean(name) for name in names}
        plot.y_range = Range1d(start=0, end=1.05 * max(map(_greatest, means.values())) or 1.0)
        source = as_source({"x": digest.mean("x"), **means})
        for place, name in reversed(list(enumerate(names))):
            colour = _colour(place)
            line = self.canvas.line(plot, source, name, colour, 1.5 if place else 2.8)
            self.gallery.lines[name] = line.id, colour
        self.canvas.hover(plot, line, [(name, f"@{{{name}}}{_SHORTLY}") for name in names])
        says = (
            f"The mean absolute error of every {digest.width} rows; lower is better. The table "
            "names the lines."
        )
        return Chart("errors", "Running error", says, plot, wide=True)

    def coverage(self) -> Chart:
        digest, level = self.log.coarse, self.summary["interval"]["level"]
        plot = self.canvas.figure(230, "held the truth")
        rate = digest.mean("covered")
        lowest = np.nanmin(rate) if np.isfinite(rate).any() else level
        plot.y_range = Range1d(start=max(0.0, min(0.8, lowest - 0.05)), end=1.02)
        plot.yaxis.formatter = NumeralTickFormatter(format="0%")
        source = as_source({"x": digest.mean("x"), "covered": rate})
        self.canvas.level(plot, level)
        line = self.canvas.line(plot, source, "covered", "ours", 2.0)
        self.canvas.hover(plot, line, [("held", "@covered{0.0%}"), ("promised", f"{level:.0%}")])
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
        plot = self.canvas.figure(230, "rank")
        count = len(self.summary["source"]["features"])
        source = as_source(
            {"x": digest.mean("x"), "rank": digest.low("rank"), "rows": digest.mean("n_rows")}
        )
        self.canvas.level(plot, count)
        line = self.canvas.line(plot, source, "rank", "ours", 2.0)
        plot.y_range = Range1d(start=0, end=1.12 * count)
        self.canvas.hover(plot, line, [("rank", "@rank"), ("rows alive", "@rows{0,0}")])
        says = (
            f"The rank of the live rows, at its lowest; below the dashed line ({count} features) "
            "they do not determine all coefficients."
        )
        return Chart("rank", "Rank", says, plot)

    def condition(self) -> Chart:
        says = (
            "The condition number of the live rows, taken now and then; the larger it is, the "
            "fewer digits of the coefficients can be relied on."
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
        plot = self.canvas.figure(230, label, "log" if log_scale else "linear")
        if not log_scale:
            plot.y_range = Range1d(start=0, end=1.1 * values[known].max(initial=0.0) or 1.0)
        source = as_source({"x": x[known], "value": values[known]})
        line = self.canvas.line(plot, source, "value", colour, 1.8)
        if known.sum() < _FEW:
            self.canvas.dots(plot, source, "value", colour)
        self.canvas.hover(plot, line, [(label, "@value{0.[0000]a}")])
        return Chart(name, title, says, plot)

    def _means(self, digest: Digest) -> ColumnDataSource:
        columns = {name: digest.mean(name) for name in ("x", "y", "prediction")}
        columns |= {"lower": digest.low("lower"), "upper": digest.high("upper")}
        if digest.width > 1:
            columns |= {"y_low": digest.low("y"), "y_high": digest.high("y")}
        return as_source(columns)

    def _by_distance(self, far: list[Any], near: list[Any]) -> None:
        """From afar bins with their extremes, from near the rows: a thousand dots say nothing."""
        for each in near:
            each.visible = False
        limit = (self.canvas.end - self.canvas.start) * _NEAR / self.log.rows
        args = {"axis": self.canvas.axis, "near": near, "far": far, "limit": limit}
        react = CustomJS(args=args, code=_BY_DISTANCE)
        self.canvas.axis.js_on_change("start", react)
        self.canvas.axis.js_on_change("end", react)


def _colour(place: int) -> str:
    """The model first, the value before it last, the others between."""
    return "ours" if place == 0 else str((place - 2) % 7)


def _greatest(values: Any) -> float:
    return float(np.nanmax(values)) if np.isfinite(values).any() else 0.0


def _axis(log: Log) -> Axis:
    if log.first is None:
        return "row"
    return "calendar" if isinstance(log.first, np.datetime64) else "number"


def _at(x: Any, width: int, row: int) -> float:
    """Where a row lies."""
    return float(x[min(row // width, len(x) - 1)])


def _views(x: Any, width: int, canvas: Canvas) -> list[tuple[str, float, float]]:
    """What buttons offer to look at: everything, or the last rows."""
    views = [("all rows", canvas.start, canvas.end)]
    for rows in (10_000, 1_000, 200):
        if rows < 0.7 * len(x) * width and rows > 2 * width:
            first = float(x[-rows // width])
            views.append((f"last {rows:,}", first, float(x[-1]) + 0.02 * (float(x[-1]) - first)))
    return views


def _padded(low: Any, high: Any) -> Range1d:
    bottom, top = float(np.nanmin(low)), float(np.nanmax(high))
    pad = 0.08 * (top - bottom) or 1.0
    return Range1d(start=bottom - pad, end=top + pad)

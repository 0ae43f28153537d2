"""The charts of a replay: predictions, errors, coverage and diagnostics over time.

All charts share one x axis, so that zooming one zooms all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from bokeh.models import ColumnDataSource, CustomJS, NumeralTickFormatter, Range1d

from efface.charts.downsampling import BinnedSeries
from efface.charts.figures import MOST_MARKS, LinkedFigures, as_source
from efface.charts.history import History, Labels
from efface.charts.themes import series_colour

_SHORT = "{0.[000]a}"
_PREDICTED = [
    ("prediction", f"@prediction{_SHORT}"),
    ("interval", f"@lower{_SHORT} to @upper{_SHORT}"),
]
_FEW_POINTS = 60  # below this, each point is drawn as a dot too
_CLOSE_ROWS = 1500  # with at most this many rows in view, rows are drawn instead of bins
_SHOW_ROWS_OR_BINS = """
const close = axis.end - axis.start < limit
for (const each of rows) each.visible = close
for (const each of bins) each.visible = !close
"""


class Chart(NamedTuple):
    """A figure with its title, and a caption that says what it shows."""

    name: str
    title: str
    caption: str
    figure: Any
    wide: bool = False


class Selection(NamedTuple):
    """What a reader can choose to see in a chart: columns by group, then by feature."""

    source: str  # the Bokeh id of the data source
    choices: dict[str, dict[str, dict[str, list[float | None]]]]


@dataclass
class ChartSet:
    """All charts of a page, and what its script needs to know of them."""

    charts: list[Chart] = field(default_factory=list)
    themed: dict[str, dict[str, str]] = field(default_factory=dict)  # Bokeh id: property: colour
    lines: dict[str, tuple[str, str]] = field(default_factory=dict)  # contender: Bokeh id, colour
    axis: str = ""  # the Bokeh id of the shared x range
    views: list[tuple[str, float, float]] = field(default_factory=list)  # label, start, end
    paths: Selection | None = None  # coefficients by group and feature
    group_errors: Selection | None = None  # errors by group


def draw(history: History, labels: Labels) -> ChartSet:
    """All charts of a replay."""
    drawing = _Drawing(history, labels)
    drawing.result.charts = [
        drawing.predictions(),
        drawing.coefficients(),
        drawing.errors(),
        drawing.coverage(),
        *([] if drawing.constant_penalty else [drawing.penalty()]),
        drawing.rank(),
        drawing.condition(),
        drawing.leverage(),
        drawing.regret(),
    ]
    return drawing.result


class _Drawing:
    """Draws the charts on one x axis."""

    def __init__(self, history: History, labels: Labels) -> None:
        self.history, self.labels = history, labels
        x, width = history.fine.mean("x"), history.fine.width
        marks = [float(x[min(row // width, len(x) - 1)]) for row in history.requests]
        self.figures = LinkedFigures(x, history.axis, marks)
        axis, views = self.figures.axis.id, _views(x, width, self.figures)
        self.result = ChartSet(themed=self.figures.themed, axis=axis, views=views)

    # -- one chart each --------------------------------------------------------------------------

    def predictions(self) -> Chart:
        medium = self.history.medium
        plot = self.figures.figure(340, self.labels.target)
        plot.toolbar_location = "above"
        rows = self._rows(plot)
        caption = (
            f"Each row is predicted before the model learns it. The blue band is the "
            f"{self.labels.level:.0%} prediction interval. {self._marks_text()}"
            "Drag to zoom: all charts zoom together."
        )
        if medium.width > 1:
            self._switch_by_zoom(self._bins(plot), rows)
            caption += f" Zoomed out, areas show the range within blocks of {medium.width} rows."
        self.figures.legend_above(plot)
        return Chart("predictions", "Predicted and observed", caption, plot, wide=True)

    def _marks_text(self) -> str:
        places = len(set(self.history.requests))
        if not places:
            return ""
        some = f" at {MOST_MARKS} of {places} places" if places > MOST_MARKS else ""
        return f"Dotted lines are requests to forget{some}. "

    def _rows(self, plot: Any) -> list[Any]:
        """Single rows, or the finest bins that the history has kept."""
        source = self._source(self.history.fine)
        line = self.figures.line(plot, source, "prediction", "model", 1.6, "prediction")
        band = self.figures.band(plot, source, "lower", "upper", "interval", 0.55, "interval")
        dots = self.figures.dots(plot, source, "y", "observed", "observed")
        self.figures.follow(plot, source, ["y", "prediction"], ["lower", "upper"])
        self.figures.hover(plot, line, [("observed", f"@y{_SHORT}"), *_PREDICTED])
        return [band, dots, line]

    def _bins(self, plot: Any) -> list[Any]:
        """Bins of rows, with the range of the observed values and of the intervals."""
        source, width = self._source(self.history.medium), self.history.medium.width
        line = self.figures.line(plot, source, "prediction", "model", 2.0, "prediction")
        band = self.figures.band(plot, source, "lower", "upper", "interval", 0.55, "interval")
        observed = self.figures.band(plot, source, "y_low", "y_high", "observed", 0.28, "observed")
        extent = f"@y_low{_SHORT} to @y_high{_SHORT} in {width} rows"
        self.figures.hover(plot, line, [("observed", extent), *_PREDICTED])
        return [band, observed, line]

    def coefficients(self) -> Chart:
        paths, names = self.history.paths, self.labels.features
        choices = {
            group: {names[j]: _plain(paths.path(group, j)) for j in range(paths.features)}
            for group in paths.groups
        }
        plot = self.figures.figure(280, "coefficient")
        source = as_source(paths.path(next(iter(paths.groups)), 0))
        self.figures.level(plot, 0.0)
        self.figures.band(plot, source, "lower", "upper", "interval", 0.55, "95% band")
        line = self.figures.line(plot, source, "coef", "model", 2.0, "coefficient")
        band = f"@lower{_SHORT} to @upper{_SHORT}"
        self.figures.hover(plot, line, [("coefficient", f"@coef{_SHORT}"), ("95% band", band)])
        self.figures.follow(plot, source, ["coef"], ["lower", "upper"])
        self.figures.legend_above(plot)
        self.result.paths = Selection(source.id, choices)
        caption = (
            "The change of the prediction per unit of a feature, all other features fixed. The "
            "band is 1.96 standard errors on each side, from the live rows; with a penalty these "
            "are posterior deviations."
        )
        return Chart("coefficients", "Coefficients", caption, plot, wide=True)

    @property
    def constant_penalty(self) -> bool:
        """Whether a chart of the penalty would be a horizontal line."""
        series = self.history.medium
        return -_maximum(-series.low("penalty")) == _maximum(series.high("penalty"))

    def errors(self) -> Chart:
        series, names = self.history.coarse, self.labels.contenders
        plot = self.figures.figure(300, "mean absolute error")
        means = {name: series.mean(name) for name in names}
        source = as_source({"x": series.mean("x"), **means})
        self.result.group_errors = Selection(source.id, self._errors_by_group(source))
        for position, name in reversed(list(enumerate(names))):
            colour = series_colour(position)
            line = self.figures.line(plot, source, name, colour, 1.5 if position else 2.8)
            self.result.lines[name] = line.id, colour
        self.figures.hover(plot, line, [(name, f"@{{{name}}}{_SHORT}") for name in names])
        self.figures.follow(plot, source, list(names), [])
        caption = (
            f"The mean absolute error in each block of {series.width} rows; lower is better. The "
            "table below names the lines."
        )
        return Chart("errors", "Error over time", caption, plot, wide=True)

    def _errors_by_group(self, whole: Any) -> dict[str, dict[str, dict[str, list[float | None]]]]:
        """The columns of the errors chart: of all rows, then of each group."""
        names, found = self.labels.contenders, {"": {"": _plain(whole.data)}}
        for group, series in self.history.groups.items():
            columns = {name: series.mean(name) for name in ("x", *names)}
            found[group] = {"": _plain(columns)}
        return found if self.history.groups else {}

    def coverage(self) -> Chart:
        series, level = self.history.coarse, self.labels.level
        plot = self.figures.figure(230, "covered")
        rate = series.mean("covered")
        lowest = np.nanmin(rate) if np.isfinite(rate).any() else level
        plot.y_range = Range1d(start=max(0.0, min(0.8, lowest - 0.05)), end=1.02)
        plot.yaxis.formatter = NumeralTickFormatter(format="0%")
        source = as_source({"x": series.mean("x"), "covered": rate})
        self.figures.level(plot, level)
        line = self.figures.line(plot, source, "covered", "model", 2.0)
        self.figures.hover(plot, line, [("covered", "@covered{0.0%}"), ("nominal", f"{level:.0%}")])
        caption = (
            f"The share of {level:.0%} intervals that contain the observed value, in each block of "
            f"{series.width} rows. The dashed line is the nominal level."
        )
        return Chart("coverage", "Interval coverage", caption, plot)

    def penalty(self) -> Chart:
        caption = "The ridge penalty that the model computed from the live rows."
        return self._series("penalty", "Penalty", caption, "penalty", "mean")

    def rank(self) -> Chart:
        series, count = self.history.medium, len(self.labels.features)
        plot = self.figures.figure(230, "rank")
        columns = {"rank": series.low("rank"), "rows": series.mean("n_rows")}
        source = as_source({"x": series.mean("x"), **columns})
        self.figures.level(plot, count)
        line = self.figures.line(plot, source, "rank", "model", 2.0)
        plot.y_range = Range1d(start=0, end=1.12 * count)
        self.figures.hover(plot, line, [("rank", "@rank"), ("live rows", "@rows{0,0}")])
        caption = (
            f"The lowest rank of the live rows. Below the dashed line ({count} features) the rows "
            "do not determine all coefficients."
        )
        return Chart("rank", "Rank", caption, plot)

    def condition(self) -> Chart:
        caption = (
            "The condition number of the live rows, computed at some rows only. The larger it is, "
            "the fewer digits of the coefficients are reliable."
        )
        title = "Condition number"
        return self._series("condition", title, caption, "condition", "high", log_scale=True)

    def leverage(self) -> Chart:
        caption = (
            "The highest leverage of the oldest row, which is the next to leave. Near 1, the fit "
            "at that row depends on that row alone."
        )
        title = "Leverage of the next row to leave"
        return self._series("leverage_oldest", title, caption, "leverage", "high")

    def regret(self) -> Chart:
        caption = (
            "The highest forgetting regret term (FRT). A peak marks a deletion that loses "
            "information that no remaining row has."
        )
        title = "Cost of deletions"
        return self._series("frt", title, caption, "FRT", "high", log_scale=True, colour="warn")

    # -- shared ----------------------------------------------------------------------------------

    def _series(
        self,
        name: str,
        title: str,
        caption: str,
        label: str,
        statistic: str,
        *,
        log_scale: bool = False,
        colour: str = "model",
    ) -> Chart:
        """One line of one diagnostic."""
        series = self.history.medium
        values, x = getattr(series, statistic)(name), series.mean("x")
        known = np.isfinite(values) & (values > 0 if log_scale else True)
        plot = self.figures.figure(230, label, "log" if log_scale else "linear")
        if not log_scale:
            plot.y_range = Range1d(start=0, end=1.1 * values[known].max(initial=0.0) or 1.0)
        source = as_source({"x": x[known], "value": values[known]})
        line = self.figures.line(plot, source, "value", colour, 1.8)
        if known.sum() < _FEW_POINTS:
            self.figures.dots(plot, source, "value", colour)
        self.figures.hover(plot, line, [(label, "@value{0.[0000]a}")])
        return Chart(name, title, caption, plot)

    def _source(self, series: BinnedSeries) -> ColumnDataSource:
        columns = {name: series.mean(name) for name in ("x", "y", "prediction")}
        columns |= {"lower": series.low("lower"), "upper": series.high("upper")}
        if series.width > 1:
            columns |= {"y_low": series.low("y"), "y_high": series.high("y")}
        return as_source(columns)

    def _switch_by_zoom(self, bins: list[Any], rows: list[Any]) -> None:
        """Show bins at first and single rows when zoomed in: thousands of dots would overlap."""
        for each in rows:
            each.visible = False
        axis = self.figures.axis
        limit = (self.figures.end - self.figures.start) * _CLOSE_ROWS / self.history.rows
        args = {"axis": axis, "rows": rows, "bins": bins, "limit": limit}
        react = CustomJS(args=args, code=_SHOW_ROWS_OR_BINS)
        axis.js_on_change("start", react)
        axis.js_on_change("end", react)


def _maximum(values: Any) -> float:
    return float(np.nanmax(values)) if np.isfinite(values).any() else 0.0


def _views(x: Any, width: int, figures: LinkedFigures) -> list[tuple[str, float, float]]:
    """The ranges that buttons offer: all rows, or the last ones."""
    views = [("all rows", figures.start, figures.end)]
    for rows in (10_000, 1_000, 200):
        if rows < 0.7 * len(x) * width and rows > 2 * width:
            first = float(x[-rows // width])
            views.append((f"last {rows:,}", first, float(x[-1]) + 0.02 * (float(x[-1]) - first)))
    return views


def _plain(columns: Mapping[str, Any]) -> dict[str, list[float | None]]:
    """Columns as JSON holds them; times keep all digits, other numbers five."""
    return {
        name: [
            None if not np.isfinite(v) else float(v) if name == "x" else float(f"{v:.5g}")
            for v in np.asarray(values, dtype=float)
        ]
        for name, values in columns.items()
    }

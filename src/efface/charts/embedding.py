"""What a page needs to show charts without a network: style, script and one element per chart."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any, NamedTuple

from bokeh.embed import components
from bokeh.resources import Resources

from efface.charts.replay_charts import ChartSet
from efface.charts.themes import DARK, LIGHT, css_variables


class Embedded(NamedTuple):
    """The parts of a page, as HTML and CSS."""

    style: str  # for <style> in the head
    library: str  # Bokeh, for the head
    elements: dict[str, str]  # the element of each chart, by name
    scripts: str  # for the end of the body


def embed(chart_set: ChartSet) -> Embedded:
    """Charts for a page that loads nothing from elsewhere."""
    plots, elements = components({chart.name: chart.figure for chart in chart_set.charts})
    themes = {"light": LIGHT, "dark": DARK}
    facts: dict[str, Any] = {"themed": chart_set.themed, "themes": themes, "axis": chart_set.axis}
    facts |= {"paths": chart_set.paths, "errors": chart_set.group_errors}
    text = json.dumps(facts).replace("<", "\\u003c")  # names come from the file
    script = f"<script>\nconst charts = {text}\n{_asset('charts.js')}</script>\n"
    library = Resources(mode="inline", components=["bokeh"]).render_js()
    return Embedded(_style(), library, elements, script + plots)


def _style() -> str:
    return (
        f":root {{ {css_variables(LIGHT)} }}\n"
        f"@media (prefers-color-scheme: dark) {{ :root {{ {css_variables(DARK)} }} }}\n"
        + _asset("style.css")
    )


def _asset(name: str) -> str:
    return files("efface.charts").joinpath("assets", name).read_text("utf-8")

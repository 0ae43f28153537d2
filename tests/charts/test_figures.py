"""Linked figures share their x axis, and record which colours follow the theme."""

from __future__ import annotations

import numpy as np
import pytest

from efface.charts.figures import LinkedFigures, as_source
from efface.charts.themes import LIGHT


def test_figures_share_the_axis_and_the_marks():
    linked = LinkedFigures(np.arange(10.0), "row", [3.0, 3.0, 5.0])
    figures = [linked.figure(200, "y"), linked.figure(200, "z", "log")]
    assert {each.x_range.id for each in figures} == {linked.axis.id}
    for each in figures:
        marks = [mark.location for mark in each.center if type(mark).__name__ == "Span"]
        assert marks == [3.0, 5.0]


def test_themed_colours_are_recorded():
    linked = LinkedFigures(np.arange(10.0), "row", [])
    plot = linked.figure(200, "y")
    line = linked.line(plot, as_source({"x": [1.0], "y": [2.0]}), "y", "model", 2.0)
    assert line.glyph.line_color == LIGHT["model"]
    assert linked.themed[line.glyph.id] == {"line_color": "model"}


@pytest.mark.parametrize(
    ("axis", "label"), [("row", "row"), ("number", "time"), ("calendar", "time")]
)
def test_the_tooltip_shows_the_time_or_the_row(axis, label):
    linked = LinkedFigures(np.arange(10.0), axis, [])
    plot = linked.figure(200, "y")
    line = linked.line(plot, as_source({"x": [1.0], "y": [2.0]}), "y", "model", 2.0)
    linked.hover(plot, line, [("value", "@y")])
    (hover,) = [tool for tool in plot.tools if type(tool).__name__ == "HoverTool"]
    assert f">{label}<" in hover.tooltips
    assert ("%Y" in hover.tooltips) == (axis == "calendar")


def test_times_keep_double_precision():
    source = as_source({"x": [1.3e12 + 0.5], "y": [0.1]})
    assert source.data["x"][0] == 1.3e12 + 0.5
    assert source.data["y"].dtype == np.float32

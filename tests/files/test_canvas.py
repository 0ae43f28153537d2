"""Figures on one canvas share their axis, and their colours are told to the page."""

from __future__ import annotations

import numpy as np
import pytest

from efface.files.canvas import LIGHT, Canvas, as_source


def test_figures_share_the_axis_and_the_marks():
    canvas = Canvas(np.arange(10.0), "row", [3.0, 3.0, 5.0])
    figures = [canvas.figure(200, "y"), canvas.figure(200, "z", "log")]
    assert {each.x_range.id for each in figures} == {canvas.axis.id}
    for each in figures:
        spans = [mark.location for mark in each.center if type(mark).__name__ == "Span"]
        assert spans == [3.0, 5.0]


def test_what_is_coloured_is_known_to_the_page():
    canvas = Canvas(np.arange(10.0), "row", [])
    plot = canvas.figure(200, "y")
    line = canvas.line(plot, as_source({"x": [1.0], "y": [2.0]}), "y", "ours", 2.0)
    assert line.glyph.line_color == LIGHT["ours"]
    assert canvas.themed[line.glyph.id] == {"line_color": "ours"}


@pytest.mark.parametrize(
    ("axis", "says"), [("row", "row"), ("number", "time"), ("calendar", "time")]
)
def test_the_pointer_tells_the_time_or_the_row(axis, says):
    canvas = Canvas(np.arange(10.0), axis, [])
    plot = canvas.figure(200, "y")
    line = canvas.line(plot, as_source({"x": [1.0], "y": [2.0]}), "y", "ours", 2.0)
    canvas.hover(plot, line, [("value", "@y")])
    (hover,) = [tool for tool in plot.tools if type(tool).__name__ == "HoverTool"]
    assert f">{says}<" in hover.tooltips
    assert ("%Y" in hover.tooltips) == (axis == "calendar")


def test_times_keep_their_precision():
    source = as_source({"x": [1.3e12 + 0.5], "y": [0.1]})
    assert source.data["x"][0] == 1.3e12 + 0.5
    assert source.data["y"].dtype == np.float32

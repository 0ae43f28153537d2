"""Charts draw what the log holds: on one axis, with every colour known to both themes."""

from __future__ import annotations

import numpy as np
import pytest

from efface import OLS
from efface.files.baselines import baselines
from efface.files.canvas import DARK, LIGHT
from efface.files.charts import draw
from efface.files.schema import Rows
from efface.files.streaming import Journey

ERRORS = {"mae": 1.0}


def travelled(rows, at=None):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(rows, 2))
    y = X @ [1.0, 2.0] + rng.normal(size=rows)
    journey = Journey(
        lambda: OLS(30), "OLS", compare=lambda: baselines(lambda: OLS(30), 30), warm_up=3
    )
    journey.advance(Rows(np.arange(rows), X, y, None, at))
    summary = {
        "source": {"target": "y", "features": ["a", "b"]},
        "interval": {"level": 0.95},
        "errors": dict.fromkeys(journey.log.scores, ERRORS),
        "model": {"name": "OLS", "alpha": None},
    }
    return draw(summary, journey.log), journey.log


def test_all_charts_share_one_axis():
    gallery, log = travelled(900)
    ranges = {chart.figure.x_range.id for chart in gallery.charts}
    assert ranges == {gallery.axis}
    assert len(gallery.charts) == 8
    assert set(gallery.lines) == set(log.scores)


def test_every_themed_colour_is_in_both_themes():
    gallery, _ = travelled(900)
    names = {colour for each in gallery.themed.values() for colour in each.values()}
    assert names <= LIGHT.keys() == DARK.keys()


@pytest.mark.parametrize("rows", [1, 2, 40, 1_500])
def test_streams_of_any_length_can_be_drawn(rows):
    gallery, _ = travelled(rows)
    assert gallery.views[0][0] == "all rows"
    assert gallery.views[0][1] < gallery.views[0][2]


def test_calendar_times_are_dates_on_the_axis():
    at = np.datetime64("2011-01-01", "ns") + np.arange(900) * np.timedelta64(1, "h")
    gallery, log = travelled(900, at)
    start = (at[0] - np.datetime64(0, "ms")) / np.timedelta64(1, "ms")
    assert log.fine.mean("x")[0] == start
    assert type(gallery.charts[0].figure.xaxis[0]).__name__ == "DatetimeAxis"


def test_the_data_of_a_chart_is_that_of_the_log():
    gallery, log = travelled(900)
    chart = next(chart for chart in gallery.charts if chart.name == "coverage")
    (renderer,) = chart.figure.renderers
    np.testing.assert_array_equal(
        renderer.data_source.data["covered"], log.coarse.mean("covered").astype(np.float32)
    )

"""The charts draw what the history holds, on one axis, with colours that both themes have."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from efface import OLS, AdaptiveRidge, Ridge
from efface.charts.history import Labels
from efface.charts.replay_charts import draw
from efface.charts.themes import DARK, LIGHT
from efface.files.baselines import baselines
from efface.files.row_batches import RowBatch
from efface.files.streaming import StreamRun


def drawn(rows, at=None, make=lambda: OLS(30)):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(rows, 2))
    y = X @ [1.0, 2.0] + rng.normal(size=rows)
    run = StreamRun(make, "model", compare=lambda: baselines(lambda: OLS(30), 30), warm_up=3)
    run.advance(RowBatch(np.arange(rows), X, y, None, at))
    labels = Labels("y", 2, 0.95, tuple(run.log.scores))
    return draw(run.log.history, labels), run.log


def test_all_charts_share_one_axis():
    chart_set, log = drawn(900)
    ranges = {chart.figure.x_range.id for chart in chart_set.charts}
    assert ranges == {chart_set.axis}
    assert len(chart_set.charts) == 8
    assert set(chart_set.lines) == set(log.scores)


def test_every_themed_colour_is_in_both_themes():
    chart_set, _ = drawn(900)
    names = {colour for each in chart_set.themed.values() for colour in each.values()}
    assert names <= LIGHT.keys() == DARK.keys()


@pytest.mark.parametrize("rows", [1, 2, 40, 1_500])
def test_streams_of_any_length_can_be_drawn(rows):
    chart_set, _ = drawn(rows)
    assert chart_set.views[0][0] == "all rows"
    assert chart_set.views[0][1] < chart_set.views[0][2]


def test_calendar_times_are_dates_on_the_axis():
    at = np.datetime64("2011-01-01", "ns") + np.arange(900) * np.timedelta64(1, "h")
    chart_set, log = drawn(900, at)
    start = (at[0] - np.datetime64(0, "ms")) / np.timedelta64(1, "ms")
    assert log.history.fine.mean("x")[0] == start
    assert type(chart_set.charts[0].figure.xaxis[0]).__name__ == "DatetimeAxis"


def test_the_coverage_chart_has_the_data_of_the_history():
    chart_set, log = drawn(900)
    chart = next(chart for chart in chart_set.charts if chart.name == "coverage")
    (renderer,) = chart.figure.renderers
    expected = log.history.coarse.mean("covered").astype(np.float32)
    np.testing.assert_array_equal(renderer.data_source.data["covered"], expected)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (OLS(30), "The penalty is 0: ordinary least squares."),
        (Ridge(30, alpha=0.1), "The ridge penalty is fixed at 0.1."),
        (AdaptiveRidge(30), "The ridge penalty that the model computed from the live rows."),
    ],
)
def test_the_caption_of_the_penalty_says_which_kind_it_is(model, expected):
    chart_set, _ = drawn(200, make=lambda: clone(model))
    chart = next(chart for chart in chart_set.charts if chart.name == "penalty")
    assert chart.caption == expected

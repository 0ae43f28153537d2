"""The charts draw what the history holds, on one axis, with colours that both themes have."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from efface import OLS, AdaptiveRidge, Ridge, replay
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
    labels = Labels("y", ("a", "b"), 0.95, tuple(run.log.scores))
    return draw(run.log.history, labels), run.log


def test_all_charts_share_one_axis():
    chart_set, log = drawn(900)
    ranges = {chart.figure.x_range.id for chart in chart_set.charts}
    assert ranges == {chart_set.axis}
    names = [chart.name for chart in chart_set.charts]
    assert names[:3] == ["predictions", "coefficients", "errors"]
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
    [(OLS(30), False), (Ridge(30, alpha=0.1), False), (AdaptiveRidge(30), True)],
)
def test_a_constant_penalty_has_no_chart(model, expected):
    chart_set, _ = drawn(200, make=lambda: clone(model))
    assert ("penalty" in [chart.name for chart in chart_set.charts]) == expected


def test_coefficient_paths_are_those_of_the_replay():
    chart_set, _ = drawn(100)
    path = chart_set.paths.choices[""]["b"]
    rng = np.random.default_rng(1)
    X = rng.normal(size=(100, 2))
    y = X @ [1.0, 2.0] + rng.normal(size=100)
    expected = replay(OLS(30), X, y, coef=True).coef[:, 1]
    np.testing.assert_allclose(path["coef"], expected, rtol=1e-4, atol=1e-9)
    low, high = np.array(path["lower"], dtype=float), np.array(path["upper"], dtype=float)
    assert np.isnan(low[:50]).all()  # no standard error was measured yet
    model = OLS(30).fit(X[:50], y[:50])
    width = 2 * 1.96 * model.standard_errors().coef[1]
    np.testing.assert_allclose((high - low)[50:], width, rtol=1e-3)


def test_groups_have_paths_and_errors_of_their_own():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(90, 2)), rng.normal(size=90)
    run = StreamRun(lambda: OLS(10), "model", grouped=True, warm_up=3)
    run.advance(RowBatch(np.arange(90), X, y, None, None, ["a", "b", "c"] * 30))
    chart_set = draw(run.log.history, Labels("y", ("u", "v"), 0.9, tuple(run.log.scores)))
    assert list(chart_set.paths.choices) == ["a", "b", "c"]
    assert list(chart_set.group_errors.choices) == ["", "a", "b", "c"]
    found = chart_set.group_errors.choices["b"][""]["model"]
    errors = np.abs(replay(OLS(10), X[1::3], y[1::3]).prediction - y[1::3])
    np.testing.assert_allclose([e for e in found if e is not None], errors[3:], rtol=1e-4)

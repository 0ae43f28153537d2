"""Scores accumulated batch by batch equal those of scikit-learn on all rows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

from efface.files.scores import Coverage, GroupScores, Score


def test_scores_do_not_depend_on_batch_sizes():
    rng = np.random.default_rng(3)
    y = 1e6 + rng.normal(size=1000)
    prediction = y + rng.normal(size=1000)
    score = Score()
    for part in (slice(0, 1), slice(1, 1), slice(1, 400), slice(400, None)):
        score.add(y[part], prediction[part])
    assert score.count == 1000
    assert score.mae == pytest.approx(mean_absolute_error(y, prediction), rel=1e-9)
    assert score.rmse == pytest.approx(root_mean_squared_error(y, prediction), rel=1e-9)
    assert score.r2 == pytest.approx(r2_score(y, prediction), rel=1e-9)


def test_scores_of_groups_are_those_of_each_group_alone():
    rng = np.random.default_rng(4)
    together, alone = GroupScores(), {}
    together.add(np.zeros(0, np.int64), np.zeros(0), {"model": np.zeros(0)})  # all in the warm-up
    assert list(together.items()) == []
    for groups in ([0, 2, 0, 2], [2, 2], [5, 0, 5, 2, 5]):
        y = 1e6 + rng.normal(size=len(groups))
        predictions = {name: y + rng.normal(size=len(groups)) for name in ("model", "last")}
        together.add(np.array(groups), y, predictions)
        for group in set(groups):
            mine = np.array(groups) == group
            for name, prediction in predictions.items():
                score = alone.setdefault((group, name), Score())
                score.add(y[mine], prediction[mine])
    found = {(group, name): s for group, named in together.items() for name, s in named.items()}
    assert set(found) == set(alone)
    for key, score in alone.items():
        assert found[key].count == score.count
        for name in ("mae", "rmse", "r2"):
            assert getattr(found[key], name) == pytest.approx(getattr(score, name), rel=1e-9)


def test_skill_compares_two_scores():
    bad, good = Score(), Score()
    bad.add(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    good.add(np.array([1.0, 2.0]), np.array([2.0, 3.0]))
    assert good.skill(bad) == 0.5
    assert bad.skill(bad) == 0.0


def test_without_predictions_scores_are_nan():
    assert math.isnan(Score().mae)
    assert math.isnan(Score().rmse)
    assert math.isnan(Score().r2)
    assert math.isnan(Coverage().rate)


def test_coverage_counts_only_rows_with_an_interval():
    coverage, nan = Coverage(), float("nan")
    covered = coverage.add(
        np.array([1.0, 1.0, 1.0, 1.0]),
        np.array([0.0, 2.0, nan, -np.inf]),
        np.array([1.0, 4.0, nan, np.inf]),
    )
    np.testing.assert_array_equal(covered, [1.0, 0.0, nan, nan])
    assert (coverage.rate, coverage.width) == (0.5, 1.5)

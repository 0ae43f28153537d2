"""Tuning compares by prequential errors, and recommends the shortest memory that is as good."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest

from efface import OLS, Ridge, replay, tune
from efface.batch.tuning import mean_with_error
from efface.errors import InvalidValue

mpl.use("Agg")

RNG = np.random.default_rng(3)
N = 1_200
X = RNG.normal(size=(N, 2))
TURN = np.sin(np.arange(N) / 100)
Y = X[:, 0] * (1 + TURN) + X[:, 1] + 0.3 * RNG.normal(size=N)
WINDOWS = [10, 30, 100, 400, None]


@pytest.fixture(scope="module")
def moving():
    return tune(X, Y, models=[OLS(), Ridge(alpha=0.1)], windows=WINDOWS)


def test_errors_are_those_of_a_replay(moving):
    assert len(moving.trials) == 10
    for trial in moving.trials:
        errors = np.abs(replay(trial.model, X, Y).prediction - Y)[N // 5 :]
        assert trial.mae == errors.mean()
    assert moving.best.mae == min(trial.mae for trial in moving.trials)
    assert moving.best.excess == 0.0


def test_a_moving_relation_needs_a_short_memory(moving):
    assert moving.best.model.window in (30, 100)
    assert moving.recommended.live_rows <= moving.best.live_rows
    assert moving.recommended.excess <= moving.recommended.excess_error
    shorter = [t for t in moving.trials if t.live_rows < moving.recommended.live_rows]
    assert all(trial.excess > trial.excess_error for trial in shorter)


def test_a_fixed_relation_is_learned_from_all_rows():
    y = X @ [1.0, 2.0] + RNG.normal(size=N)
    found = tune(X, y, models=[OLS()], windows=WINDOWS)
    assert found.recommended.model.window is None
    assert found.trials[0].excess > 3 * found.trials[0].excess_error  # ten rows are too few


def test_calendar_times_are_tuned_by_duration():
    at = np.datetime64("2024-01-01T00") + np.arange(N)
    found = tune(X, Y, models=[OLS()], at=at)
    fading = ["half-life 6h in 60h", "half-life 1d in 10d", "half-life 3d in 30d"]
    windows = ["1d", "3d", "7d", "14d", "all rows"]
    assert [trial.label for trial in found.trials] == [*windows, *fading]
    by_rows = tune(X, Y, models=[OLS()])
    kept = [50, 100, 200, 500, None, 200, 500, 1_000]
    assert [trial.model.window for trial in by_rows.trials] == kept
    assert [trial.model.halflife for trial in by_rows.trials[5:]] == [20, 50, 100]
    assert by_rows.trials[3].label == "500 rows"
    assert by_rows.trials[5].label == "half-life 20 rows in 200 rows"


def test_half_lives_count_rows_by_what_is_left_of_them():
    found = tune(X, Y, models=[OLS(), Ridge(alpha=0.1)], halflives=[10.0, 60.0])
    assert [trial.model.halflife for trial in found.trials] == [10.0, 60.0] * 2
    first = found.trials[0]
    assert first.mae == np.abs(replay(OLS(halflife=10.0), X, Y).prediction - Y)[N // 5 :].mean()
    assert first.counted_rows == pytest.approx(1 / (1 - 2**-0.1), rel=1e-6)
    assert first.live_rows == pytest.approx(505, abs=30)
    ax = found.plot()
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["OLS, half-life", "Ridge(alpha=0.1), half-life"]
    mpl.pyplot.close("all")
    at = np.datetime64("2024-01-01T00") + np.arange(N)
    timed = tune(X, Y, models=[OLS()], halflives=["10h"], at=at).trials[0]
    assert (timed.mae, timed.counted_rows) == pytest.approx((first.mae, first.counted_rows))


def test_blocks_allow_for_errors_that_are_alike():
    rng = np.random.default_rng(0)
    alone = rng.normal(size=10_000)
    assert mean_with_error(alone)[1] == pytest.approx(0.01, rel=0.3)
    alike = np.repeat(rng.normal(size=1_000), 10)
    assert mean_with_error(alike)[1] == pytest.approx(np.sqrt(1 / 1_000), rel=0.3)


def test_the_result_is_shown_and_drawn(moving):
    assert "recommended" in repr(moving)
    assert "OLS, 30 rows" in repr(moving)
    assert "<table>" in moving._repr_html_()
    ax = moving.plot()
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["OLS", "Ridge(alpha=0.1)"]
    mpl.pyplot.close("all")


def test_too_few_rows_or_candidates_are_refused():
    with pytest.raises(InvalidValue, match="'X' is '10 rows': expected at least 22"):
        tune(X[:10], Y[:10])
    with pytest.raises(InvalidValue, match="'windows' is 'empty'"):
        tune(X, Y, windows=[])

"""Windows of every kind, in one or many groups, on one or many threads."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import OUTPUTS, check, close, data, ticks, with_gaps
from twins import regression as naive
from twins import scaling as naive_scaling

from efface import FIFD, AddDrop, KeepAll, KeepFor, rolling
from efface.batch.varying_windows import Regression


def test_outputs_that_are_not_requested_are_not_computed(monkeypatch):
    X, y = data(20, 2)
    result = rolling(X, y, 5, outputs="coef")
    assert [name for name in OUTPUTS if getattr(result, name) is not None] == ["coef"]
    assert rolling(X, y, 5, alpha=1.0).rank is None
    assert rolling(X, y, 5).rank is not None

    calls = []
    original = Regression.solve

    def counted(regression, *arguments, **options):
        calls.append(regression.alpha)
        return original(regression, *arguments, **options)

    monkeypatch.setattr(Regression, "solve", counted)
    rolling(X, y, 5, alpha=1.0)
    assert calls == [1.0]
    rolling(X, y, 5, alpha=1.0, outputs=["rank"])
    assert calls == [1.0, 1.0, 0.0]


@pytest.mark.parametrize("alpha", [0.0, 0.7])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("min_rows", [None, 1, 4])
def test_windows_of_a_duration_equal_a_refit(alpha, intercept, min_rows):
    (X, y), at = data(70, 3), ticks(70, 1)
    result = rolling(
        X,
        y,
        KeepFor(8.0),
        alpha=alpha,
        fit_intercept=intercept,
        min_rows=min_rows,
        at=at,
        outputs=OUTPUTS,
    )
    check(result, naive.rolling(X, y, None, alpha, intercept, min_rows, None, at, 8.0))


@given(
    seed=st.integers(0, 999),
    groups=st.booleans(),
    gaps=st.booleans(),
    min_rows=st.sampled_from([None, 1, 3]),
    duration=st.sampled_from([1.0, 5.0, 30.0, 1e6]),
    kind=st.sampled_from(["plain", "swings", "giant", "shifted", "tiny", "repeated"]),
)
@settings(deadline=None, max_examples=60)
def test_durations_with_gaps_and_groups_against_a_refit(
    seed, groups, gaps, min_rows, duration, kind
):
    rng = np.random.default_rng(seed)
    X, y = with_gaps(50, 2, seed) if gaps else data(50, 2, seed)
    at = ticks(50, seed)
    if kind == "swings":
        X = np.where(np.isnan(X), np.nan, np.eye(2)[rng.integers(0, 2, size=50)])
    X[10] *= 1e8 if kind == "giant" else 1.0
    X = X + 1e5 if kind == "shifted" else X * 1e-8 if kind == "tiny" else X
    X[20:40] = X[20] if kind == "repeated" else X[20:40]
    labels = rng.integers(0, 3, size=50) if groups else None
    result = rolling(
        X,
        y,
        KeepFor(duration),
        alpha=0.0,
        fit_intercept=True,
        min_rows=min_rows,
        groups=labels,
        threads=1 + seed % 2,
        missing="skip",
        outputs=OUTPUTS,
        at=at,
    )
    coef, _, rank, *_ = naive.rolling(X, y, None, 0.0, True, min_rows, labels, at, duration)
    assert (result.rank == rank).all()
    assert (np.isnan(result.coef) == np.isnan(coef)).all()
    complete = ~(np.isnan(X).any(axis=1) | np.isnan(y))
    found = naive.windows(complete, None, labels, at, duration)
    # A window that holds the giant row loses digits; later windows must not.
    rows = [t for t, (_, now) in enumerate(found) if kind != "giant" or 10 not in now]
    unit = np.nanmax(np.abs(y)) / np.nanmax(np.abs(X[rows]))  # in case all coefficients are 0
    span = np.nanmax(np.abs(coef[rows]), initial=unit)
    assert np.nanmax(np.abs(result.coef - coef)[rows], initial=0.0) <= 1e-9 * span


@pytest.mark.parametrize("alpha", [0.0, 0.7])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("min_rows", [None, 1, 10])
def test_expanding_windows_equal_a_refit(alpha, intercept, min_rows):
    X, y = data(40, 3)
    result = rolling(
        X, y, None, alpha=alpha, fit_intercept=intercept, min_rows=min_rows, outputs=OUTPUTS
    )
    check(result, naive.rolling(X, y, None, alpha, intercept, min_rows))
    labels = np.arange(40) % 3
    result = rolling(
        X,
        y,
        None,
        alpha=alpha,
        fit_intercept=intercept,
        min_rows=min_rows,
        groups=labels,
        outputs=OUTPUTS,
    )
    check(result, naive.rolling(X, y, None, alpha, intercept, min_rows, labels))


def test_windows_may_be_policies():
    (X, y), at = data(40, 2), np.arange(40.0)
    for policy, window in ((FIFD(7), 7), (KeepAll(), None)):
        one, other = (
            rolling(X, y, policy, fit_intercept=False, min_rows=2),
            rolling(X, y, window, fit_intercept=False, min_rows=2),
        )
        assert np.array_equal(one.coef, other.coef, equal_nan=True)
    check(rolling(X, y, KeepFor(7), fit_intercept=False, min_rows=7, at=at), naive.rolling(X, y, 7))
    growing = rolling(X, y, AddDrop(3, 1), min_rows=2, fit_intercept=True)
    twin = naive.NaiveModel(("OLS", {}), ("add", 3, 1, 0), True, 2)
    for t in range(40):
        twin.learn(X[t], y[t])
        if t > 3:
            assert growing.coef[t] == pytest.approx(twin.refit()[0], rel=1e-9)


def test_calendar_durations():
    X, y = data(30, 2)
    at = np.datetime64("2024-01-01", "ms") + np.arange(30) * np.timedelta64(1, "D")
    by_count = rolling(X, y, 7)
    for times in (at, at.tolist(), pd.Series(at).dt.tz_localize("Asia/Tokyo"), pl.Series(at)):
        for window in ("7d", timedelta(days=7), "1w", KeepFor("168h")):
            result = rolling(X, y, window, at=times, min_rows=7)
            close(result.coef, by_count.coef)
            close(result.prediction, by_count.prediction)


def test_a_row_leaves_when_its_age_reaches_the_duration():
    X, y = np.ones((3, 1)), np.array([1.0, 3.0, 8.0])
    for duration, expected in ((2, [1.0, 2.0, 5.5]), (2.5, [1.0, 2.0, 4.0])):
        found = rolling(X, y, KeepFor(duration), fit_intercept=False, at=[0, 1, 2])
        assert found.coef.ravel() == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["b", "a", "c"] * 20),
        np.array([2.5, -1.0, 0.0] * 20),
        np.array([("x", 1), "y", 7] * 20, dtype=object),
        ["b", "a", "c"] * 20,
        pd.Series(["b", "a", "c"] * 20, dtype="category"),
        pd.to_datetime(["2024-01-01", "2023-01-01", "2025-01-01"] * 20),
        np.array([2**40, -5, 0] * 20),
        [True, False, 2] * 20,
    ],
)
@pytest.mark.parametrize("threads", [None, 1, 2, 5])
def test_groups_with_labels_of_any_type_are_independent(labels, threads):
    X, y = data(60, 2)
    result = rolling(X, y, 5, groups=labels, threads=threads)
    for k in range(3):
        alone = rolling(X[k::3], y[k::3], 5)
        for name in OUTPUTS:
            assert np.array_equal(getattr(result, name)[k::3], getattr(alone, name), equal_nan=True)


def test_many_small_groups():
    X, y = data(5_000, 3)
    labels = np.random.default_rng(0).integers(0, 2_000, size=5_000)
    result = rolling(X, y, 4, groups=labels, min_rows=1, threads=2)
    for label in (0, 999, 1_999):
        rows = labels == label
        alone = rolling(X[rows], y[rows], 4, min_rows=1)
        close(result.coef[rows], alone.coef)
        assert np.array_equal(result.rank[rows], alone.rank)
    some = labels < 500
    fewer = rolling(X[some], y[some], 4, groups=labels[some], min_rows=1, threads=1)
    assert np.array_equal(result.coef[some], fewer.coef)


@pytest.mark.parametrize("window", [6, KeepFor(9.0), AddDrop(3, 2), None])
@pytest.mark.parametrize("alpha", [0.0, 0.7])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("kind", ["plain", "shifted", "giant", "constant", "constant in groups"])
def test_many_short_groups_equal_single_groups(window, alpha, intercept, kind):
    rng, n = np.random.default_rng(3), 2_000
    X, y = data(n, 3)
    X += np.array([0.0, 1e5, 3.0]) if kind == "shifted" else 0.0
    X[rng.integers(0, n, 20)] *= 1e8 if kind == "giant" else 1.0
    labels = rng.integers(0, 90, size=n)
    X[:, 1] = {"constant": 2.0, "constant in groups": labels % 4}.get(kind, X[:, 1])
    weights = rng.choice([0.0, 0.5, 1.0, 3.0], size=n)
    given = {"alpha": alpha, "fit_intercept": intercept, "min_rows": 5, "outputs": OUTPUTS}
    given["stats"] = alpha == 0.0
    at = np.arange(n) / 90
    result = rolling(X, y, window, groups=labels, at=at, sample_weight=weights, **given)
    for label in range(0, 90, 8):
        rows = labels == label
        own = {"at": at[rows], "sample_weight": weights[rows]}
        alone = rolling(X[rows], y[rows], window, **own, **given)
        for name in ("coef", "intercept", "rank") if kind == "giant" else OUTPUTS:
            close(getattr(result, name)[rows], getattr(alone, name))
        if alpha == 0.0:
            close(result.stats.bse[rows], alone.stats.bse)
            close(result.stats.rsquared[rows], alone.stats.rsquared)


def test_threads_change_no_bit():
    X, y = data(400, 3)
    labels = np.arange(400) % 7
    one, four = (rolling(X, y, 20, groups=labels, threads=threads) for threads in (1, 4))
    assert np.array_equal(one.coef, four.coef, equal_nan=True)


def test_threads_change_no_bit_of_windows_of_a_duration():
    (X, y), at = data(300, 2), np.arange(300.0)
    y[::17] = np.nan
    one, three = (
        rolling(
            X,
            y,
            KeepFor(60.0),
            groups=np.arange(300) % 5,
            threads=threads,
            at=at,
            interval=0.9,
            missing="skip",
            stats=True,
        )
        for threads in (1, 3)
    )
    for name in ("coef", "rank", "prediction", "lower", "upper"):
        assert np.array_equal(getattr(one, name), getattr(three, name), equal_nan=True)
    assert np.array_equal(one.stats.bse, three.stats.bse, equal_nan=True)


def test_an_error_in_a_thread_reaches_the_caller(monkeypatch):
    def fail(*_, **__):
        raise MemoryError("no room")

    monkeypatch.setattr(Regression, "solve", fail)
    with pytest.raises(MemoryError, match="no room"):
        rolling(*data(30, 2), 5, groups=np.arange(30) % 3, threads=2)


@pytest.mark.parametrize("alpha", [0.0, 0.7])
@pytest.mark.parametrize("intercept", [False, True])
def test_standardised_windows_of_groups_with_gaps_equal_a_refit(alpha, intercept):
    X, y = data(90, 3)
    X = X * [1.0, 100.0, 1e-3] + [0.0, 1e3, 1.0]
    X[[20, 41], 1], y[33] = np.nan, np.nan
    groups = np.arange(90) % 2
    options = {"window": 10, "alpha": alpha, "fit_intercept": intercept, "min_rows": 5}
    names = OUTPUTS if alpha == 0.0 else [name for name in OUTPUTS if name != "rank"]
    found = rolling(
        X, y, **options, groups=groups, missing="skip", outputs=names, standardize=True, threads=2
    )
    live_rows = {0: [], 1: []}
    for t in range(90):
        live = live_rows[t % 2]
        if not (np.isnan(X[t]).any() or np.isnan(y[t])):
            live.append(t)
            del live[:-10]
        if len(live) < 5:
            assert np.isnan(found.coef[t]).all()
            continue
        coef, level, rank = naive_scaling.regress(X[live], y[live], alpha, intercept)
        assert found.coef[t] == pytest.approx(coef, rel=1e-9)
        assert found.intercept[t] == pytest.approx(level, rel=1e-9)
        assert found.fitted[t] == pytest.approx(X[t] @ coef + level, rel=1e-8, nan_ok=True)
        assert alpha or found.rank[t] == rank


def test_the_rank_of_standardised_windows_with_a_penalty():
    X, y = data(30, 3)
    X[:, 1] = 2.0
    found = rolling(X, y, 10, alpha=1.0, outputs=["rank"], standardize=True)
    assert set(found.rank[9:].tolist()) == {2}

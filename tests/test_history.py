"""Whole arrays: every window against a refit, gaps, groups; replay against one row at a time."""

from __future__ import annotations

import math
from datetime import datetime, timedelta

import naive
import naive_scaling
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from efface import (
    FIFD,
    OLS,
    AdaptiveRidge,
    AddDrop,
    KeepAll,
    KeepFor,
    Ridge,
    SwitchingRidge,
    history,
    replay,
    rolling,
    theory,
)
from efface.errors import BadRow, BadTime, InvalidValue

OUTPUTS = ("coef", "intercept", "rank", "fitted", "prediction")


@pytest.fixture
def eager(monkeypatch):
    """Threads also for groups that are too short to need them."""
    monkeypatch.setattr(history, "_SHORT", 0)


def data(n, d, seed=0):
    rng = np.random.default_rng([seed, n, d])
    X = rng.normal(size=(n, d))
    return X, X @ rng.normal(size=d) + 0.5 + 0.3 * rng.normal(size=n)


def close(got, want):
    """Equal to 1e-9 of the largest, with NaN in the same places."""
    assert (np.isnan(got) == np.isnan(want)).all()
    if not np.isnan(want).all():
        assert np.nanmax(np.abs(got - want)) <= 1e-9 * max(np.nanmax(np.abs(want)), 1e-300)


def check(result, expected):
    for name, want in zip(OUTPUTS, expected, strict=True):
        got = getattr(result, name)
        if name == "rank" and got is not None:
            assert (got == want).all()
        elif got is not None:
            close(got, want)


# -- rolling -----------------------------------------------------------------------------------


@pytest.mark.parametrize("min_rows", [None, 1, 3])
@pytest.mark.parametrize("alpha", [0.0, 0.7])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(("d", "window"), [(1, 5), (3, 4), (4, 3), (4, 12), (6, 50)])
def test_every_window_equals_a_refit(d, window, intercept, alpha, min_rows):
    X, y = data(40, d)
    result = rolling(X, y, window, alpha, intercept, min_rows=min_rows, outputs=OUTPUTS)
    check(result, naive.rolling(X, y, window, alpha, intercept, min_rows))


WEIGHINGS = {
    "integers": lambda rng, n: rng.integers(0, 4, size=n).astype(float),
    "from 1e-3 to 1e3": lambda rng, n: 10.0 ** rng.uniform(-3, 3, size=n),
    "runs without weight": lambda rng, n: np.repeat(rng.choice([0.0, 1.0, 2.0], size=n), 7)[:n],
    "one of 1e8": lambda rng, n: np.where(np.arange(n) == n // 3, 1e8, 1.0),
}
weighings = pytest.mark.parametrize("weighing", list(WEIGHINGS))


@weighings
@pytest.mark.parametrize("alpha", [0.0, 0.7])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(("d", "window"), [(1, 5), (3, 4), (4, 3), (4, 12), (6, 50)])
def test_every_weighted_window_equals_a_refit(d, window, intercept, alpha, weighing):
    X, y = data(60, d)
    w = WEIGHINGS[weighing](np.random.default_rng([d, window]), 60)
    asked = {"min_rows": 1, "outputs": OUTPUTS, "sample_weight": w}
    result = rolling(X, y, window, alpha, intercept, **asked)
    wanted = naive.rolling(X, y, window, alpha, intercept, 1, weights=w)
    assert (result.rank == wanted[2]).all()
    for t in range(60):  # one by one: where a row of 1e8 rules, coefficients are of another size
        size = np.abs(wanted[0][t]).max() + abs(wanted[1][t])
        assert np.abs(result.coef[t] - wanted[0][t]).max() <= 1e-9 * size
        assert abs(result.intercept[t] - wanted[1][t]) <= 1e-9 * size


@pytest.mark.parametrize(("d", "window"), [(40, 20), (40, 90)])
@pytest.mark.parametrize("alpha", [0.0, 0.7])
@weighings
def test_weighted_windows_of_many_features(d, window, alpha, weighing):
    X, y = data(150, d)
    w = WEIGHINGS[weighing](np.random.default_rng(d), 150)
    result = rolling(X, y, window, alpha, True, sample_weight=w, outputs=["coef", "intercept"])
    for t in range(window - 1, 150, 7):
        rows = slice(t - window + 1, t + 1)
        A = X[rows]
        for _ in range(2):  # a row of 1e8 makes much of what rounding leaves of a mean
            A = A - np.average(A, axis=0, weights=w[rows])
        A = np.sqrt(w[rows])[:, None] * A
        b = np.sqrt(w[rows]) * (y[rows] - np.average(y[rows], weights=w[rows]))
        A = np.vstack([A, np.sqrt(alpha) * np.eye(d)])
        coef = np.linalg.lstsq(A, np.append(b, np.zeros(d)), rcond=None)[0]
        assert np.abs(result.coef[t] - coef).max() <= 1e-8 * np.abs(coef).max()


def test_nothing_is_left_in_a_window_of_a_weight_of_a_hundred_million():
    X, y = data(200, 4)
    w = np.ones(200)
    w[50] = 1e8
    for intercept in (False, True):
        result = rolling(X, y, 30, fit_intercept=intercept, sample_weight=w)
        plain = rolling(X, y, 30, fit_intercept=intercept)
        assert np.abs(result.coef[80:] / plain.coef[80:] - 1).max() < 1e-9
        assert np.abs(result.coef[79] / plain.coef[79] - 1).max() > 1e-3


def test_weights_of_1_change_no_bit():
    X, y = data(80, 3)
    for asked in ({"alpha": 0.5}, {"stats": True, "fit_intercept": True}):
        one, other = (rolling(X, y, 9, **asked, sample_weight=w) for w in (None, np.ones(80)))
        assert (one.coef == other.coef)[9:].all()
    models = AdaptiveRidge(window=9), AdaptiveRidge(window=9)
    one, other = (
        replay(m, X, y, diagnostics=True, sample_weight=w)
        for m, w in zip(models, (None, 1), strict=True)
    )
    assert (one.prediction == other.prediction).all()
    assert (one.leverage_old == other.leverage_old)[1:].all()


def test_a_row_of_weight_0_fills_its_place_in_the_window():
    X, y = data(12, 1)
    w = np.ones(12)
    w[8:11] = 0.0
    result = rolling(X, y, 4, sample_weight=w)
    assert result.coef[11, 0] == pytest.approx(y[11] / X[11, 0])
    assert result.coef[10, 0] == pytest.approx(y[7] / X[7, 0])


def test_the_rank_of_windows_that_lack_some():
    rng = np.random.default_rng(0)
    X = np.eye(6)[rng.integers(0, 6, size=200)]
    y = rng.normal(size=200)
    for alpha in (0.0, 1.0):
        result = rolling(X, y, 8, alpha, outputs=["coef", "rank"], min_rows=1)
        expected = naive.rolling(X, y, 8, alpha, min_rows=1)
        check(result, expected)
        assert set(result.rank) > {3, 4, 5}


def test_prediction_uses_only_rows_before():
    X, y = data(30, 2)
    first = rolling(X, y, 10).prediction
    X[20:], y[20:] = 7.0, -7.0
    X[20] = data(30, 2)[0][20]
    assert (rolling(X, y, 10).prediction[:21] == first[:21])[10:].all()


def test_what_is_not_asked_for_is_not_there(monkeypatch):
    X, y = data(20, 2)
    result = rolling(X, y, 5, outputs="coef")
    assert [name for name in OUTPUTS if getattr(result, name) is not None] == ["coef"]
    assert rolling(X, y, 5, alpha=1.0).rank is None
    assert rolling(X, y, 5).rank is not None

    calls = []
    original = history.slide_windows

    def counted(*arguments, **options):
        calls.append(arguments[3])
        return original(*arguments, **options)

    monkeypatch.setattr(history, "slide_windows", counted)
    rolling(X, y, 5, alpha=1.0)
    assert calls == [1.0]
    rolling(X, y, 5, alpha=1.0, outputs=["rank"])
    assert calls == [1.0, 1.0, 0.0]


@pytest.mark.parametrize("n", [0, 1, 4])
def test_fewer_rows_than_the_window(n):
    X, y = data(10, 3)
    result = rolling(X[:n], y[:n], 5)
    assert result.coef.shape == (n, 3)
    assert np.isnan(result.coef).all()
    assert (result.rank == -1).all()
    check(rolling(X[:n], y[:n], 5, min_rows=1), naive.rolling(X[:n], y[:n], 5, min_rows=1))


def test_neither_input_nor_result_is_shared():
    X, y = data(20, 2)
    before = X.copy(), y.copy()
    result = rolling(X, y, 5)
    assert np.array_equal(X, before[0])
    assert np.array_equal(y, before[1])
    assert not np.shares_memory(result.coef, X)


def with_gaps(n, d, seed):
    rng = np.random.default_rng(seed)
    X, y = data(n, d, seed)
    X[rng.random(size=(n, d)) < 0.08] = np.nan
    y[rng.random(size=n) < 0.15] = np.nan
    return X, y


@pytest.mark.parametrize("alpha", [0.0, 0.7])
@given(
    seed=st.integers(0, 99),
    groups=st.booleans(),
    min_rows=st.sampled_from([None, 1, 3]),
    weighed=st.booleans(),
)
@settings(deadline=None, max_examples=25)
def test_gaps_and_groups_against_one_row_at_a_time(alpha, seed, groups, min_rows, weighed):
    X, y = with_gaps(60, 2, seed)
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 4, size=60) if groups else None
    weights = rng.choice([0.0, 1.0, 2.5], size=60) if weighed else None
    result = rolling(
        X,
        y,
        6,
        alpha,
        True,
        min_rows,
        labels,
        threads=1 + seed % 3,
        missing="skip",
        outputs=OUTPUTS,
        sample_weight=weights,
    )
    check(result, naive.rolling(X, y, 6, alpha, True, min_rows, labels, weights=weights))


def test_a_row_without_a_response_is_still_predicted():
    X, y = data(20, 2)
    y[12] = np.nan
    result = rolling(X, y, 5, missing="skip")
    assert np.isfinite(result.prediction[12])
    assert (result.coef[12] == result.coef[11]).all()
    assert result.prediction[13] == pytest.approx(X[13] @ result.coef[11])


def test_nothing_but_gaps():
    result = rolling(np.full((5, 2), np.nan), np.zeros(5), 2, missing="skip")
    assert np.isnan(result.coef).all()
    assert (result.rank == -1).all()


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
@pytest.mark.usefixtures("eager")
def test_groups_of_any_label_are_on_their_own(labels, threads):
    X, y = data(60, 2)
    result = rolling(X, y, 5, groups=labels, threads=threads)
    for k in range(3):
        alone = rolling(X[k::3], y[k::3], 5)
        for name in OUTPUTS:
            assert np.array_equal(getattr(result, name)[k::3], getattr(alone, name), equal_nan=True)


@pytest.mark.usefixtures("eager")
def test_many_small_groups():
    X, y = data(5_000, 3)
    labels = np.random.default_rng(0).integers(0, 2_000, size=5_000)
    result = rolling(X, y, 4, groups=labels, min_rows=1, threads=2)
    for label in (0, 999, 1_999):
        rows = labels == label
        alone = rolling(X[rows], y[rows], 4, min_rows=1)
        assert np.array_equal(result.coef[rows], alone.coef)


@pytest.mark.usefixtures("eager")
def test_threads_change_no_bit():
    X, y = data(400, 3)
    labels = np.arange(400) % 7
    one, four = (rolling(X, y, 20, groups=labels, threads=threads) for threads in (1, 4))
    assert np.array_equal(one.coef, four.coef, equal_nan=True)


@pytest.mark.usefixtures("eager")
def test_an_error_in_a_thread_reaches_the_caller(monkeypatch):
    def fail(*_, **__):
        raise MemoryError("no room")

    monkeypatch.setattr(history, "slide_windows", fail)
    with pytest.raises(MemoryError, match="no room"):
        rolling(*data(30, 2), 5, groups=np.arange(30) % 3, threads=2)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"window": 0}, "'window' is 0: expected a whole number of at least 1"),
        ({"window": "90d"}, "'at' is None: expected the time of the row, which KeepFor"),
        ({"window": "ninety"}, "'duration' is 'ninety': expected a length of time"),
        ({"window": 2.0}, "'window' is 2.0: expected a number of rows, a duration"),
        ({"alpha": -1}, "'alpha' is -1: expected a finite number of at least 0"),
        ({"fit_intercept": "no"}, "'fit_intercept' is 'no': expected True or False"),
        ({"min_rows": 0}, "'min_rows' is 0: expected a whole number of at least 1"),
        ({"min_rows": 6}, "'min_rows' is 6: expected at most the window, 5"),
        ({"threads": 0}, "'threads' is 0"),
        ({"missing": "drop"}, "'missing' is 'drop': expected 'raise' or 'skip'"),
        ({"outputs": ["coefs"]}, "'outputs' is 'coefs': expected some of "),
        ({"groups": [1, 2]}, r"'groups' is \(2,\): expected the shape \(10,\)"),
        ({"groups": ["a"] * 9 + [None]}, r"'groups\[9\]' is None: expected a label"),
        ({"groups": np.array(["2024"] * 9 + ["NaT"], "M8[D]")}, r"'groups\[9\]' is None"),
        ({"groups": [1.0] * 8 + [math.nan] * 2}, r"'groups\[8\]' is nan: expected a label"),
        ({"y": [1.0] * 9}, r"'y' is \(9,\): expected the shape \(10,\)"),
        ({"sample_weight": [1.0] * 9}, r"'sample_weight' is \(9,\): expected the shape \(10,\)"),
        (
            {"sample_weight": [1.0] * 9 + [-1.0]},
            "'sample_weight' at row 9 is -1.0: expected a finite number of at least 0; give a row",
        ),
        ({"y": "ret"}, "'y' is 'ret': expected no name, since 'X' is an array"),
        ({"x": ["a"]}, r"'x' is \['a'\]: expected no name, since 'X' is an array"),
        ({"groups": [1] * 10, "by": [1] * 10}, "'by' is .*: expected None beside 'groups'"),
        ({"interval": 1.5}, "'interval' is 1.5"),
        ({"interval": 0.9, "method": "magic"}, "'method' is 'magic'"),
        ({"at": [0.0] * 9}, r"'at' is \(9,\): expected the shape \(10,\)"),
        ({"window": "2d", "at": np.arange(10.0)}, "'at' is numbers: expected calendar times"),
    ],
)
def test_rolling_refuses(change, text):
    X, y = data(10, 2)
    with pytest.raises(InvalidValue, match=text):
        rolling(**{"X": X, "y": y, "window": 5, **change})


def test_rolling_names_a_value_that_is_not_finite():
    X, y = data(10, 2)
    X[3, 1] = math.nan
    with pytest.raises(BadRow, match="'X' at row 3, column 1 is NaN"):
        rolling(X, y, 5)
    X[3, 1] = math.inf
    with pytest.raises(BadRow, match="'X' at row 3, column 1 is infinity"):
        rolling(X, y, 5, missing="skip")


# -- windows of a duration, and of all rows so far ---------------------------------------------


def ticks(n, seed):
    """Times in order, some of them equal, now and then a long pause."""
    rng = np.random.default_rng(seed)
    return np.cumsum(rng.choice([0.0, 1.0, 1.0, 2.0, 9.0], size=n))


@pytest.mark.parametrize("alpha", [0.0, 0.7])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("min_rows", [None, 1, 4])
def test_windows_of_a_duration_equal_a_refit(alpha, intercept, min_rows):
    (X, y), at = data(70, 3), ticks(70, 1)
    result = rolling(
        X, y, KeepFor(8.0), alpha, intercept, min_rows=min_rows, at=at, outputs=OUTPUTS
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
        0.0,
        True,
        min_rows,
        labels,
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
    # While it is there, a giant row costs as many digits as it has; afterwards it has cost none.
    rows = [t for t, (_, now) in enumerate(found) if kind != "giant" or 10 not in now]
    unit = np.nanmax(np.abs(y)) / np.nanmax(np.abs(X[rows]))  # where all coefficients are 0
    span = np.nanmax(np.abs(coef[rows]), initial=unit)
    assert np.nanmax(np.abs(result.coef - coef)[rows], initial=0.0) <= 1e-9 * span


@pytest.mark.parametrize("alpha", [0.0, 0.7])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("min_rows", [None, 1, 10])
def test_all_rows_so_far(alpha, intercept, min_rows):
    X, y = data(40, 3)
    result = rolling(X, y, None, alpha, intercept, min_rows=min_rows, outputs=OUTPUTS)
    check(result, naive.rolling(X, y, None, alpha, intercept, min_rows))
    labels = np.arange(40) % 3
    result = rolling(X, y, None, alpha, intercept, min_rows, labels, outputs=OUTPUTS)
    check(result, naive.rolling(X, y, None, alpha, intercept, min_rows, labels))


def test_a_policy_is_a_window():
    (X, y), at = data(40, 2), np.arange(40.0)
    for policy, window in ((FIFD(7), 7), (KeepAll(), None)):
        one, other = rolling(X, y, policy, min_rows=2), rolling(X, y, window, min_rows=2)
        assert np.array_equal(one.coef, other.coef, equal_nan=True)
    check(rolling(X, y, KeepFor(7), min_rows=7, at=at), naive.rolling(X, y, 7))
    growing = rolling(X, y, AddDrop(3, 1), min_rows=2, fit_intercept=True)
    twin = naive.NaiveModel(("OLS", {}), ("add", 3, 1, 0), True, 2)
    for t in range(40):
        twin.learn(X[t], y[t])
        if t > 3:
            assert growing.coef[t] == pytest.approx(twin.refit()[0], rel=1e-9)


def test_a_duration_on_the_calendar():
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
    assert rolling(X, y, KeepFor(2), at=[0, 1, 2]).coef.ravel().tolist() == [1.0, 2.0, 5.5]
    assert rolling(X, y, KeepFor(2.5), at=[0, 1, 2]).coef.ravel().tolist() == [1.0, 2.0, 4.0]


def test_times_that_go_back_are_refused_within_a_group_only():
    X, y = data(6, 1)
    at = [0, 10, 1, 11, 2, 12]
    assert rolling(X, y, KeepFor(5), at=at, groups=[0, 1] * 3).coef.shape == (6, 1)
    with pytest.raises(BadTime, match=r"'at\[2\]' is '1': expected no time before"):
        rolling(X, y, KeepFor(5), at=at)
    with pytest.raises(BadTime, match=r"'at\[5\]' is '3': .*sort the rows by time"):
        rolling(X, y, 3, at=[0, 10, 1, 11, 2, 3], groups=[0, 1] * 3)
    with pytest.raises(BadTime, match=r"'at\[1\]'"):
        rolling(X, y, KeepFor(5), at=[0, None, 1, 2, 3, 4])


@pytest.mark.usefixtures("eager")
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


@pytest.mark.parametrize("window", [None, KeepFor(30.0)])
@pytest.mark.parametrize("intercept", [False, True])
def test_statistics_of_windows_of_any_length(window, intercept):
    (X, y), at = data(60, 2), ticks(60, 3)
    result = rolling(X, y, window, fit_intercept=intercept, stats=True, at=at, min_rows=4)
    twin = naive.windows(np.ones(60, dtype=bool), None, None, at, 30.0 if window else None)
    for t, (_, rows) in enumerate(twin):
        assert result.stats.nobs[t] == (len(rows) if len(rows) >= 4 else 0)
        if len(rows) > 5:
            A = np.column_stack([X[rows], np.ones(len(rows))]) if intercept else X[rows]
            _, rest, *_ = np.linalg.lstsq(A, y[rows])
            bse = np.sqrt(np.diag(np.linalg.inv(A.T @ A)) * rest / (len(rows) - A.shape[1]))
            assert result.stats.bse[t] == pytest.approx(bse[:2], rel=1e-8)
            total = y[rows] - y[rows].mean() * intercept
            assert result.stats.rsquared[t] == pytest.approx(1 - rest[0] / (total @ total))
        elif len(rows) < 4:
            assert np.isnan(result.stats.bse[t]).all()


# -- what else a window says -------------------------------------------------------------------


def test_residuals_and_errors_are_given_when_asked():
    X, y = data(30, 2)
    plain = rolling(X, y, 10)
    assert plain.residual is plain.error is None
    result = rolling(X, y, 10, outputs=["residual", "error"])
    assert result.fitted is result.prediction is result.coef is None
    assert np.array_equal(result.residual, y - plain.fitted, equal_nan=True)
    assert np.array_equal(result.error, y - plain.prediction, equal_nan=True)


def test_windows_that_lack_rank_are_flagged():
    rng = np.random.default_rng(0)
    X, y = np.eye(3)[rng.integers(0, 3, size=60)], rng.normal(size=60)
    result = rolling(X, y, 5)
    assert result.singular.tolist() == [0 <= rank < 3 for rank in result.rank]
    assert 0 < result.singular.sum() < 56
    assert not result.singular[:4].any()
    assert rolling(X, y, 5, alpha=1.0).singular is None


@pytest.mark.parametrize("window", [12, KeepFor(12.0)])
@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_earlier_history_leaves_no_trace(window, alpha):
    (X, y), at = data(80, 3), np.arange(80.0)
    X[20] *= 1e8
    whole = rolling(X, y, window, alpha, True, at=at, min_rows=12)
    suffix = rolling(X[40:], y[40:], window, alpha, True, at=at[40:], min_rows=12)
    for name in ("coef", "intercept", "fitted", "prediction"):
        got, want = getattr(whole, name)[53:], getattr(suffix, name)[13:]
        assert got == pytest.approx(want, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("window", [9, None, KeepFor(11.0)])
@pytest.mark.parametrize("alpha", [0.0, 0.5])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("method", ["gaussian", "self-normalized"])
def test_intervals_are_those_of_a_model_on_the_window_before(window, alpha, intercept, method):
    (X, y), at, labels = data(60, 2), ticks(60, 5), np.arange(60) % 2
    y[[14, 31, 32]] = np.nan
    result = rolling(
        X,
        y,
        window,
        alpha,
        intercept,
        3,
        labels,
        missing="skip",
        interval=0.9,
        method=method,
        at=at,
    )
    size, duration = (window if isinstance(window, int) else None), 11.0
    duration = duration if isinstance(window, KeepFor) else None
    found = naive.windows(~np.isnan(y), size, labels, at, duration)
    for t, (rows, _) in enumerate(found):
        if len(rows) < 3:
            assert np.isnan([result.lower[t], result.upper[t]]).all()
            continue
        model = Ridge(alpha=alpha, fit_intercept=intercept).fit(X[rows], y[rows])
        interval = model.predict_interval(X[t : t + 1], level=0.9, method=method)
        assert result.prediction[t] == pytest.approx(interval.prediction[0], rel=1e-9)
        assert result.lower[t] == pytest.approx(interval.lower[0], rel=1e-7)
        assert result.upper[t] == pytest.approx(interval.upper[0], rel=1e-7)


def test_intervals_of_other_noise():
    X, y = data(80, 1)
    result = rolling(X, y, 60, interval=0.8, method="conformal", outputs=["prediction"])
    model = OLS(fit_intercept=False).fit(X[10:70], y[10:70])
    interval = model.predict_interval(X[70:71], level=0.8, method="conformal")
    assert result.upper[70] == pytest.approx(interval.upper[0])
    assert rolling(X, y, 60).lower is None


# -- frames ------------------------------------------------------------------------------------

KINDS = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "arrow": pa.table,
    "lazy": pl.LazyFrame,
}
EVERY = (*OUTPUTS, "residual", "error")


def panel(n, d, seed=0):
    """Columns of a frame in no order: features, a response, groups, times and ids."""
    X, y = data(n, d, seed)
    rng = np.random.default_rng(seed)
    return X, {
        "id": [f"row {t}" for t in range(n)],
        "ret": y,
        **{f"x{j}": X[:, j].copy() for j in range(d)},
        "asset": rng.choice(["b", "a", "c"], size=n).tolist(),
        "date": np.datetime64("2024-01-01", "us") + np.arange(n) * np.timedelta64(1, "D"),
    }


def plain(values):
    """A column or a frame of any kind as an array."""
    table = getattr(values, "to_pandas", lambda: values)()
    return np.asarray(table)


def equal(got, want):
    for name in ("coef", "intercept", "rank", "fitted", "prediction", "residual", "error"):
        one, other = getattr(got, name), getattr(want, name)
        assert (one is None) == (other is None)
        if one is not None:
            assert np.array_equal(plain(one), other, equal_nan=True), name


@pytest.mark.parametrize("kind", KINDS)
@given(
    seed=st.integers(0, 99),
    n=st.sampled_from([0, 1, 30]),
    d=st.integers(1, 4),
    window=st.sampled_from([5, None, "6d"]),
    grouped=st.booleans(),
)
@settings(deadline=None, max_examples=25)
def test_a_frame_gives_what_its_arrays_give(kind, seed, n, d, window, grouped):
    X, columns = panel(n, d, seed)
    frame = KINDS[kind](columns)
    names = [f"x{j}" for j in range(d)]
    got = rolling(
        frame, "ret", window, x=names, by="asset" if grouped else None, at="date", outputs=EVERY
    )
    want = rolling(
        X,
        columns["ret"],
        window,
        groups=columns["asset"] if grouped else None,
        at=columns["date"],
        outputs=EVERY,
    )
    equal(got, want)


@pytest.mark.parametrize("kind", KINDS)
def test_results_are_of_the_kind_of_the_frame(kind):
    _, columns = panel(20, 2)
    frame = KINDS[kind](columns)
    result = rolling(
        frame, y="ret", window=6, x=["x1", "x0"], by="asset", at="date", interval=0.9, min_rows=4
    )
    column, whole = {
        "pandas": (pd.Series, pd.DataFrame),
        "arrow": (pa.ChunkedArray, pa.Table),
    }.get(kind, (pl.Series, pl.DataFrame))
    assert type(result.coef) is whole
    names = result.coef.column_names if kind == "arrow" else list(result.coef.columns)
    assert names == ["x1", "x0"]
    for name in ("intercept", "rank", "fitted", "prediction", "lower", "upper", "singular"):
        assert type(getattr(result, name)) is column
    table = result.to_frame()
    assert type(table) is whole
    names = table.column_names if kind == "arrow" else list(table.columns)
    assert names[:4] == ["asset", "date", "coef_x1", "coef_x0"]
    assert {"prediction", "lower", "upper", "singular"} < set(names)


def test_the_index_of_pandas_is_kept():
    _, columns = panel(12, 2)
    index = pd.MultiIndex.from_arrays([columns["asset"], [1] * 12], names=["asset", "k"])
    frame = pd.DataFrame(columns).set_index(index)
    features = frame[["x0", "x1"]]
    result = rolling(features, frame["ret"], 5, stats=True)
    for values in (result.coef, result.rank, result.stats.bse, result.stats.nobs):
        assert values.index.equals(index)
    assert list(result.stats.tvalues.columns) == ["x0", "x1"]
    assert result.stats.rsquared.name == "rsquared"
    assert "bse_x0" in result.to_frame().columns


def test_all_columns_without_a_role_are_features():
    _, columns = panel(12, 3)
    frame = pl.DataFrame(columns).drop("id")
    result = rolling(frame, "ret", 5, groups="asset", at="date")
    assert result.coef.columns == ["x0", "x1", "x2"]


def test_a_single_column_is_a_feature():
    X, y = data(12, 1)
    result = rolling(pd.Series(X[:, 0], name="mkt"), pd.Series(y), 5)
    assert list(result.coef.columns) == ["mkt"]
    close(result.coef.to_numpy(), rolling(X, y, 5).coef)


def test_arrays_beside_a_frame():
    X, columns = panel(12, 2)
    frame = pl.DataFrame(columns).select("x0", "x1")
    labels = columns["asset"]
    want = rolling(X, columns["ret"], 4, groups=labels)
    for y in (columns["ret"], pl.Series(columns["ret"]), columns["ret"].tolist()):
        equal(rolling(frame, y, 4, groups=labels), want)
        equal(rolling(frame, y, 4, by=pl.Series(labels)), want)


def test_groups_by_several_columns():
    X, columns = panel(40, 2)
    columns["year"] = (np.arange(40) % 2).tolist()
    frame = pd.DataFrame(columns)
    got = rolling(frame, "ret", 4, x=["x0", "x1"], by=["asset", "year"])
    labels = [f"{a} {b}" for a, b in zip(columns["asset"], columns["year"], strict=True)]
    equal(got, rolling(X, columns["ret"], 4, groups=labels))
    assert list(got.to_frame().columns[:2]) == ["asset", "year"]


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_gaps_of_every_kind_are_skipped(kind):
    X, columns = panel(30, 2)
    y = columns["ret"].copy()
    y[[3, 20]] = np.nan
    X[7, 1] = np.nan
    whole = np.arange(30)
    holes = [None if t == 12 else int(t) for t in whole]
    frame = {
        "x0": X[:, 0],
        "x1": [None if math.isnan(v) else v for v in X[:, 1]],
        "k": pd.array(holes, dtype="Int64") if kind == "pandas" else holes,
        "ret": [None if math.isnan(v) else v for v in y],
    }
    count = whole.astype(float)
    count[12] = np.nan
    want = rolling(np.column_stack([X, count]), y, 6, missing="skip")
    equal(rolling(KINDS[kind](frame), "ret", 6, missing="skip"), want)
    with pytest.raises(BadRow, match=r"'X' at row 7, column 1 \('x1'\) is NaN"):
        rolling(KINDS[kind](frame), "ret", 6)
    frame["x1"], frame["k"] = X[:, 0], whole
    with pytest.raises(BadRow, match=r"'y' \('ret'\) at row 3 is NaN"):
        rolling(KINDS[kind](frame), "ret", 6)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"y": "rat"}, "'y' is 'rat': expected the name of a column; there are 'id', 'ret', 'x0'"),
        ({"x": ["x0", "x9"]}, "'x' is 'x9': expected the name of a column; there are 'id'"),
        ({"x": "x9"}, "'x' is 'x9': expected the name of a column"),
        ({"x": ["x0", "ret"]}, "'x' is 'ret': expected features other than y"),
        ({"x": ["x0", "x0"]}, "'x' is \"2 columns named 'x0'\": expected different names"),
        ({"by": "assset"}, "'groups' is 'assset': expected the name of a column"),
        ({"by": ["asset", "when"]}, "'groups' is 'when': expected the name of a column"),
        ({"at": "day"}, "'at' is 'day': expected the name of a column"),
        ({"x": None}, r"'X' at row 0, column 0 \('id'\) is 'row 0': .*not String; .*leave it out"),
        ({"y": "asset"}, "'y' at row 0 is '.': expected a number, not String"),
    ],
)
def test_columns_that_cannot_be_used_are_named(change, text):
    frame = pl.DataFrame(panel(10, 2)[1])
    with pytest.raises(InvalidValue, match=text):
        rolling(frame, **{"y": "ret", "window": 4, "x": ["x0", "x1"], **change})


def test_a_missing_label_is_named_by_its_column():
    _, columns = panel(10, 2)
    columns["asset"][4] = None
    for kind in ("pandas", "polars", "arrow"):
        with pytest.raises(InvalidValue, match=r"'asset\[4\]' is .*: expected a label"):
            rolling(KINDS[kind](columns), "ret", 4, x="x0", by="asset")


def test_an_array_has_no_kind_of_frame():
    with pytest.raises(InvalidValue, match="'X' was an array: expected a frame"):
        rolling(*data(10, 2), 4).to_frame()


def test_only_what_is_needed_of_a_lazy_frame_is_collected():
    def never(_):
        raise AssertionError("collected in vain")

    _, columns = panel(10, 2)
    lazy = pl.LazyFrame(columns).with_columns(
        waste=pl.col("x0").map_elements(never, return_dtype=pl.Float64)
    )
    assert rolling(lazy, "ret", 4, x=["x0"], at="date").coef.shape == (10, 1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_replay_of_a_frame(kind):
    X, columns = panel(40, 2)
    frame = KINDS[kind](columns)
    one, other = OLS(window="9d"), OLS(window="9d")
    got = replay(
        one, frame, y="ret", x=["x0", "x1"], ids="id", at="date", coef=True, diagnostics=True
    )
    want = replay(
        other, X, columns["ret"], columns["id"], columns["date"], coef=True, diagnostics=True
    )
    for name in ("prediction", "intercept", "n_rows", "rank", "coef", "frt", "condition"):
        assert np.array_equal(plain(getattr(got, name)), getattr(want, name), equal_nan=True)
    assert one.ids_ == other.ids_
    assert one.feature_names_in_.tolist() == ["x0", "x1"]
    table = got.to_frame()
    names = table.column_names if kind == "arrow" else list(table.columns)
    assert names[:3] == ["id", "date", "prediction"]
    assert {"coef_x0", "coef_x1", "n_rows"} < set(names)


# -- replay ------------------------------------------------------------------------------------

RULES = {
    "OLS": (OLS, {}),
    "Ridge": (Ridge, {"alpha": 0.7}),
    "AdaptiveRidge": (AdaptiveRidge, {"delta": 0.1, "noise": "response", "theta_max": 2.0}),
    "AdaptiveRidge, plugged": (
        *(AdaptiveRidge, {"delta": 0.1, "noise": "residual", "theta_max": "auto"}),
    ),
    "SwitchingRidge": (
        *(SwitchingRidge, {"delta": 0.05, "noise": "response", "theta_max": 1.0, "switch_at": 2.0}),
    ),
    "SwitchingRidge, plugged": (
        *(SwitchingRidge, {"delta": 0.1, "noise": "residual", "theta_max": 2.0, "switch_at": 2.0}),
    ),
}
WINDOWS = [
    (12, ("rows", 12)),
    (3, ("rows", 3)),
    (AddDrop(3, 1), ("add", 3, 1, 0)),
    (KeepFor(9), ("age", 9)),
    (None, ("all",)),
]


@pytest.mark.parametrize(("window", "plain"), WINDOWS)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weighing", [None, "integers", "from 1e-3 to 1e3"])
@pytest.mark.parametrize("name", list(RULES))
def test_replay_predicts_and_then_learns(name, weighing, intercept, window, plain):
    X, y = data(60, 4)
    w = WEIGHINGS[weighing](np.random.default_rng(1), 60) if weighing else np.ones(60)
    kind, parameters = RULES[name]
    at = np.arange(60.0) if plain[0] == "age" else None
    model = kind(window=window, fit_intercept=intercept, **parameters)
    twin = naive.NaiveModel((name.split(",")[0], parameters), plain, intercept, 4)
    model.partial_fit(X[:2], y[:2], at=None if at is None else at[:2], sample_weight=w[:2])
    for t in range(2):
        twin.learn(X[t], y[t], at=None if at is None else at[t], weight=w[t])
    times = None if at is None else at[2:]
    asked = {"coef": True, "diagnostics": True, "sample_weight": w[2:]}
    result = replay(model, X[2:], y[2:], at=times, **asked)
    expected = naive.replay(twin, X[2:], y[2:], at=times, weights=w[2:])
    prediction, penalty, rank, n_rows, coef = expected
    close(result.prediction, prediction)
    close(result.penalty, penalty)
    close(result.coef, coef)
    assert (result.rank == rank).all()
    assert (result.n_rows == n_rows).all()
    assert model.ids_ == twin.ids
    assert model.coef_ == pytest.approx(twin.refit()[0], rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("window", [8, AddDrop(2, 1), None])
@pytest.mark.parametrize("name", list(RULES))
def test_replay_leaves_the_model_as_learning_row_by_row_does(name, window):
    X, y = data(50, 3)
    kind, parameters = RULES[name]
    ids = [f"row {t}" for t in range(50)]
    w = np.random.default_rng(3).choice([0.0, 1.0, 0.3, 7.0], size=50)
    one, other = kind(window=window, **parameters), kind(window=window, **parameters)
    replay(one, X, y, ids=ids, sample_weight=w)
    for t in range(50):
        other.learn_one(X[t], y[t], id=ids[t], weight=w[t])
    assert one.ids_ == other.ids_
    assert (one._live.memory.rows()[0] == other._live.memory.rows()[0]).all()
    assert (one._live.memory.weights == other._live.memory.weights).all()
    assert one._live.phase == other._live.phase
    assert one.coef_ == pytest.approx(other.coef_, rel=1e-9, abs=1e-12)
    one.learn_one(X[0], y[0])
    other.learn_one(X[0], y[0])
    assert one.ids_ == other.ids_


def test_what_a_replay_gives_without_being_asked():
    X, y = data(20, 2)
    plain = replay(OLS(window=5), X, y)
    assert plain.rank is not None
    assert plain.coef is plain.leverage_new is plain.leverage_old is plain.frt is None
    assert plain.phi2 is plain.condition is plain.lower is plain.upper is None
    assert replay(Ridge(window=5), X, y).rank is None
    assert replay(Ridge(window=5), X, y, diagnostics=True).rank is not None


@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 2.0])
def test_leverages_and_the_forgetting_regret_term(alpha, weighed):
    """Live rows are multiplied by the roots of their weights; the row to come weighs 1."""
    X, y = data(40, 3)
    w = np.random.default_rng(4).uniform(0.1, 5.0, size=40) if weighed else np.ones(40)
    model = Ridge(window=10, alpha=alpha, fit_intercept=False)
    result = replay(model, X, y, diagnostics=True, sample_weight=w)
    for t in range(12, 40):
        window = np.sqrt(w[t - 10 : t, None]) * X[t - 10 : t]
        inverse = np.linalg.inv(window.T @ window + alpha * np.eye(3))
        assert result.leverage_new[t] == pytest.approx(X[t] @ inverse @ X[t], rel=1e-9)
        assert result.leverage_old[t] == pytest.approx(window[0] @ inverse @ window[0], rel=1e-9)
        term = theory.forgetting_regret_term(window, window[0], X[t], penalty=alpha)
        assert result.frt[t] == pytest.approx(term.total, rel=1e-9)


@pytest.mark.parametrize("intercept", [False, True])
def test_eigenvalues_now_and_then_and_at_the_last_row(intercept):
    X, y = data(1200, 3)
    w = np.random.default_rng(5).integers(0, 4, size=1200)
    model = Ridge(window=20, fit_intercept=intercept)
    result = replay(model, X, y, diagnostics=True, sample_weight=w)
    there = np.flatnonzero(~np.isnan(result.phi2))
    assert there.tolist() == [499, 999, 1199]
    for t in there:
        rows = np.repeat(X[t - 20 : t], w[t - 20 : t], axis=0)
        rows = rows - rows.mean(axis=0) * intercept
        values = np.linalg.eigvalsh(rows.T @ rows)
        assert result.phi2[t] == pytest.approx(values[0] / len(rows), rel=1e-9)
        assert result.condition[t] == pytest.approx(math.sqrt(values[-1] / values[0]), rel=1e-9)


def test_replay_by_the_clock():
    X, y = data(30, 2)
    start = datetime(2024, 5, 1)
    at = [start + timedelta(hours=6 * t) for t in range(30)]
    result = replay(OLS(window="2d"), X, y, at=at)
    assert result.n_rows.tolist() == [min(t, 7) for t in range(30)]


def test_replay_of_nothing():
    model = OLS(window=5)
    result = replay(model, np.empty((0, 2)), [], coef=True)
    assert result.prediction.shape == (0,)
    assert result.coef.shape == (0, 2)
    assert model.n_rows_ == 0


def test_replay_keeps_the_names_of_the_columns():
    model = OLS(window=5)
    replay(model, pd.DataFrame({"a": [1.0, 2.0]}), [1.0, 2.0])
    assert model.feature_names_in_.tolist() == ["a"]


# -- standardised features ---------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.0, 0.7])
@pytest.mark.parametrize("intercept", [False, True])
def test_standardised_windows_of_groups_with_gaps_equal_a_refit_on_their_scores(
    alpha, intercept, eager
):
    X, y = data(90, 3)
    X = X * [1.0, 100.0, 1e-3] + [0.0, 1e3, 1.0]
    X[[20, 41], 1], y[33] = np.nan, np.nan
    groups = np.arange(90) % 2
    options = {"window": 10, "alpha": alpha, "fit_intercept": intercept, "min_rows": 5}
    names = OUTPUTS if alpha == 0.0 else [name for name in OUTPUTS if name != "rank"]
    found = rolling(
        X, y, **options, groups=groups, missing="skip", outputs=names, standardize=True, threads=2
    )
    memories = {0: [], 1: []}
    for t in range(90):
        memory = memories[t % 2]
        if not (np.isnan(X[t]).any() or np.isnan(y[t])):
            memory.append(t)
            del memory[:-10]
        if len(memory) < 5:
            assert np.isnan(found.coef[t]).all()
            continue
        coef, level, rank = naive_scaling.regress(X[memory], y[memory], alpha, intercept)
        assert found.coef[t] == pytest.approx(coef, rel=1e-9)
        assert found.intercept[t] == pytest.approx(level, rel=1e-9)
        assert found.fitted[t] == pytest.approx(X[t] @ coef + level, rel=1e-8, nan_ok=True)
        assert alpha or found.rank[t] == rank


def test_standardised_windows_tell_the_rank_of_their_scores_with_a_penalty_too():
    X, y = data(30, 3)
    X[:, 1] = 2.0
    found = rolling(X, y, 10, alpha=1.0, outputs=["rank"], standardize=True)
    assert set(found.rank[9:].tolist()) == {2}


def test_standard_errors_are_those_of_the_features_as_they_are():
    X, y = data(40, 3)
    options = {"window": 12, "fit_intercept": True, "stats": True}
    one, other = (rolling(X, y, **options, standardize=s) for s in (True, False))
    close(one.stats.bse, other.stats.bse)
    close(one.stats.rsquared, other.stats.rsquared)
    with pytest.raises(InvalidValue, match="'fit_intercept' is False: expected True"):
        rolling(X, y, 12, stats=True, standardize=True)
    with pytest.raises(InvalidValue, match="'standardize' is 'yes'"):
        rolling(X, y, 12, standardize="yes")

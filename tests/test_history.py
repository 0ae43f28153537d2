"""Whole arrays: every window against a refit, gaps, groups; replay against one row at a time."""

from __future__ import annotations

import math
from datetime import datetime, timedelta

import naive
import naive_scaling
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from efface import (
    FIFD,
    OLS,
    AdaptiveRidge,
    AddDrop,
    KeepFor,
    Ridge,
    SwitchingRidge,
    history,
    replay,
    rolling,
    theory,
)
from efface.errors import BadRow, InvalidValue

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

    def counted(*arguments):
        calls.append(arguments[3])
        return original(*arguments)

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
@given(seed=st.integers(0, 99), groups=st.booleans(), min_rows=st.sampled_from([None, 1, 3]))
@settings(deadline=None, max_examples=25)
def test_gaps_and_groups_against_one_row_at_a_time(alpha, seed, groups, min_rows):
    X, y = with_gaps(60, 2, seed)
    labels = np.random.default_rng(seed).integers(0, 4, size=60) if groups else None
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
    )
    check(result, naive.rolling(X, y, 6, alpha, True, min_rows, labels))


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
    def fail(*_):
        raise MemoryError("no room")

    monkeypatch.setattr(history, "slide_windows", fail)
    with pytest.raises(MemoryError, match="no room"):
        rolling(*data(30, 2), 5, groups=np.arange(30) % 3, threads=2)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"window": 0}, "'window' is 0: expected a whole number of at least 1"),
        (
            {"window": "90d"},
            "'window' is '90d': expected a number of rows; for a duration use replay",
        ),
        ({"window": 2.0}, "'window' is 2.0: expected a number of rows"),
        ({"window": FIFD(5)}, r"'window' is FIFD\(rows=5\): expected a number of rows"),
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
@pytest.mark.parametrize("name", list(RULES))
def test_replay_predicts_and_then_learns(name, intercept, window, plain):
    X, y = data(60, 4)
    kind, parameters = RULES[name]
    at = np.arange(60.0) if plain[0] == "age" else None
    model = kind(window=window, fit_intercept=intercept, **parameters)
    twin = naive.NaiveModel((name.split(",")[0], parameters), plain, intercept, 4)
    model.partial_fit(X[:2], y[:2], at=None if at is None else at[:2])
    for t in range(2):
        twin.learn(X[t], y[t], at=None if at is None else at[t])
    result = replay(
        model, X[2:], y[2:], at=None if at is None else at[2:], coef=True, diagnostics=True
    )
    expected = naive.replay(twin, X[2:], y[2:], at=None if at is None else at[2:])
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
    one, other = kind(window=window, **parameters), kind(window=window, **parameters)
    replay(one, X, y, ids=ids)
    for t in range(50):
        other.learn_one(X[t], y[t], id=ids[t])
    assert one.ids_ == other.ids_
    assert (one._live.memory.rows()[0] == other._live.memory.rows()[0]).all()
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


@pytest.mark.parametrize("alpha", [0.0, 2.0])
def test_leverages_and_the_forgetting_regret_term(alpha):
    X, y = data(40, 3)
    result = replay(Ridge(window=10, alpha=alpha, fit_intercept=False), X, y, diagnostics=True)
    for t in range(12, 40):
        window = X[t - 10 : t]
        inverse = np.linalg.inv(window.T @ window + alpha * np.eye(3))
        assert result.leverage_new[t] == pytest.approx(X[t] @ inverse @ X[t], rel=1e-9)
        assert result.leverage_old[t] == pytest.approx(X[t - 10] @ inverse @ X[t - 10], rel=1e-9)
        term = theory.forgetting_regret_term(window, window[0], X[t], penalty=alpha)
        assert result.frt[t] == pytest.approx(term.total, rel=1e-9)


@pytest.mark.parametrize("intercept", [False, True])
def test_eigenvalues_now_and_then_and_at_the_last_row(intercept):
    X, y = data(1200, 3)
    result = replay(Ridge(window=20, fit_intercept=intercept), X, y, diagnostics=True)
    there = np.flatnonzero(~np.isnan(result.phi2))
    assert there.tolist() == [499, 999, 1199]
    for t in there:
        rows = X[t - 20 : t] - X[t - 20 : t].mean(axis=0) * intercept
        values = np.linalg.eigvalsh(rows.T @ rows)
        assert result.phi2[t] == pytest.approx(values[0] / 20, rel=1e-9)
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

"""``replay`` compared with single events."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pytest
from samples import KINDS, WEIGHINGS, close, data, frame_data, plain
from twins import regression as naive

from efface import OLS, AdaptiveRidge, AddDrop, KeepFor, Ridge, SwitchingRidge, replay, theory
from efface.errors import RepeatedId

RULES = {
    "OLS": (OLS, {}),
    "Ridge": (Ridge, {"alpha": 0.7}),
    "AdaptiveRidge": (AdaptiveRidge, {"delta": 0.1, "noise": "response", "theta_max": 2.0}),
    "AdaptiveRidge, pilot": (
        *(AdaptiveRidge, {"delta": 0.1, "noise": "residual", "theta_max": "auto"}),
    ),
    "SwitchingRidge": (
        *(SwitchingRidge, {"delta": 0.05, "noise": "response", "theta_max": 1.0, "switch_at": 2.0}),
    ),
    "SwitchingRidge, pilot": (
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
def test_after_a_replay_the_model_equals_one_that_learned_row_by_row(name, window):
    X, y = data(50, 3)
    kind, parameters = RULES[name]
    ids = [f"row {t}" for t in range(50)]
    w = np.random.default_rng(3).choice([0.0, 1.0, 0.3, 7.0], size=50)
    one, other = kind(window=window, **parameters), kind(window=window, **parameters)
    replay(one, X, y, ids=ids, sample_weight=w)
    for t in range(50):
        other.learn_one(X[t], y[t], id=ids[t], weight=w[t])
    assert one.ids_ == other.ids_
    assert (one._live.values()[0] == other._live.values()[0]).all()
    assert (one._live.solver.weights == other._live.solver.weights).all()
    assert one._live.phase == other._live.phase
    assert one.coef_ == pytest.approx(other.coef_, rel=1e-9, abs=1e-12)
    one.learn_one(X[0], y[0])
    other.learn_one(X[0], y[0])
    assert one.ids_ == other.ids_


def test_weights_of_1_change_no_bit_of_a_replay():
    X, y = data(80, 3)
    models = AdaptiveRidge(window=9), AdaptiveRidge(window=9)
    one, other = (
        replay(m, X, y, diagnostics=True, sample_weight=w)
        for m, w in zip(models, (None, 1), strict=True)
    )
    assert (one.prediction == other.prediction).all()
    assert (one.leverage_old == other.leverage_old)[1:].all()


def test_the_default_outputs_of_a_replay():
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
    """Live rows are multiplied by the square roots of their weights; the new row has weight 1."""
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
def test_eigenvalues_at_every_500th_and_the_last_row(intercept):
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


def test_replay_of_a_calendar_duration():
    X, y = data(30, 2)
    start = datetime(2024, 5, 1)
    at = [start + timedelta(hours=6 * t) for t in range(30)]
    result = replay(OLS(window="2d"), X, y, at=at)
    assert result.n_rows.tolist() == [min(t, 7) for t in range(30)]


CALENDARS = {
    "datetime": lambda days: [datetime(2024, 1, 1) + timedelta(days=day) for day in days],
    "date": lambda days: [date(2024, 1, 1) + timedelta(days=day) for day in days],
    "datetime64": lambda days: np.datetime64("2024-01-01", "ns") + np.array(days, "m8[D]"),
    "near 1970": lambda days: np.datetime64(0, "ns") + np.array(days, "m8[D]"),
    "pandas with a zone": lambda days: (
        pd.Timestamp("2024-01-01", tz="Europe/Vienna") + pd.to_timedelta(days, unit="D")
    ),
}


@pytest.mark.parametrize("calendar", list(CALENDARS))
@pytest.mark.parametrize("late", [False, True])
def test_a_replay_of_returning_ids_and_late_rows_on_calendar_times(calendar, late):
    """Each row has the first id whose last row has left by then."""
    n, rng, ids, last = 40, np.random.default_rng(6), [], {}
    X, y = data(n, 2)
    days = (np.sort(rng.integers(0, 30, size=n)) - late * rng.integers(0, 3, size=n)).tolist()
    for t, day in enumerate(days):
        ids.append(next(k for k in range(n) if last.get(k, -9) <= max(days[: t + 1]) - 2))
        last[ids[-1]] = day
    model = OLS(window="2d")
    twin = naive.NaiveModel(("OLS", {}), ("age", 2), True, 2)
    result = replay(model, X, y, ids=ids, at=CALENDARS[calendar](days), coef=True)
    prediction, _, rank, n_rows, coef = naive.replay(twin, X, y, ids=ids, at=days)
    assert len(set(ids)) < n
    close(result.prediction, prediction)
    close(result.coef, coef)
    assert (result.rank == rank).all()
    assert (result.n_rows == n_rows).all()
    assert model.ids_ == twin.ids


@pytest.mark.parametrize("method", ["gaussian", "conformal", "local"])
@pytest.mark.parametrize("window", ["9d", 12, AddDrop(3, 2), AddDrop(1, 1), None])
@pytest.mark.parametrize("seed", range(3))
def test_late_rows_are_replayed_as_if_one_call_per_row(seed, window, method):
    n, rng = 50, np.random.default_rng(seed)
    X, y = data(n, 2, seed)
    at = np.datetime64("2024-01-01") + np.arange(n) - rng.choice([0, 0, 0, 3, 20], size=n)
    given = {"sample_weight": rng.choice([0.5, 1.0, 3.0], size=n), "at": at}
    asked = {"coef": True, "diagnostics": True, "interval": 0.8, "method": method}
    one, other = Ridge(window=window), Ridge(window=window)
    whole = replay(one, X, y, **given, **asked)
    for t in range(n):
        row = {name: values[t : t + 1] for name, values in given.items()}
        single = replay(other, X[t : t + 1], y[t : t + 1], **row, **asked)
        for name in ("prediction", "lower", "upper", "leverage_new", "n_rows", "rank", "coef"):
            found, expected = getattr(whole, name)[t], getattr(single, name)[0]
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    assert one.ids_ == other.ids_


@pytest.mark.parametrize("bad", [["a", "b", "b"], ["b", "b", "a"]])
def test_a_refused_replay_on_calendar_times_removes_no_expired_row(bad):
    model = OLS(window="2d").fit([[1.0]], [1.0], ids=["a"], at=[date(2024, 1, 1)])
    days = [date(2024, 1, 4), date(2024, 1, 3), date(2024, 1, 3)]
    with pytest.raises(RepeatedId, match="'id' is 'b': a live row has it"):
        replay(model, [[1.0]] * 3, [1.0] * 3, ids=bad, at=days)
    assert model.ids_ == ["a"]


def test_replay_of_no_rows():
    model = OLS(window=5)
    result = replay(model, np.empty((0, 2)), [], coef=True)
    assert result.prediction.shape == (0,)
    assert result.coef.shape == (0, 2)
    assert model.n_rows_ == 0


def test_replay_keeps_the_names_of_the_columns():
    model = OLS(window=5)
    replay(model, pd.DataFrame({"a": [1.0, 2.0]}), [1.0, 2.0])
    assert model.feature_names_in_.tolist() == ["a"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_replay_of_a_frame(kind):
    X, columns = frame_data(40, 2)
    frame = KINDS[kind](columns)
    one, other = OLS(window="9d"), OLS(window="9d")
    got = replay(
        one, frame, y="ret", x=["x0", "x1"], ids="id", at="date", coef=True, diagnostics=True
    )
    want = replay(
        *(other, X, columns["ret"]),
        ids=columns["id"],
        at=columns["date"],
        coef=True,
        diagnostics=True,
    )
    for name in ("prediction", "intercept", "n_rows", "rank", "coef", "frt", "condition"):
        assert np.array_equal(plain(getattr(got, name)), getattr(want, name), equal_nan=True)
    assert one.ids_ == other.ids_
    assert one.feature_names_in_.tolist() == ["x0", "x1"]
    table = got.to_frame()
    names = table.column_names if kind == "arrow" else list(table.columns)
    assert names[:3] == ["id", "date", "prediction"]
    assert {"coef_x0", "coef_x1", "n_rows"} < set(names)


def test_owners_and_ends_may_be_columns_of_a_frame():
    frame = pl.DataFrame(
        {
            "x": [1.0, 2.0, 3.0, 4.0],
            "y": [1.0, 2.0, 3.0, 5.0],
            "day": [1.0, 2.0, 3.0, 4.0],
            "who": ["ann", "bob", None, "ann"],
            "end": [3.0, None, 9.0, None],
        }
    )
    model = Ridge(alpha=0.1)
    columns = {"y": "y", "at": "day", "owners": "who", "until": "end"}
    found = replay(model, frame, **columns, interval=0.9)
    assert found.n_rows.to_list() == [0, 1, 1, 2]
    assert model.ids_ == [1, 2, 3]
    assert model.owners_ == ["bob", "ann"]
    assert model.n_features_in_ == 1
    past = Ridge(alpha=0.1).fit(frame[1:3][["x"]], frame["y"][1:3])
    expected = past.predict_interval(frame[3:][["x"]], level=0.9)
    for name in ("prediction", "lower", "upper"):
        assert getattr(found, name)[3] == pytest.approx(getattr(expected, name)[0])


def test_ends_at_scattered_times_divide_a_replay_into_runs():
    rng = np.random.default_rng(4)
    n = 3_000
    X, at = rng.normal(size=(n, 2)), np.arange(float(n))
    y = X @ [1.0, -2.0] + rng.normal(size=n)
    until = np.where(rng.random(n) < 0.05, at + rng.integers(1, 200, size=n), np.nan)
    many, one = (Ridge(alpha=0.5, window=KeepFor(150)) for _ in range(2))
    found = replay(many, X, y, at=at, until=until)
    expected, alive = np.empty(n), np.empty(n)
    for t in range(n):
        end = None if np.isnan(until[t]) else until[t]
        if t:
            one.expire(at[t])
        expected[t], alive[t] = (one.predict_one(X[t]), one.n_rows_) if t else (0.0, 0)
        one.learn_one(X[t], y[t], at=at[t], until=end)
    assert (found.n_rows == alive).all()
    assert found.prediction == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert many.ids_ == one.ids_

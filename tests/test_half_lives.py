"""Models with a half-life equal weighted refits of their live rows, whatever came and left."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import polars_ds
import polars_ols
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from twins import half_life as naive

from efface import (
    OLS,
    AdaptiveRidge,
    AutoRidge,
    Fleet,
    KeepFor,
    Ridge,
    SwitchingRidge,
    audit,
    diagnose,
    forecast_forgetting,
    load,
    replay,
)
from efface.errors import BadTime, InvalidValue
from efface.store import Store

MODELS = [
    (OLS, {}),
    (OLS, {"fit_intercept": False}),
    (Ridge, {"alpha": 0.7}),
    (Ridge, {"alpha": 0.7, "standardize": True}),
    (AutoRidge, {}),
    (AutoRidge, {"fit_intercept": False}),
    (AdaptiveRidge, {}),
    (AdaptiveRidge, {"theta_max": 3.0, "standardize": True}),
    (SwitchingRidge, {"switch_at": 3.0}),
]


class Stream:
    """A model, and all rows that ever came to it."""

    def __init__(self, rng, kind, options, halflife, window, timed):
        self.rng, self.timed = rng, timed
        self.kind, self.options = kind, options
        self.halflife = KeepFor(1.0).length * halflife if timed else halflife
        window = KeepFor(window or 53 * halflife) if timed else window
        self.model = kind(window, halflife=halflife, **options)
        self.rows, self.now = {}, 0.0

    def draw(self, late=False):
        d, rng = 3, self.rng
        self.now += float(rng.exponential())
        at = self.now - float(rng.exponential(3.0)) if late and self.timed else self.now
        x = rng.normal(size=d)
        weight = float(rng.choice([1.0, 1.0, 0.0, 2.5, 0.3]))
        row = x, float(x @ [1.0, -2.0, 0.5] + rng.normal()), weight, at
        self.rows[len(self.rows)] = row
        return len(self.rows) - 1, row

    def learn(self, late=False):
        id, (x, y, weight, at) = self.draw(late)
        until = at + 9.0 if self.timed and self.rng.random() < 0.2 else None
        self.model.learn_one(
            x, y, id=id, weight=weight, at=at if self.timed else None, until=until, owner=id % 4
        )

    def batch(self, process):
        drawn = [self.draw() for _ in range(int(self.rng.integers(1, 9)))]
        ids = [id for id, _ in drawn]
        X, y, weights, at = (np.array(c) for c in zip(*(row for _, row in drawn), strict=True))
        keys = {"ids": ids, "at": at if self.timed else None, "sample_weight": weights}
        return process(self.model, X, y, owners=[id % 4 for id in ids], **keys)

    def live(self):
        ids = self.model.ids_
        X, y, own, at = (np.array(c) for c in zip(*(self.rows[id] for id in ids), strict=True))
        return ids, X, y, own, at

    def weighted(self):
        _, X, y, own, at = self.live()
        return X, y, naive.fading_weights(own, self.halflife, at if self.timed else None)

    def fresh(self):
        """A model that only ever saw the live rows."""
        ids, X, y, own, at = self.live()
        held = self.model._snapshot()
        return self.kind(self.model.window, halflife=self.model.halflife, **self.options).fit(
            X,
            y,
            ids=ids,
            at=at if self.timed else None,
            sample_weight=own,
            owners=held.owners,
            until=None if held.until is None else [None if np.isinf(u) else u for u in held.until],
        )


def assert_equals_a_refit(stream):
    if not stream.model.n_rows_:
        return
    X, y, weights = stream.weighted()
    model = stream.model
    heavy = np.sort(weights)[::-1][: X.shape[1] + 2]
    if heavy.size < X.shape[1] + 2 or heavy[-1] < 1e-3 * heavy[0]:
        return  # coefficients that hang on faint rows cannot be told from rounding
    reference = stream.kind(**stream.options).fit(X, y, sample_weight=weights)
    scale = max(np.abs(reference.coef_).max(), abs(reference.intercept_), 1e-3)
    assert model.penalty_ == pytest.approx(reference.penalty_, rel=1e-9, abs=1e-300)
    tolerance = 2e-9 * scale  # the penalty may move the coefficients by its own relative error
    assert np.abs(model.coef_ - reference.coef_).max() <= tolerance
    assert abs(model.intercept_ - reference.intercept_) <= tolerance
    if stream.kind is not AutoRidge and not stream.options.get("standardize"):
        coef, level = naive.refit(X, y, weights, model.penalty_, model.fit_intercept)
        assert np.abs(model.coef_ - coef).max() <= 1e-9 * scale
        assert abs(model.intercept_ - level) <= 1e-9 * scale


def step(stream, choice):
    rng, model = stream.rng, stream.model
    if choice == "late":
        stream.learn(late=True)
    elif choice == "batch" and model.__sklearn_is_fitted__():
        stream.batch(type(model).partial_fit)
    elif choice == "replay" and model.__sklearn_is_fitted__():
        stream.batch(replay)
    elif choice == "forget" and model.__sklearn_is_fitted__() and model.n_rows_ > 2:
        model.forget(rng.choice(model.ids_, size=2, replace=False).tolist())
    elif choice == "owner" and model.__sklearn_is_fitted__():
        model.forget(owner=int(rng.integers(4)), missing="ok")
    elif choice == "expire" and stream.timed and model.__sklearn_is_fitted__():
        model.expire(stream.now + 1.0)
    else:
        stream.learn()
        return False
    return choice in ("forget", "owner", "expire")


CHOICES = ["learn"] * 4 + ["late", "batch", "replay", "forget", "owner", "expire"]


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(MODELS),
    st.sampled_from([0.6, 3.0, 15.0, 400.0]),
    st.sampled_from([None, 12, 30]),
    st.booleans(),
    st.lists(st.sampled_from(CHOICES), min_size=20, max_size=90),
)
@settings(deadline=None, max_examples=60)
def test_random_histories_equal_weighted_refits(seed, model, halflife, window, timed, choices):
    stream = Stream(np.random.default_rng(seed), *model, halflife, window, timed)
    for count, choice in enumerate(choices):
        left = step(stream, choice)
        if count % 7 == 0 or left:
            assert_equals_a_refit(stream)
        if left and stream.model.n_rows_ and stream.live()[3].any():
            assert stream.model.coef_.tobytes() == stream.fresh().coef_.tobytes()
    assert_equals_a_refit(stream)


@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_nothing_remains_of_a_forgotten_row(model, timed, tmp_path):
    stream = Stream(np.random.default_rng(5), *model, 6.0, None, timed)
    for _ in range(40):
        stream.learn()
    gone = stream.model.ids_[10:20:3]
    stream.model.predict_one(np.ones(3))
    stream.model.forget(gone)
    found = audit(stream.model, forgotten=gone)
    assert found.holds, found.verdict
    fresh = stream.fresh()
    stream.model.save(tmp_path / "forgot")
    fresh.save(tmp_path / "fresh")
    assert (tmp_path / "forgot").read_bytes() == (tmp_path / "fresh").read_bytes()
    loaded = load(tmp_path / "forgot")
    for each in (stream.model, loaded):
        each.learn_one(np.ones(3), 1.0, at=stream.now + 1.0 if timed else None)
    assert stream.model.coef_.tobytes() == loaded.coef_.tobytes()
    assert loaded.halflife == stream.model.halflife
    assert diagnose(loaded).residue < 1e-9
    assert forecast_forgetting(loaded, 2).n_rows.tolist() == [
        loaded.n_rows_ - 1,
        loaded.n_rows_ - 2,
    ]


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_a_replay_equals_events_over_many_half_lives(model):
    kind, options = model
    rng = np.random.default_rng(7)
    X = rng.normal(size=(700, 3))
    y = X @ [1.0, 2.0, -1.0] + rng.normal(size=700)
    one, other = (kind(halflife=2.0, **options) for _ in range(2))
    found = replay(one, X, y, coef=True, diagnostics=True)
    worst = 0.0
    for t in range(700):
        if t > 10:
            worst = max(worst, abs(other.predict_one(X[t]) - found.prediction[t]))
        if t in (100, 399, 650):
            seen = diagnose(other, X[t])
            assert found.penalty[t] == pytest.approx(seen.penalty, rel=1e-9)
            assert found.leverage_new[t] == pytest.approx(seen.leverage_new, rel=1e-7)
            assert found.frt[t] == pytest.approx(seen.frt, rel=1e-6, abs=1e-12)
        other.learn_one(X[t], y[t])
    assert worst < 1e-9
    assert one.ids_ == other.ids_
    assert len(one.ids_) == 106
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-9)


def test_gaps_of_many_half_lives_leave_no_row():
    rng = np.random.default_rng(8)
    X, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    at = np.datetime64("2024-01-01", "s") + np.cumsum(np.tile([1, 1, 5000], 10))
    model = Ridge(halflife="2s")
    found = replay(model, X, y, at=at)
    assert found.n_rows.tolist() == [0, 1, 0, *[1, 2, 0] * 9]
    single = Ridge(halflife="2s")
    for t in range(30):
        single.learn_one(X[t], y[t], at=at[t])
    np.testing.assert_allclose(single.coef_, model.coef_, rtol=1e-12)


def test_a_store_keeps_the_weights_that_were_given(tmp_path):
    rng = np.random.default_rng(13)
    X, y, w = rng.normal(size=(30, 2)), rng.normal(size=30), rng.uniform(0.5, 2.0, size=30)
    with Store(tmp_path / "store") as store:
        store.add("model", Ridge(halflife=4.0), features=2)
        store.learn("model", X, y, ids=range(30), sample_weight=w)
        store.forget([7, 21])
        before = store.predict("model", X)
        assert store.audit()["model"].holds
    kept = np.delete(np.arange(30), [7, 21])
    fresh = Ridge(halflife=4.0).fit(X[kept], y[kept], ids=kept.tolist(), sample_weight=w[kept])
    with Store(tmp_path / "store") as store:
        np.testing.assert_array_equal(store.predict("model", X), before)
    np.testing.assert_allclose(before, fresh.predict(X), rtol=1e-12)


def test_a_huge_row_fades_and_leaves_nothing():
    rng = np.random.default_rng(9)
    X, y = rng.normal(size=(200, 2)), rng.normal(size=200)
    model, clean = Ridge(halflife=2.0), Ridge(halflife=2.0)
    model.learn_one([1e8, -1e8], 1e8)
    for t in range(200):
        model.learn_one(X[t], y[t])
        clean.learn_one(X[t], y[t])
    np.testing.assert_allclose(model.coef_, clean.coef_, rtol=1e-12)


def test_held_and_saved_weights_are_those_that_were_given(tmp_path):
    model = OLS(halflife=1.5)
    for t in range(9):
        model.learn_one([float(t), t % 2.0], 3.0 * t, weight=0.1 * t, owner=t % 2)
    assert model.held(0).weights.tolist() == [0.1 * t for t in range(0, 9, 2)]
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").held(1).weights.tolist() == [0.1 * t for t in range(1, 9, 2)]


def test_coefficients_equal_those_of_other_packages():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(400, 3)), rng.normal(size=400)
    frame = pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": y})
    fit = polars_ds.rolling_lin_reg("a", "b", "c", target="y", window_size=60, half_life=10.0)
    windowed = frame.select(fit.alias("f"))["f"].struct.field("coeffs").to_list()
    ours = replay(OLS(60, halflife=10.0, fit_intercept=False), X, y, coef=True).coef
    np.testing.assert_allclose(ours[61:], np.array(windowed[60:-1]), rtol=1e-6)
    options = polars_ols.RLSKwargs(half_life=30.0, initial_state_covariance=1e9)
    recursive = polars_ols.compute_recursive_least_squares(
        pl.col("y"), pl.col("a"), pl.col("b"), pl.col("c"), mode="coefficients", rls_kwargs=options
    )
    theirs = frame.select(recursive.alias("f")).unnest("f").to_numpy()
    ours = replay(OLS(halflife=30.0, fit_intercept=False), X, y, coef=True).coef
    np.testing.assert_allclose(ours[101:], theirs[100:-1], rtol=1e-5, atol=1e-7)
    mean = pd.Series(y).ewm(halflife=7.0).mean()
    found = replay(OLS(halflife=7.0, fit_intercept=False), np.ones((400, 1)), y).prediction
    np.testing.assert_allclose(found[1:], mean[:-1], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("method", ["gaussian", "self-normalized", "conformal", "local"])
@pytest.mark.parametrize("kind", [OLS, AutoRidge])
def test_intervals_cover_as_often_as_they_say(kind, method):
    rng = np.random.default_rng(11)
    n, level = 2500, 0.9
    X = rng.normal(size=(n, 2))
    slope = np.sin(np.arange(n) / 300.0)
    y = 3.0 + slope * X[:, 0] + 0.5 * rng.normal(size=n)
    model = kind(300 if method == "conformal" else None, halflife=40.0)
    rows = slice(n - 900, n) if method == "conformal" else slice(None)
    found = replay(model, X[rows], y[rows], interval=level, method=method)
    inside = (found.lower <= y[rows]) & (y[rows] <= found.upper)
    share = inside[300:].mean()
    assert share >= (0.97 if method == "self-normalized" else 0.865), share
    assert share <= (1.0 if method == "self-normalized" else 0.945), share
    alone = model.predict_interval(X[:3], level=level, method=method)
    assert np.isfinite(alone.lower).all()
    # The interval of a row is the same in a replay and alone.
    again = kind(model.window, halflife=40.0).fit(X[rows][:-1], y[rows][:-1])
    last = again.predict_interval(X[rows][-1:], level=level, method=method)
    np.testing.assert_allclose(last.lower, found.lower[-1:], rtol=1e-6)


def test_standard_errors_count_rows_by_what_is_left_of_them():
    rng = np.random.default_rng(12)
    spread, claimed = [], []
    for _ in range(100):
        X = rng.normal(size=(300, 1))
        y = X[:, 0] + rng.normal(size=300)
        model = OLS(halflife=20.0).fit(X, y)
        spread.append(model.coef_[0])
        claimed.append(model.standard_errors().coef[0])
    ratio = np.mean(claimed) / np.std(spread)
    assert 1.0 < ratio < 1.7  # on the safe side: fading rows count more than their square


@pytest.mark.parametrize(
    ("model", "problem"),
    [
        (OLS(halflife=0), "'halflife' is 0: expected a finite number above 0"),
        (OLS(5, halflife="3d"), "a duration, but 'window' is FIFD"),
        (OLS("3mo", halflife="3d"), "'window' is KeepFor.*fixed length"),
        (OLS(halflife="1mo"), "expected a duration of a fixed length"),
    ],
)
def test_unusable_half_lives_are_refused(model, problem):
    with pytest.raises(InvalidValue, match=problem):
        model.fit([[1.0]], [1.0])


def test_a_half_life_in_time_needs_times_and_a_fleet_has_none():
    with pytest.raises(BadTime):
        OLS(halflife="3d").fit([[1.0]], [1.0])
    with pytest.raises(InvalidValue, match="'halflife' is 3: expected None in a Fleet"):
        Fleet(OLS(halflife=3))


def test_a_file_without_a_half_life_does_not_name_one():
    with tempfile.TemporaryDirectory() as folder:
        OLS().fit([[1.0], [2.0]], [1.0, 2.0]).save(Path(folder) / "model")
        assert b"halflife" not in (Path(folder) / "model").read_bytes()

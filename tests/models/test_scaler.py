"""WindowScaler: mean and deviation of the live rows only."""

from __future__ import annotations

import copy
import pickle
from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pytest
from histories import CLASSES, steps, streams, windows
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import data
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from twins import regression as naive
from twins import scaling as naive_scaling

from efface import KeepFor, Ridge, WindowScaler, load
from efface.errors import BadRow, BadTime, InvalidValue, NotFitted, RepeatedId, UnknownId


def check(scaler, X):
    """Compare a scaler with two passes over the live rows, and with a new scaler fitted to them."""
    assert scaler.n_rows_ == len(X)
    if not len(X):
        assert np.isnan(scaler.mean_).all()
        return
    mean, variance = naive_scaling.moments(X)
    assert scaler.mean_ == pytest.approx(mean, rel=5e-16)
    assert scaler.var_ == pytest.approx(variance, rel=5e-16)
    assert scaler.scale_ == pytest.approx(naive_scaling.deviation(X)[0], rel=5e-16)
    fresh = WindowScaler().fit(X)
    for one, other in zip(
        (scaler.mean_, scaler.var_, scaler.scale_),
        (fresh.mean_, fresh.var_, fresh.scale_),
        strict=True,
    ):
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("kind", CLASSES)
@given(steps=steps, window=windows, seed=st.integers(0, 99))
@settings(deadline=None, max_examples=15)
def test_after_every_event_the_bits_are_those_of_a_fit_on_the_live_rows(kind, steps, window, seed):
    policy, plain = window
    scaler, X = WindowScaler(policy), streams(kind, 110, 3, seed)[0]
    twin = naive.NaiveModel(("OLS", {}), plain, True, 3)
    timed, t = plain[0] == "age", 0
    scaler.partial_fit(X[:0])
    for step, amount in steps:
        if step == "forget":
            ids = [twin.ids[k % len(twin.ids)] for k in amount] if twin.ids else []
            scaler.forget(ids)
            twin.forget(ids)
        elif step == "expire":
            if timed:
                scaler.expire(t + amount)
                twin.expire(t + amount)
        elif step == "learn":
            for _ in range(amount):
                scaler.learn_one(X[t], at=t if timed else None)
                twin.learn(X[t], 0.0, at=t if timed else None)
                check(scaler, twin.X)
                t += 1
        else:
            rows = slice(t, t + amount)
            scaler.partial_fit(X[rows], at=np.arange(t, t + amount) if timed else None)
            for k in range(t, t + amount):
                twin.learn(X[k], 0.0, at=k if timed else None)
            t += amount
        assert scaler.ids_ == twin.ids
        check(scaler, twin.X)


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("include", [False, True])
@pytest.mark.parametrize("options", [(True, True), (False, True), (True, False), (False, False)])
def test_rolling_scaling_equals_the_loop_bit_for_bit(kind, include, options):
    X, (with_mean, with_std) = streams(kind, 150, 4, 3)[0], options
    one, other = (WindowScaler(20, with_mean=with_mean, with_std=with_std) for _ in range(2))
    expected = np.full_like(X, np.nan)
    for t, x in enumerate(X):
        if include:
            other.learn_one(x)
            expected[t] = other.transform_one(x)
        else:
            expected[t] = other.transform_one(x) if t else np.nan
            other.learn_one(x)
    parts = [one.rolling_transform(part, include=include) for part in (X[:70], X[70:])]
    assert np.array_equal(np.concatenate(parts), expected, equal_nan=True)
    assert one.ids_ == other.ids_
    assert one.var_.tobytes() == other.var_.tobytes()
    if options == (True, True):
        slow = naive_scaling.rolling_scale(X, 20, include)
        assert np.allclose(expected, slow, rtol=1e-9, atol=1e-9, equal_nan=True)


@pytest.mark.parametrize("calendar", [False, True])
def test_rolling_scaling_with_times_out_of_order(calendar):
    X, at = data(60, 2)[0], np.random.default_rng(0).permutation(60) / 2.0
    window, ids = KeepFor("9d" if calendar else 9), list(range(60))
    ids[40] = int(at.argmin())  # its row has left by then
    if calendar:
        at = np.datetime64("2024-01-01T00:00:00", "ns") + (at * 24).astype("m8[h]")
    for include in (False, True):
        one, other = WindowScaler(window), WindowScaler(window)
        found = one.rolling_transform(X, ids=ids, at=at, include=include)
        for t, x in enumerate(X):
            if t:
                other.expire(at[: t + 1].max())
            before = other.transform_one(x) if t and other.n_rows_ else np.full(2, np.nan)
            other.learn_one(x, id=ids[t], at=at[t])
            assert np.array_equal(
                found[t], other.transform_one(x) if include else before, equal_nan=True
            )
        assert one.ids_ == other.ids_


def test_expired_rows_leave_before_the_next_row_is_scaled():
    X = np.arange(1.0, 7.0)[:, np.newaxis] ** 2
    found = WindowScaler("2d").rolling_transform(X, at=pd.date_range("2026-01-01", periods=6))
    assert np.isnan(found[0, 0])
    assert found[5, 0] == 36.0 - 25.0  # one row is younger than two days: its deviation is 0


def test_a_standard_scaler_keeps_a_trace_and_a_window_scaler_does_not():
    X = data(30, 2)[0]
    X[7] = 1e6
    standard, window = StandardScaler().fit(X), WindowScaler().fit(X)
    assert window.mean_ == pytest.approx(standard.mean_, rel=1e-14)
    assert window.var_ == pytest.approx(standard.var_, rel=1e-14)
    window.forget(7)
    rest = StandardScaler().fit(np.delete(X, 7, axis=0))
    assert standard.mean_[0] > 1e4  # row 7 is still in the mean
    assert window.mean_ == pytest.approx(rest.mean_, rel=1e-14)
    assert window.transform(X) == pytest.approx(rest.transform(X), rel=1e-12)


@pytest.mark.parametrize("with_mean", [True, False])
@pytest.mark.parametrize("with_std", [True, False])
@pytest.mark.parametrize("level", [0.0, 0.1, 1e6])
def test_transforms_equal_those_of_a_standard_scaler(with_mean, with_std, level):
    X = data(40, 3)[0]
    X[:, 1] = level * (1 + np.tile([1e-16, -1e-16], 20))  # constant up to rounding
    options = {"with_mean": with_mean, "with_std": with_std}
    one, other = WindowScaler(**options).fit(X), StandardScaler(**options).fit(X)
    assert one.transform(X) == pytest.approx(other.transform(X), rel=1e-12, abs=1e-9 * level)
    assert one.inverse_transform(one.transform(X)) == pytest.approx(X, rel=1e-12, abs=1e-15)
    assert (one.scale_ is None) == (other.scale_ is None)
    if with_std:
        assert one.scale_ == pytest.approx(other.scale_, rel=1e-12)
        assert one.scale_[1] == 1.0


def test_transform_without_live_rows_raises_not_fitted():
    scaler = WindowScaler()
    for call in (lambda: scaler.transform([[1.0]]), lambda: scaler.mean_, lambda: scaler.forget(0)):
        with pytest.raises(NotFittedError, match="'WindowScaler' is not fitted"):
            call()
    scaler.fit([[1.0]])
    scaler.forget(0)
    with pytest.raises(NotFitted, match="no live row to scale by: learn one first"):
        scaler.transform([[1.0]])
    assert np.isnan(scaler.scale_).all()
    scaler.learn_one([5.0])
    assert scaler.transform_one([7.0]).tolist() == [2.0]


def test_bad_input_is_refused_before_anything_changes():
    scaler = WindowScaler(5).fit([[1.0, 2.0], [3.0, 4.0]], ids=["ann", "bob"])
    before = scaler.mean_.tobytes(), scaler.ids_
    for call, error in (
        (lambda: scaler.learn_one([1.0, np.nan]), BadRow),
        (lambda: scaler.learn_one([1.0]), InvalidValue),
        (lambda: scaler.learn_one([1.0, 2.0], id="ann"), RepeatedId),
        (lambda: scaler.learn_one([1.0, 2.0], at=1.0), BadTime),
        (lambda: scaler.partial_fit([[1.0, 2.0, 3.0]]), InvalidValue),
        (lambda: scaler.partial_fit([[1.0, 2.0]] * 2, ids=["c", "c"]), RepeatedId),
        (lambda: scaler.rolling_transform([[1.0, 2.0]] * 2, ids=["c", "c"]), RepeatedId),
        (lambda: scaler.rolling_transform([[1.0, 2.0]], include=1), InvalidValue),
        (lambda: scaler.learn_one(np.array([1.0, 1e151])), BadRow),
        (lambda: scaler.partial_fit([[1.0, -1e151]]), BadRow),
        (lambda: scaler.fit([[np.inf, 2.0]]), BadRow),
        (lambda: scaler.fit(np.empty((0, 2))), InvalidValue),
        (lambda: scaler.forget("eve"), UnknownId),
        (lambda: scaler.expire("soon"), BadTime),
    ):
        with pytest.raises(error):
            call()
        assert (scaler.mean_.tobytes(), scaler.ids_) == before
    for bad in ({"with_mean": 1}, {"with_std": "yes"}, {"window": 0}):
        with pytest.raises(InvalidValue):
            WindowScaler(**bad).fit([[1.0]])
    unfitted = WindowScaler()
    with pytest.raises(RepeatedId):
        unfitted.partial_fit([[1.0]] * 2, ids=["c", "c"])
    assert not hasattr(unfitted, "n_features_in_")


def test_files_hold_the_live_rows_only(tmp_path):
    X = data(30, 3)[0]
    frame = pd.DataFrame(X, columns=list("abc"))
    ids = [f"row {k}" for k in range(30)]
    scaler = WindowScaler(20, with_mean=False).fit(frame, ids=ids)
    scaler.forget(["row 15", "row 29"])
    kept = [k for k in range(10, 30) if k not in (15, 29)]
    never = WindowScaler(20, with_mean=False).fit(frame.iloc[kept], ids=[ids[k] for k in kept])
    for model, name in ((scaler, "one"), (never, "other")):
        model.save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()
    for again in (load(tmp_path / "one"), pickle.loads(pickle.dumps(scaler)), copy.copy(scaler)):
        assert again.get_params() == scaler.get_params()
        assert again.ids_ == scaler.ids_
        assert again.get_feature_names_out().tolist() == ["a", "b", "c"]
        assert (again.rolling_transform(frame) == clone_of(scaler).rolling_transform(frame)).all()


def clone_of(scaler):
    return pickle.loads(pickle.dumps(scaler))


def test_no_array_holds_a_value_of_a_row_that_left():
    X = data(30, 2)[0]
    X[3] = 12345.0
    scaler = WindowScaler(10)
    for t, x in enumerate(X):
        scaler.learn_one(x)
        scaler.transform_one(x)
        held = vars(scaler._live.solver._range).values()
        arrays = [a for a in held if isinstance(a, np.ndarray) and a.dtype == np.float64]
        present = any((np.abs(a) > 1000).any() for a in arrays)
        assert present == (3 <= t < 13)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames_in_and_out(kind):
    X = data(30, 2)[0]
    frame = {"pandas": pd.DataFrame, "polars": pl.DataFrame}[kind]({"a": X[:, 0], "b": X[:, 1]})
    scaler = WindowScaler(20).set_output(transform=kind).fit(frame)
    out = scaler.transform(frame)
    assert type(out) is type(frame)
    assert list(out.columns) == ["a", "b"]
    assert np.asarray(out) == pytest.approx(WindowScaler().fit(X[10:]).transform(X))
    assert scaler.inverse_transform(np.asarray(out)) == pytest.approx(X)
    with pytest.raises(InvalidValue, match="expected 2 features, one per column"):
        scaler.inverse_transform(X[:, :1])
    with pytest.raises(InvalidValue, match="feature names"):
        scaler.partial_fit(frame[["b", "a"]])


def test_the_scaler_in_a_pipeline():
    X, y = data(60, 3)
    one = make_pipeline(WindowScaler(), LinearRegression()).fit(X, y)
    other = make_pipeline(StandardScaler(), LinearRegression()).fit(X, y)
    assert one.predict(X) == pytest.approx(other.predict(X))
    assert make_pipeline(WindowScaler(), Ridge()).fit(X, y).predict(X) == pytest.approx(
        Ridge(standardize=True).fit(X, y).predict(X)
    )
    assert clone(WindowScaler(7)).window == 7


def test_durations_and_expiry():
    start = datetime(2026, 1, 1)
    scaler = WindowScaler(timedelta(days=3))
    for day in range(6):
        scaler.learn_one([float(day)], id=f"day {day}", at=start + timedelta(days=day))
    assert scaler.ids_ == ["day 3", "day 4", "day 5"]
    assert scaler.expire(start + timedelta(days=7)) == 2
    assert scaler.mean_.tolist() == [5.0]


@parametrize_with_checks([WindowScaler(), WindowScaler(window=7)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)

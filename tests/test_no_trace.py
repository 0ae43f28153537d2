"""No trace in memory: no array reachable from a model holds a value of a row that has left (R5)."""

from __future__ import annotations

import gc
import types

import numpy as np
import pytest

from efface import OLS, AdaptiveRidge, Ridge, SwitchingRidge, WindowScaler, audit, replay
from efface.models.river import Regressor

EVENTS = 500  # per model
MODELS = {
    "OLS": OLS,
    "Ridge": lambda **given: Ridge(alpha=0.7, **given),
    "AdaptiveRidge": AdaptiveRidge,
    "AdaptiveRidge, paper": lambda **given: AdaptiveRidge(noise="response", theta_max=1.0, **given),
    "SwitchingRidge": lambda **given: SwitchingRidge(switch_at=4.0, **given),
}
WINDOWS = {"12 rows": 12, "40 rows": 40, "9 units of time": "9h", "on request": None}
OUTSIDE = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.CodeType)


def reachable(root):
    """All objects that can be reached from one, except code, classes and modules."""
    seen, pending = {}, [root]
    while pending:
        found = pending.pop()
        if id(found) in seen or isinstance(found, OUTSIDE):
            continue
        seen[id(found)] = found
        pending += gc.get_referents(found)
        if isinstance(found, np.ndarray) and found.base is not None:
            pending.append(found.base)
    return list(seen.values())


def numbers_in(root):
    """All numbers in arrays, and all floats, that can be reached from an object."""
    found = [np.zeros(0)]
    for each in reachable(root):
        if isinstance(each, np.ndarray) and each.dtype.kind in "fi":
            found.append(each.ravel().view(np.float64) if each.dtype.itemsize == 8 else each)
        elif isinstance(each, float):
            found.append(np.array([each]))
    return np.concatenate(found)


def assert_no_trace(root, departed):
    """None of the values of the departed rows, nor any of their sums with another, is there."""
    kept = numbers_in(root)
    assert not np.isin(departed, kept).any()


class Stream:
    """Distinct random values, and which of them have left."""

    def __init__(self, d, seed):
        self.rng = np.random.default_rng(seed)
        self.X = self.rng.normal(size=(4 * EVENTS, d)) * [1.0, 10.0, 0.1][:d] + 3.0
        self.y = self.X @ np.arange(1.0, d + 1.0) + self.rng.normal(size=len(self.X))
        self.arrived = 0

    def take(self, count=1):
        rows = np.arange(self.arrived, self.arrived + count)
        self.arrived += count
        return rows

    def departed(self, model):
        live = set(model.ids_)
        gone = [k for k in range(self.arrived) if k not in live]
        return np.concatenate([self.X[gone].ravel(), self.y[gone]])


def random_event(model, stream, timed):
    """One event of any kind; ids are row numbers."""
    at = (
        (lambda rows: rows.astype(float))
        if False
        else (
            (lambda rows: np.datetime64("2024-01-01") + rows.astype("m8[h]"))
            if timed
            else (lambda _: None)
        )
    )
    kind = stream.rng.choice(
        ["learn", "predict", "batch", "replay", "forget", "expire", "ask"],
        p=[0.45, 0.25, 0.06, 0.06, 0.08, 0.04, 0.06],
    )
    X, y = stream.X, stream.y
    if kind == "learn":
        (t,) = rows = stream.take()
        when = None if not timed else at(rows)[0]
        model.learn_one(X[t], y[t], id=int(t), at=when, weight=float(stream.weight(t)))
    elif kind == "predict":
        model.predict_one(X[stream.arrived])
    elif kind in ("batch", "replay"):
        rows = stream.take(int(stream.rng.integers(1, 20)))
        given = {"ids": rows.tolist(), "at": at(rows), "sample_weight": stream.weight(rows)}
        if kind == "batch":
            model.partial_fit(X[rows], y[rows], **given)
        else:
            asked = {"diagnostics": bool(stream.rng.integers(2))}
            replay(model, X[rows], y[rows], **given, **asked)
    elif kind == "forget" and model.n_rows_:
        model.forget(stream.rng.choice(model.ids_, size=min(3, model.n_rows_)).tolist())
    elif kind == "expire" and timed:
        model.expire(at(np.array([stream.arrived + 2]))[0])
    elif kind == "ask" and model.n_rows_:
        model.predict_interval(X[stream.arrived : stream.arrived + 2])
        _ = model.coef_, model.rank_


@pytest.mark.parametrize("standardize", [False, True], ids=["plain", "standardized"])
@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("intercept", [False, True], ids=["no intercept", "intercept"])
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("name", MODELS)
def test_no_array_of_a_model_holds_a_value_of_a_departed_row(
    name, window, intercept, weighted, standardize
):
    seed = len(name) + len(window) + 2 * intercept + 4 * weighted + 8 * standardize
    stream = Stream(3, seed)
    stream.weight = (
        (lambda rows: 0.5 + (rows % 5) / 2.0)
        if weighted
        else (lambda rows: np.ones(np.shape(rows)))
    )
    model = MODELS[name](window=WINDOWS[window], fit_intercept=intercept, standardize=standardize)
    model.partial_fit(stream.X[:0], stream.y[:0])
    for event in range(EVENTS):
        random_event(model, stream, timed=window == "9 units of time")
        if event % 7 == 0:
            assert_no_trace(model, stream.departed(model))
    assert_no_trace(model, stream.departed(model))


def test_learning_alone_overwrites_what_a_prediction_left():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(101, 3)), rng.normal(size=101)
    for kind in (Ridge, AdaptiveRidge):
        model = kind(window=30, fit_intercept=False)
        model.learn_one(X[0], y[0])
        model.predict_one(X[1])
        for t in range(1, 101):
            model.learn_one(X[t], y[t])
        assert_no_trace(model, X[:71])


def test_the_walk_finds_what_is_there():
    model = Ridge(window=5).fit(np.arange(12.0).reshape(6, 2) + 0.125, np.zeros(6))
    with pytest.raises(AssertionError):
        assert_no_trace(model, np.array([10.125]))


@pytest.mark.parametrize("window", [12, None])
def test_no_array_of_a_scaler_holds_a_value_of_a_departed_row(window):
    stream = Stream(3, 5)
    scaler = WindowScaler(window)
    scaler.partial_fit(stream.X[:2], ids=stream.take(2).tolist())
    for event in range(EVENTS):
        kind = stream.rng.choice(["learn", "transform", "batch", "roll", "forget"])
        if kind == "learn":
            (t,) = stream.take()
            scaler.learn_one(stream.X[t], id=int(t))
        elif kind == "transform" and scaler.n_rows_:
            scaler.transform_one(stream.X[-1])
        elif kind in ("batch", "roll"):
            rows = stream.take(int(stream.rng.integers(1, 6)))
            way = scaler.partial_fit if kind == "batch" else scaler.rolling_transform
            way(stream.X[rows], ids=rows.tolist())
        elif kind == "forget" and scaler.n_rows_ > 1:
            scaler.forget([int(stream.rng.choice(scaler.ids_))])
        if event % 7 == 0:
            assert_no_trace(scaler, stream.departed(scaler))


def test_no_array_of_the_river_wrapper_holds_a_value_of_a_departed_row():
    stream = Stream(3, 6)
    wrapper = Regressor(AdaptiveRidge(window=15))
    for t in range(EVENTS // 2):
        names = "abc" if t % 3 else "abd"
        x = dict(zip(names, stream.X[t].tolist(), strict=True))
        wrapper.predict_one(x)
        wrapper.learn_one(x, float(stream.y[t]), id=t)
        if t % 11 == 10:
            wrapper.forget(wrapper.ids[3])
        live = set(wrapper.ids)
        gone = [k for k in range(t + 1) if k not in live]
        departed = np.concatenate([stream.X[gone].ravel(), stream.y[gone]])
        if t % 7 == 0:
            del x
            assert_no_trace(wrapper, departed)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("standardize", [False, True], ids=["plain", "standardized"])
def test_an_audit_changes_no_byte(name, standardize, tmp_path):
    stream = Stream(3, 9)
    stream.weight = lambda rows: np.ones(np.shape(rows))
    model = MODELS[name](window=20, standardize=standardize)
    model.partial_fit(stream.X[:0], stream.y[:0])
    for event in range(120):
        random_event(model, stream, timed=False)
        if event % 10 == 9:
            before = {
                id(each): each.tobytes()
                for each in reachable(model)
                if isinstance(each, np.ndarray)
            }
            assert audit(model).holds
            after = {
                id(each): each.tobytes()
                for each in reachable(model)
                if isinstance(each, np.ndarray)
            }
            assert before == after
            assert_no_trace(model, stream.departed(model))

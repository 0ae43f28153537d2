"""No trace in memory: no array reachable from a model holds a value of a row that has left (R5)."""

from __future__ import annotations

import gc
import types

import numpy as np
import pytest

from efface import (
    OLS,
    AdaptiveRidge,
    AutoRidge,
    Fleet,
    Ridge,
    SwitchingRidge,
    WindowScaler,
    audit,
    replay,
)
from efface.models.river import Regressor

EVENTS = 500  # per model
EVERY = 25  # events between two checks
START = np.datetime64("2024-01-01")
MODELS = {
    "AutoRidge": AutoRidge,
    "OLS": OLS,
    "Ridge": lambda **options: Ridge(alpha=0.7, **options),
    "AdaptiveRidge": AdaptiveRidge,
    "SwitchingRidge": lambda **options: SwitchingRidge(switch_at=4.0, **options),
}
WINDOWS = {"12 rows": 12, "40 rows": 40, "9 hours": "9h", "on request": None}
# Every pair of an intercept, weights and standardised features.
OPTIONS = [(False, False, False), (False, True, True), (True, False, True), (True, True, False)]
SHARED = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.CodeType)


def reachable(root):
    """All objects that can be reached from one, except code, classes and modules."""
    seen, pending = {}, [root]
    while pending:
        found = pending.pop()
        if id(found) in seen or isinstance(found, SHARED):
            continue
        seen[id(found)] = found
        pending += gc.get_referents(found)
        if type(found).__name__ == "Window":  # the core's: its memory is offered read-only
            pending += found.memory()
        if isinstance(found, np.ndarray) and found.base is not None:
            pending.append(found.base)
    return list(seen.values())


def arrays_in(root):
    return [each for each in reachable(root) if isinstance(each, np.ndarray)]


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
    """None of the values of departed rows can be reached."""
    assert not np.isin(departed, numbers_in(root)).any()


class Stream:
    """Rows of distinct random values, with ids that are their numbers."""

    def __init__(self, seed, *, timed=False, weighted=False):
        self.rng = np.random.default_rng(seed)
        self.X = self.rng.normal(size=(4 * EVENTS, 3)) * [1.0, 10.0, 0.1] + 3.0
        self.y = self.X @ np.arange(1.0, 4.0) + self.rng.normal(size=len(self.X))
        self.weights = 0.5 + np.arange(len(self.X)) % 5 / 2.0 if weighted else np.ones(len(self.X))
        self.timed = timed
        self.arrived = 0

    def take(self, count=1):
        """The numbers of the next rows."""
        self.arrived += count
        return np.arange(self.arrived - count, self.arrived)

    def times(self, rows):
        """The times of rows, one per hour."""
        return START + rows.astype("m8[h]") if self.timed else None

    def departed(self, live):
        """The values of the rows that have arrived and are not among the live ids."""
        gone = np.setdiff1d(np.arange(self.arrived), live)
        return np.concatenate([self.X[gone].ravel(), self.y[gone]])


def learn(model, stream):
    (t,) = rows = stream.take()
    at = stream.times(rows)[0] if stream.timed else None
    model.learn_one(stream.X[t], stream.y[t], id=int(t), at=at, weight=float(stream.weights[t]))


def predict(model, stream):
    model.predict_one(stream.X[stream.arrived])


def learn_batch(model, stream):
    rows, options = next_batch(stream)
    model.partial_fit(stream.X[rows], stream.y[rows], **options)


def replay_batch(model, stream):
    rows, options = next_batch(stream)
    options["diagnostics"] = bool(stream.rng.integers(2))
    if stream.rng.integers(2):
        options |= {"interval": 0.8, "method": "local"}
    replay(model, stream.X[rows], stream.y[rows], **options)


def next_batch(stream):
    rows = stream.take(int(stream.rng.integers(1, 20)))
    options = {"ids": rows.tolist(), "at": stream.times(rows)}
    return rows, {**options, "sample_weight": stream.weights[rows]}


def forget(model, stream):
    if model.n_rows_:
        model.forget(stream.rng.choice(model.ids_, size=min(3, model.n_rows_)).tolist())


def expire(model, stream):
    if stream.timed:
        model.expire(stream.times(np.array([stream.arrived + 2]))[0])


def inspect(model, stream):
    if model.n_rows_:
        new = stream.X[stream.arrived : stream.arrived + 2]
        model.predict_interval(new, 0.8, stream.rng.choice(["gaussian", "local"]).item())
        _ = model.coef_, model.rank_


SHARES = {
    learn: 0.45,
    predict: 0.25,
    learn_batch: 0.06,
    replay_batch: 0.06,
    forget: 0.08,
    expire: 0.04,
    inspect: 0.06,
}


def random_events(model, stream, count):
    """Let random events happen to a model that has no rows; yield the number of each."""
    model.partial_fit(stream.X[:0], stream.y[:0])
    kinds, shares = list(SHARES), list(SHARES.values())
    for event in range(1, count + 1):
        kinds[stream.rng.choice(len(kinds), p=shares)](model, stream)
        yield event


@pytest.mark.parametrize(("intercept", "weighted", "standardize"), OPTIONS)
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("name", MODELS)
def test_no_array_of_a_model_holds_a_value_of_a_departed_row(
    name, window, intercept, weighted, standardize
):
    seed = len(name) + len(window) + 2 * intercept + 4 * weighted + 8 * standardize
    stream = Stream(seed, timed=window == "9 hours", weighted=weighted)
    model = MODELS[name](window=WINDOWS[window], fit_intercept=intercept, standardize=standardize)
    for event in random_events(model, stream, EVENTS):
        if event % EVERY == 0:  # the last one too
            assert_no_trace(model, stream.departed(model.ids_))


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


def test_a_value_of_a_live_row_is_found():
    model = Ridge(window=5).fit(np.arange(12.0).reshape(6, 2) + 0.125, np.zeros(6))
    with pytest.raises(AssertionError):
        assert_no_trace(model, np.array([10.125]))


@pytest.mark.parametrize("window", [12, None])
def test_no_array_of_a_scaler_holds_a_value_of_a_departed_row(window):
    stream, scaler = Stream(5), WindowScaler(window)
    scaler.partial_fit(stream.X[:2], ids=stream.take(2).tolist())
    for event in range(1, EVENTS + 1):
        kind = stream.rng.choice(["learn", "transform", "batch", "roll", "forget"])
        if kind == "learn":
            (t,) = stream.take()
            scaler.learn_one(stream.X[t], id=int(t))
        elif kind == "transform" and scaler.n_rows_:
            scaler.transform_one(stream.X[-1])
        elif kind in ("batch", "roll"):
            rows = stream.take(int(stream.rng.integers(1, 6)))
            method = scaler.partial_fit if kind == "batch" else scaler.rolling_transform
            method(stream.X[rows], ids=rows.tolist())
        elif kind == "forget" and scaler.n_rows_ > 1:
            scaler.forget([int(stream.rng.choice(scaler.ids_))])
        if event % EVERY == 0:
            assert_no_trace(scaler, stream.departed(scaler.ids_))


def test_no_array_of_the_river_wrapper_holds_a_value_of_a_departed_row():
    stream, wrapper = Stream(6), Regressor(AdaptiveRidge(window=15))
    for event in range(1, EVENTS + 1):
        (t,) = stream.take()
        x = dict(zip("abc" if t % 3 else "abd", stream.X[t].tolist(), strict=True))
        wrapper.predict_one(x)
        wrapper.learn_one(x, float(stream.y[t]), id=int(t))
        if t % 11 == 10:
            wrapper.forget(wrapper.ids[3])
        if event % EVERY == 0:
            del x
            assert_no_trace(wrapper, stream.departed(wrapper.ids))


@pytest.mark.parametrize("standardize", [False, True], ids=["plain", "standardized"])
@pytest.mark.parametrize("name", MODELS)
def test_an_audit_changes_no_byte(name, standardize):
    stream = Stream(9)
    model = MODELS[name](window=20, standardize=standardize)
    for event in random_events(model, stream, 120):
        if event % 10 == 0:
            before = sorted(array.tobytes() for array in arrays_in(model))
            assert audit(model).holds
            assert sorted(array.tobytes() for array in arrays_in(model)) == before
            assert_no_trace(model, stream.departed(model.ids_))


# Ids, owners and ends of departed rows


def keys_in(root):
    """All ints and texts that can be reached from an object, in arrays too."""
    found = set()
    for each in reachable(root):
        if isinstance(each, int | str):
            found.add(each)
        elif isinstance(each, np.ndarray) and each.dtype == np.int64:
            found.update(each.ravel().tolist())
        elif isinstance(each, float) and each.is_integer():
            found.add(int(each))
    return found


class OwnedStream:
    """Rows whose ids, owners and ends are found nowhere else."""

    def __init__(self, seed, timed):
        self.rng = np.random.default_rng(seed)
        self.timed, self.keys = timed, []

    def row(self):
        t = len(self.keys)
        hour = (START + np.timedelta64(t, "h")).astype("datetime64[ns]")
        until = hour + np.timedelta64(int(self.rng.integers(1, 30)), "h") + t + 1
        owner = f"person {self.rng.integers(t // 4 * 4, t // 4 * 4 + 3)}"
        row = {"id": f"row {t}", "at": hour if self.timed else None}
        row |= {"owner": owner if t % 5 else None, "until": until if t % 3 else None}
        self.keys.append((row["id"], row["owner"], row["until"]))
        return row

    def departed(self, live):
        """The ids, ends and owners of rows that are not alive, unless a live row has them."""
        gone = [key for key in self.keys if key[0] not in live]
        owners = {owner for id, owner, _ in self.keys if id in live}
        found = {id for id, _, _ in gone} | {owner for _, owner, _ in gone} - owners - {None}
        return found | {int(end.astype(np.int64)) for _, _, end in gone if end is not None}


def batch_of(stream, count):
    rows = [stream.row() for _ in range(count)]
    keys = {f"{name}s": [row[name] for row in rows] for name in ("id", "owner")}
    at = [row["at"] for row in rows] if stream.timed else None
    return {**keys, "at": at, "until": [row["until"] for row in rows]}


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("timed", [False, True], ids=["without times", "with times"])
@pytest.mark.parametrize("kind", [Ridge, WindowScaler])
def test_no_object_holds_the_id_the_owner_or_the_end_of_a_departed_row(kind, window, timed):
    timed = timed or window == "9 hours"
    stream, model = OwnedStream(len(window), timed), kind(WINDOWS[window])
    rng, y = stream.rng, () if kind is WindowScaler else (1.5,)
    model.learn_one(rng.normal(size=2), *y, **stream.row())
    for event in range(1, 201):
        step = rng.choice(["learn", "learn", "batch", "replay", "forget", "owner", "expire"])
        if step == "learn":
            model.learn_one(rng.normal(size=2), *y, **stream.row())
        elif step == "batch":
            X, keys = rng.normal(size=(4, 2)), batch_of(stream, 4)
            model.partial_fit(X, np.ones(4), **keys)
            del keys
        elif step == "replay":
            X, keys = rng.normal(size=(4, 2)), batch_of(stream, 4)
            if kind is Ridge:
                replay(model, X, np.ones(4), **keys)
            else:
                model.rolling_transform(X, **keys)
            del keys
        elif step == "forget" and model.n_rows_:
            model.forget(str(rng.choice(model.ids_)))
        elif step == "owner" and model.owners_:
            model.forget(owner=str(rng.choice(model.owners_)))
        elif step == "expire":
            model.expire(START + np.timedelta64(len(stream.keys) + 5, "h"))
        if event % EVERY == 0:
            assert not stream.departed(set(model.ids_)) & keys_in(model)
    assert set(model.ids_) < keys_in(model)  # those of live rows are found


@pytest.mark.parametrize("kind", sorted(MODELS))
@pytest.mark.parametrize("window", sorted(WINDOWS))
@pytest.mark.parametrize("named", [False, True])
def test_fleets(kind, window, named):
    """Batches, replays, requests and expiry over five keys; intervals and fits in between."""
    rng = np.random.default_rng(4)
    stream = Stream(11, timed=window == "9 hours", weighted=True)
    fleet, keys = Fleet(MODELS[kind](window=WINDOWS[window]), threads=1), np.zeros(0, int)
    for _ in range(30):
        rows = stream.take(int(rng.integers(1, 20)))
        keys = np.append(keys, rng.integers(0, 5, rows.size))
        learned = [f"k{key}" for key in keys[rows]] if named else keys[rows]
        ids = [f"r{t}" for t in rows] if named else rows
        given = {"ids": ids, "at": stream.times(rows), "sample_weight": stream.weights[rows]}
        given["owners"] = [f"o{t % 7}" for t in rows]
        if rng.random() < 0.5:
            fleet.learn(learned, stream.X[rows], stream.y[rows], **given)
        else:
            diagnosed = {"diagnostics": True, "interval": 0.9, "coef": True}
            fleet.replay(learned, stream.X[rows], stream.y[rows], **given, **diagnosed)
        if rng.random() < 0.4:
            fleet.forget(rng.choice(fleet.ids_, 1).tolist()[0] if named else fleet.ids_[0])
        if rng.random() < 0.2:
            fleet.forget(owner=f"o{rng.integers(7)}", missing="ok")
        if stream.timed and rng.random() < 0.2:
            fleet.expire(stream.times(rows)[-1] + np.timedelta64(3, "h"))
        live = [int(str(id).removeprefix("r")) for id in fleet.ids_]
        assert_no_trace(fleet, stream.departed(live))
        assert fleet.residues() == []
        if len(fleet):
            fleet.fits()
            fleet.predict_interval(fleet.keys(), stream.X[: len(fleet)])
            assert_no_trace(fleet, stream.departed(live))

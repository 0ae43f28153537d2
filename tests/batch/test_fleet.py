"""Fleets: a dict of models in shared arrays."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from fleet_histories import histories, models
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from twins.keyed_models import DictOfModels

from efface import OLS, AdaptiveRidge, AutoRidge, Fleet, KeepFor, Ridge, replay
from efface.errors import BadRow, EffaceError, InvalidValue, NotFitted, UnknownKey

LONG = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=40)


def columns(rows):
    """The arguments of ``replay`` for rows of a history."""
    names = {
        "ids": "id",
        "at": "at",
        "owners": "owner",
        "until": "until",
        "sample_weight": "weight",
    }
    found = {
        role: [row.get(name) for row in rows] for role, name in names.items() if name in rows[0]
    }
    return (
        [row["key"] for row in rows],
        [row["x"] for row in rows],
        [row["y"] for row in rows],
        found,
    )


def close(one, other):
    one, other = np.asarray(one, float), np.asarray(other, float)
    scale = max(1.0, np.abs(other).max(initial=0.0))
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-9 * scale)


def compare(fleet, twin):
    """The fleet has the keys, rows and coefficients of a dict of models, and holds nothing else."""
    assert set(fleet.keys()) == set(twin.models)
    assert fleet.n_rows_ == len(twin.ids)
    if fleet._held is not None:
        assert fleet._held.residues() == []
    for key, model in twin.models.items():
        mine = fleet[key]
        assert mine.ids_ == model.ids_
        assert mine.owners_ == model.owners_
        assert mine._live.phase == model._live.phase
        for name in ("X", "y", "weighed", "times", "until"):
            np.testing.assert_array_equal(
                getattr(mine._snapshot(), name), getattr(model._snapshot(), name)
            )
    if twin.models:
        keys = list(twin.models)
        fits = fleet.fits(keys)
        for place, key in enumerate(keys):
            model = twin.models[key]
            close(fits.coef[place], model.coef_)
            close(fits.intercept[place], model.intercept_)
            close(fits.penalty[place], model.penalty_)
        x = np.array([[0.5, -1.0]] * len(keys))
        close(fleet.predict(keys, x), [twin.models[key].predict(x[:1])[0] for key in keys])


def play(fleet, twin, event, path):
    """One event on both; both refuse it, or neither. Returns the fleet."""
    kind, *what = event
    if kind == "rows":
        keys, X, y, given_ = columns(what[0])
        try:
            shown = twin.replay(what[0])
        except EffaceError as error:
            with pytest.raises(type(error)):
                fleet.replay(keys, X, y, **given_)
            return fleet
        result = fleet.replay(keys, X, y, **given_)
        close(result.prediction, [prediction for prediction, _ in shown])
        assert result.n_rows.tolist() == [count for _, count in shown]
    elif kind == "forget":
        alive = twin.ids
        ids = [alive[place % len(alive)] for place in what[0]] if alive else []
        owners = [each for each in what[1] if any(each in m.owners_ for m in twin.models.values())]
        if twin.models:
            ids = list(dict.fromkeys(ids))
            assert fleet.forget(ids, owners=owners) == twin.forget(ids, owners)
    elif kind == "expire" and fleet._held is not None and twin.models:
        assert fleet.expire(what[0]) == twin.expire(what[0])
    elif kind == "save" and fleet._held is not None:
        fleet.save(path)
        first = path.read_bytes()
        fleet = Fleet.load(path)
        fleet.save(path)
        assert path.read_bytes() == first
    return fleet


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("fleet") / "fleet.efface"


@LONG
@given(data=st.data())
def test_is_a_dict_of_models(path, data):
    model = data.draw(models())
    timed = isinstance(model.window, KeepFor) or data.draw(st.booleans())
    fleet, twin = Fleet(model, threads=1), DictOfModels(model)
    for event in data.draw(histories(model, timed)):
        fleet = play(fleet, twin, event, path)
        compare(fleet, twin)


X, Y = np.random.default_rng(4).normal(size=(30, 2)), np.arange(30.0)
LABELS = np.array([f"k{number % 3}" for number in range(30)])


def learned(model=None, **given):
    fleet = Fleet(Ridge(window=8, alpha=0.5) if model is None else model)
    fleet.learn(LABELS, X, Y, **given)
    return fleet


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_frames_name_the_column_of_the_keys(make):
    frame = make({"who": LABELS, "u": X[:, 0], "v": X[:, 1], "y": Y, "t": np.arange(30.0)})
    fleet, plain = Fleet(Ridge(window=8, alpha=0.5)), Fleet(Ridge(window=8, alpha=0.5))
    result = fleet.replay(by="who", X=frame, y="y", at="t", coef=True)
    expected = plain.replay(LABELS, X, Y, at=np.arange(30.0), coef=True)
    assert np.array_equal(np.asarray(result.prediction), expected.prediction)
    table = result.to_frame()
    assert list(table.columns)[:2] == ["who", "t"]
    assert "coef_u" in table.columns
    assert fleet["k1"].feature_names_in_.tolist() == ["u", "v"]
    rows = frame[["u", "v"]]
    prediction = fleet.predict(LABELS, rows)
    assert type(prediction) is type(frame["y"])
    assert np.array_equal(np.asarray(prediction), plain.predict(LABELS, X))
    again = replay(Fleet(Ridge(window=8, alpha=0.5)), frame, "y", by="who", at="t")
    assert np.array_equal(np.asarray(again.prediction), expected.prediction)


@pytest.mark.parametrize("method", ["gaussian", "self-normalized", "conformal"])
@pytest.mark.parametrize("kind", [OLS, Ridge, AdaptiveRidge, AutoRidge])
def test_intervals_equal_those_of_the_models(method, kind):
    fleet = learned(kind(window=40))
    keys = ["k2", "k0", "k2"]
    found = fleet.predict_interval(keys, X[:3], level=0.8, method=method)
    for place, key in enumerate(keys):
        right = fleet[key].predict_interval(X[place : place + 1], level=0.8, method=method)
        for one, other in zip(found, right, strict=True):
            close(one[place], other[0])
    assert (found.reason is None) == np.isfinite(found.lower).all()
    short = Fleet(kind(window=40))
    short.learn(["a"], X[:1], Y[:1])
    assert np.isinf(short.predict_interval(["a"], X[:1]).upper).all()
    assert "fleet[key]" in short.predict_interval(["a"], X[:1]).reason


@pytest.mark.parametrize("method", ["gaussian", "conformal"])
def test_replays_with_intervals_equal_those_of_the_models(method):
    told = {"interval": 0.8, "method": method, "diagnostics": True, "coef": True}
    fleet = Fleet(AdaptiveRidge(window=9))
    result = fleet.replay(LABELS, X, Y, **told)
    for key in ("k0", "k1", "k2"):
        mine = key == LABELS
        right = replay(AdaptiveRidge(window=9), X[mine], Y[mine], **told)
        for name in ("prediction", "coef", "rank", "n_rows", "leverage_old", "frt"):
            close(getattr(result, name)[mine], getattr(right, name))
        finite = np.isfinite(right.lower)
        assert (np.isfinite(result.lower[mine]) == finite).all()
        close(result.lower[mine][finite], right.lower[finite])


def test_keys_that_are_not_there():
    fleet = learned()
    with pytest.raises(UnknownKey, match="'key' is 'zoe': no live row has it"):
        fleet.predict(["k1", "zoe"], X[:2])
    with pytest.raises(UnknownKey):
        fleet["zoe"]
    assert "zoe" not in fleet
    assert "k1" in fleet
    prediction = fleet.predict(["k1", "zoe"], X[:2], missing="ok")
    assert prediction[1] == 0.0
    assert prediction[0] == fleet.predict(["k1"], X[:1])[0]
    wide = fleet.predict_interval(["zoe"], X[:1], missing="ok")
    assert np.isinf(wide.upper[0])


def test_a_fleet_without_rows():
    fleet = Fleet(OLS())
    assert fleet.keys() == []
    assert len(fleet) == fleet.n_rows_ == fleet.nbytes == 0
    for call in (fleet.fits, lambda: fleet.forget(0), lambda: fleet.predict([1], X[:1])):
        with pytest.raises(NotFitted, match="is not fitted"):
            call()
    with pytest.raises(InvalidValue, match="'model' is 3"):
        Fleet(3)
    with pytest.raises(InvalidValue, match="'alpha' is -1"):
        Fleet(Ridge(alpha=-1.0))
    with pytest.raises(InvalidValue, match="'keys' is None"):
        fleet.learn(X=X, y=Y)
    with pytest.raises(BadRow):
        fleet.learn(LABELS, np.where(X > 1, np.nan, X), Y)
    assert fleet.keys() == []
    fleet.learn(LABELS, X[:, :1], Y)  # what was refused did not fix the number of features
    with pytest.raises(InvalidValue, match="features"):
        fleet.learn(LABELS, X, Y)


def test_what_is_held_about_an_owner():
    fleet = learned(owners=["ann" if k % 5 == 0 else None for k in range(30)], at=np.arange(30.0))
    held = fleet.held("ann")
    assert held.keys == ["k0", "k1", "k1", "k2"]
    for key, id, u in zip(held.keys, held.ids, held.features["x0"], strict=True):
        assert id % 5 == 0
        assert LABELS[id] == key
        assert X[id, 0] == u
    assert list(held.to_frame().columns) == ["key", "id", "at", "response", "weight", "x0", "x1"]
    assert fleet.owners_ == ["ann"]


def test_copies_and_pickles_hold_the_live_rows_alone():
    fleet = learned(owners=["ann"] * 30)
    fleet.forget(owner="ann")
    assert pickle.loads(pickle.dumps(fleet)).n_rows_ == 0
    fleet.learn(LABELS, X, Y, ids=[f"r{k}" for k in range(30)])
    again = copy.deepcopy(fleet)
    assert again.ids_ == fleet.ids_
    assert np.array_equal(again.coef(), fleet.coef())
    assert pickle.loads(pickle.dumps(Fleet(OLS()))).keys() == []


def test_a_single_model_takes_no_keys():
    with pytest.raises(InvalidValue, match="'by' is"):
        replay(OLS(), X, Y, by=LABELS)

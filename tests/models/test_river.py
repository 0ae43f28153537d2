"""The River wrapper: River's own checks, and dicts compared with the same rows as arrays."""

from __future__ import annotations

import pickle
from datetime import datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import compose, evaluate, metrics, stream
from river.checks import yield_checks
from river.datasets import TrumpApproval
from twins import regression as naive

from efface import OLS, AdaptiveRidge, AutoRidge, Ridge, SwitchingRidge, replay
from efface.errors import BadRow, InvalidValue, NotANumber, RepeatedId, UnknownId, UnknownOwner
from efface.models.river import Regressor

TEMPLATES = [
    OLS(window=30),
    Ridge(window=30, alpha=0.5, fit_intercept=False),
    AutoRidge(window=30),
    AdaptiveRidge(window=30),
    SwitchingRidge(window=30),
]
CHECKS = [
    pytest.param(model, check, id=f"{type(model).__name__}-{getattr(check, '__name__', check)}-{i}")
    for model in TEMPLATES
    for i, check in enumerate(yield_checks(Regressor(model)))
]


@pytest.mark.parametrize(("model", "check"), CHECKS)
def test_rivers_own_checks(model, check):
    check(Regressor(model).clone())


@pytest.mark.parametrize("model", TEMPLATES, ids=lambda model: type(model).__name__)
def test_dicts_give_the_same_predictions_as_arrays(model):
    dense, sparse = type(model)(**model.get_params()), Regressor(model)
    for t, (x, y) in enumerate(TrumpApproval().take(120)):
        row = np.array([x[name] for name in sorted(x)])
        if t:
            assert sparse.predict_one(x) == pytest.approx(dense.predict_one(row), rel=1e-9)
        dense.learn_one(row, y)
        sparse.learn_one(x, y)
    assert list(sparse.weights.values()) == pytest.approx(dense.coef_, rel=1e-9)
    assert sparse.intercept == pytest.approx(dense.intercept_, rel=1e-9)


def test_progressive_validation_equals_a_replay():
    picked = ["gallup", "ipsos", "rasmussen"]
    model = compose.Select(*picked) | Regressor(OLS(window=100))
    score = evaluate.progressive_val_score(TrumpApproval(), model, metrics.MAE())
    X = np.array([[x[name] for name in picked] for x, _ in TrumpApproval()])
    y = np.array([y for _, y in TrumpApproval()])
    errors = np.abs(replay(OLS(window=100), X, y).prediction - y)
    assert score.get() == pytest.approx(errors.mean(), rel=1e-9)


names = st.sampled_from("abcd")
rows = st.dictionaries(names, st.integers(-4, 4).map(float), max_size=4)
events = st.lists(st.tuples(rows, st.integers(-9, 9).map(float), st.booleans()), max_size=25)


@pytest.mark.parametrize("intercept", [False, True])
@settings(deadline=None, max_examples=60)
@given(events=events, data=st.data())
def test_the_features_are_those_that_live_rows_name(intercept, events, data):
    model = Regressor(Ridge(window=6, alpha=0.5, fit_intercept=intercept))
    live = {}
    for t, (x, y, forgets) in enumerate(events):
        model.learn_one(x, y, id=t)
        live[t] = (x, y)
        live = dict(list(live.items())[-6:])
        if forgets:
            gone = data.draw(st.sampled_from(sorted(live)))
            model.forget(gone)
            del live[gone]
        features = sorted(set().union(*(x for x, _ in live.values())))
        assert sorted(model.weights) == features
        assert model.ids == list(live)
        X = np.array([[x.get(name, 0.0) for name in features] for x, _ in live.values()])
        if live and features:
            responses = np.array([y for _, y in live.values()])
            coef, level, _ = naive.regress(X, responses, 0.5, intercept)
            assert [model.weights[f] for f in features] == pytest.approx(coef, rel=1e-9, abs=1e-11)
            assert model.intercept == pytest.approx(level, rel=1e-9, abs=1e-11)


def test_the_name_of_a_feature_is_forgotten_with_its_last_row():
    model = Regressor(OLS())
    model.learn_one({"a": 1.0}, 1.0, id="ann")
    model.learn_one({"a": 2.0, "diagnosis": 1.0}, 3.0, id="bob")
    model.forget("bob")
    assert b"diagnosis" not in pickle.dumps(model)
    assert model.weights == {"a": 0.0}


def test_unlearn_one_equals_forget():
    model, other = Regressor(OLS()), Regressor(OLS())
    data = [({"a": 1.0, "b": 2.0}, 1.0), ({"a": 3.0}, 2.0), ({"a": 0.5, "b": -1.0}, 4.0)]
    for x, y in data:
        model.learn_one(x, y)
    for x, y in data[::2]:
        other.learn_one(x, y)
    model.unlearn_one({"a": 3.0}, 2.0)
    assert model.weights == other.weights
    with pytest.raises(UnknownId, match="equals no live row"):
        model.unlearn_one({"a": 3.0}, 2.0)
    with pytest.raises(UnknownId):
        model.unlearn_one({"a": 1.0, "b": 2.0, "c": 0.0}, 1.0)


def test_times_let_rows_expire():
    model = Regressor(OLS(window="2d"))
    for day in range(3):
        model.learn_one({"a": float(day), f"d{day}": 1.0}, day, at=datetime(2026, 1, day + 1))
    assert model.ids == [1, 2]
    assert sorted(model.weights) == ["a", "d1", "d2"]
    assert model.expire(datetime(2026, 1, 4)) == 1
    assert sorted(model.weights) == ["a", "d2"]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (({"a": 1.0, "new": float("nan")}, 1.0, 1.0, 7), BadRow),
        (({"a": 1.0, "new": 2.0}, float("inf"), 1.0, 7), InvalidValue),
        (({"a": 1.0, "new": 2.0}, 1.0, -1.0, 7), BadRow),
        (({"a": 1.0, "new": 2.0}, 1.0, 1.0, 0), RepeatedId),
    ],
)
def test_refused_rows_change_nothing(arguments, error):
    model = Regressor(OLS())
    model.learn_one({"a": 1.0}, 1.0)
    before = pickle.dumps(model)
    with pytest.raises(error):
        model.learn_one(*arguments[:3], id=arguments[3])
    assert pickle.dumps(model) == before


def test_learn_many_equals_learn_one_on_each_row():
    frame = pd.DataFrame({"b": [1.0, 2.0, 0.5], "a": [0.0, 1.0, 3.0]}, index=[7, 8, 9])
    y = pd.Series([1.0, 2.0, 5.0], index=frame.index)
    whole, single = Regressor(Ridge(window=2)), Regressor(Ridge(window=2))
    whole.learn_many(frame, y)
    for x, target in stream.iter_frame(frame, y):
        single.learn_one(x, target)
    assert whole.weights == pytest.approx(single.weights)
    predictions = whole.predict_many(frame.assign(z=1.0))
    assert predictions.index.tolist() == [7, 8, 9]
    assert predictions[8] == pytest.approx(single.predict_one({"a": 1.0, "b": 2.0, "z": 1.0}))


def test_weights_are_passed_as_w():
    rows = [({"a": 1.0, "b": 2.0}, 1.0, 2), ({"a": 3.0}, 2.0, 0), ({"a": 0.5, "b": -1.0}, 4.0, 3)]
    single, repeated = Regressor(Ridge()), Regressor(Ridge())
    for x, y, w in rows:
        single.learn_one(x, y, w=w)
        for _ in range(w):
            repeated.learn_one(x, y)
    assert single.weights == pytest.approx(repeated.weights)
    frame = pd.DataFrame([x for x, _, _ in rows]).fillna(0.0)
    y, w = (pd.Series([row[i] for row in rows]) for i in (1, 2))
    whole = Regressor(Ridge())
    whole.learn_many(frame, y, w)
    assert whole.weights == pytest.approx(single.weights)
    whole.learn_one({"c": 1.0}, 0.0, w=0.0)  # a new column: the rows keep their weights
    assert whole.weights == pytest.approx({**single.weights, "c": 0.0})
    alike = Regressor(Ridge())
    alike.learn_many(frame, y, 2)
    assert alike._live.solver.weights.tolist() == [2.0, 2.0, 2.0]


def test_rows_fade_while_features_come_and_go():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    regressor, plain = Regressor(Ridge(halflife=3.0)), Ridge(halflife=3.0)
    for t in range(60):
        named = {"a": X[t, 0], "b": X[t, 1]} if t % 20 > 4 else {"a": X[t, 0]}
        row = np.array([X[t, 0], named.get("b", 0.0)])
        regressor.learn_one(named, y[t], w=0.5 + t % 3)
        plain.learn_one(row, y[t], weight=0.5 + t % 3)
        if t == 40:
            regressor.forget(31)
            plain.forget(31)
    assert regressor.predict_one({"a": 1.0, "b": 2.0}) == pytest.approx(
        plain.predict_one([1.0, 2.0]), rel=1e-12
    )


def test_a_weight_passes_through_a_pipeline():
    model = compose.Select("a") | Regressor(Ridge())
    model.learn_one({"a": 1.0, "b": 2.0}, 1.0, w=3.0)
    assert model["Regressor"]._live.solver.weights.tolist() == [3.0]


def test_a_regressor_without_rows_predicts_0():
    model = Regressor(OLS())
    assert (model.predict_one({"a": 1.0}), model.weights, model.ids) == (0.0, {}, [])
    assert model.intercept == 0.0
    with pytest.raises(UnknownId):
        model.forget(0)


def test_rows_leave_by_owner_and_by_their_end():
    model = Regressor(Ridge(alpha=0.5))
    for t, owner in enumerate(["ann", "bob", "ann", None]):
        model.learn_one({"ab"[t % 2]: t + 1.0}, 1.0, at=t, owner=owner, until=t + 10)
    model.learn_many(
        pd.DataFrame({"c": [1.0, 2.0]}),
        pd.Series([1.0, 2.0]),
        at=[5, 5],
        owners=["bob", None],
        until=[7, None],
    )
    assert model.forget(owner="ann") == 2
    assert (model.ids, list(model.weights)) == ([1, 3, 4, 5], ["b", "c"])
    assert model.expire(7) == 1
    assert model.forget(owners=["bob", "eve"], missing="ok") == 1
    model.learn_one({"c": 1.0}, 1.0, at=13)
    assert (model.ids, list(model.weights)) == ([5, 6], ["c"])
    with pytest.raises(UnknownOwner):
        model.forget(owner="bob")


def test_an_id_that_comes_again_names_the_features_of_its_new_row():
    model = Regressor(Ridge(alpha=0.5))
    model.learn_one({"a": 1.0}, 1.0, id="x", at=1, until=2)
    model.learn_one({"b": 1.0}, 1.0, id="x", at=2)
    assert list(model.weights) == ["b"]


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("kind", [OLS, Ridge, AdaptiveRidge, SwitchingRidge])
def test_a_regressor_whose_last_row_has_left_predicts_0(kind, fit_intercept, standardize):
    template = kind(window="2d", fit_intercept=fit_intercept, standardize=standardize)
    leave = {
        "forget": lambda model: model.forget(0),
        "unlearn": lambda model: model.unlearn_one({"a": 1.0}, 2.0),
        "expire": lambda model: model.expire(datetime(2026, 1, 9)),
    }
    for step in leave.values():
        model = Regressor(template)
        model.learn_one({"a": 1.0}, 2.0, at=datetime(2026, 1, 1))
        step(model)
        assert model.predict_one({"a": 1.0}) == model.predict_one({}) == model.intercept == 0.0
        assert (model.weights, model.ids) == ({}, [])
        assert model.predict_many(pd.DataFrame({"a": [1.0]})).tolist() == [0.0]
        model.learn_one({"b": 2.0}, 4.0, at=datetime(2026, 1, 9))
        assert list(model.weights) == ["b"]


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_rows_without_features_are_predicted_by_the_intercept(fit_intercept):
    model = Regressor(OLS(window=2, fit_intercept=fit_intercept))
    model.learn_one({"a": 1.0}, 9.0)
    for y in (2.0, 4.0):  # the only row that names a feature leaves
        model.learn_one({}, y)
    assert model.weights == {}
    assert model.predict_one({"a": 1.0}) == model.predict_one({}) == 3.0 * fit_intercept


def test_a_value_that_is_not_a_number_is_refused():
    model = Regressor(OLS())
    model.learn_one({"a": 1.0}, 1.0)
    for refused in (model.predict_one, lambda x: model.unlearn_one(x, 1.0)):
        with pytest.raises(NotANumber, match="'x' at column 0 is 'red': expected a number"):
            refused({"a": "red"})


def test_values_and_weights_beyond_the_limits_are_refused():
    model, frame = Regressor(OLS()), pd.DataFrame({"a": [1.0, 1e110]})
    model.learn_one({"a": 1.0}, 1.0)
    before = pickle.dumps(model)
    for learn in (
        lambda: model.learn_one({"a": 1e110}, 1.0, w=1e100),
        lambda: model.learn_one({}, 1e110, w=1e100),
        lambda: model.learn_many(frame, pd.Series([1.0, 1.0]), 1e100),
    ):
        with pytest.raises(BadRow, match=r"weight'.* is 1e\+100: expected at most 1e\+80, since"):
            learn()
    with pytest.raises(BadRow, match=r"'x' at column 0 is 1e\+151: expected at most 1e\+150"):
        model.learn_one({"a": 1e151}, 1.0)
    assert pickle.dumps(model) == before

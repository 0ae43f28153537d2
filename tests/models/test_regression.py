"""What the models have in common: exactness, input checks, windows, scikit-learn."""

from __future__ import annotations

import copy
import math
import pickle
from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from histories import (
    CLASSES,
    MILD,
    MODELS,
    RULES,
    WILD,
    build,
    build_twin,
    check_exact,
    history_strategies,
    run_history,
    step_by_step,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import data
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import StackingRegressor
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted
from twins import regression as naive

from efface import (
    FIFD,
    OLS,
    AdaptiveRidge,
    AddDrop,
    KeepFor,
    Ridge,
    WindowScaler,
    audit,
    replay,
    rolling,
)
from efface.errors import (
    BadRow,
    BadTime,
    InvalidValue,
    NotANumber,
    NotFitted,
    RepeatedId,
    UnknownId,
)
from efface.models.base import Keys

# -- exactness ---------------------------------------------------------------------------------


def equals_a_refit(name, kind, window, intercept, d, **history):
    intercept = intercept or kind == "means a million times the deviation"
    model = build(name, window=window[0], fit_intercept=intercept)
    run_history(
        model, build_twin(name, window[1], intercept, d), kind, d=d, check=check_exact, **history
    )


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("name", list(RULES))
@given(**history_strategies(MILD))
@settings(deadline=None, max_examples=15)
def test_events_equal_a_refit(name, kind, **history):
    equals_a_refit(name, kind, **history)


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("name", list(RULES))
@given(**history_strategies(WILD))
@settings(deadline=None, max_examples=5, derandomize=True)
def test_events_equal_a_refit_for_weights_of_very_different_size(name, kind, **history):
    equals_a_refit(name, kind, **history)


@pytest.mark.parametrize("name", list(RULES))
@pytest.mark.parametrize("intercept", [False, True])
def test_nothing_remains_of_a_row_1e8_times_larger(name, intercept):
    X, y = data(80, 4)
    X[20] *= 1e8
    model = build(name, window=15, fit_intercept=intercept)
    twin = build_twin(name, ("rows", 15), intercept, 4)
    step_by_step(model, twin, X, y, check_exact)


@pytest.mark.parametrize("name", list(RULES))
@pytest.mark.parametrize("intercept", [False, True])
def test_nothing_remains_of_a_weight_of_1e8(name, intercept):
    X, y = data(80, 4)
    model = build(name, window=15, fit_intercept=intercept)
    twin = build_twin(name, ("rows", 15), intercept, 4)
    step_by_step(model, twin, X, y, check_exact, np.where(np.arange(80) == 20, 1e8, 1.0))


@pytest.mark.parametrize("name", list(RULES))
@given(
    counts=st.lists(st.integers(0, 4), min_size=2, max_size=14).filter(any),
    intercept=st.booleans(),
    d=st.sampled_from([1, 3, 6]),
    seed=st.integers(0, 99),
)
@settings(deadline=None, max_examples=20)
def test_a_weight_of_k_equals_k_copies_of_the_row(name, counts, intercept, d, seed):
    X, y = data(len(counts), d, seed)
    rows = np.repeat(np.arange(len(counts)), counts)
    weighed, repeated = (build(name, fit_intercept=intercept) for _ in range(2))
    weighed.fit(X, y, sample_weight=counts)
    repeated.fit(X[rows], y[rows])
    assert weighed.n_rows_ == len(counts)
    assert weighed.rank_ == repeated.rank_
    assert weighed.penalty_ == pytest.approx(repeated.penalty_, rel=1e-9)
    size = np.abs(repeated.coef_).max() or 1.0
    assert np.abs(weighed.coef_ - repeated.coef_).max() <= 1e-8 * size
    assert weighed.intercept_ == pytest.approx(repeated.intercept_, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("kind", MODELS)
def test_a_row_of_weight_0_counts_in_the_window_and_has_no_influence(kind):
    X, y = data(8, 2)
    model, other = kind(window=5), kind()
    for t in range(6):
        model.learn_one(X[t], y[t], weight=0.0 if t in (2, 3) else 1.0)
    assert model.n_rows_ == 5
    assert model.ids_ == [1, 2, 3, 4, 5]
    other.fit(X[[1, 4, 5]], y[[1, 4, 5]])
    assert model.coef_ == pytest.approx(other.coef_, rel=1e-9)
    assert model.rank_ == other.rank_
    model.forget(2)
    model.learn_one(X[6], y[6])
    model.learn_one(X[7], y[7])
    assert model.ids_ == [3, 4, 5, 6, 7]
    other.fit(X[4:], y[4:])
    assert model.coef_ == pytest.approx(other.coef_, rel=1e-9)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("intercept", [False, True])
def test_rows_that_all_have_weight_0_give_a_zero_fit(kind, intercept):
    X, y = data(9, 3)
    for n in (1, 2, 9):
        model = kind(fit_intercept=intercept).partial_fit(X[:n], y[:n], sample_weight=0.0)
        assert model.n_rows_ == n
        assert (model.coef_.tolist(), model.intercept_, model.rank_) == ([0.0] * 3, 0.0, 0)
        assert model.predict_one(X[0]) == 0.0
        assert np.isinf(model.predict_interval(X[:1]).upper).all()
        result = replay(model, X, y, diagnostics=True, interval=0.9, sample_weight=np.zeros(9))
        assert (result.prediction == 0.0).all()
        assert (result.rank == 0).all()
        assert (result.leverage_old == 0.0).all()
        assert np.isinf(result.upper).all()
        model.learn_one(X[0], y[0])
        alone = kind(fit_intercept=intercept).fit(X[:1], y[:1])
        assert model.coef_ == pytest.approx(alone.coef_, rel=1e-12)
        assert model.intercept_ == pytest.approx(alone.intercept_, rel=1e-12)


def test_score_accepts_weights():
    X, y = data(40, 3)
    w = np.random.default_rng(0).integers(0, 4, size=40)
    model, rows = Ridge().fit(X, y, sample_weight=w), np.repeat(np.arange(40), w)
    assert model.score(X, y, sample_weight=w) == pytest.approx(model.score(X[rows], y[rows]))


@pytest.mark.parametrize("kind", MODELS)
def test_no_row_and_one_row(kind):
    model = kind().partial_fit(np.empty((0, 2)), [])
    assert model.n_rows_ == 0
    assert model.rank_ == 0
    assert model.predict_one([5.0, 5.0]) == 0.0
    assert model.predict([[5.0, 5.0]]).tolist() == [0.0]
    model.learn_one([1.0, 2.0], 3.0)
    assert model.predict_one([5.0, 5.0]) == 3.0
    assert model.coef_.tolist() == [0.0, 0.0]
    model.forget(0)
    assert model.predict_one([5.0, 5.0]) == 0.0


# -- the arrays of the caller ------------------------------------------------------------------


@pytest.mark.parametrize("kind", MODELS)
def test_models_keep_no_reference_to_the_callers_arrays(kind):
    X, y = data(30, 3)
    model = kind(window=20).fit(X, y)
    x = X[0].copy()
    model.learn_one(x, 1.0)
    before = model.coef_
    X[:], y[:], x[:] = 0.0, 0.0, 0.0
    model.coef_[:] = 0.0
    model.ids_.clear()
    model.partial_fit(np.empty((0, 3)), [])
    model.forget([])
    assert (model.coef_ == before).all()
    replayed = replay(clone(model), *data(30, 3))
    assert replayed.prediction.size == 30


def test_values_up_to_1e150_are_accepted():
    model = OLS(fit_intercept=False)
    model.learn_one(np.array([1e150, 0.0]), 1e150)
    model.learn_one(np.array([0.0, -1e150]), -1e150, weight=0.5)
    model.partial_fit([[1e150, -1e150]], [1e150], sample_weight=0.0)
    model.learn_one([1e-3, 1e-300], 1e-3, weight=1e300)
    assert model.n_rows_ == 4


ABOVE = np.nextafter(1e150, 2e150)
EXPECTED = (
    r"expected at most 1e\+150 in absolute value, so that sums of squares are finite; rescale"
)
HEAVY = (
    r"is 1e\+100: expected at most 1e\+80, since the row has the value 1e\+110; rescale the weights"
)
TOO_LARGE = {
    "fit": (lambda m: m.fit([[1.0, 2.0], [1.0, ABOVE]], [1.0, 2.0]), "'X' at row 1, column 1 is 1"),
    "fit a frame": (
        lambda m: m.fit(pd.DataFrame({"a": [1.0, -1e200], "b": [1e200, 1.0]}), [1.0, 2.0]),
        r"'X' at row 0, column 1 \('b'\) is 1e\+200",
    ),
    "partial_fit": (lambda m: m.partial_fit([[-ABOVE, 1.0]], [1.0]), "'X' at row 0, column 0 is -"),
    "responses": (lambda m: m.partial_fit([[1.0, 1.0]], [-1e308]), r"'y' at row 0 is -1e\+308"),
    "replay": (lambda m: replay(m, [[1.0, 1e151]], [1.0]), r"'X' at row 0, column 1 is 1e\+151"),
    "rolling": (lambda m: rolling([[1.0], [1e151]], [1.0, 1.0], 1), "'X' at row 1, column 0 is 1"),
    "one row": (lambda m: m.learn_one(np.array([1.0, -ABOVE]), 1.0), "'x' at column 1 is -1"),
    "one row as a list": (lambda m: m.learn_one([1.0, -ABOVE], 1), "'x' at column 1 is -1"),
    "one response": (lambda m: m.learn_one(np.ones(2), float(ABOVE)), "'y' is 1"),
    "predict": (lambda m: m.predict([[1.0, 1e200]]), r"'X' at row 0, column 1 is 1e\+200"),
    "scaler": (lambda m: WindowScaler().fit([[1e151]]), "'X' at row 0, column 0 is 1e"),
}
TOO_HEAVY = {
    "fit": lambda m: m.fit([[1.0, -1e110]], [1.0], sample_weight=1e100),
    "partial_fit": lambda m: m.partial_fit([[1.0, 2.0]], [1e110], sample_weight=[1e100]),
    "replay": lambda m: replay(m, [[1e110, 2.0]], [1.0], sample_weight=[1e100]),
    "rolling": lambda m: rolling([[1e110]], [1.0], 1, sample_weight=[1e100]),
    "one row": lambda m: m.learn_one(np.array([1e110, 0.0]), 1.0, weight=1e100),
    "one row as a list": lambda m: m.learn_one([1, -1e110], 1, weight=1e100),
    "one response": lambda m: m.learn_one(np.zeros(2), -1e110, weight=1e100),
    "first row": lambda m: OLS().learn_one([1e110], 1.0, weight=1e100),
}


@pytest.mark.parametrize("name", list(TOO_LARGE))
def test_larger_values_are_refused_before_anything_changes(name):
    call, text = TOO_LARGE[name]
    model = OLS().fit(*data(9, 2))
    before = state(model)
    with pytest.raises(BadRow, match=f"{text}.*{EXPECTED}"):
        call(model)
    assert state(model) == before


@pytest.mark.parametrize("name", list(TOO_HEAVY))
def test_weights_that_are_too_large_for_a_value_are_refused(name):
    model = OLS().fit(*data(9, 2))
    before = state(model)
    with pytest.raises(BadRow, match=f"weight'.*{HEAVY}"):
        TOO_HEAVY[name](model)
    assert state(model) == before


@pytest.mark.parametrize("extreme", [1e300, 1.7e308, math.inf, -math.inf, math.nan])
@pytest.mark.parametrize("kind", [float, np.float64])
def test_extreme_single_rows_give_no_warning(kind, extreme):
    model = OLS().fit(*data(9, 2))
    for x, y, weight in ((1.0, extreme, 1.0), (extreme, 1.0, 1.0), (extreme, extreme, 1e300)):
        with pytest.raises(BadRow):
            model.learn_one(np.array([x, x]), kind(y), weight=weight)
    assert model.n_rows_ == 9


@pytest.mark.parametrize(
    "x",
    [[1, 2], (1.0, 2.0), np.array([1, 2]), np.arange(1, 5.0)[::2] * [1, 2 / 3], pd.Series([1, 2])],
)
def test_one_row_in_any_form(x):
    model = Ridge().fit(*data(9, 2))
    reference = clone(model).fit(*data(9, 2))
    model.learn_one(x, 3)
    reference.learn_one(np.array([1.0, 2.0]), 3.0)
    assert (model.coef_ == reference.coef_).all()
    assert model.predict_one(x) == reference.predict_one(np.array([1.0, 2.0]))


# -- refused input -----------------------------------------------------------------------------


def state(model):
    live = model._live
    numbers = [part.tobytes() for part in live.values()]
    return *numbers, live.index.ids, list(live.index.since), live.phase


BAD_ROWS = [
    (([1.0, math.nan], 1.0), BadRow, "'x' at column 1 is NaN: expected a finite number"),
    ((np.array([math.inf, 0.0]), 1.0), BadRow, "'x' at column 0 is infinity"),
    ((np.array([0.0, math.nan]), 1.0), BadRow, "'x' at column 1 is NaN"),
    ((np.zeros(3), 1.0), InvalidValue, r"'x' is \(3,\): expected the shape \(2,\)"),
    ((np.zeros((1, 2)), 1.0), InvalidValue, r"'x' is \(1, 2\): expected the shape \(2,\)"),
    ((["a", 1.0], 1.0), NotANumber, "'x' at column 0 is 'a': expected a number"),
    ((np.zeros(2), math.nan), BadRow, "'y' is NaN: expected a finite number"),
    ((np.zeros(2), -math.inf), BadRow, "'y' is infinity: expected a finite number"),
    ((np.zeros(2), "1"), NotANumber, "'y' is '1': expected a number"),
    ((np.zeros(2), None), BadRow, "'y' is NaN"),
    ((np.zeros(2), 1.0, 7), RepeatedId, "'id' is 7: a live row has it"),
    ((np.zeros(2), 1.0, 1.5), InvalidValue, "'id' is 1.5: expected an int or a str"),
    (
        (np.zeros(2), 1.0, None, 3.0),
        BadTime,
        "'at' is numbers: expected None, as for the live rows",
    ),
    (
        (np.zeros(2), 1.0, None, None, -0.5),
        BadRow,
        r"'weight' is -0.5: expected a number from 0 to 1e\+300; use weight 0 for a row",
    ),
    ((np.zeros(2), 1.0, None, None, math.nan), BadRow, "'weight' is nan: expected a number"),
    ((np.zeros(2), 1.0, None, None, math.inf), BadRow, "'weight' is inf: expected a number"),
    ((np.zeros(2), 1.0, None, None, "2"), NotANumber, "'weight' is '2': expected a number"),
    ((np.zeros(2), 1.0, None, None, [1.0]), InvalidValue, r"'weight' is \[1.0\]: expected one num"),
]


def learn(model, x, y, id=None, at=None, weight=1.0):
    model.learn_one(x, y, id=id, at=at, weight=weight)


@pytest.mark.parametrize(("row", "error", "text"), BAD_ROWS)
def test_a_bad_row_changes_nothing(row, error, text):
    model = OLS(window=9).fit(*data(9, 2))
    model.learn_one(np.ones(2), 1.0, id=11)
    before = state(model)
    with pytest.raises(error, match=text):
        learn(model, *row)
    assert state(model) == before


@pytest.mark.parametrize(("row", "error", "text"), BAD_ROWS[:1] + BAD_ROWS[5:10] + BAD_ROWS[13:])
def test_a_bad_first_row_leaves_the_model_unfitted(row, error, text):
    model = OLS()
    with pytest.raises(error, match=text):
        learn(model, *row)
    assert not hasattr(model, "n_features_in_")
    with pytest.raises(NotFitted):
        model.predict_one(np.zeros(2))


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"X": [[1, 2], [3, math.nan]]}, BadRow, "'X' at row 1, column 1 is NaN"),
        ({"X": [[1, 2], ["c", 4]]}, NotANumber, "'X' at row 1, column 0 is 'c'"),
        (
            {"X": [[1, 2, 3], [4, 5, 6]]},
            InvalidValue,
            "3 features, but OLS is expecting 2 features",
        ),
        ({"X": [1, 2]}, InvalidValue, "Reshape your data"),
        ({"y": [1, math.inf]}, BadRow, "'y' at row 1 is infinity"),
        ({"y": [1, 2, 3]}, InvalidValue, r"'y' is \(3,\): expected the shape \(2,\)"),
        ({"ids": [1]}, InvalidValue, "'ids' is '1 long': expected 2 ids"),
        ({"ids": [7, 20]}, RepeatedId, "'id' is 7: a live row has it"),
        ({"ids": [20, 20]}, RepeatedId, "'id' is 20: a live row has it"),
        ({"ids": [20, None]}, InvalidValue, "'id' is None: expected an int or a str"),
        ({"at": [1.0, 2.0]}, BadTime, "'at' is numbers: expected None, as for the live rows"),
        (
            {"sample_weight": [1.0, -2.0]},
            BadRow,
            "'sample_weight' at row 1 is -2.0: expected a num",
        ),
        ({"sample_weight": [math.nan, 1.0]}, BadRow, "'sample_weight' at row 0 is nan"),
        (
            {"sample_weight": [1.0, "a"]},
            NotANumber,
            "'sample_weight' at row 1 is 'a': expected a n",
        ),
        ({"sample_weight": [1.0]}, InvalidValue, r"'sample_weight' is \(1,\): expected the shape"),
        ({"sample_weight": np.ones((2, 1))}, InvalidValue, r"'sample_weight' is \(2, 1\): expect"),
    ],
)
def test_a_bad_batch_changes_nothing(change, error, text):
    model = OLS(window=9).fit(*data(9, 2))
    before = state(model)
    rows = {"X": [[1, 2], [3, 4]], "y": [1, 2], **change}
    for learn in (model.partial_fit, lambda **given: replay(model, **given)):
        with pytest.raises(error, match=text):
            learn(**rows)
        assert state(model) == before


def test_a_bad_fit_keeps_the_rows_learned_before():
    model = OLS(window=9).fit(pd.DataFrame(np.eye(2), columns=["a", "b"]), [1.0, 2.0])
    before = state(model)
    with pytest.raises(BadRow, match=r"'X' at row 0, column 1 \('d'\) is NaN"):
        model.fit(pd.DataFrame({"c": [1.0], "d": [math.nan]}), [1.0])
    with pytest.raises(RepeatedId):
        model.fit(np.zeros((2, 5)), [1.0, 2.0], ids=["x", "x"])
    with pytest.raises(InvalidValue, match="'sample_weight' is 'zero at every row': expected some"):
        model.fit(np.eye(2), [1.0, 2.0], sample_weight=[0.0, 0.0])
    assert state(model) == before
    assert model.feature_names_in_.tolist() == ["a", "b"]


def test_forgetting_an_unknown_id_changes_nothing():
    model = OLS().fit(*data(5, 2))
    before = state(model)
    with pytest.raises(UnknownId, match="'id' is 9: no live row has it"):
        model.forget([1, 9])
    assert state(model) == before


def test_a_duration_needs_times():
    with pytest.raises(BadTime, match="'at' is None: expected the time of the row"):
        OLS(window="90d").fit(*data(5, 2))
    model = OLS(window="90d")
    with pytest.raises(BadTime, match="pass at="):
        model.learn_one([1.0], 1.0)
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize("x", [[1.0, math.nan], [math.inf, 0.0], ["a", 1.0], [1.0], np.zeros(3)])
def test_predict_one_refuses_invalid_rows(x):
    for model in (OLS().fit(*data(5, 2)), OLS().partial_fit(np.empty((0, 2)), [])):
        with pytest.raises(InvalidValue, match="'x'"):
            model.predict_one(x)


def test_an_unfitted_model_raises_not_fitted():
    model = Ridge()
    for ask in (
        lambda: model.predict([[1.0]]),
        lambda: model.predict_one([1.0]),
        lambda: model.coef_,
        lambda: model.ids_,
        lambda: model.forget(0),
        lambda: model.expire(0),
        lambda: model.save("nowhere"),
        lambda: check_is_fitted(model),
    ):
        with pytest.raises(NotFittedError, match="fitted"):
            ask()
    with pytest.raises(NotFitted, match="'Ridge' is not fitted: call 'fit' or 'learn_one' first"):
        model.predict_one([1.0])
    assert not hasattr(model, "coef_")


# -- windows -----------------------------------------------------------------------------------


def test_ids_default_to_the_arrival_number():
    model = OLS(window=3)
    for t in range(5):
        model.learn_one([float(t)], 1.0)
    assert model.ids_ == [2, 3, 4]
    assert model.partial_fit([[1.0], [2.0]], [1, 2]).ids_ == [4, 5, 6]
    assert model.fit([[1.0], [2.0]], [1, 2]).ids_ == [0, 1]


def test_fit_keeps_the_rows_that_are_alive_at_its_end():
    X, y = data(100, 2)
    assert OLS(window=3).fit(X, y).ids_ == [97, 98, 99]
    assert OLS(window=AddDrop(2, 1)).fit(X, y).n_rows_ == 50
    model = OLS(window=KeepFor(10)).fit(X, y, at=np.arange(100.0)[::-1])
    assert model.ids_ == list(range(9, -1, -1))


@pytest.mark.parametrize(
    "window", ["90d", timedelta(days=90), np.timedelta64(90, "D"), KeepFor("90d")]
)
def test_a_window_of_90_days(window):
    model, first = OLS(window=window), datetime(2024, 1, 1)
    for day in range(100):
        model.learn_one([float(day)], 1.0, id=f"day {day}", at=first + timedelta(days=day))
    assert model.ids_ == [f"day {day}" for day in range(10, 100)]
    assert model.expire(first + timedelta(days=120)) == 21
    assert model.ids_[0] == "day 31"


def test_parameters_changed_later_take_effect_at_the_next_fit():
    X, y = data(30, 2)
    model = Ridge(alpha=1.0, window=20).fit(X, y)
    before = model.coef_
    model.set_params(alpha=100.0, window=5)
    assert (model.coef_ == before).all()
    model.learn_one(X[0], y[0])
    assert model.penalty_ == 1.0
    assert model.n_rows_ == 20
    assert copy.deepcopy(model).penalty_ == 1.0
    assert model.fit(X, y).penalty_ == 100.0
    assert model.n_rows_ == 5


# -- scikit-learn ------------------------------------------------------------------------------


@parametrize_with_checks([kind() for kind in MODELS] + [Ridge(window=30, fit_intercept=False)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kind", MODELS)
def test_clone_pipeline_and_cross_validation(kind):
    X, y = data(80, 3)
    model = kind(window=50)
    assert clone(model).get_params() == model.get_params()
    assert cross_val_score(make_pipeline(StandardScaler(), model), X, y, cv=4).shape == (4,)


def test_grid_search_over_policies():
    X, y = data(60, 2)
    search = GridSearchCV(Ridge(), {"window": [FIFD(10), FIFD(40), None], "alpha": [0.1, 10]}, cv=3)
    assert search.fit(X, y).best_estimator_.n_rows_ > 0


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_feature_names_of_frames_are_checked(frame):
    X, y = data(20, 2)
    model = OLS().fit(frame({"a": X[:, 0], "b": X[:, 1]}), y)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    with pytest.raises(InvalidValue, match="feature names should match"):
        model.predict(frame({"a": X[:, 0], "c": X[:, 1]}))
    with pytest.raises(InvalidValue, match="feature names should match"):
        model.partial_fit(frame({"a": X[:, 0], "c": X[:, 1]}), y)


FRAMES = {
    "pandas": (pd.DataFrame, pd.Series, pd.Series),
    "polars": (pl.DataFrame, pl.Series, pl.Series),
    "lazy": (pl.LazyFrame, pl.Series, pl.Series),
    "arrow": (pa.table, lambda values: pa.chunked_array([values]), pa.ChunkedArray),
}


def as_array(column):
    return column.to_numpy() if hasattr(column, "to_numpy") else np.asarray(column)


@pytest.mark.parametrize("kind", FRAMES)
def test_models_accept_frames_of_every_kind(kind):
    frame, column, kept = FRAMES[kind]
    X, y = data(30, 2)
    at = np.datetime64("2024-01-01", "us") + np.arange(30) * np.timedelta64(1, "D")
    ids = [f"row {t}" for t in range(30)]
    rows = frame({"a": X[:, 0], "b": X[:, 1]})
    model = Ridge(window="9d").fit(rows, column(y), ids=column(ids), at=column(at))
    twin = Ridge(window="9d").fit(X, y, ids=ids, at=at)
    assert model.ids_ == twin.ids_
    assert (model.coef_ == twin.coef_).all()
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert isinstance(model.predict(rows), np.ndarray)
    assert (model.predict(rows) == twin.predict(X)).all()
    interval, other = model.predict_interval(rows, 0.9), twin.predict_interval(X, 0.9)
    for one, two in zip(interval, other, strict=True):
        assert type(one) is kept
        assert (as_array(one) == two).all()
    more = frame({"a": X[:3, 0], "b": X[:3, 1]})
    later = column(at[:3] + np.timedelta64(40, "D"))
    assert model.partial_fit(more, column(y[:3]), ids=column(ids[:3]), at=later).n_rows_ == 3


@pytest.mark.parametrize("kind", FRAMES)
def test_set_output_native_returns_columns_of_the_frames_kind(kind):
    frame, column, kept = FRAMES[kind]
    X, y = data(30, 2)
    rows = frame({"a": X[:, 0], "b": X[:, 1]})
    model = OLS().set_output(predict="native").fit(rows, column(y))
    for each in (model, pickle.loads(pickle.dumps(model)), clone(model).fit(rows, y)):
        assert type(each.predict(rows)) is kept
        assert each.score(rows, y) == pytest.approx(OLS().fit(X, y).score(X, y))
    assert isinstance(OLS().set_output(predict="native").fit(X, y).predict(X), np.ndarray)
    assert isinstance(model.set_output(predict="default").predict(rows), np.ndarray)
    assert model.set_output() is model
    with pytest.raises(InvalidValue, match="'predict' is 'pandas': expected 'default' or 'native'"):
        model.set_output(predict="pandas")


def test_predictions_keep_the_pandas_index():
    X, y = data(6, 2)
    frame = pd.DataFrame(X, columns=["a", "b"], index=[3, 3, 1, 2, 9, 9])
    model = OLS().set_output(predict="native").fit(frame, y)
    assert model.predict(frame).index.equals(frame.index)
    assert model.predict_interval(frame).upper.index.equals(frame.index)
    assert model.predict_interval(frame).upper.name == "upper"


def test_meta_estimators_of_scikit_learn_accept_frames():
    X, y = data(40, 2)
    frame, response = pd.DataFrame(X, columns=["a", "b"]), pd.Series(y)
    around = TransformedTargetRegressor(OLS(), func=np.sinh, inverse_func=np.arcsinh)
    assert around.fit(frame, response).predict(frame).shape == (40,)
    stack = StackingRegressor([("ols", OLS()), ("ridge", Ridge())], final_estimator=OLS())
    assert stack.fit(frame, response).predict(frame).shape == (40,)
    line = make_pipeline(StandardScaler(), OLS()).set_output(transform="polars")
    assert line.fit(frame, response).predict(frame) == pytest.approx(OLS().fit(X, y).predict(X))


def test_nullable_responses_with_a_gap_are_refused():
    X, _ = data(3, 2)
    gap = pd.Series(pd.array([1, None, 3], dtype="Int64"))
    with pytest.raises(BadRow, match="'y' at row 1 is NaN"):
        OLS().fit(X, gap)


def test_a_column_of_responses_is_flattened_with_a_warning():
    X, y = data(20, 2)
    with pytest.warns(DataConversionWarning):
        model = OLS().fit(X, y[:, np.newaxis])
    assert model.coef_.tobytes() == OLS().fit(X, y).coef_.tobytes()


@pytest.mark.parametrize("shape", [(20, 2), (1, 20), (20, 1, 1)])
def test_responses_of_several_columns_are_refused(shape):
    model = OLS().fit(*data(20, 2))
    for learn in (model.fit, model.partial_fit, lambda X, y: replay(model, X, y)):
        with pytest.raises(InvalidValue, match=r"'y' is \(.*\): expected the shape \(20,\)"):
            learn(data(20, 2)[0], np.ones(shape))
    assert model.n_rows_ == 20


# Extreme units


@pytest.mark.parametrize("unit", [1e-150, 1e-160, 1e-165, 1e-200, 1e-290])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("kind", [OLS, Ridge, AdaptiveRidge])
def test_features_whose_squares_underflow(kind, intercept, unit):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)) * unit, rng.normal(size=30)
    model = kind(window=20, fit_intercept=intercept)
    for row, response in zip(X, y, strict=True):
        model.learn_one(row, response)
        model.predict_one(row)
    exact, level = naive.solve_exactly(X[10:], y[10:], model.penalty_, intercept)
    np.testing.assert_allclose(model.coef_, exact, rtol=1e-9)
    assert model.intercept_ == pytest.approx(level, abs=1e-9)
    found = audit(model)
    assert found.holds, found.verdict


@pytest.mark.parametrize("ratio", [1e9, 1e11, 1e13])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", [OLS, Ridge, AdaptiveRidge])
def test_a_mean_far_larger_than_the_spread_costs_no_digits(kind, weighted, ratio):
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(size=60), ratio + np.cumsum(rng.normal(size=60))])
    y, w = X[:, 0] + X[:, 1] - ratio, rng.uniform(0.1, 4.0, size=60) if weighted else np.ones(60)
    model = kind(window=30)
    for t in range(60):
        model.learn_one(X[t], y[t], weight=w[t])
        model.predict_one(X[t])
    exact, level = naive.solve_exactly(X[30:], y[30:], model.penalty_, True, w[30:])
    np.testing.assert_allclose(model.coef_, exact, rtol=1e-11)
    assert model.intercept_ == pytest.approx(level, rel=1e-11)


@pytest.mark.parametrize("heavy", [slice(None), 25])
def test_large_weights_and_responses_leave_the_adaptive_penalty_its_digits(heavy):
    rng = np.random.default_rng(2)
    X, w = rng.normal(size=(40, 3)), np.ones(40)
    w[heavy] = 1e8
    y = 1e12 + X.sum(axis=1) + rng.normal(size=40)
    model = AdaptiveRidge(window=30)
    for t in range(40):
        model.learn_one(X[t], y[t], weight=w[t])
        model.predict_one(X[t])
    rule = "AdaptiveRidge", {"delta": model.delta, "theta_max": 1.0}
    expected = naive.penalty(X[10:], y[10:], rule, True, w[10:])
    assert model.penalty_ == pytest.approx(expected, rel=1e-9)


def test_a_row_may_be_a_dict_by_feature_name():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [0.0, 1.0, 0.0]})
    model = OLS(fit_intercept=False).fit(frame, [2.0, 5.0, 6.0])
    assert model.predict_one({"b": 2.0, "a": 1.0}) == model.predict_one([1.0, 2.0])
    with pytest.raises(InvalidValue, match=r"expected \['a', 'b'\]; add 'b'"):
        model.predict_one({"a": 1.0})
    with pytest.raises(InvalidValue, match="leave out 'c'"):
        model.predict_one({"a": 1.0, "b": 2.0, "c": 3.0})
    with pytest.raises(InvalidValue, match="since the features have no names"):
        OLS().fit([[1.0]], [1.0]).predict_one({"a": 1.0})


def test_a_summary_lists_the_coefficients():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0]})
    found = OLS(window=9).fit(frame, [2.0, 4.0, 6.0, 9.0]).summary()
    assert found.to_dict()["a"]["coef"] == pytest.approx(2.3)
    assert list(found.lines) == ["a", "intercept"]
    assert found.facts["rank"] == "1 of 1"
    assert "<td>2.3</td>" in found._repr_html_()


def test_arrivals_are_checked_and_nothing_changes():
    model = Ridge().empty(2)
    found = model.arrivals([[1.0, 2.0]], [3.0], None, Keys(["a"], None, ["ann"], None))
    assert (found.ids, found.owners, found.y.tolist()) == (["a"], ["ann"], [3.0])
    assert model.n_rows_ == 0
    with pytest.raises(InvalidValue, match="2 columns"):
        model.arrivals([[1.0]], [3.0], None, Keys(["a"]))

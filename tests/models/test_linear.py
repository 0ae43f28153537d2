"""The penalties of the four models, their parameters, and ``load``."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import pytest
from histories import RULES, build
from samples import data

from efface import OLS, AdaptiveRidge, AutoRidge, Ridge, SwitchingRidge, load
from efface.errors import DamagedFile, ForeignFile, InvalidValue
from efface.models.linear import MODELS


@pytest.mark.parametrize("name", ["AdaptiveRidge", "SwitchingRidge"])
def test_the_penalty_falls_when_the_largest_row_leaves(name):
    X, y = data(6, 5)
    X[0] *= 50
    model = build(name).fit(X, y)
    before = model.penalty_
    model.forget(0)
    assert model.penalty_ < before / 10


@pytest.mark.parametrize("name", list(RULES))
def test_a_shift_of_the_features_changes_nothing_but_the_intercept(name):
    X, y = data(7, 5)
    plain = build(name).fit(X, y)
    moved = build(name).fit(X + 8.0, y)
    assert moved.penalty_ == pytest.approx(plain.penalty_, rel=1e-12)
    assert moved.coef_ == pytest.approx(plain.coef_, rel=1e-10)


def test_the_penalty_is_0_above_switch_at_rows_per_feature():
    X, y = data(9, 4)
    model = SwitchingRidge(switch_at=2.0).fit(X[:8], y[:8])
    assert model.penalty_ > 0
    model.learn_one(X[8], y[8])
    assert model.penalty_ == 0.0


@pytest.mark.parametrize("kind", [AdaptiveRidge, SwitchingRidge])
def test_the_default_penalty_is_the_papers(kind):
    X, y = data(12, 4)
    late = {"switch_at": 9} if kind is SwitchingRidge else {}
    chosen = kind(theta_max=1.0, **late).fit(X, y)
    assert kind(**late).fit(X, y).penalty_ == chosen.penalty_ > 0


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (Ridge(alpha=-1), "'alpha' is -1: expected a finite number of at least 0"),
        (Ridge(alpha="1"), "'alpha' is '1'"),
        (AdaptiveRidge(delta=1.0), "'delta' is 1.0: expected a number between 0 and 1"),
        (AdaptiveRidge(theta_max=0), "'theta_max' is 0: expected a finite number above 0"),
        (
            AdaptiveRidge(theta_max="auto"),
            "'theta_max' is 'auto': expected a finite number above 0",
        ),
        (SwitchingRidge(theta_max=-1.0), "'theta_max' is -1.0: expected a finite number above 0"),
        (SwitchingRidge(switch_at=-2), "'switch_at' is -2"),
        (OLS(window=0), "'rows' is 0: expected a whole number of at least 1"),
        (OLS(window=2.5), "'window' is 2.5: expected a number of rows, a duration such as '90d'"),
        (OLS(window="soon"), "'duration' is 'soon': expected a length of time above 0"),
        (OLS(fit_intercept=1), "'fit_intercept' is 1: expected True or False"),
    ],
)
def test_parameters_are_checked_when_the_first_row_comes(model, text):
    with pytest.raises(InvalidValue, match=text):
        model.fit(*data(5, 2))
    with pytest.raises(InvalidValue, match=text):
        model.learn_one([1.0], 1.0)


def test_a_loaded_model_has_feature_names_and_times(tmp_path):
    frame = pd.DataFrame(np.eye(2), columns=["age", "größe"])
    days = pd.to_datetime(["2024-01-01", "2024-01-02"])
    model = OLS(window=timedelta(days=3)).fit(frame, [1.0, 2.0], ids=["ann", 5], at=days)
    model.save(tmp_path / "model")
    again = load(str(tmp_path / "model"))
    assert again.feature_names_in_.tolist() == ["age", "größe"]
    assert again.n_features_in_ == 2
    assert again.window == timedelta(days=3)
    assert again.ids_ == ["ann", 5]
    again.learn_one([1.0, 1.0], 1.0, at=datetime(2024, 1, 4))
    assert again.ids_ == [5, 6]


def test_a_file_that_is_no_model_is_refused(tmp_path):
    path = tmp_path / "model"
    path.write_text("x,y\n1,2\n")
    with pytest.raises(ForeignFile, match=r"model' is not a model of efface"):
        load(path)
    Ridge().fit(*data(5, 2)).save(path)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(DamagedFile, match="its checksum does not match"):
        load(path)


@pytest.mark.parametrize(
    ("old", "new"),
    [(b'"Ridge"', b'"Lasso"'), (b'"alpha":1.0', b'"alpha":-10'), (b'"alpha"', b'"gamma"')],
)
def test_a_file_with_a_valid_checksum_that_describes_no_model_is_refused(old, new, tmp_path):
    path = tmp_path / "model"
    Ridge().fit(*data(5, 2)).save(path)
    content = path.read_bytes()[:-32].replace(old, new)
    path.write_bytes(content + hashlib.sha256(content).digest())
    with pytest.raises(DamagedFile, match="it describes no model"):
        load(path)


@pytest.mark.parametrize("standardize", [False, True])
def test_no_unit_changes_the_predictions_of_auto_ridge(standardize):
    X, y = data(40, 4)
    one = AutoRidge(standardize=standardize).fit(X, y)
    other = AutoRidge(standardize=standardize).fit(1000.0 * X + 5.0, 1e-3 * y)
    assert 1e3 * other.predict(1000.0 * X + 5.0) == pytest.approx(one.predict(X), rel=1e-9)


def test_an_irrelevant_feature_of_large_values_hardly_changes_the_predictions_of_auto_ridge():
    rng = np.random.default_rng(0)
    X, y = data(200, 3)
    wide = np.column_stack([X, rng.integers(0, 100, size=200)])
    one, other = AutoRidge().fit(X, y), AutoRidge().fit(wide, y)
    apart = other.predict(wide) - one.predict(X)
    assert apart.std() < 0.2 * (y - one.predict(X)).std()


def test_auto_ridge_without_a_spread_predicts_the_mean():
    X, y = np.ones((6, 2)), np.arange(6.0)
    model = AutoRidge().fit(X, y)
    assert model.predict_one([5.0, 7.0]) == pytest.approx(2.5)
    assert (model.penalty_, model.rank_, *model.coef_) == (0.0, 0, 0.0, 0.0)


@pytest.mark.parametrize("rows", [4, 20])
def test_auto_ridge_with_a_constant_response_has_no_coefficients(rows):
    X, _ = data(rows, 5)
    model = AutoRidge().fit(X, np.full(rows, 0.1))
    assert not model.coef_.any()
    assert model.intercept_ == pytest.approx(0.1, abs=1e-15)
    assert np.isfinite(model.penalty_)
    assert model.penalty_ > 0


def test_a_constant_feature_has_the_coefficient_0_in_auto_ridge():
    X, y = data(30, 3)
    X[:, 1] = 0.1
    model = AutoRidge().fit(X, y)
    assert model.coef_[1] == 0.0
    without = AutoRidge().fit(X[:, [0, 2]], y)
    assert model.predict(X) == pytest.approx(without.predict(X[:, [0, 2]]), rel=0.05)


def test_auto_ridge_beats_ridge_and_ols_where_nothing_is_known():
    rng, errors = np.random.default_rng(1), []
    for seed in range(20):
        X = rng.normal(size=(40, 15)) * 10.0 ** rng.uniform(-1, 1, size=15)
        y = X[:, 0] / X[:, 0].std() + rng.normal(size=40) + seed
        rows = slice(0, 25), slice(25, 40)
        models = AutoRidge(), Ridge(), OLS()
        fits = [model.fit(X[rows[0]], y[rows[0]]) for model in models]
        errors.append([((fit.predict(X[rows[1]]) - y[rows[1]]) ** 2).mean() for fit in fits])
    auto, ridge, ols = np.mean(errors, axis=0)
    assert auto < min(ridge, ols)


def test_repr_and_html_of_a_model():
    assert repr(AdaptiveRidge(window="90d")) == "AdaptiveRidge(window='90d')"
    OLS()._repr_html_()
    OLS().fit(*data(5, 2))._repr_html_()


def test_the_registry_has_every_model_with_its_short_name_and_options():
    short_names = {model.short_name: name for name, model in MODELS.items()}
    assert short_names == {
        "auto": "AutoRidge",
        "ols": "OLS",
        "ridge": "Ridge",
        "adaptive": "AdaptiveRidge",
        "switching": "SwitchingRidge",
    }
    options = {"window": None, "halflife": None, "alpha": 1.0}
    options |= {"fit_intercept": True, "standardize": False}
    assert MODELS["Ridge"]().get_params() == options

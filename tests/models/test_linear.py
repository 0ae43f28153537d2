"""The penalties of the four models, their parameters, and ``load``."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import pytest
from histories import RULES, build
from samples import data

from efface import OLS, AdaptiveRidge, Ridge, SwitchingRidge, load
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
def test_the_default_penalty_is_that_of_residuals_and_the_largest_coefficient(kind):
    X, y = data(12, 4)
    late = {"switch_at": 9} if kind is SwitchingRidge else {}
    chosen = kind(noise="residual", theta_max="auto", **late).fit(X, y)
    assert kind(**late).fit(X, y).penalty_ == chosen.penalty_ > 0


@pytest.mark.parametrize("unit", [1e-3, 1000.0])
def test_with_auto_the_penalty_does_not_depend_on_the_unit_of_the_response(unit):
    X, y = data(30, 6)
    for noise in ("residual", "response"):
        one, other = (AdaptiveRidge(noise=noise).fit(X, c * y) for c in (1.0, unit))
        assert other.penalty_ == pytest.approx(one.penalty_, rel=1e-9)
        assert other.coef_ == pytest.approx(unit * one.coef_, rel=1e-9)


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (Ridge(alpha=-1), "'alpha' is -1: expected a finite number of at least 0"),
        (Ridge(alpha="1"), "'alpha' is '1'"),
        (AdaptiveRidge(delta=1.0), "'delta' is 1.0: expected a number between 0 and 1"),
        (AdaptiveRidge(theta_max=0), "'theta_max' is 0: expected a finite number above 0"),
        (AdaptiveRidge(theta_max="car"), 'expected a finite number above 0 or "auto"'),
        (AdaptiveRidge(noise="signal"), "'noise' is 'signal': expected 'residual' or 'response'"),
        (SwitchingRidge(noise=None), "'noise' is None: expected 'residual' or 'response'"),
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


def test_repr_and_html_of_a_model():
    assert repr(AdaptiveRidge(window="90d")) == "AdaptiveRidge(window='90d')"
    OLS()._repr_html_()
    OLS().fit(*data(5, 2))._repr_html_()


def test_the_registry_has_every_model_with_its_short_name_and_options():
    short_names = {model.short_name: name for name, model in MODELS.items()}
    assert short_names == {
        "ols": "OLS",
        "ridge": "Ridge",
        "adaptive": "AdaptiveRidge",
        "switching": "SwitchingRidge",
    }
    options = {"window": None, "alpha": 1.0, "fit_intercept": True, "standardize": False}
    assert MODELS["Ridge"]().get_params() == options

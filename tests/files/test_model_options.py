"""The tables of models and options agree with the model classes and the command line."""

from __future__ import annotations

import inspect

import pytest

import efface
from efface.cli.replay_file import replay
from efface.errors import InvalidValue
from efface.files.model_options import (
    MODELS,
    OPTIONS,
    accepted_by,
    factory,
    flag,
    phrases,
    values_of,
)


def test_every_model_class_can_be_chosen():
    from efface.models.linear import MODELS as CLASSES

    assert set(MODELS.values()) == set(CLASSES)


@pytest.mark.parametrize("option", OPTIONS)
def test_every_option_is_a_parameter_of_some_model_and_of_the_command(option):
    models = [getattr(efface, name) for name in MODELS.values()]
    assert any(option in inspect.signature(model).parameters for model in models)
    assert option in inspect.signature(replay).parameters


@pytest.mark.parametrize("name", MODELS)
def test_a_model_gets_its_options_and_refuses_others(name):
    options = {"alpha": 0.5, "delta": 0.1, "theta_max": 2.0, "switch_at": 3.0}
    options |= {"fit_intercept": False, "standardize": True}
    accepted = accepted_by(name, options)
    model = factory(name, 30, accepted)()
    assert type(model).__name__ == MODELS[name]
    assert values_of(model) == {option: accepted.get(option) for option in OPTIONS}
    for option in options.keys() - accepted.keys():
        with pytest.raises(
            InvalidValue, match=f"'{flag(option)}' has no meaning for --model {name}"
        ):
            factory(name, 30, {option: options[option]})


def test_options_that_are_none_keep_their_default():
    assert values_of(factory("ridge", 30, {"alpha": None, "standardize": False})()) == {
        **{option: None for option in OPTIONS},
        **{"alpha": 1.0, "fit_intercept": True, "standardize": False},
    }


def test_only_options_that_apply_are_named():
    assert phrases({"name": "OLS", "alpha": None, "theta_max": None, "standardize": False}) == []
    assert phrases({"theta_max": 5.0}) == ["theta_max = 5.0"]
    assert phrases(values_of(factory("adaptive", 30, {})())) == []
    chosen = {"theta_max": 5.0, "switch_at": 3.0, "fit_intercept": False}
    assert phrases(values_of(factory("switching", 30, chosen)())) == [
        *("theta_max = 5.0", "no penalty beyond 3.0 rows per feature", "no intercept")
    ]


def test_the_usual_values_are_the_defaults_of_the_models():
    for name in MODELS:
        for option, value in values_of(factory(name, 30, {})()).items():
            assert value is None or OPTIONS[option].usual in (None, value)

"""The models of ``efface replay`` and their options, described once.

The command line, the job, the summary, the report and the terminal all read these tables. Which
model accepts which option is taken from the signatures of the model classes. This module imports no
model until one is made, so that ``efface --help`` stays fast.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import efface
from efface.errors import InvalidValue

if TYPE_CHECKING:
    from efface.models.regression import Model


class ModelOption(NamedTuple):
    """An option of models: its help, and the phrase of reports, where {} is the value."""

    help: str
    phrase: str


MODELS = {  # the name on the command line, and the class in efface
    "adaptive": "AdaptiveRidge",
    "ridge": "Ridge",
    "ols": "OLS",
    "switching": "SwitchingRidge",
}
OPTIONS = {
    "alpha": ModelOption("Penalty of ridge; 1 by default.", "alpha = {}"),
    "theta_max": ModelOption(
        "Largest coefficient, for adaptive and switching; estimated by default.", "theta_max = {}"
    ),
    "standardize": ModelOption(
        "Standardise features with the mean and deviation of the live rows.",
        "features standardised",
    ),
}


def factory(name: str, window: Any, options: Mapping[str, Any]) -> Callable[[], Model]:
    """What makes the model of this name; options that are None keep their default.

    >>> factory("ridge", 30, {"alpha": 0.1, "theta_max": None})()
    Ridge(alpha=0.1, window=30)
    """
    accepted = accepted_by(name, options)
    for option, value in options.items():
        if value is not None and option not in accepted:
            flag = "--" + option.replace("_", "-")
            raise InvalidValue(f"'{flag}' has no meaning for --model {name}: leave it out.")
    return lambda: _model_class(name)(window, **accepted)


def accepted_by(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that the model of this name has, without those that are None."""
    parameters = inspect.signature(_model_class(name)).parameters
    return {
        option: value
        for option, value in options.items()
        if option in parameters and value is not None
    }


def values_of(model: Model) -> dict[str, Any]:
    """The options of a model; None for those that it does not have."""
    parameters = model.get_params(deep=False)
    return {option: parameters.get(option) for option in OPTIONS}


def _model_class(name: str) -> Any:
    from efface.inputs.parameters import choice

    return getattr(efface, MODELS[choice("--model", name, tuple(MODELS))])


def phrases(values: Mapping[str, Any]) -> list[str]:
    """The options in words, without those that are off or do not apply.

    >>> phrases({"alpha": 0.1, "theta_max": None, "standardize": True})
    ['alpha = 0.1', 'features standardised']
    """
    given = {option: values.get(option) for option in OPTIONS}
    return [
        OPTIONS[option].phrase.format(value)
        for option, value in given.items()
        if value is not None and value is not False
    ]

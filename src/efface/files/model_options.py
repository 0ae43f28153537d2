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
    """An option of models: its help, and the phrase of reports, where {} is the value.

    Reports leave out ``usual``, the default of the models that have the option.
    """

    help: str
    phrase: str
    usual: Any = None


MODELS = {  # the name on the command line, and the class in efface
    "auto": "AutoRidge",
    "ridge": "Ridge",
    "ols": "OLS",
    "adaptive": "AdaptiveRidge",
    "switching": "SwitchingRidge",
}
DEFAULT = "auto"
OPTIONS = {
    "alpha": ModelOption("Penalty of ridge; 1 by default.", "alpha = {}"),
    "delta": ModelOption(
        "The penalty of adaptive and switching has the confidence 1 - DELTA; 0.05 by default.",
        "delta = {}",
        0.05,
    ),
    "theta_max": ModelOption(
        "Largest coefficient, for adaptive and switching; 1 by default, as in the paper.",
        "theta_max = {}",
        1.0,
    ),
    "switch_at": ModelOption(
        "Live rows per feature from which on switching has no penalty; 2 by default.",
        "no penalty beyond {} rows per feature",
    ),
    "halflife": ModelOption(
        "Older rows count less, by half after each so many rows, or such a duration: 100, 30d. "
        "Without --window, --keep and --policy, rows leave after 53 half-lives.",
        "half-life {}",
    ),
    "fit_intercept": ModelOption(
        "Fit an intercept (default), or none, as in the paper.", "no intercept", True
    ),
    "standardize": ModelOption(
        "Standardise features with the mean and deviation of the live rows.",
        "features standardised",
        False,
    ),
}


def flag(option: str) -> str:
    """An option as it is typed.

    >>> flag("theta_max")
    '--theta-max'
    """
    typed = {"fit_intercept": "intercept", "halflife": "half-life"}.get(option, option)
    return "--" + typed.replace("_", "-")


def factory(name: str, window: Any, options: Mapping[str, Any]) -> Callable[[], Model]:
    """What makes the model of this name; options that are None keep their default.

    >>> factory("ridge", 30, {"alpha": 0.1, "theta_max": None})()
    Ridge(alpha=0.1, window=30)
    """
    accepted = accepted_by(name, options)
    for option, value in options.items():
        if value is not None and option not in accepted:
            text = f"'{flag(option)}' has no meaning for --model {name}: leave it out."
            raise InvalidValue(text)
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
    """The options in words, without those that have their usual value or do not apply.

    >>> phrases({"alpha": 0.1, "theta_max": None, "standardize": True})
    ['alpha = 0.1', 'features standardised']
    """
    return [
        option.phrase.format(values[name])
        for name, option in OPTIONS.items()
        if values.get(name) not in (None, option.usual)
    ]

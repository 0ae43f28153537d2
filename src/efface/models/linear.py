"""Four regressions that forget; they differ only in their penalty.

================  ==========================================================================
OLS               none; the answer of minimum norm where rows do not determine it
Ridge             ``alpha``
AdaptiveRidge     sqrt(2 n log(2d / delta)) sigma max|x| / max|theta|, from the n live rows
SwitchingRidge    that of AdaptiveRidge up to ``switch_at * d`` rows, none beyond
================  ==========================================================================

The intercept is never penalised. With one, max|x| is taken around the column means. For sigma and
max|theta| the paper plugs in sd(y) and 1; ``noise`` and ``theta_max`` say what is.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, final

from efface.errors import DamagedFile
from efface.inputs.parameters import choice, non_negative, positive, probability
from efface.live import snapshot as archive
from efface.live.penalties import AUTO, RESIDUAL, RESPONSE, Fixed, Lemma3
from efface.models.regression import Model
from efface.models.scaler import WindowScaler


@final
class OLS(Model):
    """Least squares on the live rows; the answer of minimum norm where they do not determine one.

    >>> model = OLS(window=3).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> round(model.predict_one([3.0]), 12), model.rank_
    (7.0, 1)
    """

    def __init__(
        self, window: Any = None, *, fit_intercept: bool = True, standardize: bool = False
    ) -> None:
        self.window = window
        self.fit_intercept = fit_intercept
        self.standardize = standardize

    def _penalty(self) -> Fixed:
        return Fixed()


@final
class Ridge(Model):
    """Ridge regression with the penalty ``alpha``.

    >>> Ridge(alpha=1.0, fit_intercept=False).fit([[1.0], [1.0]], [3.0, 3.0]).coef_
    array([2.])
    """

    def __init__(
        self,
        window: Any = None,
        *,
        alpha: float = 1.0,
        fit_intercept: bool = True,
        standardize: bool = False,
    ) -> None:
        self.window = window
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.standardize = standardize

    def _penalty(self) -> Fixed:
        return Fixed(non_negative("alpha", self.alpha))


_NOISE = {"residual": RESIDUAL, "response": RESPONSE}


@final
class AdaptiveRidge(Model):
    """Ridge regression whose penalty follows the live rows (FIFD-Adaptive Ridge of the paper).

    The penalty is that of Lemma 3 at confidence 1 - ``delta``. It asks for the noise level: the
    standard deviation of the "residual" of a pilot fit, or of the "response". And for the largest
    coefficient: a number, or "auto" for that of the pilot fit. The pilot fit is of the live rows,
    hardly penalised; ``pilot`` has its formulas. Residual and auto, the default, predict better
    than the paper's response and 1.0 unless the signal is weak: docs/penalty.md has the figures.

    >>> import numpy as np
    >>> X = np.arange(20.0)[:, np.newaxis]
    >>> y = 1000.0 * X[:, 0] + np.tile([1.0, -1.0], 10)
    >>> AdaptiveRidge().fit(X, y).coef_.round(2)
    array([992.72])
    >>> AdaptiveRidge(noise="response", theta_max=1.0).fit(X, y).coef_.round(2)  # the paper's
    array([0.97])
    """

    def __init__(
        self,
        window: Any = None,
        *,
        delta: float = 0.05,
        noise: str = "residual",
        theta_max: float | str = "auto",
        fit_intercept: bool = True,
        standardize: bool = False,
    ) -> None:
        self.window = window
        self.delta = delta
        self.noise = noise
        self.theta_max = theta_max
        self.fit_intercept = fit_intercept
        self.standardize = standardize

    def _penalty(self) -> Lemma3:
        return _lemma_3(self)


@final
class SwitchingRidge(Model):
    """Adaptive ridge up to ``switch_at`` live rows a feature, least squares beyond.

    ``delta``, ``noise`` and ``theta_max`` are those of AdaptiveRidge, with the same default.

    >>> model = SwitchingRidge(switch_at=2.0, fit_intercept=False)
    >>> model.fit([[1.0], [1.0]], [1.0, 3.0]).penalty_ > 0
    True
    >>> model.partial_fit([[1.0]], [2.0]).penalty_
    0.0
    """

    def __init__(
        self,
        window: Any = None,
        *,
        delta: float = 0.05,
        noise: str = "residual",
        theta_max: float | str = "auto",
        switch_at: float = 2.0,
        fit_intercept: bool = True,
        standardize: bool = False,
    ) -> None:
        self.window = window
        self.delta = delta
        self.noise = noise
        self.theta_max = theta_max
        self.switch_at = switch_at
        self.fit_intercept = fit_intercept
        self.standardize = standardize

    def _penalty(self) -> Lemma3:
        return replace(_lemma_3(self), switch_at=non_negative("switch_at", self.switch_at))


def _lemma_3(model: AdaptiveRidge | SwitchingRidge) -> Lemma3:
    noise = _NOISE[choice("noise", model.noise, tuple(_NOISE))]
    auto = isinstance(model.theta_max, str) and model.theta_max == "auto"
    theta_max = AUTO if auto else positive("theta_max", model.theta_max, 'or "auto"')
    return Lemma3(probability("delta", model.delta), theta_max, noise)


MODELS = {model.__name__: model for model in (OLS, Ridge, AdaptiveRidge, SwitchingRidge)}


def load(
    path: str | os.PathLike[str],
) -> OLS | Ridge | AdaptiveRidge | SwitchingRidge | WindowScaler:
    """The model or scaler that ``save`` wrote: it continues bit for bit where that one stood."""
    snapshot = archive.read(path)
    try:
        if snapshot.model == WindowScaler.__name__:
            return WindowScaler._from_snapshot(snapshot)
        return from_snapshot(snapshot)
    except (KeyError, TypeError, ValueError) as error:
        raise DamagedFile(
            f"'{os.fspath(path)}' is damaged: it describes no model ({error}); restore a backup."
        ) from error


def from_snapshot(snapshot: archive.Snapshot) -> OLS | Ridge | AdaptiveRidge | SwitchingRidge:
    """A fresh model that was given these live rows and has seen no other."""
    return MODELS[snapshot.model]._from_snapshot(snapshot)

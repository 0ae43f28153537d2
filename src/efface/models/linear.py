"""The linear models, which differ in their penalty, and ``load``.

================  ==========================================================================
AutoRidge         selected by the live rows: by likelihood if few, by cross-validation if many
OLS               none; the solution of minimum norm if the rows do not determine one
Ridge             ``alpha``
AdaptiveRidge     sqrt(2 n log(2d / delta)) sigma max|x| / max|theta|, from the n live rows
SwitchingRidge    that of AdaptiveRidge up to ``switch_at * d`` rows, none beyond
================  ==========================================================================

The intercept is never penalised. With an intercept, max|x| is that of the centred features. The
paper uses sd(y) for sigma and 1 for max|theta|; ``noise`` and ``theta_max`` choose other estimates.

A new model is a subclass of ``Model`` and an entry in ``MODELS``. Models are data classes: the
options of a model are its fields and those of ``Model``. ``MODELS["Ridge"]().get_params()`` gives
the options of Ridge with their defaults.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import final

from efface.errors import DamagedFile
from efface.inputs.parameters import boolean, choice, error_probability, non_negative, positive
from efface.live import snapshot as archive
from efface.live.penalties import AUTO, RESIDUAL, RESPONSE, Fixed, Lemma3, Selected
from efface.models.regression import Model
from efface.models.scaler import WindowScaler


@final
@dataclass(eq=False, repr=False, kw_only=True)
class AutoRidge(Model):
    """Ridge regression whose penalty is selected by the live rows: the model to begin with.

    Each feature is divided by the square root of its standard deviation (of its root mean square
    without an intercept; by the standard deviation itself with ``standardize``). ``penalty_``
    refers to features at this scale, ``coef_`` and ``intercept_`` to the original ones. The penalty
    is the mean, on a log scale, over a grid of penalties: few rows weigh them by restricted
    likelihood, many rows by generalised cross-validation (docs/penalty.md). A constant feature has
    the coefficient 0.

    With ``average`` the coefficients are the mean over all penalties of the grid and over two
    scalings of the features, which often predicts a little better and costs about twice the time.
    ``penalty_`` is then the penalty that would shrink a standardised feature as much.

    >>> import numpy as np
    >>> X = np.arange(20.0)[:, np.newaxis]
    >>> y = 1000.0 * X[:, 0] + np.tile([1.0, -1.0], 10)
    >>> AutoRidge().fit(X, y).coef_.round(2)
    array([999.98])
    """

    average: bool = False

    short_name = "auto"
    _shrinks_by_units = False
    scale_power = 0.5

    def _penalty(self) -> Selected:
        return Selected(boolean("average", self.average))


@final
class OLS(Model):
    """Least squares on the live rows; the solution of minimum norm if they do not determine one.

    >>> model = OLS(window=3).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> round(model.predict_one([3.0]), 12), model.rank_
    (7.0, 1)
    """

    short_name = "ols"
    _shrinks_by_units = False

    def _penalty(self) -> Fixed:
        return Fixed()


@final
@dataclass(eq=False, repr=False, kw_only=True)
class Ridge(Model):
    """Ridge regression with the penalty ``alpha``.

    >>> Ridge(alpha=1.0, fit_intercept=False).fit([[1.0], [1.0]], [3.0, 3.0]).coef_
    array([2.])
    """

    alpha: float = 1.0

    short_name = "ridge"

    def _penalty(self) -> Fixed:
        return Fixed(non_negative("alpha", self.alpha))


_NOISE = {"residual": RESIDUAL, "response": RESPONSE}


@dataclass(eq=False, repr=False, kw_only=True)
class _Lemma3Ridge(Model):
    """Ridge regression with the penalty of the paper's Lemma 3, see ``AdaptiveRidge``."""

    delta: float = 0.05
    noise: str = "response"
    theta_max: float | str = 1.0

    def _penalty(self) -> Lemma3:
        noise = _NOISE[choice("noise", self.noise, tuple(_NOISE))]
        auto = isinstance(self.theta_max, str) and self.theta_max == "auto"
        theta_max = AUTO if auto else positive("theta_max", self.theta_max, 'or "auto"')
        return Lemma3(error_probability("delta", self.delta), theta_max, noise)


@final
class AdaptiveRidge(_Lemma3Ridge):
    """Ridge regression whose penalty is computed from the live rows (FIFD-Adaptive Ridge).

    The penalty is that of the paper's Lemma 3 at confidence 1 - ``delta``. It needs the noise
    level: ``noise`` is "residual" for the residual deviation of a pilot fit, or "response" for the
    deviation of the responses. It also needs the largest coefficient: ``theta_max`` is a number, or
    "auto" for that of the pilot fit. The pilot fit is a ridge regression on the live rows with a
    small penalty. The defaults are the paper's choice, for its experiments and its guarantees;
    "residual" and "auto" predict better, and AutoRidge better still (docs/penalty.md).

    >>> import numpy as np
    >>> X = np.arange(20.0)[:, np.newaxis]
    >>> y = 1000.0 * X[:, 0] + np.tile([1.0, -1.0], 10)
    >>> AdaptiveRidge().fit(X, y).coef_.round(2)  # a large coefficient is not expected
    array([0.97])
    >>> AdaptiveRidge(noise="residual", theta_max="auto").fit(X, y).coef_.round(2)
    array([992.72])
    """

    short_name = "adaptive"


@final
@dataclass(eq=False, repr=False, kw_only=True)
class SwitchingRidge(_Lemma3Ridge):
    """The penalty of AdaptiveRidge up to ``switch_at`` live rows per feature, none beyond.

    ``delta``, ``noise`` and ``theta_max`` have the meaning and defaults of AdaptiveRidge.

    >>> model = SwitchingRidge(switch_at=2.0, fit_intercept=False)
    >>> model.fit([[1.0], [1.0]], [1.0, 3.0]).penalty_ > 0
    True
    >>> model.partial_fit([[1.0]], [2.0]).penalty_
    0.0
    """

    switch_at: float = 2.0

    short_name = "switching"

    def _penalty(self) -> Lemma3:
        return replace(super()._penalty(), switch_at=non_negative("switch_at", self.switch_at))


AnyModel = AutoRidge | OLS | Ridge | AdaptiveRidge | SwitchingRidge
MODELS = {model.__name__: model for model in (AutoRidge, OLS, Ridge, AdaptiveRidge, SwitchingRidge)}


def load(path: str | os.PathLike[str]) -> AnyModel | WindowScaler:
    """Read a model or scaler that ``save`` wrote; it continues with the same bits."""
    snapshot = archive.read(path)
    try:
        if snapshot.model == WindowScaler.__name__:
            return WindowScaler._from_snapshot(snapshot)
        return from_snapshot(snapshot)
    except (KeyError, TypeError, ValueError) as error:
        raise DamagedFile(
            f"'{os.fspath(path)}' is damaged: it describes no model ({error}); restore a backup."
        ) from error


def from_snapshot(snapshot: archive.Snapshot) -> AnyModel:
    """A new model with the live rows of a snapshot."""
    return MODELS[snapshot.model]._from_snapshot(snapshot)

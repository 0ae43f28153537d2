"""The linear models, which differ in their penalty, and ``load``.

================  ==========================================================================
AutoRidge         selected by the live rows: by likelihood if few, by cross-validation if many
OLS               none; the solution of minimum norm if the rows do not determine one
Ridge             ``alpha``
AdaptiveRidge     sqrt(2 n log(2d / delta)) sigma max|x| / max|theta|, from the n live rows
SwitchingRidge    that of AdaptiveRidge up to ``switch_at * d`` rows, none beyond
================  ==========================================================================

The intercept is never penalised. With an intercept, max|x| is that of the centred features. As in
the paper, sigma is sd(y), and max|theta| is ``theta_max``, 1 by default.

A new model is a subclass of ``Model`` and an entry in ``MODELS``. Models are data classes: the
options of a model are its fields and those of ``Model``. ``MODELS["Ridge"]().get_params()`` gives
the options of Ridge with their defaults.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import final

from efface.errors import DamagedFile
from efface.inputs.parameters import error_probability, non_negative, positive
from efface.live import snapshot as archive
from efface.live.penalties import Fixed, Lemma3, Selected
from efface.models.regression import Model
from efface.models.scaler import WindowScaler


@final
class AutoRidge(Model):
    """Ridge regression whose penalty is selected by the live rows: the model to begin with.

    Each feature is divided by the square root of its standard deviation (of its root mean square
    without an intercept; by the standard deviation itself with ``standardize``). ``penalty_``
    refers to features at this scale, ``coef_`` and ``intercept_`` to the original ones. The penalty
    is the mean, on a log scale, over a grid of penalties: few rows weigh them by restricted
    likelihood, many rows by generalised cross-validation (docs/penalty.md). A constant feature has
    the coefficient 0.

    >>> import numpy as np
    >>> X = np.arange(20.0)[:, np.newaxis]
    >>> y = 1000.0 * X[:, 0] + np.tile([1.0, -1.0], 10)
    >>> AutoRidge().fit(X, y).coef_.round(2)
    array([999.98])
    """

    short_name = "auto"
    _shrinks_by_units = False
    scale_power = 0.5

    def _penalty(self) -> Selected:
        return Selected()


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


@dataclass(eq=False, repr=False, kw_only=True)
class _Lemma3Ridge(Model):
    """Ridge regression with the penalty of the paper's Lemma 3, see ``AdaptiveRidge``."""

    delta: float = 0.05
    theta_max: float = 1.0

    def _penalty(self) -> Lemma3:
        delta = error_probability("delta", self.delta)
        return Lemma3(delta, positive("theta_max", self.theta_max))


@final
class AdaptiveRidge(_Lemma3Ridge):
    """Ridge regression whose penalty is computed from the live rows (FIFD-Adaptive Ridge).

    The penalty is that of the paper's Lemma 3 at confidence 1 - ``delta``. For the noise level it
    takes the deviation of the responses, and for the largest coefficient ``theta_max``, both as the
    paper does. AutoRidge predicts better (docs/penalty.md).

    >>> import numpy as np
    >>> X = np.arange(20.0)[:, np.newaxis]
    >>> y = 1000.0 * X[:, 0] + np.tile([1.0, -1.0], 10)
    >>> AdaptiveRidge().fit(X, y).coef_.round(2)  # a large coefficient is not expected
    array([0.97])
    >>> AdaptiveRidge(theta_max=1000.0).fit(X, y).coef_.round(2)
    array([493.43])
    """

    short_name = "adaptive"


@final
@dataclass(eq=False, repr=False, kw_only=True)
class SwitchingRidge(_Lemma3Ridge):
    """The penalty of AdaptiveRidge up to ``switch_at`` live rows per feature, none beyond.

    ``delta`` and ``theta_max`` have the meaning and defaults of AdaptiveRidge.

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

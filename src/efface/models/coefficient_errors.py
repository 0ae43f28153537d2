"""Standard errors of the coefficients of a model, computed from its live rows.

With M = X'WX + penalty (X centred if there is an intercept), the variances are sigma^2 times the
diagonal of M^-1, and sigma^2 is the weighted sum of squared residuals over n - degrees of freedom.
Where weights fade, a row counts in n by its fade: fading says nothing about the noise of a row.
Without a penalty these are the usual standard errors. With one, they are the standard deviations of
the coefficients given the rows, for the prior N(0, sigma^2 / penalty) that the penalty stands for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from efface.core import core
from efface.inputs.types import Vector
from efface.live.live_rows import LiveRows


class CoefficientErrors(NamedTuple):
    """Standard errors; NaN where the rows leave no degree of freedom or do not determine them."""

    coef: Vector
    intercept: float


def coefficient_errors(live: LiveRows, *, power: float = 0.0) -> CoefficientErrors:
    """The standard errors of the coefficients of live rows.

    The penalty is on features that are divided by their deviation to this power: 1 for standardised
    features, 0 for the features as they are.

    >>> from efface import OLS
    >>> model = OLS(fit_intercept=False).fit([[1.0], [1.0], [1.0]], [1.0, 2.0, 3.0])
    >>> coefficient_errors(model._alive()).coef.round(6)
    array([0.57735])
    """
    X, y, w = live.views()
    solver, d, ends = live.solver, X.shape[1], (np.zeros(1, np.int64), np.full(1, len(y)))
    counted = float(np.count_nonzero(w))
    if live.fading is not None:
        shares = live.fading.shares()
        w, counted = w * shares, float(shares[w > 0.0].sum())
    missing = CoefficientErrors(np.full(d, np.nan), np.nan)
    if not w.sum() > 0.0 or (solver.penalty_value == 0.0 and solver.rank < d):
        return missing
    away = X[w > 0.0] - (X[w > 0.0][0] if live.intercept or power == 1.0 else 0.0)
    if power and not away.any(axis=0).all():
        return missing  # a constant feature has the coefficient 0, and no error
    rows = map(np.ascontiguousarray, (X, y[:, np.newaxis], w))
    way = live.intercept, power, solver.penalty_value
    found = [values[0] for values in core.infer_ranges(*rows, *ends, *way)]
    variance, base, unexplained, _, unknowns = found
    freedom = counted - unknowns - live.intercept
    if not freedom > 0.5e-9 * len(y):
        return missing
    scale = unexplained.item() / freedom
    base = base if live.intercept else np.nan
    return CoefficientErrors(np.sqrt(scale * variance), float(np.sqrt(scale * base)))

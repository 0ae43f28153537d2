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

from efface.inputs.types import Matrix, Vector
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
    solver, d = live.solver, X.shape[1]
    counted = float(np.count_nonzero(w))
    if live.fading is not None:
        shares = live.fading.shares()
        w, counted = w * shares, float(shares[w > 0.0].sum())
    missing = CoefficientErrors(np.full(d, np.nan), np.nan)
    if not w.sum() > 0.0 or (solver.penalty_value == 0.0 and solver.rank < d):
        return missing
    mean = np.average(X, axis=0, weights=w) if live.intercept else np.zeros(d)
    units = _deviation(X, w, live.intercept or power == 1.0) ** power if power else np.ones(d)
    if not units.all():  # a constant feature has the coefficient 0, and no error
        return missing
    Z = (X - mean) / units
    gram = Z.T @ (w[:, np.newaxis] * Z)
    inverse = np.linalg.pinv(gram + solver.penalty_value * np.eye(d), hermitian=True)
    residual = y - X @ solver.coef - solver.intercept
    freedom = counted - float(np.sum(inverse * gram)) - live.intercept
    if not freedom > 0.5e-9 * len(y):
        return missing
    scale = float(w @ residual**2) / freedom
    at_zero = mean / units
    base = 1.0 / w.sum() + at_zero @ inverse @ at_zero if live.intercept else np.nan
    return CoefficientErrors(
        np.sqrt(scale * np.diagonal(inverse)) / units, float(np.sqrt(scale * base))
    )


def _deviation(X: Matrix, w: Vector, centred: bool) -> Vector:
    mean = np.average(X, axis=0, weights=w) if centred else 0.0
    return np.asarray(np.sqrt(np.average((X - mean) ** 2, axis=0, weights=w)))

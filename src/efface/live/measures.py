"""Leverages, residuals and conditioning of live rows, beside a regression that is solved already.

All follow from the rows, the penalty and the way of the regression: coefficients are not needed.
Many ranges of rows are measured by ``core.measure_ranges``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from efface.core import core
from efface.inputs.types import Matrix, Vector
from efface.live.trace import Gauges

_EPS = float(np.finfo(np.float64).eps)
_KEPT = 1e-6  # an eigenvalue below this share of the largest has lost its digits


class Way(NamedTuple):
    """How rows are regressed on: features are divided by their deviation to this power.

    1 is for standardised features, 1/2 for those of a selected penalty, 0 for features as they are.
    """

    intercept: bool
    power: float = 0.0

    @property
    def centred(self) -> bool:
        """Are features measured from their mean?"""
        return self.intercept or self.power == 1.0


def gauge(
    X: Matrix, y: Vector, weights: Vector, penalty: float, way: Way, new: Matrix, unit: float = 1.0
) -> Gauges:
    """How far live rows lie from their regression, and new rows from them.

    ``penalty`` is that of the weights as they are. They are divided by ``unit``, the weight of a
    row that has not faded; the caller then says how many rows count.

    >>> rows = np.ones((4, 1)), np.array([1.0, 2.0, 3.0, 6.0]), np.ones(4)
    >>> found = gauge(*rows, 0.0, Way(intercept=False), np.array([[2.0]]))
    >>> found.leverage, found.unexplained
    (array([1.]), array([14.]))
    """
    n, arrays = len(new), map(np.ascontiguousarray, (X, y[:, np.newaxis], weights, new))
    columns, rank = core.gauge_rows(*arrays, np.full(1, penalty), *way)
    counted = np.full(n, np.count_nonzero(weights))
    found = Gauges(counted, np.full(n, rank), np.full(n, penalty / unit), *columns[..., 0])
    return found if unit == 1.0 else found.in_units(unit)


def conditioning(X: Matrix, weights: Vector, way: Way) -> tuple[float, float]:
    """phi^2 = lambda_min(Phi) / n (Lemma 1), and the condition number of the rows.

    n is the sum of the weights. From the eigenvalues of Phi where these keep their digits, else
    from the singular values.

    >>> conditioning(np.array([[1.0], [3.0]]), np.ones(2), Way(intercept=True))
    (1.0, 1.0)
    """
    (n, d), total_weight = X.shape, float(weights.sum())
    if total_weight == 0.0:
        return np.nan, np.nan
    if n - way.centred < d:
        return 0.0, np.inf
    rows = _regressed(X, weights, way)
    values = np.linalg.eigvalsh(rows.T @ rows)
    low, high = float(values[0]), float(values[-1])
    if low <= _KEPT * high:
        sigma = np.linalg.svd(rows, compute_uv=False)
        if sigma[-1] <= sigma[0] * max(n, d) * _EPS:
            return 0.0, np.inf
        return float(sigma[-1]) ** 2 / total_weight, float(sigma[0] / sigma[-1])
    return low / total_weight, (high / low) ** 0.5


def _regressed(X: Matrix, weights: Vector, way: Way) -> Matrix:
    """The rows of the weighted system, whose features are centred and scaled first."""
    share = (weights / weights.sum())[:, np.newaxis]
    if way.centred:
        mean = (share * X).sum(axis=0)
        X = X - mean
        X -= (share * X).sum(axis=0)  # again: the rounding of a large mean would add to the rank
        spread = np.abs(X[weights > 0.0]).max(axis=0)
        X[:, spread <= 16.0 * _EPS * np.abs(mean)] = 0.0  # constant up to rounding
    if way.power:
        deviation = np.sqrt((share * X**2).sum(axis=0)) ** way.power
        X = X / np.where(deviation > 0.0, deviation, 1.0)
    return np.asarray(np.sqrt(weights)[:, np.newaxis] * X)

"""Rows standardised themselves, and a regression on them: for windows where rounding would show."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from efface.engine.jit.views import WEIGHT, Matrix, Responses, Vector
from efface.engine.linalg.dense import EPS
from efface.engine.linalg.refit import refit


class Scores(NamedTuple):
    """Rows as z = (x - mean) / deviation; the deviation is 1, and z 0, where there is no spread."""

    rows: Matrix
    origin: Vector  # near the mean, which is origin + shift with more digits than one number has
    shift: Vector
    deviation: Vector

    @property
    def mean(self) -> Vector:
        return np.asarray(self.origin + self.shift)

    def of(self, rows: Matrix) -> Matrix:
        """Other rows by the same mean and deviation."""
        return np.asarray((rows - self.origin - self.shift) / self.deviation)


def scores(X: Matrix, weights: Vector) -> Scores:
    """Standardise some rows by two passes; at least one has weight, and only such rows count.

    >>> scores(np.array([[1.0, 5.0], [3.0, 5.0]]), np.ones(2)).rows
    array([[-1.,  0.],
           [ 1.,  0.]])
    """
    heard = weights > 0.0
    n, share = np.count_nonzero(heard), (weights[heard] / weights.sum())[:, np.newaxis]
    with np.errstate(over="ignore"):
        counted = X[heard]
        mean = (share * counted).sum(axis=0)  # in this order no sum overflows
        equal = counted.min(axis=0) == counted.max(axis=0)
        mean = np.where(equal, counted[0], mean)  # exact where all are equal
        away = X - mean
        shift = (share * away[heard]).sum(axis=0)
        away -= shift  # what rounding leaves of a large mean
        reach = np.abs(away[heard]).max(axis=0)
        unit = np.ldexp(1.0, np.frexp(reach)[1])  # so that squares are numbers
        variance = (share * (away[heard] / unit) ** 2).sum(axis=0)
        flat = variance <= n * EPS * variance + (n * (mean + shift) / unit * EPS) ** 2
    deviation = np.where(flat, 1.0, unit * np.sqrt(variance))
    return Scores(np.where(flat, 0.0, away / deviation), mean, shift, deviation)


def refit_scores(
    X: Matrix, y: Responses, penalty: float, intercept: bool, coef: Vector
) -> tuple[float, int]:
    """``refit`` on the standardised rows; coefficients and intercept of those that they are of."""
    if not y[:, WEIGHT].any():
        coef[:] = 0.0
        return 0.0, 0
    z = scores(X, y[:, WEIGHT])
    level, rank = refit(z.rows, y, penalty, True, coef)
    coef /= z.deviation
    return (level if intercept else 0.0) - float(coef @ z.mean), rank

"""Rows standardised themselves, and a regression on them: for windows where rounding would show."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from efface.kernels.dense import EPS
from efface.kernels.refit import refit
from efface.kernels.views import Matrix, Vector


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


def scores(X: Matrix) -> Scores:
    """Standardise some rows, at least one, by two passes.

    >>> scores(np.array([[1.0, 5.0], [3.0, 5.0]])).rows
    array([[-1.,  0.],
           [ 1.,  0.]])
    """
    n = len(X)
    with np.errstate(over="ignore"):
        mean = (X / n).sum(axis=0)  # in this order no sum overflows
        mean = np.where(X.min(axis=0) == X.max(axis=0), X[0], mean)  # exact where all are equal
        away = X - mean
        shift = away.mean(axis=0)
        away -= shift  # what rounding leaves of a large mean
        unit = np.ldexp(1.0, np.frexp(np.abs(away).max(axis=0))[1])  # so that squares are numbers
        variance = ((away / unit) ** 2).mean(axis=0)
        flat = variance <= n * EPS * variance + (n * (mean + shift) / unit * EPS) ** 2
    deviation = np.where(flat, 1.0, unit * np.sqrt(variance))
    return Scores(np.where(flat, 0.0, away / deviation), mean, shift, deviation)


def refit_scores(
    X: Matrix, y: Vector, penalty: float, intercept: bool, coef: Vector
) -> tuple[float, int]:
    """``refit`` on the standardised rows; coefficients and intercept of those that they are of."""
    z = scores(X)
    level, rank = refit(z.rows, y, penalty, True, coef)
    coef /= z.deviation
    return (level if intercept else 0.0) - float(coef @ z.mean), rank

"""Deviations from the mean and scaled rows, rounded once, for the checks of a model.

``efface.core`` computes the same quantities. These functions are independent of it on purpose: an
audit must not trust the code that it checks.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from efface.live.snapshot import Snapshot
from efface.theory.geometry import Array

_EPS = float(np.finfo(np.float64).eps)


def binary_exponent(values: Array) -> int:
    """The exponent of the power of two just above the values; dividing by that power is exact.

    >>> binary_exponent(np.array([3.0, -9.0]))
    4
    """
    return math.frexp(float(np.abs(values).max(initial=0.0)))[1]


def scaled_penalty(penalty: float, exponent: int) -> float:
    """The penalty times a power of two, at most 2^900, which keeps squares finite.

    The coefficients of rows below 1 are 0 with such a penalty.

    >>> scaled_penalty(0.5, 3), scaled_penalty(1.0, 2000) == 2.0**900
    (4.0, True)
    """
    with np.errstate(over="ignore"):
        return min(float(np.ldexp(penalty, exponent)), 2.0**900)


def deviations(X: Array, *others: Array, weights: Array | None = None) -> tuple[Array, ...]:
    """The rows of X minus their mean, and other rows minus the same mean, rounded once.

    With ``weights``, all above 0, the mean is the weighted one. A column that varies only by
    rounding becomes zero: the rounding of a large mean would otherwise count as rank.

    >>> deviations(np.array([[0.1, 1.0], [0.1, 3.0]]), np.array([0.1, 6.0]))
    (array([[ 0., -1.],
           [ 0.,  1.]]), array([0., 4.]))
    """
    origin = X[0].astype(np.longdouble)
    shifted = X - origin  # exactly zero where a column is constant
    centre = np.average(shifted, axis=0, weights=weights)
    centre += np.average(shifted - centre, axis=0, weights=weights)
    rows = (shifted - centre).astype(np.float64)
    rows[:, only_rounding(rows, origin + centre)] = 0.0
    return rows, *((other - origin - centre).astype(np.float64) for other in others)


def only_rounding(rows: Array, mean: NDArray[np.floating]) -> NDArray[np.bool]:
    """For each column, whether all its deviations are within the rounding error of its mean.

    >>> only_rounding(np.array([[1e-16, 1.0], [-1e-16, -1.0]]), np.array([0.1, 0.1]))
    array([ True, False])
    """
    return np.asarray((np.abs(rows) <= 16 * _EPS * np.abs(mean)).all(axis=0))


class StandardizedRows(NamedTuple):
    """z = (x - mean) / deviation. A constant column has z = 0 and the deviation 1.

    The mean is 0 where rows are not ``centred``.
    """

    rows: Array
    deviation: Array
    source: Array
    weights: Array | None
    centred: bool = True

    @property
    def mean(self) -> Array:
        """The (weighted) mean of the rows before standardisation."""
        if not self.centred:
            return np.zeros(self.source.shape[1])
        source = self.source.astype(np.longdouble)
        return np.asarray(np.average(source, axis=0, weights=self.weights), dtype=np.float64)

    def transform(self, row: Array) -> Array:
        """Another row, standardised by the same mean and deviation."""
        if not self.centred:
            return np.asarray(row / self.deviation)
        centred = deviations(self.source, row, weights=self.weights)[1]
        return np.asarray(centred / self.deviation)


def standardized(X: Array, weights: Array | None = None) -> StandardizedRows:
    """The rows of X, at least one, standardised; weights are all above 0.

    A column counts as constant by the rule of scikit-learn's ``StandardScaler``.

    >>> standardized(np.array([[1.0, 5.0], [3.0, 5.0]])).rows
    array([[-1.,  0.],
           [ 1.,  0.]])
    """
    rows, n = deviations(X, weights=weights)[0], len(X)
    units = np.ldexp(1.0, np.frexp(np.abs(rows).max(axis=0))[1])
    variance = np.average((rows / units) ** 2, axis=0, weights=weights)
    with np.errstate(over="ignore"):
        rounding = n * _EPS * np.abs(X.mean(axis=0)) / units
        constant = variance <= n * _EPS * variance + rounding**2
    deviation = np.where(constant, 1.0, units * np.sqrt(variance))
    return StandardizedRows(np.where(constant, 0.0, rows / deviation), deviation, X, weights)


def divided_by_length(X: Array, weights: Array | None = None) -> StandardizedRows:
    """The rows of X, not centred, each column divided by its root mean square.

    >>> divided_by_length(np.array([[3.0, 0.0], [-3.0, 0.0]])).rows
    array([[ 1.,  0.],
           [-1.,  0.]])
    """
    units = np.ldexp(1.0, np.frexp(np.abs(X).max(axis=0))[1])
    lengths = units * np.sqrt(np.average((X / units) ** 2, axis=0, weights=weights))
    deviation = np.where(X.any(axis=0), lengths, 1.0)
    return StandardizedRows(X / deviation, deviation, X, weights, centred=False)


def is_selected(live: Snapshot) -> bool:
    """Does the model select its penalty by the rows, and scale them by itself?"""
    return live.model == "AutoRidge"


def scaled_rows(live: Snapshot, X: Array, weights: Array) -> StandardizedRows | None:
    """Rows of positive weight at the scale of a model; None if that is the scale that they have.

    AutoRidge divides features by the roots of their deviations, or of their root mean squares
    without an intercept.
    """
    standardize = bool(live.parameters["standardize"])
    if not is_selected(live):
        return standardized(X, weights) if standardize else None
    centred = standardize or live.parameters["fit_intercept"]
    z = standardized(X, weights) if centred else divided_by_length(X, weights)
    if standardize:
        return z
    root = np.sqrt(z.deviation)
    return z._replace(rows=z.rows * root, deviation=root)

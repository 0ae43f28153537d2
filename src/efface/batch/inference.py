"""Variances of the coefficients of windows, usual or robust, and their sums of squares."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from efface.batch.groups import RowArrays
from efface.core import core
from efface.inputs.types import Ints, Matrix, Vector


class Inference(NamedTuple):
    """Statistics of the window that ends at each row; NaN where it is rank deficient.

    Variances are in units of the noise variance of a row of weight 1, which is estimated by
    ``unexplained / (rows - unknowns)``, counting the rows that have weight.
    """

    variance: Matrix  # (n, d): variance of each coefficient
    base: Vector  # (n,): variance of the intercept
    unexplained: Vector  # (n,): sum of squared residuals
    total: Vector  # (n,): sum of squared responses, around their mean with an intercept


class RobustErrors(NamedTuple):
    """Which variances: 0 to 3 for HC0 to HC3, 4 for HAC.

    ``lags`` is for HAC, and -1 stands for floor(4 (n / 100)^(2/9)) of n rows.
    """

    kind: int
    lags: int = -1


class RobustVariances(NamedTuple):
    """Variances of the window that ends at each row; NaN where there are none."""

    variance: Matrix  # (n, d): of each coefficient
    base: Vector  # (n,): of the intercept


def infer_windows(rows: RowArrays, starts: Ints, ends: Ints, intercept: bool) -> Inference:
    """Variances and sums of squares of the windows that end at the rows ``ends``.

    The window of row t starts at row ``starts[t]``.

    >>> rows = RowArrays(np.ones((4, 1)), np.array([1.0, 2.0, 3.0, 6.0]))
    >>> found = infer_windows(rows, np.zeros(4, int), np.array([3]), intercept=False)
    >>> found.variance[3], found.unexplained[3]
    (array([0.25]), np.float64(14.0))
    """
    ranges = starts[ends], ends + 1
    variance, base, unexplained, total, _ = core.infer_ranges(*_arrays(rows), *ranges, intercept)
    found = variance, base, unexplained[:, 0], total[:, 0]
    return Inference(*(_spread(values, ends, len(rows.y)) for values in found))


def robust_variances(
    rows: RowArrays, starts: Ints, ends: Ints, intercept: bool, errors: RobustErrors
) -> RobustVariances:
    """Robust variances of the windows that end at the rows ``ends``.

    Rows of weight 0 count for nothing, not even as lags.

    >>> rows = RowArrays(np.ones((4, 1)), np.array([1.0, 2.0, 3.0, 6.0]))
    >>> starts, ends = np.zeros(4, int), np.array([3])
    >>> robust_variances(rows, starts, ends, False, RobustErrors(0)).variance[3]  # 14 / 4^2
    array([0.875])
    """
    ranges = starts[ends], ends + 1
    variance, base = core.robust_ranges(*_arrays(rows), *ranges, intercept, *errors)
    n = len(rows.y)
    return RobustVariances(_spread(variance[:, 0], ends, n), _spread(base[:, 0], ends, n))


def _arrays(rows: RowArrays) -> tuple[Matrix, Matrix, Vector]:
    """Rows as the core takes them: a column per response, and always weights."""
    weights = np.ones(len(rows.y)) if rows.weights is None else rows.weights
    X, y, w = map(np.ascontiguousarray, (rows.X, rows.y[:, np.newaxis], weights))
    return X, y, w


def _spread(values: NDArray[np.float64], ends: Ints, n: int) -> NDArray[np.float64]:
    """Values of the windows that end at ``ends``, in an array for n rows; NaN for the others."""
    found = np.full((n, *values.shape[1:]), np.nan)
    found[ends] = values
    return found

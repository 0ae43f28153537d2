"""Leverages, residuals and conditioning of live rows, beside regressions that are solved already.

Of many ranges of rows (``measured``), or of one window and many new rows (``gauge``). All follow
from the rows, the penalties and the way of the regression: coefficients are not needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from efface.core import core
from efface.inputs.types import Ints, Matrix, Vector
from efface.live.trace import Asked, Gauges

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


class Ranges(NamedTuple):
    """Ranges lo..hi of rows, and the row ``new[at]`` that each predicts."""

    X: Matrix
    y: Vector | Matrix
    weights: Vector
    lo: Ints
    hi: Ints
    new: Matrix
    at: Ints


class Measured(NamedTuple):
    """Of each range: numbers for intervals, and diagnostics; None for what was not asked for."""

    rank: Ints  # -1 where a penalty hides it, unless diagnostics were asked for
    gauges: Gauges | None
    leverage_new: Vector | None = None
    leverage_old: Vector | None = None
    frt: Vector | None = None
    phi2: Vector | None = None  # NaN but for marked ranges
    condition: Vector | None = None


def measured(
    ranges: Ranges, penalty: Vector | Matrix, way: Way, asked: Asked, marks: Sequence[int] = ()
) -> Measured:
    """Measure the new row of each range; phi2 and condition are given for the ranges ``marks``.

    The penalties are those of the weights as they are, a column per response if y has columns.

    >>> rows, ends = (np.ones((3, 1)), np.arange(3.0), np.ones(3)), np.array([1, 2])
    >>> ranges = Ranges(*rows, np.zeros(2, int), ends, np.ones((2, 1)), np.arange(2))
    >>> asked = Asked(coef=False, diagnostics=True, gauges=False)
    >>> measured(ranges, np.zeros(2), Way(intercept=False), asked).leverage_new
    array([1. , 0.5])
    """
    X, y, weights, lo, hi, new, at = ranges
    places = map(np.ascontiguousarray, (lo, hi))
    columns, terms, rank = core.measure_ranges(
        *_arrays(X, y, weights),
        *places,
        *map(np.ascontiguousarray, (new, at, penalty.reshape(len(lo), -1))),
        *way,
        asked.diagnostics,
        asked.diagnostics,
    )
    if y.ndim == 1:
        columns, terms = columns[..., 0], terms[..., 0]
    gauges = None
    if asked.gauges:
        gauges = Gauges(_weighted(weights, lo, hi), rank, penalty, *columns)
    if not asked.diagnostics:
        return Measured(rank, gauges)
    return Measured(rank, gauges, *terms, *_conditionings(ranges, way, marks))


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
    rows, n = _arrays(X, y, weights), len(new)
    columns, rank = core.gauge_rows(*rows, np.ascontiguousarray(new), np.full(1, penalty), *way)
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
        low, high = float(sigma[-1]) ** 2, float(sigma[0]) ** 2
        if sigma[-1] <= sigma[0] * max(n, d) * _EPS:
            return 0.0, np.inf
    return low / total_weight, (high / low) ** 0.5


def _arrays(X: Matrix, y: Vector | Matrix, weights: Vector) -> tuple[NDArray[Any], ...]:
    """Rows as the core takes them: a column per response."""
    columns = y if y.ndim == 2 else y[:, np.newaxis]
    return tuple(map(np.ascontiguousarray, (X, columns, weights)))


def _weighted(weights: Vector, lo: Ints, hi: Ints) -> Ints:
    """How many rows of each range have weight."""
    upto = np.concatenate([[0], np.cumsum(weights > 0.0)])
    return np.asarray(upto[hi] - upto[lo])


def _conditionings(ranges: Ranges, way: Way, marks: Sequence[int]) -> Matrix:
    found = np.full((2, len(ranges.lo)), np.nan)
    for k in marks:
        rows = slice(ranges.lo[k], ranges.hi[k])
        if rows.stop > rows.start:
            found[:, k] = conditioning(ranges.X[rows], ranges.weights[rows], way)
    return found


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

"""The design matrix of the live rows: its eigenvalues, rank, condition and leverages.

Phi = X'X. With an intercept, X has the deviations from the mean; with ``standardize`` and for
AutoRidge, the scaled rows. With weights, each row is multiplied by the square root of its weight,
and the mean is the weighted one. Rows of weight 0 do not enter. ``faded`` gives the rows of a model
with a half-life their weights.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property

import numpy as np

from efface.diagnostics.deviations import (
    StandardizedRows,
    binary_exponent,
    deviations,
    scaled_penalty,
    scaled_rows,
)
from efface.inputs.months import Months
from efface.inputs.times import as_duration
from efface.live.policies import KeepFor, from_plain
from efface.live.snapshot import Snapshot
from efface.theory.geometry import Array, spectrum, whiten
from efface.theory.quantities import forgetting_terms


def faded(live: Snapshot) -> Snapshot:
    """A snapshot with the weights that its rows have now; the same if it has no half-life.

    >>> from efface import OLS
    >>> model = OLS(halflife=1.0).fit([[1.0], [2.0], [4.0]], [1.0, 2.0, 3.0])
    >>> faded(model._snapshot()).weights
    array([0.25, 0.5 , 1.  ])
    """
    halflife = from_plain(live.parameters.get("halflife"))
    if halflife is None or not len(live.y):
        return live
    by_rows = isinstance(halflife, int | float | np.number)
    if by_rows and not isinstance(from_plain(live.parameters["window"]), KeepFor):
        ages = np.arange(len(live.y))[::-1] / float(halflife)
    else:
        length = as_duration(halflife)
        assert live.times is not None
        assert not isinstance(length, Months)
        ages = (live.times[-1] - live.times) / float(length)
    return replace(live, weights=live.weighed * 0.5**ages)


class Design:
    """The design matrix of a snapshot, divided by a power of two so that squares stay finite."""

    def __init__(self, live: Snapshot) -> None:
        self.n, self.d = live.X.shape
        self.weights, self.total_weight = live.weighed, float(live.weighed.sum())
        self.intercept = bool(live.parameters["fit_intercept"]) and self.total_weight > 0.0
        weighted = self.weights > 0.0
        X, oldest, self._w = live.X[weighted], live.X[:1], self.weights[weighted]
        self._scale: StandardizedRows | None = None
        if self.total_weight:
            self._scale = scaled_rows(live, X, self._w)
        if self._scale is not None:
            X, oldest = self._scale.rows, self._scale.transform(oldest)
        self._exponent = binary_exponent(X)
        self._oldest, self._X = np.ldexp(oldest, -self._exponent), np.ldexp(X, -self._exponent)
        centred = deviations(self._X, weights=self._w)[0] if self.intercept else self._X
        self._rows = np.sqrt(self._w)[:, np.newaxis] * centred

    @cached_property
    def _values(self) -> Array:
        """The eigenvalues of the scaled Phi, largest first."""
        return spectrum(self._rows).values if self.total_weight else np.zeros(self.d)

    @cached_property
    def _units(self) -> Array | None:
        """The lengths of the columns, 1 for those of zeros, if the others then have full rank."""
        lengths = np.linalg.norm(self._rows, axis=0)
        if len(self._rows) - self.intercept <= self.d or not lengths.any():
            return None
        units = np.where(lengths > 0.0, lengths, 1.0)
        return units if spectrum(self._rows / units).rank == np.count_nonzero(lengths) else None

    @property
    def rank(self) -> int:
        """The rank, by the rule of ``numpy.linalg.matrix_rank``.

        With more rows than unknowns, the rank of independent features ignores their units.
        """
        counted = self._values if self._units is None else np.linalg.norm(self._rows, axis=0)
        return int(np.count_nonzero(counted))

    @property
    def eigenvalues(self) -> tuple[float, float]:
        """The smallest and the largest eigenvalue of Phi."""
        with np.errstate(over="ignore", under="ignore"):
            smallest, largest = np.ldexp(self._values[[-1, 0]], 2 * self._exponent)
        return float(smallest), float(largest)

    @property
    def condition(self) -> float:
        """The condition number of Phi, infinite below full rank."""
        smallest = self._values[-1]
        return float(self._values[0] / smallest) if smallest > 0.0 else math.inf

    def degrees_of_freedom(self, penalty: float) -> float:
        """The trace of the hat matrix."""
        values = self._values[self._values > 0]
        return float((values / (values + self._scaled(penalty))).sum()) + self.intercept

    def leverages(
        self, penalty: float, x: Array | None
    ) -> tuple[float | None, float | None, float | None]:
        """The leverage of the oldest row, the leverage of x, and their forgetting regret term."""
        if not self.n:
            return None, None, None
        if x is not None and self._scale is not None:
            x = self._scale.transform(x)
        new = self._oldest[0] if x is None else np.ldexp(x, -self._exponent)
        pair = np.array([self._oldest[0], new])
        if self.intercept:
            pair = deviations(self._X, pair, weights=self._w)[1]
        # Leverages of full rank do not depend on units, which would cost digits.
        units = 1.0 if penalty or self._units is None else self._units
        pair = whiten(self._rows / units, pair / units, penalty=self._scaled(penalty))
        if self.intercept:  # not penalised, and orthogonal to the centred features
            pair = np.column_stack([pair, np.full(2, 1 / math.sqrt(self.total_weight))])
        pair[0] *= math.sqrt(self.weights[0])
        total, deleted, _ = forgetting_terms(pair[0], pair[1])
        return deleted, *((None, None) if x is None else (float(pair[1] @ pair[1]), total))

    def _scaled(self, penalty: float) -> float:
        """The penalty for the scaled rows."""
        return scaled_penalty(penalty, -2 * self._exponent)

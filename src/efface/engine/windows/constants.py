"""Features that are constant over all rows, which windows are solved without.

Without an intercept, constant features take the place of one: y = level + x'b, where the level is
the sum of c_j b_j. The other coefficients are those of a regression with an intercept. Its features
are measured from their mean, so that they lose no digits where they are far from 0. With an
intercept, the coefficient of a constant feature is 0; so it is where all values are 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from efface.engine.jit.views import Matrix, Vector


class VaryingFeatures(NamedTuple):
    """The features that vary, and how they are solved."""

    x: Matrix
    intercept: bool
    varying: NDArray[np.bool]  # (d,)
    shares: Vector  # the coefficients of the other features for a level of 1, of minimum norm
    replaced: bool = False  # does an intercept take the place of constant features?

    def restored(self, coef: Matrix, level: Vector) -> tuple[Matrix, Vector]:
        """Coefficients of all features, and the intercept."""
        if self.varying.all():
            return coef, level
        full = np.empty((len(coef), self.varying.size))
        full[:, self.varying] = coef
        full[:, ~self.varying] = level[:, np.newaxis] * self.shares
        return full, np.where(np.isnan(level), np.nan, 0.0) if self.replaced else level

    def restored_variances(self, variance: Matrix, base: Vector) -> tuple[Matrix, Vector]:
        """Variances of all coefficients, and of the intercept."""
        return self._replace(shares=self.shares**2).restored(variance, base)


def varying_features(x: Matrix, rows: int, penalty: float, intercept: bool) -> VaryingFeatures:
    """The design without constant features, where windows of ``rows`` rows have the same solution.

    >>> varying_features(np.array([[2.0, 5.0], [2.0, 7.0], [2.0, 8.0]]), 3, 0.0, False)[1:]
    (True, array([False,  True]), array([0.5]), True)
    """
    d = x.shape[1]
    given = VaryingFeatures(x, intercept, np.ones(d, dtype=bool), np.zeros(0))
    constant = _constant_columns(x)
    if not 0 < constant.size < d:
        return given
    values = x[0, constant]
    replaced = bool(values.any()) and not intercept
    # A constant feature is penalised, and a part of what has minimum norm; an intercept is neither.
    if replaced and (penalty > 0.0 or rows <= d - constant.size + 1):
        return given
    varying = given.varying.copy()
    varying[constant] = False
    shares = _shares(values) if replaced else np.zeros(constant.size)
    kept = np.ascontiguousarray(x[:, varying])
    return VaryingFeatures(kept, intercept or replaced, varying, shares, replaced)


def constant_as_intercept(x: Matrix, intercept: bool) -> VaryingFeatures:
    """The design without its constant feature, if an intercept takes the place of exactly one."""
    design = varying_features(x, len(x), 0.0, intercept)
    if design.replaced and design.shares.size == 1:
        return design
    return VaryingFeatures(x, intercept, np.ones(x.shape[1], dtype=bool), np.zeros(0))


def _constant_columns(x: Matrix) -> NDArray[np.intp]:
    """Three rows exclude most columns, so that normal data cost no pass over all values."""
    if not len(x):
        return np.zeros(0, np.intp)
    few = x[[0, len(x) // 2, -1]]
    candidates = np.flatnonzero((few == few[0]).all(axis=0))
    return candidates[(x[:, candidates] == x[0, candidates]).all(axis=0)]


def _shares(values: Vector) -> Vector:
    """values / |values|^2, without overflow."""
    largest = np.abs(values).max()
    unit = values / largest
    return np.asarray(unit / (unit @ unit) / largest)

"""Slow, simple reference versions of scaling: two passes over one window, then a regression.

Nothing is imported from the package.
"""

from __future__ import annotations

import numpy as np
from twins import regression as naive

EPS = float(np.finfo(np.float64).eps)


def moments(X, weights=None):
    """Mean and population variance of each feature, in exact fractions, rounded to nearest."""
    columns = [naive.fractions(column) for column in X.T]
    w = naive.fractions(np.ones(len(X)) if weights is None else weights)

    def average(values):
        return sum(v * weight for v, weight in zip(values, w, strict=True)) / sum(w)

    means = [average(column) for column in columns]
    variances = [
        average([(v - mean) ** 2 for v in column])
        for column, mean in zip(columns, means, strict=True)
    ]
    return tuple(np.array([naive.nearest(v) for v in each]) for each in (means, variances))


def deviation(X, weights=None):
    """The standard deviation, 1 for a feature that StandardScaler considers constant; which are."""
    mean, variance = moments(X, weights)
    n = len(X)
    flat = variance <= n * EPS * variance + (n * mean * EPS) ** 2
    return np.where(flat, 1.0, np.sqrt(variance)), flat


def scale(rows, X, with_mean=True, with_std=True):
    """Rows scaled by the rows of X; NaN if X has no row."""
    if not len(X):
        return np.full_like(rows, np.nan)
    rows = rows - moments(X)[0] if with_mean else rows
    return rows / deviation(X)[0] if with_std else rows


def rolling_scale(X, window, include=False):
    """Every row scaled by the ``window`` rows before it; with ``include``, by those up to it."""
    ends = np.arange(len(X)) + include
    return np.array(
        [scale(x, X[max(0, end - window) : end]) for x, end in zip(X, ends, strict=True)]
    )


def standardise(X, weights=None):
    """Z, the mean and the deviation; a constant feature is 0 in Z."""
    sd, flat = deviation(X, weights)
    Z = naive.centred(X, weights) / sd
    Z[:, flat] = 0.0
    return Z, moments(X, weights)[0], sd


def regress(X, y, lam, intercept, weights=None):
    """``naive.regress`` on standardised features, converted to the original features.

    It always fits an intercept: standardised features have the mean 0, so apart from rounding the
    coefficients are the same without one.
    """
    X, y, weights = naive.weighted_rows(X, y, weights)
    if not len(X):
        return np.zeros(X.shape[1]), 0.0, 0
    Z, mean, sd = standardise(X, weights)
    coef, level, rank = naive.regress(Z, y, lam, True, weights)
    return coef / sd, level * intercept - mean @ (coef / sd), rank


class StandardizedTwin(naive.NaiveModel):
    """A model with ``standardize=True`` that keeps its rows in a plain list."""

    def penalty(self):
        X, y, weights = naive.weighted_rows(self.X, self.y, self.weights)
        if not len(X):
            return super().penalty()
        Z = standardise(X, weights)[0]
        return naive.penalty(Z, y, self.rule, self.intercept, weights)

    def regress(self, lam):
        return regress(self.X, self.y, lam, self.intercept, self.weights)

"""Coefficients, standard errors and R² of one window in exact fractions."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from twins.regression import exact, fractions, nearest, weighed, weighted_rows


class Exact(NamedTuple):
    """Of the unknowns: the features, then the intercept."""

    theta: np.ndarray
    variance: np.ndarray  # in units of the noise variance
    bse: np.ndarray
    unexplained: float
    total: float
    rsquared: float


def infer(X, y, intercept, weights=None):
    """The inference on rows of full rank; rows of weight 0 are left out."""
    X, y, weights = weighted_rows(X, y, weights)
    A = exact(np.column_stack([X, np.ones((len(y), int(intercept)))]))
    b, w = exact(y[:, np.newaxis]), fractions(weights)
    inverse = (A.transpose() * weighed(A, w)).inv()
    moment = A.transpose() * weighed(b, w)
    theta = inverse * moment
    square = (b.transpose() * weighed(b, w))[0, 0]
    unexplained = square - (moment.transpose() * theta)[0, 0]
    mean = sum(u * v for u, v in zip(w, b.entries(), strict=True)) / sum(w)
    total = square - sum(w) * mean * mean if intercept else square
    p = A.ncols()
    freedom = len(y) - p
    diagonal = [inverse[i, i] for i in range(p)]
    return Exact(
        np.array([nearest(v) for v in theta.entries()]),
        np.array([nearest(v) for v in diagonal]),
        np.array([math.sqrt(nearest(v * unexplained / freedom)) for v in diagonal]),
        nearest(unexplained),
        nearest(total),
        nearest(1 - unexplained / total),
    )


def leverage(X, row, intercept, weights=None):
    """row' (A'WA)^-1 row, A with a column of 1 for the intercept."""
    X, _, weights = weighted_rows(X, np.zeros(len(X)), weights)
    A = exact(np.column_stack([X, np.ones((len(X), int(intercept)))]))
    u = exact(np.append(row, np.ones(int(intercept)))[np.newaxis])
    system = A.transpose() * weighed(A, fractions(weights))
    return nearest((u * system.inv() * u.transpose())[0, 0])


def condition(X, intercept, weights=None):
    """The condition number with columns of unit length, the constant among them."""
    X, _, weights = weighted_rows(X, np.zeros(len(X)), weights)
    A = np.sqrt(weights)[:, np.newaxis] * np.column_stack([X, np.ones((len(X), int(intercept)))])
    return float(np.linalg.cond(A / np.linalg.norm(A, axis=0)))

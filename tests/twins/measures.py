"""Leverages, residuals and forgetting regret terms of one window, in 60 digits."""

from __future__ import annotations

from typing import NamedTuple

import mpmath

DIGITS = 60


class Measures(NamedTuple):
    """Of a window, a new row, and the oldest row of the window."""

    leverage: float
    image_square: float
    unexplained: float
    scatter: float
    size: float
    total_weight: float
    leverage_old: float
    frt: float


def measures(X, y, w, new, penalty=0.0, intercept=True, power=0.0):
    """By the textbook, for a system of full rank; the oldest row may have weight 0."""
    with mpmath.workdps(DIGITS):
        return Measures(
            *(float(value) for value in _measures(X, y, w, new, penalty, intercept, power))
        )


def _measures(X, y, w, new, penalty, intercept, power):
    weights = [mpmath.mpf(v) for v in w]
    total, (n, d) = mpmath.fsum(weights), X.shape
    centred = intercept or power == 1.0
    columns = [[mpmath.mpf(v) for v in X[:, j]] for j in range(d)]
    means = [_mean(column, weights) if centred else mpmath.mpf(0) for column in columns]
    units = [
        _unit(column, weights, mean, power) for column, mean in zip(columns, means, strict=True)
    ]

    def placed(row):
        return [(mpmath.mpf(v) - m) / u for v, m, u in zip(row, means, units, strict=True)]

    Z = mpmath.matrix([placed(row) for row in X])
    level = _mean([mpmath.mpf(v) for v in y], weights) if intercept else mpmath.mpf(0)
    b = mpmath.matrix([mpmath.mpf(v) - level for v in y])
    W = mpmath.diag(weights)
    gram = Z.T * W * Z
    inverse = (gram + mpmath.mpf(penalty) * mpmath.eye(d)) ** -1
    theta = inverse * (Z.T * W * b)
    rest = b - Z * theta
    u, v = mpmath.matrix(placed(new)), mpmath.matrix(placed(X[0]))
    base, image = (1 / total if intercept else mpmath.mpf(0)), inverse * u
    leverage, cross = base + (u.T * image)[0], base + (v.T * image)[0]
    old = base + (v.T * inverse * v)[0]
    apart = max(leverage - cross**2 / old, 0) if weights[0] > 0 else leverage
    return (
        leverage,
        mpmath.fsum(e**2 for e in image),
        mpmath.fsum(weights[i] * rest[i] ** 2 for i in range(n)),
        mpmath.fsum(gram[j, j] for j in range(d)),
        mpmath.fsum(e**2 for e in theta),
        total,
        weights[0] * old,
        weights[0] * old * (apart + 1),
    )


def _mean(values, weights):
    return mpmath.fsum(w * v for v, w in zip(values, weights, strict=True)) / mpmath.fsum(weights)


def _unit(column, weights, mean, power):
    variance = _mean([(v - mean) ** 2 for v in column], weights)
    return mpmath.sqrt(variance) ** power if power and variance else mpmath.mpf(1)

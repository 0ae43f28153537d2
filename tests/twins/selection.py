"""The rule of AutoRidge in sixty digits: eigenvalues of Phi, and every formula as it is written.

Nothing is imported from the package. Rows of weight 0 do not count. Fewer rows than features need
no other formulas at this precision.
"""

from __future__ import annotations

import mpmath
import numpy as np
from mpmath import mp, mpf

EXPONENTS = range(-30, 11, 2)
DIGITS = 60


def vector(values):
    return [mpf(float(value)) for value in values]


def dot(*columns):
    """The sum of the products of columns."""
    return mpmath.fsum(mpmath.fprod(terms) for terms in zip(*columns, strict=True))


def centred(values, weights):
    mean = dot(values, weights) / mpmath.fsum(weights)
    return [value - mean for value in values], mean


class Scaled:
    """One scaling of the rows: eigenvalues of Phi, and the log weight of each penalty."""

    def __init__(self, columns, y, weights, freedom):
        d, n = len(columns), mpmath.fsum(weights)
        phi = mpmath.matrix(d, d)
        for i in range(d):
            for j in range(d):
                phi[i, j] = dot(columns[i], columns[j], weights)
        self.values, self.vectors = mpmath.eigsy(phi)
        pull = [dot(column, y, weights) for column in columns]
        self.pull = [dot([self.vectors[i, j] for i in range(d)], pull) for j in range(d)]
        self.base = sum(phi[i, i] for i in range(d)) / d
        square = dot(y, y, weights)
        self.log_weights = [self.log_weight(k, n, d, freedom, square) for k in EXPONENTS]

    def shrunk(self, lam):
        """theta, in the directions of the eigenvectors."""
        return [b / (value + lam) for b, value in zip(self.pull, self.values, strict=True)]

    def log_weight(self, k, n, d, freedom, square):
        lam = self.base * mpf(2) ** k
        theta = self.shrunk(lam)
        left = square - dot(self.pull, theta) if square else mpf(1)
        evidence = freedom * mpmath.log(left)
        evidence += mpmath.fsum(mpmath.log(1 + value / lam) for value in self.values)
        blend = max(mpf(0), 1 - d / freedom) if freedom else mpf(0)
        if blend > 0:
            free = freedom - mpmath.fsum(value / (value + lam) for value in self.values)
            residual = left - lam * dot(theta, theta)
            crossed = freedom * (mpmath.log(residual) - 2 * mpmath.log(free))
            evidence = (1 - blend) * evidence + blend * crossed
        u = n * lam / (d * self.base)
        return -evidence / 2 - mpmath.log(1 + u) / 2 - mpmath.log(1 + 1 / u) / 2

    def coef(self, lam):
        theta = mpmath.matrix(self.shrunk(lam))
        return list(self.vectors * theta)


def mean_of(logs):
    """Weights that add up to 1."""
    top = max(logs)
    weights = [mpmath.exp(log - top) for log in logs]
    total = mpmath.fsum(weights)
    return [weight / total for weight in weights]


def select(X, y, intercept, weights=None, *, standardize=False):
    """Coefficients, intercept and penalty of the rows, as floats."""
    with mp.workdps(DIGITS):
        weights = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=float)
        counted = weights > 0
        columns, w = [vector(c) for c in X[counted].T], vector(weights[counted])
        responses, d = vector(y[counted]), X.shape[1]
        n = mpmath.fsum(w)
        level, means = mpf(0), [mpf(0)] * d
        if not counted.any():
            return np.zeros(d), 0.0, 0.0
        if intercept:
            responses, level = centred(responses, w)
        if intercept or standardize:
            columns, means = map(list, zip(*(centred(c, w) for c in columns), strict=True))
        freedom = max(mpf(0), n - int(intercept))
        lengths = [mpmath.sqrt(dot(c, c, w) / n) for c in columns]
        flat = [constant(X[counted][:, j], intercept or standardize) for j in range(d)]
        if all(flat):
            return np.zeros(d), float(level), 0.0
        powers = [length if standardize else mpmath.sqrt(length) for length in lengths]
        scales = [mpf(0) if f else 1 / p for f, p in zip(flat, powers, strict=True)]
        found = scaled(columns, scales, responses, w, freedom)
        exponent = dot(mean_of(found.log_weights), vector(EXPONENTS))
        penalty = found.base * mpf(2) ** exponent
        coef = [c * s for c, s in zip(found.coef(penalty), scales, strict=True)]
        level -= dot(coef, means)
        return np.array([float(c) for c in coef]), float(level), float(penalty)


def constant(column, around_mean):
    """Whether a column has no spread, or varies by rounding of its mean alone."""
    if not around_mean:
        return not column.any()
    return bool(np.ptp(column) <= 16 * np.finfo(float).eps * abs(column.mean()))


def scaled(columns, scales, responses, w, freedom):
    return Scaled(
        [[v * s for v in c] for c, s in zip(columns, scales, strict=True)], responses, w, freedom
    )

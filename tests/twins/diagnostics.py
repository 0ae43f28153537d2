"""Slow and simple implementations of the diagnostics: dense, in 50 digits, one window at a time."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
from twins import regression as naive

DIGITS = 50


def centred(X, intercept, weights=None):
    """Rows of positive weight minus their mean, rounded once, times the roots of the weights.

    The mean is exact for few numbers and in extended precision for many.
    """
    X, _, weights = naive.weighted_rows(X, np.zeros(len(X)), weights)
    rows = X
    if intercept and X.size < 200:
        rows = naive.centred(X, weights) if len(X) else X
    elif intercept:
        rows = X.astype(np.longdouble)
        for _ in range(2):
            rows = rows - np.average(rows, axis=0, weights=weights)
        rows = rows.astype(float)
    return np.sqrt(weights)[:, np.newaxis] * rows


def rank(X, intercept, weights=None):
    rows = centred(X, intercept, weights)
    return int(np.linalg.matrix_rank(rows)) if rows.size else 0


def condition(X, intercept, weights=None):
    """The condition of Phi, infinite below full rank."""
    if rank(X, intercept, weights) < X.shape[1]:
        return math.inf
    singular = np.linalg.svd(centred(X, intercept, weights), compute_uv=False)
    return float((singular[0] / singular[-1]) ** 2)


def forecast(X, intercept, steps, weights=None):
    """Rank and condition after each of the next deletions."""
    weights = np.ones(len(X)) if weights is None else weights
    left = [(X[k:], intercept, weights[k:]) for k in range(1, min(steps, len(X)) + 1)]
    return [rank(*each) for each in left], [condition(*each) for each in left]


class Window:
    """Phi of a window by its definition and its eigenvalues, in 50 digits."""

    def __init__(self, X, intercept, lam, weights=None):
        X, _, weights = naive.weighted_rows(X, np.zeros(len(X)), weights)
        self.total_weight, self.d = mp.mpf(float(weights.sum())), X.shape[1]
        self.intercept, self.lam = intercept and len(X) > 0, mp.mpf(lam)
        with mp.workdps(DIGITS):
            rows = [[mp.mpf(float(v)) for v in row] for row in X]
            w = [mp.mpf(float(v)) for v in weights]
            columns = list(zip(*rows, strict=True)) or [()] * self.d
            self.mean = [
                mp.fdot(c, w) / mp.fsum(w) if self.intercept else mp.mpf(0) for c in columns
            ]
            around = [self.around(row) for row in rows]
            phi = mp.matrix(self.d, self.d)
            for i in range(self.d):
                for j in range(self.d):
                    products = (row[i] * row[j] * v for row, v in zip(around, w, strict=True))
                    phi[i, j] = mp.fsum(products)
            values, vectors = mp.eigsy(phi)
            order = sorted(range(self.d), key=lambda i: values[i], reverse=True)
            self.rank = rank(X, intercept, weights)
            self.values = [values[i] if k < self.rank else mp.mpf(0) for k, i in enumerate(order)]
            self.vectors = [[vectors[j, i] for j in range(self.d)] for i in order]

    def around(self, row):
        return [mp.mpf(float(v)) - m for v, m in zip(row, self.mean, strict=True)]

    def inner(self, u, v):
        """<u, v> in (Phi + lam)^-1 (Moore-Penrose if lam = 0), plus the unpenalised intercept."""
        with mp.workdps(DIGITS):
            a, b = self.around(u), self.around(v)
            total = mp.mpf(1) / self.total_weight if self.intercept else mp.mpf(0)
            for value, vector in zip(self.values, self.vectors, strict=True):
                if value + self.lam > 0:
                    total += mp.fdot(a, vector) * mp.fdot(b, vector) / (value + self.lam)
            return total

    def frt(self, old, new, weight=1.0):
        """Definition 2: deleted (dissimilarity + 1); the old row has a weight."""
        with mp.workdps(DIGITS):
            w = mp.mpf(float(weight))
            deleted, cross = w * self.inner(old, old), mp.sqrt(w) * self.inner(old, new)
            rest = self.inner(new, new) - (cross**2 / deleted if deleted > 0 else 0)
            return float(deleted * (rest + 1))

    @property
    def degrees_of_freedom(self):
        shares = [v / (v + self.lam) for v in self.values if v > 0]
        return float(mp.fsum(shares)) + self.intercept

"""Slow and obvious twins of the diagnostics: dense, in 50 digits, one window at a time."""

from __future__ import annotations

import math

import mpmath as mp
import naive
import numpy as np


def centred(X, intercept):
    """X less its mean, rounded once: in 50 digits for few numbers, in 19 for many."""
    if not (intercept and len(X)):
        return X
    if X.size < 200:
        return naive.centred(X)
    rows = X.astype(np.longdouble)
    for _ in range(2):
        rows = rows - rows.mean(axis=0)
    return rows.astype(float)


def rank(X, intercept):
    rows = centred(X, intercept)
    return int(np.linalg.matrix_rank(rows)) if rows.size else 0


def condition(X, intercept):
    """That of Phi, infinite below full rank."""
    if rank(X, intercept) < X.shape[1]:
        return math.inf
    singular = np.linalg.svd(centred(X, intercept), compute_uv=False)
    return float((singular[0] / singular[-1]) ** 2)


def forecast(X, intercept, steps):
    """Rank and condition after each of the next deletions."""
    windows = [X[k:] for k in range(1, min(steps, len(X)) + 1)]
    return [rank(w, intercept) for w in windows], [condition(w, intercept) for w in windows]


class Window:
    """The rows of a window in 50 digits: Phi by its definition, and its eigenvalues."""

    def __init__(self, X, intercept, lam):
        self.n, self.d = X.shape
        self.intercept, self.lam = intercept, mp.mpf(lam)
        with mp.workdps(naive.DIGITS):
            rows = [[mp.mpf(float(v)) for v in row] for row in X]
            columns = list(zip(*rows, strict=True))
            self.mean = [mp.fsum(c) / self.n if intercept else mp.mpf(0) for c in columns]
            around = [self.around(row) for row in rows]
            phi = mp.matrix(self.d, self.d)
            for i in range(self.d):
                for j in range(self.d):
                    phi[i, j] = mp.fsum(row[i] * row[j] for row in around)
            values, vectors = mp.eigsy(phi)
            order = sorted(range(self.d), key=lambda i: values[i], reverse=True)
            self.rank = rank(X, intercept)
            self.values = [values[i] if k < self.rank else mp.mpf(0) for k, i in enumerate(order)]
            self.vectors = [[vectors[j, i] for j in range(self.d)] for i in order]

    def around(self, row):
        return [mp.mpf(float(v)) - m for v, m in zip(row, self.mean, strict=True)]

    def inner(self, u, v):
        """<u, v> in (Phi + lam)^-1, Moore-Penrose without a penalty; the intercept has none."""
        with mp.workdps(naive.DIGITS):
            a, b = self.around(u), self.around(v)
            total = mp.mpf(1) / self.n if self.intercept else mp.mpf(0)
            for value, vector in zip(self.values, self.vectors, strict=True):
                if value + self.lam > 0:
                    total += mp.fdot(a, vector) * mp.fdot(b, vector) / (value + self.lam)
            return total

    def frt(self, old, new):
        """Definition 2: deleted (dissimilarity + 1)."""
        with mp.workdps(naive.DIGITS):
            deleted, cross = self.inner(old, old), self.inner(old, new)
            rest = self.inner(new, new) - (cross**2 / deleted if deleted > 0 else 0)
            return float(deleted * (rest + 1))

    @property
    def degrees_of_freedom(self):
        shares = [v / (v + self.lam) for v in self.values if v > 0]
        return float(mp.fsum(shares)) + self.intercept

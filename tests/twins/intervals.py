"""Slow, simple reference versions of the intervals: dense algebra on one window.

Nothing is imported from the package.
"""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
from scipy import stats
from twins import regression as naive

DIGITS = 50


class Window:
    """A regression on the rows of one window; their noise has the variance sigma^2 / weight."""

    def __init__(self, X, y, rule, intercept, weights=None):
        X, y, self.weights = naive.weighted_rows(X, y, weights)
        self.X, self.y, self.rule, self.intercept = X, y, rule, intercept
        self.n, self.d = X.shape
        found = naive.refit(X, y, rule, intercept, self.weights)
        self.coef, self.level, self.lam, self.rank = found
        middle = intercept and self.n > 0
        self.mean = np.average(X, axis=0, weights=self.weights) if middle else np.zeros(self.d)
        roots, self.heft = np.sqrt(self.weights), self.weights.sum()
        self.rows = roots[:, None] * (naive.centred(X, self.weights) if middle else X)
        self.responses = roots * (y - np.average(y, weights=self.weights) if middle else y)

    def predict(self, x):
        return float(x @ self.coef + self.level)

    def leverage(self, x):
        """x' (Phi + lam I)^-1 x of the centred x, plus 1 / n; infinite outside the span."""
        away = x - self.mean
        system = self.rows.T @ self.rows + self.lam * np.eye(self.d)
        if self.lam == 0.0:
            basis = np.linalg.svd(self.rows)[2][: self.rank]
            if np.linalg.norm(away - basis.T @ (basis @ away)) > 1e-7 * np.linalg.norm(away):
                return math.inf
            inverse = np.linalg.pinv(self.rows) @ np.linalg.pinv(self.rows).T
        else:
            inverse = np.linalg.inv(system)
        return float(away @ inverse @ away) + self.intercept / self.heft

    def directions(self):
        return self.rank if self.lam == 0.0 else min(self.n - self.intercept, self.d)

    def mean_scatter(self):
        return np.sum(self.rows**2) / max(self.directions(), 1)

    def freedom(self):
        n, r = self.n - self.intercept, self.directions()
        if self.lam == 0.0:
            return n - r
        return n - r + r * (self.lam / (self.mean_scatter() + self.lam)) ** 2

    def sigma(self):
        residuals = self.responses - self.rows @ self.coef
        return math.sqrt(float(residuals @ residuals) / self.freedom())


def gaussian(window, x, level):
    if window.n == 0 or window.freedom() < 1 - 1e-9:  # up to rounding
        return math.inf
    quantile = stats.t.ppf((1 + level) / 2, window.freedom())
    return quantile * window.sigma() * math.sqrt(1 + window.leverage(x))


def self_normalized(window, x, level):
    if window.n == 0 or window.freedom() < 1 - 1e-9:  # up to rounding
        return math.inf
    delta, share = (1 - level) / 2, window.intercept / window.heft
    r, scatter, lam = window.directions(), window.mean_scatter(), window.lam
    away, bias = window.leverage(x) - share, 0.0
    if math.isinf(away):
        return math.inf
    if lam > 0:
        if scatter > 0:
            norm = np.linalg.norm(window.coef) * (scatter + lam) / scatter
            bias = math.sqrt(lam) * norm
    else:
        lam = scatter
        away += lam * np.sum((np.linalg.pinv(window.rows.T @ window.rows) @ (x - window.mean)) ** 2)
    volume = r * math.log(1 + scatter / lam) if r else 0.0
    radius = window.sigma() * math.sqrt(volume + 2 * math.log(1 / delta)) + bias
    noise = window.sigma() * math.sqrt(2 * math.log(2 / delta) * (1 + share))
    return radius * math.sqrt(max(away, 0.0)) + noise


def conformal(window, x, level):
    alpha = 1 - level
    n = window.n
    m = min(n // 3, math.ceil(20 / alpha))
    if n == 0 or m < round(1 / alpha - 1, 9):
        return math.inf
    scores = []
    for t in range(n - m, n):
        past = window.X[:t], window.y[:t], window.rule, window.intercept, window.weights[:t]
        before = Window(*past)
        leverage = before.leverage(window.X[t])
        if math.isfinite(leverage):
            miss = abs(window.y[t] - before.predict(window.X[t]))
            scores.append(miss / math.sqrt(1 / window.weights[t] + leverage))
    return adapted(scores, alpha, alpha / 5) * math.sqrt(1 + window.leverage(x))


def adapted(scores, alpha, gamma):
    level = alpha
    for j, score in enumerate(scores):
        if (j + 1) * alpha >= 1:
            missed = score > quantile(scores[:j], level)
            level += gamma * (alpha - missed)
    return quantile(scores, level) if (len(scores) + 1) * alpha >= 1 - 1e-9 else math.inf


def quantile(scores, level):
    """The scores have the ranks 1 to m; linear interpolation between them, constant beyond."""
    ranks = np.arange(1, len(scores) + 1)
    return float(np.interp((len(scores) + 1) * (1 - level), ranks, sorted(scores)))


METHODS = {"gaussian": gaussian, "self-normalized": self_normalized, "conformal": conformal}


def exact_gaussian(X, y, lam, intercept, x, level):
    """``gaussian`` in 50 digits, for windows of full rank."""
    n, d = X.shape
    with mp.workdps(DIGITS):
        A, b, u = mp.matrix(X.tolist()), mp.matrix(y.tolist()), mp.matrix(x.tolist())
        if intercept:
            means = [mp.fsum(A[:, j]) / n for j in range(d)]
            middle = mp.fsum(b) / n
            for i in range(n):
                b[i] -= middle
                for j in range(d):
                    A[i, j] -= means[j]
            u = u - mp.matrix(means)
        gram = A.T * A
        trace = mp.fsum(gram[j, j] for j in range(d))
        system = gram + mp.mpf(lam) * mp.eye(d)
        theta = mp.lu_solve(system, A.T * b)
        residual = b - A * theta
        leverage = (u.T * mp.lu_solve(system, u))[0] + mp.mpf(intercept) / n
        r = min(n - intercept, d)
        freedom = n - intercept - r + r * (lam / (trace / r + lam)) ** 2
        squares = mp.fsum(v**2 for v in residual) / freedom * (1 + leverage)
        tail = lambda t: mp.betainc(  # noqa: E731
            freedom / 2, mp.mpf(1) / 2, 0, freedom / (freedom + t**2), regularized=True
        )
        start = stats.t.ppf((1 + level) / 2, float(freedom))
        t = mp.findroot(lambda t: tail(t) - (1 - mp.mpf(level)), start)
        return float(t * mp.sqrt(squares))

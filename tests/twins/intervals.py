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
        self.n_all = len(y)
        self.places = np.arange(len(y)) if weights is None else np.flatnonzero(weights > 0)
        X, y, self.weights = naive.weighted_rows(X, y, weights)
        self.X, self.y, self.rule, self.intercept = X, y, rule, intercept
        self.n, self.d = X.shape
        found = naive.refit(X, y, rule, intercept, self.weights)
        self.coef, self.level, self.lam, self.rank = found
        middle = intercept and self.n > 0
        self.mean = np.average(X, axis=0, weights=self.weights) if middle else np.zeros(self.d)
        roots, self.total_weight = np.sqrt(self.weights), self.weights.sum()
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
        return float(away @ inverse @ away) + self.intercept / self.total_weight

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
    delta, share = (1 - level) / 2, window.intercept / window.total_weight
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


def local(window, x, level):
    """The errors of the live rows over their spread, with whole hat matrices."""
    alpha = 1 - level
    if window.n == 0 or window.freedom() < max(2 / alpha, 20) - 1e-6:
        return gaussian(window, x, level)
    power = 2.0 if window.rule[0].startswith("standardized ") else 0.0
    variances = (window.rows**2).sum(axis=0) / window.total_weight
    system = window.rows.T @ window.rows + np.diag(window.lam * variances ** (power / 2))
    system[np.diag_indices(window.d)] *= 1 + 1e-9
    system[np.diag_indices(window.d)] += np.diag(system) == 0
    own = np.einsum("ij,ji->i", window.rows, np.linalg.solve(system, window.rows.T))
    free = 1 - own - window.intercept * window.weights / window.total_weight
    keep = free > 1e-6
    if keep.sum() < 20:
        return gaussian(window, x, level)
    roots, level_of = np.sqrt(window.weights[keep]), window.X[keep] @ window.coef + window.level
    errors = np.abs(window.y[keep] - level_of) * roots / np.sqrt(free[keep])
    rows, m = window.rows[keep] / roots[:, None], keep.sum()
    inverse = np.linalg.inv(system)
    hat = rows @ inverse @ (rows * roots[:, None] ** 2).T
    size = np.abs(level_of).mean()
    age = ((window.n_all - 1 - window.places) / window.n_all)[keep]
    fixed = [_root(np.abs(level_of) / max(size, 1e-300) + 0.05), (1 - 2 * age) ** 2, age]
    fixed_new = [_root(abs(window.predict(x)) / max(size, 1e-300) + 0.05), 1.0, 0.0]
    scale = max(errors.mean(), 1e-300)
    errors = errors / scale

    square = 2 * np.sqrt(errors + 0.05)
    square = square - square.mean()
    fit = _bounded((hat @ square - np.diag(hat) * square) / (1 - np.diag(hat)))
    at = _bounded((x - window.mean) @ inverse @ (rows * roots[:, None] ** 2).T @ square)
    columns = np.column_stack([fit, fit**2, *fixed])
    new = np.array([at, min(at**2, (fit**2).max()), *fixed_new]) - columns.mean(axis=0)
    columns = columns - columns.mean(axis=0)
    products = columns.T @ columns
    products[np.diag_indices(5)] *= 1 + 1e-9
    products[np.diag_indices(5)] += np.diag(products) < 1e-300
    inner = np.linalg.inv(products)

    def regress(target):
        middle = target.mean()
        target = target - middle
        coef = inner @ columns.T @ target
        explained = coef @ columns.T @ target
        variance = max(target @ target - explained, 0.0) / (m - 6)
        share = np.where((np.arange(5) == 3) & (coef > 0), 0.5, 1.0)
        kept = 1 - share * variance * np.diag(inner) / np.maximum(coef**2, 1e-300)
        kept = np.maximum(kept, 0.0) * ~((np.arange(5) == 0) & (coef < 0))
        smoother = columns @ np.diag(kept) @ inner @ columns.T + 1 / m
        own = np.diag(smoother)
        others = _bounded(middle + (smoother @ target - own * target) / (1 - own))
        noise = variance * max(new @ np.diag(kept) @ inner @ new - kept.sum() / m, 0.0)
        return _bounded(middle + smoother @ target), others, middle + new @ (kept * coef), noise

    first, _, _, _ = regress(_root(errors + 0.05))
    ratios = errors / _spread(first)
    ratios = np.minimum(ratios / max(ratios.mean(), 1e-300), 4.0)
    _, roots_of, at, noise = regress(first + (ratios - 1) * (1 + first / 4))
    scores = errors / _spread(roots_of)
    normal = stats.norm.ppf(1 - alpha / 2)
    student = stats.t.ppf(1 - alpha / 2, window.freedom())
    spread = scale * _spread(np.clip(at, roots_of.min(), roots_of.max()))
    half = quantile(scores, alpha) * spread * (1 + normal**2 * noise / 2) * student / normal
    return half * math.sqrt(1 + window.leverage(x))


def _root(value):
    return 4 * (value**0.25 - 1)


def _spread(root):
    return (1 + root / 4) ** 4


def _bounded(root):
    return np.clip(root, 4 * (0.01**0.25 - 1), 4 * (100**0.25 - 1))


METHODS = {
    "gaussian": gaussian,
    "self-normalized": self_normalized,
    "conformal": conformal,
    "local": local,
}


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

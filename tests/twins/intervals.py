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

    def used(self):
        """An upper bound of tr H: all eigenvalues alike."""
        scatter = self.mean_scatter()
        share = scatter / (scatter + self.lam) if self.lam > 0.0 else 1.0
        return self.intercept + self.directions() * share

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
    """A quantile of the errors over their spread, which is a second regression of the errors."""
    alpha = 1 - level
    if window.n == 0 or window.freedom() < 1.5 / alpha - 1e-6:
        return gaussian(window, x, level)
    most = max(1000, 10 * window.d, math.ceil(round(20 / alpha, 9)))
    newest = window.places >= window.n_all - most
    rows = window.X[newest], window.y[newest], window.weights[newest], np.ones(newest.sum())
    factor = 1 / math.sqrt(1 - window.used() / window.n)
    half, largest = local_half(*rows, window.coef, window.level, factor, x, alpha)
    return min(half, 10 * largest) * math.sqrt(1 + window.leverage(x))


def local_half(X, y, weights, shares, coef, intercept, factor, x, alpha):
    """Half the interval for a leverage of 0, and the largest error; rows have faded to shares."""
    omega = shares * weights * shares.sum() / (shares * weights).sum()
    total, d = omega.sum(), X.shape[1]
    alike = total**2 / (omega**2).sum()  # so many rows of equal weight tell as much (Kish)
    fitted, prediction = X @ coef + intercept, x @ coef + intercept
    error = np.abs(y - fitted) * factor
    usual, middle = np.average(error, weights=omega), np.average(y, weights=omega)
    if usual == 0:
        return 0.0, 0.0
    largest, error = error.max(), error / usual
    age = (np.cumsum(omega[::-1])[::-1] - omega) / total
    running = [1.0]
    for each in error:
        running.append(7 / 8 * running[-1] + each / 8)
    of_level = np.sqrt(np.abs(fitted - middle) / usual)
    columns = np.column_stack([X, of_level, age, np.sqrt(running[:-1])])
    new = np.array([*x, math.sqrt(abs(prediction - middle) / usual), 0.0, math.sqrt(running[-1])])
    smooth = _Smoother(columns, omega, d)

    target = np.minimum(error, 4) - 1
    g = smooth(target)[0]
    ratio = error / _spread(g)
    target = g + np.minimum(ratio / np.average(ratio, weights=omega), 4) - 1
    g, at, used = smooth(target, new)
    cut = math.floor(0.005 * total)
    low, high = _order(g, omega, cut + 1), _order(g, omega, total - cut)
    others = target - (target - g) / max(1 - used / alike, 0.1)
    score = error / _spread(np.clip(others, low, high))

    ends = (1 - 2 * age) ** 2
    middle_end = np.average(ends, weights=omega)
    ratio = np.minimum(score / np.average(score, weights=omega), 4)
    ratio, away = ratio - np.average(ratio, weights=omega), ends - middle_end
    square = (omega * away**2).sum()
    slope = (omega * away * ratio).sum() / square
    drift = 0.0
    if slope > 0:
        doubt = np.average(ratio**2, weights=omega) / square / slope**2
        drift = min(slope * max(0.0, 1 - doubt), 1.5)
    q = _order(score / (1 + drift * away), omega, total * (alike + 1) / alike * (1 - alpha))
    spread = usual * _spread(np.clip(at, low, high)) * (1 + drift * (1 - middle_end))
    return q * spread, largest


class _Smoother:
    """A regression on standardised columns with the selected penalty, by eigenvalues."""

    def __init__(self, columns, omega, level):
        self.omega, self.total = omega, omega.sum()
        self.mean = np.average(columns, axis=0, weights=omega)
        flat = np.ptp(columns, axis=0) == 0
        self.mean[flat] = columns[0, flat]
        variance = np.average((columns - self.mean) ** 2, axis=0, weights=omega)
        flat[level] |= variance[level] <= 1e-12
        self.scale = np.where(flat, 0.0, 1 / np.sqrt(np.where(flat, 1.0, variance)))
        self.rows = (columns - self.mean) * self.scale
        gram = (omega[:, None] * self.rows).T @ self.rows
        self.values, self.vectors = np.linalg.eigh(gram)
        self.values = np.maximum(self.values, 0.0)

    def __call__(self, target, new=None):
        """Fitted values, that of a new row, and the degrees of freedom used."""
        middle = np.average(target, weights=self.omega)
        away = target - middle
        pull = self.vectors.T @ (self.rows.T @ (self.omega * away))
        lam = self._penalty(pull, (self.omega * away**2).sum())
        theta = self.vectors @ (pull / (self.values + lam))
        used = 1 + (self.values / (self.values + lam)).sum()
        at = None if new is None else middle + ((new - self.mean) * self.scale) @ theta
        return middle + self.rows @ theta, at, used

    def _penalty(self, pull, square):
        """Rule S: the mean exponent over a grid; REML and GCV mixed, Beta(1/2, 1/2) on R^2."""
        d, n, w = len(self.values), self.total, self.values
        exponents, unit, free = np.arange(-30.0, 11.0, 2.0), w.sum() / d, n - 1
        rho = max(0.0, 1 - d / free)
        found = []
        for k in exponents:
            lam = unit * 2.0**k
            left = square - (pull**2 / (w + lam)).sum()
            residual = left - lam * (pull**2 / (w + lam) ** 2).sum()
            freedom = free - (w / (w + lam)).sum()
            log = (1 - rho) * (free * math.log(left) + np.log1p(w / lam).sum())
            if rho > 0:
                log += rho * free * math.log(residual / freedom**2)
            u = n / d * 2.0**k
            found.append(-log / 2 - math.log1p(u) + math.log(u) / 2)
        weights = np.exp(np.array(found) - max(found))
        return unit * 2.0 ** np.average(exponents, weights=weights)


def _order(values, weights, target):
    """The least value such that those up to it weigh ``target``."""
    order = np.argsort(values)
    reached = np.searchsorted(np.cumsum(weights[order]), target - 1e-9)
    return values[order[min(reached, len(values) - 1)]]


def _spread(g):
    return (1 + g / 256) ** 256


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

"""A slow and simple implementation of the experiments: one solve per step and method.

Nothing here imports the package.
"""

from __future__ import annotations

import numpy as np
from scipy import stats

START = 20


def draw(seed, run, rows, d, reading, sigma, df):
    """X, y and theta of a setting."""

    def generator(part):
        return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(run, part)))

    X = generator(0).standard_normal((rows, d))
    if reading == "unit-norm":
        X = np.array([x / np.sqrt(np.sum(x**2)) for x in X])
    theta = generator(1).standard_normal(d)
    theta = theta / np.sqrt(np.sum(theta**2))
    noise = generator(2).standard_normal(rows)
    if df is not None:
        noise = stats.t.isf(stats.norm.sf(noise), df)
    y = np.array([sum(x * theta) + sigma * e for x, e in zip(X, noise, strict=True)])
    return X, y, theta


def adaptive_penalty(X, y, delta):
    """Algorithm 2, with absolute values (E2) and 1 as the largest coefficient."""
    n, d = X.shape
    return np.sqrt(2 * n) * np.std(y, ddof=1) * np.abs(X).max() * np.sqrt(np.log(2 * d / delta))


def estimate(X, y, line, delta):
    """Coefficients and penalty of a method on its rows."""
    n, d = X.shape
    method, penalty = line
    if method == "zero":
        return np.zeros(d), np.nan
    if method == "auto":
        return selected(X, y)
    if method in ("fixed", "oracle"):
        lam = penalty
    elif method == "switching" and n > 2 * d:
        lam = 0.0
    else:
        lam = adaptive_penalty(X, y, delta)
    return np.linalg.solve(X.T @ X + lam * np.eye(d), X.T @ y), lam


def selected(X, y):
    """AutoRidge without an intercept: every formula of its page, from the singular values."""
    n, d = X.shape
    root = np.sqrt(np.sqrt(np.mean(X**2, axis=0)))
    left, sigma, _ = np.linalg.svd(X / root, full_matrices=False)
    pull = left.T @ y
    apart = np.sum((y - left @ pull) ** 2)
    share = max(0.0, 1 - d / n)
    exponents, logs = np.arange(-30, 11, 2), []
    base = np.sum(sigma**2) / d
    for k in exponents:
        lam = base * 2.0**k
        kept = lam / (sigma**2 + lam)
        restricted = n * np.log(apart + np.sum(kept * pull**2)) + np.sum(np.log(1 + sigma**2 / lam))
        free = n - np.sum(1 - kept)
        crossed = n * np.log((apart + np.sum((kept * pull) ** 2)) / free**2) if share else 0.0
        u = n * lam / (d * base)
        logs.append(
            -((1 - share) * restricted + share * crossed) / 2 - np.log(1 + u) + np.log(u) / 2
        )
    weights = np.exp(np.array(logs) - max(logs))
    lam = base * 2.0 ** (weights @ exponents / weights.sum())
    Z = X / root
    return np.linalg.solve(Z.T @ Z + lam * np.eye(d), Z.T @ y) / root, lam


def constant_memory(X, y, theta, s, line, delta):
    """Squared and absolute regret, L2 error and penalty at t = s+1 .. T."""
    records = []
    for t in range(s, len(y)):
        coef, lam = estimate(X[t - s : t], y[t - s : t], line, delta)
        loss = X[t] @ theta - X[t] @ coef
        records.append((loss**2, abs(loss), np.sqrt(np.sum((coef - theta) ** 2)), lam))
    return cumulated(records)


def growing_memory(X, y, theta, k, line, delta):
    """The same for (+k, -1): per step, k arrivals are predicted together and one row leaves."""
    live = list(range(START))
    records = []
    for first in range(START, len(y), k):
        coef, lam = estimate(X[live], y[live], line, delta)
        losses = [X[i] @ theta - X[i] @ coef for i in range(first, first + k)]
        squared, absolute = np.mean(np.square(losses)), np.mean(np.abs(losses))
        records.append((squared, absolute, np.sqrt(np.sum((coef - theta) ** 2)), lam))
        live.extend(range(first, first + k))
        live.pop(0)
    return cumulated(records)


def cumulated(records):
    squared, absolute, l2, lam = np.array(records).T
    return {
        "regret": np.cumsum(squared),
        "abs_regret": np.cumsum(absolute),
        "l2": l2,
        "lambda": lam,
    }


def ranks(choices, s):
    """The number of distinct unit vectors in each full window."""
    return [len(set(choices[t - s : t])) for t in range(s, len(choices) + 1)]

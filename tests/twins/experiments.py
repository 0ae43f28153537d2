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
    if method == "fixed":
        lam = penalty
    elif method == "switching" and n > 2 * d:
        lam = 0.0
    else:
        lam = adaptive_penalty(X, y, delta)
    return np.linalg.solve(X.T @ X + lam * np.eye(d), X.T @ y), lam


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

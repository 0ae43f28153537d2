"""Features as people have them: constants, prices, calendar times, quotes, polynomials."""

from __future__ import annotations

import numpy as np


def prices(rng, n, d=1):
    return 4000.0 + np.cumsum(rng.normal(size=(n, d)), axis=0)


def with_constant(features, value=1.0):
    return np.column_stack([np.full(len(features), value), features])


def quotes(rng, n):
    """Bid and ask."""
    middle = prices(rng, n)
    return np.hstack([middle - 0.5 * rng.random((n, 1)), middle + 0.5 * rng.random((n, 1))])


def correlated(rng, n, distance):
    x = rng.normal(size=(n, 1))
    return np.hstack([x, x + distance * rng.normal(size=(n, 1))])


def powers(n, degree):
    return np.column_stack([np.arange(1.0, n + 1) ** k for k in range(1, degree + 1)])


def kahan(n, s):
    """Kahan's triangular matrix: far closer to singular than its pivots show."""
    c = np.sqrt(1.0 - s * s)
    return (s ** np.arange(n))[:, np.newaxis] * (np.eye(n) - c * np.triu(np.ones((n, n)), 1))


DESIGNS = {
    "constant and price": lambda rng, n: with_constant(prices(rng, n)),
    "price and constant": lambda rng, n: with_constant(prices(rng, n), 2.5)[:, ::-1],
    "constant and three prices": lambda rng, n: with_constant(prices(rng, n, 3)),
    "constant and Kelvin": lambda rng, n: with_constant(rng.normal(293.0, 0.1, size=n)),
    "constant and year": lambda rng, n: with_constant(2000.0 + np.arange(n) / 12),
    "constant and mean 1e6": lambda rng, n: with_constant(rng.normal(1e6, 1.0, size=n)),
    "price alone": lambda rng, n: prices(rng, n, 2),
    "two powers of t": lambda rng, n: powers(n, 2),
    "three powers of t": lambda rng, n: powers(n, 3),
    "constant and powers of t": lambda rng, n: with_constant(powers(n, 3)),
    "bid and ask": quotes,
    "correlation 0.99999": lambda rng, n: correlated(rng, n, 4e-3),
    "nearly a copy": lambda rng, n: correlated(rng, n, 1e-6),
    "Kahan's matrix": lambda rng, n: rng.normal(size=(n, 8)) @ kahan(8, 0.6),
    "one feature 1e11 times larger": lambda rng, n: rng.normal(size=(n, 2)) * [1.0, 1e11],
    "2 % of rows 1e6 times larger": lambda rng, n: (
        rng.normal(size=(n, 2)) * np.where(rng.random((n, 1)) < 0.02, 1e6, 1.0)
    ),
}

# Features that are dependent in all rows, or in many windows.
DEPENDENT = {
    "constant column": lambda rng, n: with_constant(rng.normal(size=(n, 2)), 3.7),
    "one-hot": lambda rng, n: np.hstack([categories(rng, n, 4), rng.normal(size=(n, 2))]),
    "two one-hots": lambda rng, n: np.hstack([categories(rng, n, 3), categories(rng, n, 3)]),
    "rare flag": lambda rng, n: np.column_stack([rng.random(n) < 0.02, rng.normal(size=(n, 2))]),
    "copied column": lambda rng, n: rng.normal(size=(n, 3))[:, [0, 1, 0, 2]],
    "the same length in two units": lambda rng, n: (
        rng.normal(size=(n, 2))[:, [0, 1, 0]] * [1.0, 1.0, 1024.0]
    ),
    "total and parts": lambda rng, n: with_total(rng.integers(0, 9, size=(n, 3))),
    "rank swings": lambda rng, n: flags(n, 4, 37),
}


def categories(rng, n, levels):
    return np.eye(levels)[rng.integers(0, levels, n)]


def with_total(parts):
    return np.column_stack([parts, parts.sum(axis=1)]) * 1.0


def flags(n, d, period):
    X = np.zeros((n, d))
    for j in range(d):
        X[3 * j :: period + j, j] = 1.0
    return X


def sample(name, n, seed=0, noise=1.0):
    """Features and a response to which each of them contributes about 1, plus noise."""
    rng = np.random.default_rng(seed)
    X = np.ascontiguousarray({**DESIGNS, **DEPENDENT}[name](rng, n) * 1.0)
    means = np.abs(X).mean(axis=0)
    coef = rng.normal(size=X.shape[1]) / np.where(means > 0.0, means, 1.0)
    return X, X @ coef + noise * rng.normal(size=n)

"""Streams whose windows are constant, collinear, rank-deficient or ill-conditioned."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.workloads import NOISE, SEED, Array

CATEGORIES = 5

Change = Callable[[Array, int, np.random.Generator], None]  # (X, window, random numbers)


def constant_column(X: Array, s: int, random: np.random.Generator) -> None:
    """A feature with one value."""
    X[:, 0] = 3.7


def one_hot(X: Array, s: int, random: np.random.Generator) -> None:
    """One column per category: with the intercept, they are dependent."""
    X[:, :CATEGORIES] = np.eye(CATEGORIES)[random.integers(0, CATEGORIES, len(X))]


def rare_flag(X: Array, s: int, random: np.random.Generator) -> None:
    """1 in one row of two windows, else 0: the first window loses it after a hundred rows."""
    X[:, 0] = 0.0
    X[100 :: 2 * s, 0] = 1.0


def copied_column(X: Array, s: int, random: np.random.Generator) -> None:
    """A feature that comes twice."""
    X[:, 1] = X[:, 0]


def correlated(correlation: float) -> Change:
    """Two features with this correlation."""

    def change(X: Array, s: int, random: np.random.Generator) -> None:
        X[:, 1] = correlation * X[:, 0] + np.sqrt(1.0 - correlation**2) * X[:, 1]

    return change


def larger_column(X: Array, s: int, random: np.random.Generator) -> None:
    """A feature in units 1e11 times smaller."""
    X[:, 0] *= 1e11


def price(X: Array, s: int, random: np.random.Generator) -> None:
    """A constant and a price, as ``add_constant`` makes them."""
    X[:, 0] = 1.0
    X[:, 1] = 30_000.0 * np.exp(1e-4 * np.cumsum(random.standard_normal(len(X))))


def polynomial(X: Array, s: int, random: np.random.Generator) -> None:
    """The time, its square and its cube."""
    time = np.arange(len(X)) / s
    X[:, 0], X[:, 1], X[:, 2] = time, time**2, time**3


def giant_rows(X: Array, s: int, random: np.random.Generator) -> None:
    """2 % of the rows are 1e6 times larger."""
    X[random.random(len(X)) < 0.02] *= 1e6


def rank_swings(X: Array, s: int, random: np.random.Generator) -> None:
    """Half of the features are 0, but for one row in about a window and a quarter."""
    for j in range(X.shape[1] // 2):
        X[:, j] = 0.0
        X[j * s // 7 :: s + s // 4 + j, j] = 1.0


CASES: dict[str, Change] = {
    "constant column": constant_column,
    "one-hot": one_hot,
    "rare flag": rare_flag,
    "copied column": copied_column,
    "correlation 0.9999": correlated(0.9999),
    "correlation 0.99999": correlated(0.99999),
    "1e11 larger column": larger_column,
    "constant and price": price,
    "t, t², t³": polynomial,
    "2 % giant rows": giant_rows,
    "rank swings": rank_swings,
}
WITHOUT_INTERCEPT = {"constant and price"}


def hard_stream(name: str, n: int, d: int, s: int) -> tuple[Array, Array]:
    """Rows of a case for windows of s rows; of another name, plain Gaussian rows."""
    random = np.random.default_rng(SEED)
    X = random.standard_normal((n, d))
    if name in CASES:
        CASES[name](X, s, random)
    coef = random.standard_normal(d) / np.maximum(np.abs(X).max(axis=0), 1.0)
    return X, X @ coef + NOISE * random.standard_normal(n)

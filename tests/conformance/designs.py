"""Rows of every kind that a regression must survive, each a generator with a seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

Rng = np.random.Generator
Generator = Callable[[Rng, int, int], np.ndarray]  # features of n rows, from a number of features


class Stream(NamedTuple):
    """Rows in order of arrival; a row of weight 0 has no influence."""

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray


class Design(NamedTuple):
    """How the features of a stream are made, and how many there are."""

    features: Generator
    widths: tuple[int, ...] = (1, 2, 3, 4, 6)
    weights: str | None = None  # a key of WEIGHTS; by default any of the mild ones
    noise: float = 0.3
    response: float = 1.0  # the unit of the responses
    repeats: bool = False  # do features repeat values, so that sums give values of other rows?


def normal(rng: Rng, n: int, d: int) -> np.ndarray:
    return rng.normal(size=(n, d))


def scaled(rng: Rng, n: int, d: int) -> np.ndarray:
    return normal(rng, n, d) * 10.0 ** rng.permutation(np.linspace(-4, 4, d))


def far_from_zero(rng: Rng, n: int, d: int) -> np.ndarray:
    return normal(rng, n, d) + 1e6 * rng.choice([-1.0, 1.0], size=d)


def giant_rows(rng: Rng, n: int, d: int) -> np.ndarray:
    """A few rows a hundred million times larger: each enters, is the oldest, and leaves."""
    X = normal(rng, n, d)
    X[rng.choice(n, size=max(1, n // 15), replace=False)] *= 1e8
    return X


def copies(rng: Rng, n: int, d: int) -> np.ndarray:
    """Columns that are copies of others, in other units."""
    X = normal(rng, n, max(1, d - 1))
    return X[:, rng.integers(0, X.shape[1], size=d)] * 2.0 ** rng.integers(-8, 9, size=d)


def constants(rng: Rng, n: int, d: int) -> np.ndarray:
    """Columns that are constant, and columns that are constant for a while."""
    X = normal(rng, n, d)
    for j in range(d):
        if rng.random() < 0.5:
            spells = np.sort(rng.integers(0, rng.choice([1, 4]), size=n))
            X[:, j] = rng.choice([0.0, 0.1, 0.7, 3.7, -7.3], size=n)[spells]
    return X


def one_hot(rng: Rng, n: int, d: int) -> np.ndarray:
    return np.eye(d)[rng.integers(0, d, size=n)]


def two_one_hots(rng: Rng, n: int, d: int) -> np.ndarray:
    first = max(1, d // 2)
    return np.hstack([one_hot(rng, n, first), one_hot(rng, n, d - first)])


def rare_flags(rng: Rng, n: int, d: int) -> np.ndarray:
    X = normal(rng, n, d)
    X[:, rng.integers(d)] = rng.random(n) < 0.05
    return X


def unit_vectors(rng: Rng, n: int, d: int) -> np.ndarray:
    """The rank-swing design of the paper: unit vectors, in whole lengths."""
    return one_hot(rng, n, d) * rng.integers(1, 4, size=(n, 1))


def rotated_unit_vectors(rng: Rng, n: int, d: int) -> np.ndarray:
    """Rows repeated bit for bit, drawn from some rows of a random rotation."""
    rotation = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return rotation[rng.integers(0, rng.integers(max(1, d // 2), d + 1), size=n)]


def repeated_rows(rng: Rng, n: int, d: int) -> np.ndarray:
    """Rows repeated bit for bit, so that null vectors have components of any size."""
    return normal(rng, d, d)[rng.integers(0, rng.integers(1, d + 1), size=n)]


def integer_relations(rng: Rng, n: int, d: int) -> np.ndarray:
    """Whole numbers, some columns exact combinations of others with small, large and no shares."""
    free = max(1, d - int(rng.integers(1, 3)))
    base = rng.integers(-9, 10, size=(n, free)).astype(float)
    shares = rng.choice([0.0, 0.0, 1.0, -1.0, 1000.0, 1e6], size=(free, d - free))
    X = np.hstack([base, base @ shares]) * 2.0 ** rng.integers(-12, 13, size=d)
    return X[:, rng.permutation(d)]


def small_components(rng: Rng, n: int, d: int) -> np.ndarray:
    """One null vector of all rows, tiny or large in one column: rows are multiples of few rows."""
    few = normal(rng, d - 1, d)
    few[:, rng.choice([-1, rng.integers(d)])] *= 10.0 ** -rng.integers(-4, 7)
    return few[rng.integers(0, d - 1, size=n)] * 2.0 ** rng.integers(-3, 4, size=(n, 1))


def total_and_parts(rng: Rng, n: int, d: int) -> np.ndarray:
    parts = rng.integers(0, 9, size=(n, d - 1)).astype(float)
    return np.column_stack([parts, parts.sum(axis=1)])[:, rng.permutation(d)]


def kahan(rng: Rng, n: int, d: int) -> np.ndarray:
    """Mixed by Kahan's matrix: far closer to singular than its pivots show."""
    s = rng.uniform(0.4, 0.8)
    triangle = np.eye(d) - np.sqrt(1 - s * s) * np.triu(np.ones((d, d)), 1)
    return normal(rng, n, d) @ ((s ** np.arange(d))[:, np.newaxis] * triangle)


def polynomial(rng: Rng, n: int, d: int) -> np.ndarray:
    return np.arange(1.0, n + 1)[:, np.newaxis] ** np.arange(1, d + 1)


def prices(rng: Rng, n: int, d: int) -> np.ndarray:
    return 4000.0 + np.cumsum(normal(rng, n, d), axis=0)


def quotes(rng: Rng, n: int, d: int) -> np.ndarray:
    """Bid and ask prices."""
    spread = rng.random((n, d)) * np.where(np.arange(d) % 2, 0.5, -0.5)
    return prices(rng, n, 1) + spread


def dates(rng: Rng, n: int, d: int) -> np.ndarray:
    """Seconds since 1970, and normal features."""
    X = normal(rng, n, d)
    X[:, rng.integers(d)] = 1.7e9 + 3600.0 * np.arange(n)
    return X


def heavy_tails(rng: Rng, n: int, d: int) -> np.ndarray:
    return rng.standard_cauchy(size=(n, d))


def slow(rng: Rng, n: int, d: int) -> np.ndarray:
    X = normal(rng, n, d)
    X[:, 0] = 50.0 + np.cumsum(rng.normal(size=n)) * 0.01
    return X


def near_copies(rng: Rng, n: int, d: int) -> np.ndarray:
    return normal(rng, n, 1) + 10.0 ** -rng.integers(2, 7) * normal(rng, n, d)


def huge(rng: Rng, n: int, d: int) -> np.ndarray:
    return normal(rng, n, d) * 1e120


def tiny(rng: Rng, n: int, d: int) -> np.ndarray:
    return normal(rng, n, d) * 1e-120


def subnormal(rng: Rng, n: int, d: int) -> np.ndarray:
    """Below the smallest normal number: few bits are left of each value."""
    X = normal(rng, n, d)
    X[:, rng.integers(d)] *= 1e-310
    return X


SEVERAL = (2, 3, 4, 6)
DESIGNS: dict[str, Design] = {
    "normal": Design(normal),
    "many features": Design(normal, (12, 20)),
    "scaled 1e-4..1e4": Design(scaled, SEVERAL),
    "means 1e6": Design(far_from_zero),
    "giant rows": Design(giant_rows),
    "copies": Design(copies, SEVERAL),
    "constants": Design(constants, repeats=True),
    "one-hot": Design(one_hot, SEVERAL),
    "one-hot, weights 1e-3..1e3": Design(one_hot, SEVERAL, "1e-3..1e3"),
    "two one-hots": Design(two_one_hots, (4, 5, 6)),
    "rare flags": Design(rare_flags),
    "unit vectors": Design(unit_vectors, (2, 4, 6)),
    "rotated unit vectors": Design(rotated_unit_vectors, (3, 5, 8, 20, 20), repeats=True),
    "repeated rows": Design(repeated_rows, (2, 3, 5, 8), repeats=True),
    "integer relations": Design(integer_relations, (2, 3, 4, 6)),
    "small components": Design(small_components, (3, 5, 8), repeats=True),
    "total and parts": Design(total_and_parts, (3, 4, 6)),
    "Kahan": Design(kahan, (4, 6, 8)),
    "polynomial": Design(polynomial, (2, 3)),
    "prices": Design(prices),
    "quotes": Design(quotes, (2, 4)),
    "dates": Design(dates),
    "heavy tails": Design(heavy_tails),
    "slow feature": Design(slow),
    "near copies": Design(near_copies, (2, 3)),
    "weights 1e-8..1e8": Design(normal, (1, 2, 3, 4), "1e-8..1e8"),
    "giant rows, uneven weights": Design(giant_rows, (1, 2, 3), "1e-3..1e3"),
    "huge": Design(huge),
    "tiny": Design(tiny),
    "subnormal": Design(subnormal, response=1e-12),  # coefficients stay below 1e308
}

WEIGHTS: dict[str, Callable[[Rng, int], np.ndarray]] = {
    "ones": lambda rng, n: np.ones(n),
    "whole": lambda rng, n: rng.integers(0, 4, size=n).astype(float),
    "some zero": lambda rng, n: rng.choice([0.0, 0.5, 1.0, 2.5], size=n),
    "1e-3..1e3": lambda rng, n: 10.0 ** rng.uniform(-3, 3, size=n),
    "1e-8..1e8": lambda rng, n: 10.0 ** rng.uniform(-8, 8, size=n),
}
MILD = ("ones", "ones", "ones", "whole", "some zero")


def draw(name: str, rng: Rng, n: int) -> Stream:
    """A stream of a design: every feature contributes about as much as the noise."""
    design = DESIGNS[name]
    d = int(rng.choice(design.widths))
    X = np.ascontiguousarray(design.features(rng, n, d))
    middle = np.median(X, axis=0)
    sizes = np.median(np.abs(X - middle), axis=0)  # few giant rows do not count
    for other in (np.abs(X - middle).mean(axis=0), np.abs(middle), np.ones(d)):
        sizes = np.where(sizes == 0.0, other, sizes)
    y = ((X - middle) / sizes) @ rng.normal(size=d) + design.noise * rng.normal(size=n)
    y += rng.choice([0.0, 1.0, 50.0])
    kind = design.weights or rng.choice(MILD)
    return Stream(X, np.ascontiguousarray(y * design.response), WEIGHTS[kind](rng, n))

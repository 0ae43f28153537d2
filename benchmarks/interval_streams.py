"""Streams on which prediction intervals are measured, by what a user may expect of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.penalty import bikes
from benchmarks.workloads import Array

Random = np.random.Generator


@dataclass(frozen=True)
class Family:
    """Streams of one kind, and how far coverage may be from the level, in points."""

    name: str
    points: float
    thirds: float | None = None  # in each third of the noise
    width: float | None = None  # mean width over that of gaussian intervals
    widest: float | None = None  # largest width over that of gaussian intervals


IID = Family("equal noise", 1.2, width=1.08, widest=2.5)
UNEVEN = Family("varying spread", 1.5, thirds=4.0)
MOVING = Family("drift and jumps", 2.5)
TAILS = Family("heavy tails and skew", 1.5)
SMALL = Family("small windows", 3.0)
FAMILIES = (IID, UNEVEN, MOVING, TAILS, SMALL)
REAL = "real"


@dataclass(frozen=True)
class IntervalStream:
    """Rows with responses, the spread of their noise, and the model that predicts them."""

    family: str
    name: str
    s: int
    X: Array
    y: Array
    spread: Array
    weights: Array | None = None
    options: dict[str, Any] = field(default_factory=dict)


class _Maker:
    """Makes streams of a family, each by a generator of its own."""

    def __init__(self, seed: int, rows: int) -> None:
        self._seed, self._rows, self._made = seed, rows, 0

    def __call__(
        self,
        family: Family,
        name: str,
        s: int,
        features: Callable[[Random, int], Array],
        mean: Callable[[Random, Array], Array] | None = None,
        spread: Callable[[Random, Array, Array], Array] | None = None,
        noise: Callable[[Random, int], Array] | None = None,
        weights: Callable[[Random, int], Array] | None = None,
        **options: Any,
    ) -> IntervalStream:
        self._made += 1
        rng, n = np.random.default_rng([self._seed, self._made]), self._rows + s
        X = np.ascontiguousarray(features(rng, n), dtype=np.float64)
        level = X @ rng.normal(size=X.shape[1]) if mean is None else mean(rng, X)
        sd = np.ones(n) if spread is None else spread(rng, X, level)
        errors = rng.normal(size=n) if noise is None else noise(rng, n)
        y = level + sd * errors
        given = None if weights is None else weights(rng, n)
        return IntervalStream(family.name, name, s, X, y, sd, given, options)


def trial(seed: int, rows: int) -> Iterator[IntervalStream]:
    """The kinds of streams by which the constants of local intervals were chosen."""
    put = _Maker(seed, rows)
    yield put(IID, "binary", 250, binary(1), lambda rng, X: np.zeros(len(X)))
    yield put(IID, "3 binary", 250, binary(3))
    yield put(IID, "one-hot 12", 300, one_hot(12))
    for d in (1, 10, 50):
        for s in (200, 500):
            yield put(IID, f"normal, d {d}", s, normal(d))
    yield put(IID, "slow feature", 200, walk(0.1))
    yield put(IID, "two constants", 200, _constants)
    yield put(IID, "all constant", 200, lambda rng, n: np.ones((n, 2)))
    yield put(IID, "features of t(2)", 200, lambda rng, n: rng.standard_t(2, size=(n, 5)))
    yield put(IID, "Zipf one-hot 15", 200, one_hot(15, 1.0 / np.arange(1, 16)))
    yield put(UNEVEN, "exp(x1), d 5", 300, normal(5), spread=lambda r, X, m: np.exp(X[:, 0]))
    rising = {"mean": lambda r, X: 10 * X[:, 0], "spread": lambda r, X, m: 0.2 + 4 * X[:, 0]}
    yield put(UNEVEN, "level, d 3", 300, lambda rng, n: rng.uniform(size=(n, 3)), **rising)
    yield put(UNEVEN, "8 groups", 300, one_hot(8), lambda r, X: X @ (5 * r.normal(size=8)), groups)
    for rate in (0.001, 0.003):
        yield put(UNEVEN, f"growth {rate:g}", 300, normal(3), spread=growing(rate))
    yield put(UNEVEN, "bursts (GARCH)", 300, normal(3), spread=bursts, noise=burst_noise)
    yield put(UNEVEN, "size of the mean", 200, normal(5), spread=lambda r, X, m: 0.1 + 0.3 * abs(m))
    yield put(UNEVEN, "24 hours", 480, hours, spread=lambda r, X, m: hourly(len(X)))
    yield put(UNEVEN, "spread jumps", 300, normal(3), spread=spread_jumps)
    for d, step in ((3, 0.05), (5, 0.02), (20, 0.02)):
        yield put(MOVING, f"drift {step:g}, d {d}", 200, normal(d), drifting(step))
    for every in (400, 1000):
        yield put(MOVING, f"jumps every {every}", 200, normal(3), jumping(every))
    yield put(TAILS, "t(3)", 200, normal(5), noise=lambda r, n: r.standard_t(3, n))
    yield put(TAILS, "exponential", 200, normal(5), noise=lambda r, n: r.exponential(size=n) - 1)
    yield put(SMALL, "d 3", 30, normal(3))
    yield put(SMALL, "d 20", 60, normal(20))


def others(seed: int, rows: int) -> Iterator[IntervalStream]:
    """Streams that were fixed before any interval on them was looked at."""
    put = _Maker(seed + 1_000, rows)
    levels = {"features": lambda rng, n: rng.integers(0, 4, size=(n, 2))}
    yield put(IID, "+ 4 levels", 250, **levels)
    yield put(IID, "+ unbalanced one-hot", 200, one_hot(3, np.array([0.8, 0.15, 0.05])))
    yield put(IID, "+ trend", 200, trend)
    yield put(IID, "+ very slow feature", 300, walk(0.01))
    yield put(IID, "+ weights", 300, normal(3), weights=lambda r, n: r.choice([0.5, 1.0, 2.0], n))
    yield put(IID, "+ weights of 0", 300, normal(5), weights=lambda r, n: r.choice([0.0, 1.0], n))
    yield put(IID, "+ half-life 100", 500, normal(3), halflife=100)
    yield put(UNEVEN, "+ two groups, 1 to 4", 300, grouped, spread=lambda r, X, m: 1 + 3 * X[:, 0])
    both = {"spread": lambda r, X, m: np.exp(0.5 * X[:, 0] + 0.5 * X[:, 1])}
    yield put(UNEVEN, "+ exp(x1/2 + x2/2), d 20", 500, normal(20), **both)
    half = {"spread": lambda r, X, m: np.exp(0.5 * X[:, 0])}
    yield put(UNEVEN, "+ exp(x1/2), drift 0.01", 300, normal(5), drifting(0.01), **half)
    yield put(MOVING, "+ seasonal coefficients", 200, normal(3), seasonal)
    yield put(TAILS, "+ Laplace", 200, normal(5), noise=lambda r, n: r.laplace(size=n))
    yield put(TAILS, "+ gamma(2)", 200, normal(5), noise=lambda r, n: r.gamma(2.0, size=n) - 2.0)
    yield put(SMALL, "+ d 5", 50, normal(5))
    yield put(SMALL, "+ d 10", 40, normal(10))


def real() -> Iterator[IntervalStream]:
    """The streams of hired bicycles of `benchmarks penalty`."""
    for kind in ("numbers", "columns"):
        X, y = bikes(kind)
        yield IntervalStream(REAL, f"bicycles, {kind}", 716, X, y, np.ones(len(y)))


# -- features --------------------------------------------------------------------------------------


def normal(d: int) -> Callable[[Random, int], Array]:
    return lambda rng, n: rng.normal(size=(n, d))


def binary(d: int) -> Callable[[Random, int], Array]:
    return lambda rng, n: rng.integers(0, 2, size=(n, d))


def one_hot(d: int, shares: Array | None = None) -> Callable[[Random, int], Array]:
    p = None if shares is None else shares / shares.sum()
    return lambda rng, n: np.eye(d)[rng.choice(d, size=n, p=p)]


def walk(step: float) -> Callable[[Random, int], Array]:
    return lambda rng, n: np.cumsum(step * rng.normal(size=(n, 1)), axis=0)


def trend(rng: Random, n: int) -> Array:
    return np.asarray(np.arange(n)[:, np.newaxis] / 200 + 0.01 * rng.normal(size=(n, 1)))


def hours(rng: Random, n: int) -> Array:
    return np.column_stack([np.eye(24)[np.arange(n) % 24], rng.normal(size=(n, 2))])


def grouped(rng: Random, n: int) -> Array:
    return np.column_stack([rng.integers(0, 2, size=n), rng.normal(size=(n, 3))])


def _constants(rng: Random, n: int) -> Array:
    return np.column_stack([np.ones(n), rng.normal(size=n), np.full(n, 3.0)])


# -- means and spreads -----------------------------------------------------------------------------


def drifting(step: float) -> Callable[[Random, Array], Array]:
    """The mean where each coefficient is a random walk."""
    return lambda rng, X: np.asarray(
        (X * np.cumsum(step * rng.normal(size=X.shape), axis=0)).sum(axis=1)
    )


def jumping(every: int) -> Callable[[Random, Array], Array]:
    """The mean where coefficients are drawn again after so many rows."""

    def mean(rng: Random, X: Array) -> Array:
        at = np.arange(len(X)) // every
        return np.asarray((X * rng.normal(size=(at[-1] + 1, X.shape[1]))[at]).sum(axis=1))

    return mean


def seasonal(rng: Random, X: Array) -> Array:
    turn = 2 * np.pi * (np.arange(len(X))[:, np.newaxis] / 2_000 + rng.uniform(size=X.shape[1]))
    return np.asarray((X * np.sin(turn)).sum(axis=1))


def groups(rng: Random, X: Array, mean: Array) -> Array:
    return np.asarray(X @ np.geomspace(0.4, 3.0, 8)[rng.permutation(8)])


def hourly(n: int) -> Array:
    return np.asarray(np.exp(np.sin(np.arange(n) % 24 / 24 * 2 * np.pi)))


def spread_jumps(rng: Random, X: Array, mean: Array) -> Array:
    at = np.arange(len(X)) // 500
    return np.asarray(np.exp(0.7 * rng.normal(size=at[-1] + 1))[at])


def growing(rate: float) -> Callable[[Random, Array, Array], Array]:
    return lambda rng, X, mean: np.asarray(np.exp(rate * np.arange(len(X))))


BURSTS = 7  # the seed of the noise of bursts, on which their spread depends


def burst_noise(rng: Random, n: int) -> Array:
    return np.random.default_rng([BURSTS, n]).normal(size=n)


def bursts(rng: Random, X: Array, mean: Array) -> Array:
    """A variance that follows the last squares of the noise (GARCH)."""
    noise, variance = burst_noise(rng, len(X)), np.ones(len(X))
    for t in range(1, len(X)):
        before = variance[t - 1]
        variance[t] = 0.05 + 0.15 * before * noise[t - 1] ** 2 + 0.80 * before
    return np.asarray(np.sqrt(variance))

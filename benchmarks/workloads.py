"""Seeded streams and the rolling regressions that all contenders solve."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

SEED = 20_260_101
NOISE = 0.1


@dataclass(frozen=True)
class Point:
    """A size of problem: rows, features, window and penalty."""

    n: int
    d: int
    s: int
    alpha: float = 0.0

    @property
    def model(self) -> str:
        """The name of the model."""
        return "ridge" if self.alpha else "OLS"

    @property
    def label(self) -> str:
        """The name of the point in tables and JSON."""
        return f"{self.model} n={self.n} d={self.d} s={self.s}"


@dataclass(frozen=True)
class Work:
    """A rolling regression: coefficients at every row whose window is full."""

    X: Array
    y: Array
    s: int
    alpha: float = 0.0

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.y)

    @property
    def d(self) -> int:
        """The number of features."""
        return int(self.X.shape[1])

    @property
    def windows(self) -> int:
        """The number of rows with a full window."""
        return self.n - self.s + 1

    def head(self, windows: int) -> Work:
        """The same problem cut to its first `windows` full windows."""
        rows = min(self.n, self.s - 1 + windows)
        return replace(self, X=self.X[:rows], y=self.y[:rows])

    def window(self, row: int) -> tuple[Array, Array]:
        """The live rows after `row` has arrived."""
        live = slice(row - self.s + 1, row + 1)
        return self.X[live], self.y[live]


def gaussian(n: int, d: int, seed: int = SEED) -> tuple[Array, Array]:
    """Independent normal features and a linear target with noise."""
    rng = np.random.default_rng([seed, n, d])
    X = rng.standard_normal((n, d))
    y = X @ rng.standard_normal(d) + NOISE * rng.standard_normal(n)
    return X, y


def rolling_work(point: Point) -> Work:
    """The gaussian stream of a point's size."""
    X, y = gaussian(point.n, point.d)
    return Work(X, y, point.s, point.alpha)


def giant_work(n: int, d: int, s: int, row: int, alpha: float, factor: float = 1e8) -> Work:
    """A gaussian stream in which one row is `factor` times larger than the rest."""
    X, y = gaussian(n, d)
    X[row] *= factor
    y[row] *= factor
    return Work(X, y, s, alpha)


def units_work(n: int, d: int, s: int, rotated: bool = True, seed: int = SEED) -> Work:
    """Features drawn uniformly from d orthogonal unit vectors, so that the rank changes.

    The first d rows contain each vector once, so that the first window has full rank.
    """
    rng = np.random.default_rng([seed, n, d, s])
    units = np.linalg.qr(rng.standard_normal((d, d)))[0] if rotated else np.eye(d)
    drawn = np.concatenate([rng.permutation(d), rng.integers(d, size=n - d)])
    X = np.ascontiguousarray(units[drawn])
    y = X @ rng.standard_normal(d) + NOISE * rng.standard_normal(n)
    return Work(X, y, s)

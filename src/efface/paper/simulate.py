"""Seeded streams: the contexts, coefficients and noise of the paper's experiments.

A stream is a function of a seed and a run number. Contexts, coefficients and noise have separate
generators. A longer stream therefore starts with the rows of a shorter one, and two settings of the
same run share their random numbers, so that comparisons between settings are paired.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, stdtrit

from efface.inputs.parameters import choice
from efface.theory.coverage import CONTEXTS, Contexts
from efface.theory.geometry import Array

Reading = Contexts  # of the word "normalized" in the paper
READINGS = CONTEXTS

_CONTEXTS, _COEFFICIENTS, _NOISE, _UNITS = range(4)


@dataclass(frozen=True, eq=False)
class Simulated:
    """Rows of a linear model with known coefficients: y = signal + noise, signal = X theta."""

    X: Array
    y: Array
    theta: Array
    signal: Array

    def rescaled(self, factor: float) -> Simulated:
        """The contexts in other units, with the same coefficients and the same noise."""
        X, signal = self.X * factor, self.signal * factor
        return Simulated(X, signal + (self.y - self.signal), self.theta, signal)


def linear_stream(
    seed: int,
    run: int,
    rows: int,
    d: int,
    *,
    reading: Reading = "standardized",
    sigma: float = 1.0,
    df: float | None = None,
    equal_variance: bool = False,
) -> Simulated:
    """Gaussian contexts, coefficients of length 1, and Gaussian or Student-t noise times ``sigma``.

    The paper draws contexts from N(0, I) and "normalizes" them. Under the reading ``standardized``
    the coordinates stay N(0, 1); under ``unit-norm`` each row is divided by its length. Student-t
    noise with ``df`` degrees of freedom has the quantiles of the Gaussian noise of the same run.
    Its variance is df / (df - 2), or 1 with ``equal_variance``.

    >>> stream = linear_stream(seed=0, run=3, rows=50, d=4, reading="unit-norm")
    >>> bool(np.allclose(np.linalg.norm(stream.X, axis=1), 1)), stream.y.shape
    (True, (50,))
    """
    choice("reading", reading, READINGS)
    X = _generator(seed, run, _CONTEXTS).standard_normal((rows, d))
    if reading == "unit-norm":
        X /= np.linalg.norm(X, axis=1, keepdims=True)
    theta = _generator(seed, run, _COEFFICIENTS).standard_normal(d)
    theta /= np.linalg.norm(theta)
    noise = _generator(seed, run, _NOISE).standard_normal(rows)
    if df is not None:
        noise = _student(noise, df) / (student_sd(df) if equal_variance else 1.0)
    signal = np.asarray(X @ theta)
    return Simulated(X, signal + sigma * noise, theta, signal)


def student_sd(df: float) -> float:
    """The standard deviation of Student-t noise.

    >>> student_sd(4) ** 2
    2.0000000000000004
    """
    return math.sqrt(df / (df - 2))


def unit_vectors(seed: int, run: int, rows: int, d: int) -> Array:
    """Rows drawn uniformly from e_1 .. e_d.

    >>> unit_vectors(seed=0, run=0, rows=3, d=4).sum(axis=1)
    array([1., 1., 1.])
    """
    return np.eye(d)[_generator(seed, run, _UNITS).integers(d, size=rows)]


def _student(gaussian: Array, df: float) -> Array:
    """The Student-t value at the same quantile, computed in the lower tail to keep its digits."""
    return np.asarray(-np.sign(gaussian) * stdtrit(df, ndtr(-np.abs(gaussian))))


def _generator(seed: int, run: int, part: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(run, part)))

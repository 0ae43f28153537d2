"""Seeded streams: the contexts, coefficients and noise of the paper's experiments.

A stream is a function of a seed and the number of its run. Contexts, coefficients and noise come
from generators of their own, so a longer stream begins like a shorter one, and two settings of the
same run differ only in what their settings say: a comparison of the two is a paired one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit

from efface.errors import InvalidValue, unusable

Array = NDArray[np.float64]
Reading = Literal["standardized", "unit-norm"]

READINGS: tuple[Reading, ...] = get_args(Reading)

_CONTEXTS, _COEFFICIENTS, _NOISE, _UNITS = range(4)


@dataclass(frozen=True, eq=False)
class Simulated:
    """Rows of a linear model whose coefficients are known: y = signal + noise, signal = X theta."""

    X: Array
    y: Array
    theta: Array
    signal: Array


def linear_stream(
    seed: int,
    run: int,
    rows: int,
    d: int,
    *,
    reading: Reading = "standardized",
    sigma: float = 1.0,
    df: float | None = None,
) -> Simulated:
    """Gaussian contexts, coefficients of length 1, and Gaussian or Student-t noise times ``sigma``.

    The paper draws contexts from N(0, I) and "normalizes" them: under the reading ``standardized``
    coordinates stay N(0, 1), under ``unit-norm`` each row is divided by its length. Noise with
    ``df`` degrees of freedom is the quantile of the Gaussian noise of the same run.

    >>> stream = linear_stream(seed=0, run=3, rows=50, d=4, reading="unit-norm")
    >>> bool(np.allclose(np.linalg.norm(stream.X, axis=1), 1)), stream.y.shape
    (True, (50,))
    """
    if reading not in READINGS:
        raise InvalidValue(unusable("reading", reading, f"one of {READINGS}", "choose one"))
    X = _generator(seed, run, _CONTEXTS).standard_normal((rows, d))
    if reading == "unit-norm":
        X /= np.linalg.norm(X, axis=1, keepdims=True)
    theta = _generator(seed, run, _COEFFICIENTS).standard_normal(d)
    theta /= np.linalg.norm(theta)
    noise = _generator(seed, run, _NOISE).standard_normal(rows)
    signal = np.asarray(X @ theta)
    return Simulated(
        X, signal + sigma * (noise if df is None else _student(noise, df)), theta, signal
    )


def unit_vectors(seed: int, run: int, rows: int, d: int) -> Array:
    """Rows drawn uniformly from e_1 .. e_d.

    >>> unit_vectors(seed=0, run=0, rows=3, d=4).sum(axis=1)
    array([1., 1., 1.])
    """
    return np.eye(d)[_generator(seed, run, _UNITS).integers(d, size=rows)]


def _student(gaussian: Array, df: float) -> Array:
    """The Student-t number at the same quantile, by the lower tail, which keeps its digits."""
    return np.asarray(-np.sign(gaussian) * stdtrit(df, ndtr(-np.abs(gaussian))))


def _generator(seed: int, run: int, part: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(run, part)))

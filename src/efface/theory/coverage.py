"""Nominal and measured coverage of every confidence radius, by simulation.

The table has the paper's radii beside the valid ones. Lemmas 1, 3 and 4 fail (E4, E13).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from efface.inputs.parameters import choice, whole
from efface.theory.geometry import Array, WindowSpectrum, spectrum
from efface.theory.quantities import adaptive_penalty, l2_error
from efface.theory.radii import (
    euclidean_radii,
    gaussian_radii,
    noise_radii,
    paper_ball_radii,
    paper_ols_radii,
    paper_ridge_radii,
    self_normalized_radii,
)

Contexts = Literal["standardized", "unit-norm"]
Signal = Literal["equal", "random"]

SETTINGS: tuple[tuple[int, int], ...] = ((2, 50), (2, 5000), (10, 100), (10, 5000), (50, 200))
CONTEXTS: tuple[Contexts, ...] = get_args(Contexts)

_BATCH = 2_000_000  # numbers drawn at once: 16 MB


@dataclass(frozen=True)
class CoverageRow:
    """The measured coverage of one radius in one setting.

    ``valid``: a theorem guarantees at least the nominal coverage. ``exact``: it guarantees exactly
    the nominal coverage.
    """

    radius: str
    norm: str
    contexts: Contexts
    d: int
    s: int
    nominal: float
    coverage: float
    replicates: int
    valid: bool
    exact: bool

    @property
    def margin(self) -> float:
        """Four standard errors of the measured coverage at the nominal level."""
        return 4 * math.sqrt(self.nominal * (1 - self.nominal) / self.replicates)

    @property
    def falls_short(self) -> bool:
        """Whether the coverage is below the nominal level by more than ``margin``."""
        return self.coverage < self.nominal - self.margin


@dataclass(frozen=True, eq=False)
class _Batch:
    """Simulated windows: their spectra, Gram matrices X'X, moments X'y and residual sums."""

    windows: WindowSpectrum
    gram: Array
    moment: Array
    rss: Array
    theta: Array
    sigma: float
    delta: float

    @cached_property
    def penalty(self) -> Array:
        """Lemma 3's penalty of each window, at the true noise level and the true max|theta_j|."""
        largest = float(np.abs(self.theta).max())
        n, d = self.windows.n, self.windows.d
        unit = adaptive_penalty(n, d, self.sigma, 1.0, delta=self.delta, theta_max=largest)
        return unit * self.windows.x_max

    @property
    def noise_moment(self) -> Array:
        """X' eps."""
        return self.moment - self.gram @ self.theta

    @property
    def length(self) -> float:
        return float(np.linalg.norm(self.theta))

    def solve(self, penalty: float | Array, right: Array) -> Array:
        """Phi_lam^-1 times a vector per window."""
        ridge = np.multiply.outer(np.asarray(penalty), np.eye(self.windows.d))
        return np.linalg.solve(self.gram + ridge, right[..., np.newaxis])[..., 0]

    def gram_norm(self, error: Array, penalty: float | Array) -> Array:
        squares = np.einsum("ki,kij,kj->k", error, self.gram, error)
        return np.asarray(np.sqrt(squares + penalty * (error**2).sum(axis=1)))


@dataclass(frozen=True)
class _Method:
    """A radius: its name, its norm, its guarantee, and the estimate that it is for."""

    radius: str
    norm: Literal["Phi", "Phi_lam", "Euclidean", "largest"]
    valid: bool
    exact: bool
    penalty: float | Literal["Lemma 3"]
    radii: Callable[[_Batch], Array]
    around_mean: bool = False  # covers the mean of the estimate, not theta*

    def covers(self, batch: _Batch) -> NDArray[np.bool_]:
        """For each window, whether the ellipsoid around the estimate covers its target."""
        if self.norm == "largest":
            return np.asarray(np.abs(batch.noise_moment).max(axis=1) <= self.radii(batch))
        penalty: Array | float = batch.penalty if self.penalty == "Lemma 3" else self.penalty
        target = batch.theta
        if self.around_mean:
            target = batch.solve(penalty, batch.gram @ batch.theta)
        error = batch.solve(penalty, batch.moment) - target
        if self.norm == "Euclidean":
            return l2_error(error, 0.0) <= self.radii(batch)
        return batch.gram_norm(error, penalty) <= self.radii(batch)


def _lemma_1(b: _Batch) -> Array:
    return paper_ols_radii(b.windows, sigma=b.sigma, delta=b.delta)


def _euclidean_ols(b: _Batch) -> Array:
    return euclidean_radii(b.windows, sigma=b.sigma, delta=b.delta)


def _chi_square(b: _Batch) -> Array:
    return gaussian_radii(b.windows, sigma=b.sigma, delta=b.delta)


def _f_ratio(b: _Batch) -> Array:
    return gaussian_radii(b.windows, rss=b.rss, delta=b.delta)


def _self_normalized(b: _Batch) -> Array:
    return self_normalized_radii(
        b.windows, penalty=1.0, sigma=b.sigma, theta_norm=b.length, delta=b.delta
    )


def _noise_event(b: _Batch) -> Array:
    return noise_radii(b.windows, sigma=b.sigma, delta=b.delta)


def _lemma_3(b: _Batch) -> Array:
    return paper_ball_radii(b.windows, penalty=b.penalty, sigma=b.sigma, delta=b.delta)


def _lemma_4(b: _Batch) -> Array:
    return paper_ridge_radii(
        b.windows, penalty=b.penalty, sigma=b.sigma, theta=b.theta, delta=b.delta
    )


def _euclidean_ridge(b: _Batch) -> Array:
    return euclidean_radii(
        b.windows, sigma=b.sigma, delta=b.delta, penalty=b.penalty, theta_norm=b.length
    )


def _chi_square_and_bias(b: _Batch) -> Array:
    return np.asarray(_chi_square(b) + np.sqrt(b.penalty) * b.length)


METHODS: tuple[_Method, ...] = (
    _Method("noise event, App. A", "largest", True, False, 0.0, _noise_event),
    _Method("paper, Lemma 1", "Phi", False, False, 0.0, _lemma_1),
    _Method("Euclidean ball, OLS", "Euclidean", True, False, 0.0, _euclidean_ols),
    _Method("Gaussian chi-square", "Phi", True, True, 0.0, _chi_square),
    _Method("Gaussian F", "Phi", True, True, 0.0, _f_ratio),
    _Method("self-normalised, lam = 1", "Phi_lam", True, False, 1.0, _self_normalized),
    _Method("paper, Lemma 3", "Euclidean", False, False, "Lemma 3", _lemma_3),
    _Method("paper, Lemma 4", "Phi_lam", False, False, "Lemma 3", _lemma_4),
    _Method("paper, Lemma 4 as a ball", "Euclidean", False, False, "Lemma 3", _lemma_4),
    _Method("Euclidean ball, ridge", "Euclidean", True, False, "Lemma 3", _euclidean_ridge),
    _Method("Gaussian ridge, with bias", "Phi_lam", True, False, "Lemma 3", _chi_square_and_bias),
    _Method("Gaussian ridge, its mean", "Phi_lam", True, False, "Lemma 3", _f_ratio, True),
)


def coverage_table(
    *,
    settings: Sequence[tuple[int, int]] = SETTINGS,
    contexts: Sequence[Contexts] = CONTEXTS,
    signal: Signal = "equal",
    sigma: float = 1.0,
    delta: float = 0.05,
    replicates: int = 2000,
    seed: int = 0,
) -> tuple[CoverageRow, ...]:
    """For every radius, the share of simulated windows whose ellipsoid covers its target.

    y = X theta* + sigma N(0, 1). Contexts have N(0, 1) coordinates ("standardized") or are the same
    rows scaled to unit Euclidean length ("unit-norm"). ||theta*||_2 = 1, with equal coordinates,
    for which Assumption 1 holds in the default settings, or with a random direction. Ridge radii
    use the penalty of Lemma 3 at the true sigma and max|theta_j|.

    Holds: up to the sampling error, sqrt(0.95 * 0.05 / replicates) at the nominal 95 %. Each
    setting has its own random numbers, so its coverage does not depend on the other settings.

    >>> rows = coverage_table(settings=[(2, 50)], contexts=["unit-norm"], replicates=200, seed=1)
    >>> [row.radius for row in rows if row.falls_short]
    ['paper, Lemma 1', 'paper, Lemma 3', 'paper, Lemma 4', 'paper, Lemma 4 as a ball']
    """
    whole("replicates", replicates, 1)
    studies = (
        _Study(reading, d, s, signal, sigma, delta, replicates, seed)
        for reading in contexts
        for d, s in settings
    )
    return tuple(row for study in studies for row in _rows(study))


@dataclass(frozen=True)
class _Study:
    """One setting of the table."""

    contexts: Contexts
    d: int
    s: int
    signal: Signal
    sigma: float
    delta: float
    replicates: int
    seed: int


def _rows(study: _Study) -> list[CoverageRow]:
    """One row per radius, for one setting."""
    counts = np.zeros(len(METHODS))
    for batch in _batches(study):
        counts += [method.covers(batch).sum() for method in METHODS]
    return [
        CoverageRow(
            radius=method.radius,
            norm=method.norm,
            contexts=study.contexts,
            d=study.d,
            s=study.s,
            nominal=1 - study.delta,
            coverage=float(count / study.replicates),
            replicates=study.replicates,
            valid=method.valid,
            exact=method.exact,
        )
        for method, count in zip(METHODS, counts, strict=True)
    ]


def _batches(study: _Study) -> Iterator[_Batch]:
    """The replicates of one setting, one batch at a time."""
    choice("contexts", study.contexts, CONTEXTS)
    d, s = study.d, study.s
    rng = np.random.default_rng([study.seed, d, s, CONTEXTS.index(study.contexts)])
    theta = _theta(rng, d, study.signal)
    size = max(1, _BATCH // (s * d))
    for start in range(0, study.replicates, size):
        X = rng.standard_normal((min(size, study.replicates - start), s, d))
        if study.contexts == "unit-norm":
            X /= np.linalg.norm(X, axis=2, keepdims=True)
        y = X @ theta + study.sigma * rng.standard_normal(X.shape[:2])
        transposed = X.swapaxes(1, 2)
        gram, moment = transposed @ X, (transposed @ y[..., np.newaxis])[..., 0]
        fit = np.linalg.solve(gram, moment[..., np.newaxis])
        rss = ((y - (X @ fit)[..., 0]) ** 2).sum(axis=1)
        yield _Batch(spectrum(X), gram, moment, rss, theta, study.sigma, study.delta)


def _theta(rng: np.random.Generator, d: int, signal: Signal) -> Array:
    """A coefficient vector of length 1 with a positive coordinate."""
    if choice("signal", signal, get_args(Signal)) == "equal":
        return np.full(d, 1 / math.sqrt(d))
    theta = rng.standard_normal(d)
    theta[0] = abs(theta[0])
    return np.asarray(theta / np.linalg.norm(theta))


def render_coverage(rows: Sequence[CoverageRow]) -> str:
    """The table as plain text: one line per radius, one column per setting, coverage in percent.

    A star marks a coverage below nominal by more than four standard errors.

    >>> short = ("paper, Lemma 1", "Phi", "unit-norm", 2, 50, 0.95, 0.58, 200, False, False)
    >>> print(render_coverage([CoverageRow(*short)]))
    nominal 95 %, 200 replicates, * falls short
    unit-norm contexts                    (2, 50)
      paper, Lemma 1            Phi             58.0*
    """
    first = rows[0]
    lines = [f"nominal {100 * first.nominal:g} %, {first.replicates} replicates, * falls short"]
    for reading in dict.fromkeys(row.contexts for row in rows):
        part = [row for row in rows if row.contexts == reading]
        settings = list(dict.fromkeys((row.d, row.s) for row in part))
        heads = "".join(f"{setting!s:>12}" for setting in settings)
        lines.append(f"{f'{reading} contexts':33}{heads}")
        for name, norm in dict.fromkeys((row.radius, row.norm) for row in part):
            lines.append(f"  {name:25} {norm:9}" + _cells(part, name, settings))
    return "\n".join(line.rstrip() for line in lines)


def _cells(rows: list[CoverageRow], name: str, settings: list[tuple[int, int]]) -> str:
    by_setting = {(row.d, row.s): row for row in rows if row.radius == name}
    cells = (by_setting[setting] for setting in settings)
    return "".join(f"{100 * c.coverage:11.1f}{'*' if c.falls_short else ' '}" for c in cells)

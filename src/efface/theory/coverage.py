"""Nominal against measured coverage of every confidence radius, by simulation.

The paper's radii are measured beside the valid ones: where its Lemmas 1 and 4 fail (E4), the
table shows it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from efface.theory.geometry import Array, Spectrum, invalid, spectrum
from efface.theory.quantities import adaptive_penalty, l2_error
from efface.theory.radii import (
    euclidean_radii,
    gaussian_radii,
    paper_ols_radii,
    paper_ridge_radii,
    self_normalized_radii,
)

Contexts = Literal["standardized", "unit-norm"]
Signal = Literal["equal", "random"]

SETTINGS: tuple[tuple[int, int], ...] = ((2, 50), (2, 5000), (10, 100), (10, 5000), (50, 200))
CONTEXTS: tuple[Contexts, ...] = ("standardized", "unit-norm")

_BATCH = 2_000_000  # numbers drawn at a time: 16 MB


@dataclass(frozen=True)
class CoverageRow:
    """The measured coverage of one radius in one setting.

    ``valid`` says whether a theorem promises the nominal level there; ``exact`` whether it promises
    no more than that.
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
        """Whether the coverage is below nominal by more than chance explains."""
        return self.coverage < self.nominal - self.margin


@dataclass(frozen=True, eq=False)
class _Batch:
    """Simulated windows: their spectra, Gram matrices X'X, moments X'y and residual sums."""

    windows: Spectrum
    gram: Array
    moment: Array
    rss: Array
    theta: Array
    sigma: float
    delta: float

    @property
    def penalty(self) -> Array:
        """Lemma 3's penalty of each window, at the true noise level and the true max|theta_j|."""
        largest = float(np.abs(self.theta).max())
        n, d = self.windows.n, self.windows.d
        unit = adaptive_penalty(n, d, self.sigma, 1.0, delta=self.delta, theta_max=largest)
        return unit * self.windows.x_max

    @property
    def length(self) -> float:
        return float(np.linalg.norm(self.theta))

    def estimate(self, penalty: float | Array) -> Array:
        return self._solve(penalty, self.moment)

    def shrunken_target(self, penalty: float | Array) -> Array:
        return self._solve(penalty, self.gram @ self.theta)

    def _solve(self, penalty: float | Array, right: Array) -> Array:
        ridge = np.multiply.outer(np.asarray(penalty), np.eye(self.windows.d))
        return np.linalg.solve(self.gram + ridge, right[..., np.newaxis])[..., 0]

    def gram_norm(self, error: Array, penalty: float | Array = 0.0) -> Array:
        squares = np.einsum("ki,kij,kj->k", error, self.gram, error)
        return np.asarray(np.sqrt(squares + penalty * (error**2).sum(axis=1)))


@dataclass(frozen=True)
class _Method:
    """A radius under test: what it is called, its norm, what is promised, and who is covered."""

    radius: str
    norm: str
    valid: bool
    exact: bool
    covers: Callable[[_Batch], NDArray[np.bool_]]


def _paper_ols(batch: _Batch) -> NDArray[np.bool_]:
    radii = paper_ols_radii(batch.windows, sigma=batch.sigma, delta=batch.delta)
    return batch.gram_norm(batch.estimate(0.0) - batch.theta) <= radii


def _euclidean_ols(batch: _Batch) -> NDArray[np.bool_]:
    radii = euclidean_radii(batch.windows, sigma=batch.sigma, delta=batch.delta)
    return l2_error(batch.estimate(0.0), batch.theta) <= radii


def _chi_square(batch: _Batch) -> NDArray[np.bool_]:
    radii = gaussian_radii(batch.windows, sigma=batch.sigma, delta=batch.delta)
    return batch.gram_norm(batch.estimate(0.0) - batch.theta) <= radii


def _f_ratio(batch: _Batch) -> NDArray[np.bool_]:
    radii = gaussian_radii(batch.windows, rss=batch.rss, delta=batch.delta)
    return batch.gram_norm(batch.estimate(0.0) - batch.theta) <= radii


def _self_normalized(batch: _Batch) -> NDArray[np.bool_]:
    radii = self_normalized_radii(
        batch.windows, penalty=1.0, sigma=batch.sigma, theta_norm=batch.length, delta=batch.delta
    )
    return batch.gram_norm(batch.estimate(1.0) - batch.theta, 1.0) <= radii


def _paper_ridge(batch: _Batch) -> NDArray[np.bool_]:
    error = batch.estimate(batch.penalty) - batch.theta
    return batch.gram_norm(error, batch.penalty) <= _lemma_4(batch)


def _paper_ridge_ball(batch: _Batch) -> NDArray[np.bool_]:
    return l2_error(batch.estimate(batch.penalty), batch.theta) <= _lemma_4(batch)


def _lemma_4(batch: _Batch) -> Array:
    return paper_ridge_radii(
        batch.windows,
        penalty=batch.penalty,
        sigma=batch.sigma,
        theta=batch.theta,
        delta=batch.delta,
    )


def _euclidean_ridge(batch: _Batch) -> NDArray[np.bool_]:
    radii = euclidean_radii(
        batch.windows,
        sigma=batch.sigma,
        delta=batch.delta,
        penalty=batch.penalty,
        theta_norm=batch.length,
    )
    return l2_error(batch.estimate(batch.penalty), batch.theta) <= radii


def _gaussian_ridge(batch: _Batch) -> NDArray[np.bool_]:
    noise = gaussian_radii(batch.windows, sigma=batch.sigma, delta=batch.delta)
    radii = noise + np.sqrt(batch.penalty) * batch.length
    return batch.gram_norm(batch.estimate(batch.penalty) - batch.theta, batch.penalty) <= radii


def _gaussian_shrunken(batch: _Batch) -> NDArray[np.bool_]:
    radii = gaussian_radii(batch.windows, rss=batch.rss, delta=batch.delta)
    error = batch.estimate(batch.penalty) - batch.shrunken_target(batch.penalty)
    return batch.gram_norm(error, batch.penalty) <= radii


METHODS: tuple[_Method, ...] = (
    _Method("paper, Lemma 1", "Phi", False, False, _paper_ols),
    _Method("Euclidean ball, OLS", "Euclidean", True, False, _euclidean_ols),
    _Method("Gaussian chi-square", "Phi", True, True, _chi_square),
    _Method("Gaussian F", "Phi", True, True, _f_ratio),
    _Method("self-normalised, lam = 1", "Phi_lam", True, False, _self_normalized),
    _Method("paper, Lemma 4", "Phi_lam", False, False, _paper_ridge),
    _Method("paper, Lemma 4 as a ball", "Euclidean", False, False, _paper_ridge_ball),
    _Method("Euclidean ball, ridge", "Euclidean", True, False, _euclidean_ridge),
    _Method("Gaussian ridge, with bias", "Phi_lam", True, False, _gaussian_ridge),
    _Method("Gaussian ridge, its mean", "Phi_lam", True, False, _gaussian_shrunken),
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
    """The share of simulated windows whose ellipsoid holds what it should, for every radius.

    y = X theta* + sigma N(0, 1); contexts are N(0, 1) coordinates ("standardized") or the same at
    unit Euclidean length ("unit-norm"); ||theta*||_2 = 1 with equal coordinates, for which
    Assumption 1 holds in every setting here, or with a random direction. Ridge radii use the
    penalty of Lemma 3 at the true sigma and max|theta_j|.

    Holds: a coverage is known up to sampling, sqrt(0.95 * 0.05 / replicates) at the nominal 95 %.
    Each setting has its own stream of random numbers, so it does not depend on the others.

    >>> rows = coverage_table(settings=[(2, 50)], contexts=["unit-norm"], replicates=200, seed=1)
    >>> [row.radius for row in rows if row.falls_short]
    ['paper, Lemma 1', 'paper, Lemma 4', 'paper, Lemma 4 as a ball']
    """
    if replicates < 1:
        raise invalid("replicates", replicates, "at least 1", "use 2000 for a table")
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
    """The line of every radius in one setting."""
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
    """The replicates of one setting, a batch at a time."""
    if study.contexts not in CONTEXTS:
        raise invalid("contexts", study.contexts, f"one of {CONTEXTS}", "choose a reading")
    d, s = study.d, study.s
    rng = np.random.default_rng([study.seed, d, s, CONTEXTS.index(study.contexts)])
    theta = _theta(rng, d, study.signal)
    size = max(1, _BATCH // (s * d))
    for start in range(0, study.replicates, size):
        X = rng.standard_normal((min(size, study.replicates - start), s, d))
        if study.contexts == "unit-norm":
            X /= np.linalg.norm(X, axis=2, keepdims=True)
        yield _simulate(rng, X, theta, study.sigma, study.delta)


def _simulate(
    rng: np.random.Generator, X: Array, theta: Array, sigma: float, delta: float
) -> _Batch:
    y = X @ theta + sigma * rng.standard_normal(X.shape[:2])
    transposed = X.swapaxes(1, 2)
    gram, moment = transposed @ X, (transposed @ y[..., np.newaxis])[..., 0]
    fit = np.linalg.solve(gram, moment[..., np.newaxis])
    rss = ((y - (X @ fit)[..., 0]) ** 2).sum(axis=1)
    return _Batch(spectrum(X), gram, moment, rss, theta, sigma, delta)


def _theta(rng: np.random.Generator, d: int, signal: Signal) -> Array:
    """A coefficient vector of length 1 with a positive coordinate."""
    if signal == "equal":
        return np.full(d, 1 / math.sqrt(d))
    if signal != "random":
        raise invalid("signal", signal, "'equal' or 'random'", "choose one of them")
    theta = rng.standard_normal(d)
    theta[0] = abs(theta[0])
    return np.asarray(theta / np.linalg.norm(theta))


def render_coverage(rows: Sequence[CoverageRow]) -> str:
    """The table as plain text: one line a radius, one column a setting, coverage in percent.

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

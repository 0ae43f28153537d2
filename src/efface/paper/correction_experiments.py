"""Settings that the paper does not have, for statements that replace or question its own.

==================  ==================================================================
``AnyPenalty``      radii and limits at the worst of 61 penalties, in three units
``DeletedRows``     FRT and ``deletion_cost`` beside the change that a deletion causes
``SwingingRanks``   least squares and the adaptive ridge on the streams of Fig. 2
``MemorySize``      the error of each method against the number of rows
==================  ==================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.stats import spearmanr

from efface.models.linear import OLS, AutoRidge, Ridge
from efface.models.regression import Model
from efface.paper.experiments import DELTA, DIMENSION, Experiment, Numbers
from efface.paper.methods import Line, model_of, replayed
from efface.paper.simulate import Simulated, linear_stream, unit_vectors
from efface.theory.corrected import prediction_limits
from efface.theory.deletion import deletion_cost
from efface.theory.floor import oracle_penalty
from efface.theory.geometry import Array, WindowSpectrum
from efface.theory.quantities import forgetting_regret_term, squared_regret
from efface.theory.radii import euclidean_radii, gaussian_radii

UNITS = (0.01, 1.0, 100.0)  # factors of the contexts
PENALTIES = 61  # per window, from 0 to far beyond the largest eigenvalue


@dataclass(frozen=True)
class AnyPenalty(Experiment):
    """The share of windows in which each statement is true for all of 61 penalties at once.

    An adversary who sees the responses could choose no better one of them. ``ball`` and
    ``ellipsoid`` are the radii with an allowance for bias, ``limit`` that of the next prediction.
    The last axis has the units of the contexts; coefficients and noise stay the same.

    >>> found = AnyPenalty("standardized", 0, d=3, s=8).run(seed=0, number=0)
    >>> {name: values.shape for name, values in found.items()}
    {'ball': (3,), 'ellipsoid': (3,), 'limit': (3,)}
    """

    d: int
    s: int
    delta: float = DELTA
    windows: int = 50  # per run

    kind: ClassVar[str] = "penalties"

    @property
    def id(self) -> str:
        return f"penalties/d={self.d},s={self.s}"

    @property
    def rows_needed(self) -> int:
        return 0  # its windows do not come from one stream

    @property
    def cost(self) -> float:
        return self.windows * (0.5 + 0.0006 * self.d * self.s)

    def run(self, seed: int, number: int) -> Numbers:
        about: Any = {"reading": self.reading}
        streams = (
            linear_stream(seed, number * self.windows + i, self.s + 1, self.d, **about)
            for i in range(self.windows)
        )
        true = [[_all_true(data, unit, self.delta) for unit in UNITS] for data in streams]
        shares = np.mean(true, axis=0)
        return {name: shares[:, i] for i, name in enumerate(("ball", "ellipsoid", "limit"))}


def _all_true(data: Simulated, unit: float, delta: float) -> tuple[bool, bool, bool]:
    """Whether ball, ellipsoid and limit are true for every penalty, at sigma = 1."""
    plain = data.rescaled(unit)
    X, y, x = plain.X[:-1], plain.y[:-1], plain.X[-1]
    left, singular, basis = np.linalg.svd(X, full_matrices=False)
    lam = np.append(0.0, singular[0] ** 2 * np.logspace(-6, 4, PENALTIES - 1))
    shrunk = singular / (singular**2 + lam[:, np.newaxis])
    coef = shrunk * (left.T @ y) @ basis
    errors = coef - plain.theta
    length = float(np.linalg.norm(plain.theta))
    windows = _repeated(X, singular, len(lam))
    ball = euclidean_radii(windows, sigma=1.0, delta=delta, penalty=lam, theta_norm=length)
    ellipsoid = gaussian_radii(windows, sigma=1.0, delta=delta) + np.sqrt(lam) * length
    norms = np.sqrt(((errors @ X.T) ** 2).sum(axis=1) + lam * (errors**2).sum(axis=1))
    known: Any = {"sigma": 1.0, "theta_norm": length, "delta": delta}
    limits = prediction_limits(X, x[np.newaxis], penalties=lam, **known)[:, 0]
    pairs = ((np.linalg.norm(errors, axis=1), ball), (norms, ellipsoid), (errors @ x, limits))
    ball_true, ellipsoid_true, limit_true = (
        bool((np.abs(value) <= radius * (1 + 1e-9)).all()) for value, radius in pairs
    )
    return ball_true, ellipsoid_true, limit_true


def _repeated(X: Array, singular: Array, count: int) -> WindowSpectrum:
    """One window as a stack, one copy per penalty."""
    n, d = X.shape
    values = np.zeros((count, d))
    values[:, : len(singular)] = singular**2
    return WindowSpectrum(n, d, np.full(count, np.abs(X).max()), values)


@dataclass(frozen=True)
class DeletedRows(Experiment):
    """Rank correlations with the extra squared L2 error that deleting the oldest row causes.

    ``frt`` and ``cost`` are those of FRT and of ``deletion_cost`` with the mean change over
    ``draws`` refits without a penalty; ``frt_once`` and ``cost_once`` with the change in one refit.
    ``units`` takes the contexts of Fig. 2.

    >>> found = DeletedRows("standardized", 0, d=3, s=5, windows=20, draws=50).run(0, 0)
    >>> bool(found["cost"] > found["frt"])
    True
    """

    d: int
    s: int
    units: bool = False
    windows: int = 200  # per run
    draws: int = 1000  # of the responses of a window

    kind: ClassVar[str] = "deletions"
    max_runs: ClassVar[int | None] = 10

    @property
    def id(self) -> str:
        return f"deletions/d={self.d},s={self.s}" + (",unit vectors" if self.units else "")

    @property
    def either(self) -> bool:
        return self.units

    @property
    def rows_needed(self) -> int:
        return 0

    @property
    def cost(self) -> float:
        return self.windows * (0.8 + 0.001 * self.d * self.s)

    def run(self, seed: int, number: int) -> Numbers:
        rows = self.windows * (self.s + 1)
        data = linear_stream(seed, number, rows, self.d, reading=self.reading)
        X = unit_vectors(seed, number, rows, self.d) if self.units else data.X
        rng = np.random.default_rng([seed, number, self.d, self.s])
        found = [
            self._measure(part, data.theta, rng) for part in X.reshape(self.windows, -1, self.d)
        ]
        frt, cost, expected, once = np.array(found).T
        return {
            name: np.asarray(spearmanr(*pair).statistic)
            for name, pair in (
                ("frt", (frt, expected)),
                ("cost", (cost, expected)),
                ("frt_once", (frt, once)),
                ("cost_once", (cost, once)),
            )
        }

    def _measure(
        self, part: Array, theta: Array, rng: np.random.Generator
    ) -> tuple[float, float, float, float]:
        """FRT, the cost, the mean change and one change, of a window and the row after it."""
        window, new = part[:-1], part[-1]
        y = (window @ theta)[:, np.newaxis] + rng.standard_normal((self.s, self.draws))
        losses = [
            ((np.linalg.lstsq(rows, responses, rcond=None)[0].T - theta) ** 2).sum(axis=1)
            for rows, responses in ((window, y), (window[1:], y[1:]))
        ]
        change = losses[1] - losses[0]
        term = forgetting_regret_term(window, window[0], new).total
        cost = deletion_cost(window, 0, sigma=1.0, theta=theta).total
        return term, cost, float(change.mean()), float(change[0])


@dataclass(frozen=True)
class SwingingRanks(Experiment):
    """The regret of least squares and of the adaptive ridge where the rank swings, at sigma = 1.

    The contexts are those of Fig. 2, whose windows lose and gain rank.
    """

    s: int
    d: int = DIMENSION
    delta: float = DELTA

    kind: ClassVar[str] = "swings"
    max_runs: ClassVar[int | None] = 5

    @property
    def id(self) -> str:
        return f"swings/s={self.s}"

    @property
    def either(self) -> bool:
        return True

    @property
    def cost(self) -> float:
        return self.horizon * 0.7

    def run(self, seed: int, number: int) -> Numbers:
        X = unit_vectors(seed, number, self.horizon, self.d)
        drawn = linear_stream(seed, number, self.horizon, self.d)
        signal = np.asarray(X @ drawn.theta)
        data = Simulated(X, signal + (drawn.y - drawn.signal), drawn.theta, signal)
        models: dict[str, Model] = {
            "ols": OLS(self.s, fit_intercept=False),
            "adaptive": model_of(Line("adaptive"), self.s, self.delta),
        }
        expected = signal[self.s :]
        return {
            name: squared_regret(replayed(model, data, self.s).prediction, expected).sum()
            for name, model in models.items()
        }


@dataclass(frozen=True)
class MemorySize(Experiment):
    """The squared L2 error of each method after n rows: the regret of one standardized prediction.

    >>> found = MemorySize("standardized", 0, n=30, d=4).run(seed=0, number=0)
    >>> sorted(found)
    ['adaptive', 'auto', 'ols', 'oracle']
    """

    n: int
    sigma: float = 1.0
    d: int = DIMENSION
    delta: float = DELTA

    kind: ClassVar[str] = "memory"

    @property
    def id(self) -> str:
        return f"memory/n={self.n},sigma={self.sigma:g}"

    @property
    def cost(self) -> float:
        return 4 + 0.01 * self.n

    @property
    def either(self) -> bool:
        return True

    @property
    def rows_needed(self) -> int:
        return 0

    def run(self, seed: int, number: int) -> Numbers:
        about: Any = {"reading": self.reading, "sigma": self.sigma}
        data = linear_stream(seed, number, self.n, self.d, **about)
        penalty = oracle_penalty(self.d, sigma=self.sigma)
        models: dict[str, Model] = {
            "ols": OLS(fit_intercept=False),
            "adaptive": model_of(Line("adaptive"), None, self.delta),
            "oracle": Ridge(alpha=penalty, fit_intercept=False),
            "auto": AutoRidge(fit_intercept=False),
        }
        fitted = {name: model.fit(data.X, data.y).coef_ for name, model in models.items()}
        return {name: ((coef - data.theta) ** 2).sum() for name, coef in fitted.items()}

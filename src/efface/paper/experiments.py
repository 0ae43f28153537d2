"""The paper's experiments as frozen settings. Each has an id and computes the numbers of one run.

===================  =================================================================
``Ranks``            Fig. 2: the rank of the window, contexts uniform on e_1 .. e_d
``ForgettingTerms``  Def. 2 and Lemma 2: forgetting regret terms of least squares
``OlsBound``         Theorem 1 and the regret that it bounds
``RidgeBound``       Theorem 2 and the regret that it bounds
===================  =================================================================

``efface.paper.comparisons`` has those of Figs. 3 to 7. The models compute everything, through
``replay`` and ``rolling``. The numbers depend only on the setting, the seed and the number of the
run.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from efface.batch.rolling import rolling
from efface.inputs.types import Ints
from efface.models.linear import OLS
from efface.paper.methods import Line, model_of, replayed
from efface.paper.simulate import Reading, Simulated, linear_stream, unit_vectors
from efface.theory.bounds import ols_regret_bound, penalty_drift, ridge_regret_bound
from efface.theory.geometry import Array, spectrum
from efface.theory.quantities import absolute_regret

Numbers = Mapping[str, Array]

#: Increase it when a setting gives other numbers than before, so that stored ones are not used.
FORMAT = 3

DIMENSION = 100
DELTA = 0.05


@dataclass(frozen=True)
class Experiment(ABC):
    """A setting: the unit that is run, stored and cited."""

    reading: Reading
    horizon: int

    kind: ClassVar[str]
    max_runs: ClassVar[int | None] = None  # where a run is slow and runs hardly differ

    @property
    @abstractmethod
    def id(self) -> str:
        """The name of the setting, the same for both readings."""

    @property
    def rows_needed(self) -> int:
        """The rows of the window, or 0 without one; the horizon must be larger."""
        return int(getattr(self, "s", None) or 0)

    @property
    def either(self) -> bool:
        """Whether the setting is the same under both readings."""
        return False

    @property
    @abstractmethod
    def cost(self) -> float:
        """Roughly the milliseconds per run, for the estimate of the remaining time."""

    @abstractmethod
    def run(self, seed: int, number: int) -> Numbers:
        """The numbers of one run."""

    def runs(self, wanted: int) -> int:
        """The number of runs if ``wanted`` are requested."""
        return wanted if self.max_runs is None else min(wanted, self.max_runs)

    def setting(self) -> dict[str, Any]:
        """Everything that the numbers depend on, except the seed and the run."""
        return {"kind": self.kind, "format": FORMAT, **asdict(self)}


@dataclass(frozen=True)
class Ranks(Experiment):
    """The rank of each full window of ``s`` rows (Fig. 2).

    >>> Ranks("unit-norm", horizon=8, s=3, d=4).run(seed=0, number=0)["rank"].shape
    (6,)
    """

    s: int
    d: int = DIMENSION

    kind: ClassVar[str] = "ranks"
    max_runs: ClassVar[int | None] = 10

    @property
    def id(self) -> str:
        return f"fig2/s={self.s}"

    @property
    def either(self) -> bool:
        return True

    @property
    def cost(self) -> float:
        return self.horizon * (0.06 + self.s / 400)

    @property
    def times(self) -> Ints:
        """The row at which each window ends."""
        return np.arange(self.s, self.horizon + 1, dtype=np.int64)

    def run(self, seed: int, number: int) -> Numbers:
        X = unit_vectors(seed, number, self.horizon, self.d)
        found = rolling(
            X, np.zeros(self.horizon), self.s, fit_intercept=False, outputs=["rank"], threads=1
        ).rank
        assert found is not None
        return {"rank": found[self.s - 1 :].astype(np.float64)}


@dataclass(frozen=True)
class ForgettingTerms(Experiment):
    """Forgetting regret terms of FIFD-OLS, and both sides of the inequality of Lemma 2.

    >>> found = ForgettingTerms("standardized", horizon=60, d=2, s=30).run(seed=0, number=0)
    >>> bool(found["representation"] <= found["lemma_2"]), bool(found["frt_largest"] < 2)
    (True, True)
    """

    d: int
    s: int

    kind: ClassVar[str] = "slides"

    @property
    def id(self) -> str:
        return f"slides/d={self.d},s={self.s}"

    @property
    def cost(self) -> float:
        return self.horizon * 0.0004 * self.d

    def run(self, seed: int, number: int) -> Numbers:
        data = linear_stream(seed, number, self.horizon, self.d, reading=self.reading)
        found = replayed(OLS(self.s, fit_intercept=False), data, self.s, diagnostics=True)
        assert found.frt is not None
        assert found.leverage_new is not None
        eta = spectrum(data.X[-self.s :]).log_det()
        largest, steps = (data.X**2).sum(axis=1).max(), self.horizon - self.s
        return {
            "frt_largest": found.frt.max(),
            "frt_smallest": found.frt.min(),
            "frt_above_2": (found.frt > 2).mean(),
            "representation": found.leverage_new.sum(),
            "lemma_2": np.asarray(2 * eta + found.frt.sum()),
            "lemma_2_trace": 2 * (self.d * np.log(self.s * largest / self.d) + steps),
        }


@dataclass(frozen=True)
class _Bound(Experiment):
    """The bound of a theorem, and the sum of absolute losses that it bounds (E10)."""

    d: int
    s: int
    delta: float = DELTA
    scale: float = 1.0  # of the contexts

    max_runs: ClassVar[int | None] = 10

    @property
    def id(self) -> str:
        plain = f"{self.kind}/d={self.d},s={self.s}"
        return f"{plain},scale={self.scale:g}" if self.scale != 1 else plain

    @property
    def cost(self) -> float:
        return self.horizon * 1e-4 * self.d * math.sqrt(min(self.s, self.d))


@dataclass(frozen=True)
class OlsBound(_Bound):
    """Theorem 1 and the regret of FIFD-OLS, at sigma = 1, with contexts times ``scale``.

    The regret of the adaptive ridge and that of OLS over the first half are there for two remarks.

    >>> found = OlsBound("standardized", horizon=90, d=2, s=30).run(seed=0, number=0)
    >>> bool(found["abs_regret"] < found["bound"]), bool(found["half"] < found["abs_regret"])
    (True, True)
    """

    kind: ClassVar[str] = "theorem1"

    def run(self, seed: int, number: int) -> Numbers:
        data = linear_stream(seed, number, self.horizon, self.d, reading=self.reading)
        data = data.rescaled(self.scale)
        expected = data.signal[self.s :]
        found = replayed(OLS(self.s, fit_intercept=False), data, self.s)
        adaptive = replayed(model_of(Line("adaptive"), self.s, self.delta), data, self.s)
        losses = absolute_regret(found.prediction, expected)
        bound = ols_regret_bound(data.X, self.s, sigma=1.0, delta=self.delta)
        return {
            "abs_regret": losses.sum(),
            "half": losses[: len(losses) // 2].sum(),
            "regret": (losses**2).sum(),
            "adaptive_regret": (absolute_regret(adaptive.prediction, expected) ** 2).sum(),
            "bound": np.asarray(bound.bound),
            "valid_bound": np.asarray(bound.valid_bound),
        }


@dataclass(frozen=True)
class RidgeBound(_Bound):
    """Theorem 2, the lemma of its proof, and the regret of FIFD-Adaptive Ridge, at sigma = 1.

    The contexts are multiplied by ``scale``; coefficients and noise stay the same.
    ``*_sign`` and ``*_log_c2`` are the sign of C2 and log|C2|, as derived and as printed.
    """

    kind: ClassVar[str] = "theorem2"

    def run(self, seed: int, number: int) -> Numbers:
        data = linear_stream(seed, number, self.horizon, self.d, reading=self.reading)
        data = data.rescaled(self.scale)
        model = model_of(Line("adaptive"), self.s, self.delta)
        found = replayed(model, data, self.s, diagnostics=True)
        lam = np.append(found.penalty, model.penalty_)
        bound = ridge_regret_bound(
            data.X, self.s, penalties=lam, sigma=1.0, theta=data.theta, delta=self.delta
        )
        return {
            "abs_regret": absolute_regret(found.prediction, data.signal[self.s :]).sum(),
            "bound": np.asarray(bound.bound),
            "printed_bound": np.asarray(bound.printed_bound),
            "exact_c2_bound": np.asarray(bound.exact_c2_bound),
            "valid_bound": np.asarray(bound.valid_bound),
            "smallest_penalty": lam.min(),
            **self._drift(data, lam),
            "representation": found.leverage_new.sum(),
            "frt": found.frt.sum(),
            "log_det": np.asarray(spectrum(data.X[-self.s :]).log_det(float(lam[-1]))),
        }

    def _drift(self, data: Simulated, penalties: Array) -> dict[str, Array]:
        drift = penalty_drift(data.X, self.s, penalties=penalties)
        return {
            f"{name}_{what}": np.asarray(value)
            for name, product in (("derived", drift.derived), ("printed", drift.printed))
            for what, value in (("sign", product.sign), ("log_c2", product.log_abs))
        }

"""The paper's experiments as frozen settings. Each has an id and computes the numbers of one run.

===================  =================================================================
``Ranks``            Fig. 2: the rank of the window, contexts uniform on e_1 .. e_d
``Comparison``       Figs. 3 to 7: regret, L2 error and penalty of each method over time
``ForgettingTerms``  Def. 2 and Lemma 2: forgetting regret terms of least squares
``OlsBound``         Theorem 1 and the regret that it bounds
``RidgeBound``       Theorem 2 and the regret that it bounds
===================  =================================================================

The models compute everything, through ``replay`` and ``rolling``. The numbers depend only on the
setting, the seed and the number of the run.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from efface.batch.replay import replay
from efface.batch.results import Replay
from efface.batch.rolling import rolling
from efface.live.policies import AddDrop, Ints
from efface.models.linear import OLS, AdaptiveRidge, Ridge, SwitchingRidge
from efface.models.regression import Model
from efface.paper.simulate import Reading, Simulated, linear_stream, unit_vectors
from efface.theory.bounds import RegretBound, ols_regret_bound, ridge_regret_bound
from efface.theory.geometry import Array, spectrum
from efface.theory.quantities import absolute_regret, cumulative_regret, l2_error

Method = Literal["adaptive", "switching", "fixed"]
Numbers = Mapping[str, Array]

#: Increase it when a setting gives other numbers than before, so that stored ones are not used.
FORMAT = 1

DIMENSION = 100
DELTA = 0.05
WINDOWS = (20, 40, 60, 80)
SIGMAS = (1.0, 2.0, 3.0)
DEGREES_OF_FREEDOM = (5, 10, 15)
ARRIVALS = (2, 3, 4)
RANK_WINDOWS = (20, 60, 100, 150, 500)
FORGETTING_TERMS = ((10, 12), (10, 20), (10, 50), (100, 150), (100, 500))
OLS_BOUNDS = ((10, 50), (100, 150), (100, 500))
START = 20  # rows in the window before the first (+k, -1) step
TIMES = 100


class Line(NamedTuple):
    """A method, drawn as one line; ``penalty`` is that of a fixed ridge."""

    method: Method
    penalty: float | None = None


def model_of(line: Line, window: Any, delta: float) -> Model:
    """The paper's model: sd(y) as the noise level and 1 as the largest coefficient."""
    plug_ins: dict[str, Any] = {"noise": "response", "theta_max": 1.0, "delta": delta}
    plug_ins["fit_intercept"] = False
    if line.method == "adaptive":
        return AdaptiveRidge(window, **plug_ins)
    if line.method == "switching":
        return SwitchingRidge(window, switch_at=2.0, **plug_ins)
    assert line.penalty is not None
    return Ridge(window, alpha=line.penalty, fit_intercept=False)


class _Path(NamedTuple):
    """Per step of a method: k predictions, and the coefficients and penalty that made them."""

    predictions: Array  # (steps, k)
    coef: Array  # (steps, d)
    penalty: Array  # (steps,)


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
class Comparison(Experiment):
    """Cumulative regret, L2 error and penalty of each method (Figs. 3 to 7).

    With a window ``s``, rows s+1 .. T are predicted. With ``k``, the window starts with 20 rows,
    and k rows arrive at each of T steps. The estimate before the step predicts them, their losses
    are averaged, then they are learned and the oldest row leaves.

    >>> setting = Comparison("standardized", horizon=30, figure="fig3", s=5, d=3)
    >>> setting.id, setting.run(seed=0, number=0)["regret"].shape
    ('fig3/s=5,sigma=1', (4, 25))
    """

    figure: str
    s: int | None = None
    k: int | None = None
    sigma: float = 1.0
    df: int | None = None
    d: int = DIMENSION
    delta: float = DELTA

    kind: ClassVar[str] = "comparison"

    @property
    def id(self) -> str:
        memory = f"s={self.s}" if self.s is not None else f"k={self.k}"
        noise = f"sigma={self.sigma:g}" if self.df is None else f"df={self.df}"
        return f"{self.figure}/{memory},{noise}"

    @property
    def cost(self) -> float:
        if self.k is not None:
            return self.horizon * self.k * 0.07
        return self.horizon * (0.01 + (self.s or 0) * 0.0005)

    @property
    def lines(self) -> tuple[Line, ...]:
        """The methods; fixed penalties are multiples of the noise level, as in the paper."""
        fixed = tuple(Line("fixed", factor * self.sigma) for factor in (1.0, 10.0, 100.0))
        more = (Line("switching"),) if self.k is not None else ()
        return (Line("adaptive"), *more, *fixed)

    @property
    def times(self) -> Ints:
        """About 100 values of t; the last one is the horizon."""
        every = np.ceil(np.arange(1, TIMES + 1) * self.horizon / TIMES).astype(np.int64)
        return np.unique(every[every > self.rows_needed])

    def run(self, seed: int, number: int) -> Numbers:
        rows = self.horizon if self.k is None else START + self.k * self.horizon
        data = linear_stream(
            seed, number, rows, self.d, reading=self.reading, sigma=self.sigma, df=self.df
        )
        return _stacked([self._measure(data, self._path(data, line)) for line in self.lines])

    def _path(self, data: Simulated, line: Line) -> _Path:
        if self.k is not None:
            policy = AddDrop(self.k, 1, start=START)
            return _stepwise(model_of(line, policy, self.delta), data, self.k)
        assert self.s is not None
        if line.penalty is not None:
            return _fixed(data, self.s, line.penalty)
        return _slide(model_of(line, self.s, self.delta), data, self.s)

    def _measure(self, data: Simulated, path: _Path) -> dict[str, Array]:
        """Cumulative regrets, L2 error and penalty at each time."""
        expected = data.signal[-path.predictions.size :].reshape(path.predictions.shape)
        at = self.times - self.rows_needed - 1
        absolute = cumulative_regret(path.predictions, expected, loss="absolute")
        return {
            "regret": cumulative_regret(path.predictions, expected).mean(axis=1)[at],
            "abs_regret": absolute.mean(axis=1)[at],
            "l2": l2_error(path.coef[at], data.theta),
            "lambda": path.penalty[at],
        }


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
        found = _replayed(OLS(self.s, fit_intercept=False), data, self.s, diagnostics=True)
        assert found.frt is not None
        assert found.leverage_new is not None
        eta = spectrum(data.X[-self.s :]).log_det()
        return {
            "frt_largest": found.frt.max(),
            "frt_smallest": found.frt.min(),
            "frt_above_2": (found.frt > 2).mean(),
            "representation": found.leverage_new.sum(),
            "lemma_2": np.asarray(2 * eta + found.frt.sum()),
        }


@dataclass(frozen=True)
class _Bound(Experiment):
    """The bound of a theorem, and the sum of absolute losses that it bounds (E10)."""

    d: int
    s: int
    delta: float = DELTA

    max_runs: ClassVar[int | None] = 10

    @property
    def id(self) -> str:
        return f"{self.kind}/d={self.d},s={self.s}"

    @property
    def cost(self) -> float:
        return self.horizon * 1e-4 * self.d * math.sqrt(min(self.s, self.d))

    def run(self, seed: int, number: int) -> Numbers:
        data = linear_stream(seed, number, self.horizon, self.d, reading=self.reading)
        found, bound = self._bound(data)
        return {
            "abs_regret": absolute_regret(found.prediction, data.signal[self.s :]).sum(),
            "bound": np.asarray(bound.bound),
            "exact_c2_bound": np.asarray(bound.exact_c2_bound),
            "valid_bound": np.asarray(bound.valid_bound),
        }

    @abstractmethod
    def _bound(self, data: Simulated) -> tuple[Replay, RegretBound]:
        """A replay and the bound on its regret."""


@dataclass(frozen=True)
class OlsBound(_Bound):
    """Theorem 1 and the regret of FIFD-OLS, at sigma = 1."""

    kind: ClassVar[str] = "theorem1"

    def _bound(self, data: Simulated) -> tuple[Replay, RegretBound]:
        found = _replayed(OLS(self.s, fit_intercept=False), data, self.s)
        return found, ols_regret_bound(data.X, self.s, sigma=1.0, delta=self.delta)


@dataclass(frozen=True)
class RidgeBound(_Bound):
    """Theorem 2 and the regret of FIFD-Adaptive Ridge, at sigma = 1."""

    kind: ClassVar[str] = "theorem2"

    def _bound(self, data: Simulated) -> tuple[Replay, RegretBound]:
        model = model_of(Line("adaptive"), self.s, self.delta)
        found = _replayed(model, data, self.s)
        penalties = np.append(found.penalty, model.penalty_)
        return found, ridge_regret_bound(
            data.X, self.s, penalties=penalties, sigma=1.0, theta=data.theta, delta=self.delta
        )


def _replayed(
    model: Model, data: Simulated, s: int, *, coef: bool = False, diagnostics: bool = False
) -> Replay:
    """The replay of rows s+1 .. T by a model fitted to the first s rows."""
    model.fit(data.X[:s], data.y[:s])
    return replay(model, data.X[s:], data.y[s:], coef=coef, diagnostics=diagnostics)


def _slide(model: Model, data: Simulated, s: int) -> _Path:
    found = _replayed(model, data, s, coef=True)
    assert found.coef is not None
    return _Path(found.prediction[:, np.newaxis], found.coef, found.penalty)


def _fixed(data: Simulated, s: int, penalty: float) -> _Path:
    """For a fixed penalty ``rolling`` is faster than a replay."""
    found = rolling(
        data.X, data.y, s, alpha=penalty, fit_intercept=False, outputs=["coef"], threads=1
    ).coef
    assert found is not None
    coef = found[s - 1 : -1]
    predictions = np.einsum("td,td->t", data.X[s:], coef)
    return _Path(predictions[:, np.newaxis], coef, np.full(len(coef), penalty))


def _stepwise(model: Model, data: Simulated, k: int) -> _Path:
    """k rows per step; the estimate before the step predicts all of them."""
    found = _replayed(model, data, START, coef=True)
    assert found.coef is not None
    coef = found.coef[::k]
    predictions = np.einsum("tkd,td->tk", data.X[START:].reshape(len(coef), k, -1), coef)
    return _Path(predictions, coef, found.penalty[::k])


def _stacked(found: list[dict[str, Array]]) -> Numbers:
    return {name: np.stack([each[name] for each in found]) for name in found[0]}


def experiments_for(
    figure: str, horizon: int, readings: tuple[Reading, ...]
) -> tuple[Experiment, ...]:
    """The settings of a figure, in the order of its panels, or of ``theory`` (for the claims).

    >>> [each.id for each in experiments_for("fig5", 3000, ("standardized",))[:3]]
    ['fig5/k=2,sigma=1', 'fig5/k=3,sigma=1', 'fig5/k=4,sigma=1']
    """
    if figure == "fig2":  # unit vectors are the same under both readings
        return tuple(Ranks("unit-norm", horizon, s) for s in RANK_WINDOWS)
    return tuple(each for reading in readings for each in _settings(figure, reading, horizon))


def _settings(figure: str, reading: Reading, horizon: int) -> list[Experiment]:
    setting = partial(Comparison, reading, horizon)
    if figure == "fig4":
        return [setting("fig4", s=s, df=df) for df in DEGREES_OF_FREEDOM for s in WINDOWS]
    if figure == "fig5":
        return [setting("fig5", k=k, sigma=sigma) for sigma in SIGMAS for k in ARRIVALS]
    if figure == "theory":
        return [
            *(ForgettingTerms(reading, horizon, d, s) for d, s in FORGETTING_TERMS),
            *(OlsBound(reading, horizon, d, s) for d, s in OLS_BOUNDS),
            *(RidgeBound(reading, horizon, DIMENSION, s) for s in WINDOWS),
        ]
    # Figs. 6 and 7 show other quantities of the runs of Fig. 3.
    return [setting("fig3", s=s, sigma=sigma) for sigma in SIGMAS for s in WINDOWS]

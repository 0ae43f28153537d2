"""The comparisons of methods in Figs. 3 to 7: regret, L2 error and penalty over time.

``Comparison`` has the paper's lines, the oracle penalty and the estimate 0. ``AutoComparison`` has
``AutoRidge`` on the same streams: one of its runs takes as long as twenty of the others, so that it
is run only where it is asked for. ``LimitedSubplot`` has the limits of the corrected theorem.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from efface.inputs.types import Ints
from efface.paper.experiments import DELTA, DIMENSION, Experiment, Numbers
from efface.paper.methods import START, Line, MethodPath, constant_memory, growing_memory
from efface.paper.simulate import Simulated, linear_stream, student_sd
from efface.theory.corrected import prediction_limits
from efface.theory.floor import oracle_penalty, regret_floor
from efface.theory.geometry import Array
from efface.theory.quantities import cumulative_regret, l2_error

FACTORS = (1.0, 10.0, 100.0)  # the paper's fixed penalties over sigma
TIMES = 100


@dataclass(frozen=True)
class Subplot(Experiment):
    """One panel of Figs. 3 to 7: a memory, a noise level, and the lines of a subclass.

    With a window ``s``, rows s+1 .. T are predicted. With ``k``, the window starts with 20 rows,
    and k rows arrive at each of T steps. The estimate before the step predicts them, their losses
    are averaged, then they are learned and the oldest row leaves.
    """

    figure: str
    s: int | None = None
    k: int | None = None
    sigma: float = 1.0
    df: int | None = None
    d: int = DIMENSION
    delta: float = DELTA
    equal_variance: bool = False  # of Student-t noise, as of Gaussian noise

    @property
    def id(self) -> str:
        memory = f"s={self.s}" if self.s is not None else f"k={self.k}"
        noise = f"sigma={self.sigma:g}" if self.df is None else f"df={self.df}"
        return f"{self.figure}/{memory},{noise}"

    @property
    def noise_sd(self) -> float:
        """The standard deviation of the noise; that of Student-t noise is more than sigma."""
        plain = self.df is None or self.equal_variance
        return self.sigma * (1.0 if plain else student_sd(float(self.df or 0)))

    @property
    def lines(self) -> tuple[Line, ...]:
        """The methods, in the order of their numbers."""
        raise NotImplementedError

    @property
    def times(self) -> Ints:
        """About 100 values of t; the last one is the horizon."""
        every = np.ceil(np.arange(1, TIMES + 1) * self.horizon / TIMES).astype(np.int64)
        return np.unique(every[every > self.rows_needed])

    @property
    def floor(self) -> Array:
        """The cumulative floor under the regret of every method that sees these rows, per time."""
        steps = np.arange(self.rows_needed + 1, self.horizon + 1)
        rows = np.full(len(steps), self.s) if self.k is None else START + (self.k - 1) * (steps - 1)
        floors = regret_floor(rows, self.d, sigma=self.noise_sd, contexts=self.reading)
        return np.asarray(np.cumsum(floors)[self.steps])

    def run(self, seed: int, number: int) -> Numbers:
        data = self.stream(seed, number)
        found = [self._measure(self.path(line, data), data) for line in self.lines]
        return {name: np.stack([each[name] for each in found]) for name in found[0]}

    def stream(self, seed: int, number: int) -> Simulated:
        """The rows of a run."""
        rows = self.horizon if self.k is None else START + self.k * self.horizon
        noise: dict[str, Any] = {"df": self.df, "equal_variance": self.equal_variance}
        noise["sigma"] = self.sigma
        return linear_stream(seed, number, rows, self.d, reading=self.reading, **noise)

    def path(self, line: Line, data: Simulated) -> MethodPath:
        """What a line predicts at each step."""
        if self.k is None:
            return constant_memory(line, data, self.rows_needed, self.delta)
        return growing_memory(line, data, self.k, self.delta)

    @property
    def steps(self) -> Ints:
        """The number of steps before each time."""
        return np.asarray(self.times - self.rows_needed - 1)

    def _measure(self, path: MethodPath, data: Simulated) -> dict[str, Array]:
        """Cumulative regrets, L2 error and penalty at each time."""
        expected = data.signal[-path.predictions.size :].reshape(path.predictions.shape)
        at = self.steps
        absolute = cumulative_regret(path.predictions, expected, loss="absolute")
        return {
            "regret": cumulative_regret(path.predictions, expected).mean(axis=1)[at],
            "abs_regret": absolute.mean(axis=1)[at],
            "l2": l2_error(path.coef[at], data.theta),
            "lambda": path.penalty[at],
        }


@dataclass(frozen=True)
class Comparison(Subplot):
    """The paper's lines, the oracle penalty and the estimate 0.

    >>> setting = Comparison("standardized", horizon=30, figure="fig3", s=5, d=3)
    >>> setting.id, setting.run(seed=0, number=0)["regret"].shape
    ('fig3/s=5,sigma=1', (6, 25))
    """

    kind: ClassVar[str] = "comparison"

    @property
    def cost(self) -> float:
        if self.k is not None:
            return self.horizon * self.k * 0.05
        return self.horizon * (0.005 + (self.s or 0) * 0.0003)

    @property
    def lines(self) -> tuple[Line, ...]:
        """Fixed penalties are multiples of the noise level, as in the paper."""
        fixed = tuple(Line("fixed", factor * self.sigma) for factor in FACTORS)
        more = (Line("switching"),) if self.k is not None else ()
        oracle = Line("oracle", oracle_penalty(self.d, sigma=self.noise_sd))
        return (Line("adaptive"), *more, *fixed, oracle, Line("zero"))


@dataclass(frozen=True)
class AutoComparison(Subplot):
    """``AutoRidge``, which is not the paper's, on the streams of a ``Comparison``."""

    kind: ClassVar[str] = "auto"

    @property
    def cost(self) -> float:
        if self.k is not None:
            return self.horizon * (0.6 + 0.1 * self.k)
        return self.horizon * (0.1 + 0.02 * (self.s or 0))

    @property
    def lines(self) -> tuple[Line, ...]:
        return (Line("auto"),)


@dataclass(frozen=True)
class LimitedSubplot(Comparison):
    """The limits of the corrected theorem for a panel, and the losses, both at its 100 times.

    ``limit`` and ``loss`` have one value per line and time; the loss of a step is the mean over the
    rows that it predicts, and so is the limit. The estimate 0 has no limit.

    >>> found = LimitedSubplot("standardized", 30, figure="fig3", s=5, d=3).run(0, 0)
    >>> found["limit"].shape, bool((found["loss"] <= found["limit"]).all())
    ((5, 25), True)
    """

    kind: ClassVar[str] = "limits"
    max_runs: ClassVar[int | None] = 5

    @property
    def cost(self) -> float:
        return super().cost + self.horizon * (0.03 if self.k is None else 0.1 * self.k)

    @property
    def lines(self) -> tuple[Line, ...]:
        return super().lines[:-1]

    def run(self, seed: int, number: int) -> Numbers:
        data = self.stream(seed, number)
        paths = [self.path(line, data) for line in self.lines]
        found = np.array([self._step(int(step), paths, data) for step in self.steps])
        return {"loss": found[:, 0].T, "limit": found[:, 1].T}

    def _step(
        self, step: int, paths: Sequence[MethodPath], data: Simulated
    ) -> tuple[list[float], list[float]]:
        """The loss and the limit of each line at one step."""
        window, arrivals = self._rows(step)
        lam = np.array([path.penalty[step] for path in paths])
        about: Any = {"sigma": self.sigma, "theta_norm": 1.0}
        about["delta"] = self.delta / (self.horizon - self.rows_needed)
        limits = prediction_limits(data.X[window], data.X[arrivals], penalties=lam, **about)
        expected = data.signal[arrivals]
        losses = [np.abs(path.predictions[step] - expected).mean() for path in paths]
        return losses, list(limits.mean(axis=1))

    def _rows(self, step: int) -> tuple[slice, slice]:
        """The rows of the window before a step, and those that arrive at it."""
        if self.k is None:
            end = step + self.rows_needed
            return slice(step, end), slice(end, end + 1)
        end = START + self.k * step
        return slice(step, end), slice(end, end + self.k)

"""``tune``: how long to remember, and which model, by the errors of predicting each row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from efface.batch.replay import replay
from efface.errors import invalid
from efface.inputs.arrays import as_matrix, as_vector
from efface.inputs.parameters import whole
from efface.inputs.times import as_times
from efface.inputs.types import Vector
from efface.models.coefficient_plots import COLOURS, axes, tidy
from efface.models.linear import OLS, AutoRidge, Ridge
from efface.models.regression import Model
from efface.models.summary_tables import SummaryTable

_ROWS = (50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)
_DURATIONS = {"1d": 1, "3d": 3, "7d": 7, "14d": 14, "30d": 30, "60d": 60, "90d": 90}
_DURATIONS |= {"180d": 180, "365d": 365, "730d": 730, "1825d": 1825}
_DAY = 86_400_000_000_000  # in nanoseconds


@dataclass(frozen=True, eq=False)
class Trial:
    """A model with a window, and its prequential errors: each row predicted, then learned."""

    model: Model
    live_rows: float  # the mean number of live rows that predicted
    mae: float
    error: float  # the standard error of the mae
    excess: float  # the mae minus that of the best trial
    excess_error: float  # the standard error of that difference

    @property
    def label(self) -> str:
        """The window in words."""
        window = self.model.window
        return "all rows" if window is None else f"{window:,} rows" if _counts(window) else window


@dataclass(frozen=True, eq=False, repr=False)
class Tuning:
    """The trials, from the shortest memory to the longest, by model.

    ``best`` has the smallest error. ``recommended`` is the trial with the fewest live rows whose
    error is at most one standard error above it: how much data you need to keep.
    """

    trials: tuple[Trial, ...]
    best: Trial
    recommended: Trial
    scored: int  # rows

    def __repr__(self) -> str:
        return repr(self.summary())

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()

    def summary(self) -> SummaryTable:
        """The trials as a table for a terminal or a notebook."""
        lines = {
            f"{name_of(t.model)}, {t.label}": (t.mae, t.error, t.excess, t.excess_error)
            for t in self.trials
        }
        facts = {
            "scored rows": f"{self.scored:,}",
            "best": repr(self.best.model),
            "recommended": repr(self.recommended.model),
        }
        return SummaryTable("Tuning", facts, ("MAE", "±", "above the best", "±"), lines)

    def plot(self, ax: Any = None) -> Any:
        """Draw the errors by the number of live rows; returns the axes of matplotlib."""
        ax = axes(ax)
        names = list(dict.fromkeys(name_of(trial.model) for trial in self.trials))
        for name, colour in zip(names, COLOURS, strict=False):
            mine = [trial for trial in self.trials if name_of(trial.model) == name]
            mine.sort(key=lambda trial: trial.live_rows)
            x, y, wide = (
                [getattr(trial, field) for trial in mine] for field in ("live_rows", "mae", "error")
            )
            ax.errorbar(x, y, yerr=wide, fmt="o-", color=colour, label=name, capsize=3, ms=4)
        ax.axvline(self.recommended.live_rows, color="#5b6675", linestyle="--", linewidth=1)
        text = f" recommended: {name_of(self.recommended.model)}, {self.recommended.label}"
        place = ax.get_xaxis_transform()
        ax.text(self.recommended.live_rows, 0.98, text, transform=place, va="top")
        ax.set_xscale("log")
        ax.set_xlabel("live rows")
        ax.set_ylabel("mean absolute error of predicting the next row")
        ax.legend(frameon=False)
        return tidy(ax)


def tune(
    X: Any,
    y: Any,
    *,
    models: Iterable[Model] | None = None,
    windows: Iterable[Any] | None = None,
    at: Any = None,
    sample_weight: Any = None,
    warm_up: int | None = None,
) -> Tuning:
    """Replay the rows with every model and window, and compare how they predict the next row.

    ``models`` are AutoRidge, standardised Ridge and OLS by default. ``windows`` are round numbers
    of rows, or durations if ``at`` has calendar times, and None. The first ``warm_up`` rows (a
    fifth by default) are not scored. Standard errors are those of means of blocks of sqrt(n)
    rows, so that they allow for errors that are alike from row to row.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 1))
    >>> y = X[:, 0] * np.where(np.arange(600) < 300, 1.0, -1.0)  # the past misleads
    >>> tune(X, y, models=[OLS()], windows=[20, 100, None]).recommended.model
    OLS(window=20)
    """
    rows = as_matrix(X)
    responses = as_vector(y, len(rows))
    n, d = rows.shape
    first = max(n // 5, 1) if warm_up is None else whole("warm_up", warm_up, 0)
    if n - first < 20:
        raise invalid("X", f"{n} rows", f"at least {first + 20}", "pass more rows")
    candidates = [
        clone(model).set_params(window=window)
        for model in (_default_models() if models is None else models)
        for window in (_default_windows(n, d, at) if windows is None else list(windows))
    ]
    if not candidates:
        raise invalid("windows", "empty", "at least one model and window", "name some")
    found = [_errors(model, rows, responses, at, sample_weight, first) for model in candidates]
    return _compared(candidates, found, n - first)


def _default_models() -> list[Model]:
    return [AutoRidge(), Ridge(standardize=True), OLS()]


def _default_windows(n: int, d: int, at: Any) -> list[Any]:
    """Round numbers of rows, or of days, that hold enough rows and less than half of them."""
    times = None if at is None else as_times(at, n)
    if times is None or times.dtype != np.int64:
        return [*(rows for rows in _ROWS if d + 2 <= rows <= n // 2), None]
    days = max(int(times[-1] - times[0]) / _DAY, 1e-9)
    kept = [name for name, length in _DURATIONS.items() if n * length / days >= d + 2]
    return [*(name for name in kept if _DURATIONS[name] <= days / 2), None]


def _errors(
    model: Model, X: Any, y: Vector, at: Any, sample_weight: Any, first: int
) -> tuple[Vector, float]:
    """The absolute errors of the scored rows, and the mean number of live rows."""
    result = replay(model, X, y, at=at, sample_weight=sample_weight)
    return np.abs(result.prediction - y)[first:], float(result.n_rows[first:].mean())


def _compared(
    models: Sequence[Model], found: Sequence[tuple[Vector, float]], scored: int
) -> Tuning:
    best = int(np.argmin([errors.mean() for errors, _ in found]))
    trials = []
    for model, (errors, live_rows) in zip(models, found, strict=True):
        excess = errors - found[best][0]
        figures = *mean_with_error(errors), *mean_with_error(excess)
        trials.append(Trial(_unfitted(model), live_rows, *figures))
    near = [trial for trial in trials if trial.excess <= trial.excess_error]
    shortest = min(near, key=lambda trial: (trial.live_rows, trial.mae))
    return Tuning(tuple(trials), trials[best], shortest, scored)


def _unfitted(model: Model) -> Model:
    """The model without its rows."""
    found: Model = clone(model)
    return found


def mean_with_error(values: Vector) -> tuple[float, float]:
    """The mean, and its standard error from the means of sqrt(n) blocks of neighbours.

    >>> mean_with_error(np.arange(4.0))
    (1.5, 1.0)
    """
    count = max(2, int(np.sqrt(values.size)))
    means = [block.mean() for block in np.array_split(values, count)]
    return float(values.mean()), float(np.std(means, ddof=1) / np.sqrt(count))


def name_of(model: Model) -> str:
    """A model without its window, as its repr has it.

    >>> name_of(Ridge(window=30, alpha=0.1))
    'Ridge(alpha=0.1)'
    """
    plain = clone(model).set_params(window=None)
    return repr(plain).removesuffix("()")


def _counts(window: Any) -> bool:
    return isinstance(window, int | np.integer)

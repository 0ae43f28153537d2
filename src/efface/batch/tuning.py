"""``tune``: how long to remember, and which model, by the errors of predicting each row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from efface.batch.replay import replay
from efface.errors import invalid
from efface.inputs.arrays import as_matrix, as_vector
from efface.inputs.parameters import whole
from efface.inputs.times import as_times
from efface.inputs.types import Ints, Vector
from efface.live.half_life import remembering
from efface.models.coefficient_plots import COLOURS, axes, tidy
from efface.models.linear import OLS, AutoRidge, Ridge
from efface.models.regression import Model
from efface.models.summary_tables import SummaryTable

_ROWS = (50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)
_DURATIONS = {f"{days}d": days for days in (1, 3, 7, 14, 30, 60, 90, 180, 365, 730, 1_825)}
_DAY = 86_400_000_000_000  # in nanoseconds
_HALFLIFE_ROWS = (20, 50, *_ROWS[1:])  # in rows
_SHORTEST = {"6h": 0.25, **_DURATIONS}


@dataclass(frozen=True, eq=False)
class Trial:
    """A model with a window or half-life, and its errors: each row predicted, then learned."""

    model: Model
    live_rows: float  # the mean number of live rows that predicted
    counted_rows: float  # the same, each row by what a half-life leaves of it
    mae: float
    error: float  # the standard error of the mae
    excess: float  # the mae minus that of the best trial
    excess_error: float  # the standard error of that difference

    @property
    def label(self) -> str:
        """The window and the half-life in words."""
        window, halflife = self.memory
        if halflife is None:
            return "all rows" if window is None else window
        return f"half-life {halflife}" + ("" if window is None else f" in {window}")

    @property
    def memory(self) -> tuple[str | None, str | None]:
        """The window and the half-life, each in words; None for none."""
        return _in_words(self.model.window), _in_words(self.model.halflife)


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
            fading = [trial for trial in mine if trial.model.halflife is not None]
            for trials, style in (([t for t in mine if t not in fading], "o-"), (fading, "s:")):
                _draw(ax, trials, style, colour, name)
        chosen = self.recommended
        ax.axvline(chosen.counted_rows, color="#5b6675", linestyle="--", linewidth=1)
        text = f" recommended: {name_of(chosen.model)}, {chosen.label} "
        left, right = (f(trial.counted_rows for trial in self.trials) for f in (min, max))
        late = chosen.counted_rows > np.sqrt(left * right)
        place, side = ax.get_xaxis_transform(), "right" if late else "left"
        ax.text(chosen.counted_rows, 0.98, text, transform=place, va="top", ha=side)
        ax.set_xscale("log")
        ax.set_xlabel("live rows, each by what a half-life leaves of it")
        ax.set_ylabel("mean absolute error of predicting the next row")
        ax.legend(frameon=False)
        return tidy(ax)


def _draw(ax: Any, trials: list[Trial], style: str, colour: str, name: str) -> None:
    """Draw the errors of trials with one kind of memory."""
    if not trials:
        return
    trials = sorted(trials, key=lambda trial: trial.counted_rows)
    x, y, wide = (
        [getattr(trial, field) for trial in trials] for field in ("counted_rows", "mae", "error")
    )
    label = f"{name}, half-life" if trials[0].model.halflife is not None else name
    ax.errorbar(x, y, yerr=wide, fmt=style, color=colour, label=label, capsize=3, ms=4)


def tune(
    X: Any,
    y: Any,
    *,
    models: Iterable[Model] | None = None,
    windows: Iterable[Any] | None = None,
    halflives: Iterable[Any] | None = None,
    at: Any = None,
    sample_weight: Any = None,
    warm_up: int | None = None,
) -> Tuning:
    """Replay the rows with every model and memory, and compare how they predict the next row.

    ``models`` are AutoRidge, standardised Ridge and OLS by default. A memory is a window or a
    half-life: if neither ``windows`` nor ``halflives`` is given, round numbers of rows, or
    durations if ``at`` has calendar times, and the window None. These half-lives come with a window
    of ten of them, so that rows of a thousandth of their weight need not be kept.

    The first ``warm_up`` rows (a fifth by default) are not scored. Standard errors are those of
    means of blocks of sqrt(n) rows, so that they allow for errors that are alike from row to row.

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
    memories = _memories(windows, halflives, n, d, at)
    defaults: list[Model] = [AutoRidge(), Ridge(standardize=True), OLS()]
    candidates = [
        clone(model).set_params(**memory)
        for model in (defaults if models is None else models)
        for memory in memories
    ]
    if not candidates:
        raise invalid("windows", "empty", "at least one model and window", "name some")
    found = [_errors(model, rows, responses, at, sample_weight, first) for model in candidates]
    return _compared(candidates, found, n - first)


def _memories(windows: Any, halflives: Any, n: int, d: int, at: Any) -> list[dict[str, Any]]:
    """The windows and half-lives to try, as parameters of a model."""
    if windows is None and halflives is None:
        windows = [*_defaults(_ROWS, _DURATIONS, 2, n, d, at), None]
        found = _defaults(_HALFLIFE_ROWS, _SHORTEST, 8, n, d, at)
        fading = [{"halflife": each, "window": _ten_times(each)} for each in found]
    else:
        fading = [{"halflife": each} for each in halflives or []]
    return [*({"window": each} for each in windows or []), *fading]


def _ten_times(halflife: Any) -> Any:
    if isinstance(halflife, int):
        return 10 * halflife
    count, unit = int(halflife[:-1]), halflife[-1]
    return f"{10 * count}{unit}"


def _defaults(
    rows: Sequence[int], durations: Mapping[str, float], share: int, n: int, d: int, at: Any
) -> list[Any]:
    """Numbers of rows, or durations, that hold enough rows, at most one in ``share`` of them."""
    times = None if at is None else as_times(at, n)
    if times is None or times.dtype != np.int64:
        return [count for count in rows if d + 2 <= count <= n // share]
    days = max(int(times[-1] - times[0]) / _DAY, 1e-9)
    kept = [name for name, length in durations.items() if n * length / days >= d + 2]
    return [name for name in kept if durations[name] <= days / share]


def _errors(
    model: Model, X: Any, y: Vector, at: Any, sample_weight: Any, first: int
) -> tuple[Vector, float, float]:
    """The absolute errors of the scored rows, and the mean number of live and of counted rows."""
    result = replay(model, X, y, at=at, sample_weight=sample_weight)
    alive = result.n_rows
    counted = _counted(model, alive, at)[first:].mean()
    return np.abs(result.prediction - y)[first:], float(alive[first:].mean()), float(counted)


def _counted(model: Model, alive: Ints, at: Any) -> Vector:
    """How many rows predicted each row, each by what a half-life leaves of it."""
    halflife, _ = remembering(model.window, model.halflife)
    if halflife is None:
        return alive.astype(np.float64)
    times = None if at is None else as_times(at, alive.size)
    halvings = halflife.halvings(alive.size, times)
    counted = np.zeros(alive.size)
    for t in range(1, alive.size):
        counted[t] = 1.0 + counted[t - 1] * 2.0 ** (halvings[t - 2] - halvings[t - 1])
        counted[t] = min(counted[t], alive[t])
    return counted


def _compared(
    models: Sequence[Model], found: Sequence[tuple[Vector, float, float]], scored: int
) -> Tuning:
    best = int(np.argmin([errors.mean() for errors, *_ in found]))
    trials = []
    for model, (errors, alive, counted) in zip(models, found, strict=True):
        excess = errors - found[best][0]
        figures = *mean_with_error(errors), *mean_with_error(excess)
        trials.append(Trial(clone(model), alive, counted, *figures))
    near = [trial for trial in trials if trial.excess <= trial.excess_error]
    shortest = min(near, key=lambda trial: (trial.live_rows, trial.mae))
    return Tuning(tuple(trials), trials[best], shortest, scored)


def mean_with_error(values: Vector) -> tuple[float, float]:
    """The mean, and its standard error from the means of sqrt(n) blocks of neighbours.

    >>> mean_with_error(np.arange(4.0))
    (1.5, 1.0)
    """
    count = max(2, int(np.sqrt(values.size)))
    means = [block.mean() for block in np.array_split(values, count)]
    return float(values.mean()), float(np.std(means, ddof=1) / np.sqrt(count))


def name_of(model: Model) -> str:
    """A model without its window and half-life, as its repr has it.

    >>> name_of(Ridge(window=30, alpha=0.1))
    'Ridge(alpha=0.1)'
    """
    plain = clone(model).set_params(window=None, halflife=None)
    return repr(plain).removesuffix("()")


def _in_words(memory: Any) -> str | None:
    counts = isinstance(memory, int | float | np.number)
    return f"{memory:,} rows" if counts else None if memory is None else str(memory)

"""The prediction error of AdaptiveRidge with each choice of its plug-in estimates."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers import attempt
from benchmarks.report import Goal, Report, Table
from benchmarks.settings import Settings
from benchmarks.subject import efface, missing
from benchmarks.workloads import Array

BIKES = Path(__file__).parent.parent / "src/efface/files/sample/bikeshare.csv"
ALPHAS = (0.1, 1.0, 10.0, 100.0, 1000.0)
PAPER, BETTER = "response, 1", "residual, auto"
PLUG_INS: dict[str, dict[str, Any]] = {
    PAPER: {"noise": "response", "theta_max": 1.0},
    "residual, 1": {"noise": "residual", "theta_max": 1.0},
    "response, auto": {"noise": "response", "theta_max": "auto"},
    BETTER: {"noise": "residual", "theta_max": "auto"},
}
NOTE = (
    "Mean squared error of the prediction of each row from the window before it, over that of "
    "Ridge with the best alpha in hindsight out of 0.1, 1, 10, 100 and 1000. Columns are noise and "
    "theta_max of AdaptiveRidge; `response, 1` is the paper's rule."
)


@dataclass(frozen=True)
class Stream:
    """A stream, the length of its window, and whether the model has an intercept."""

    name: str
    window: int
    intercept: bool
    draw: Callable[[], tuple[Array, Array]]


def run(settings: Settings) -> Report:
    """Every stream."""
    report = Report("penalty")
    lacking = missing("replay", "OLS", "Ridge", "AdaptiveRidge")
    for stream in streams():
        errors, reason = (None, lacking) if lacking else attempt(partial(measure, stream, settings))
        report.measurements.append({"stream": stream.name, "reason": reason, **(errors or {})})
    found = [entry for entry in report.measurements if not entry["reason"]]
    columns = ("OLS", *PLUG_INS)
    rows = [(entry["stream"], *(ratio(entry[name]) for name in columns)) for entry in found]
    if found:
        means = {name: mean([entry[name] for entry in found]) for name in columns}
        rows.append(("geometric mean", *(ratio(means[name]) for name in columns)))
        gain = means[BETTER] / means[PAPER]
        what = "error of the default over that of the paper's rule"
        report.goals.append(Goal(what, gain, "at most", 1.0, "x"))
    report.tables.append(Table("Error by plug-ins", ("stream", *columns), rows, NOTE))
    return report


def streams() -> Iterator[Stream]:
    """Bike sharing, the paper's simulation, several signal strengths, correlated features."""
    for features, windows in (("numbers", (100, 250, 500, 1000)), ("one-hot", (250, 1000))):
        for window in windows:
            name = f"bikes, {features}, s={window}"
            yield Stream(name, window, True, partial(bikes, features))
    for sigma in (1.0, 3.0):
        for s in (20, 80):
            yield simulated(f"paper's, sigma={sigma:g}", 100, s, sigma=sigma)
    yield simulated("paper's, y times 1000", 100, 80, unit=1000.0)
    yield simulated("paper's", 100, 150)
    yield simulated("paper's", 100, 500)
    for scale, word in ((0.3, "low"), (1.0, "medium"), (10.0, "high")):
        for d, s in ((10, 12), (10, 250), (100, 80), (100, 150)):
            yield simulated(f"{word} signal", d, s, scale=scale)
    yield simulated("correlated features", 10, 50, shared=0.9)
    yield simulated("correlated features", 100, 80, shared=0.9)


def simulated(name: str, d: int, s: int, **parameters: float) -> Stream:
    """A stream without intercept, as in section 5 of the paper."""
    return Stream(f"{name}, d={d}, s={s}", s, False, partial(simulate, d, s, **parameters))


def simulate(
    d: int, s: int, sigma: float = 1.0, scale: float = 1.0, unit: float = 1.0, shared: float = 0.0
) -> tuple[Array, Array]:
    """Standard normal features, which may be correlated, and coefficients of length ``scale``."""
    rng = np.random.default_rng([d, s])
    X = rng.normal(size=(s + 2000, d))
    X = np.sqrt(1 - shared) * X + np.sqrt(shared) * rng.normal(size=(len(X), 1))
    theta = rng.normal(size=d)
    y = X @ theta * scale / np.linalg.norm(theta) + sigma * rng.normal(size=len(X))
    return X, unit * y


def bikes(features: str) -> tuple[Array, Array]:
    """Hour, day and weather: as numbers, or with a column for each hour, day and kind of weather.

    The latter for the first 4,000 hours only: most windows have a constant column and need a refit
    at every row.
    """
    with BIKES.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    names = ["holiday", "workingday", "temp", "atemp", "hum", "windspeed"]
    names += ["hr", "weekday"] if features == "numbers" else []
    columns = [np.array([float(row[name]) for row in rows]) for name in names]
    for name in () if features == "numbers" else ("hr", "weekday", "weathersit"):
        labels = np.array([row[name] for row in rows])
        columns += [(labels == label).astype(float) for label in np.unique(labels)[1:]]
    hours = len(rows) if features == "numbers" else 4000
    bikers = np.array([float(row["bikers"]) for row in rows])
    return np.column_stack(columns)[:hours], bikers[:hours]


def measure(stream: Stream, settings: Settings) -> dict[str, float]:
    """Errors relative to the best Ridge."""
    X, y = stream.draw()
    if settings.quick:
        X, y = X[: stream.window + 500], y[: stream.window + 500]
    shape = {"window": stream.window, "fit_intercept": stream.intercept}
    error = partial(prequential, X, y, stream.window)
    best = min(error(efface("Ridge")(alpha=alpha, **shape)) for alpha in ALPHAS)
    errors = {"OLS": error(efface("OLS")(**shape)) / best}
    for name, parameters in PLUG_INS.items():
        errors[name] = error(efface("AdaptiveRidge")(**shape, **parameters)) / best
    return errors


def prequential(X: Array, y: Array, s: int, model: Any) -> float:
    """The mean squared error of predictions by a full window."""
    return float(((efface("replay")(model, X, y).prediction - y)[s:] ** 2).mean())


def mean(values: list[float]) -> float:
    """The geometric mean."""
    return exp(sum(log(value) for value in values) / len(values))


def ratio(value: float) -> str:
    """Two decimals, or none for large values."""
    return f"{value:.2f}" if value < 100 else f"{value:.0f}"

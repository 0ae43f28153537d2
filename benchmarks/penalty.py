"""The prediction error of AutoRidge and of other rules for the penalty; and what they cost."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers import attempt
from benchmarks.penalty_rules import SCANNED, ridge_cv, scan
from benchmarks.real_streams import real_streams
from benchmarks.report import Goal, Report, Table
from benchmarks.settings import Settings
from benchmarks.subject import efface, missing
from benchmarks.timing import busy_notes, interleave, seconds
from benchmarks.workloads import Array

BIKES = Path(__file__).parent.parent / "src/efface/files/sample/bikeshare.csv"
ALPHAS = np.geomspace(1e-6, 1e9, 40)
AUTO, PAPER = "AutoRidge", "paper's"
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    AUTO: ("AutoRidge", {}),
    "OLS": ("OLS", {}),
    PAPER: ("AdaptiveRidge", {}),
}
REFITTED = (*SCANNED, "RidgeCV")
NAMES = (*MODELS, *REFITTED)
MOST_SCANS, MOST_REFITS = 400, 200  # windows per stream: GCV and REML; RidgeCV
NOTE = (
    "Mean squared error of the prediction of each row from the window before it, over that of "
    "Ridge with the best of 40 values of alpha in hindsight, from 1e-6 to 1e9. `paper's` is "
    "AdaptiveRidge."
)
REFIT_NOTE = (
    "The same for other rules. GCV and REML take the best penalty of AutoRidge's grid: for "
    "features as they are, standardised (`std`), and scaled as by AutoRidge "
    "(`half`). RidgeCV of scikit-learn takes that of the 40 by leave-one-out. They are refitted "
    f"at up to {MOST_SCANS} windows per stream, evenly spaced, RidgeCV at {MOST_REFITS}; their "
    "figure is that of AutoRidge times the ratio of the two errors on the same rows."
)
PAIRED = (
    "AutoRidge's error over that of the rule, stream by stream: the geometric mean, two standard "
    "errors to each side, and the number of streams on which AutoRidge is better."
)
POINTS = ((20, 500, 9.0), (100, 500, 13.0))  # features, window, most times the time of Ridge
COST = "Process time per row, window of 500 rows; RidgeCV is refitted at every row"


@dataclass(frozen=True)
class Stream:
    """A stream, the length of its window, and whether the model has an intercept."""

    name: str
    window: int
    intercept: bool
    draw: Callable[[], tuple[Array, Array]]


def run(settings: Settings) -> Report:
    """Every stream, simulated and real; then the cost."""
    report = Report("penalty")
    lacking = missing("replay", "OLS", "Ridge", "AdaptiveRidge", "AutoRidge")
    simulated_means = table(report, "bench", list(streams()), settings, lacking)
    real = [Stream(each.name, each.window, True, each.draw) for each in real_streams()]
    real_means = table(report, "real", real, settings, lacking)
    if simulated_means and real_means:
        goals(report, simulated_means, real_means)
        report.tables.append(paired(report))
    if not lacking:
        cost(report, settings)
    return report


def table(
    report: Report, title: str, chosen: list[Stream], settings: Settings, lacking: str | None
) -> dict[str, float]:
    """Measure streams and add their table; the geometric mean of every rule."""
    found = []
    for stream in chosen:
        errors, reason = (None, lacking) if lacking else attempt(partial(measure, stream, settings))
        entry = {"set": title, "stream": stream.name, "reason": reason, **(errors or {})}
        report.measurements.append(entry)
        found += [] if reason else [entry]
    means = {name: mean([entry[name] for entry in found]) for name in NAMES} if found else {}
    text = {"bench": "bikes and simulations", "real": "real streams"}[title]
    for names, note in ((tuple(MODELS), NOTE), ((AUTO, *REFITTED), REFIT_NOTE)):
        rows = [(entry["stream"], *(ratio(entry[name]) for name in names)) for entry in found]
        if means:
            rows.append(("geometric mean", *(ratio(means[name]) for name in names)))
        report.tables.append(Table(f"Error by rule: {text}", ("stream", *names), rows, note))
    return means


def goals(report: Report, bench: dict[str, float], real: dict[str, float]) -> None:
    """What AutoRidge must reach."""
    worst = max(
        entry[AUTO]
        for entry in report.measurements
        if entry.get("set") == "bench" and not entry["reason"]
    )
    report.goals += [
        Goal("AutoRidge, bikes and simulations", bench[AUTO], "at most", 1.03, "x"),
        Goal("AutoRidge, the worst of them", worst, "at most", 1.35, "x"),
        Goal("AutoRidge, real streams", real[AUTO], "at most", 1.15, "x"),
    ]
    for name in ("OLS", PAPER, *REFITTED):
        what = f"AutoRidge over {name}, real streams"
        report.goals.append(Goal(what, real[AUTO] / real[name], "at most", 1.0, "x"))


def paired(report: Report) -> Table:
    """AutoRidge beside every other rule, over the real streams."""
    found = [each for each in report.measurements if each.get("set") == "real"]
    found = [each for each in found if not each["reason"]]
    rows: list[tuple[str, ...]] = []
    for name in NAMES[1:]:
        logs = np.log([each[AUTO] / each[name] for each in found])
        middle, error = float(logs.mean()), float(logs.std(ddof=1) / len(logs) ** 0.5)
        low, high = exp(middle - 2 * error), exp(middle + 2 * error)
        better = f"{int((logs < 0).sum())} of {len(logs)}"
        rows.append((name, f"{exp(middle):.3f}", f"{low:.3f} to {high:.3f}", better))
    columns = ("rule", "AutoRidge / rule", "two standard errors", "AutoRidge is better")
    return Table("AutoRidge beside each rule, real streams", columns, rows, PAIRED)


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
    s = stream.window
    if settings.quick:
        X, y = X[: s + 500], y[: s + 500]
    predict = partial(predictions, X, y, s, stream.intercept)
    fixed = [predict("Ridge", alpha=float(alpha)) for alpha in ALPHAS]
    best = min(fixed, key=lambda values: squared(values, y, slice(s, None)))
    reference = squared(best, y, slice(s, None))
    found = {name: predict(kind, **options) for name, (kind, options) in MODELS.items()}
    errors = {name: squared(each, y, slice(s, None)) / reference for name, each in found.items()}
    for rules, most in ((scans, MOST_SCANS), (cross_validations, MOST_REFITS)):
        rows = np.arange(s, len(y), max(1, -(-(len(y) - s) // most)))
        unit = errors[AUTO] / squared(found[AUTO], y, rows)
        for name, values in rules(X, y, s, stream.intercept, rows).items():
            errors[name] = float(((values - y[rows]) ** 2).mean()) * unit
    return errors


def predictions(X: Array, y: Array, s: int, intercept: bool, kind: str, **options: Any) -> Array:
    """Each row by the window before it."""
    model = efface(kind)(window=s, fit_intercept=intercept, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fixed alpha for features in any unit is the point here
        found: Array = efface("replay")(model, X, y).prediction
    return found


def scans(X: Array, y: Array, s: int, intercept: bool, rows: Array) -> dict[str, Array]:
    """Predictions of some rows by GCV and REML."""
    found = [scan(X[t - s : t], y[t - s : t], X[t], intercept) for t in rows.tolist()]
    return dict(zip(SCANNED, np.array(found).T, strict=True))


def cross_validations(X: Array, y: Array, s: int, intercept: bool, rows: Array) -> dict[str, Array]:
    """Predictions of some rows by RidgeCV."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ill-conditioned windows are part of the comparison
        found = [
            ridge_cv(ALPHAS, X[t - s : t], y[t - s : t], X[t], intercept) for t in rows.tolist()
        ]
    return {"RidgeCV": np.array(found)}


def squared(values: Array, y: Array, rows: Any) -> float:
    """The mean squared error at some rows."""
    return float(((values[rows] - y[rows]) ** 2).mean())


def cost(report: Report, settings: Settings) -> None:
    """Time per row of AutoRidge beside Ridge and beside a RidgeCV per row."""
    lines, notes, replay = [], [], efface("replay")
    for d, s, most in POINTS:
        rng, n = np.random.default_rng(d), s + (4000 if settings.quick else 12000)
        X = rng.normal(size=(n, d))
        y = X @ rng.normal(size=d) / d**0.5 + rng.normal(size=n)
        runs = {
            name: partial(replay, efface(kind)(window=s, **options), X, y)
            for name, (kind, options) in {"Ridge": ("Ridge", {}), **MODELS}.items()
            if name in ("Ridge", AUTO)
        }
        for each in runs.values():
            each()
        timings = interleave(runs, settings.rounds)
        micros = {name: 1e6 * min(timing.cpu) / n for name, timing in timings.items()}
        refitted = 40 if settings.quick else 100
        refit = partial(refits_alone, X, y, s, refitted)
        micros["RidgeCV"] = 1e6 * min(seconds(refit) for _ in range(3)) / refitted
        lines.append((f"d={d}", *(f"{micros[name]:.1f} µs" for name in micros)))
        notes += busy_notes(timings.values())
        report.measurements.append({"d": d, "s": s, "reason": None, "micros": micros})
        what = f"replay(AutoRidge) over replay(Ridge), d={d}"
        report.goals.append(Goal(what, micros[AUTO] / micros["Ridge"], "at most", most, "x"))
        what = f"RidgeCV per row over replay(AutoRidge), d={d}"
        report.goals.append(Goal(what, micros["RidgeCV"] / micros[AUTO], "at least", 10.0, "x"))
    columns = ("features", "Ridge", AUTO, "RidgeCV")
    report.tables.append(Table("Cost", columns, lines, "; ".join([COST, *dict.fromkeys(notes)])))


def refits_alone(X: Array, y: Array, s: int, count: int) -> list[float]:
    """RidgeCV at the first rows behind a window."""
    rows = range(s, s + count)
    return [ridge_cv(ALPHAS, X[t - s : t], y[t - s : t], X[t], True) for t in rows]


def mean(values: list[float]) -> float:
    """The geometric mean."""
    return exp(sum(log(value) for value in values) / len(values))


def ratio(value: float) -> str:
    """Two decimals, or none for large values."""
    return f"{value:.2f}" if value < 100 else f"{value:.0f}"

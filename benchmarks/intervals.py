"""The coverage of prediction intervals for the next response, and what they cost."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.report import Goal, Report, Table, figure
from benchmarks.settings import Settings
from benchmarks.subject import efface, missing
from benchmarks.timing import Run, interleave
from benchmarks.workloads import SEED, Array

LEVEL = 0.9
METHODS = ("gaussian", "self-normalized", "conformal", "local")
MODELS = ("OLS", "Ridge", "AutoRidge")
SIZES = ((5, 50), (5, 200), (20, 100), (20, 200))
THIRDS = ("gaussian", "conformal", "local")  # the methods that are compared by level of noise
LARGE = ((5, 200), (20, 500))  # a spread that varies is learned from at least 25 rows per feature
NOTE = (
    f"Share of responses inside, in percent, and median width; level {LEVEL:g}, "
    "noise of variance 1, coefficients from N(0, 1), Ridge with alpha 1."
)
THIRDS_NOTE = (
    "Share of responses inside, in percent: over all, and in the third of the rows with the least, "
    f"the middle and the most noise; median width; level {LEVEL:g}."
)


@dataclass(frozen=True)
class Source:
    """The distribution of responses: the noise, and the random walk of the coefficients."""

    name: str
    degrees: float | None = None
    drift: float = 0.0
    spread: str = "constant"

    def draw(self, n: int, d: int) -> tuple[Array, Array, Array]:
        """Rows, responses and the spread of their noise, the same for every model and method."""
        rng = np.random.default_rng([SEED, n, d])
        X = rng.standard_normal((n, d))
        theta = rng.standard_normal(d) + np.cumsum(self.drift * rng.standard_normal((n, d)), axis=0)
        mean = np.einsum("ij,ij->i", X, theta)
        spread = self.spreads(X, mean)
        return X, mean + spread * self.noise(rng, n), spread

    def spreads(self, X: Array, mean: Array) -> Array:
        """The standard deviation of the noise of each row."""
        if self.spread == "feature":
            return np.asarray(np.exp(0.7 * X[:, 0]))
        if self.spread == "response":
            return np.asarray(0.1 + 0.3 * np.abs(mean))
        return np.ones(len(X))

    def noise(self, rng: np.random.Generator, n: int) -> Array:
        """Noise of variance 1."""
        if self.degrees is None:
            return rng.standard_normal(n)
        return rng.standard_t(self.degrees, size=n) * np.sqrt(1 - 2 / self.degrees)


SOURCES = (
    Source("Gaussian"),
    Source("Student t(3)", degrees=3.0),
    Source("drift", drift=0.02),
    Source("fast drift", drift=0.05),
)
UNEVEN = (
    Source("spread grows with a feature", spread="feature"),
    Source("spread grows with the response", spread="response"),
    Source("spread grows with a feature, drift", drift=0.01, spread="feature"),
)
# For each method: the sources on which it should cover, and the allowed deviation in points.
GOALS = {
    "gaussian": (("Gaussian",), 1.5),
    "conformal": (("Gaussian", "Student t(3)", "drift"), 2.0),
    "local": (("Gaussian", "Student t(3)", "drift", *(source.name for source in UNEVEN)), 1.5),
}
THIRDS_LIMIT = 4.0
# Cost: rows, features, window, and how often a replay may take the time of a plain one.
COST = (12_000, 20, 500)
FEW = 700  # rows for conformal intervals
COST_MODELS = ("Ridge", "AutoRidge")
LIMIT = 4.0


def run(settings: Settings) -> Report:
    """A table for each source, the cost, and the goals."""
    report = Report("intervals")
    if missing("replay", *MODELS):
        return report
    steps = 1_000 if settings.quick else 5_000
    for source in SOURCES:
        rows = [line(source, name, d, s, steps, report) for d, s in SIZES for name in MODELS]
        columns = ("d, s, model", *METHODS)
        report.tables.append(
            Table(f"Coverage over {steps} rows: {source.name}", columns, rows, NOTE)
        )
    for source in UNEVEN:
        rows = [thirds(source, name, d, s, steps, report) for d, s in LARGE for name in MODELS]
        title = f"Coverage by level of noise over {steps} rows: {source.name}"
        report.tables.append(Table(title, ("d, s, model", *THIRDS), rows, THIRDS_NOTE))
    report.tables.append(cost(settings, report))
    report.goals.extend(worst(report, method) for method in GOALS)
    report.goals.append(worst_third(report))
    return report


def line(source: Source, name: str, d: int, s: int, steps: int, report: Report) -> tuple[str, ...]:
    """The table row of one model on one stream, with every method."""
    found = measure(source, name, d, s, steps, METHODS, report)
    return (
        f"{d}, {s}, {name}",
        *(f"{each['coverage']:.1f} ({figure(each['width'])})" for each in found),
    )


def thirds(
    source: Source, name: str, d: int, s: int, steps: int, report: Report
) -> tuple[str, ...]:
    """The same with coverage by level of noise."""
    found = measure(source, name, d, s, steps, THIRDS, report)
    cells = []
    for each in found:
        parts = " ".join(f"{part:.1f}" for part in each["thirds"])
        cells.append(f"{each['coverage']:.1f}: {parts} ({figure(each['width'])})")
    return (f"{d}, {s}, {name}", *cells)


def measure(
    source: Source, name: str, d: int, s: int, steps: int, methods: tuple[str, ...], report: Report
) -> list[dict[str, Any]]:
    """The coverage of each method, which the report gets too."""
    X, y, spread = source.draw(s + steps, d)
    found = []
    for method in methods:
        covered = cover(efface(name)(window=s), X, y, s, method, spread)
        where = {"source": source.name, "model": name, "d": d, "s": s, "method": method}
        report.measurements.append({**where, **covered})
        found.append(covered)
    return found


def cover(model: Any, X: Array, y: Array, s: int, method: str, spread: Array) -> dict[str, Any]:
    """Coverage and width once the window is full; coverage in each third of the noise."""
    result = efface("replay")(model, X, y, interval=LEVEL, method=method)
    inside = ((result.lower <= y) & (y <= result.upper))[s:]
    width = float(np.median((result.upper - result.lower)[s:]))
    third = np.argsort(np.argsort(spread[s:])) * 3 // inside.size
    parts = [100 * float(inside[third == k].mean()) for k in range(3)]
    return {"coverage": 100 * float(inside.mean()), "width": width, "thirds": parts}


def worst(report: Report, method: str) -> Goal:
    """The largest deviation from the level on the sources of the method's goal."""
    sources, limit = GOALS[method]
    misses = [
        abs(entry["coverage"] - 100 * LEVEL)
        for entry in report.measurements
        if entry.get("method") == method
        and entry["source"] in sources
        and (method == "local" or entry["model"] != "AutoRidge")
    ]
    what = f"{method}: largest deviation in points ({', '.join(sources)})"
    return Goal(what, max(misses, default=None), "at most", limit)


def worst_third(report: Report) -> Goal:
    """The largest deviation of local intervals in a third of the noise."""
    uneven = {source.name for source in UNEVEN}
    misses = [
        abs(part - 100 * LEVEL)
        for entry in report.measurements
        if entry.get("method") == "local" and entry["source"] in uneven
        for part in entry["thirds"]
    ]
    what = "local: largest deviation in points in a third of the noise"
    return Goal(what, max(misses, default=None), "at most", THIRDS_LIMIT)


# -- cost ------------------------------------------------------------------------------------------


def cost(settings: Settings, report: Report) -> Table:
    """Microseconds per row of a replay without intervals and with each method."""
    n, d, s = COST
    rows = []
    for name in COST_MODELS:
        found = micros(name, settings)
        report.measurements.append({"model": name, "cost": found})
        ratio = found["local"] / found["plain"]
        cells = [figure(found[way]) for way in ("plain", "gaussian", "conformal", "local")]
        rows.append((name, *cells, figure(ratio)))
        if name == "AutoRidge":
            what = f"local intervals over a plain replay, {name} at {d}, {s}"
            report.goals.append(Goal(what, ratio, "at most", LIMIT, "x"))
    columns = ("model", "plain µs", "gaussian µs", "conformal µs", "local µs", "local / plain")
    note = (
        f"Least processor time per row over {settings.rounds} rounds; {n} rows, d={d}, s={s}; "
        f"conformal intervals for the first {FEW} rows."
    )
    return Table("Cost of intervals at level 0.95, µs per row", columns, rows, note)


def micros(name: str, settings: Settings) -> dict[str, float]:
    """The time per row of each way, interleaved, after one call of each that compiles."""
    n, d, s = COST
    X, y, _ = Source("Gaussian").draw(n, d)
    asked: dict[str, dict[str, Any]] = {"plain": {}, "gaussian": {"method": "gaussian"}}
    asked |= {"local": {"method": "local"}, "conformal": {"method": "conformal"}}
    rows = {way: FEW if way == "conformal" else n for way in asked}
    runs: dict[str, Run] = {}
    for way, options in asked.items():
        level = {} if way == "plain" else {"interval": 0.95}
        k = rows[way]
        runs[way] = partial(replayed, name, s, X[:k], y[:k], {**level, **options})
        runs[way]()
    timings = interleave(runs, settings.rounds)
    return {way: 1e6 * min(timing.cpu) / rows[way] for way, timing in timings.items()}


def replayed(name: str, s: int, X: Array, y: Array, options: dict[str, Any]) -> object:
    """A replay through a fresh model."""
    return efface("replay")(efface(name)(window=s), X, y, **options)

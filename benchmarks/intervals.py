"""The coverage of prediction intervals for the next response, against their level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.report import Goal, Report, Table, figure
from benchmarks.settings import Settings
from benchmarks.subject import efface, missing
from benchmarks.workloads import SEED, Array

LEVEL = 0.9
METHODS = ("gaussian", "self-normalized", "conformal")
MODELS = ("OLS", "Ridge", "AdaptiveRidge")
SIZES = ((5, 50), (5, 200), (20, 100), (20, 200))
NOTE = (
    f"Share of responses inside, in percent, and median width; level {LEVEL:g}, "
    "noise of variance 1, coefficients from N(0, 1), Ridge with alpha 1."
)


@dataclass(frozen=True)
class Source:
    """The distribution of responses: the noise, and the random walk of the coefficients."""

    name: str
    degrees: float | None
    drift: float

    def draw(self, n: int, d: int) -> tuple[Array, Array]:
        """Rows and responses, the same for every model and method."""
        rng = np.random.default_rng([SEED, n, d])
        X = rng.standard_normal((n, d))
        theta = rng.standard_normal(d) + np.cumsum(self.drift * rng.standard_normal((n, d)), axis=0)
        return X, np.einsum("ij,ij->i", X, theta) + self.noise(rng, n)

    def noise(self, rng: np.random.Generator, n: int) -> Array:
        """Noise of variance 1."""
        if self.degrees is None:
            return rng.standard_normal(n)
        return rng.standard_t(self.degrees, size=n) * np.sqrt(1 - 2 / self.degrees)


SOURCES = (
    Source("Gaussian", None, 0.0),
    Source("Student t(3)", 3.0, 0.0),
    Source("drift", None, 0.02),
    Source("fast drift", None, 0.05),
)
# For each method: the sources on which it should cover, and the allowed deviation in points.
GOALS = {
    "gaussian": (("Gaussian",), 1.5),
    "conformal": (("Gaussian", "Student t(3)", "drift"), 2.0),
}


def run(settings: Settings) -> Report:
    """A table for each source, and the goals."""
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
    report.goals.extend(worst(report, method) for method in GOALS)
    return report


def line(source: Source, name: str, d: int, s: int, steps: int, report: Report) -> tuple[str, ...]:
    """The table row of one model on one stream, with every method."""
    X, y = source.draw(s + steps, d)
    cells = []
    for method in METHODS:
        found = cover(efface(name)(window=s), X, y, s, method)
        where = {"source": source.name, "model": name, "d": d, "s": s, "method": method}
        report.measurements.append({**where, **found})
        cells.append(f"{found['coverage']:.1f} ({figure(found['width'])})")
    return (f"{d}, {s}, {name}", *cells)


def cover(model: Any, X: Array, y: Array, s: int, method: str) -> dict[str, float]:
    """Coverage and width once the window is full."""
    result = efface("replay")(model, X, y, interval=LEVEL, method=method)
    inside = (result.lower <= y) & (y <= result.upper)
    width = float(np.median((result.upper - result.lower)[s:]))
    return {"coverage": 100 * float(inside[s:].mean()), "width": width}


def worst(report: Report, method: str) -> Goal:
    """The largest deviation from the level on the sources of the method's goal."""
    sources, limit = GOALS[method]
    misses = [
        abs(entry["coverage"] - 100 * LEVEL)
        for entry in report.measurements
        if entry["method"] == method and entry["source"] in sources and entry["model"] != MODELS[2]
    ]
    what = f"{method}, OLS and Ridge: largest deviation in points ({', '.join(sources)})"
    return Goal(what, max(misses, default=None), "at most", limit)

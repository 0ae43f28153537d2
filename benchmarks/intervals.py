"""The coverage of prediction intervals for the next response, and what they cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.interval_streams import (
    FAMILIES,
    REAL,
    UNEVEN,
    Family,
    IntervalStream,
    others,
    real,
    trial,
)
from benchmarks.report import Goal, Report, Table, figure
from benchmarks.settings import Settings
from benchmarks.subject import efface, missing
from benchmarks.timing import Run, interleave
from benchmarks.workloads import SEED, Array

LEVELS = (0.8, 0.9, 0.95, 0.99)
SHOWN = 0.95  # the level of the tables
# Every method, on plain noise.
PLAIN_LEVEL = 0.9
METHODS = ("gaussian", "self-normalized", "conformal", "local")
SIZES = ((5, 50), (5, 200), (20, 200))
# Cost: rows, features, window, and how often a replay may take the time of a plain one.
COST = (12_000, 20, 500)
FEW = 700  # rows for conformal intervals
COST_MODELS = ("Ridge", "AutoRidge")
LIMIT = 3.5
COLUMNS = ("stream, s", "local", "thirds", "gaussian", "thirds", "width", "largest")
NOTE = (
    f"Level {100 * SHOWN:g} %, AutoRidge. Share of the next responses inside, in percent; in the "
    "third of the rows with the least, the middle and the most noise; the mean and the largest "
    "width of local intervals over those of gaussian ones."
)


@dataclass(frozen=True)
class Source:
    """Normal features with coefficients from N(0, 1), and noise of variance 1."""

    name: str
    degrees: float | None = None
    drift: float = 0.0

    def draw(self, n: int, d: int) -> tuple[Array, Array]:
        """Rows and responses, the same for every method."""
        rng = np.random.default_rng([SEED, n, d])
        X = rng.standard_normal((n, d))
        theta = rng.standard_normal(d) + np.cumsum(self.drift * rng.standard_normal((n, d)), axis=0)
        return X, np.einsum("ij,ij->i", X, theta) + self.noise(rng, n)

    def noise(self, rng: np.random.Generator, n: int) -> Array:
        if self.degrees is None:
            return rng.standard_normal(n)
        return rng.standard_t(self.degrees, size=n) * np.sqrt(1 - 2 / self.degrees)


SOURCES = (Source("Gaussian"), Source("Student t(3)", degrees=3.0), Source("drift", drift=0.02))


def run(settings: Settings) -> Report:
    """Local beside gaussian intervals on all streams, every method on some, the cost, the goals."""
    report = Report("intervals")
    if missing("replay", "OLS", "AutoRidge"):
        return report
    seed = SEED if settings.seed is None else settings.seed
    rows = 1_000 if settings.quick else 8_000
    lines = []
    for stream in (*trial(seed, rows), *others(seed, rows), *real()):
        found = measure(stream)
        report.measurements.extend(found)
        lines.append((stream.family, line(stream, found[LEVELS.index(SHOWN)])))
    for name in (*(family.name for family in FAMILIES), REAL):
        title = f"{name}: coverage over {rows} rows, seed {seed}"
        chosen = [cells for family, cells in lines if family == name]
        report.tables.append(Table(title, COLUMNS, chosen, NOTE))
    for family in FAMILIES:
        report.goals.extend(goals(family, report.measurements))
    steps = 1_000 if settings.quick else 5_000
    report.tables.extend(plain(source, steps, report) for source in SOURCES)
    report.tables.append(cost(settings, report))
    return report


# -- streams ---------------------------------------------------------------------------------------


def measure(stream: IntervalStream) -> list[dict[str, Any]]:
    """Coverage and widths at each level."""
    found = []
    for level in LEVELS:
        each = {"family": stream.family, "stream": f"{stream.name}, s {stream.s}", "level": level}
        for method in ("local", "gaussian"):
            each[method] = covered(stream, level, method)
        found.append(each)
    return found


def covered(stream: IntervalStream, level: float, method: str) -> dict[str, Any]:
    """Coverage over all and by third of the noise, mean and largest width, of full windows."""
    model, s, y = efface("AutoRidge")(window=stream.s, **stream.options), stream.s, stream.y
    given = {"interval": level, "method": method, "sample_weight": stream.weights}
    result = efface("replay")(model, stream.X, y, **given)
    inside = 100.0 * ((result.lower <= y) & (y <= result.upper))[s:]
    width = (result.upper - result.lower)[s:]
    thirds = np.array_split(inside[np.argsort(stream.spread[s:], kind="stable")], 3)
    return {
        "coverage": float(inside.mean()),
        "thirds": [float(part.mean()) for part in thirds],
        "width": float(width.mean()),
        "widest": float(width.max()),
    }


def line(stream: IntervalStream, found: dict[str, Any]) -> tuple[str, ...]:
    """The table row of one stream."""
    cells = [f"{stream.name}, {stream.s}"]
    for method in ("local", "gaussian"):
        uneven = stream.family == UNEVEN.name
        thirds = " ".join(f"{part:.1f}" for part in found[method]["thirds"]) if uneven else ""
        cells += [f"{found[method]['coverage']:.1f}", thirds]
    return (*cells, f"{over(found, 'width'):.2f}", f"{over(found, 'widest'):.2f}")


def over(found: dict[str, Any], what: str) -> float:
    """Local over gaussian."""
    return float(found["local"][what] / found["gaussian"][what])


def goals(family: Family, measurements: list[dict[str, Any]]) -> Iterator[Goal]:
    """The largest deviations of local intervals on the streams of a family, at any level."""
    chosen = [each for each in measurements if each.get("family") == family.name]

    def away(each: dict[str, Any], value: float) -> float:
        return abs(value - 100.0 * each["level"])

    deviations = {each["stream"]: 0.0 for each in chosen}
    for each in chosen:
        found = away(each, each["local"]["coverage"])
        deviations[each["stream"]] = max(deviations[each["stream"]], found)
    worst = max(deviations, key=lambda name: deviations[name])
    what = f"{family.name}: points from the level, {worst}"
    yield Goal(what, deviations[worst], "at most", family.points)
    if family.thirds is not None:
        thirds = max(away(each, part) for each in chosen for part in each["local"]["thirds"])
        yield Goal(f"{family.name}: points in a third", thirds, "at most", family.thirds)
    for what, limit in (("width", family.width), ("widest", family.widest)):
        if limit is not None:
            value = max(over(each, what) for each in chosen)
            yield Goal(f"{family.name}: {what} over gaussian's", value, "at most", limit, "x")


def plain(source: Source, steps: int, report: Report) -> Table:
    """Coverage and median width of every method for least squares."""
    rows = []
    for d, s in SIZES:
        X, y = source.draw(s + steps, d)
        cells = []
        for method in METHODS:
            told = efface("replay")(
                efface("OLS")(window=s), X, y, interval=PLAIN_LEVEL, method=method
            )
            inside = float(100 * ((told.lower <= y) & (y <= told.upper))[s:].mean())
            width = float(np.median((told.upper - told.lower)[s:]))
            about = {"source": source.name, "d": d, "s": s, "method": method}
            report.measurements.append({**about, "coverage": inside, "width": width})
            cells.append(f"{inside:.1f} ({figure(width)})")
        rows.append((f"{d}, {s}", *cells))
    note = f"Share inside, in percent, and median width; OLS, level {PLAIN_LEVEL:g}, {steps} rows."
    return Table(f"Every method: {source.name}", ("d, s", *METHODS), rows, note)


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
    X, y = Source("Gaussian").draw(n, d)
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

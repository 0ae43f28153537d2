"""The cost of frames against arrays: `rolling` on the same numbers with the same outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

from benchmarks.report import Goal, Report, Table, figure
from benchmarks.settings import Settings
from benchmarks.subject import efface, missing
from benchmarks.timing import BUSY_NOTE, Run, busy_notes, interleave
from benchmarks.workloads import Array, Point, Work, rolling_work

POINTS = (Point(100_000, 20, 250), Point(100_000, 5, 250))
KINDS: dict[str, Callable[[dict[str, Array]], Any]] = {
    "pandas": pd.DataFrame,
    "Polars": pl.DataFrame,
    "Arrow": lambda columns: pl.DataFrame(columns).to_arrow(),
    "Polars, lazy": pl.LazyFrame,
}
WANTED = ("pandas", "Polars")
LIMIT = 1.15
ROUNDS = 6  # multiplies the rounds of the settings: runs are short, and only the fastest one counts
NOTE = "Fastest call in ms with all default outputs, in one thread, and its ratio to arrays."


def run(settings: Settings) -> Report:
    """Every point."""
    report = Report("frames")
    if missing("rolling"):
        return report
    for point in POINTS:
        report.measurements.append(measure(point, settings))
    columns = ("d, s", "arrays", *KINDS)
    rows = [line(point, found) for point, found in zip(POINTS, report.measurements, strict=True)]
    busy = [BUSY_NOTE] if any(found["busy"] for found in report.measurements) else []
    report.tables.append(Table("rolling on frames", columns, rows, "; ".join([NOTE, *busy])))
    found = report.measurements[0]
    for kind in WANTED:
        ratio = found[kind] / found["arrays"] if found["same"] else float("nan")
        what = f"{kind} over arrays at {POINTS[0].n}, {POINTS[0].d}"
        report.goals.append(Goal(what, ratio, "at most", LIMIT, "x"))
    return report


def measure(point: Point, settings: Settings) -> dict[str, Any]:
    """Arrays and every kind of frame, interleaved, after one call of each that compiles."""
    work = rolling_work(point)
    work = work.head(work.n // 5) if settings.quick else work
    runs = {"arrays": arrays(work), **{kind: frames(make, work) for kind, make in KINDS.items()}}
    results = [run() for run in runs.values()]
    timings = interleave(runs, ROUNDS * settings.rounds)
    return {
        "point": point.label,
        **{name: 1e3 * timing.minimum for name, timing in timings.items()},
        "same": all(same(result, results[0]) for result in results),
        "busy": bool(busy_notes(timings.values())),
    }


def arrays(work: Work) -> Run:
    """`rolling` on arrays in C order."""
    return lambda: efface("rolling")(work.X, work.y, work.s, threads=1)


def frames(make: Callable[[dict[str, Array]], Any], work: Work) -> Run:
    """`rolling` on a frame whose columns are the features and the response."""
    columns = {f"x{j}": work.X[:, j].copy() for j in range(work.d)}
    frame = make({**columns, "y": work.y})
    return lambda: efface("rolling")(frame, "y", work.s, threads=1)


def same(result: Any, wanted: Any) -> bool:
    """Whether coefficients and predictions equal those of the arrays, to the last bit."""
    pairs = ((result.coef, wanted.coef), (result.prediction, wanted.prediction))
    return all(np.array_equal(plain(one), other, equal_nan=True) for one, other in pairs)


def plain(values: Any) -> Array:
    """A frame or a column as an array."""
    return np.asarray(values.to_pandas() if hasattr(values, "to_pandas") else values)


def line(point: Point, found: dict[str, Any]) -> tuple[str, ...]:
    """The table row of a point."""
    cells = [f"{figure(found[kind])} ({found[kind] / found['arrays']:.2f}x)" for kind in KINDS]
    return (f"{point.d}, {point.s}", figure(found["arrays"]), *cells)

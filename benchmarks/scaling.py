"""Rolling scaling of every row by the window that ends at it, and the cost of standardising."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd
import polars as pl

from benchmarks.report import Goal, Report, Table, error_figure, figure
from benchmarks.settings import Settings
from benchmarks.subject import efface, missing
from benchmarks.timing import Timing, interleave
from benchmarks.workloads import Array, gaussian

SIZES = ((10, 100), (10, 1_000), (10, 10_000), (100, 1_000))
MODELS = ("Ridge", "AdaptiveRidge")
WIDTHS = ((5, 250), (20, 250), (100, 500))
GIANT = 1e8
LIMIT = 2.0  # allowed ratio of the cost per row, for a window that is a hundred times as long

Scale = Callable[[Array, int], Array]


def by_efface(X: Array, s: int) -> Array:
    """A WindowScaler, compiled."""
    return np.asarray(efface("WindowScaler")(window=s).rolling_transform(X, include=True))


def by_pandas(X: Array, s: int) -> Array:
    """Running sums that add and subtract, compensated."""
    frame = pd.DataFrame(X)
    window = frame.rolling(s, min_periods=1)
    return ((frame - window.mean()) / window.std(ddof=0)).to_numpy()


def by_polars(X: Array, s: int) -> Array:
    """Running sums that add and subtract."""
    column, options = pl.all(), {"window_size": s, "min_samples": 1}
    scaled = (column - column.rolling_mean(**options)) / column.rolling_std(**options, ddof=0)
    return pl.DataFrame(X).select(scaled).to_numpy()


def by_windows(X: Array, s: int) -> Array:
    """Two passes over every full window: the reference."""
    out = np.full_like(X, np.nan)
    for t in range(s - 1, len(X)):
        window = X[t - s + 1 : t + 1]
        out[t] = (X[t] - window.mean(axis=0)) / window.std(axis=0)
    return out


CONTENDERS: dict[str, Scale] = {
    "efface": by_efface,
    "pandas": by_pandas,
    "polars": by_polars,
    "NumPy, two passes": by_windows,
}


def run(settings: Settings) -> Report:
    """Rolling scaling with growing windows, then models with and without standardising."""
    report = Report("scaling")
    if missing("WindowScaler", "replay", *MODELS):
        return report
    rows = 5_000 if settings.quick else 50_000
    lines = [scale(report, d, s, rows + s, settings) for d, s in SIZES]
    columns = ("d, s", *CONTENDERS, *(f"{name}: error" for name in CONTENDERS))
    note = (
        "µs of processor time per row; largest error of a score after a row 1e8 times larger left."
    )
    report.tables.append(
        Table("Every row scaled by the window that ends at it", columns, lines, note)
    )
    report.tables.append(standardise(report, settings))
    report.goals.append(growth(report))
    worst = max(entry["error"] for entry in report.measurements if entry.get("who") == "efface")
    report.goals.append(Goal("efface: largest error of a score", worst, "at most", 1e-9))
    return report


def scale(report: Report, d: int, s: int, n: int, settings: Settings) -> tuple[str, ...]:
    """Every contender on one stream."""
    X, _ = gaussian(n, d)
    X[n // 4] *= GIANT
    short = X[: s + 500]
    runs = {name: partial(way, X, s) for name, way in CONTENDERS.items() if way is not by_windows}
    for way in CONTENDERS.values():
        way(short, s)  # warm-up
    timings = interleave(runs, settings.rounds)
    timings["NumPy, two passes"] = interleave({"": partial(by_windows, short, s)}, settings.rounds)[
        ""
    ]
    lengths = {name: 501 if way is by_windows else n for name, way in CONTENDERS.items()}
    after = slice(n // 4 + s, n // 4 + s + 500)
    exact = by_windows(X[: after.stop], s)[after]
    cells, errors = [], []
    for name, way in CONTENDERS.items():
        error = float(np.abs(way(X, s)[after] - exact).max()) if way is not by_windows else 0.0
        cost = 1e6 * min(timings[name].cpu) / lengths[name]
        report.measurements.append({"who": name, "d": d, "s": s, "cost": cost, "error": error})
        cells.append(figure(cost))
        errors.append(error_figure(error))
    return (f"{d}, {s}", *cells, *errors)


def growth(report: Report) -> Goal:
    """The cost per row with a window that is a hundred times as long."""
    costs = {
        entry["s"]: entry["cost"]
        for entry in report.measurements
        if entry.get("who") == "efface" and entry["d"] == 10
    }
    what = "efface: cost per row at s = 10000 over that at s = 100"
    return Goal(what, costs[10_000] / costs[100], "at most", LIMIT)


def standardise(report: Report, settings: Settings) -> Table:
    """Models on raw and on standardised features."""
    rows = []
    for d, s in WIDTHS:
        n = (500 if settings.quick else 200_000 // d) + s
        X, y = gaussian(n, d)
        timings = replays(X, y, s, settings)
        costs = {name: 1e6 * min(timing.cpu) / n for name, timing in timings.items()}
        report.measurements.append({"d": d, "s": s, **costs})
        rows.append((f"{d}, {s}", *(figure(cost) for cost in costs.values())))
    note = "Smallest µs of processor time per row of a replay."
    return Table("Cost of standardising", ("d, s", *timings), rows, note)


def replays(X: Array, y: Array, s: int, settings: Settings) -> dict[str, Timing]:
    """Each model with and without standardising."""

    def through(name: str, standardize: bool, rows: int) -> None:
        model = efface(name)(window=s, standardize=standardize)
        efface("replay")(model, X[:rows], y[:rows])

    ways = [(name, standardize) for name in MODELS for standardize in (False, True)]
    for way in ways:
        through(*way, s + 100)  # warm-up
    labels = {way: way[0] + (", standardised" if way[1] else "") for way in ways}
    return interleave({labels[w]: partial(through, *w, len(y)) for w in ways}, settings.rounds)

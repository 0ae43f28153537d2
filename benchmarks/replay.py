"""The cost of adaptive penalties: the paper's rule against `Ridge`, the default against that rule.

Also the cost of features that are constant within a window, as one-hot columns often are.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.peers import attempt
from benchmarks.report import Goal, Report, Table, error_figure, figure
from benchmarks.rolling import RIGHT, checker
from benchmarks.settings import Settings
from benchmarks.subject import efface, missing
from benchmarks.timing import BUSY_NOTE, Run, Timing, busy_notes, interleave
from benchmarks.workloads import Array, Point, Work, rolling_work

POINTS = (Point(50_000, 20, 250, 1.0), Point(10_000, 100, 500, 1.0), Point(10_000, 100, 50, 1.0))
LIMIT = 3.0
CONSTANT, CONSTANT_LIMIT = 4, 2.0
COLUMNS = ("d, s", "Ridge µs", "paper's µs", "ratio", "Ridge max rel err")
NOTE = (
    "Median µs per row of the array; the ratio is that of the paper's rule to Ridge; the error is"
    " that of the coefficients of Ridge against lstsq."
)


def run(settings: Settings) -> Report:
    """Every point."""
    report = Report("replay")
    lacking = missing("replay", "Ridge", "AdaptiveRidge")
    for point in POINTS:
        record, reason = (None, lacking) if lacking else attempt(partial(measure, point, settings))
        report.measurements.append({"point": point.label, "reason": reason, **(record or {})})
        report.goals.append(goal(point, record))
    ratio = None if lacking else constant_ratio(POINTS[0], settings)
    what = f"Ridge with {CONSTANT} of {POINTS[0].d} features constant over Ridge"
    report.goals.append(Goal(what, ratio, "at most", CONSTANT_LIMIT, "x"))
    rows = [line(point, entry) for point, entry in zip(POINTS, report.measurements, strict=True)]
    reasons = {str(entry["reason"]) for entry in report.measurements if entry["reason"]}
    busy = [BUSY_NOTE] if any(entry.get("busy") for entry in report.measurements) else []
    note = "; ".join([NOTE, *busy, *sorted(reasons)])
    report.tables.append(Table("Replay, µs per row", COLUMNS, rows, note))
    return report


def goal(point: Point, record: dict[str, Any] | None) -> Goal:
    """The goal for the ratio; its value is NaN, a miss, if the coefficients of Ridge are wrong."""
    ratio = None
    if record:
        ratio = record["ratio"] if record["max_relative_error"] <= RIGHT else float("nan")
    return Goal(f"the paper's over Ridge at {point.d}, {point.s}", ratio, "at most", LIMIT, "x")


def measure(point: Point, settings: Settings) -> dict[str, Any]:
    """The models interleaved, after one call of each that compiles."""
    work = rolling_work(point)
    work = work.head(work.n // 5) if settings.quick else work
    replay, adaptive = efface("replay"), efface("AdaptiveRidge")
    runs: dict[str, Run] = {
        "Ridge": lambda: replay(ridge(work), work.X, work.y),
        "paper": lambda: replay(adaptive(window=work.s, fit_intercept=False), work.X, work.y),
    }
    for warm_up in runs.values():
        warm_up()
    timings = interleave(runs, settings.rounds)
    coef = learned(ridge(work), work)
    return {
        **{f"{name}_us": micros(timing, work) for name, timing in timings.items()},
        "ratio": timings["paper"].median / timings["Ridge"].median,
        "max_relative_error": checker(work)(coef),
        "busy": bool(busy_notes(timings.values())),
    }


def constant_ratio(point: Point, settings: Settings) -> float:
    """The time of a replay with some constant features, over that of one without."""
    work, replay, ridge_ = rolling_work(point).head(4000), efface("replay"), efface("Ridge")
    X = work.X.copy()
    X[:, :CONSTANT] = 0.1
    runs: dict[str, Run] = {
        "constant": lambda: replay(ridge_(window=work.s, alpha=work.alpha), X, work.y),
        "varying": lambda: replay(ridge_(window=work.s, alpha=work.alpha), work.X, work.y),
    }
    for warm_up in runs.values():
        warm_up()
    timings = interleave(runs, settings.rounds)
    return timings["constant"].median / timings["varying"].median


def learned(model: Any, work: Work) -> Array:
    """Coefficients after each row: the replay returns those before it, the model has the last."""
    before = efface("replay")(model, work.X, work.y, coef=True).coef
    return np.vstack([before[1:], model.coef_])


def ridge(work: Work) -> Any:
    """A fresh model for a problem."""
    return efface("Ridge")(window=work.s, alpha=work.alpha, fit_intercept=False)


def micros(timing: Timing, work: Work) -> float:
    """Median µs per row."""
    return 1e6 * timing.median / work.n


def line(point: Point, entry: dict[str, Any]) -> tuple[str, ...]:
    """The table row of a point."""
    name = f"{point.d}, {point.s}"
    if entry["reason"]:
        return (name, str(entry["reason"]).split(":")[0], "", "", "")
    keys = ("Ridge_us", "paper_us", "ratio")
    times = [figure(entry[key]) for key in keys]
    return (name, *times, error_figure(entry["max_relative_error"]))

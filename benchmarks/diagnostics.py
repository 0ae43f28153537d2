"""The cost of diagnostics and intervals in a `replay`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.peers import attempt
from benchmarks.replay import micros
from benchmarks.report import Goal, Report, Table, figure
from benchmarks.settings import Settings
from benchmarks.subject import efface, missing
from benchmarks.timing import BUSY_NOTE, Run, busy_notes, interleave
from benchmarks.workloads import Point, Work, rolling_work

POINT = Point(10_000, 100, 500, 1.0)
SCORED = Point(2_000, 5, 200)
MODELS = ("OLS", "Ridge", "AdaptiveRidge")
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "diagnostics": {"diagnostics": True},
    "gaussian": {"interval": 0.95},
}
LIMIT = 1.6
COLUMNS = ("model", "plain µs", "with diagnostics µs", "ratio", "with intervals µs", "ratio")
NOTE = (
    f"Median µs per row, starting from an empty model, at d={POINT.d}, s={POINT.s}; "
    "gaussian intervals."
)


def run(settings: Settings) -> Report:
    """Every model, then the conformal intervals."""
    report = Report("diagnostics")
    lacking = missing("replay", *MODELS)
    for name in MODELS:
        job = partial(measure, name, settings)
        record, reason = (None, lacking) if lacking else attempt(job)
        report.measurements.append({"model": name, "reason": reason, **(record or {})})
        ratio = record["diagnostics"] / record["plain"] if record else None
        what = f"diagnostics over a plain replay, {name} at {POINT.d}, {POINT.s}"
        report.goals.append(Goal(what, ratio, "at most", LIMIT, "x"))
    busy = [BUSY_NOTE] if any(entry.get("busy") for entry in report.measurements) else []
    rows = [line(entry) for entry in report.measurements]
    report.tables.append(
        Table("Cost of diagnostics and intervals", COLUMNS, rows, "; ".join([NOTE, *busy]))
    )
    if not lacking:
        report.tables.append(conformal(settings))
    return report


def measure(name: str, settings: Settings) -> dict[str, Any]:
    """One model with each set of options, interleaved, after one call of each that compiles."""
    work = rolling_work(POINT)
    work = work.head(work.n // 5) if settings.quick else work
    runs = {way: replays(name, work, **options) for way, options in OPTIONS.items()}
    for warm_up in runs.values():
        warm_up()
    timings = interleave(runs, settings.rounds)
    found = {way: micros(timing, work) for way, timing in timings.items()}
    return {**found, "busy": bool(busy_notes(timings.values()))}


def replays(name: str, work: Work, **options: Any) -> Run:
    """A replay through a fresh model."""
    replay, model = efface("replay"), fresh(name, work)
    return lambda: replay(model(), work.X, work.y, **options)


def fresh(name: str, work: Work) -> Callable[[], Any]:
    """A function that makes an empty model for a problem."""
    alpha = {"alpha": work.alpha} if name == "Ridge" else {}
    return partial(efface(name), window=work.s, fit_intercept=False, **alpha)


def line(entry: dict[str, Any]) -> tuple[str, ...]:
    """The table row of a model."""
    if entry["reason"]:
        return (entry["model"], str(entry["reason"]).split(":")[0], "", "", "", "")
    plain, diagnosed, bounded = (entry[way] for way in OPTIONS)
    figures = (plain, diagnosed, diagnosed / plain, bounded, bounded / plain)
    return (entry["model"], *(figure(value) for value in figures))


def conformal(settings: Settings) -> Table:
    """The cost of conformal intervals, which need one nested replay per row."""
    work = rolling_work(SCORED)
    runs = {"conformal": replays("OLS", work, interval=0.9, method="conformal")}
    runs["conformal"]()
    cost = figure(micros(interleave(runs, settings.rounds)["conformal"], work))
    columns, title = ("model", "d, s", "µs"), "Conformal intervals at level 0.9, µs per row"
    return Table(title, columns, [("OLS", f"{SCORED.d}, {SCORED.s}", cost)])

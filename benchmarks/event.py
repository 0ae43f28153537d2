"""One event at a time from Python: predict, learn, and remove the oldest row."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import numpy as np

from benchmarks import reference
from benchmarks.peers import attempt
from benchmarks.report import Goal, Report, Table, error_figure, figure
from benchmarks.rolling import RIGHT
from benchmarks.settings import Settings
from benchmarks.streams import STREAMS, Efface, Stream
from benchmarks.timing import Timing, busy_notes, interleave
from benchmarks.workloads import Work, gaussian

WINDOW = 500
ALPHA = 1.0
GOALS = {10: 5.0, 100: 15.0}
EVENTS = 5_000
COLUMNS = ("contender", "median µs", "min µs", "final rel err", "forgets")
NOTE = (
    f"µs per event, {EVENTS} events per round, window {WINDOW}; "
    "a contender that cannot forget solves a different problem."
)


def run(settings: Settings) -> Report:
    """Rows with few and with many features."""
    report = Report("event")
    for d, limit in GOALS.items():
        measure(report, d, limit, settings)
    return report


def measure(report: Report, d: int, limit: float, settings: Settings) -> None:
    """Every contender on one stream; each round continues where the last one ended."""
    X, y = gaussian(WINDOW + EVENTS * (settings.rounds + 1), d)
    work = Work(X, y, WINDOW, ALPHA)
    streams, reasons = start(work)
    clocks = {stream.name: itertools.count(WINDOW, EVENTS) for stream in streams}

    def turn(stream: Stream) -> None:
        first = next(clocks[stream.name])
        stream.run(first, first + EVENTS)

    for stream in streams:
        turn(stream)  # warm-up
    runs = {stream.name: partial(turn, stream) for stream in streams}
    timings = interleave(runs, settings.rounds)
    records = [record(stream, timings[stream.name], work) for stream in streams]
    rows = [line(entry) for entry in records]
    rows += [(name, reason.split(":")[0], "", "", "") for name, reason in reasons.items()]
    notes = [
        NOTE,
        *busy_notes(timings.values()),
        *(f"{name} {reason}" for name, reason in reasons.items()),
    ]
    report.tables.append(Table(f"One event, d={d}, µs", COLUMNS, rows, "; ".join(notes)))
    report.measurements += [{"d": d, "s": WINDOW, **entry} for entry in records]
    report.goals.append(Goal(f"one event at d={d}", ours(records), "at most", limit, " µs"))


def ours(records: list[dict[str, Any]]) -> float | None:
    """The time of efface: None if not measured, NaN if its coefficients are wrong."""
    entry = next((entry for entry in records if entry["contender"] == Efface.name), None)
    if entry is None:
        return None
    return float(entry["median_us"]) if entry["relative_error"] <= RIGHT else float("nan")


def start(work: Work) -> tuple[list[Stream], dict[str, str]]:
    """The contenders with their first window learned, and the reasons why others are missing."""
    streams, reasons = [], {}
    for name, make in STREAMS.items():
        stream, reason = attempt(partial(make, work))
        if stream is None:
            reasons[name] = reason
        else:
            streams.append(stream)
    return streams, reasons


def record(stream: Stream, timing: Timing, work: Work) -> dict[str, Any]:
    """A measurement for JSON."""
    last = work.n - 1
    error = None
    if stream.forgets:
        coef, right = stream.coef()[None], reference.refit(work, last)[None]
        error = reference.worst(reference.relative_errors(np.asarray(coef), right))
    return {
        "contender": stream.name,
        "median_us": 1e6 * timing.median / EVENTS,
        "min_us": 1e6 * timing.minimum / EVENTS,
        "relative_error": error,
        "forgets": stream.forgets,
    }


def line(entry: dict[str, Any]) -> tuple[str, ...]:
    """The table row of a contender."""
    return (
        entry["contender"],
        figure(entry["median_us"]),
        figure(entry["min_us"]),
        error_figure(entry["relative_error"]),
        "yes" if entry["forgets"] else "no",
    )

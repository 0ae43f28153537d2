"""The paper's experiments: a slice of Fig. 3 against a NumPy loop, and what a figure costs."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from benchmarks.peers import attempt
from benchmarks.report import Goal, Report, Table, error_figure, figure
from benchmarks.settings import Settings
from benchmarks.subject import missing
from benchmarks.timing import BUSY_NOTE, Run, busy_notes, interleave

GOALS = {20: 20.0, 40: 20.0, 60: None, 80: 10.0}  # at least, times faster than the loop
AGREE = 1e-9
HORIZON = 3000
MINUTES = 22.5  # of 2 cores, for `efface reproduce all --runs 100` under one reading
SLICE = ("s", "NumPy loop µs", "efface µs", "times faster", "max rel diff")
COSTS = ("part", "settings", "processor s")


def run(settings: Settings) -> Report:
    """The slice, then the cost of the whole from a few runs of each setting."""
    report = Report("experiments")
    lacking = missing("replay", "rolling", "AdaptiveRidge")
    rows = []
    for s, wanted in GOALS.items():
        record, reason = (None, lacking) if lacking else attempt(partial(measure, s, settings))
        report.measurements.append({"s": s, "reason": reason, **(record or {})})
        ratio = record["ratio"] if record and record["difference"] <= AGREE else None
        if wanted is not None:
            what = f"Fig. 3 at s = {s}, times a NumPy loop"
            report.goals.append(Goal(what, ratio, "at least", wanted, "x"))
        rows.append(line(s, record, reason))
    note = "Median µs per step for all lines but AutoRidge; one run of d = 100."
    busy = [BUSY_NOTE] if any(entry.get("busy") for entry in report.measurements) else []
    report.tables.append(Table("A slice of Fig. 3", SLICE, rows, "; ".join([note, *busy])))
    if not lacking:
        whole(report, settings)
    return report


def line(s: int, record: dict[str, Any] | None, reason: str | None) -> tuple[str, ...]:
    """A window's line."""
    if record is None:
        return (str(s), str(reason), "", "", "")
    times = [figure(record[name]) for name in ("loop_us", "efface_us", "ratio")]
    return (str(s), *times, error_figure(record["difference"]))


def measure(s: int, settings: Settings) -> dict[str, Any]:
    """Both on the same stream in turns; they must agree."""
    from efface.paper.comparisons import Comparison

    comparison = Comparison("standardized", HORIZON // (5 if settings.quick else 1), "fig3", s=s)
    ours, theirs = comparison.run(0, 0), loop(comparison)
    runs: dict[str, Run] = {
        "loop": lambda: loop(comparison),
        "efface": lambda: comparison.run(0, 0),
    }
    timings = interleave(runs, settings.rounds)
    steps = comparison.horizon - s
    return {
        "loop_us": 1e6 * timings["loop"].median / steps,
        "efface_us": 1e6 * timings["efface"].median / steps,
        "ratio": timings["loop"].median / timings["efface"].median,
        "difference": max(float(np.abs(ours[n] / theirs[n] - 1).max()) for n in ("regret", "l2")),
        "busy": bool(busy_notes(timings.values())),
    }


def loop(comparison: Any) -> dict[str, Any]:
    """What one writes first: draw the stream, then one `numpy.linalg.solve` a step and method."""
    from efface.paper.simulate import linear_stream

    data = linear_stream(0, 0, comparison.horizon, comparison.d)
    X, y, theta, s, d = data.X, data.y, data.theta, comparison.s, comparison.d
    constant = np.sqrt(2 * s * np.log(2 * d / comparison.delta))
    regret, l2 = (np.empty((len(comparison.lines), len(y) - s)) for _ in range(2))
    for m, (method, fixed) in enumerate(comparison.lines):
        for t in range(s, len(y)):
            if method == "zero":
                regret[m, t - s], l2[m, t - s] = data.signal[t] ** 2, np.linalg.norm(theta)
                continue
            rows, responses = X[t - s : t], y[t - s : t]
            lam = fixed or constant * responses.std(ddof=1) * np.abs(rows).max()
            coef = np.linalg.solve(rows.T @ rows + lam * np.eye(d), rows.T @ responses)
            regret[m, t - s] = (X[t] @ coef - data.signal[t]) ** 2
            l2[m, t - s] = np.linalg.norm(coef - theta)
    at = comparison.times - s - 1
    return {"regret": np.cumsum(regret, axis=1)[:, at], "l2": l2[:, at]}


def whole(report: Report, settings: Settings) -> None:
    """Processor seconds of 100 runs of everything under one reading, from the first run of each."""
    from efface.paper.settings import experiments_for

    rows, total = [], 0.0
    for part in ("fig2", "fig3", "fig4", "fig5", "theory"):
        experiments = experiments_for(part, HORIZON, ("standardized",))
        seconds = sum(each.runs(100) * processor_seconds(each) for each in experiments)
        rows.append((part, str(len(experiments)), figure(seconds)))
        report.measurements.append({"part": part, "processor_s": seconds})
        total += seconds
    rows.append(("all", "", figure(total)))
    note = "100 runs under one reading, each setting's cost taken from its first run on one core."
    report.tables.append(Table("efface reproduce all --runs 100", COSTS, rows, note))
    what = "efface reproduce all --runs 100 on two cores, from processor time"
    report.goals.append(Goal(what, total / 2 / 60, "at most", MINUTES, " min"))


def processor_seconds(experiment: Any) -> float:
    """Of one run, everything compiled."""
    replace(experiment, horizon=experiment.rows_needed + 5).run(0, 0)
    start = time.process_time()
    experiment.run(0, 0)
    return time.process_time() - start

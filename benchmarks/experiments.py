"""The paper's experiments: a part of Fig. 3 against a NumPy loop, and the time of all figures."""

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

GOALS = {20: 20.0, 40: 20.0, 60: None, 80: 10.0}  # least speed relative to the loop
AGREE = 1e-9
HORIZON = 3000
MINUTES = 15.0  # on two cores, for `efface reproduce all --runs 100` under one reading
FIG3_COLUMNS = ("s", "NumPy loop µs", "efface µs", "times faster", "max rel diff")
COST_COLUMNS = ("part", "settings", "processor s")


def run(settings: Settings) -> Report:
    """The part of Fig. 3, then the time of everything, estimated from one run of each setting."""
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
    note = "Median µs per step for all four methods: predictions and L2 errors; one run of d = 100."
    busy = [BUSY_NOTE] if any(entry.get("busy") for entry in report.measurements) else []
    report.tables.append(Table("A part of Fig. 3", FIG3_COLUMNS, rows, "; ".join([note, *busy])))
    if not lacking:
        whole(report, settings)
    return report


def line(s: int, record: dict[str, Any] | None, reason: str | None) -> tuple[str, ...]:
    """The table row of a window."""
    if record is None:
        return (str(s), str(reason), "", "", "")
    times = [figure(record[name]) for name in ("loop_us", "efface_us", "ratio")]
    return (str(s), *times, error_figure(record["difference"]))


def measure(s: int, settings: Settings) -> dict[str, Any]:
    """Both on the same stream, interleaved; their results must agree."""
    from efface.paper.experiments import Comparison

    setting = Comparison("standardized", HORIZON // (5 if settings.quick else 1), "fig3", s=s)
    ours, theirs = setting.run(0, 0), loop(setting)
    runs: dict[str, Run] = {"loop": lambda: loop(setting), "efface": lambda: setting.run(0, 0)}
    timings = interleave(runs, settings.rounds)
    steps = setting.horizon - s
    return {
        "loop_us": 1e6 * timings["loop"].median / steps,
        "efface_us": 1e6 * timings["efface"].median / steps,
        "ratio": timings["loop"].median / timings["efface"].median,
        "difference": max(float(np.abs(ours[n] / theirs[n] - 1).max()) for n in ("regret", "l2")),
        "busy": bool(busy_notes(timings.values())),
    }


def loop(setting: Any) -> dict[str, Any]:
    """The obvious program: one `numpy.linalg.solve` per step and method."""
    from efface.paper.simulate import linear_stream

    data = linear_stream(0, 0, setting.horizon, setting.d)
    X, y, theta, s, d = data.X, data.y, data.theta, setting.s, setting.d
    constant = np.sqrt(2 * s * np.log(2 * d / setting.delta))
    regret, l2 = (np.empty((len(setting.lines), len(y) - s)) for _ in range(2))
    for m, (_, fixed) in enumerate(setting.lines):
        for t in range(s, len(y)):
            rows, responses = X[t - s : t], y[t - s : t]
            lam = fixed or constant * responses.std(ddof=1) * np.abs(rows).max()
            coef = np.linalg.solve(rows.T @ rows + lam * np.eye(d), rows.T @ responses)
            regret[m, t - s] = (X[t] @ coef - data.signal[t]) ** 2
            l2[m, t - s] = np.linalg.norm(coef - theta)
    at = setting.times - s - 1
    return {"regret": np.cumsum(regret, axis=1)[:, at], "l2": l2[:, at]}


def whole(report: Report, settings: Settings) -> None:
    """Processor seconds of 100 runs of every experiment under one reading, from the first run."""
    from efface.paper.experiments import panels

    rows, total = [], 0.0
    for part in ("fig2", "fig3", "fig4", "fig5", "theory"):
        experiments = panels(part, HORIZON, ("standardized",))
        seconds = sum(each.runs(100) * processor_seconds(each) for each in experiments)
        rows.append((part, str(len(experiments)), figure(seconds)))
        report.measurements.append({"part": part, "processor_s": seconds})
        total += seconds
    rows.append(("all", "", figure(total)))
    note = (
        "100 runs under one reading; the time of each setting is that of its first run on one core."
    )
    report.tables.append(Table("efface reproduce all --runs 100", COST_COLUMNS, rows, note))
    what = "efface reproduce all --runs 100 on two cores, from processor time"
    report.goals.append(Goal(what, total / 2 / 60, "at most", MINUTES, " min"))


def processor_seconds(experiment: Any) -> float:
    """Processor seconds of one run, after compilation."""
    replace(experiment, horizon=experiment.rows_needed + 5).run(0, 0)
    start = time.process_time()
    experiment.run(0, 0)
    return time.process_time() - start

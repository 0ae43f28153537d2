"""Accuracy after a huge row has left the window, and while the rank of the window changes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks import peers, reference
from benchmarks.peers import Contender, Job, attempt
from benchmarks.replay import learned
from benchmarks.report import Goal, Report, Table, error_figure
from benchmarks.settings import Settings
from benchmarks.streams import Efface, PolarsDsOnline, ShermanMorrison, Stream
from benchmarks.subject import efface
from benchmarks.workloads import Array, Work, giant_work, units_work

GIANT_ROW = 400
DIFFERS = 1e-6
EXACT = 1e-9
GIANT_NOTE = "Relative error of the coefficients against lstsq on the live rows."
RANK_NOTE = (
    f"Share of windows whose coefficients differ from lstsq's minimum-norm answer by more than "
    f"{DIFFERS:g} (NaN counts as wrong), and the number of rows without an answer."
)


@dataclass(frozen=True)
class Trial:
    """A problem and the first row whose coefficients are checked."""

    name: str
    work: Work
    first: int


def run(settings: Settings) -> Report:
    """Both tables."""
    report = Report("accuracy")
    rows = 1_000 if settings.quick else 3_000
    with quiet():
        examine(report, "A row 1e8 times larger has left the window", GIANT_NOTE, giants(rows))
        examine(report, "OLS while the rank drops and recovers, d=20", RANK_NOTE, ranks(rows))
    return report


@contextmanager
def quiet() -> Iterator[None]:
    """Hide the warnings of peers, which divide by zero on these problems."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def giants(rows: int) -> list[Trial]:
    """Streams with one giant row, checked from the row at which it leaves."""
    return [
        Trial(
            f"{'ridge' if alpha else 'OLS'} d={d} s={s}",
            giant_work(rows, d, s, GIANT_ROW, alpha),
            GIANT_ROW + s,
        )
        for alpha, d, s in ((0.0, 5, 250), (0.0, 20, 60), (1.0, 20, 60))
    ]


def ranks(rows: int) -> list[Trial]:
    """Streams of unit vectors, checked from the first full window on."""
    return [
        Trial(
            f"{'rotated' if rotated else 'plain'} s={s}",
            units_work(rows, 20, s, rotated),
            s - 1,
        )
        for rotated, s in ((True, 20), (True, 60), (False, 60))
    ]


def all_contenders() -> list[Contender]:
    """The rolling contenders and the models fed one event at a time."""
    return [
        *peers.contenders(),
        Contender("statsmodels pinv", peers.statsmodels_pinv),
        Contender("efface replay", replayed, ours=True),
        Contender("efface learn_one", streamed(Efface), ours=True),
        Contender(PolarsDsOnline.name, streamed(PolarsDsOnline)),
        Contender(ShermanMorrison.name, streamed(ShermanMorrison)),
    ]


def replayed(work: Work) -> Job:
    """`efface.replay` of the windowed model."""

    def model() -> Any:
        if work.alpha:
            return efface("Ridge")(window=work.s, alpha=work.alpha, fit_intercept=False)
        return efface("OLS")(window=work.s, fit_intercept=False)

    return Job(lambda: learned(model(), work), np.asarray)


def streamed(kind: type[Stream]) -> Callable[[Work], Job]:
    """A model that learns row by row, with its coefficients read after each row."""

    def prepare(work: Work) -> Job:
        def run() -> Array:
            stream = kind(work)
            coef = np.full((work.n, work.d), np.nan)
            coef[work.s - 1] = stream.coef()
            for row in range(work.s, work.n):
                stream.run(row, row + 1)
                coef[row] = stream.coef()
            return coef

        return Job(run, lambda answer: answer)

    return prepare


def examine(report: Report, title: str, note: str, trials: list[Trial]) -> None:
    """Every contender at every trial."""
    giant = note is GIANT_NOTE
    halves = ("next row", "after") if giant else ("wrong", "NaN")
    columns = ("contender", *(f"{trial.name}: {half}" for trial in trials for half in halves))
    cells = {contender.name: [contender.name] for contender in all_contenders()}
    for trial in trials:
        right = reference.refits(trial.work, np.arange(trial.first, trial.work.n))
        for contender in all_contenders():
            record = judge(contender, trial, right)
            report.measurements.append({"test": title, **record})
            cells[contender.name] += (giant_cells if giant else rank_cells)(record)
            if contender.ours:
                report.goals.append(goal(record, giant))
    reasons = {r["contender"]: r["reason"] for r in report.measurements if r["test"] == title}
    failures = [f"{name} {text}" for name, text in reasons.items() if text.startswith("fails")]
    lines = [tuple(line) for line in cells.values()]
    report.tables.append(Table(title, columns, lines, " ".join([note, *failures])))


def judge(contender: Contender, trial: Trial, right: Array) -> dict[str, Any]:
    """A contender's errors at one trial, or the reason why there are none."""

    def errors() -> Array:
        job = contender.prepare(trial.work)
        coef = job.coef(job.run())[trial.first :]
        return reference.relative_errors(coef, right)

    found, reason = attempt(errors)
    return {
        "trial": trial.name,
        "contender": contender.name,
        "windows": len(right),
        "reason": reason,
        **({} if found is None else verdict(found)),
    }


def verdict(errors: Array) -> dict[str, Any]:
    """A summary of the errors."""
    return {
        "next_row": float(errors[0]),
        "largest_after": reference.worst(errors[1:]),
        "wrong": float(np.mean(~(errors <= DIFFERS))),
        "nan_rows": int(np.isnan(errors).sum()),
    }


def giant_cells(record: dict[str, Any]) -> list[str]:
    """The error at the next row and the largest after it."""
    if record["reason"]:
        return [record["reason"].split(":")[0], "-"]
    return [error_figure(record["next_row"]), error_figure(record["largest_after"])]


def rank_cells(record: dict[str, Any]) -> list[str]:
    """The share of wrong windows and the number of rows without an answer."""
    if record["reason"]:
        return [record["reason"].split(":")[0], "-"]
    return [f"{record['wrong']:.0%}", f"{record['nan_rows']}/{record['windows']}"]


def goal(record: dict[str, Any], giant: bool) -> Goal:
    """Exact after the giant row has left, and at every change of rank."""
    what = f"{record['contender']}, {record['trial']}: "
    if not giant:
        return Goal(what + "share of wrong windows", record.get("wrong"), "at most", 0.0)
    known = "next_row" in record
    value = float(np.max([record["next_row"], record["largest_after"]])) if known else None
    return Goal(what + "largest error", value, "at most", EXACT)

"""Coefficients at every row of an array: efface and its peers."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from benchmarks import reference
from benchmarks.half_life import add_half_life
from benchmarks.peers import Contender, Job, attempt, contenders
from benchmarks.report import Goal, Report, Table, error_figure, figure
from benchmarks.settings import Settings
from benchmarks.timing import Timing, busy_notes, interleave, seconds
from benchmarks.workloads import Array, Point, Work, rolling_work

SIZES = ((100_000, 5, 250), (100_000, 20, 250), (20_000, 100, 500), (5_000, 300, 1_000))
POINTS = (
    *(Point(*size, alpha) for size in SIZES for alpha in (0.0, 1.0)),
    Point(20_000, 100, 50, 1.0),
)
QUICK_WINDOWS = {5: 20_000, 20: 10_000, 100: 2_000, 300: 800}
SINGLE = "single window: "
RIGHT = 1e-6  # a contender with a larger error does not count as a rival
FASTEST_GOAL = 2.0
POLARS_DS_GOALS = {5: 4.0, 20: 3.0}
POLARS_OLS_GOAL = 4.0


@dataclass(frozen=True)
class Allowance:
    """The time that a slow peer may take."""

    seconds: float  # per round
    probes: tuple[int, ...]  # numbers of windows to estimate its speed on; the first is the least
    calls: int  # per probe, after a warm-up


FULL = Allowance(0.8, (20, 300), 2)
QUICK = Allowance(0.05, (4, 40), 1)
NOTE = (
    "Median µs per row with a full window, and in brackets the largest relative error of the "
    "coefficients against lstsq; ~ was timed on fewer rows and scaled."
)


@dataclass(frozen=True)
class Entry:
    """One contender at one point: its times and error, or the reason why there are none."""

    contender: Contender
    job: Job | None = None
    windows: int = 0  # timed
    all_windows: int = 0  # of the problem
    error: float | None = None
    reason: str = ""
    timing: Timing | None = None
    single: Job | None = None  # the first window alone, when scaled
    single_timing: Timing | None = None

    @property
    def name(self) -> str:
        """The contender's name."""
        return self.contender.name

    @property
    def scaled(self) -> bool:
        """Whether it was timed on fewer rows."""
        return self.windows < self.all_windows

    @property
    def micros(self) -> float | None:
        """Median µs per row."""
        return None if self.timing is None else self.per_row(self.timing.median)

    @property
    def least(self) -> float | None:
        """Smallest µs per row."""
        return None if self.timing is None else self.per_row(self.timing.minimum)

    def per_row(self, took: float) -> float:
        """µs per row of the whole problem: a fixed cost, and a cost that grows with the rows."""
        if self.single_timing:
            fixed = self.single_timing.median
            took = fixed + (took - fixed) * (self.all_windows - 1) / (self.windows - 1)
        return 1e6 * took / self.all_windows

    @property
    def right(self) -> bool:
        """Whether the coefficients are those of a refit."""
        return self.error is not None and self.error <= RIGHT

    @property
    def cell(self) -> str:
        """Time and error in one cell."""
        if self.micros is None:
            return self.reason.split(":")[0]
        return f"{'~' * self.scaled}{figure(self.micros)} ({error_figure(self.error)})"


def run(settings: Settings) -> Report:
    """The details of every point, then a table with one row per point."""
    report = Report("rolling")
    lines = []
    for point in quickened() if settings.quick else POINTS:
        entries = measure(point, settings)
        report.tables.append(details(point, entries))
        report.goals += goals(point, entries)
        report.measurements += [record(point, entry) for entry in entries]
        lines.append(summary(point, entries))
    names = tuple(contender.name for contender in contenders())
    columns = ("model d, s", *names, "vs fastest peer", "vs polars-ds")
    report.tables.append(Table("Rolling regression, µs per row", columns, lines, NOTE))
    add_half_life(report, settings)
    return report


def quickened() -> list[Point]:
    """The same points on fewer rows."""
    return [replace(point, n=point.s - 1 + QUICK_WINDOWS[point.d]) for point in POINTS]


def measure(point: Point, settings: Settings) -> list[Entry]:
    """Every contender at one point: checked first, then timed, interleaved."""
    work = rolling_work(point)
    check = checker(work)
    allowance = QUICK if settings.quick else FULL
    entries = [
        enter(contender, work, check, allowance) for contender in contenders(settings.threads)
    ]
    runs = {entry.name: entry.job.run for entry in entries if entry.job}
    runs |= {SINGLE + entry.name: entry.single.run for entry in entries if entry.single}
    gc.freeze()  # collecting the loaded modules would take longer than many runs
    timings = interleave(runs, settings.rounds)
    return [
        replace(
            entry,
            timing=timings.get(entry.name),
            single_timing=timings.get(SINGLE + entry.name),
        )
        for entry in entries
    ]


def checker(work: Work) -> Callable[[Array], float]:
    """A function that returns the largest relative error of coefficients on sampled rows."""
    rows = reference.sampled_rows(work)
    right = reference.refits(work, rows)

    def check(coef: Array) -> float:
        known = rows < len(coef)
        return reference.worst(reference.relative_errors(coef[rows[known]], right[known]))

    return check


def enter(
    contender: Contender, work: Work, check: Callable[[Array], float], allowance: Allowance
) -> Entry:
    """Warm up a contender, choose its number of rows and check its answer."""

    def trial() -> Entry:
        part = allot(contender, work, allowance) if contender.slow else work
        job = contender.prepare(part)
        error = check(job.coef(job.run()))
        single = contender.prepare(work.head(1)) if part.n < work.n else None
        return Entry(contender, job, part.windows, work.windows, error, single=single)

    entry, reason = attempt(trial)
    return entry or Entry(contender, reason=reason)


def allot(contender: Contender, work: Work, allowance: Allowance) -> Work:
    """As many rows as a slow peer can process in its allowed time."""
    fixed = warm_seconds(contender, work.head(1), allowance.calls)
    for windows in allowance.probes:
        took = warm_seconds(contender, work.head(windows), allowance.calls)
        growing = max(took - fixed, 1e-4)
        if growing > allowance.seconds / 8:
            break
    return work.head(max(int(allowance.seconds * windows / growing), allowance.probes[0]))


def warm_seconds(contender: Contender, work: Work, calls: int) -> float:
    """The fastest of some calls after a warm-up."""
    job = contender.prepare(work)
    job.run()
    return min(seconds(job.run) for _ in range(calls))


def fastest(entries: list[Entry], named: str = "") -> Entry | None:
    """The fastest accurate peer whose name starts with `named`."""
    rivals = [
        entry
        for entry in entries
        if entry.timing and entry.right and not entry.contender.ours
        if entry.name.startswith(named)
    ]
    return min(rivals, key=lambda entry: entry.micros or 0.0, default=None)


def ratio(entries: list[Entry], named: str = "") -> float | None:
    """The median time of that peer over that of efface; NaN if efface is wrong."""
    ours, rival = entries[0], fastest(entries, named)
    if not (ours.micros and rival and rival.micros):
        return None
    return rival.micros / ours.micros if ours.right else float("nan")


def goals(point: Point, entries: list[Entry]) -> list[Goal]:
    """The goals for efface at this point."""
    wanted = [("fastest peer", "", FASTEST_GOAL)]
    if point.d in POLARS_DS_GOALS:
        wanted.append(("polars-ds", "polars-ds", POLARS_DS_GOALS[point.d]))
    if point.s < point.d:
        wanted.append(("polars-ols", "polars-ols", POLARS_OLS_GOAL))
    return [
        Goal(f"{short(point)}: speed over {rival}", ratio(entries, named), "at least", limit, "x")
        for rival, named, limit in wanted
    ]


def short(point: Point) -> str:
    """A short name of the point."""
    return f"{point.model} {point.d}, {point.s}"


def summary(point: Point, entries: list[Entry]) -> tuple[str, ...]:
    """The table row of a point, for the README."""
    ratios = [(ratio(entries), fastest(entries)), (ratio(entries, "polars-ds"), None)]
    cells = [
        "-" if value is None else f"{value:.1f}x" + (f" ({rival.name})" if rival else "")
        for value, rival in ratios
    ]
    return (short(point), *(entry.cell for entry in entries), *cells)


def details(point: Point, entries: list[Entry]) -> Table:
    """One row per contender, and the reasons why some were not timed."""
    columns = (
        "contender",
        "median µs",
        "min µs",
        "max rel err",
        "full windows",
        "cores",
        "x efface",
    )
    rows = [detail(entry, entries[0].micros) for entry in entries]
    notes = [f"{entry.name} {entry.reason}" for entry in entries if entry.reason]
    notes += busy_notes(entry.timing for entry in entries if entry.timing)
    note = "; ".join(notes)
    return Table(f"rolling: {point.label}", columns, rows, note)


def detail(entry: Entry, ours: float | None) -> tuple[str, ...]:
    """The table row of a contender."""
    if entry.timing is None or entry.micros is None:
        return (entry.name, entry.cell, "", "", "", "", "")
    times = "-" if ours is None else figure(entry.micros / ours)
    error = error_figure(entry.error) + ("" if entry.right else " WRONG")
    windows = f"{entry.windows}{' (fewer, scaled)' * entry.scaled}"
    cores = f"{entry.timing.cores:.2f}"
    return (entry.name, figure(entry.micros), figure(entry.least), error, windows, cores, times)


def record(point: Point, entry: Entry) -> dict[str, Any]:
    """A measurement for JSON."""
    return {
        "point": point.label,
        "contender": entry.name,
        "median_us": entry.micros,
        "min_us": entry.least,
        "max_relative_error": entry.error,
        "windows": entry.windows,
        "scaled": entry.scaled,
        "cores": entry.timing.cores if entry.timing else None,
        "reason": entry.reason,
    }

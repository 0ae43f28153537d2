"""How the time per row grows with the number of features and with the window."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.report import Goal, Report, Table, figure
from benchmarks.settings import Settings
from benchmarks.subject import efface, missing
from benchmarks.timing import Run, busy_notes, interleave
from benchmarks.workloads import Work, gaussian

DIMS = (32, 64, 128, 256, 512)
WINDOWS = (250, 1_000, 4_000, 16_000, 64_000)
FIXED_WINDOW, FIXED_DIMS = 2_000, 32
LEAST_ROWS = 64_000
ROUNDS = 3
IN_FEATURES, IN_WINDOW = 2.2, 0.1


def jobs(work: Work) -> dict[str, Run]:
    """The timed calls: rolling regressions without and with a penalty, and a replay."""
    rolling, replay, ridge = efface("rolling"), efface("replay"), efface("Ridge")
    X, y, s = work.X, work.y, work.s
    return {
        "rolling OLS": lambda: rolling(X, y, s, fit_intercept=False, min_rows=s),
        "rolling ridge": lambda: rolling(X, y, s, alpha=1.0, fit_intercept=False, min_rows=s),
        "replay Ridge": lambda: replay(ridge(window=s, alpha=1.0), X, y),
    }


def run(settings: Settings) -> Report:
    """Growth with the features, then with the window."""
    report = Report("growth")
    lacking = missing("rolling", "replay", "Ridge")
    cut = -1 if settings.quick else None
    sweep(report, "d", DIMS[:cut], features, lacking)
    sweep(report, "s", WINDOWS[:cut], window, lacking)
    return report


def features(d: int) -> Work:
    """d features and a window of fixed length; the stream has four times as many rows."""
    X, y = gaussian(4 * FIXED_WINDOW, d)
    return Work(X, y, FIXED_WINDOW)


def window(s: int) -> Work:
    """A window of s rows; the stream has at least eight times as many rows."""
    X, y = gaussian(max(LEAST_ROWS, 8 * s), FIXED_DIMS)
    return Work(X, y, s)


def sweep(
    report: Report,
    variable: str,
    sizes: Sequence[int],
    make: Callable[[int], Work],
    lacking: str | None,
) -> None:
    """Time everything at every size and fit the exponents."""
    times, notes = ({}, [lacking]) if lacking else gather(sizes, make)
    names = times or dict.fromkeys(("rolling OLS", "rolling ridge", "replay Ridge"), None)
    limit = IN_FEATURES if variable == "d" else IN_WINDOW
    rows = []
    for name, micros in names.items():
        slope = exponent(sizes, micros) if micros else None
        cells = [figure(value) for value in micros] if micros else ["missing"] * len(sizes)
        rows.append((name, *cells, "-" if slope is None else f"{slope:.2f}"))
        asked = slope if variable == "d" or slope is None else abs(slope)
        report.goals.append(Goal(f"{name}: exponent in {variable}", asked, "at most", limit))
        report.measurements.append(
            {
                "job": name,
                "variable": variable,
                "sizes": list(sizes),
                "us": micros,
                "exponent": slope,
            }
        )
    fixed = f"s={FIXED_WINDOW}" if variable == "d" else f"d={FIXED_DIMS}"
    columns = ("job", *(f"{variable}={size}" for size in sizes), "exponent")
    title = f"Growth with {variable} at {fixed}, µs per row"
    report.tables.append(Table(title, columns, rows, "; ".join(notes)))


def gather(
    sizes: Sequence[int], make: Callable[[int], Work]
) -> tuple[dict[str, list[float] | None], list[str]]:
    """Median µs per full window, for every job at every size, and notes on the measurement."""
    times: dict[str, list[float] | None] = {}
    notes: list[str] = []
    for size in sizes:
        work = make(size)
        runs = jobs(work)
        for warm_up in jobs(work.head(10)).values():
            warm_up()
        timings = interleave(runs, ROUNDS)
        notes = notes or busy_notes(timings.values())
        for name, timing in timings.items():
            times[name] = [*(times.get(name) or []), 1e6 * timing.median / work.windows]
    return times, notes


def exponent(sizes: Sequence[int], micros: Sequence[float]) -> float:
    """The slope of log time on log size by least squares."""
    return float(np.polyfit(np.log(sizes), np.log(micros), 1)[0])

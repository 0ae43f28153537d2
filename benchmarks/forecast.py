"""How the time per forecast deletion grows with the number of features and with the window."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.growth import exponent
from benchmarks.report import Goal, Report, Table, figure
from benchmarks.settings import Settings
from benchmarks.subject import efface, missing
from benchmarks.workloads import gaussian, units_work

DIMS = (128, 256, 512, 1_024)
WINDOWS = (500, 2_000, 8_000, 32_000)
ROWS_PER_FEATURE, FIXED_DIMS = 3, 64
STEPS, ROUNDS = 200, 3
IN_FEATURES, IN_WINDOW = 2.2, 0.1


def run(settings: Settings) -> Report:
    """Growth in both, on Gaussian rows and on rows whose rank changes."""
    report = Report("forecast")
    lacking = missing("OLS", "forecast_forgetting")
    cut = -1 if settings.quick else None
    sweep(report, "d", DIMS[:cut], lambda d: (ROWS_PER_FEATURE * d, d), lacking)
    sweep(report, "n", WINDOWS[:cut], lambda n: (n, FIXED_DIMS), lacking)
    return report


def models(n: int, d: int) -> dict[str, Any]:
    """A window of n Gaussian rows, and one of unit vectors, some of which occur only once."""
    ols = efface("OLS")
    work = units_work(n, d, n)
    return {
        "plain": ols().fit(*gaussian(n, d)),
        "rotated unit vectors": ols(fit_intercept=False).fit(work.X, work.y),
    }


def sweep(
    report: Report,
    variable: str,
    sizes: Sequence[int],
    shape: Callable[[int], tuple[int, int]],
    lacking: str | None,
) -> None:
    """Time a deletion at every size and fit the exponents."""
    times: dict[str, list[float]] = {}
    for size in () if lacking else sizes:
        for name, model in models(*shape(size)).items():
            times.setdefault(name, []).append(micros_per_step(model))
    limit = IN_FEATURES if variable == "d" else IN_WINDOW
    rows = []
    for name, micros in times.items():
        slope = exponent(sizes, micros)
        rows.append((name, *map(figure, micros), f"{slope:.2f}"))
        report.goals.append(Goal(f"{name}: exponent in {variable}", slope, "at most", limit))
        report.measurements.append(
            {"rows": name, "variable": variable, "sizes": list(sizes), "us": micros}
        )
    fixed = f"n={ROWS_PER_FEATURE}d" if variable == "d" else f"d={FIXED_DIMS}"
    columns = ("rows", *(f"{variable}={size}" for size in sizes), "exponent")
    title = f"Forecast with {fixed}, µs per further deletion"
    report.tables.append(Table(title, columns, rows, lacking or ""))


def micros_per_step(model: Any) -> float:
    """Processor time per further deletion: the difference of a long and a short forecast.

    The fixed cost cancels, except that the longer forecast starts from fewer rows. The result is
    therefore a lower bound; per deletion, it is too low by one row's share of the fixed cost.
    """
    forecast = efface("forecast_forgetting")
    forecast(model, 2)
    seconds = {steps: [] for steps in (STEPS // 4, STEPS)}
    for _ in range(ROUNDS):
        for steps, found in seconds.items():
            found.append(spent(lambda steps=steps: forecast(model, steps)))
    short, long = (min(found) for found in seconds.values())
    return 1e6 * (long - short) / (STEPS - STEPS // 4)


def spent(run: Callable[[], object]) -> float:
    """Processor seconds of one call without garbage collection."""
    gc.collect()
    gc.disable()
    try:
        start = time.process_time()
        run()
        return time.process_time() - start
    finally:
        gc.enable()

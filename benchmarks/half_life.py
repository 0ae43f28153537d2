"""Regressions whose rows fade with a half-life: efface, polars-ds and polars-ols."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.report import Goal, Report, Table, error_figure, figure
from benchmarks.settings import Settings
from benchmarks.subject import efface
from benchmarks.timing import busy_notes, interleave
from benchmarks.workloads import Array, Point, Work, rolling_work

POINTS = (Point(100_000, 5, 250), Point(100_000, 20, 250))
HALF_LIFE = 50.0  # rows
FASTER_GOAL, ERROR_GOAL = 1.0, 1e-9
NOTE = (
    "Fastest µs per row, one thread; the largest relative error of the coefficients against "
    "weighted lstsq. A window of 250 rows is compared with half_life of polars-ds; no window with "
    "recursive least squares of polars-ols, whose prior is made negligible."
)


def add_half_life(report: Report, settings: Settings) -> None:
    """Append the table, the goals and the measurements."""
    lines = []
    for point in POINTS:
        found = measure(point, settings)
        report.measurements.append(found)
        lines.append(tuple(found["cells"]))
        for peer, ours in (("polars-ds", "window"), ("polars-ols", "no window")):
            ratio, what = found[peer] / found[ours], f"half-life {point.d}: speed over {peer}"
            report.goals.append(Goal(what, ratio, "at least", FASTER_GOAL, "x"))
        error = max(found["window error"], found["no window error"])
        report.goals.append(Goal(f"half-life {point.d}: error", error, "at most", ERROR_GOAL))
    columns = ("d", "efface, window", "polars-ds", "efface, no window", "polars-ols rls")
    report.tables.append(Table(f"Half-life of {HALF_LIFE:g} rows", columns, lines, NOTE))


def measure(point: Point, settings: Settings) -> dict[str, Any]:
    """All contenders at one point."""
    work = rolling_work(point)
    if settings.quick:
        work = work.head(5_000)
    runs = _ours(work) | _peers(work)
    answers = {name: run() for name, run in runs.items()}
    timings = interleave(runs, settings.rounds)
    micros = {name: 1e6 * timings[name].minimum / work.n for name in runs}
    errors = {
        f"{name} error": _error(answers[name], work, work.s if name in _WINDOWED else None)
        for name in runs
    }
    cells = [f"{figure(micros[name])} ({error_figure(errors[f'{name} error'])})" for name in runs]
    order = [cells[list(runs).index(name)] for name in _COLUMNS]
    busy = busy_notes(timings.values())
    return {"point": point.label, **micros, **errors, "cells": [str(point.d), *order], "busy": busy}


_COLUMNS = ("window", "polars-ds", "no window", "polars-ols")
_WINDOWED = ("window", "polars-ds")


def _ours(work: Work) -> dict[str, Any]:
    rolling = efface("rolling")
    options = {"halflife": HALF_LIFE, "fit_intercept": False, "outputs": ["coef"], "threads": 1}
    return {
        "window": lambda: rolling(work.X, work.y, work.s, **options).coef,
        "no window": lambda: rolling(work.X, work.y, None, **options).coef,
    }


def _peers(work: Work) -> dict[str, Any]:
    import polars as pl
    import polars_ds as pds
    import polars_ols as po

    names = [f"x{j}" for j in range(work.d)]
    frame = pl.DataFrame(np.asfortranarray(work.X), schema=names).with_columns(y=work.y)
    window = pds.rolling_lin_reg(
        *names, target="y", window_size=work.s, half_life=HALF_LIFE, null_policy="skip"
    ).alias("fit")
    options = po.RLSKwargs(half_life=HALF_LIFE, initial_state_covariance=1e6, null_policy="ignore")
    recursive = po.compute_recursive_least_squares(
        pl.col("y"), *map(pl.col, names), mode="coefficients", rls_kwargs=options
    ).alias("fit")

    def windowed() -> Any:
        lists = frame.select(window)["fit"].struct.field("coeffs")
        return lists.list.to_array(work.d).to_numpy()

    return {
        "polars-ds": windowed,
        "polars-ols": lambda: np.asarray(frame.select(recursive)["fit"].struct.unnest()),
    }


def _error(coef: Array, work: Work, window: int | None) -> float:
    """The largest relative error at some rows; those of a window count its rows only."""
    worst = 0.0
    for t in np.linspace(work.n // 2, work.n - 1, 20).astype(int):
        first = max(0, t + 1 - (window or int(53 * HALF_LIFE)))
        root = np.sqrt(2.0 ** ((np.arange(first, t + 1) - t) / HALF_LIFE))
        rows = slice(first, t + 1)
        right = np.linalg.lstsq(work.X[rows] * root[:, None], work.y[rows] * root, rcond=None)[0]
        worst = max(worst, float(np.abs(coef[t] - right).max() / np.abs(right).max()))
    return worst

"""The data of the figures in long form: one row per setting, method and time."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from efface.paper.comparisons import Comparison, Subplot
from efface.paper.correction_experiments import MemorySize
from efface.paper.experiments import Experiment, Numbers, Ranks
from efface.paper.methods import METHODS, Method
from efface.theory.coverage import CoverageRow
from efface.theory.floor import regret_floor
from efface.theory.geometry import Array

Row = dict[str, Any]
Found = Mapping[Experiment, Numbers]

_QUANTITIES = {
    "fig3": ("regret", "abs_regret"),
    "fig4": ("regret", "abs_regret"),
    "fig5": ("regret", "abs_regret", "l2", "lambda"),
    "fig6": ("l2",),
    "fig7": ("lambda",),
}


def rows_of(figure: str, found: Found, methods: Sequence[Method] = METHODS) -> list[Row]:
    """The rows of a figure, setting by setting, of some methods."""
    if figure == "fig2":
        return [row for each, numbers in found.items() for row in _rank_rows(each, numbers)]
    if figure == "memory":
        return [row for each, numbers in found.items() for row in _memory_rows(each, numbers)]
    subplots = {each: numbers for each, numbers in found.items() if isinstance(each, Subplot)}
    best = {
        (each.id, each.reading): _best_fixed(each, numbers)
        for each, numbers in subplots.items()
        if isinstance(each, Comparison)
    }
    return [
        row
        for each, numbers in subplots.items()
        for row in _subplot_rows(figure, each, numbers, best[each.id, each.reading])
        if row["method"] in methods
    ]


def _rank_rows(setting: Experiment, numbers: Numbers) -> Iterator[Row]:
    assert isinstance(setting, Ranks)
    mean, error = _mean_and_error(numbers["rank"])
    falls = np.cumsum(np.diff(numbers["rank"], axis=1, prepend=0) < 0, axis=1).mean(axis=0)
    for i, t in enumerate(setting.times):
        yield {
            "figure": "fig2",
            "s": setting.s,
            "t": int(t),
            "runs": len(numbers["rank"]),
            "rank": int(numbers["rank"][0, i]),
            "rank_mean": mean[i],
            "rank_se": error[i],
            "rank_expected": expected_rank(setting.s, setting.d),
            "falls_mean": falls[i],
        }


def expected_rank(s: int, d: int) -> float:
    """The expected number of distinct vectors among s draws from d: d (1 - (1 - 1/d)^s).

    >>> expected_rank(2, 4)
    1.75
    """
    return d * (1 - (1 - 1 / d) ** s)


def _memory_rows(setting: Experiment, numbers: Numbers) -> Iterator[Row]:
    assert isinstance(setting, MemorySize)
    n, d, sigma = setting.n, setting.d, setting.sigma
    exact = sigma**2 * d / (n - d - 1) if n > d + 1 else None
    for method, errors in numbers.items():
        mean, error = _mean_and_error(errors)
        yield {
            "figure": "memory",
            "sigma": sigma,
            "n": n,
            "method": method,
            "runs": len(errors),
            "error_mean": float(mean),
            "error_se": float(error),
            "floor": float(regret_floor(n, d, sigma=sigma)),
            "ols_exact": exact,
        }


def _subplot_rows(figure: str, setting: Subplot, numbers: Numbers, best: Array) -> Iterator[Row]:
    for m, line in enumerate(setting.lines):
        if figure in ("fig6", "fig7") and line.method == "zero":
            continue  # its error is 1, and it has no penalty
        columns = _columns(figure, {name: values[:, m] for name, values in numbers.items()}, best)
        for i, t in enumerate(setting.times):
            yield {
                "figure": figure,
                "reading": setting.reading,
                **{name: getattr(setting, name) for name in ("s", "k", "sigma", "df")},
                "method": line.method,
                "penalty": line.penalty,
                "t": int(t),
                "runs": len(numbers["regret"]),
                **{name: values[i] for name, values in columns.items()},
            }


def _columns(figure: str, line: Numbers, best: Array) -> dict[str, Array]:
    """Mean and standard error of each quantity of a line, over time."""
    columns: dict[str, Array] = {}
    for name in _QUANTITIES[figure[:4]]:
        columns[f"{name}_mean"], columns[f"{name}_se"] = _mean_and_error(line[name])
    if "regret" in _QUANTITIES[figure[:4]]:
        columns["relative_mean"], columns["relative_se"] = _ratio_and_error(line["regret"], best)
    if figure == "fig7":
        columns["lambda_run"] = line["lambda"][0]
    return columns


def _best_fixed(setting: Comparison, numbers: Numbers) -> Array:
    """The regret of the paper's fixed penalty with the smallest mean regret at the horizon."""
    fixed = [m for m, line in enumerate(setting.lines) if line.method == "fixed"]
    ends = numbers["regret"][:, fixed, -1].mean(axis=0)
    return np.asarray(numbers["regret"][:, fixed[int(ends.argmin())]])


def _mean_and_error(runs: Array) -> tuple[Array, Array]:
    """Mean and standard error over the first axis; the error of a single run is nan."""
    n = len(runs)
    error = runs.std(axis=0, ddof=1) / math.sqrt(n) if n > 1 else np.full(runs.shape[1:], np.nan)
    return runs.mean(axis=0), error


def _ratio_and_error(runs: Array, others: Array) -> tuple[Array, Array]:
    """The ratio of two means over the same runs, and its standard error (delta method)."""
    ratio = runs.mean(axis=0) / others.mean(axis=0)
    _, error = _mean_and_error(runs - ratio * others)
    return ratio, error / others.mean(axis=0)


def coverage_rows(rows: Sequence[CoverageRow]) -> list[Row]:
    """The coverage of each radius in each setting."""
    return [
        {
            "reading": row.contexts,
            "d": row.d,
            "s": row.s,
            "radius": row.radius,
            "norm": row.norm,
            "nominal": row.nominal,
            "coverage": row.coverage,
            "windows": row.replicates,
            "promised": row.valid,
            "falls_short": row.falls_short,
        }
        for row in rows
    ]


def to_csv(rows: Sequence[Row]) -> str:
    """The rows as CSV with six digits, without columns that are empty in every row.

    >>> print(to_csv([{"t": 30, "k": None, "regret_mean": 1 / 3}]), end="")
    t,regret_mean
    30,0.333333
    """
    columns = [name for name in rows[0] if any(row[name] is not None for row in rows)]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_formatted(row[name]) for name in columns] for row in rows)
    return text.getvalue()


def _formatted(value: Any) -> Any:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.6g}"
    return value

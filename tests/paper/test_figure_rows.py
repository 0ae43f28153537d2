"""Rows in long form, from the runs of the experiments."""

from __future__ import annotations

import numpy as np
import pytest
import synthetic_results
from twins import findings as naive

from efface.paper.comparisons import AutoComparison, Comparison
from efface.paper.experiments import Ranks
from efface.paper.figure_rows import coverage_rows, rows_of, to_csv
from efface.paper.verdicts import jackknife

HEAD = ["figure", "reading"]
REGRETS = [
    f"{name}_{what}" for name in ("regret", "abs_regret", "relative") for what in ("mean", "se")
]


def stacked(setting, runs):
    found = [setting.run(0, run) for run in range(runs)]
    return {name: np.stack([run[name] for run in found]) for name in found[0]}


def test_rows_are_means_and_standard_errors_of_the_runs():
    setting = Comparison("standardized", 40, "fig5", k=2, d=6)
    runs = [setting.run(0, run) for run in range(5)]
    numbers = {name: np.stack([run[name] for run in runs]) for name in runs[0]}
    rows = rows_of("fig5", {setting: numbers})
    assert len(rows) == 7 * len(setting.times)
    last = rows[5 * len(setting.times) - 1]
    assert (last["method"], last["penalty"], last["t"], last["runs"]) == ("fixed", 100.0, 40, 5)
    for name in ("regret", "abs_regret", "l2", "lambda"):
        values = [run[name][4, -1] for run in runs]
        assert last[f"{name}_mean"] == pytest.approx(np.mean(values))
        assert last[f"{name}_se"] == pytest.approx(np.std(values, ddof=1) / np.sqrt(5))


def test_empty_columns_are_left_out():
    setting = Comparison("standardized", 30, "fig4", s=8, df=5, d=6)
    numbers = {name: value[np.newaxis] for name, value in setting.run(0, 0).items()}
    head = to_csv(rows_of("fig4", {setting: numbers})).splitlines()[0].split(",")
    assert head == [*HEAD, "s", "sigma", "df", "method", "penalty", "t", "runs", *REGRETS]


def test_the_standard_error_of_one_run_is_empty():
    setting = Ranks("unit-norm", 20, s=5, d=4)
    numbers = {name: value[np.newaxis] for name, value in setting.run(0, 0).items()}
    head, line = to_csv(rows_of("fig2", {setting: numbers})).splitlines()[:2]
    assert dict(zip(head.split(","), line.split(","), strict=True))["rank_se"] == ""


def test_relative_regret_is_that_over_the_best_fixed_penalty_of_the_same_runs():
    paper, auto = (
        kind("standardized", 60, "fig3", s=8, d=6, sigma=2.0)
        for kind in (Comparison, AutoComparison)
    )
    found = {paper: stacked(paper, 6), auto: stacked(auto, 6)}
    rows = rows_of("fig3", found)
    fixed = {m: line for m, line in enumerate(paper.lines) if line.method == "fixed"}
    best = min(fixed, key=lambda m: naive.mean(found[paper]["regret"][:, m, -1]))
    for method, numbers, m in (("adaptive", found[paper], 0), ("auto", found[auto], 0)):
        last = next(r for r in rows if r["method"] == method and r["t"] == 60)
        runs = numbers["regret"][:, m, -1]
        others = found[paper]["regret"][: len(runs), best, -1]
        assert last["relative_mean"] == pytest.approx(naive.mean(runs) / naive.mean(others))
        _, error = jackknife(lambda a, b: a.mean() / b.mean(), runs, others)
        assert last["relative_se"] == pytest.approx(error, rel=0.2)
        assert last["runs"] == len(runs)


def test_falls_of_the_rank_are_counted_up_to_each_time():
    setting = Ranks("unit-norm", 9, s=5, d=4)
    ranks = np.array([[4.0, 3, 3, 4, 3], [4, 4, 4, 4, 3]])
    falls = [row["falls_mean"] for row in rows_of("fig2", {setting: {"rank": ranks}})]
    assert falls == [0, 0.5, 0.5, 0.5, 1.5]


def test_the_estimate_0_is_left_out_where_it_says_nothing():
    setting = Comparison("standardized", 60, "fig3", s=8, d=6)
    found = {setting: stacked(setting, 2)}
    assert "zero" in {row["method"] for row in rows_of("fig3", found)}
    for figure in ("fig6", "fig7"):
        assert "zero" not in {row["method"] for row in rows_of(figure, found)}
    first = rows_of("fig7", found)[0]
    assert first["lambda_run"] == found[setting]["lambda"][0, 0, 0]


def test_coverage_rows_have_every_radius():
    rows = coverage_rows(synthetic_results.coverage())
    assert len(rows) == 5 * 12
    assert rows[0] == {
        "reading": "standardized", "d": 2, "s": 50, "radius": "noise event, App. A",
        "norm": "largest", "nominal": 0.95, "coverage": 0.99, "windows": 2000,
        "promised": True, "falls_short": False,
    }  # fmt: skip

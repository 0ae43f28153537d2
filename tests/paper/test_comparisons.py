"""Each panel against a slow and simple implementation, run by run."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2
from twins import experiments as naive
from twins import findings as naive_findings

from efface.paper.comparisons import AutoComparison, Comparison, LimitedSubplot
from efface.paper.methods import Line

SMALL = [
    Comparison("standardized", 140, "fig3", s=5, sigma=2.0, d=12),
    Comparison("unit-norm", 140, "fig3", s=12, sigma=1.0, d=12),
    Comparison("standardized", 120, "fig4", s=20, df=5, d=12),
    Comparison("unit-norm", 120, "fig4", s=8, df=15, d=12),
    Comparison("standardized", 120, "fig4-variance", s=8, df=5, d=12, equal_variance=True),
    Comparison("standardized", 40, "fig5", k=2, sigma=3.0, d=12),
    Comparison("unit-norm", 30, "fig5", k=4, sigma=1.0, d=12),
]
AUTO = [
    AutoComparison("standardized", 60, "fig3", s=6, sigma=2.0, d=9),
    AutoComparison("unit-norm", 60, "fig4", s=20, df=5, d=9),
    AutoComparison("standardized", 30, "fig5", k=3, d=9),
]


def slow(setting, seed, run):
    rows = setting.horizon if setting.k is None else naive.START + setting.k * setting.horizon
    X, y, theta = naive.draw(seed, run, rows, setting.d, setting.reading, setting.sigma, setting.df)
    if setting.equal_variance:
        y = X @ theta + (y - X @ theta) * ((setting.df - 2) / setting.df) ** 0.5
    if setting.k is None:
        parts = [
            naive.constant_memory(X, y, theta, setting.s, m, setting.delta) for m in setting.lines
        ]
    else:
        parts = [
            naive.growing_memory(X, y, theta, setting.k, m, setting.delta) for m in setting.lines
        ]
    at = setting.times - setting.rows_needed - 1
    return {name: np.array([part[name][at] for part in parts]) for name in parts[0]}


def name_of(setting):
    return f"{setting.id}-{setting.kind}-{setting.reading}"


@pytest.mark.parametrize("setting", SMALL, ids=name_of)
def test_20_runs_equal_the_slow_implementation(setting):
    for run in range(20):
        found, expected = setting.run(3, run), slow(setting, 3, run)
        assert found.keys() == expected.keys()
        for name in expected:
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-9, err_msg=name)


@pytest.mark.parametrize("setting", AUTO, ids=name_of)
def test_runs_of_autoridge_equal_the_slow_implementation(setting):
    for run in range(2):
        found, expected = setting.run(3, run), slow(setting, 3, run)
        for name in expected:
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-7, err_msg=name)


def test_a_setting_of_the_paper_equals_the_slow_implementation():
    setting = Comparison("standardized", 60, "fig3", s=40, sigma=3.0)
    found, expected = setting.run(0, 7), slow(setting, 0, 7)
    for name in expected:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-9, err_msg=name)


def test_fixed_penalties_scale_with_sigma_and_only_growing_windows_have_switching():
    lines = Comparison("standardized", 3000, "fig3", s=20, sigma=3.0).lines
    fixed = (Line("fixed", penalty) for penalty in (3.0, 30.0, 300.0))
    assert lines == (Line("adaptive"), *fixed, Line("oracle", 900.0), Line("zero"))
    assert Line("switching") in Comparison("standardized", 3000, "fig5", k=2).lines


def test_the_oracle_knows_the_variance_of_student_t_noise():
    setting = Comparison("standardized", 3000, "fig4", s=20, df=5)
    assert setting.lines[-2].method == "oracle"
    assert setting.lines[-2].penalty == pytest.approx(100 * 5 / 3)


def test_autoridge_sees_the_same_streams():
    """Its panel has the id and the times of the paper's lines, so that runs can be paired."""
    paper, auto = (
        kind("standardized", 90, "fig3", s=8, d=5) for kind in (Comparison, AutoComparison)
    )
    assert paper.id == auto.id
    np.testing.assert_array_equal(paper.times, auto.times)
    assert paper != auto
    assert auto.runs(100) == paper.runs(100) == 100


def test_times_are_about_100_and_end_at_the_horizon():
    setting = Comparison("standardized", 3000, "fig3", s=80)
    assert 95 <= len(setting.times) <= 100
    assert setting.times[0] > 80
    assert setting.times[-1] == 3000


def test_the_floor_is_the_sum_over_the_rows_that_each_step_sees():
    growing = Comparison("standardized", 300, "fig5", k=3, sigma=2.0)
    slow_sum = naive_findings.floor(300, 20, 3, 100, 2.0)
    assert growing.floor[-1] == pytest.approx(slow_sum, rel=1e-9)
    constant = Comparison("standardized", 300, "fig3", s=40, sigma=2.0)
    assert constant.floor[-1] == pytest.approx(naive_findings.floor(260, 40, 1, 100, 2.0), rel=1e-9)
    assert len(constant.floor) == len(constant.times)


def test_the_oracle_at_equal_variance_knows_that_it_is_1():
    setting = Comparison("standardized", 3000, "fig4-variance", s=20, df=5, equal_variance=True)
    assert setting.lines[-2] == Line("oracle", 100.0)


@pytest.mark.parametrize(
    "setting",
    [
        LimitedSubplot("standardized", 60, "fig3", s=6, sigma=2.0, d=9),
        LimitedSubplot("unit-norm", 30, "fig5", k=3, d=9),
    ],
    ids=name_of,
)
def test_limits_and_losses_of_a_step_equal_dense_algebra(setting):
    """The loss by the slow implementation, the limit by normal equations and a table of chi2."""
    found = setting.run(3, 1)
    rows = setting.horizon if setting.k is None else naive.START + setting.k * setting.horizon
    X, y, theta = naive.draw(3, 1, rows, 9, setting.reading, setting.sigma, None)
    start, k = (6, 1) if setting.k is None else (naive.START, setting.k)
    delta = 0.05 / (setting.horizon - (6 if setting.k is None else 0))
    for i in (0, len(setting.times) // 2, len(setting.times) - 1):
        step = int(setting.times[i]) - 1 - (6 if setting.k is None else 0)
        window, arrivals = X[step : start + k * step], X[start + k * step : start + k * (step + 1)]
        responses = y[step : start + k * step]
        quantile = chi2.isf(delta, min(len(window), 9))
        for m, line in enumerate(setting.lines):
            lam = line.penalty
            if lam is None:
                lam = naive.adaptive_penalty(window, responses, 0.05)
                if line.method == "switching" and len(window) > 18:
                    lam = 0.0
            inverse = np.linalg.inv(window.T @ window + lam * np.eye(9))
            noise = [np.linalg.norm(window @ inverse @ x) for x in arrivals]
            bias = [lam * np.linalg.norm(inverse @ x) for x in arrivals]
            limit = setting.sigma * quantile**0.5 * np.mean(noise) + np.mean(bias)
            loss = np.abs(arrivals @ (inverse @ window.T @ responses - theta)).mean()
            assert found["limit"][m, i] == pytest.approx(limit, rel=1e-7)
            assert found["loss"][m, i] == pytest.approx(loss, rel=1e-7)

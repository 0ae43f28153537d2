"""Each setting against a slow and simple implementation, run by run."""

from __future__ import annotations

import numpy as np
import pytest
from twins import experiments as naive

from efface.paper.experiments import (
    Comparison,
    Experiment,
    ForgettingTerms,
    Line,
    OlsBound,
    Ranks,
    RidgeBound,
    experiments_for,
)
from efface.paper.simulate import READINGS, linear_stream, unit_vectors
from efface.theory.bounds import representation_bound

FIGURES = ("fig2", "fig3", "fig4", "fig5", "theory")

SMALL = [
    Comparison("standardized", 140, "fig3", s=5, sigma=2.0, d=12),
    Comparison("unit-norm", 140, "fig3", s=12, sigma=1.0, d=12),
    Comparison("standardized", 120, "fig4", s=20, df=5, d=12),
    Comparison("unit-norm", 120, "fig4", s=8, df=15, d=12),
    Comparison("standardized", 40, "fig5", k=2, sigma=3.0, d=12),
    Comparison("unit-norm", 30, "fig5", k=4, sigma=1.0, d=12),
]


def slow(setting: Comparison, seed: int, run: int):
    rows = setting.horizon if setting.k is None else naive.START + setting.k * setting.horizon
    X, y, theta = naive.draw(seed, run, rows, setting.d, setting.reading, setting.sigma, setting.df)
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


@pytest.mark.parametrize("setting", SMALL, ids=lambda setting: f"{setting.id}-{setting.reading}")
def test_20_runs_equal_the_slow_implementation(setting):
    for run in range(20):
        found, expected = setting.run(3, run), slow(setting, 3, run)
        assert found.keys() == expected.keys()
        for name in expected:
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-9, err_msg=name)


def test_a_setting_of_the_paper_equals_the_slow_implementation():
    setting = Comparison("standardized", 60, "fig3", s=40, sigma=3.0)
    found, expected = setting.run(0, 7), slow(setting, 0, 7)
    for name in expected:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-9, err_msg=name)


def test_ranks_count_distinct_unit_vectors():
    setting = Ranks("unit-norm", 300, s=30, d=20)
    choices = list(unit_vectors(5, 1, 300, 20).argmax(axis=1))
    np.testing.assert_array_equal(setting.run(5, 1)["rank"], naive.ranks(choices, 30))


@pytest.mark.parametrize("reading", READINGS)
def test_both_sides_of_lemma_2_equal_representation_bound(reading):
    setting = ForgettingTerms(reading, 120, d=4, s=9)
    found = setting.run(2, 0)
    expected = representation_bound(linear_stream(2, 0, 120, 4, reading=reading).X, 9)
    np.testing.assert_allclose(found["representation"], expected.representation, rtol=1e-9)
    np.testing.assert_allclose(found["lemma_2"], expected.bound, rtol=1e-9)


@pytest.mark.parametrize(
    ("kind", "line"), [(OlsBound, ("fixed", 0.0)), (RidgeBound, ("adaptive", None))]
)
def test_a_theorem_is_compared_with_the_sum_of_absolute_losses(kind, line):
    setting = kind("standardized", 90, d=5, s=15)
    X, y, theta = naive.draw(1, 4, 90, 5, "standardized", 1.0, None)
    measured = naive.constant_memory(X, y, theta, 15, line, setting.delta)["abs_regret"][-1]
    np.testing.assert_allclose(setting.run(1, 4)["abs_regret"], measured, rtol=1e-9)


def test_the_settings_equal_those_of_the_paper():
    ids = {
        figure: [setting.id for setting in experiments_for(figure, 3000, READINGS)]
        for figure in FIGURES
    }
    assert len(ids["fig2"]) == 5
    assert len(ids["fig3"]) == len(ids["fig4"]) == 2 * 12
    assert len(ids["fig5"]) == 2 * 9
    assert "fig3/s=20,sigma=1" in ids["fig3"]
    assert "fig4/s=80,df=15" in ids["fig4"]
    assert experiments_for("fig6", 3000, READINGS) == experiments_for("fig7", 3000, READINGS)


def test_fixed_penalties_scale_with_sigma_and_only_growing_windows_have_switching():
    lines = Comparison("standardized", 3000, "fig3", s=20, sigma=3.0).lines
    assert lines == (Line("adaptive"), *(Line("fixed", p) for p in (3.0, 30.0, 300.0)))
    assert Line("switching") in Comparison("standardized", 3000, "fig5", k=2).lines


def test_times_are_about_100_and_end_at_the_horizon():
    setting = Comparison("standardized", 3000, "fig3", s=80)
    assert 95 <= len(setting.times) <= 100
    assert setting.times[0] > 80
    assert setting.times[-1] == 3000


def test_slow_settings_have_at_most_10_runs():
    assert Ranks("unit-norm", 600, s=20).runs(100) == 10
    assert Ranks("unit-norm", 600, s=20).runs(3) == 3
    assert Comparison("unit-norm", 600, "fig3", s=20).runs(100) == 100


def every() -> list[Experiment]:
    return [setting for figure in FIGURES for setting in experiments_for(figure, 3000, READINGS)]


def test_no_two_settings_are_equal():
    texts = [repr(sorted(setting.setting().items(), key=str)) for setting in every()]
    assert len(set(texts)) == len(texts)
    assert all(setting.cost > 0 for setting in every())

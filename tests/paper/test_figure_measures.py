"""The numbers that decide the findings on the figures, against slow loops over the runs."""

from __future__ import annotations

import numpy as np
import pytest
import synthetic_results
from twins import findings as naive

from efface.paper import figure_measures as subject
from efface.paper.comparisons import AutoComparison, Comparison
from efface.paper.evidence import Evidence, MeasuredSubplot
from efface.theory.appendix_d import examples


def rough(found):
    """Runs that differ from each other and from line to line."""
    for number, (setting, numbers) in enumerate(found.items()):
        if type(setting) in (Comparison, AutoComparison):
            rng = np.random.default_rng(number)
            for name in ("regret", "abs_regret", "l2"):
                shape = (*numbers[name].shape[:2], 1)
                numbers[name] = numbers[name] * rng.uniform(0.7, 1.5, size=shape)
    return found


@pytest.fixture(scope="module")
def evidence():
    found = rough(synthetic_results.found())
    return Evidence("standardized", found, synthetic_results.coverage(), examples())


def measured(places):
    return [place.value for place in places]


def tables(evidence, figure, kind=Comparison):
    """The regret of every run at the horizon, per subplot: {line: list of runs}."""
    return [
        (each.setting, naive.table(each.setting, each.numbers, "regret"))
        for each in evidence.subplots(figure, kind)
    ]


def test_growth_exponents_equal_those_of_the_curves():
    evidence = Evidence("standardized", synthetic_results.found(), [], [])
    assert measured(subject.growth_exponents("fig3", evidence)) == pytest.approx([1.0] * 48)
    slow = [
        naive.exponent(each.setting.times - each.setting.rows_needed, each.setting.floor)
        for each in evidence.subplots("fig5")
        for _ in range(5)
    ]
    assert measured(subject.growth_exponents("fig5", evidence)) == pytest.approx(slow)
    steps = [slow[i + 15] - slow[i] for i in range(30)]
    assert sorted(measured(subject.exponent_steps("fig5", evidence))) == pytest.approx(
        sorted(steps)
    )


def test_step_ratios_along_a_row_compare_neighbouring_windows(evidence):
    places = list(
        subject.step_ratios(
            "fig3", "s", "sigma", MeasuredSubplot.total, evidence, lines=slice(0, 1)
        )
    )
    assert len(places) == 3 * 3
    place = next(p for p in places if p.setting == "fig3/s=60,sigma=2")
    assert place.detail == "adaptive, from s=40"
    means = {
        (setting.s, setting.sigma): naive.mean(table["adaptive"]) / (600 - setting.s)
        for setting, table in tables(evidence, "fig3")
    }
    assert place.value == pytest.approx(means[60, 2.0] / means[40, 2.0])


def test_step_ratios_down_a_column_compare_the_methods_of_the_paper(evidence):
    places = list(subject.step_ratios("fig4", "df", "s", MeasuredSubplot.total, evidence))
    assert len(places) == 4 * 2 * 4
    assert {p.detail.split(", ")[1] for p in places} == {"from df=5", "from df=10"}


@pytest.mark.parametrize("figure", ["fig3", "fig4", "fig5"])
def test_ratios_equal_slow_ones(evidence, figure):
    auto = tables(evidence, figure, AutoComparison)
    slow = {"best": [], "oracle": [], "near": [], "zero": [], "auto": [], "auto near": []}
    for (_, table), (_, own) in zip(tables(evidence, figure), auto, strict=True):
        fixed = naive.smallest(table, ("fixed",))
        every = naive.smallest(table, ("adaptive", "switching", "fixed"))
        oracle = naive.mean(table["oracle"])
        slow["best"].append(naive.mean(table["adaptive"]) / fixed)
        slow["oracle"].append(oracle / every)
        slow["near"].append(naive.mean(table["adaptive"]) / oracle)
        slow["zero"].append(naive.mean(table["adaptive"]) / naive.mean(table["zero"]))
        slow["auto"].append(naive.mean(own["auto"]) / fixed)
        slow["auto near"].append(naive.mean(own["auto"]) / oracle)
    found = {
        "best": subject.ratios_to_the_best(figure, MeasuredSubplot.total, evidence),
        "oracle": subject.oracle_over_best(figure, evidence),
        "near": subject.regret_ratios(figure, "adaptive", "oracle", evidence),
        "zero": subject.regret_ratios(figure, "adaptive", "zero", evidence),
        "auto": subject.auto_over_best(figure, evidence),
        "auto near": subject.auto_ratios(figure, "oracle", evidence),
    }
    assert {name: measured(places) for name, places in found.items()} == {
        name: pytest.approx(values) for name, values in slow.items()
    }


def test_small_penalties_are_compared_with_the_best_of_the_four(evidence):
    setting, table = tables(evidence, "fig3")[0]
    assert (setting.s, setting.sigma) == (20, 1.0)
    best = naive.smallest(table, ("adaptive", "fixed"))
    slow = [naive.mean(table["fixed", factor]) / best for factor in (1.0, 10.0)]
    assert measured(subject.small_penalties(evidence)) == pytest.approx(slow)


def test_sensitivity_to_the_memory_is_a_ratio_of_spreads(evidence):
    slow = []
    for sigma in (1.0, 2.0, 3.0):
        row = [
            {line: naive.mean(runs) / (600 - setting.s) for line, runs in table.items()}
            for setting, table in tables(evidence, "fig3")
            if setting.sigma == sigma
        ]
        for factor in (1.0, 10.0):
            fixed = [subplot["fixed", factor * sigma] for subplot in row]
            adaptive = [subplot["adaptive"] for subplot in row]
            slow.append(max(fixed) / min(fixed) / (max(adaptive) / min(adaptive)))
    assert measured(subject.memory_sensitivities(evidence)) == pytest.approx(slow)


def test_floor_ratios_divide_by_the_sum_of_the_floors(evidence):
    setting, table = tables(evidence, "fig5")[4]
    floor = naive.floor(setting.horizon, 20, setting.k, setting.d, setting.sigma)
    places = [p for p in subject.floor_ratios("fig5", evidence) if p.setting == setting.id]
    found = {place.detail.split()[0]: place.value for place in places}
    assert len(places) == len(setting.lines) + 1
    for method in ("adaptive", "switching", "oracle", "zero"):
        assert found[method] == pytest.approx(naive.mean(table[method]) / floor, rel=1e-9)
    (only,) = {
        p.detail.split()[0] for p in subject.floor_ratios("fig5", evidence, methods=("oracle",))
    }
    assert only == "oracle"


def test_penalties_are_those_of_the_adaptive_ridge(evidence):
    subplot = evidence.subplots("fig3")[5]
    lam = subplot.numbers["lambda"][:, 0]
    slow = naive.mean([np.std(run) / np.mean(run) for run in lam])
    assert measured(subject.penalty_variation(evidence))[5] == pytest.approx(slow)
    oracle = subplot.setting.d * subplot.setting.sigma**2
    slow = naive.mean([np.mean(run) for run in lam]) / oracle
    assert measured(subject.penalty_over_oracle(evidence))[5] == pytest.approx(slow)


def test_tails_are_compared_at_equal_variance(evidence):
    places = list(subject.tail_ratios(evidence))
    assert len(places) == 4 * 4
    heavy, light = (
        [each for each in evidence.subplots("fig4-variance") if each.setting.df == df]
        for df in (5, 15)
    )
    for place, m in zip(places[:4], range(4), strict=True):
        means = [naive.mean(each[0].numbers["regret"][:, m, -1]) for each in (heavy, light)]
        assert place.value == pytest.approx(means[0] / means[1])
        assert place.setting == "fig4-variance/s=20,df=5"


def test_switch_rules_differ_where_a_step_has_exactly_2d_rows(evidence):
    places = list(subject.switch_rules(evidence))
    for place, subplot in zip(places, evidence.subplots("fig5"), strict=True):
        rows = [20 + (subplot.setting.k - 1) * step for step in range(subplot.setting.horizon)]
        assert place.value == rows.count(200)


def test_widths_of_error_bars_are_standard_deviations_over_runs(evidence):
    place = next(iter(subject.l2_bars(evidence)))
    numbers = evidence.subplots("fig3")[0].numbers["l2"]
    widths = numbers.std(axis=0, ddof=1).mean(axis=-1)
    assert place.value == pytest.approx(widths[0] / widths[1])


def test_ranks_are_counted_step_by_step(evidence):
    assert next(iter(subject.rank_falls(evidence))).value == pytest.approx(20 / 39)
    assert measured(subject.rank_steps(evidence)) == [1.0] * 5

"""The numbers that decide findings, against their formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest
import synthetic_results

from efface.paper import evidence as subject
from efface.paper.evidence import (
    Evidence,
    MeasuredComparison,
    growth_exponents,
    ratios_to_the_best,
    step_ratios,
)
from efface.paper.experiments import Comparison, RidgeBound
from efface.theory.appendix_d import examples


@pytest.fixture
def evidence():
    return Evidence(
        "standardized", synthetic_results.found(), synthetic_results.coverage(), examples()
    )


def total(evidence, line, **wanted):
    for setting, numbers in evidence.found.items():
        if isinstance(setting, Comparison) and all(
            getattr(setting, name) == value for name, value in wanted.items()
        ):
            return numbers["regret"][:, line, -1].mean() / (setting.horizon - setting.rows_needed)
    raise LookupError(wanted)


def test_growth_exponents_equal_those_of_the_curves(evidence):
    assert all(p.value == pytest.approx(1.0, abs=1e-9) for p in growth_exponents("fig3", evidence))
    assert all(p.value == pytest.approx(0.5, abs=1e-9) for p in growth_exponents("fig5", evidence))


def test_step_ratios_along_a_row_compare_neighbouring_windows(evidence):
    places = list(
        step_ratios("fig3", "s", "sigma", MeasuredComparison.total, evidence, lines=slice(0, 1))
    )
    assert len(places) == 3 * 3
    place = next(p for p in places if p.setting == "fig3/s=60,sigma=2")
    assert place.detail == "adaptive, from s=40"
    wanted = {"figure": "fig3", "sigma": 2.0}
    expected = total(evidence, 0, s=60, **wanted) / total(evidence, 0, s=40, **wanted)
    assert place.value == pytest.approx(expected)


def test_step_ratios_down_a_column_compare_every_method(evidence):
    places = list(step_ratios("fig4", "df", "s", MeasuredComparison.total, evidence))
    assert len(places) == 4 * 2 * 4
    assert {p.detail.split(", ")[1] for p in places} == {"from df=5", "from df=10"}


def test_the_best_fixed_penalty_has_the_smallest_mean_regret(evidence):
    place = next(iter(ratios_to_the_best("fig3", MeasuredComparison.total, evidence)))
    assert place.detail == "best fixed 100"
    wanted = {"figure": "fig3", "s": 20, "sigma": 1.0}
    assert place.value == pytest.approx(total(evidence, 0, **wanted) / total(evidence, 3, **wanted))


def test_widths_of_error_bars_are_standard_deviations_over_runs(evidence):
    place = next(iter(subject.l2_bars(evidence)))
    numbers = next(n for e, n in evidence.found.items() if e.id == "fig3/s=20,sigma=1")["l2"]
    widths = numbers.std(axis=0, ddof=1).mean(axis=-1)
    assert place.value == pytest.approx(widths[0] / widths[1])


def test_a_bound_is_a_factor_of_the_regret_and_may_be_undefined(evidence):
    place = next(iter(subject.bound_factors(RidgeBound, "bound", evidence)))
    assert place.value == pytest.approx(2.0)
    assert place.detail == "at least 100 times the regret"
    for setting, numbers in evidence.found.items():
        if isinstance(setting, RidgeBound):
            numbers["bound"][:2] = np.nan
    place = next(iter(subject.bound_factors(RidgeBound, "bound", evidence)))
    assert math.isnan(place.value)
    assert place.detail == "undefined in 25 % of the runs"


def test_rank_falls_is_the_share_of_steps_that_lower_the_rank(evidence):
    assert next(iter(subject.rank_falls(evidence))).value == pytest.approx(20 / 39)


def test_wrong_values_are_counted_and_named(evidence):
    (place,) = subject.wrong_values("M2", evidence)
    assert (place.value, place.error) == (1.0, 0.0)
    assert "rank change (Def. 1, Case 2)" in place.detail

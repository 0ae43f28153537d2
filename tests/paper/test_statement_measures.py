"""The numbers that decide lemmas and theorems, against slow loops over the runs."""

from __future__ import annotations

import math

import numpy as np
import pytest
import synthetic_results
from twins import findings as naive

from efface.paper import statement_measures as subject
from efface.paper.evidence import Evidence
from efface.paper.experiments import ForgettingTerms, OlsBound, RidgeBound
from efface.theory.appendix_d import examples


@pytest.fixture
def evidence():
    found = synthetic_results.found()
    return Evidence("standardized", found, synthetic_results.coverage(), examples())


def numbers(evidence, kind):
    return [found for _, found in evidence.of(kind)]


def test_a_bound_is_a_factor_of_the_regret(evidence):
    for which in ("bound", "printed_bound", "exact_c2_bound"):
        place = next(iter(subject.ridge_bound_factors(which, evidence)))
        first = numbers(evidence, RidgeBound)[0]
        slow = [math.log10(b / r) for b, r in zip(first[which], first["abs_regret"], strict=True)]
        assert place.value == pytest.approx(naive.mean(slow))
    assert place.detail == "at least 1e+03 times the regret"


def test_an_undefined_bound_says_how_often_for_which_reason(evidence):
    for found in numbers(evidence, RidgeBound):
        found["printed_bound"][:] = np.nan
        found["printed_sign"][:2] = -1.0
        found["printed_log_c2"][:] = np.linspace(100, 200, synthetic_results.RUNS)
    place = next(iter(subject.ridge_bound_factors("printed_bound", evidence)))
    assert math.isnan(place.value)
    assert place.detail == (
        "C2 < 0 in 25 % of the runs, root of a negative number in 75 %; log|C2| from 100 to 200"
    )


def test_other_units_are_judged_apart(evidence):
    plain, rescaled = (
        [place.setting for place in subject.ols_bound_factors(evidence, rescaled=rescaled)]
        for rescaled in (False, True)
    )
    assert len(plain) == 3
    assert rescaled == [f"theorem1/d=10,s=50,scale={scale}" for scale in (100, 1000)]
    which = "exact_c2_bound"
    plain, rescaled = (
        [place.setting for place in subject.ridge_bound_factors(which, evidence, rescaled=rescaled)]
        for rescaled in (False, True)
    )
    assert plain == [f"theorem2/d=100,s={s}" for s in (20, 40, 60, 80)]
    assert rescaled == ["theorem2/d=100,s=40,scale=100", "theorem2/d=10,s=50,scale=1000"]


def test_slacks_are_relative_to_the_representation_term(evidence):
    first = numbers(evidence, ForgettingTerms)[0]
    for which in ("lemma_2", "lemma_2_trace"):
        place = next(iter(subject.lemma_2_slack(which, evidence)))
        slow = naive.mean(first[which]) / naive.mean(first["representation"]) - 1
        assert place.value == pytest.approx(slow)
    ridge = numbers(evidence, RidgeBound)[0]
    bound = naive.mean(2 * (ridge["log_det"] - ridge["derived_log_c2"]) + ridge["frt"])
    place = next(iter(subject.ridge_lemma_slack(evidence)))
    assert place.value == pytest.approx(bound / naive.mean(ridge["representation"]) - 1)
    ridge["derived_sign"][:4] = -1.0
    place = next(iter(subject.ridge_lemma_slack(evidence)))
    assert math.isnan(place.value)
    assert place.detail == "C2 < 0 in 50 % of the runs"


def test_sizes_of_c2_are_powers_of_ten(evidence):
    first = numbers(evidence, RidgeBound)[0]
    slow = naive.mean([math.log10(math.exp(value)) for value in first["derived_log_c2"]])
    assert next(iter(subject.drift_sizes("derived", evidence))).value == pytest.approx(slow)


def test_remarks_on_least_squares_compare_halves(evidence):
    setting, first = next(iter(evidence.of(OlsBound)))
    steps = setting.horizon - setting.s
    growth = naive.exponent(
        [steps // 2, steps], [naive.mean(first[n]) for n in ("half", "abs_regret")]
    )
    assert next(iter(subject.ols_growth(evidence))).value == pytest.approx(growth)


def test_extremes_are_those_of_the_runs(evidence):
    first = numbers(evidence, ForgettingTerms)[0]
    assert next(iter(subject.largest_terms(evidence))).value == pytest.approx(
        naive.mean(first["frt_largest"])
    )
    smallest = min(numbers(evidence, RidgeBound)[0]["smallest_penalty"])
    assert next(iter(subject.smallest_penalties(evidence))).value == smallest


def test_coverage_is_that_of_the_radius(evidence):
    places = list(subject.coverages("paper, Lemma 3", evidence))
    assert [place.value for place in places] == [0.99] * 5
    assert places[0].setting == "coverage/d=2,s=50"


def test_wrong_values_are_counted_and_named(evidence):
    (place,) = subject.wrong_values("M2", evidence)
    assert (place.value, place.error) == (1.0, 0.0)
    assert "rank change (Def. 1, Case 2)" in place.detail

"""Verdicts: three standard errors decide, and the worst place decides overall."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from efface.paper.verdicts import ERRORS, Place, Range, jackknife, judge, with_error


@pytest.mark.parametrize(
    ("value", "error", "verdict"),
    [
        (0.9, 0.01, "holds"),
        (0.98, 0.01, "open"),
        (1.02, 0.01, "open"),
        (1.04, 0.01, "fails"),
        (1.0, 0.0, "holds"),
        (1.1, 0.0, "fails"),
        (math.nan, math.nan, "fails"),
        (0.5, math.inf, "open"),
    ],
)
def test_a_verdict_depends_on_value_and_standard_error(value, error, verdict):
    assert Range(high=1.0).verdict(value, error) == verdict


@given(st.floats(-5, 5), st.floats(0, 1), st.floats(-3, 0), st.floats(0, 3))
def test_values_within_three_standard_errors_of_an_end_are_open(value, error, low, high):
    verdict = Range(low, high).verdict(value, error)
    inside = low + ERRORS * error <= value <= high - ERRORS * error
    outside = value < low - ERRORS * error or value > high + ERRORS * error
    assert (verdict == "holds") <= inside
    assert (verdict == "fails") == outside


@given(st.lists(st.floats(-100, 100), min_size=2, max_size=20))
def test_the_jackknife_of_a_mean_equals_its_standard_error(values):
    sample = np.array(values)
    value, error = jackknife(np.mean, sample)
    assert value == pytest.approx(sample.mean())
    expected = sample.std(ddof=1) / math.sqrt(sample.size)
    assert error == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_the_jackknife_of_a_ratio_uses_that_runs_are_paired():
    noise = np.random.default_rng(0).normal(size=200)
    above, below = 10 + noise, 5 + noise / 2
    _, paired = jackknife(lambda a, b: a.mean() / b.mean(), above, below)
    _, unpaired = jackknife(lambda a, b: a.mean() / b.mean(), above, below[::-1])
    assert paired < 1e-12 < unpaired


def test_the_verdict_of_one_run_is_open():
    value, error = jackknife(np.mean, np.array([3.0]))
    assert (value, Range(high=100.0).verdict(value, error)) == (3.0, "open")


def test_one_failure_fails_overall_and_the_furthest_place_decides():
    places = [
        Place("a", 0.5, 0.01),
        Place("b", 1.01, 0.01),
        Place("c", 1.2, 0.01),
        Place("d", 1.3, 0.01),
    ]
    verdict, place, counts = judge(places, Range(high=1.0))
    assert (verdict, place.setting) == ("fails", "d")
    assert counts == {"holds": 1, "fails": 2, "open": 1}


def test_an_open_place_is_open_overall_and_the_place_nearest_to_the_end_decides():
    places = [Place("a", 0.5, 0.01), Place("b", 0.99, 0.01), Place("c", 0.98, 0.01)]
    assert judge(places, Range(high=1.0))[:2] == ("open", places[1])
    assert judge(places[:1], Range(high=1.0))[0] == "holds"


@pytest.mark.parametrize("error", [0.0, 1e-13, math.inf, math.nan])
def test_a_number_without_a_standard_error_has_no_such_text(error):
    assert with_error(25.0, error) is None


def test_a_number_has_the_digits_of_its_standard_error():
    assert with_error(1234567.0, 2345.0) == "1,234,567 ± 2,345"
    assert with_error(0.000123456, 0.0000078) == "0.0001235 ± 0.0000078"

"""Statements that need no runs, against slow implementations."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
from twins import findings as naive
from twins import theory as naive_theory

from efface.paper import arithmetic as subject
from efface.paper.evidence import Evidence
from efface.paper.simulate import linear_stream
from efface.theory.quantities import adaptive_penalty, wpssr_limit


@pytest.fixture(params=["standardized", "unit-norm"])
def evidence(request):
    return Evidence(request.param, {}, [], [])


def windows(count, s, d):
    rng = np.random.default_rng([subject.SEED, s, d])
    return [rng.standard_normal((s, d)) for _ in range(count)]


def values(places):
    return [place.value for place in places]


def test_rows_that_left_do_not_influence_a_prediction(evidence):
    places = list(subject.influence_of_departed_rows(evidence))
    assert [place.detail for place in places] == ["OLS", "AdaptiveRidge", "AutoRidge"]
    assert max(values(places)) < 1e-9


def test_a_model_that_keeps_departed_rows_is_found(monkeypatch, evidence):
    class Keeps(subject.OLS):
        def __init__(self, window):
            super().__init__(window + 30)

    monkeypatch.setattr(subject, "MODELS", (Keeps,))
    assert next(iter(subject.influence_of_departed_rows(evidence))).value > 0.01


def test_the_corrected_update_gives_the_inverse_and_the_printed_one_does_not(evidence):
    corrected = values(subject.update_errors(evidence, printed=False))
    assert max(corrected) < 1e-9
    printed = values(subject.update_errors(evidence, printed=True))
    assert printed[0] > 0.01
    assert all(math.isnan(value) for value in printed[1:])


def test_the_counted_multiplications_do_not_depend_on_the_window(evidence):
    in_s, in_d = values(subject.update_orders(evidence))
    assert in_s == 0.0
    slow = math.log2(naive.multiplications(20) / naive.multiplications(10))
    assert in_d == pytest.approx(slow + 1)


def test_identities_hold_to_rounding(evidence):
    for measure in (subject.inversion_errors, subject.determinant_errors):
        assert max(values(measure(evidence))) < 1e-12
    for place, (d, s) in zip(
        subject.trace_slacks(evidence), ((2, 5), (10, 20), (30, 200)), strict=True
    ):
        if d == 30:
            continue  # 50 determinants in 50 digits take seconds
        slow = min(
            d * math.log(s * max(x @ x for x in X) / d) - float(naive_theory.log_det(X))
            for X in windows(50, s, d)
        )
        assert place.value == pytest.approx(slow, rel=1e-9)


def test_only_a_square_window_has_a_determinant(evidence):
    square, other = values(subject.square_determinants(evidence))
    assert square < 1e-9
    assert math.isnan(other)


def test_tails_are_exact(evidence):
    gaussian, signs = values(subject.tail_ratios(evidence))
    normal = NormalDist()
    grid = [i / 100 for i in range(801)]
    slow = max((1 - normal.cdf(z)) / math.exp(-(z**2) / 2) for z in grid if z < 5)
    assert gaussian == pytest.approx(slow)
    slow = max(
        naive.binomial_tail(30, z * math.sqrt(30) - 1e-9) / (2 * math.exp(-(z**2) / 2))
        for z in grid
    )
    assert signs == pytest.approx(slow)


def test_limits_of_assumption_1_equal_the_printed_formula(evidence):
    (example,) = values(subject.example_limit(evidence))
    assert example == pytest.approx(float(naive_theory.wpssr_limit(100, 110, 30, 0.05)))
    assert min(values(subject.limit_steps(evidence))) > 0
    sizes = (20, 50, 100, 500)
    loose = [
        naive_theory.wpssr_limit(s, d, max(1, d * tenths // 10), 0.05) > 1
        for s in sizes
        for d in sizes
        for tenths in range(1, 11)
    ]
    (share,) = values(subject.share_of_loose_limits(evidence))
    assert share == naive.mean(loose)
    assert wpssr_limit(500, 20, 1) < 1


def test_orders_of_radii_come_from_two_sizes(evidence):
    def mean_radius(s, name):
        found = []
        for run in range(10):
            X = linear_stream(subject.SEED, run, s, 5, reading=evidence.reading).X
            if name == "Lemma 1":
                q = naive_theory.dense_q(X, 0.0)
                found.append(q * math.sqrt(2 * 5 / s * math.log(2 * 5 / 0.05)))
            else:
                theta = np.full(5, 5**-0.5)
                lam = adaptive_penalty(s, 5, 1.0, np.abs(X).max(), theta_max=theta[0])
                kappa = math.log(6 * 5 / 0.05) / math.sqrt(math.log(2 * 5 / 0.05))
                found.append(kappa * naive_theory.dense_q(X, lam) * math.sqrt(5 / (2 * s)))
        return naive.mean(found)

    for place in subject.radius_orders(evidence):
        ratio = mean_radius(8000, place.detail) / mean_radius(500, place.detail)
        assert place.value == pytest.approx(math.log(ratio, 16), rel=1e-9)
        assert place.value < 0


def test_the_bound_of_theorem_2_is_proportional_to_nu(evidence):
    (factor,) = values(subject.order_of_theorem_2(evidence))
    assert factor == pytest.approx(2.0)


def test_the_largest_entry_is_positive_in_half_of_the_windows(evidence):
    for place, (s, d) in zip(
        subject.largest_entries(evidence), ((20, 100), (80, 100)), strict=True
    ):
        slow = naive.mean([max(X.ravel()) >= -min(X.ravel()) for X in windows(400, s, d)])
        assert place.value == slow
        assert 0.4 < slow < 0.6


def test_frt_outside_the_span_equals_its_definition(evidence):
    for place, row in zip(
        subject.row_outside_the_span(evidence), ((0, 0, 1), (0, 3, 1)), strict=True
    ):
        terms = naive_theory.forgetting_regret_term_pinv(
            np.eye(3)[:2], np.array([1.0, 0, 0]), np.array(row, dtype=float)
        )
        assert place.value == pytest.approx(terms[2])
    assert place.value == pytest.approx(10.0)


def test_distances_of_distributions_equal_those_by_quadrature(evidence):
    normal = NormalDist()
    for place, df in zip(subject.student_distance(evidence), (30, 100), strict=True):
        slow = max(
            abs(naive.student_cdf(z, df, steps=400) - normal.cdf(z))
            for z in np.linspace(0.6, 2.4, 37)
        )
        assert place.value == pytest.approx(slow, rel=0.01)

"""Ranks, forgetting terms and bounds of theorems against slow implementations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from twins import experiments as naive
from twins import theory as naive_theory

from efface.paper.comparisons import Comparison
from efface.paper.experiments import ForgettingTerms, OlsBound, Ranks, RidgeBound
from efface.paper.simulate import READINGS, linear_stream, unit_vectors
from efface.theory.bounds import representation_bound


def test_ranks_count_distinct_unit_vectors():
    setting = Ranks("unit-norm", 300, s=30, d=20)
    choices = list(unit_vectors(5, 1, 300, 20).argmax(axis=1))
    np.testing.assert_array_equal(setting.run(5, 1)["rank"], naive.ranks(choices, 30))


@pytest.mark.parametrize("reading", READINGS)
def test_both_sides_of_lemma_2_equal_representation_bound(reading):
    setting = ForgettingTerms(reading, 120, d=4, s=9)
    found = setting.run(2, 0)
    X = linear_stream(2, 0, 120, 4, reading=reading).X
    expected = representation_bound(X, 9)
    np.testing.assert_allclose(found["representation"], expected.representation, rtol=1e-9)
    np.testing.assert_allclose(found["lemma_2"], expected.bound, rtol=1e-9)
    largest = max(math.fsum(x**2 for x in row) for row in X)
    trace = 2 * (4 * math.log(9 * largest / 4) + 111)
    np.testing.assert_allclose(found["lemma_2_trace"], trace, rtol=1e-12)


@pytest.mark.parametrize(
    ("kind", "line"), [(OlsBound, ("fixed", 0.0)), (RidgeBound, ("adaptive", None))]
)
def test_a_theorem_is_compared_with_the_sum_of_absolute_losses(kind, line):
    setting = kind("standardized", 90, d=5, s=15)
    X, y, theta = naive.draw(1, 4, 90, 5, "standardized", 1.0, None)
    measured = naive.constant_memory(X, y, theta, 15, line, setting.delta)["abs_regret"][-1]
    np.testing.assert_allclose(setting.run(1, 4)["abs_regret"], measured, rtol=1e-9)


def test_the_remarks_on_theorem_1_use_half_the_horizon_and_the_adaptive_ridge():
    setting = OlsBound("unit-norm", 90, d=5, s=15)
    X, y, theta = naive.draw(1, 4, 90, 5, "unit-norm", 1.0, None)
    ols, adaptive = (
        naive.constant_memory(X, y, theta, 15, line, setting.delta)
        for line in (("fixed", 0.0), ("adaptive", None))
    )
    found = setting.run(1, 4)
    np.testing.assert_allclose(found["half"], ols["abs_regret"][75 // 2 - 1], rtol=1e-9)
    np.testing.assert_allclose(found["regret"], ols["regret"][-1], rtol=1e-9)
    np.testing.assert_allclose(found["adaptive_regret"], adaptive["regret"][-1], rtol=1e-9)


def test_other_units_change_the_bound_of_theorem_1_and_not_the_regret():
    plain, rescaled = (
        OlsBound("standardized", 90, d=3, s=15, scale=scale).run(1, 4) for scale in (1.0, 100.0)
    )
    np.testing.assert_allclose(rescaled["abs_regret"], plain["abs_regret"], rtol=1e-8)
    X, _, _ = naive.draw(1, 4, 90, 3, "standardized", 1.0, None)
    bound = naive_theory.ols_bound(100 * X, 15, 1.0, 0.05)
    np.testing.assert_allclose(rescaled["bound"], bound, rtol=1e-9)
    assert OlsBound("standardized", 90, d=3, s=15, scale=100.0).id == "theorem1/d=3,s=15,scale=100"


def test_both_versions_of_c2_equal_products_of_their_factors():
    setting = RidgeBound("standardized", 60, d=4, s=12)
    X, y, _ = naive.draw(1, 4, 60, 4, "standardized", 1.0, None)
    lam = [naive.adaptive_penalty(X[t - 12 : t], y[t - 12 : t], 0.05) for t in range(12, 61)]
    found = setting.run(1, 4)
    for version, factors in (
        ("derived", naive_theory.c2(X, 12, lam)),
        ("printed", naive_theory.printed_c2(X, 12, lam)),
    ):
        product = math.prod(factors)
        assert found[f"{version}_sign"] == math.copysign(1, product)
        np.testing.assert_allclose(found[f"{version}_log_c2"], math.log(abs(product)), rtol=1e-8)
    assert found["smallest_penalty"] == pytest.approx(min(lam))
    total, frt, _ = naive_theory.representation(X, 12, lam)
    np.testing.assert_allclose([found["representation"], found["frt"]], [total, frt], rtol=1e-8)
    log_det = float(naive_theory.log_det(X[-12:], lam[-1]))
    np.testing.assert_allclose(found["log_det"], log_det, rtol=1e-9)


def test_slow_settings_have_at_most_10_runs():
    assert Ranks("unit-norm", 600, s=20).runs(100) == 10
    assert Ranks("unit-norm", 600, s=20).runs(3) == 3
    assert Comparison("unit-norm", 600, "fig3", s=20).runs(100) == 100

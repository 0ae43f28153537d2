"""Quantiles at an adapting level, against the slow twin."""

from __future__ import annotations

import numpy as np
import pytest
from twins import intervals as naive_intervals

from efface.engine.linalg.quantiles import adapted_quantile, upper_quantile


def test_the_adapted_quantile_equals_that_of_the_twin():
    rng = np.random.default_rng(0)
    for m in (1, 3, 4, 9, 10, 100):
        scores = np.abs(rng.normal(size=m)) * np.linspace(1, 2, m)
        want = naive_intervals.adapted(scores.tolist(), 0.2, 0.05)
        assert adapted_quantile(scores, 0.2, 0.05) == pytest.approx(want, rel=1e-12)


def test_growing_scores_give_a_larger_quantile():
    scores = np.linspace(1.0, 2.0, 200)
    assert adapted_quantile(scores.copy(), 0.1, 0.02) > adapted_quantile(
        scores[::-1].copy(), 0.1, 0.02
    )


@pytest.mark.parametrize(("alpha", "least"), [(0.5, 1), (0.25, 3), (0.1, 9), (0.05, 19)])
def test_too_few_scores_give_an_infinite_quantile(alpha, least):
    scores = np.arange(1.0, least + 1.0)
    assert adapted_quantile(scores.copy(), alpha, 0.0) == pytest.approx(least)
    assert np.isinf(adapted_quantile(scores[:-1].copy(), alpha, 0.0))


def test_without_adaptation_the_order_of_scores_does_not_matter():
    scores = np.random.default_rng(1).exponential(size=60)
    expected = np.sort(scores)
    found = {adapted_quantile(each.copy(), 0.1, 0.0) for each in (scores, scores[::-1], expected)}
    assert len(found) == 1
    assert expected[53] < found.pop() < expected[54]  # the 54.9th of 60


def test_scores_are_sorted_in_place():
    scores = np.random.default_rng(2).normal(size=30)
    expected = np.sort(scores)
    adapted_quantile(scores, 0.1, 0.02)
    assert (scores == expected).all()


@pytest.mark.parametrize("m", [1, 2, 7, 60, 501])
@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.1, 0.5, 0.9])
def test_the_upper_quantile_needs_no_order(m, alpha):
    scores = np.abs(np.random.default_rng(m).normal(size=m)).round(1)  # some are equal
    want = naive_intervals.quantile(scores.tolist(), alpha)
    assert upper_quantile(scores.copy(), alpha) == pytest.approx(want, rel=1e-12, abs=1e-12)

"""Measures of live rows: gauges with fading weights, and conditioning."""

import numpy as np
import pytest
from twins.measures import measures

from efface.live.measures import Ranges, Way, conditioning, gauge, measured
from efface.live.trace import Asked

EVERYTHING = Asked(coef=False, diagnostics=True, gauges=True)


def rows(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * rng.uniform(0.5, 5.0, size=d) + 2.0
    return X, X @ rng.normal(size=d) + rng.normal(size=n), rng.uniform(0.5, 2.0, size=n)


@pytest.mark.parametrize("way", [Way(True), Way(False), Way(True, 0.5), Way(False, 1.0)])
def test_ranges_are_measured_as_one_window_is(way):
    X, y, w = rows(40, 3)
    w[5] = 0.0
    lo, hi = np.arange(28), np.arange(12, 40)
    found = measured(Ranges(X, y, w, lo, hi, X, hi), np.full(28, 0.6), way, EVERYTHING, [27])
    assert found.rank.tolist() == [3] * 28
    assert found.gauges.n_rows.tolist() == [11] * 6 + [12] * 22
    for k in range(28):
        part = slice(lo[k], hi[k])
        one = gauge(X[part], y[part], w[part], 0.6, way, X[hi[k] : hi[k] + 1])
        for name in ("leverage", "unexplained", "scatter", "size", "total_weight", "penalty"):
            each = getattr(found.gauges, name)[k]
            assert each == pytest.approx(getattr(one, name)[0], rel=1e-12), name
    assert np.isnan(found.phi2[:27]).all()
    assert (found.phi2[27], found.condition[27]) == conditioning(X[27:39], w[27:39], way)


def test_nothing_that_was_not_asked_for_is_given():
    X, y, w = rows(10, 2)
    ranges = Ranges(X, y, w, np.zeros(1, int), np.array([8]), X, np.array([8]))
    found = measured(ranges, np.ones(1), Way(True), Asked(False, False, True))
    assert found.rank.tolist() == [-1]  # hidden by the penalty
    assert found[2:] == (None,) * 5
    assert measured(ranges, np.ones(1), Way(True), Asked(False, True, False)).gauges is None


def test_columns_of_responses_are_measured_one_by_one():
    X, y, w = rows(30, 2)
    Y, lo, hi = np.column_stack([y, np.sin(y)]), np.arange(10), np.arange(20, 30)
    penalty = np.column_stack([np.full(10, 0.5), np.full(10, 2.0)])
    both = measured(Ranges(X, Y, w, lo, hi, X, hi), penalty, Way(True), EVERYTHING)
    for r in range(2):
        ranges = Ranges(X, Y[:, r], w, lo, hi, X, hi)
        one = measured(ranges, penalty[:, r], Way(True), EVERYTHING)
        np.testing.assert_allclose(both.gauges.unexplained[:, r], one.gauges.unexplained)
        np.testing.assert_allclose(both.frt[:, r], one.frt)


def test_faded_weights_are_divided_by_the_unit():
    X, y, w = rows(15, 2)
    faded = w * np.exp2(np.arange(-14, 1) / 4.0 - 40.0)
    unit = 2.0**-40
    found = gauge(X, y, faded, 0.8 * unit, Way(True), X[:2], unit)
    right = measures(X, y, faded / unit, X[0], 0.8)
    for name in ("leverage", "image_square", "unexplained", "scatter", "size", "total_weight"):
        assert getattr(found, name)[0] == pytest.approx(getattr(right, name), rel=1e-10), name
    assert found.penalty.tolist() == [0.8, 0.8]


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_conditioning_is_that_of_the_singular_values(power):
    X, _, w = rows(20, 3, seed=1)
    Z = X - np.average(X, axis=0, weights=w)
    Z = np.sqrt(w)[:, None] * Z / np.sqrt(np.average(Z**2, axis=0, weights=w)) ** power
    sigma = np.linalg.svd(Z, compute_uv=False)
    phi2, condition = conditioning(X, w, Way(True, power))
    assert phi2 == pytest.approx(sigma[-1] ** 2 / w.sum(), rel=1e-10)
    assert condition == pytest.approx(sigma[0] / sigma[-1], rel=1e-10)


def test_dependent_features_have_no_finite_condition():
    X, _, w = rows(20, 3)
    X[:, 2] = X[:, 0]
    assert conditioning(X, w, Way(True)) == (0.0, np.inf)
    assert conditioning(X[:3], w[:3], Way(True)) == (0.0, np.inf)
    assert np.isnan(conditioning(X, np.zeros(20), Way(True))).all()
    X[:, 2] = X[:, 0] * (1.0 + 1e-9 * np.arange(20))  # its eigenvalue has lost all digits
    phi2, condition = conditioning(X, np.ones(20), Way(False))
    sigma = np.linalg.svd(X, compute_uv=False)
    assert phi2 == pytest.approx(sigma[-1] ** 2 / 20, rel=1e-9)
    assert condition == pytest.approx(sigma[0] / sigma[-1], rel=1e-9)

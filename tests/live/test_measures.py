"""Measures of live rows: gauges with fading weights, and conditioning."""

import numpy as np
import pytest
from twins.measures import measures

from efface.live.measures import Way, conditioning, gauge


def rows(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * rng.uniform(0.5, 5.0, size=d) + 2.0
    return X, X @ rng.normal(size=d) + rng.normal(size=n), rng.uniform(0.5, 2.0, size=n)


@pytest.mark.parametrize("way", [Way(True), Way(False), Way(True, 0.5), Way(False, 1.0)])
def test_new_rows_are_gauged_by_the_live_rows(way):
    X, y, w = rows(20, 3)
    w[5] = 0.0
    found = gauge(X[:15], y[:15], w[:15], 0.6, way, X[15:])
    assert found.n_rows.tolist() == [14] * 5
    assert found.rank.tolist() == [-1] * 5  # hidden by the penalty
    for k in range(5):
        right = measures(X[:15], y[:15], w[:15], X[15 + k], 0.6, *way)
        for name in ("leverage", "image_square", "unexplained", "scatter", "size", "total_weight"):
            assert getattr(found, name)[k] == pytest.approx(getattr(right, name), rel=1e-10), name


def test_no_rows_give_no_gauges():
    X, y, w = rows(4, 2)
    assert np.isnan(gauge(X[:0], y[:0], w[:0], 0.0, Way(True), X).leverage).all()
    assert gauge(X, y, w, 0.0, Way(True), X[:0]).leverage.size == 0


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

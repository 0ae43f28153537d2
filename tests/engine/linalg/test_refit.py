"""Regression from scratch, against exact fractions."""

import numpy as np
import pytest
from designs import DESIGNS, sample
from twins import regression as naive
from twins.inference import condition

from efface.engine.jit.views import weighed
from efface.engine.linalg.refit import refit
from efface.engine.linalg.spectrum import numerical_rank


def windowed(condition, noise, seed, n=40, d=5):
    rng = np.random.default_rng(seed)
    u = np.linalg.qr(rng.normal(size=(n, d)))[0]
    v = np.linalg.qr(rng.normal(size=(d, d)))[0]
    X = u * np.geomspace(1.0, 1.0 / condition, d) @ v.T * np.sqrt(n)
    return X, X @ rng.normal(size=d) + noise * rng.normal(size=n)


@pytest.mark.parametrize("noise", [0.0, 1e-3, 1.0])
@pytest.mark.parametrize("condition", [1.0, 1e4, 1e7])
def test_refit_is_more_accurate_than_lstsq(condition, noise):
    X, y = windowed(condition, noise, seed=1)
    coef = np.empty(5)
    _, rank = refit(X, weighed(y), 0.0, False, coef)
    exact, _ = naive.solve_exactly(X, y, 0.0, False)
    np.testing.assert_allclose(coef, exact, rtol=1e-13)
    assert rank == 5


@pytest.mark.parametrize("condition", [1.0, 1e4, 1e7])
def test_with_an_intercept_the_error_is_that_of_the_mean(condition):
    X, y = windowed(condition, 1.0, seed=2)
    coef = np.empty(5)
    level, _ = refit(X, weighed(y + 3.0), 0.0, True, coef)
    exact, intercept = naive.solve_exactly(X, y + 3.0, 0.0, True)
    scale = np.abs(exact).max()
    assert np.abs(coef - exact).max() <= 1e-15 * condition * scale + 1e-13 * scale
    assert level == pytest.approx(intercept, abs=1e-15 * condition * scale + 1e-12)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", DESIGNS)
def test_rows_of_full_rank_are_refitted_whatever_their_units(name, intercept):
    X, y = sample(name, 40, seed=8)
    cond = condition(X, intercept)
    if cond > 1e8:
        return
    for units in (1.0, 1e-12, np.geomspace(1e-12, 1e12, X.shape[1])):
        coef = np.empty(X.shape[1])
        level, rank = refit(X * units, weighed(y), 0.0, intercept, coef)
        exact, b = naive.solve_exactly(X * units, y, 0.0, intercept)
        unit = np.abs(X * units).max(axis=0)
        scale = np.abs(exact * unit).max()
        assert np.abs((coef - exact) * unit).max() <= max(1e-15 * cond, 1e-13) * scale
        assert level == pytest.approx(b, abs=max(1e-15 * cond, 1e-13) * scale)
        assert rank == X.shape[1]


@pytest.mark.parametrize("intercept", [False, True])
def test_rank_deficient_rows_give_the_minimum_norm_solution(intercept):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(12, 4))
    X[:, 3] = X[:, 0] - X[:, 1]
    y, coef = rng.normal(size=12), np.empty(4)
    _, rank = refit(X, weighed(y), 0.0, intercept, coef)
    centred, target = (X - X.mean(0), y - y.mean()) if intercept else (X, y)
    np.testing.assert_allclose(coef, np.linalg.lstsq(centred, target, rcond=None)[0], atol=1e-12)
    assert rank == 3


def test_a_feature_that_is_constant_up_to_rounding_has_coefficient_zero():
    X = np.column_stack([np.full(9, 0.1), np.arange(9.0)])
    coef = np.empty(2)
    _, rank = refit(X, weighed(2.0 * np.arange(9.0)), 0.0, True, coef)
    assert rank == 1
    np.testing.assert_allclose(coef, [0.0, 2.0], atol=1e-13)


@pytest.mark.parametrize("penalty", [1e-6, 1.0, 1e6])
def test_a_penalty_determines_rank_deficient_rows(penalty):
    X, y = np.ones((6, 3)), np.arange(6.0)
    coef = np.empty(3)
    refit(X, weighed(y), penalty, False, coef)
    np.testing.assert_allclose(coef, naive.solve_exactly(X, y, penalty, False)[0], rtol=1e-9)


def test_no_rows_and_one_row():
    coef = np.ones(2)
    assert refit(np.zeros((0, 2)), weighed(np.zeros(0)), 0.0, True, coef) == (0.0, 0)
    assert coef.tolist() == [0.0, 0.0]
    level, rank = refit(np.array([[3.0, 4.0]]), weighed(np.array([5.0])), 0.0, True, coef)
    assert (level, rank, coef.tolist()) == (5.0, 0, [0.0, 0.0])
    level, rank = refit(np.array([[3.0, 4.0]]), weighed(np.array([5.0])), 0.0, False, coef)
    assert rank == 1
    np.testing.assert_allclose(coef, [0.6, 0.8])


def test_rounding_of_the_mean_does_not_add_to_the_rank():
    """Few rows close together: their deviations from the mean may not add up to 0."""
    rng = np.random.default_rng(47)
    for _ in range(400):
        n, d = rng.integers(2, 4), rng.integers(2, 6)
        X, y = rng.normal(size=d) + 0.03 * rng.normal(size=(n, d)), rng.normal(size=n)
        coef = np.empty(d)
        level, rank = refit(X, weighed(y), 0.0, True, coef)
        assert rank == min(n - 1, d)
        if n - 1 < d:
            right, base = naive.interpolate_exactly(X, y, True)
            np.testing.assert_allclose(coef, right, rtol=1e-9, atol=1e-9 * np.abs(right).max())
            np.testing.assert_allclose(level, base, rtol=1e-8, atol=1e-9 * np.abs(right).max())


def test_a_singular_window_is_recognised():
    """Rotated unit vectors: rounding leaves pivots of 1e-10 instead of 0."""
    rng = np.random.default_rng(20)
    coef = np.empty(20)
    for _ in range(300):
        rotation = np.linalg.qr(rng.normal(size=(20, 20)))[0]
        X, y = np.eye(20)[rng.integers(0, 19, size=60)] @ rotation, rng.normal(size=60)
        answer, _, expected, _ = np.linalg.lstsq(X, y, rcond=None)
        _, rank = refit(X, weighed(y), 0.0, False, coef)
        assert rank == expected
        np.testing.assert_allclose(coef, answer, atol=1e-12)


def test_refinement_that_does_not_converge_is_discarded():
    """Columns that agree in twelve digits: refinement diverges, singular values do not."""
    rng = np.random.default_rng(11)
    for _ in range(300):
        n = rng.integers(5, 50)
        deviations = rng.standard_normal((n, 4))
        X, y = deviations + 1e12, deviations @ rng.standard_normal(4) + rng.standard_normal(n)
        coef = np.empty(4)
        refit(X, weighed(y), 0.0, False, coef)
        np.testing.assert_allclose(coef, np.linalg.lstsq(X, y, rcond=None)[0], atol=0.1)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("penalty", [0.0, 1.0])
@pytest.mark.parametrize("n", [3, 5, 40])
def test_weights_do_not_reduce_accuracy(n, penalty, intercept):
    rng = np.random.default_rng(n)
    X, y = rng.normal(size=(n, 5)) + 3.0, rng.normal(size=n)
    w = 10.0 ** rng.uniform(-4, 4, size=n)
    X[1], w[1] = 1e8, 0.0
    coef = np.empty(5)
    level, rank = refit(X, weighed(y, w), penalty, intercept, coef)
    exact, b, expected = naive.regress(X, y, penalty, intercept, w)
    size = np.abs(exact).max()
    assert np.abs(coef - exact).max() <= 1e-10 * size
    assert abs(level - b) <= 1e-9 * max(size, abs(b))
    assert rank in (expected, -1)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("n", [2, 4, 5])
def test_rows_fitted_exactly_may_have_any_weight_and_length(n, intercept):
    for seed in range(60):
        rng = np.random.default_rng([n, seed])
        X, y, coef = rng.normal(size=(n, 5)), rng.normal(size=n), np.empty(5)
        X[rng.integers(n)] *= 10.0 ** rng.uniform(0, 8)
        level, rank = refit(X, weighed(y, 10.0 ** rng.uniform(-8, 8, size=n)), 0.0, intercept, coef)
        exact, b = naive.interpolate_exactly(X, y, intercept)
        assert rank == n - intercept
        assert np.abs(coef - exact).max() <= 1e-11 * np.abs(exact).max()
        assert abs(level - b) <= 1e-11 * max(np.abs(exact).max(), np.abs(y).max())


def test_rounding_of_the_mean_does_not_add_to_the_rank_of_heavy_rows():
    rng = np.random.default_rng(0)
    for _ in range(200):
        X, coef = rng.normal(size=(2, 3)), np.empty(3)
        w = np.array([10.0 ** rng.uniform(0, 8), 10.0 ** rng.uniform(-8, 0)])
        assert refit(X, weighed(rng.normal(size=2), w), 0.0, True, coef)[1] == 1


def test_rows_of_weight_zero_are_ignored():
    coef = np.ones(2)
    responses = weighed(np.ones(3), np.zeros(3))
    assert refit(np.ones((3, 2)), responses, 1.0, True, coef) == (0.0, 0)
    assert coef.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("unit", [1e-140, 1e-160, 1e-165, 1e-200, 1e-290])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("n", [3, 30])
def test_values_whose_squares_underflow(n, intercept, unit):
    rng = np.random.default_rng(n)
    X, y, coef = rng.normal(size=(n, 4)) * unit, rng.normal(size=n), np.empty(4)
    level, rank = refit(X, weighed(y), 0.0, intercept, coef)
    exact, b, _ = naive.regress(X / unit, y, 0.0, intercept)
    np.testing.assert_allclose(coef * unit, exact, rtol=1e-10)
    assert level == pytest.approx(b, abs=1e-12)
    assert rank == min(4, n - intercept)


@pytest.mark.parametrize("d", [2, 3, 6])
def test_two_distinct_rows_that_are_repeated_have_rank_one(d):
    for seed in range(150):
        rng = np.random.default_rng([seed, d])
        pair = rng.normal(size=(2, d)) + rng.integers(0, 3)
        X = np.repeat(pair, rng.integers(1, 9, size=2), axis=0)
        if len(X) < 3:
            continue
        coef, y = np.zeros(d), rng.normal(size=len(X))
        _, rank = refit(X, weighed(y), 0.0, True, coef)
        assert rank == 1
        assert numerical_rank(X, np.ones(len(X)), True) == 1
        step, rise = pair[1] - pair[0], y[(pair[1] == X).all(axis=1)].mean()
        rise -= y[(pair[0] == X).all(axis=1)].mean()
        np.testing.assert_allclose(coef, rise * step / (step @ step), rtol=1e-9)

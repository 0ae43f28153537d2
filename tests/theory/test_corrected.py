"""The corrected theorem: its formula by brute force, its coverage, its tightness and its units."""

from __future__ import annotations

import math

import numpy as np
import pytest
from twins import theory as naive

from efface.theory import corrected_regret_bound, prediction_limit

GRID = np.append(0.0, np.logspace(-3, 4, 60))  # 61 penalties per window


def contexts(rng, rows, d, reading):
    X = rng.standard_normal((rows, d))
    return X if reading == "standardized" else X / np.linalg.norm(X, axis=1, keepdims=True)


def unit(rng, d):
    theta = rng.standard_normal(d)
    return theta / np.linalg.norm(theta)


def ridge(X, y, penalty):
    """The estimate by normal equations, or of minimum norm without a penalty."""
    if penalty == 0:
        return np.linalg.pinv(X) @ y
    return np.linalg.solve(X.T @ X + penalty * np.eye(X.shape[1]), X.T @ y)


def direct(X, x, penalty, quantile, sigma, length):
    """The limit as the largest value over noise and coefficients, by dense matrices."""
    inverse = np.linalg.pinv(X.T @ X + penalty * np.eye(X.shape[1]))
    noise = np.linalg.norm(X @ inverse @ x)
    bias = np.linalg.norm(x - X.T @ X @ inverse @ x)
    return sigma * math.sqrt(quantile) * noise + length * bias


# 95 % quantiles of chi-square with 1, 2 and 3 degrees of freedom, from tables
QUANTILES = {1: 3.841458820694124, 2: 5.991464547107979, 3: 7.814727903251179}


@pytest.mark.parametrize("penalty", [0.0, 0.3, 40.0])
@pytest.mark.parametrize("rows", [1, 2, 3, 9])
def test_the_limit_equals_dense_algebra(penalty, rows):
    rng = np.random.default_rng([rows, 3])
    X, x = rng.standard_normal((rows, 3)), rng.standard_normal(3)
    expected = direct(X, x, penalty, QUANTILES[min(rows, 3)], 1.3, 0.7)
    found = prediction_limit(X, x, penalty=penalty, sigma=1.3, theta_norm=0.7)
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("penalty", [0.0, 0.3, 40.0])
def test_no_noise_in_the_event_and_no_coefficients_exceed_the_limit(penalty):
    """The limit is attained by the worst noise and the worst coefficients, and never exceeded."""
    rng = np.random.default_rng(0)
    X, x = rng.standard_normal((6, 3)), rng.standard_normal(3)
    limit = prediction_limit(X, x, penalty=penalty, sigma=1.0, theta_norm=1.0)
    inverse = np.linalg.inv(X.T @ X + penalty * np.eye(3))
    worst = X @ inverse @ x
    radius = math.sqrt(QUANTILES[3])
    largest = 0.0
    for theta in [unit(rng, 3) for _ in range(200)] + [-inverse @ x / np.linalg.norm(inverse @ x)]:
        for noise in [X @ unit(rng, 3), worst]:
            eps = noise * radius / np.linalg.norm(noise)
            error = x @ (ridge(X, X @ theta + eps, penalty) - theta)
            largest = max(largest, abs(error))
    assert largest <= limit * (1 + 1e-12)
    assert largest == pytest.approx(limit, rel=1e-9)


def test_the_bound_is_the_sum_of_the_limits_at_a_shared_level():
    rng = np.random.default_rng(1)
    X, lam = rng.standard_normal((20, 3)), rng.uniform(0, 5, 15)
    found = corrected_regret_bound(X, 6, penalties=lam, sigma=1.2, theta_norm=0.8, delta=0.1)
    limits = [
        prediction_limit(
            X[k : k + 6], X[k + 6], penalty=lam[k], sigma=1.2, theta_norm=0.8, delta=0.1 / 14
        )
        for k in range(14)
    ]
    assert found.steps == pytest.approx(limits)
    assert found.bound == pytest.approx(math.fsum(limits))
    assert found.squared_bound == pytest.approx(math.fsum(limit**2 for limit in limits))
    assert found.noise + found.bias == pytest.approx(found.bound)
    assert found.bound < found.ellipsoid_bound


@pytest.mark.parametrize("c", [0.01, 100.0])
def test_the_bound_does_not_depend_on_the_units(c):
    """E21, E29: the printed theorems do."""
    rng = np.random.default_rng(2)
    X, lam = rng.standard_normal((60, 5)), rng.uniform(0, 9, 46)
    one = corrected_regret_bound(X, 15, penalties=lam, sigma=1.0, theta_norm=1.0)
    other = corrected_regret_bound(c * X, 15, penalties=c**2 * lam, sigma=1.0, theta_norm=1 / c)
    assert other.steps == pytest.approx(one.steps, rel=1e-9)
    assert other.ellipsoid_bound == pytest.approx(one.ellipsoid_bound, rel=1e-9)


SETTINGS = [(2, 10), (2, 50), (10, 12), (10, 50), (20, 8)]


@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("reading", ["standardized", "unit-norm"])
@pytest.mark.parametrize(("d", "s"), SETTINGS)
def test_coverage_with_penalties_chosen_by_an_adversary(d, s, reading, scale):
    """For each window the penalty, of 61, whose error is largest relative to its limit.

    delta = 0.5: an error in the theorem would show, where 0.05 could hide it. A run is covered if
    every step is.
    """
    rng = np.random.default_rng([d, s, int(100 * scale)])
    runs, steps, covered = 150, 4, 0
    grid = GRID * scale**2
    for _ in range(runs):
        theta, X = unit(rng, d) / scale, scale * contexts(rng, s + steps, d, reading)
        y = X @ theta + rng.standard_normal(len(X))
        chosen = []
        for k in range(steps):
            window, x = X[k : k + s], X[k + s]
            u, sv, vt = np.linalg.svd(window, full_matrices=False)
            scores, inside = u.T @ y[k : k + s], vt @ x
            with np.errstate(divide="ignore", invalid="ignore"):
                shrunk = sv / (sv**2 + grid[:, None])
                fits = shrunk * scores @ inside
                noise = np.linalg.norm(shrunk * inside, axis=1)
                bias = np.sqrt(
                    ((1 - sv * shrunk) ** 2 * inside**2).sum(axis=1)
                    + max(0.0, x @ x - inside @ inside)
                )
            limit = noise * 3.0 + bias * np.linalg.norm(theta)
            chosen.append(grid[np.argmax(np.abs(fits - x @ theta) / limit)])
        lam = np.append(chosen, 1.0)
        found = corrected_regret_bound(
            X, s, penalties=lam, sigma=1.0, theta_norm=float(np.linalg.norm(theta)), delta=0.5
        )
        errors = [
            abs(X[k + s] @ (ridge(X[k : k + s], y[k : k + s], lam[k]) - theta))
            for k in range(steps)
        ]
        covered += bool((np.array(errors) <= found.steps * (1 + 1e-9)).all())
    assert covered / runs >= 0.5 - 3 * math.sqrt(0.25 / runs)


FIGURES = [(100, s, sigma) for s in (20, 40, 60, 80) for sigma in (1.0, 2.0, 3.0)]


def tightness(d, s, sigma, reading, rule, rows):
    rng = np.random.default_rng([d, s, int(sigma), rows])
    theta, X = unit(rng, d), contexts(rng, rows, d, reading)
    y = X @ theta + sigma * rng.standard_normal(rows)
    lam = np.array([rule(X[k : k + s], y[k : k + s]) for k in range(rows - s + 1)])
    predicted = naive.replay(X, y, s, lam)
    regret = np.abs(predicted - X[s:] @ theta).sum()
    return corrected_regret_bound(X, s, penalties=lam, sigma=sigma, theta_norm=1.0).bound / regret


def adaptive(X, y):
    return math.sqrt(2 * len(X) * math.log(2 * X.shape[1] / 0.05)) * y.std(ddof=1) * np.abs(X).max()


@pytest.mark.parametrize("reading", ["standardized", "unit-norm"])
@pytest.mark.parametrize(("d", "s", "sigma"), FIGURES)
def test_tightness_in_the_settings_of_figure_3(d, s, sigma, reading):
    for rule in (adaptive, lambda X, y: sigma, lambda X, y: 10 * sigma, lambda X, y: 100 * sigma):
        assert 1.0 <= tightness(d, s, sigma, reading, rule, s + 150) <= 25


@pytest.mark.parametrize(("d", "s"), [(2, 50), (10, 50), (10, 100), (100, 150)])
def test_tightness_of_least_squares(d, s):
    assert 1.0 <= tightness(d, s, 1.0, "standardized", lambda X, y: 0.0, s + 300) <= 25


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"sigma": 0.0}, "'sigma' is 0"),
        ({"theta_norm": -1.0}, "'theta_norm' is -1"),
        ({"delta": 1.0}, "'delta' is 1"),
        ({"penalties": [1.0]}, "'penalties' is"),
    ],
)
def test_bad_options_are_refused(options, text):
    given = {"sigma": 1.0, "theta_norm": 1.0} | options
    with pytest.raises(ValueError, match=text):
        corrected_regret_bound(np.eye(3), 2, **given)

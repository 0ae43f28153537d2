"""The lower bound: its formula in 50 digits, and simulated regret that is not below it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from twins import findings as naive_findings
from twins import theory as naive

from efface.errors import InvalidValue
from efface.theory.floor import (
    oracle_penalty,
    regret_floor,
    sphere_regret_floor,
    window_regret_floor,
)


def draw(rng, count, n, d, contexts):
    X = rng.standard_normal((count, n, d))
    return X / np.linalg.norm(X, axis=2, keepdims=True) if contexts == "unit-norm" else X


@pytest.mark.parametrize("contexts", ["standardized", "unit-norm"])
def test_the_floor_of_a_window_equals_its_formula_in_50_digits(contexts):
    rng = np.random.default_rng(1)
    for n, d in ((2, 5), (5, 5), (9, 3)):
        (X,) = draw(rng, 1, n, d, contexts)
        found = window_regret_floor(X, sigma=1.3, theta_norm=0.7, contexts=contexts)
        moment = 1 if contexts == "standardized" else 1 / d
        assert found == pytest.approx(float(naive.bayes_regret(X, 1.3, 0.7, moment)), rel=1e-12)


@pytest.mark.parametrize("contexts", ["standardized", "unit-norm"])
@pytest.mark.parametrize(("n", "sigma"), [(20, 1.0), (80, 1.0), (60, 3.0), (400, 2.0)])
def test_the_limit_is_within_1_percent_of_the_mean_of_windows(contexts, n, sigma):
    windows = draw(np.random.default_rng(2), 40, n, 100, contexts)
    mean = naive_findings.mean(
        [window_regret_floor(X, sigma=sigma, contexts=contexts) for X in windows]
    )
    assert regret_floor(n, 100, sigma=sigma, contexts=contexts) == pytest.approx(mean, rel=0.01)


def test_the_limit_solves_the_equation_of_marchenko_and_pastur():
    steps = regret_floor(20 + 2 * np.arange(300), 100, sigma=2.0)
    assert steps.sum() == pytest.approx(naive_findings.floor(300, 20, 3, 100, 2.0), rel=1e-12)


@settings(deadline=None)
@given(
    st.integers(0, 500), st.integers(1, 60), st.floats(0.05, 20), st.floats(0.1, 10), st.booleans()
)
def test_the_floor_lies_between_jensens_bound_and_the_estimate_0(n, d, sigma, length, unit):
    contexts = "unit-norm" if unit else "standardized"
    found = float(regret_floor(n, d, sigma=sigma, theta_norm=length, contexts=contexts))
    nothing = length**2 / (d if unit else 1)
    least = nothing / (1 + n / d * nothing / sigma**2)
    assert least * (1 - 1e-9) <= found <= nothing * (1 + 1e-9)


def posterior_regret(X, x, theta, noise, sigma, penalty):
    """Squared regret of ridge at x, for many draws of the coefficients and the noise."""
    y = X @ theta + sigma * noise
    coef = np.linalg.solve(X.T @ X + penalty * np.eye(X.shape[1]), X.T @ y)
    return (x @ (coef - theta)) ** 2


def test_no_penalty_is_below_the_floor_and_the_oracle_attains_it():
    """Coefficients from the prior; the mean over contexts, coefficients and noise."""
    rng = np.random.default_rng(3)
    n, d, sigma = 12, 8, 1.5
    oracle = oracle_penalty(d, sigma=sigma)
    regrets, floors = {factor: [] for factor in (0.1, 0.5, 1.0, 2.0, 10.0)}, []
    for _ in range(400):
        X, x = rng.standard_normal((n, d)), rng.standard_normal(d)
        theta = rng.standard_normal((d, 200)) / math.sqrt(d)
        noise = rng.standard_normal((n, 200))
        floors.append(window_regret_floor(X, sigma=sigma))
        for factor, found in regrets.items():
            found.append(posterior_regret(X, x, theta, noise, sigma, factor * oracle).mean())
    floor = np.mean(floors)
    means = {factor: np.mean(found) for factor, found in regrets.items()}
    error = np.std(regrets[1.0]) / math.sqrt(400)
    assert means[1.0] == pytest.approx(floor, abs=4 * error)
    assert min(means, key=means.get) == 1.0
    assert all(mean > floor - 4 * error for mean in means.values())


def test_least_squares_attains_the_floor_for_long_coefficients():
    """As rho grows the floor tends to sigma^2 E tr Phi^-1, the risk of least squares."""
    X = np.random.default_rng(4).standard_normal((30, 5))
    risk = 2.0**2 * np.trace(np.linalg.inv(X.T @ X))
    assert window_regret_floor(X, sigma=2.0, theta_norm=1e6) == pytest.approx(risk, rel=1e-9)


def test_the_floor_of_a_growing_window_is_logarithmic_in_the_horizon():
    d, sigma, k = 100, 2.0, 3
    rows = 20 + (k - 1) * np.arange(400_000)
    total = np.cumsum(regret_floor(rows, d, sigma=sigma))
    growth = (total[-1] - total[99_999]) / math.log(4)
    assert growth == pytest.approx(d * sigma**2 / (k - 1), rel=0.01)


def test_invalid_arguments_are_refused():
    with pytest.raises(InvalidValue, match="'n' is -1"):
        regret_floor(-1, 3, sigma=1.0)
    with pytest.raises(InvalidValue, match="'contexts' is 'whitened'"):
        regret_floor(1, 3, sigma=1.0, contexts="whitened")
    with pytest.raises(InvalidValue, match="'sigma' is 0"):
        oracle_penalty(3, sigma=0.0)


def circle_floor(X, sigma, rng, draws=4000):
    """The Bayes risk for coefficients on the unit circle, by a grid of 2,000 angles."""
    angles = np.linspace(0, 2 * np.pi, 2000, endpoint=False)
    points = np.column_stack([np.cos(angles), np.sin(angles)])
    fitted, losses = points @ X.T, []
    for _ in range(draws):
        theta = points[rng.integers(2000)]
        y = X @ theta + sigma * rng.standard_normal(len(X))
        log_density = -((y - fitted) ** 2).sum(axis=1) / (2 * sigma**2)
        weights = np.exp(log_density - log_density.max())
        losses.append(((weights @ points / weights.sum() - theta) ** 2).sum())
    return np.mean(losses), np.std(losses) / np.sqrt(draws)


@pytest.mark.parametrize(("n", "sigma"), [(1, 1.0), (3, 0.5), (10, 1.0), (40, 1.0)])
def test_the_sphere_at_d_2_equals_a_grid_of_angles(n, sigma):
    """E27."""
    rng = np.random.default_rng([n, 7])
    X = rng.standard_normal((n, 2))
    expected, error = circle_floor(X, sigma, rng)
    found = sphere_regret_floor(X, sigma=sigma, draws=4000)
    assert abs(found.value - expected) <= 3.5 * np.hypot(error, found.error)


def test_the_floor_of_the_sphere_is_below_the_floor_of_the_gaussian_prior():
    """E27: half of it for many rows at d = 2, close to it at d = 100."""
    rng = np.random.default_rng(8)
    ratios = []
    for d, n in ((2, 200), (20, 40), (100, 80)):
        X = rng.standard_normal((n, d))
        found = sphere_regret_floor(X, sigma=1.0, draws=400)
        ratios.append(found.value / window_regret_floor(X, sigma=1.0))
    assert ratios[0] == pytest.approx(0.5, abs=0.05)
    assert 0.9 < ratios[1] < 1.01
    assert 0.98 < ratios[2] < 1.01


def test_a_nonlinear_rule_is_below_the_gaussian_floor_on_the_sphere():
    """E27: the penalty that solves ||theta_lam||^2 + sigma^2 tr Phi_lam^-1 = 1, at d = 5."""
    rng = np.random.default_rng(9)
    gains = []
    for _ in range(4000):
        X, theta = rng.standard_normal((20, 5)), rng.standard_normal(5)
        theta /= np.linalg.norm(theta)
        values, basis = np.linalg.eigh(X.T @ X)
        moment = basis.T @ (X.T @ (X @ theta + rng.standard_normal(20)))
        grid = np.logspace(-3, 4, 400)[:, None] + values
        length = ((moment / grid) ** 2 + 1 / grid).sum(axis=1)
        at = grid[np.argmin(np.abs(length - 1))]
        fixed = values + 5.0
        truth = basis.T @ theta
        gains.append(((moment / at - truth) ** 2).sum() - ((moment / fixed - truth) ** 2).sum())
    assert np.mean(gains) < -3 * np.std(gains) / np.sqrt(4000)

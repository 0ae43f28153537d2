"""``rows_needed`` against simulations that share no formula with it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from efface.theory import noise_and_signal, regret_floor, ridge_error, rows_needed, steps_needed


def losses(n, d, sigma, penalty, draws, rng, *, intercept=False, rho=1.0):
    """The squared regret of one prediction, over fresh windows, coefficients and new rows."""
    found = []
    for _ in range(draws):
        X, x, theta = rng.standard_normal((n, d)), rng.standard_normal(d), rng.standard_normal(d)
        theta *= rho / np.linalg.norm(theta)
        y = X @ theta + sigma * rng.standard_normal(n)
        if intercept:
            solution = np.linalg.lstsq(np.column_stack([X, np.ones(n)]), y, rcond=None)[0]
            predicted = np.append(x, 1.0) @ solution
        elif penalty:
            predicted = x @ np.linalg.solve(X.T @ X + penalty * np.eye(d), X.T @ y)
        else:
            predicted = x @ np.linalg.lstsq(X, y, rcond=None)[0]
        found.append((predicted - x @ theta) ** 2)
    return np.mean(found), np.std(found) / math.sqrt(draws)


OLS = [
    (2, 1.0, 0.2),
    (5, 2.0, 1.0),
    (10, 1.0, 0.1),
    (10, 0.5, 0.05),
    (20, 3.0, 4.0),
    (30, 1.0, 0.5),
]


@pytest.mark.parametrize(("d", "sigma", "error"), OLS)
def test_least_squares_attains_the_error_and_one_row_fewer_does_not(d, sigma, error):
    """Settings 1 to 6; the error at n and at n - 1 brackets the accepted one."""
    n = rows_needed(error, d, sigma=sigma, method="ols")
    mean, spread = losses(n, d, sigma, 0.0, 6000, np.random.default_rng([d, n]))
    assert sigma**2 * d / (n - d - 1) <= error < sigma**2 * d / max(n - d - 2, 1e-9)
    assert abs(mean - sigma**2 * d / (n - d - 1)) <= 3 * spread


@pytest.mark.parametrize(("d", "sigma", "error"), [(3, 1.0, 0.3), (12, 2.0, 1.0)])
def test_least_squares_with_an_intercept(d, sigma, error):
    """Settings 7 and 8."""
    n = rows_needed(error, d, sigma=sigma, method="ols", fit_intercept=True)
    rng = np.random.default_rng([d, n])
    mean, spread = losses(n, d, sigma, 0.0, 8000, rng, intercept=True)
    exact = [sigma**2 * (1 / k + (1 + 1 / k) * d / (k - d - 2)) for k in (n, n - 1)]
    assert exact[0] <= error < exact[1]
    assert abs(mean - exact[0]) <= 3 * spread


RIDGE = [(100, 1.0, 0.1), (100, 1.0, 0.5), (100, 2.0, 0.8), (60, 1.0, 0.3)]


@pytest.mark.parametrize(("d", "sigma", "error"), RIDGE)
def test_the_best_ridge_attains_the_error(d, sigma, error):
    """Settings 9 to 12: within 3 standard errors of the accepted error."""
    n = rows_needed(error, d, sigma=sigma, theta_norm=1.0)
    mean, spread = losses(n, d, sigma, d * sigma**2, 1500, np.random.default_rng([d, n]))
    assert abs(mean - error) <= 3 * spread


@pytest.mark.parametrize("n", [20, 80, 100, 300])
@pytest.mark.parametrize("penalty", [5.0, 100.0, 2000.0])
def test_the_error_of_any_penalty_equals_a_simulation(n, penalty):
    rng = np.random.default_rng([n, int(penalty)])
    mean, spread = losses(n, 100, 1.5, penalty, 1500, rng)
    assert abs(mean - ridge_error(n, 100, penalty=penalty, sigma=1.5)) <= 3.5 * spread + 0.01 * mean


def test_the_floor_is_inverted():
    for n in (10, 60, 100, 400, 5000):
        for sigma in (0.3, 1.0, 4.0):
            error = float(regret_floor(n, 100, sigma=sigma))
            assert abs(rows_needed(error, 100, sigma=sigma, theta_norm=1.0) - n) <= 1


def test_the_example_of_the_page():
    assert rows_needed(0.1, 100, sigma=1.0, theta_norm=1.0) == 990


def test_an_error_of_the_size_of_the_signal_needs_no_row():
    assert rows_needed(1.0, 100, sigma=1.0, theta_norm=1.0) == 0


def test_least_squares_has_an_infinite_mean_below_d_plus_2_rows():
    """E35: at n = d + 1 the mean over windows does not settle, at d + 2 rows it exists."""
    assert rows_needed(1e9, 10, sigma=1.0, method="ols") == 12
    assert rows_needed(1e9, 10, sigma=1.0, method="ols", fit_intercept=True) == 13
    # d = 1: tr Phi^-1 is 1 / chi2_n; the mean of 1 / chi2_2 is the integral of exp(-u/2) / (2 u)
    cut = [
        np.trapezoid(np.exp(-u / 2) / (2 * u), u)
        for u in (np.logspace(-a, 2, 100_000) for a in (3, 6, 12))
    ]
    assert cut[2] - cut[1] == pytest.approx(3 * math.log(10), rel=0.02)
    assert cut[2] > cut[1] > cut[0] + 1


@pytest.mark.parametrize(("add", "drop", "start"), [(2, 1, 20), (4, 1, 0), (5, 2, 7)])
def test_steps_of_a_growing_memory_equal_a_loop(add, drop, start):
    rows, steps = start, 0
    while rows < 990:
        rows, steps = rows + add - drop, steps + 1
    assert steps_needed(990, add=add, drop=drop, start=start) == steps


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: rows_needed(0.0, 3, sigma=1.0), "'error' is 0"),
        (lambda: rows_needed(1.0, 0, sigma=1.0), "'d' is 0"),
        (lambda: rows_needed(1.0, 3, sigma=1.0, method="lasso"), "'method' is 'lasso'"),
        (lambda: rows_needed(1.0, 3, sigma=1.0, fit_intercept=True), "'fit_intercept' is True"),
        (lambda: steps_needed(10, add=1), "'add' is 1"),
        (lambda: ridge_error(10, 3, penalty=0.0, sigma=1.0), "'penalty' is 0"),
    ],
)
def test_bad_values_are_refused(call, text):
    with pytest.raises(ValueError, match=text):
        call()


def test_noise_and_signal_are_those_of_the_rows_in_any_units():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(5000, 4)) * [1e-6, 1.0, 1e6, 1.0]
    y = 7 + X @ [3e6, 0.0, 4e-6, 0.0] + 2.0 * rng.normal(size=5000)
    found = noise_and_signal(np.column_stack([X, X[:, 1]]), y)  # a copy adds no rank
    assert found.features == 4
    assert found.noise == pytest.approx(2.0, rel=0.05)
    assert found.signal == pytest.approx(5.0, rel=0.05)


def test_too_few_rows_tell_no_noise():
    assert noise_and_signal(np.eye(3), np.ones(3)) is None

"""The radii against evaluations in 50 digits, their limits and their simulated coverage."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from twins import theory as naive

from efface.theory.quantities import adaptive_penalty, gram_norm, wpssr, wpssr_limit
from efface.theory.radii import (
    euclidean_radius,
    gaussian_radius,
    paper_ols_radius,
    paper_ridge_radius,
    self_normalized_radius,
    signal_constants,
)

THETA = np.array([0.3, -1.2, 0.7, 0.1])
REPLICATES = 2000


def window(n, d, seed=0):
    return np.random.default_rng([seed, n, d]).standard_normal((n, d))


def lowest_share(level, replicates=REPLICATES):
    """Four standard errors below the nominal level."""
    return level - 4 * math.sqrt(level * (1 - level) / replicates)


class TestFormulas:
    X = window(12, 4)

    @pytest.mark.parametrize("delta", [0.05, 1e-9])
    def test_lemma_1(self, delta):
        direct = float(naive.ols_radius(self.X, 1.7, delta))
        assert paper_ols_radius(self.X, sigma=1.7, delta=delta) == pytest.approx(direct, rel=1e-10)
        assert euclidean_radius(self.X, sigma=1.7, delta=delta) == pytest.approx(direct, rel=1e-10)

    @pytest.mark.parametrize("penalty", [0.2, 40.0])
    def test_euclidean_ball_of_ridge(self, penalty):
        radius = euclidean_radius(self.X, sigma=1.7, penalty=penalty, theta_norm=2.5)
        direct = naive.euclidean_radius(self.X, 1.7, 0.05, penalty, 2.5)
        assert radius == pytest.approx(float(direct), rel=1e-12)

    @pytest.mark.parametrize("penalty", [0.0, 0.2, 40.0])
    def test_lemma_4(self, penalty):
        radius = paper_ridge_radius(self.X, penalty=penalty, sigma=1.7, theta=THETA)
        direct = naive.ridge_radius(self.X, penalty, 1.7, THETA, 0.05)
        assert radius == pytest.approx(float(direct), rel=1e-10)

    def test_kappa_and_nu(self):
        kappa, nu = signal_constants(THETA, delta=0.1)
        assert kappa**2 == pytest.approx(math.log(180) ** 2 / math.log(80), rel=1e-14)
        assert nu == pytest.approx(12)

    @pytest.mark.parametrize(("n", "penalty"), [(12, 1.0), (2, 1e-6), (12, 1e5)])
    def test_self_normalized(self, n, penalty):
        X = window(n, 4)
        radius = self_normalized_radius(X, penalty=penalty, sigma=1.7, theta_norm=0.9)
        direct = naive.self_normalized_radius(X, penalty, 1.7, 0.9, 0.05)
        assert radius == pytest.approx(float(direct), rel=1e-12)

    @pytest.mark.parametrize("delta", [0.05, 0.5, 1e-10])
    def test_chi_square_quantile(self, delta):
        radius = gaussian_radius(self.X, sigma=1.7, delta=delta)
        tail = 1 - naive.chi_square_cdf((radius / 1.7) ** 2, 4)
        assert float(tail) == pytest.approx(delta, rel=1e-5)

    @pytest.mark.parametrize("delta", [0.05, 0.5, 1e-10])
    def test_f_quantile(self, delta):
        y = window(12, 1, seed=3)[:, 0]
        residual = y - self.X @ naive.ridge_fit(self.X, y)
        variance = residual @ residual / (12 - 4)
        radius = gaussian_radius(self.X, y=y, delta=delta)
        with mp.workdps(30):
            tail = 1 - naive.f_cdf(mp.mpf(radius) ** 2 / (4 * variance), 4, 8)
        assert float(tail) == pytest.approx(delta, rel=1e-5)

    def test_a_rank_deficient_window_uses_its_rank(self):
        X = np.hstack([self.X, self.X[:, :1] - self.X[:, 1:2]])
        y = window(12, 1, seed=3)[:, 0]
        assert gaussian_radius(X, sigma=1.0) == pytest.approx(gaussian_radius(self.X, sigma=1.0))
        assert gaussian_radius(X, y=y) == pytest.approx(gaussian_radius(self.X, y=y))


class TestLimits:
    def test_one_column_is_the_normal_quantile(self):
        assert gaussian_radius(np.ones((5, 1)), sigma=1.0, delta=0.05) == pytest.approx(1.959963985)

    def test_f_approaches_chi_square_for_many_rows(self):
        X, noise = window(40000, 3), window(40000, 1, seed=1)[:, 0]
        known, estimated = gaussian_radius(X, sigma=1.0), gaussian_radius(X, y=noise)
        assert estimated == pytest.approx(known, rel=0.02)

    def test_no_degrees_of_freedom_give_an_infinite_radius(self):
        X = window(4, 4)
        assert gaussian_radius(X, y=np.ones(4)) == math.inf
        assert math.isfinite(gaussian_radius(X, sigma=1.0))

    def test_a_singular_window_without_a_penalty_gives_infinite_radii(self):
        X = window(3, 5)
        assert paper_ols_radius(X, sigma=1.0) == math.inf
        assert euclidean_radius(X, sigma=1.0) == math.inf
        assert math.isfinite(euclidean_radius(X, sigma=1.0, penalty=1.0, theta_norm=1.0))

    def test_a_zero_window_gives_a_gaussian_radius_of_0(self):
        X = np.zeros((4, 2))
        assert gaussian_radius(X, sigma=1.0) == 0
        assert gaussian_radius(X, y=np.ones(4)) == 0
        assert paper_ols_radius(X, sigma=1.0) == math.inf

    def test_a_large_penalty_leaves_only_the_bias(self):
        radius = self_normalized_radius(
            window(9, 3), penalty=1e14, sigma=2.0, theta_norm=0.0, delta=0.05
        )
        assert radius == pytest.approx(2 * math.sqrt(2 * math.log(20)), rel=1e-10)
        ball = euclidean_radius(window(9, 3), sigma=1.0, penalty=1e14, theta_norm=0.7)
        assert ball == pytest.approx(0.7, rel=1e-10)

    def test_a_small_penalty_gives_the_radius_of_least_squares(self):
        X = window(9, 3)
        ball = euclidean_radius(X, sigma=1.0, penalty=1e-13, theta_norm=1.0)
        assert ball == pytest.approx(paper_ols_radius(X, sigma=1.0), rel=1e-9)

    def test_gaussian_radius_with_a_penalty_adds_the_largest_bias(self):
        X = window(9, 3)
        plain = gaussian_radius(X, sigma=1.0)
        assert gaussian_radius(X, sigma=1.0, penalty=4.0) == plain
        assert gaussian_radius(X, sigma=1.0, penalty=4.0, theta_norm=3.0) == pytest.approx(
            plain + 6
        )


class TestThePapersFailures:
    def test_lemma_1_depends_on_the_units_of_the_contexts(self):
        """E4: the Phi norm of the error does not, so no constant can correct the statement."""
        X, noise = window(50, 2), window(50, 1, seed=1)[:, 0]
        errors = [gram_norm(c * X, naive.ridge_fit(c * X, noise)) for c in (1, 100)]
        radii = [paper_ols_radius(c * X, sigma=1.0) for c in (1, 100)]
        assert errors[1] == pytest.approx(errors[0], rel=1e-9)
        assert radii[1] == pytest.approx(radii[0] / 100, rel=1e-9)

    @pytest.mark.parametrize(("d", "copies"), [(2, 25), (10, 10), (50, 4)])
    def test_lemma_4_is_smaller_than_the_bias_alone(self, d, copies):
        """Equal coefficients, orthogonal contexts, no noise, Assumption 1 satisfied."""
        X = np.tile(np.eye(d) * math.sqrt(d), (copies, 1))
        theta = np.full(d, 1 / math.sqrt(d))
        penalty = adaptive_penalty(len(X), d, 1.0, math.sqrt(d), theta_max=theta.max())
        bias = np.linalg.norm(naive.ridge_fit(X, X @ theta, penalty) - theta)
        radius = paper_ridge_radius(X, penalty=penalty, sigma=1.0, theta=theta)
        assert wpssr(theta) <= wpssr_limit(len(X), d, d, 0.05)
        assert bias / radius == pytest.approx(2 * math.log(40 * d) / math.log(120 * d), rel=1e-9)
        assert bias > radius
        assert bias <= euclidean_radius(X, sigma=1.0, penalty=penalty, theta_norm=1.0)


class TestCoverage:
    """Direct simulation, one window at a time, through the public functions."""

    def share(self, draw, covers, replicates=REPLICATES):
        rng = np.random.default_rng(7)
        return sum(covers(*draw(rng)) for _ in range(replicates)) / replicates

    def gaussian_draw(self, rng):
        X = rng.standard_normal((8, 3))
        return X, X @ np.array([1.0, -2.0, 0.5]) + 0.5 * rng.standard_normal(8)

    def error(self, X, y, penalty=0.0):
        return naive.ridge_fit(X, y, penalty) - np.array([1.0, -2.0, 0.5])

    @pytest.mark.parametrize("delta", [0.05, 0.3])
    def test_gaussian_radii_cover_with_exactly_the_nominal_probability(self, delta):
        tolerance = 4 * math.sqrt(delta * (1 - delta) / REPLICATES)
        known = self.share(
            self.gaussian_draw,
            lambda X, y: (
                gram_norm(X, self.error(X, y)) <= gaussian_radius(X, sigma=0.5, delta=delta)
            ),
        )
        unknown = self.share(
            self.gaussian_draw,
            lambda X, y: gram_norm(X, self.error(X, y)) <= gaussian_radius(X, y=y, delta=delta),
        )
        assert known == pytest.approx(1 - delta, abs=tolerance)
        assert unknown == pytest.approx(1 - delta, abs=tolerance)

    def test_ridge_radius_without_the_bias_covers_the_mean_and_not_theta(self):
        theta, penalty = np.array([1.0, -2.0, 0.5]), 30.0

        def about_the_mean(X, y):
            mean = naive.ridge_fit(X, X @ theta, penalty)
            error = naive.ridge_fit(X, y, penalty) - mean
            radius = gaussian_radius(X, y=y, penalty=penalty)
            return gram_norm(X, error, penalty=penalty) <= radius

        def about_theta(X, y, theta_norm=None):
            error = self.error(X, y, penalty)
            radius = gaussian_radius(X, y=y, penalty=penalty, theta_norm=theta_norm)
            return gram_norm(X, error, penalty=penalty) <= radius

        length = float(np.linalg.norm(theta))
        low = lowest_share(0.95)
        assert self.share(self.gaussian_draw, about_the_mean) >= low
        assert self.share(self.gaussian_draw, about_theta) < 0.5
        assert self.share(self.gaussian_draw, lambda X, y: about_theta(X, y, length)) >= low

    def test_euclidean_ball_in_one_dimension_is_two_sided_hoeffding(self):
        """Contexts of 1: the error is N(0, 1/n) and the ball is sqrt(2 log(2/delta) / n)."""
        X = np.ones((4, 1))
        radius = euclidean_radius(X, sigma=1.0, delta=0.4)
        rng = np.random.default_rng(3)
        share = np.mean(np.abs(rng.standard_normal((200000, 4)).mean(axis=1)) <= radius)
        exact = math.erf(radius * math.sqrt(4) / math.sqrt(2))
        assert share == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 200000))
        assert share >= 0.6

    def test_subgaussian_radii_cover_for_noise_that_is_not_gaussian(self):
        """Random signs are 1-subgaussian; all contexts have one direction, the hardest case."""

        def draw(rng):
            X = np.sign(rng.standard_normal((6, 1)))
            return X, np.sign(rng.standard_normal(6))

        ball = self.share(
            draw, lambda X, y: abs(naive.ridge_fit(X, y)[0]) <= euclidean_radius(X, sigma=1.0)
        )
        ellipsoid = self.share(
            draw,
            lambda X, y: (
                gram_norm(X, naive.ridge_fit(X, y, 0.1), penalty=0.1)
                <= self_normalized_radius(X, penalty=0.1, sigma=1.0, theta_norm=0.0)
            ),
        )
        assert ball >= lowest_share(0.95)
        assert ellipsoid >= lowest_share(0.95)

    def test_self_normalized_radius_covers_when_contexts_depend_on_the_past(self):
        """Each context depends on the sign of the running sum, so it depends on the noise."""

        def draw(rng):
            noise, rows, total = rng.standard_normal(20), [], 0.0
            for value in noise:
                rows.append(2.0 if total > 0 else 0.1)
                total += rows[-1] * value
            return np.array(rows)[:, np.newaxis], noise

        share = self.share(
            draw,
            lambda X, y: (
                gram_norm(X, naive.ridge_fit(X, y, 1.0), penalty=1.0)
                <= self_normalized_radius(X, penalty=1.0, sigma=1.0, theta_norm=0.0)
            ),
        )
        assert share >= lowest_share(0.95)


X42 = window(4, 2)

REFUSED = [
    (lambda: paper_ols_radius(X42, sigma=0.0), "'sigma' is 0.0"),
    (lambda: paper_ols_radius(X42, sigma=1.0, delta=0.0), "'delta' is 0.0"),
    (lambda: euclidean_radius(X42, sigma=1.0, penalty=1.0), "'theta_norm' is None"),
    (lambda: euclidean_radius(X42, sigma=1.0, penalty=-1.0), "'penalty' is -1.0"),
    (lambda: paper_ridge_radius(X42, penalty=1.0, sigma=1.0, theta=[1.0]), "'theta'"),
    (lambda: paper_ridge_radius(X42, penalty=1.0, sigma=1.0, theta=[-1.0, 0.0]), "'theta'.*flip"),
    (lambda: self_normalized_radius(X42, penalty=0.0, sigma=1.0, theta_norm=1.0), "'penalty' is 0"),
    (lambda: gaussian_radius(X42), "'sigma' is None.*pass y"),
    (lambda: gaussian_radius(X42, y=[1.0]), "'y'"),
    (lambda: gaussian_radius(X42, sigma=1.0, penalty=1.0, theta_norm=-1.0), "'theta_norm' is -1"),
]


@pytest.mark.parametrize(("call", "text"), REFUSED)
def test_bad_input_is_refused_with_subject_value_and_advice(call, text):
    with pytest.raises(ValueError, match=text) as caught:
        call()
    assert "expected" in str(caught.value)


@pytest.mark.parametrize(("d", "n"), [(2, 30), (5, 8), (10, 6)])
def test_the_radii_hold_for_penalties_chosen_after_the_responses(d, n):
    """E25: of 61 penalties the one with the largest error over radius; delta = 0.5."""
    rng = np.random.default_rng([d, n])
    grid, runs, covered = np.logspace(-3, 4, 61), 400, np.zeros(2)
    for _ in range(runs):
        X, theta = rng.standard_normal((n, d)), rng.standard_normal(d)
        y, length = X @ theta + rng.standard_normal(n), float(np.linalg.norm(theta))
        inside = np.ones(2, dtype=bool)
        for lam in grid:
            phi = X.T @ X + lam * np.eye(d)
            error = np.linalg.solve(phi, X.T @ y) - theta
            ball = euclidean_radius(X, sigma=1.0, delta=0.5, penalty=lam, theta_norm=length)
            wide = gaussian_radius(X, sigma=1.0, delta=0.5, penalty=lam, theta_norm=length)
            inside &= np.linalg.norm(error) <= ball, math.sqrt(error @ phi @ error) <= wide
        covered += inside
    assert (covered / runs >= 0.5 - 3 * math.sqrt(0.25 / runs)).all()

"""The cumulative bounds against direct loops; where the paper's bounds fail and valid ones hold."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from twins import theory as naive

from efface.theory.bounds import (
    HALF_LOG_ROOT,
    ols_regret_bound,
    penalty_drift,
    representation_bound,
    ridge_regret_bound,
)
from efface.theory.quantities import adaptive_penalty, cumulative_regret, forgetting_regret_term

THETA = np.array([0.4, -0.8, 1.1])


def stream(rows, d, seed=0, scale=1.0):
    return scale * np.random.default_rng([seed, rows, d]).standard_normal((rows, d))


def unit_norm(rows, d, seed=0):
    X = stream(rows, d, seed)
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def absolute(X, theta, s, penalties, sigma, seed):
    noise = np.random.default_rng([seed, 99]).standard_normal(len(X))
    predicted = naive.replay(X, X @ theta + sigma * noise, s, penalties)
    return cumulative_regret(predicted, X[s:] @ theta, loss="absolute")[-1]


def lemma_3(X, s, theta, sigma=1.0):
    windows = [X[k : k + s] for k in range(len(X) - s + 1)]
    return np.array(
        [
            adaptive_penalty(s, X.shape[1], sigma, np.abs(w).max(), theta_max=np.abs(theta).max())
            for w in windows
        ]
    )


class TestTheorem1:
    def test_equals_the_formula(self):
        X = stream(60, 3)
        bound = ols_regret_bound(X, 12, sigma=1.4, delta=0.1)
        assert bound.bound == pytest.approx(naive.ols_bound(X, 12, 1.4, 0.1), rel=1e-10)
        assert bound.zeta == pytest.approx(naive.zeta(X, 12, np.zeros(49)), rel=1e-10)
        assert bound.max_norm == pytest.approx(max(math.hypot(*row) for row in X))
        assert bound.exact_c2_bound == bound.printed_bound == bound.bound

    def test_valid_bound_equals_a_sum_of_balls(self):
        X = stream(40, 3)
        radii = [float(naive.ols_radius(X[k : k + 12], 1.4, 0.1 / 28)) for k in range(28)]
        direct = math.fsum(math.hypot(*x) * r for x, r in zip(X[12:], radii, strict=True))
        assert ols_regret_bound(X, 12, sigma=1.4, delta=0.1).valid_bound == pytest.approx(direct)

    def test_bound_grows_linearly_with_the_horizon(self):
        X = np.tile(np.eye(2), (2000, 1))
        short, long = ols_regret_bound(X[:1002], 2, sigma=1.0), ols_regret_bound(X, 2, sigma=1.0)
        assert long.bound / short.bound == pytest.approx(3998 / 1000, rel=1e-12)

    def test_is_infinite_for_fewer_rows_than_columns(self):
        """E10."""
        bound = ols_regret_bound(stream(20, 5), 4, sigma=1.0)
        assert (bound.bound, bound.valid_bound) == (math.inf, math.inf)

    def test_bound_is_nan_where_it_takes_the_root_of_a_negative_number(self):
        bound = ols_regret_bound(stream(14, 3, scale=1e-6), 12, sigma=1.0)
        assert math.isnan(bound.bound)
        assert bound.valid_bound > 0

    @pytest.mark.parametrize(("scale", "holds"), [(1.0, True), (100.0, False)])
    def test_fails_for_rescaled_contexts(self, scale, holds):
        """Rescaling divides the bound by the scale; regret and valid bound do not change."""
        X, theta = stream(250, 2), np.array([0.6, 0.8])
        regret = absolute(scale * X, theta / scale, 50, np.zeros(201), 1.0, 0)
        bound = ols_regret_bound(scale * X, 50, sigma=1.0)
        assert regret == pytest.approx(absolute(X, theta, 50, np.zeros(201), 1.0, 0), rel=1e-8)
        assert bool(regret <= bound.bound) is holds
        assert regret <= bound.valid_bound


class TestTheorem2:
    @pytest.mark.parametrize("penalties", ["fixed", "varying"])
    def test_equals_the_formula(self, penalties):
        X = stream(60, 3)
        lam = np.full(49, 2.0) if penalties == "fixed" else 2 + 0.3 * np.sin(np.arange(49.0))
        bound = ridge_regret_bound(X, 12, penalties=lam, sigma=1.4, theta=THETA, delta=0.1)
        direct = naive.ridge_bound(X, 12, lam, 1.4, THETA, 0.1)
        assert bound.bound == pytest.approx(direct, rel=1e-10)
        printed = naive.ridge_bound(X, 12, lam, 1.4, THETA, 0.1, naive.printed_c2)
        assert bound.printed_bound == pytest.approx(printed, rel=1e-10, nan_ok=True)

    def test_valid_bound_equals_a_sum_of_balls(self):
        X, lam, length = stream(40, 3), np.linspace(1, 2, 29), float(np.linalg.norm(THETA))
        bound = ridge_regret_bound(X, 12, penalties=lam, sigma=1.4, theta=THETA, delta=0.1)
        direct = math.fsum(
            math.hypot(*X[k + 12])
            * float(naive.euclidean_radius(X[k : k + 12], 1.4, 0.1 / 28, lam[k], length))
            for k in range(28)
        )
        assert bound.valid_bound == pytest.approx(direct)

    def test_the_bound_is_undefined_at_the_setting_of_the_paper(self):
        """E14: d = 100, s = 20 and Lemma 3's penalty; log|C2| is far larger than T - s."""
        X, theta = stream(300, 100), np.full(100, 0.1)
        lam = lemma_3(X, 20, theta)
        bound = ridge_regret_bound(X, 20, penalties=lam, sigma=1.0, theta=theta)
        drift = penalty_drift(X, 20, penalties=lam)
        assert math.isnan(bound.printed_bound)
        assert drift.derived.smallest < 0
        assert drift.printed.smallest < 0
        assert math.isfinite(bound.exact_c2_bound)

    def test_the_bound_is_proportional_to_nu(self):
        """E20: the order that the paper gives lacks nu."""
        X = stream(60, 3)
        one, two = (
            ridge_regret_bound(X, 12, penalties=2.0, sigma=1.0, theta=[1.0, 1.0, weakest]).bound
            for weakest in (1.0, 0.5)
        )
        assert two / one == pytest.approx(2.0)

    def test_fails_for_large_contexts(self):
        X, theta = stream(300, 10, scale=100.0), np.full(10, 0.1**0.5)
        lam = lemma_3(X, 100, theta)
        bound = ridge_regret_bound(X, 100, penalties=lam, sigma=1.0, theta=theta)
        regret = absolute(X, theta, 100, lam, 1.0, 0)
        assert regret > bound.bound
        assert regret > bound.exact_c2_bound
        assert regret <= bound.valid_bound

    def test_zero_rows_in_singular_windows_add_0_to_the_valid_bound(self):
        X = np.zeros((6, 2))
        bound = ridge_regret_bound(X, 2, penalties=0.0, sigma=1.0, theta=[1.0, 1.0])
        assert bound.valid_bound == 0


class TestValidRegretBounds:
    def test_hold_with_the_stated_probability(self):
        """delta = 0.5 allows more failures than 0.05, so that an error would show."""
        theta, lam = np.array([0.6, 0.8]), np.full(11, 3.0)
        broken = np.zeros(2)
        for seed in range(300):
            X = stream(20, 2, seed)
            ols = ols_regret_bound(X, 10, sigma=1.0, delta=0.5)
            ridge = ridge_regret_bound(X, 10, penalties=lam, sigma=1.0, theta=theta, delta=0.5)
            broken[0] += absolute(X, theta, 10, np.zeros(11), 1.0, seed) > ols.valid_bound
            broken[1] += absolute(X, theta, 10, lam, 1.0, seed) > ridge.valid_bound
        assert (broken / 300 <= 0.5 + 4 * math.sqrt(0.25 / 300)).all()


class TestPenaltyDrift:
    LAM = 2 + 0.3 * np.sin(np.arange(49.0))

    def test_c2_equals_the_derivation(self):
        X = stream(60, 3)
        drift, factors = penalty_drift(X, 12, penalties=self.LAM), naive.c2(X, 12, self.LAM)
        assert drift.derived.log == pytest.approx(math.log(math.prod(factors)), rel=1e-9)
        assert drift.derived.smallest == pytest.approx(min(factors), rel=1e-9)

    def test_printed_c2_has_s_and_the_eigenvalue_over_s(self):
        """E14: a product of factors of either sign."""
        X = stream(60, 3)
        drift, factors = penalty_drift(X, 12, penalties=self.LAM), naive.printed_c2(X, 12, self.LAM)
        product = math.prod(factors)
        assert drift.printed.sign == math.copysign(1, product)
        assert drift.printed.log_abs == pytest.approx(math.log(abs(product)), rel=1e-9)
        assert drift.printed.smallest == pytest.approx(min(factors), rel=1e-9)

    def test_an_even_number_of_negative_factors_leaves_c2_positive(self):
        X, lam = stream(60, 3), np.full(49, 90.0)
        lam[20], lam[40] = 1.0, 1.0
        drift, factors = penalty_drift(X, 12, penalties=lam), naive.c2(X, 12, lam)
        assert sum(factor < 0 for factor in factors) == 2
        assert drift.derived.sign == 1
        assert drift.derived.log == pytest.approx(math.log(math.prod(factors)), rel=1e-9)

    def test_exact_drift_makes_the_determinant_identity_exact(self):
        """log det changes by the sum of log(1 + ||x_t||^2), log(1 - h_t) and the drift."""
        X, s = stream(20, 3), 6
        lam = self.LAM[:15]
        with mp.workdps(40):
            moved = naive.log_det(X[14:], lam[14]) - naive.log_det(X[:6], lam[0])
            for t in range(s, 20):
                before = X[t - s : t]
                joined = X[t - s : t + 1]
                arrived = naive.inner(before, X[t], X[t], lam[t - s])
                leverage = naive.inner(joined, X[t - s], X[t - s], lam[t - s])
                moved -= mp.log(1 + arrived) + mp.log(1 - leverage)
        assert penalty_drift(X, s, penalties=lam).exact == pytest.approx(float(moved), abs=1e-12)

    def test_constant_penalty_does_not_drift(self):
        drift = penalty_drift(stream(60, 3), 12, penalties=5.0)
        assert drift.derived == drift.printed
        assert (drift.derived.log, drift.derived.smallest, drift.exact) == (0.0, 1.0, 0.0)

    def test_log_c2_is_exact_for_one_column(self):
        """With one column the trace in the derivation is exact."""
        X, lam = stream(30, 1), np.linspace(4, 9, 21)
        drift = penalty_drift(X, 10, penalties=lam)
        assert drift.derived.log == pytest.approx(drift.exact, rel=1e-12)

    def test_inequality_is_certain_for_a_falling_penalty_only(self):
        """The paper needs C2 below the exact ratio; with a rising penalty it can be above."""
        X = stream(60, 3)
        rising = penalty_drift(X, 12, penalties=np.linspace(1, 2, 49))
        falling = penalty_drift(X, 12, penalties=np.linspace(2, 1, 49))
        assert rising.derived.log > rising.exact
        assert falling.derived.log < falling.exact

    def test_falling_penalty_can_make_a_factor_negative(self):
        X = stream(60, 3)
        drift = penalty_drift(X, 12, penalties=np.append(np.full(48, 90.0), 5.0))
        assert drift.derived.smallest < 0
        assert drift.derived.sign == -1
        assert math.isnan(drift.derived.log)
        assert math.isfinite(drift.exact)


class TestLemma2:
    @pytest.mark.parametrize("varying", [False, True])
    def test_equals_direct_sums(self, varying):
        X = stream(60, 3)
        lam = 2 + 0.3 * np.sin(np.arange(49.0)) if varying else np.zeros(49)
        result = representation_bound(X, 12, penalties=lam)
        total, frt, gain = naive.representation(X, 12, lam)
        eta = float(naive.log_det(X[48:], lam[-1])) - math.log(math.prod(naive.c2(X, 12, lam)))
        first = float(naive.log_det(X[:12], lam[0]))
        assert result.representation == pytest.approx(total, rel=1e-9)
        assert result.frt == pytest.approx(frt, rel=1e-9)
        assert result.eta == pytest.approx(eta, rel=1e-9)
        assert result.bound == pytest.approx(2 * eta + frt, rel=1e-9)
        assert result.telescoped == pytest.approx(2 * (eta - first) + frt, rel=1e-9)
        largest = max(
            float(naive.inner(X[t - 12 : t], X[t], X[t], lam[t - 12])) for t in range(12, 60)
        )
        assert result.valid_bound == pytest.approx(largest / math.log1p(largest) * gain, rel=1e-9)

    def test_frt_is_the_sum_of_the_terms(self):
        X = stream(30, 3)
        steps = range(8, 30)
        terms = [forgetting_regret_term(X[t - 8 : t], X[t - 8], X[t]).total for t in steps]
        assert representation_bound(X, 8).frt == pytest.approx(math.fsum(terms))

    def test_the_inequality_of_the_proof_is_true_only_up_to_its_root(self):
        """log(1 + z) >= z / 2 from 0 to HALF_LOG_ROOT, and nowhere else above -1."""
        z = np.linspace(-0.999, 6, 100001)
        true = np.log1p(z) >= z / 2
        assert (true == ((z >= 0) & (z <= HALF_LOG_ROOT))).all()
        assert mp.log(1 + HALF_LOG_ROOT) == pytest.approx(HALF_LOG_ROOT / 2, rel=1e-15)

    @pytest.mark.parametrize(("d", "s", "rows"), [(10, 12, 300), (10, 20, 300), (100, 150, 300)])
    def test_fails_for_windows_of_few_rows(self, d, s, rows):
        """E6: the settings at which it fails, with unit-norm contexts."""
        result = representation_bound(unit_norm(rows, d), s)
        assert not result.holds
        assert result.representation <= result.valid_bound

    @pytest.mark.parametrize(("d", "s", "rows"), [(10, 50, 1000), (100, 500, 600)])
    def test_holds_over_a_short_horizon(self, d, s, rows):
        """E6: the settings at which it holds, although half of the steps violate its proof."""
        result = representation_bound(unit_norm(rows, d), s)
        assert result.holds
        assert result.outside > 0.4 * result.steps
        assert result.representation <= result.valid_bound

    def test_fails_over_a_long_horizon(self):
        """The sum of z_t grows with T, eta does not."""
        X = stream(15000, 10)
        short, long = representation_bound(X[:3000], 50), representation_bound(X, 50)
        assert short.holds
        assert not long.holds
        assert long.representation <= long.valid_bound

    def test_fails_for_small_contexts(self):
        """Rescaling changes eta but neither sum: the proof omits the first determinant."""
        X = stream(300, 10)
        plain, small = representation_bound(X, 50), representation_bound(X / 100, 50)
        assert small.representation == pytest.approx(plain.representation, rel=1e-9)
        assert small.valid_bound == pytest.approx(plain.valid_bound, rel=1e-9)
        assert plain.holds
        assert not small.holds

    def test_bounds_of_singular_windows_are_infinite(self):
        result = representation_bound(stream(12, 5), 4)
        assert (result.eta, result.valid_bound) == (-math.inf, math.inf)
        assert math.isnan(result.telescoped)
        assert not result.holds

    def test_zero_contexts_give_a_representation_of_0(self):
        result = representation_bound(np.zeros((6, 2)), 3, penalties=1.0)
        assert (result.representation, result.valid_bound, result.frt) == (0, 0, 0)

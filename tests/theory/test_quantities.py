"""The paper's quantities against independent evaluations, their limits and the paper's values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from twins import theory as naive

from efface.theory.quantities import (
    AdaptiveConstants,
    absolute_regret,
    adaptive_constants,
    adaptive_penalty,
    corrected_wpssr_limit,
    cumulative_regret,
    forgetting_regret_term,
    gram_norm,
    l2_error,
    rank_swing,
    squared_regret,
    tail_parts,
    wpssr,
    wpssr_limit,
    zeta,
)

SHAPES = [(3, 2), (5, 5), (12, 10), (60, 4)]


def window(n, d, seed=0):
    return np.random.default_rng([seed, n, d]).standard_normal((n, d))


def ill_conditioned(seed=0):
    """A window whose Gram matrix has the condition number 1e12."""
    left, _ = np.linalg.qr(window(8, 8, seed))
    right, _ = np.linalg.qr(window(4, 4, seed + 1))
    return left[:, :4] * np.array([1e3, 1.0, 1e-1, 1e-3]) @ right


def test_gram_norm_equals_the_quadratic_form():
    X, v = window(7, 3), window(1, 3, seed=5)[0]
    phi = X.T @ X + 1.5 * np.eye(3)
    assert gram_norm(X, v, penalty=1.5) == pytest.approx(math.sqrt(v @ phi @ v), rel=1e-14)


class TestAdaptivePenalty:
    @pytest.mark.parametrize(
        ("n", "d", "y_sd", "x_max", "delta", "theta_max"),
        [(20, 100, 1.3, 3.2, 0.05, 1.0), (1, 1, 0.1, 9.0, 0.5, 0.01), (5000, 7, 2, 1, 1e-9, 30)],
    )
    def test_equals_the_formula(self, n, d, y_sd, x_max, delta, theta_max):
        value = adaptive_penalty(n, d, y_sd, x_max, delta=delta, theta_max=theta_max)
        direct = naive.adaptive_penalty(n, d, y_sd, x_max, delta, theta_max)
        assert value == pytest.approx(float(direct), rel=1e-14)

    def test_scales_with_each_argument(self):
        base = adaptive_penalty(20, 5, 1.0, 2.0)
        assert adaptive_penalty(0, 5, 1.0, 2.0) == 0
        assert adaptive_penalty(20, 5, 0.0, 2.0) == 0
        assert adaptive_penalty(80, 5, 1.0, 2.0) == pytest.approx(2 * base)
        assert adaptive_penalty(20, 5, 3.0, 2.0, theta_max=3.0) == pytest.approx(base)

    def test_standardized_contexts_give_the_penalties_of_the_papers_figures(self):
        """E3: about 90 to 200 for d = 100, s = 20..80 and sigma = 1."""
        for s, low, high in [(20, 60, 130), (80, 130, 260)]:
            X = window(s, 100)
            y = X @ np.full(100, 0.1) + window(s, 1)[:, 0]
            assert low < adaptive_penalty(s, 100, y.std(ddof=1), np.abs(X).max()) < high


class TestAdaptiveConstants:
    @pytest.mark.parametrize("shape", SHAPES)
    @pytest.mark.parametrize("penalty", [0.0, 1e-6, 7.0])
    def test_equal_an_evaluation_in_50_digits(self, shape, penalty):
        X = window(*shape)
        constants = adaptive_constants(X, penalty=penalty)
        smallest = naive.smallest_eigenvalue(X, penalty)
        assert constants.phi2 == pytest.approx(float(smallest / len(X)), rel=1e-10)
        assert constants.q == pytest.approx(float(naive.q(X, penalty)), rel=1e-10)
        assert constants.x_max == naive.x_max(X)

    def test_are_accurate_where_the_gram_matrix_loses_digits(self):
        X = ill_conditioned()
        exact = float(naive.smallest_eigenvalue(X) / len(X))
        dense = float(np.linalg.eigvalsh(X.T @ X)[0] / len(X))
        assert adaptive_constants(X).phi2 == pytest.approx(exact, rel=1e-8)
        assert abs(dense / exact - 1) > 1e-7  # the error from forming X'X

    def test_q_is_infinite_for_a_singular_window(self):
        X = np.ones((4, 2))
        assert adaptive_constants(X) == AdaptiveConstants(0.0, math.inf, 1.0)
        assert adaptive_constants(X, penalty=2.0).phi2 == pytest.approx(0.5)
        assert adaptive_constants(window(3, 5)).q == math.inf

    @pytest.mark.parametrize("penalties", [0.0, "varying"])
    def test_zeta_is_the_largest_q_of_the_replay(self, penalties):
        X = window(30, 3)
        lam = np.zeros(21) if penalties == 0.0 else np.linspace(3, 1, 21)
        value = zeta(X, 10, penalties=0.0 if penalties == 0.0 else lam)
        assert value == pytest.approx(naive.zeta(X, 10, lam), rel=1e-10)

    def test_zeta_ignores_the_last_window_which_predicts_nothing(self):
        X = [[1.0], [1.0], [1.0], [1e-3], [1e-3]]
        assert zeta(X, 2) == pytest.approx(2 / (1 + 1e-6))


class TestForgettingRegretTerm:
    @pytest.mark.parametrize("shape", SHAPES[1:])
    @pytest.mark.parametrize("penalty", [0.0, 0.3, 50.0])
    def test_equals_definition_2(self, shape, penalty):
        X, new = window(*shape), window(1, shape[1], seed=9)[0]
        term = forgetting_regret_term(X, X[0], new, penalty=penalty)
        direct = naive.forgetting_regret_term(X, X[0], new, penalty)
        computed = (term.deleted, term.dissimilarity, term.total)
        assert computed == pytest.approx([float(value) for value in direct], rel=1e-9)

    def test_equals_definition_2_for_more_columns_than_rows_with_a_penalty(self):
        X, new = window(4, 9), window(1, 9, seed=9)[0]
        term = forgetting_regret_term(X, X[0], new, penalty=0.7)
        direct = [float(value) for value in naive.forgetting_regret_term(X, X[0], new, 0.7)]
        assert (term.deleted, term.dissimilarity, term.total) == pytest.approx(direct, rel=1e-12)

    def test_uses_the_moore_penrose_inverse_for_a_singular_window(self):
        X, new = window(4, 9), window(1, 9, seed=9)[0]
        term = forgetting_regret_term(X, X[0], new)
        direct = naive.forgetting_regret_term_pinv(X, X[0], new)
        assert (term.deleted, term.dissimilarity, term.total) == pytest.approx(direct, rel=1e-9)
        assert term.deleted == pytest.approx(1)

    def test_almost_parallel_rows_keep_their_digits(self):
        """1 - cos^2 in float64 has no correct digit here; the reference has 50 digits."""
        X = window(12, 3)
        new = 2 * X[0] + 1e-11 * np.array([1.0, -1.0, 0.5])
        direct = float(naive.forgetting_regret_term(X, X[0], new)[1])
        term = forgetting_regret_term(X, X[0], new)
        assert 0 < direct < 1e-20
        assert term.dissimilarity == pytest.approx(direct, rel=1e-3)

    def test_is_0_for_a_zero_row(self):
        """E9: the sine is undefined, the product is not."""
        X = np.vstack([np.zeros(3), window(6, 3)])
        new = window(1, 3, seed=9)[0]
        term = forgetting_regret_term(X, X[0], new)
        assert (term.total, term.deleted) == (0, 0)
        expected = float(naive.inner(X, new, new))
        assert term.dissimilarity == pytest.approx(expected, rel=1e-10)

    def test_approaches_its_limits_for_tiny_and_huge_penalties(self):
        X, new = window(8, 3), window(1, 3, seed=9)[0]
        without = forgetting_regret_term(X, X[0], new)
        tiny = forgetting_regret_term(X, X[0], new, penalty=1e-12)
        huge = forgetting_regret_term(X, X[0], new, penalty=1e12)
        assert tiny.total == pytest.approx(without.total, rel=1e-10)
        assert huge.deleted == pytest.approx(X[0] @ X[0] / 1e12, rel=1e-9)
        assert huge.total < 1e-10

    def test_has_no_upper_limit(self):
        """E5: the paper states [0, 2]; values above 1000 occur at d = 10, s = 12."""
        rng = np.random.default_rng(0)
        streams = rng.standard_normal((3000, 13, 10))
        totals = [forgetting_regret_term(X[:12], X[0], X[12]).total for X in streams]
        assert max(totals) > 1000
        assert np.median(totals) > 2

    @settings(max_examples=60, deadline=None)
    @given(
        st.integers(2, 9), st.integers(1, 6), st.integers(0, 10**6), st.sampled_from([0, 1e-3, 9])
    )
    def test_deleted_is_a_leverage(self, n, d, seed, penalty):
        X, new = window(n, d, seed), window(1, d, seed + 1)[0]
        terms = [forgetting_regret_term(X, row, new, penalty=penalty) for row in X]
        assert all(-1e-12 <= term.deleted <= 1 + 1e-12 for term in terms)
        assert all(term.total >= term.deleted * (1 - 1e-12) for term in terms)
        if penalty == 0:
            assert sum(term.deleted for term in terms) == pytest.approx(min(n, d))


class TestRankSwing:
    @settings(max_examples=150, deadline=None)
    @given(
        st.integers(1, 5).flatmap(
            lambda d: st.lists(
                st.lists(st.integers(-2, 2), min_size=d, max_size=d), min_size=2, max_size=7
            )
        )
    )
    def test_equals_gaussian_elimination_over_the_rationals(self, rows):
        X, new = np.array(rows[:-1], dtype=float), np.array(rows[-1], dtype=float)
        swing = rank_swing(X, X[0], new)
        before, stay = naive.exact_rank(rows[:-1]), naive.exact_rank(rows[1:-1])
        after = naive.exact_rank(rows[1:])
        assert (swing.rank_before, swing.rank_after) == (before, after)
        assert (swing.lost, swing.gained) == (stay < before, after > stay)
        assert swing.change == after - before

    @settings(max_examples=60, deadline=None)
    @given(st.lists(st.integers(-150, 149), min_size=5, max_size=5))
    def test_does_not_depend_on_the_scale_of_a_row(self, powers):
        rows = np.array([[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 2, 0], [0, 0, 1]], dtype=float)
        scaled = rows * 10.0 ** np.array(powers)[:, np.newaxis]
        for arriving in ([0.0, 0.0, 1.0], [1.0, 0.0, 0.0]):
            plain = rank_swing(rows, rows[4], arriving)
            assert rank_swing(scaled, scaled[4], arriving) == plain

    def test_a_row_is_lost_if_its_leverage_is_1(self):
        X = np.array([[1.0, 0, 0], [0, 1, 0], [0, 2, 0]])
        for row, lost in zip(X, [True, False, False], strict=True):
            assert rank_swing(X, row, row).lost is lost
            deleted = forgetting_regret_term(X, row, row).deleted
            assert (deleted == pytest.approx(1)) is lost

    def test_cases_of_definition_1_and_of_the_appendix(self):
        """E8: in the appendix, Case 2 is the one that loses a rank."""
        X = np.eye(3)[:2]
        grow = rank_swing(np.vstack([X, X[0]]), X[0], [0, 0, 1.0])
        keep, shrink = rank_swing(X, X[0], X[0]), rank_swing(X, X[0], X[1])
        assert [swing.change for swing in (grow, keep, shrink)] == [1, 0, -1]
        assert [swing.case for swing in (grow, keep, shrink)] == [2, 3, 4]
        assert [swing.appendix_case for swing in (grow, keep, shrink)] == [4, 3, 2]

    def test_a_single_row_that_leaves_takes_the_rank_to_0(self):
        swing = rank_swing([[1.0, 0.0]], [1.0, 0.0], [0.0, 0.0])
        assert (swing.rank_before, swing.rank_after, swing.change) == (1, 0, -1)


class TestSignalRatio:
    def test_limit_of_the_papers_example(self):
        assert wpssr_limit(100, 110, 30, 0.05) == pytest.approx(1.02, abs=0.005)

    @pytest.mark.parametrize("args", [(100, 110, 30, 0.05), (1, 1, 1, 0.9), (10**6, 50, 3, 1e-12)])
    def test_limit_equals_the_printed_formula(self, args):
        assert wpssr_limit(*args) == pytest.approx(float(naive.wpssr_limit(*args)), rel=1e-14)

    def test_limit_grows_with_rows_and_positives_and_falls_with_columns(self):
        base = wpssr_limit(100, 110, 30, 0.05)
        assert wpssr_limit(101, 110, 30, 0.05) > base
        assert wpssr_limit(100, 110, 31, 0.05) > base
        assert wpssr_limit(100, 111, 30, 0.05) < base

    def test_limit_of_a_long_window(self):
        limit = math.sqrt(math.log(12 * 30 / 0.05) / math.log(2 * 110 / 0.05))
        assert wpssr_limit(10**9, 110, 30, 0.05) == pytest.approx(limit, rel=1e-8)

    def test_ratio_equals_its_definition(self):
        theta = window(1, 20)[0]
        direct = min(t for t in theta if t > 0) / max(abs(t) for t in theta)
        assert wpssr(theta) == pytest.approx(direct, rel=1e-15)
        assert wpssr([3.0, 3.0]) == 1


class TestRegret:
    def test_equals_loops_over_the_predictions(self):
        X, theta, fit = window(40, 3), window(1, 3, 1)[0], window(1, 3, 2)[0]
        predicted, expected = X @ fit, X @ theta
        losses = [abs(float(x @ theta) - float(x @ fit)) for x in X]
        assert absolute_regret(predicted, expected) == pytest.approx(losses)
        assert squared_regret(predicted, expected) == pytest.approx([v**2 for v in losses])
        for loss, power in [("absolute", 1), ("squared", 2)]:
            total = [math.fsum(v**power for v in losses[: i + 1]) for i in range(40)]
            assert cumulative_regret(predicted, expected, loss=loss) == pytest.approx(total)

    def test_squared_is_the_default(self):
        assert cumulative_regret([3.0], [0.0])[0] == 9

    def test_l2_error_equals_the_distance_of_each_row(self):
        fits, theta = window(6, 4), window(1, 4, 1)[0]
        direct = [math.dist(fit, theta) for fit in fits]
        assert l2_error(fits, theta) == pytest.approx(direct)
        assert float(l2_error(fits[2], theta)) == pytest.approx(direct[2])


X23 = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 1.0]])

REFUSED = [
    (lambda: adaptive_penalty(-1, 2, 1.0, 1.0), "'n, d'"),
    (lambda: adaptive_penalty(5, 2, -1.0, 1.0), "'y_sd' is -1.0"),
    (lambda: adaptive_penalty(5, 2, 1.0, math.nan), "'x_max' is nan"),
    (lambda: adaptive_penalty(5, 2, 1.0, 1.0, delta=1.0), "'delta' is 1.0"),
    (lambda: adaptive_penalty(5, 2, 1.0, 1.0, theta_max=0.0), "'theta_max' is 0.0"),
    (lambda: adaptive_constants([1.0, 2.0]), r"'X' .*\(2,\)"),
    (lambda: adaptive_constants(np.empty((0, 2))), r"'X' .*\(0, 2\)"),
    (lambda: adaptive_constants([[1.0, math.inf]]), "'X' at row 0, column 1 is infinity"),
    (lambda: adaptive_constants(X23, penalty=-1.0), "'penalty' is -1.0"),
    (lambda: zeta(X23, 2), "'s' is 2"),
    (lambda: zeta(np.ones((5, 1)), 2, penalties=[1.0, 2.0]), "'penalties'"),
    (lambda: zeta(np.ones((5, 1)), 2, penalties=-1.0), "'penalties'"),
    (lambda: forgetting_regret_term(X23, [9.0, 9.0, 9.0], X23[0]), "'x_old'.*a row of the window"),
    (lambda: forgetting_regret_term(X23, X23[0], [1.0]), r"'x_new' is \(1,\)"),
    (lambda: rank_swing(X23, X23[0], [math.nan, 0.0, 0.0]), r"'x_new\[0\]' is nan"),
    (lambda: wpssr([-1.0, 0.0]), "'theta'.*flip the sign"),
    (lambda: wpssr_limit(10, 3, 4, 0.05), "'n, d, positives'"),
    (lambda: absolute_regret([1.0], [1.0, 2.0]), "'predicted'"),
    (lambda: cumulative_regret([1.0], [1.0], loss="cubed"), "'loss' is 'cubed'"),
]


@pytest.mark.parametrize(("call", "text"), REFUSED)
def test_bad_input_is_refused_with_subject_value_and_advice(call, text):
    with pytest.raises(ValueError, match=text) as caught:
        call()
    assert "expected" in str(caught.value)


def parts_of_appendix_b(X, theta, sigma, delta):
    """Parts I, II and III from their definitions, with a window, sigma and n that must cancel."""
    s, d = X.shape
    positive, negative = theta[theta > 0], theta[theta < 0]
    x_inf, theta_inf = np.abs(X).max(), np.abs(theta).max()
    lam = sigma * x_inf * math.sqrt(2 * s * math.log(2 * d / delta)) / theta_inf
    phi2 = np.linalg.eigvalsh(X.T @ X + lam * np.eye(d))[0] / s
    kappa = math.log(6 * len(positive) / delta) / math.sqrt(math.log(2 * d / delta))
    nu = theta_inf / positive.min()
    chi = sigma * kappa * nu * x_inf / phi2 * math.sqrt(d / (2 * s))  # Lemma 4
    c1, scale = s * chi * phi2 / math.sqrt(d), 2 * s * x_inf**2 * sigma**2
    second = (lam * positive.min()) ** 2 + 2 * lam * positive.min() * c1
    third = 0.0
    if len(negative):
        nearest = negative.max()
        exponent = (lam * nearest) ** 2 - 2 * lam * nearest * c1
        third = len(negative) * math.exp(-exponent / scale)
    first = d * math.exp(-(c1**2) / scale)
    return first, len(positive) * math.exp(-second / scale), third


@pytest.mark.parametrize(("s", "sigma"), [(20, 1.0), (100, 3.0)])
@pytest.mark.parametrize("theta", [[1.0, 0.5, 0.0], [1.0, -0.2, 0.3, -2.0], [2.0, 2.0]])
def test_the_tail_parts_contain_neither_the_window_nor_the_noise(theta, s, sigma):
    """E31."""
    values = np.array(theta)
    X = 7 * np.random.default_rng(s).standard_normal((s, len(theta)))
    parts = tail_parts(values, delta=0.1)
    expected = parts_of_appendix_b(X, values, sigma, 0.1)
    assert (parts.first, parts.second, parts.third) == pytest.approx(expected, rel=1e-9)


def test_assumption_1_at_the_example_of_the_paper():
    """E31: the limit is 0.416, not 1.02; at ratio 1 Part I is 14.9, and Part III can be 73.6."""
    assert corrected_wpssr_limit(110, 30) == pytest.approx(0.416, abs=5e-4)
    equal = tail_parts([1.0] * 30 + [0.0] * 80)
    assert equal.first == pytest.approx(14.9, abs=0.05)
    assert not equal.holds
    assert tail_parts([1.0] * 30 + [-0.01] * 80).third == pytest.approx(73.6, abs=0.1)


@pytest.mark.parametrize(("d", "positives"), [(110, 30), (10, 10), (100, 1)])
def test_the_corrected_limit_solves_its_quadratic(d, positives):
    u = corrected_wpssr_limit(d, positives, 0.05)
    a, b = math.log(2 * d / 0.05), math.log(12 * positives / 0.05)
    assert a * u**2 + 2 * math.sqrt(math.log(6 * d / 0.05) * a) * u == pytest.approx(b)


def test_the_largest_coefficient_of_a_vector_of_length_1_is_far_below_1():
    """E33: the paper sets it to 1; at d = 100 it is 0.275 on average."""
    theta = np.random.default_rng(0).standard_normal((20_000, 100))
    largest = np.abs(theta).max(axis=1) / np.linalg.norm(theta, axis=1)
    assert largest.mean() == pytest.approx(0.275, abs=0.002)

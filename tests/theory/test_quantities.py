"""The paper's quantities against second evaluations, their limits, and the paper's own figures."""

from __future__ import annotations

import math
import re
from inspect import isfunction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from twins import theory as naive

from efface.theory import appendix_d, bounds, coverage
from efface.theory import quantities as theory
from efface.theory import radii as ellipsoids
from efface.theory.quantities import (
    absolute_regret,
    adaptive_constants,
    adaptive_penalty,
    cumulative_regret,
    forgetting_regret_term,
    l2_error,
    rank_swing,
    squared_regret,
    wpssr,
    wpssr_limit,
    zeta,
)

SHAPES = [(3, 2), (5, 5), (12, 10), (60, 4)]


def window(n, d, seed=0):
    return np.random.default_rng([seed, n, d]).standard_normal((n, d))


def graded(seed=0):
    """A window whose Gram matrix has the condition number 1e12."""
    left, _ = np.linalg.qr(window(8, 8, seed))
    right, _ = np.linalg.qr(window(4, 4, seed + 1))
    return left[:, :4] * np.array([1e3, 1.0, 1e-1, 1e-3]) @ right


class TestAdaptivePenalty:
    @pytest.mark.parametrize(
        ("n", "d", "y_sd", "x_max", "delta", "theta_max"),
        [(20, 100, 1.3, 3.2, 0.05, 1.0), (1, 1, 0.1, 9.0, 0.5, 0.01), (5000, 7, 2, 1, 1e-9, 30)],
    )
    def test_equals_the_formula(self, n, d, y_sd, x_max, delta, theta_max):
        value = adaptive_penalty(n, d, y_sd, x_max, delta=delta, theta_max=theta_max)
        direct = naive.adaptive_penalty(n, d, y_sd, x_max, delta, theta_max)
        assert value == pytest.approx(float(direct), rel=1e-14)

    def test_limits(self):
        base = adaptive_penalty(20, 5, 1.0, 2.0)
        assert adaptive_penalty(0, 5, 1.0, 2.0) == 0
        assert adaptive_penalty(20, 5, 0.0, 2.0) == 0
        assert adaptive_penalty(80, 5, 1.0, 2.0) == pytest.approx(2 * base)
        assert adaptive_penalty(20, 5, 3.0, 2.0, theta_max=3.0) == pytest.approx(base)

    def test_standardized_contexts_give_the_sizes_of_the_figures(self):
        """E3: about 90 to 200 for d = 100, s = 20..80 and sigma = 1."""
        for s, low, high in [(20, 60, 130), (80, 130, 260)]:
            X = window(s, 100)
            y = X @ np.full(100, 0.1) + window(s, 1)[:, 0]
            assert low < adaptive_penalty(s, 100, y.std(ddof=1), np.abs(X).max()) < high


class TestAdaptiveConstants:
    @pytest.mark.parametrize("shape", SHAPES)
    @pytest.mark.parametrize("penalty", [0.0, 1e-6, 7.0])
    def test_equal_the_eigenvalue_in_fifty_digits(self, shape, penalty):
        X = window(*shape)
        constants = adaptive_constants(X, penalty=penalty)
        smallest = naive.smallest_eigenvalue(X, penalty)
        assert constants.phi2 == pytest.approx(float(smallest / len(X)), rel=1e-10)
        assert constants.q == pytest.approx(float(naive.q(X, penalty)), rel=1e-10)
        assert constants.x_max == naive.x_max(X)

    def test_survive_a_condition_that_the_gram_matrix_does_not(self):
        X = graded()
        truth = float(naive.smallest_eigenvalue(X) / len(X))
        dense = float(np.linalg.eigvalsh(X.T @ X)[0] / len(X))
        assert adaptive_constants(X).phi2 == pytest.approx(truth, rel=1e-8)
        assert abs(dense / truth - 1) > 1e-7  # what forming X'X would have cost

    def test_singular_window(self):
        X = np.ones((4, 2))
        assert adaptive_constants(X) == theory.AdaptiveConstants(0.0, math.inf, 1.0)
        assert adaptive_constants(X, penalty=2.0).phi2 == pytest.approx(0.5)
        assert adaptive_constants(window(3, 5)).q == math.inf

    @pytest.mark.parametrize("penalties", [0.0, "moving"])
    def test_zeta_is_the_largest_of_the_replay(self, penalties):
        X = window(30, 3)
        lam = np.zeros(21) if penalties == 0.0 else np.linspace(3, 1, 21)
        value = zeta(X, 10, penalties=0.0 if penalties == 0.0 else lam)
        assert value == pytest.approx(naive.zeta(X, 10, lam), rel=1e-10)

    def test_zeta_leaves_out_the_window_that_predicts_nothing(self):
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

    def test_more_columns_than_rows_with_a_penalty(self):
        X, new = window(4, 9), window(1, 9, seed=9)[0]
        term = forgetting_regret_term(X, X[0], new, penalty=0.7)
        direct = [float(value) for value in naive.forgetting_regret_term(X, X[0], new, 0.7)]
        assert (term.deleted, term.dissimilarity, term.total) == pytest.approx(direct, rel=1e-12)

    def test_singular_window_uses_the_generalised_inverse(self):
        X, new = window(4, 9), window(1, 9, seed=9)[0]
        term = forgetting_regret_term(X, X[0], new)
        direct = naive.forgetting_regret_term_pinv(X, X[0], new)
        assert (term.deleted, term.dissimilarity, term.total) == pytest.approx(direct, rel=1e-9)
        assert term.deleted == pytest.approx(1)

    def test_rows_that_are_almost_parallel_do_not_cancel(self):
        """1 - cos^2 in float64 has no correct digit here; the twin has fifty."""
        X = window(12, 3)
        new = 2 * X[0] + 1e-11 * np.array([1.0, -1.0, 0.5])
        direct = float(naive.forgetting_regret_term(X, X[0], new)[1])
        term = forgetting_regret_term(X, X[0], new)
        assert 0 < direct < 1e-20
        assert term.dissimilarity == pytest.approx(direct, rel=1e-3)

    def test_zero_row_costs_nothing(self):
        """E9: the sine is undefined, the product is not."""
        X = np.vstack([np.zeros(3), window(6, 3)])
        new = window(1, 3, seed=9)[0]
        term = forgetting_regret_term(X, X[0], new)
        assert (term.total, term.deleted) == (0, 0)
        expected = float(naive.inner(X, new, new))
        assert term.dissimilarity == pytest.approx(expected, rel=1e-10)

    def test_limits_in_the_penalty(self):
        X, new = window(8, 3), window(1, 3, seed=9)[0]
        without = forgetting_regret_term(X, X[0], new)
        tiny = forgetting_regret_term(X, X[0], new, penalty=1e-12)
        huge = forgetting_regret_term(X, X[0], new, penalty=1e12)
        assert tiny.total == pytest.approx(without.total, rel=1e-10)
        assert huge.deleted == pytest.approx(X[0] @ X[0] / 1e12, rel=1e-9)
        assert huge.total < 1e-10

    def test_has_no_upper_limit(self):
        """E5: the paper says [0, 2]; above 1000 occurs at d = 10, s = 12."""
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
    def test_equals_exact_elimination(self, rows):
        X, new = np.array(rows[:-1], dtype=float), np.array(rows[-1], dtype=float)
        swing = rank_swing(X, X[0], new)
        before, stay = naive.exact_rank(rows[:-1]), naive.exact_rank(rows[1:-1])
        after = naive.exact_rank(rows[1:])
        assert (swing.rank_before, swing.rank_after) == (before, after)
        assert (swing.lost, swing.gained) == (stay < before, after > stay)
        assert swing.change == after - before

    @settings(max_examples=60, deadline=None)
    @given(st.lists(st.integers(-150, 150), min_size=5, max_size=5))
    def test_does_not_depend_on_the_scale_of_a_row(self, powers):
        rows = np.array([[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 2, 0], [0, 0, 1]], dtype=float)
        scaled = rows * 10.0 ** np.array(powers)[:, np.newaxis]
        for arriving in ([0.0, 0.0, 1.0], [1.0, 0.0, 0.0]):
            plain = rank_swing(rows, rows[4], arriving)
            assert rank_swing(scaled, scaled[4], arriving) == plain

    def test_lost_is_leverage_one(self):
        X = np.array([[1.0, 0, 0], [0, 1, 0], [0, 2, 0]])
        for row, lost in zip(X, [True, False, False], strict=True):
            assert rank_swing(X, row, row).lost is lost
            deleted = forgetting_regret_term(X, row, row).deleted
            assert (deleted == pytest.approx(1)) is lost

    def test_cases_of_definition_1_and_of_the_appendix(self):
        """E8: the appendix calls Case 2 the one that loses a rank."""
        X = np.eye(3)[:2]
        grow = rank_swing(np.vstack([X, X[0]]), X[0], [0, 0, 1.0])
        keep, shrink = rank_swing(X, X[0], X[0]), rank_swing(X, X[0], X[1])
        assert [swing.change for swing in (grow, keep, shrink)] == [1, 0, -1]
        assert [swing.case for swing in (grow, keep, shrink)] == [2, 3, 4]
        assert [swing.appendix_case for swing in (grow, keep, shrink)] == [4, 3, 2]

    def test_single_row(self):
        swing = rank_swing([[1.0, 0.0]], [1.0, 0.0], [0.0, 0.0])
        assert (swing.rank_before, swing.rank_after, swing.change) == (1, 0, -1)


class TestSignalRatio:
    def test_the_worked_example(self):
        assert wpssr_limit(100, 110, 30, 0.05) == pytest.approx(1.02, abs=0.005)

    @pytest.mark.parametrize("args", [(100, 110, 30, 0.05), (1, 1, 1, 0.9), (10**6, 50, 3, 1e-12)])
    def test_limit_equals_the_printed_formula(self, args):
        assert wpssr_limit(*args) == pytest.approx(float(naive.wpssr_limit(*args)), rel=1e-14)

    def test_limit_moves_as_the_paper_says(self):
        base = wpssr_limit(100, 110, 30, 0.05)
        assert wpssr_limit(101, 110, 30, 0.05) > base
        assert wpssr_limit(100, 110, 31, 0.05) > base
        assert wpssr_limit(100, 111, 30, 0.05) < base

    def test_limit_of_a_long_window(self):
        limit = math.sqrt(math.log(12 * 30 / 0.05) / math.log(2 * 110 / 0.05))
        assert wpssr_limit(10**9, 110, 30, 0.05) == pytest.approx(limit, rel=1e-8)

    def test_ratio(self):
        theta = window(1, 20)[0]
        direct = min(t for t in theta if t > 0) / max(abs(t) for t in theta)
        assert wpssr(theta) == pytest.approx(direct, rel=1e-15)
        assert wpssr([3.0, 3.0]) == 1


class TestRegret:
    def test_against_loops(self):
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

    def test_l2_error(self):
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
    (lambda: adaptive_constants([1.0, 2.0]), r"'X' is \(2,\)"),
    (lambda: adaptive_constants(np.empty((0, 2))), r"'X' is \(0, 2\)"),
    (lambda: adaptive_constants([[1.0, math.inf]]), "'X' is 'not finite'"),
    (lambda: adaptive_constants(X23, penalty=-1.0), "'penalty' is -1.0"),
    (lambda: zeta(X23, 2), "'s' is 2"),
    (lambda: zeta(np.ones((5, 1)), 2, penalties=[1.0, 2.0]), "'penalties'"),
    (lambda: zeta(np.ones((5, 1)), 2, penalties=-1.0), "'penalties'"),
    (lambda: forgetting_regret_term(X23, [9.0, 9.0, 9.0], X23[0]), "'x_old'.*a row of the window"),
    (lambda: forgetting_regret_term(X23, X23[0], [1.0]), r"'x_new' is \(1,\)"),
    (lambda: rank_swing(X23, X23[0], [math.nan, 0.0, 0.0]), "'x_new' is 'not finite'"),
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


DOCS = Path(__file__).parents[2] / "docs" / "theory.md"


def documented_names():
    rows = [line.split("|") for line in DOCS.read_text().splitlines() if line.startswith("| $")]
    return {name for row in rows for name in re.findall(r"`(\w+)", row[2])}


#: Doors to stacks of windows and pieces shared between modules: not symbols of the paper.
INNER = {"forgetting_terms", "sliding_windows", "as_penalties", "perpendicular"}


def public_functions(module):
    members = vars(module).items()
    return {n for n, f in members if isfunction(f) and f.__module__ == module.__name__}


def test_the_symbol_table_names_what_exists():
    defined = set().union(
        *map(public_functions, (bounds, coverage, ellipsoids, appendix_d, theory))
    )
    wanted = {n for n in defined if not n.startswith("_") and not n.endswith("_radii")}
    assert documented_names() == (wanted - INNER) | {"gram_norm", "Replay"}

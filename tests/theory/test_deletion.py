"""The cost of deleting a row: exact fractions, refits by simulation, and the paper's FRT."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import spearmanr

from efface import OLS, AutoRidge, Ridge, diagnose, replay
from efface.theory import deletion_cost, forgetting_regret_term, live_deletion_cost

X = np.array([[2.0, 1.0], [1.0, 3.0], [0.0, 1.0], [1.0, -1.0]])
THETA = np.array([1.0, -2.0])


def exact_risk(rows, penalty, theta):
    """sigma^2 tr(Phi_lam^-1 Phi Phi_lam^-1) at sigma = 1 and the squared bias, for two columns."""
    rows = [[Fraction(v) for v in map(float, row)] for row in rows]
    lam, t = Fraction(penalty), [Fraction(float(v)) for v in theta]
    a, b, c = (sum(r[i] * r[j] for r in rows) for i, j in ((0, 0), (0, 1), (1, 1)))
    det = (a + lam) * (c + lam) - b * b
    inverse = [[(c + lam) / det, -b / det], [-b / det, (a + lam) / det]]
    variance = Fraction(0)
    for r in rows:
        w = [inverse[i][0] * r[0] + inverse[i][1] * r[1] for i in (0, 1)]
        variance += w[0] ** 2 + w[1] ** 2
    bias = [lam * (inverse[i][0] * t[0] + inverse[i][1] * t[1]) for i in (0, 1)]
    return variance, bias[0] ** 2 + bias[1] ** 2


@pytest.mark.parametrize("penalty", [0, 2])
@pytest.mark.parametrize("row", range(4))
def test_equals_exact_fractions(row, penalty):
    before, after = exact_risk(X, penalty, THETA), exact_risk(np.delete(X, row, 0), penalty, THETA)
    cost = deletion_cost(X, row, sigma=3.0, penalty=penalty, theta=THETA)
    assert cost.variance_before == pytest.approx(9 * float(before[0]), rel=1e-12)
    assert cost.variance == pytest.approx(9 * float(after[0] - before[0]), rel=1e-10)
    assert cost.bias == pytest.approx(float(after[1] - before[1]), rel=1e-10, abs=1e-14)
    assert cost.total == cost.variance + cost.bias
    assert not cost.rank_lost


def fits(rows, responses, penalty):
    """Estimates for many response vectors at once, by a library that the formula does not use."""
    if penalty == 0:
        return np.linalg.lstsq(rows, responses, rcond=None)[0].T
    d = rows.shape[1]
    stacked = np.vstack([rows, math.sqrt(penalty) * np.eye(d)])
    return np.linalg.lstsq(stacked, np.vstack([responses, np.zeros((d, responses.shape[1]))]))[0].T


@pytest.mark.parametrize(
    ("d", "n", "penalty", "after"),
    [(3, 8, 0.0, 0.0), (3, 8, 5.0, 5.0), (6, 4, 0.0, 0.0), (6, 4, 2.0, 1.5), (10, 12, 1.0, 1.0)],
)
def test_equals_the_measured_change(d, n, penalty, after):
    rng = np.random.default_rng([d, n])
    rows, theta, root = rng.normal(size=(n, d)), rng.normal(size=d), rng.normal(size=(d, d))
    moment = root @ root.T
    cost = deletion_cost(
        rows, 2, sigma=0.8, penalty=penalty, penalty_after=after, theta=theta, second_moment=moment
    )
    y = (rows @ theta)[:, None] + 0.8 * rng.standard_normal((n, 40_000))
    losses = []
    for kept, lam in ((np.arange(n), penalty), (np.delete(np.arange(n), 2), after)):
        error = fits(rows[kept], y[kept], lam) - theta
        losses.append(np.einsum("ki,ij,kj->k", error, moment, error))
    change = losses[1] - losses[0]
    assert abs(change.mean() - cost.total) <= 3 * change.std() / math.sqrt(len(change))


def test_a_length_gives_the_mean_over_all_directions():
    rng = np.random.default_rng(5)
    rows, directions = rng.normal(size=(5, 3)), rng.normal(size=(20_000, 3))
    directions *= 2.0 / np.linalg.norm(directions, axis=1, keepdims=True)
    cost = deletion_cost(rows, 1, sigma=1.0, penalty=3.0, theta_norm=2.0)
    shrink = [
        np.eye(3) - np.linalg.solve(r.T @ r + 3.0 * np.eye(3), r.T @ r)
        for r in (rows, np.delete(rows, 1, 0))
    ]
    squares = [((directions @ s.T) ** 2).sum(axis=1) for s in shrink]
    change = squares[1] - squares[0]
    assert abs(change.mean() - cost.bias) <= 3 * change.std() / math.sqrt(len(change))


@pytest.mark.parametrize("row", range(12))
def test_with_the_moment_of_the_rows_least_squares_pays_its_leverage(row):
    rows = np.random.default_rng(6).normal(size=(12, 4))
    cost = deletion_cost(rows, row, sigma=1.0, second_moment=rows.T @ rows / 12)
    h = rows[row] @ np.linalg.inv(rows.T @ rows) @ rows[row]
    assert cost.leverage == pytest.approx(h)
    assert cost.total == pytest.approx(h / (12 * (1 - h)), rel=1e-9)


def test_a_loss_of_rank_moves_the_cost_from_variance_to_bias():
    """M2 of Appendix D: e1 leaves a window of four unit vectors."""
    cost = deletion_cost(np.eye(4), 0, sigma=0.5, theta=[3.0, 1.0, 1.0, 1.0])
    assert (cost.rank_lost, cost.leverage) == (True, pytest.approx(1.0))
    assert cost.variance == pytest.approx(-0.25)
    assert cost.bias == pytest.approx(9.0)


def test_a_repeated_row_has_a_cost_although_the_others_represent_it():
    """M1: the paper says that forgetting it costs nothing (E7)."""
    window = np.eye(4)[[3, 1, 2, 3]]
    cost = deletion_cost(window, 0, sigma=1.0, theta=np.ones(4))
    assert cost.total == pytest.approx(0.5)
    assert not cost.rank_lost


def measured_extra(rows, theta, rng, draws):
    """The extra squared L2 error that deleting the oldest row causes, by refits."""
    y = (rows @ theta)[:, None] + rng.standard_normal((len(rows), draws))
    with_row, without = fits(rows, y, 0.0), fits(rows[1:], y[1:], 0.0)
    return (((without - theta) ** 2).sum(1) - ((with_row - theta) ** 2).sum(1)).mean()


def rank_correlations(windows, theta, rng, draws):
    """The rank correlations of the cost and of FRT with the measured change."""
    table = []
    for rows in windows:
        frt = forgetting_regret_term(rows[:-1], rows[0], rows[-1]).total
        cost = deletion_cost(rows[:-1], 0, sigma=1.0, theta=theta).total
        table.append((measured_extra(rows[:-1], theta, rng, draws), cost, frt))
    measured, cost, frt = np.array(table).T
    return spearmanr(cost, measured).statistic, spearmanr(frt, measured).statistic


def unit(rng, d):
    theta = rng.standard_normal(d)
    return theta / np.linalg.norm(theta)


@pytest.mark.parametrize(("d", "s", "gap"), [(10, 12, 0.1), (10, 50, 0.05)])
def test_the_cost_follows_the_expected_change_more_closely_than_frt(d, s, gap):
    """E32: over 300 windows, each change a mean of 2,000 refits."""
    rng = np.random.default_rng([d, s])
    theta, windows = unit(rng, d), rng.standard_normal((300, s + 1, d))
    cost, frt = rank_correlations(windows, theta, rng, 2000)
    assert cost > 0.9
    assert frt < cost - gap


def test_on_streams_of_unit_vectors_frt_falls_where_the_change_grows():
    """E32 on the streams of Fig. 2: the rank swings, and FRT has the wrong sign."""
    rng = np.random.default_rng(2)
    windows = np.eye(10)[rng.integers(0, 10, (400, 13))]
    cost, frt = rank_correlations(windows, 3 * unit(rng, 10), rng, 400)
    assert cost > 0.9
    assert frt < 0.2


def test_one_realised_change_is_mostly_noise():
    """With a single refit, neither the cost nor FRT explains the change at (10, 50)."""
    rng = np.random.default_rng(3)
    theta, windows = unit(rng, 10), rng.standard_normal((1000, 51, 10))
    cost, frt = rank_correlations(windows, theta, rng, 1)
    assert max(cost, frt) < 0.3


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"row": 4}, "'row' is 4"),
        ({"sigma": 0.0}, "'sigma' is 0"),
        ({"theta": [1.0]}, "'theta'"),
        ({"theta": [1.0, 1.0], "theta_norm": 1.0}, "'theta_norm' is 1"),
        ({"second_moment": [[1.0]]}, "'second_moment' is"),
    ],
)
def test_bad_options_are_refused(options, text):
    with pytest.raises(ValueError, match=text):
        deletion_cost(X, **({"sigma": 1.0} | options))


@pytest.mark.parametrize("penalty", [0.0, 3.0])
@pytest.mark.parametrize("intercept", [False, True])
def test_the_cost_for_rows_like_the_live_ones_equals_refits(penalty, intercept):
    """With weights: 40,000 responses, fits by normal equations on a design with a column of 1."""
    rng = np.random.default_rng([7, int(penalty), intercept])
    rows, weights, theta = (
        rng.normal(size=(9, 3)) + 1.0,
        rng.uniform(0.5, 2.0, 9),
        rng.normal(size=3),
    )
    options = {"sigma": 0.7, "penalty": penalty, "theta": theta}
    cost = live_deletion_cost(rows, 4, fit_intercept=intercept, weights=weights, **options)
    design = np.column_stack([np.ones(9), rows]) if intercept else rows
    ridge = np.diag([0.0] * intercept + [penalty] * 3)
    truth = 2.0 * intercept + rows @ theta
    y = truth[:, None] + 0.7 * rng.standard_normal((9, 40_000)) / np.sqrt(weights)[:, None]
    losses = []
    for kept in (np.arange(9), np.delete(np.arange(9), 4)):
        W, Z = np.diag(weights[kept]), design[kept]
        fitted = design @ np.linalg.solve(Z.T @ W @ Z + ridge, Z.T @ W @ y[kept])
        losses.append(weights @ (fitted - truth[:, None]) ** 2 / weights.sum())
    change = losses[1] - losses[0]
    assert abs(change.mean() - cost.total) <= 3.5 * change.std() / math.sqrt(len(change))


@pytest.mark.parametrize("intercept", [False, True])
def test_diagnose_has_the_cost_of_the_oldest_row(intercept):
    rng = np.random.default_rng(8)
    rows, y = rng.normal(size=(40, 3)) + 2.0, rng.normal(size=40)
    model = Ridge(30, alpha=2.0, fit_intercept=intercept).fit(rows, y)
    live, responses = rows[-30:], y[-30:]
    found = diagnose(model, sigma=1.5).deletion_cost
    options = {"penalty": 2.0, "theta": model.coef_, "fit_intercept": intercept}
    expected = live_deletion_cost(live, 0, sigma=1.5, **options)
    assert found.variance == pytest.approx(expected.variance, rel=1e-8)
    assert found.bias == pytest.approx(expected.bias, rel=1e-6)
    residuals = responses - model.predict(live)
    noise = residuals @ residuals / (30 - diagnose(model).degrees_of_freedom)
    estimated = diagnose(model).deletion_cost
    assert estimated.variance == pytest.approx(expected.variance / 1.5**2 * noise, rel=1e-8)


def test_diagnose_without_residuals_has_no_cost():
    model = OLS(fit_intercept=False).fit(np.eye(3), np.ones(3))
    assert diagnose(model).deletion_cost is None
    assert diagnose(model, sigma=1.0).deletion_cost.rank_lost


def test_replay_has_the_cost_of_least_squares_at_every_row():
    rng = np.random.default_rng(9)
    rows, y = rng.normal(size=(40, 2)), rng.normal(size=40)
    found = replay(OLS(12), rows, y, diagnostics=True).deletion_cost
    for t in (12, 25, 39):
        expected = live_deletion_cost(rows[t - 12 : t], 0, sigma=1.0, fit_intercept=True)
        assert found[t] == pytest.approx(expected.total, rel=1e-8)
    assert np.isnan(found[:4]).all()  # the rank would fall
    for model, weights in (
        (AutoRidge(12), None),
        (OLS(12), np.ones(40)),
        (OLS(12, halflife=9.0), None),
    ):
        other = replay(model, rows, y, diagnostics=True, sample_weight=weights).deletion_cost
        assert np.isnan(other[12:]).all()
    assert replay(OLS(12), rows, y).deletion_cost is None

"""Settings that the paper does not have, against slow implementations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import chi2, rankdata
from twins import experiments as naive

from efface.paper import correction_experiments as subject
from efface.paper.simulate import linear_stream, unit_vectors


def covered(X, y, theta, scale):
    """Ball, ellipsoid and limit at 61 penalties, each estimate by normal equations."""
    X, x = scale * X[:-1], scale * X[-1]
    y = X @ theta + (y[:-1] - X @ theta / scale)
    s, d = X.shape
    largest = np.linalg.eigvalsh(X.T @ X).max()
    true = [True, True, True]
    for lam in [0.0, *(largest * np.logspace(-6, 4, 60))]:
        gram = X.T @ X + lam * np.eye(d)
        inverse = np.linalg.inv(gram)
        error = inverse @ X.T @ y - theta
        smallest = np.linalg.eigvalsh(gram).min()
        ball = np.abs(X).max() * s / smallest * math.sqrt(2 * d / s * math.log(2 * d / 0.05))
        ball += lam * np.linalg.norm(theta) / smallest
        root = math.sqrt(chi2.ppf(0.95, d))
        limit = root * np.linalg.norm(X @ inverse @ x) + lam * np.linalg.norm(inverse @ x)
        true[0] &= np.linalg.norm(error) <= ball
        true[1] &= math.sqrt(error @ gram @ error) <= root + math.sqrt(lam)
        true[2] &= abs(x @ error) <= limit
    return true


@pytest.mark.parametrize("reading", ["standardized", "unit-norm"])
def test_coverage_at_61_penalties_equals_normal_equations(reading):
    setting = subject.AnyPenalty(reading, 0, d=3, s=9, windows=12)
    found = setting.run(2, 4)
    for column, scale in enumerate((0.01, 1.0, 100.0)):
        slow = []
        for i in range(12):
            X, y, theta = naive.draw(2, 4 * 12 + i, 10, 3, reading, 1.0, None)
            slow.append(covered(X, y, theta, scale))
        for name, share in zip(("ball", "ellipsoid", "limit"), np.mean(slow, axis=0), strict=True):
            assert found[name][column] == pytest.approx(share)


def test_a_limit_that_is_too_small_is_found(monkeypatch):
    """The coverage can fail: with half of the noise radius it does."""
    wide = subject.prediction_limits
    narrow = lambda *given, sigma, **rest: wide(*given, sigma=0.3, **rest)  # noqa: E731
    setting = subject.AnyPenalty("standardized", 0, d=2, s=30, windows=60)
    assert setting.run(0, 0)["limit"].min() > 0.9
    monkeypatch.setattr(subject, "prediction_limits", narrow)
    assert setting.run(0, 0)["limit"].max() < 0.9


def correlation(a, b):
    """Spearman by ranks and their covariance."""
    return np.corrcoef(rankdata(a), rankdata(b))[0, 1]


@pytest.mark.parametrize("units", [False, True])
def test_correlations_are_those_of_the_expected_change(units):
    """The change by its expectation in closed form, tr and bias by inverses, not by refits."""
    d, s, windows = 4, 6, 60
    setting = subject.DeletedRows(
        "unit-norm", 0, d=d, s=s, units=units, windows=windows, draws=4000
    )
    found = setting.run(1, 2)
    rows = windows * (s + 1)
    data = linear_stream(1, 2, rows, d, reading="unit-norm")
    X = (unit_vectors(1, 2, rows, d) if units else data.X).reshape(windows, s + 1, d)
    expected, frt = [], []
    for part in X:
        risks = []
        for kept in (part[:-1], part[1:-1]):
            inverse = np.linalg.pinv(kept.T @ kept)
            missed = data.theta - inverse @ kept.T @ kept @ data.theta
            risks.append(np.trace(inverse) + missed @ missed)
        expected.append(round(risks[1] - risks[0], 9))
        inverse = np.linalg.pinv(part[:-1].T @ part[:-1])
        old, new = part[0], part[-1]
        deleted, cross = old @ inverse @ old, new @ inverse @ old
        frt.append(deleted * (new @ inverse @ new + 1) - cross**2)
    assert found["frt"] == pytest.approx(correlation(np.round(frt, 9), expected), abs=0.12)
    assert found["cost"] > 0.8


def test_regrets_where_ranks_swing_are_those_of_means_of_responses():
    """With unit vectors, least squares predicts the mean response of the same vector, or 0."""
    setting = subject.SwingingRanks("unit-norm", 80, s=7, d=5)
    found = setting.run(3, 1)
    X = unit_vectors(3, 1, 80, 5)
    drawn = linear_stream(3, 1, 80, 5)
    y = X @ drawn.theta + drawn.y - drawn.signal
    which, total = X.argmax(axis=1), {"ols": 0.0, "adaptive": 0.0}
    for t in range(7, 80):
        lam = naive.adaptive_penalty(X[t - 7 : t], y[t - 7 : t], 0.05)
        mine = [y[u] for u in range(t - 7, t) if which[u] == which[t]]
        truth = drawn.theta[which[t]]
        total["ols"] += (sum(mine) / max(len(mine), 1) - truth) ** 2
        total["adaptive"] += (sum(mine) / (len(mine) + lam) - truth) ** 2
    assert found == {name: pytest.approx(value) for name, value in total.items()}


def test_errors_after_n_rows_equal_normal_equations():
    found = subject.MemorySize("standardized", 0, n=30, sigma=2.0, d=4).run(5, 6)
    X, y, theta = naive.draw(5, 6, 30, 4, "standardized", 2.0, None)
    penalties = {"ols": 0.0, "oracle": 16.0, "adaptive": naive.adaptive_penalty(X, y, 0.05)}
    for name, lam in penalties.items():
        coef = np.linalg.solve(X.T @ X + lam * np.eye(4), X.T @ y)
        assert found[name] == pytest.approx(((coef - theta) ** 2).sum())
    assert 0 < found["auto"] < 4

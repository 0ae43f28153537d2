"""Leverages, residuals and ranks of ranges of rows, against 60 digits and dense algebra."""

import numpy as np
import pytest
from designs import DESIGNS, sample
from twins.inference import condition
from twins.measures import Measures, measures

from efface.core import core

GAUGES = Measures._fields[:6]


def measured(X, y, w, lo, hi, new, penalty, intercept=True, power=0.0, ranks=False):
    """Gauges and regret terms by name, and the ranks; the new row of range i is new[i]."""
    lo, hi = np.asarray(lo), np.asarray(hi)
    penalty = np.full((len(lo), 1), penalty)
    columns, terms, rank = core.measure_ranges(
        X, y[:, None], w, lo, hi, new, np.arange(len(lo)), penalty, intercept, power, True, ranks
    )
    names = *GAUGES, "leverage_new", "leverage_old", "frt"
    values = *columns[..., 0], *terms[..., 0]
    return dict(zip(names, values, strict=True)), rank


def sliding(n, s):
    hi = np.arange(s, n)
    return hi - s, hi


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("penalty", [0.0, 0.7])
@pytest.mark.parametrize("d", [1, 4, 9])
def test_weighted_ranges_equal_the_textbook(d, penalty, power, intercept):
    rng = np.random.default_rng(d)
    X = rng.normal(size=(60, d)) * rng.uniform(0.1, 10.0, size=d) + 3.0
    y = X @ rng.normal(size=d) + rng.normal(size=60)
    w = np.where(rng.random(60) < 0.2, 0.0, rng.uniform(0.1, 4.0, size=60))
    lo, hi = sliding(60, 3 * d + 6)
    found, rank = measured(X, y, w, lo, hi, X[hi], penalty, intercept, power)
    assert (rank == (d if penalty == 0.0 else -1)).all()
    for k in range(0, len(lo), 7):
        rows = slice(lo[k], hi[k])
        right = measures(X[rows], y[rows], w[rows], X[hi[k]], penalty, intercept, power)
        for name, value in right._asdict().items():
            assert found[name][k] == pytest.approx(value, rel=1e-10), name
        assert found["leverage_new"][k] == found["leverage"][k]


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("noise", [1.0, 1e-7])
@pytest.mark.parametrize("name", DESIGNS)
def test_hard_ranges_of_full_rank_equal_60_digits(name, noise, intercept):
    X, y = sample(name, 100, seed=3, noise=noise)
    lo, hi = sliding(100, 30)
    found, rank = measured(X, y, np.ones(100), lo, hi, X[hi], 0.0, intercept)
    checked = 0
    for k in range(0, len(lo), 16):
        rows = slice(lo[k], hi[k])
        cond = condition(X[rows], intercept)
        if rank[k] < X.shape[1] or not cond < 1e7:
            continue
        checked += 1
        right = measures(X[rows], y[rows], np.ones(30), X[hi[k]], 0.0, intercept)
        for field in ("leverage", "leverage_old", "frt", "unexplained", "scatter", "size"):
            assert found[field][k] == pytest.approx(getattr(right, field), rel=1e-9), field
    assert checked or (intercept and "constant" in name)


def test_ranges_in_any_order_are_measured_alone():
    rng = np.random.default_rng(0)
    X, y, w = rng.normal(size=(80, 3)), rng.normal(size=80), rng.uniform(0.5, 2.0, size=80)
    lo = rng.integers(0, 60, size=25)
    hi = lo + rng.integers(8, 20, size=25)
    found, _ = measured(X, y, w, lo, hi, X[:25], 0.3)
    for k in range(25):
        alone, _ = measured(X, y, w, lo[k : k + 1], hi[k : k + 1], X[k : k + 1], 0.3)
        for name, values in found.items():
            assert values[k] == pytest.approx(alone[name][0], rel=1e-12), name


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_a_row_is_undetermined_where_it_leaves_the_span_of_the_rows(size):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 4)) * size
    X[:, 0] = rng.integers(-100, 100, size=30)
    X[:, 1] = 1024.0 * rng.integers(-(10**4), 10**4, size=30)
    X[:, 2] = X[:, 0] - X[:, 1]
    y, w, free = rng.normal(size=30), np.ones(30), [0, 1, 3]
    inside = np.array([5.0, 2048.0, 5.0 - 2048.0, 0.3 * size])
    beside, constant = inside + np.array([0.0, 0.0, 1.0, 0.0]), X.copy()
    for intercept in (False, True):
        found, rank = measured(
            X, y, w, [0, 0], [30, 30], np.array([inside, beside]), 0.0, intercept
        )
        assert rank.tolist() == [3, 3]
        right = measures(X[:, free], y, w, inside[free], 0.0, intercept)
        for name in ("leverage", "leverage_old", "frt", "unexplained"):
            assert found[name][0] == pytest.approx(getattr(right, name), rel=1e-9), name
        assert found["leverage"][1] == np.inf
        assert np.isfinite(found["leverage_new"][1])
    constant[:, 3] = 7.0
    new = np.array([[*inside[:3], 7.0], [*inside[:3], 7.5]])
    found, rank = measured(constant, y, w, [0, 0], [30, 30], new, 0.0)
    assert rank.tolist() == [2, 2]
    assert np.isfinite(found["leverage"][0])
    assert found["leverage"][1] == np.inf


def test_fewer_rows_than_features_leave_no_residual():
    rng = np.random.default_rng(2)
    X, y, w = rng.normal(size=(5, 8)), rng.normal(size=5), rng.uniform(0.5, 2.0, size=5)
    found, rank = measured(X, y, w, [0, 0], [5, 5], np.array([X[3], X[0] + 1.0]), 0.0)
    A = np.sqrt(w)[:, None] * (X - np.average(X, axis=0, weights=w))
    away = X[3] - np.average(X, axis=0, weights=w)
    assert rank.tolist() == [4, 4]
    assert found["unexplained"].tolist() == [0.0, 0.0]
    expected = 1 / w.sum() + away @ np.linalg.pinv(A.T @ A) @ away
    assert found["leverage"][0] == pytest.approx(expected, rel=1e-9)
    assert found["leverage"][1] == np.inf
    theta = np.linalg.lstsq(A, np.sqrt(w) * (y - np.average(y, weights=w)), rcond=None)[0]
    assert found["size"][0] == pytest.approx(theta @ theta, rel=1e-9)


@pytest.mark.parametrize("intercept", [False, True])
def test_a_tiny_penalty_keeps_all_digits(intercept):
    rng = np.random.default_rng(3)
    X, y, w = rng.normal(size=(6, 9)), rng.normal(size=6), np.ones(6)
    found, _ = measured(X, y, w, [0], [6], X[:1] + 0.5, 1e-9, intercept)
    right = measures(X, y, w, X[0] + 0.5, 1e-9, intercept)
    for name in ("leverage", "image_square", "unexplained", "size", "frt"):
        assert found[name][0] == pytest.approx(getattr(right, name), rel=1e-9), name


@pytest.mark.parametrize("intercept", [False, True])
def test_the_rank_behind_a_penalty_is_that_of_the_rows(intercept):
    rng = np.random.default_rng(4)
    X, y = rng.integers(-3, 4, size=(90, 4)).astype(float), rng.normal(size=90)
    X[30:60, 3] = X[30:60, 0] + 2.0 * X[30:60, 1]
    X[50:70, 2] = 5.0
    lo, hi = sliding(90, 10)
    _, rank = measured(X, y, np.ones(90), lo, hi, X[hi], 2.0, intercept, ranks=True)
    for k, found in enumerate(rank):
        rows = X[lo[k] : hi[k]]
        assert found == np.linalg.matrix_rank(rows - rows.mean(axis=0) if intercept else rows)


def test_responses_have_their_own_penalties():
    rng = np.random.default_rng(5)
    X, Y, w = rng.normal(size=(40, 3)), rng.normal(size=(40, 4)), np.ones(40)
    lo, hi = sliding(40, 12)
    lams = np.tile([0.0, 0.5, 0.5, 3.0], (len(lo), 1))
    columns, terms, _ = core.measure_ranges(X, Y, w, lo, hi, X, hi, lams, True, 0.0, True, False)
    for r in range(4):
        found, _ = measured(X, Y[:, r], w, lo, hi, X[hi], lams[0, r])
        for c, name in enumerate(GAUGES):
            np.testing.assert_allclose(columns[c, :, r], found[name], rtol=1e-12)
        for c, name in enumerate(("leverage_new", "leverage_old", "frt")):
            np.testing.assert_allclose(terms[c, :, r], found[name], rtol=1e-12)


def test_many_rows_are_gauged_by_one_window():
    rng = np.random.default_rng(6)
    X, y, w = rng.normal(size=(25, 3)), rng.normal(size=25), rng.uniform(0.5, 2.0, size=25)
    new = rng.normal(size=(7, 3))
    columns, rank = core.gauge_rows(X, y[:, None], w, new, np.array([0.4]), True, 0.5)
    found, _ = measured(X, y, w, [0] * 7, [25] * 7, new, 0.4, True, 0.5)
    assert rank == -1
    for c, name in enumerate(GAUGES):
        np.testing.assert_allclose(columns[c, :, 0], found[name], rtol=1e-12)


def test_a_range_without_rows_is_not_measured():
    X, y, w = np.ones((4, 1)), np.ones(4), np.array([0.0, 0.0, 1.0, 1.0])
    found, rank = measured(X, y, w, [1, 0, 1], [1, 2, 4], np.ones((3, 1)), 0.0, False)
    assert rank.tolist() == [0, 0, 1]
    assert np.isnan(found["leverage_new"]).tolist() == [True, False, False]
    assert found["leverage_new"][1] == 0.0
    assert np.isnan(found["leverage"]).tolist() == [True, True, False]
    assert found["leverage"][2] == 0.5
    assert found["leverage_old"][2] == found["frt"][2] == 0.0  # the oldest row has no weight


@pytest.mark.parametrize("name", ["constant and price", "three powers of t"])
def test_a_row_that_is_gone_leaves_no_rounding(name):
    X, y = sample(name, 80, seed=5)
    X[20] *= 1e8
    lo, hi = sliding(80, 15)
    found, _ = measured(X, y, np.ones(80), lo, hi, X[hi], 0.5)
    for k in np.flatnonzero(lo > 20)[::9]:
        rows = slice(lo[k], hi[k])
        right = measures(X[rows], y[rows], np.ones(15), X[hi[k]], 0.5)
        assert found["leverage"][k] == pytest.approx(right.leverage, rel=1e-9)
        assert found["unexplained"][k] == pytest.approx(right.unexplained, rel=1e-9)


def test_a_giant_row_that_has_left_does_not_hide_a_dependence():
    rng = np.random.default_rng(7)
    X, y = rng.integers(-9, 10, size=(80, 4)).astype(float), rng.normal(size=80)
    X[:, 3] = X[:, 0] - 2.0 * X[:, 1]
    lo, hi = sliding(80, 10)
    for giant in range(10, 30):  # one of them is where sums are centred
        Z = X.copy()
        Z[giant, :3] = 1e8 + np.arange(3.0)
        found, rank = measured(Z, y, np.ones(80), lo, hi, Z[hi], 0.0)
        plain, right = measured(X, y, np.ones(80), lo, hi, X[hi], 0.0)
        gone = lo > giant
        assert rank[gone].tolist() == right[gone].tolist()
        np.testing.assert_allclose(found["leverage"][gone], plain["leverage"][gone], rtol=1e-10)

"""Variances and sums of squares of windows, against dense linear algebra."""

import mpmath
import numpy as np
import pytest

from efface.batch.groups import RowArrays
from efface.batch.inference import infer_windows


def directly(X, y, intercept):
    """Variances (the intercept's last), unexplained and total sums of squares, in 50 digits."""
    with mpmath.workdps(50):
        rows = np.column_stack([X, np.ones(len(y))]) if intercept else X
        A, b = mpmath.matrix(rows.tolist()), mpmath.matrix(y.tolist())
        inverse = (A.T * A) ** -1
        rest = b - A * (inverse * (A.T * b))
        mean = mpmath.fsum(b) / len(y) if intercept else mpmath.mpf(0)
        variances = [float(inverse[i, i]) for i in range(rows.shape[1])]
        squares = mpmath.fsum(e**2 for e in rest), mpmath.fsum((e - mean) ** 2 for e in b)
        return variances, *(float(square) for square in squares)


def inferred(X, y, s, intercept):
    ends = np.arange(len(y))
    return infer_windows(RowArrays(X, y), np.maximum(ends - s + 1, 0), ends, intercept)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("shift", [0.0, 1e4])
@pytest.mark.parametrize("noise", [1.0, 1e-7])
@pytest.mark.parametrize(("d", "s"), [(1, 4), (3, 10), (6, 25)])
def test_windows_agree_with_dense_algebra(d, s, noise, shift, intercept):
    rng = np.random.default_rng(d)
    X = rng.normal(size=(40, d)) + shift * intercept
    y = X @ rng.normal(size=d) + noise * rng.normal(size=40) + shift
    found = inferred(X, y, s, intercept)
    unknowns = d + intercept
    assert np.isnan(found.unexplained[: unknowns - 1]).all()
    for t in range(unknowns, 40, 3):
        rows = slice(max(0, t - s + 1), t + 1)
        variances, unexplained, total = directly(X[rows], y[rows], intercept)
        assert found.variance[t] == pytest.approx(variances[:d], rel=1e-7)
        assert found.base[t] == pytest.approx(variances[d] if intercept else 0.0, rel=1e-6)
        floor = (1e-13 * max(abs(y).max(), abs(X).max())) ** 2 * s  # the rounding of the data
        assert found.unexplained[t] == pytest.approx(unexplained, rel=1e-6, abs=floor)
        assert found.total[t] == pytest.approx(total, rel=1e-9)


def test_a_rank_deficient_window_has_nan_statistics():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.normal(size=40)
    X[10:25, 1] = X[10:25, 0]
    found = inferred(X, y, 8, False)
    assert np.isnan(found.variance[17:25]).all()
    assert not np.isnan(found.variance[32:]).any()


def test_a_row_1e8_times_larger_has_no_effect_after_it_left():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    X[20] *= 1e8
    found = inferred(X, y, 12, True)
    for t in range(32, 60):
        variances, unexplained, _ = directly(X[t - 11 : t + 1], y[t - 11 : t + 1], True)
        assert found.variance[t] == pytest.approx(variances[:3], rel=1e-9)
        assert found.unexplained[t] == pytest.approx(unexplained, rel=1e-9)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("noise", [1.0, 1e-7])
def test_weighted_windows_agree_with_dense_algebra(noise, intercept):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(40, 2)) + 50.0 * intercept
    y = X @ [1.0, 2.0] + noise * rng.normal(size=40)
    w = rng.uniform(0.1, 5.0, size=40)
    w[20], X[20] = 0.0, 1e6
    ends = np.arange(40)
    found = infer_windows(RowArrays(X, y, w), np.maximum(ends - 11, 0), ends, intercept)
    for t in range(11, 40):
        rows = np.arange(t - 11, t + 1)
        rows = rows[w[rows] > 0]
        A = np.column_stack([X, np.ones(40)])[rows] if intercept else X[rows]
        A, b = np.sqrt(w[rows])[:, None] * A, np.sqrt(w[rows]) * y[rows]
        theta = np.linalg.lstsq(A, b, rcond=None)[0]
        variances = np.diag(np.linalg.inv(A.T @ A))
        mean = np.average(y[rows], weights=w[rows]) if intercept else 0.0
        assert found.variance[t] == pytest.approx(variances[:2], rel=1e-7)
        assert found.base[t] == pytest.approx(variances[2] if intercept else 0.0, rel=1e-6)
        assert found.unexplained[t] == pytest.approx(((b - A @ theta) ** 2).sum(), rel=1e-4)
        assert found.total[t] == pytest.approx((w[rows] * (y[rows] - mean) ** 2).sum(), rel=1e-9)

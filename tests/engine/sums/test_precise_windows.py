"""Windows from sums in double-double precision, and null directions that all rows share."""

from __future__ import annotations

import numpy as np
import pytest
from designs import DEPENDENT, sample
from twins import regression as twin

from efface.engine.jit.views import weighed
from efface.engine.sums.precise_windows import fit_precisely, null_directions


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_windows_are_those_of_a_refit_in_fractions(intercept, weighted):
    X, y = sample("one-hot", 90, seed=1)
    w = np.random.default_rng(0).choice([0.0, 1.0, 4.0], size=90) if weighted else None
    coef, level, rank = np.full((90, 6), np.nan), np.full(90, np.nan), np.zeros(90, np.int64)
    ends = np.array([4, 19, 20, 55, 56, 89])
    given = X, weighed(y, w), 0.0, intercept
    left = fit_precisely(np.maximum(ends - 29, 0), ends, *given, coef, level, rank)
    assert left.tolist() == [4]
    for e in ends[1:]:
        rows = slice(max(0, e - 29), e + 1)
        right, base, full = twin.minimum_norm(
            X[rows], y[rows], intercept, w[rows] if weighted else None
        )
        assert coef[e] == pytest.approx(right, rel=1e-11, abs=1e-12)
        assert level[e] == pytest.approx(base, rel=1e-11, abs=1e-12)
        assert rank[e] == full
    assert np.isnan(np.delete(level, ends[1:])).all()


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", sorted(set(DEPENDENT) - {"the same length in two units"}))
def test_null_directions_are_orthogonal_to_all_rows(name, intercept):
    X, y = sample(name, 80, seed=3)
    null = null_directions(X, weighed(y), 20, intercept)
    Z = twin.centred(X) if intercept else X
    nullity = X.shape[1] - twin.minimum_norm(X, y, intercept)[2]
    if not nullity:
        assert null.size == 0
        return
    assert np.abs(Z @ null).max() <= 1e-12 * np.abs(null).max()
    assert np.linalg.matrix_rank(null) == nullity
    projection = null / np.linalg.norm(null, 2)
    assert projection @ projection == pytest.approx(projection, abs=1e-12)


def test_directions_of_features_far_apart_are_not_used():
    X, y = sample("the same length in two units", 80, seed=3)  # 1 and 1024
    assert null_directions(X, weighed(y), 20, True).size == 0
    assert null_directions(X * [1.0, 1.0, 0.5], weighed(y), 20, True).size == 9


def test_few_rows_have_no_directions():
    assert null_directions(np.ones((3, 3)), weighed(np.ones(3)), 3, False).size == 0


@pytest.mark.parametrize("flag", [0, 70])
def test_directions_of_the_first_rows_that_later_rows_do_not_share_are_none(flag):
    X, y = sample("copied column", 80, seed=3)
    X[flag, 2] += 1.0  # in the first window, or after it
    assert null_directions(X, weighed(y), 20, True).size == 0

"""Windows solved a block at a time, for several block lengths, against exact refits."""

import numpy as np
import pytest
from twins import regression as naive

from efface.engine.jit.views import weighed
from efface.engine.windows.many_features import slide_many_features
from efface.engine.windows.problem import Estimates, Problem


@pytest.mark.parametrize("length", [1, 2, 5, 16])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(("d", "s", "penalty"), [(4, 12, 0.0), (12, 5, 0.3), (12, 5, 0.0)])
def test_windows_equal_refits(d, s, penalty, intercept, length):
    rng = np.random.default_rng(d)
    n, first = 40, s - 1
    X, y = rng.normal(size=(n, d)), rng.normal(size=n)
    coef, level, margin = found = Estimates(np.empty((n, d)), np.empty(n), np.zeros(n))
    problem = Problem(X, weighed(y), s, penalty, intercept)
    end = slide_many_features(problem, first, n, found, length)
    assert end == n
    assert (margin[first:] > 1e-4).all()
    for t in range(first, n):
        rows = slice(t - s + 1, t + 1)
        exact, b, _ = naive.regress(X[rows], y[rows], penalty, intercept)
        np.testing.assert_allclose(coef[t], exact, rtol=1e-9, atol=1e-11)
        assert level[t] == pytest.approx(b, rel=1e-9, abs=1e-11)


def test_the_last_block_is_the_one_that_reaches_the_stop():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    found = Estimates(np.empty((60, 3)), np.empty(60), np.full(60, -1.0))
    end = slide_many_features(Problem(X, weighed(y), 20, 1.0, False), 19, 30, found, 8)
    assert 30 <= end < 38
    assert (found.margin[end:] == -1.0).all()


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(("s", "penalty"), [(6, 0.0), (6, 0.4), (30, 0.0)])
def test_weighted_windows_equal_refits_or_have_a_small_margin(s, penalty, intercept):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(90, 8)), rng.normal(size=90)
    w = rng.choice([0.2, 1.0, 9.0], size=90)
    w[30:35], w[60] = 0.0, 0.0
    coef, level, margin = found = Estimates(np.empty((90, 8)), np.empty(90), np.zeros(90))
    slide_many_features(Problem(X, weighed(y, w), s, penalty, intercept), s - 1, 90, found, 5)
    for t in range(s - 1, 90):
        rows = slice(t - s + 1, t + 1)
        if s == 6 and penalty == 0.0 and not w[rows].all():
            assert not margin[t] >= 1e-4  # a row of weight 0 gives a pivot of 0
        if margin[t] >= 1e-4:
            exact, b, _ = naive.regress(X[rows], y[rows], penalty, intercept, w[rows])
            np.testing.assert_allclose(coef[t], exact, rtol=1e-9, atol=1e-10)
            assert level[t] == pytest.approx(b, rel=1e-9, abs=1e-10)
    assert (margin[s - 1 :] >= 1e-4).mean() > 0.5

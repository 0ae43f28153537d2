"""Few features, eight windows at once, against normal equations in exact fractions."""

import numpy as np
import pytest
from twins import regression as naive

from efface.engine.jit.views import weighed
from efface.engine.windows.few_features import slide_few_features
from efface.engine.windows.many_features import slide_many_features
from efface.engine.windows.problem import Estimates, Problem


def room(n, d):
    """Estimates of n windows, to be filled in."""
    return Estimates(np.full((n, d), 7.0), np.full(n, 7.0), np.zeros(n))


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("penalty", [0.0, 0.5])
@pytest.mark.parametrize(("d", "s", "first"), [(1, 3, 2), (3, 9, 8), (7, 20, 19), (7, 20, 11)])
def test_windows_equal_refits(d, s, first, penalty, intercept):
    rng = np.random.default_rng(s)
    n = 45
    X, y = rng.normal(size=(n, d)), rng.normal(size=n)
    coef, level, margin = found = room(n, d)
    slide_few_features(Problem(X, weighed(y), s, penalty, intercept), first, found)
    assert (coef[:first] == 7.0).all()
    for t in range(first, n):
        lo = max(0, t - s + 1)
        exact, b = naive.solve_exactly(X[lo : t + 1], y[lo : t + 1], penalty, intercept)
        np.testing.assert_allclose(coef[t], exact, rtol=1e-10, atol=1e-12)
        assert level[t] == pytest.approx(b, rel=1e-10, abs=1e-12)
    assert (margin[first:] > 1e-4).all()


def test_a_constant_feature_without_penalty_gives_a_small_margin():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.normal(size=40)
    X[:20, 1] = 5.0
    margin = (found := room(40, 2)).margin
    slide_few_features(Problem(X, weighed(y), 10, 0.0, True), 9, found)
    assert not (margin[9:20] >= 1e-4).any()
    assert (margin[30:] >= 1e-4).all()


@pytest.mark.parametrize(
    "slide", [slide_few_features, slide_many_features], ids=["few features", "many features"]
)
def test_a_constant_feature_with_a_penalty_needs_no_refit(slide):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    X[:25, 1], X[25:, 1], X[:, 2] = 0.1, 3.1, np.arange(60) // 15 == 2
    coef, level, margin = found = room(60, 3)
    stop = (60,) if slide is slide_many_features else ()
    slide(Problem(X, weighed(y), 12, 0.5, True), 11, *stop, found)
    assert (margin[11:] >= 1e-4).all()
    for t in range(11, 60):
        exact, b = naive.solve_exactly(X[t - 11 : t + 1], y[t - 11 : t + 1], 0.5, True)
        np.testing.assert_allclose(coef[t], exact, rtol=1e-10, atol=1e-13)
        assert level[t] == pytest.approx(b, rel=1e-10)


@pytest.mark.parametrize("intercept", [False, True])
def test_weighted_windows_equal_refits_or_have_a_small_margin(intercept):
    """Runs of weight 0: windows with any number of weighted rows, down to none."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(120, 3)), rng.normal(size=120)
    w = np.repeat(rng.choice([0.0, 1.0, 2.5], size=24), 5)
    w[40:55] = 0.0
    coef, level, margin = found = room(120, 3)
    slide_few_features(Problem(X, weighed(y, w), 10, 0.0, intercept), 9, found)
    for t in range(9, 120):
        rows = slice(t - 9, t + 1)
        weighted = np.count_nonzero(w[rows])
        if weighted <= 2 + intercept:
            assert not margin[t] >= 1e-4
        elif margin[t] >= 1e-4:
            exact, b = naive.solve_exactly(X[rows], y[rows], 0.0, intercept, w[rows])
            np.testing.assert_allclose(coef[t], exact, rtol=1e-9, atol=1e-11)
            assert level[t] == pytest.approx(b, rel=1e-9, abs=1e-11)
    assert (margin[9:] >= 1e-4).sum() > 30

import numpy as np
import pytest
from twins import regression as naive

from efface.engine.events.core import (
    centre_dual,
    finish,
    form_dual,
    form_primal,
    gather,
    join,
    join_all,
    lay_out_core,
    lay_out_outside,
    place,
)
from efface.engine.jit.views import weighed
from efface.engine.linalg.dense import SAFE
from efface.engine.sums.sliding import depth_for, lay_out_sums, start_sums


def made(d, p, k, rows):
    depth = depth_for(rows, 1)
    held = np.zeros(100_000)
    sums, end = lay_out_sums(held, 0, d, depth)
    core, end = lay_out_core(held, end, p, k, sums.centre)
    outside, end = lay_out_outside(held, end, p, k)
    assert end <= held.size
    start_sums(sums, False)
    return sums, core, outside, held


def coefficients(core, outside, chosen, d, intercept):
    """theta + r' S^-1 Z over the chosen rows outside the core, moved back from the centre."""
    schur, theta = outside.schur[np.ix_(chosen, chosen)], core.theta.copy()
    for g in range(2):
        theta[g] += np.linalg.solve(schur, outside.residual[g, chosen]) @ outside.images[chosen]
    coef = np.empty(d)
    return coef, finish(core, theta, d, intercept, coef)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(("rows", "penalty"), [(20, 0.0), (20, 2.0), (3, 0.5)])
@pytest.mark.parametrize("one_by_one", [False, True])
@pytest.mark.parametrize("heavy", [False, True])
def test_any_subset_of_the_rows_outside_the_core_gives_its_refit(
    intercept, rows, penalty, one_by_one, heavy
):
    rng = np.random.default_rng(rows)
    X, y = rng.normal(size=(rows + 4, 5)) + 3.0, rng.normal(size=rows + 4)
    w = rng.choice([0.0, 0.5, 3.0], size=rows + 4) if heavy else np.ones(rows + 4)
    w[0] = 1.0
    responses = weighed(y, w)
    sums, core, outside, _held = made(5, 5 + intercept, 4, rows)
    if rows > 6:
        gather(sums, X, responses, 0, rows, 1, intercept)
        form_primal(core, sums.total, 5, penalty, intercept)
    else:
        centre_dual(sums, X, responses, 0, rows, intercept)
        form_dual(core, X, responses, 0, rows, 0, penalty, intercept)
    place(core, outside, X, responses, rows, 4, 0, intercept)
    if one_by_one:
        join(core, outside, 0, 0, 4)
    else:
        join_all(core, outside, 4)
    for chosen in ([0, 1, 2, 3], [1, 3], [2]):
        live = [*range(rows), *(rows + i for i in chosen)]
        coef, level = coefficients(core, outside, chosen, 5, intercept)
        exact, intercept_ = naive.solve_exactly(X[live], y[live], penalty, intercept, w[live])
        np.testing.assert_allclose(coef, exact, rtol=1e-9, atol=1e-11)
        assert level == pytest.approx(intercept_, rel=1e-9, abs=1e-10)


def test_a_centre_far_from_the_mean_is_replaced():
    X, y = np.random.default_rng(0).normal(size=(80, 2)), np.arange(80.0) * 0.01
    X[40:] += 1e6
    sums, _core, _outside, _held = made(2, 3, 2, 80)
    gather(sums, X, weighed(y), 0, 30, 1, True)
    for a in range(0, 45):
        gather(sums, X, weighed(y), a, a + 30, 1, True)
    assert np.abs(sums.centre[:2] - 1e6).max() < 10.0


def test_a_constant_feature_with_an_intercept_is_not_trusted():
    X, y = np.random.default_rng(0).normal(size=(30, 2)), np.ones(30)
    X[:, 1] = 0.1
    sums, core, _outside, _held = made(2, 3, 2, 30)
    gather(sums, X, weighed(y), 0, 30, 1, True)
    assert form_primal(core, sums.total, 2, 0.0, True) == 0.0


def test_a_constant_feature_under_a_penalty_has_the_coefficient_0():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    X[:20, 1], X[20:, 1] = 1e6 + 0.1, 0.1  # constant in each window, at two values
    sums, core, _outside, _held = made(2, 3, 2, 60)
    for a in (0, 1, 20, 25):
        gather(sums, X, weighed(y), a, a + 20 - a % 20, 1, True)
        assert form_primal(core, sums.total, 2, 1e-3, True) >= SAFE
        assert core.theta[0, 1] == 0.0
        exact, _ = naive.solve_exactly(X[a : a + 20 - a % 20], y[a : a + 20 - a % 20], 1e-3, True)
        assert core.theta[0, 0] == pytest.approx(exact[0], rel=1e-12)
    assert form_primal(core, sums.total, 2, 1e-300, True) == 0.0


@pytest.mark.parametrize("intercept", [False, True])
def test_a_core_that_weights_make_singular_is_not_trusted(intercept):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 4)), rng.normal(size=30)
    for counted in (0, 1, 3):
        w = np.where(np.arange(30) < counted, 2.0, 0.0)
        sums, core, _outside, _held = made(4, 4 + intercept, 2, 30)
        gather(sums, X, weighed(y, w), 0, 30, 1, intercept)
        assert not form_primal(core, sums.total, 4, 0.0, intercept) >= 1e-4
        centre_dual(sums, X, weighed(y, w), 0, 4, intercept)
        assert not form_dual(core, X, weighed(y, w), 0, 4, 0, 0.0, intercept) >= 1e-3

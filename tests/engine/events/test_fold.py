"""Cores whose sums come from the tree, against a regression from scratch."""

from __future__ import annotations

import numpy as np
import pytest
from small_trees import small_trees
from twins import regression as naive

from efface.live.event_solver import EventSolver
from efface.live.penalties import Fixed


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) + np.array([0.0, 100.0, -3.0])
    return X, X @ [1.0, 2.0, 3.0] + rng.normal(size=n), rng.choice([0.0, 0.5, 2.0], size=n)


def check(solver, X, y, w):
    coef, level, _ = naive.regress(X, y, 0.5, solver.intercepts, w)
    np.testing.assert_allclose(solver.coef, coef, rtol=1e-8)
    assert solver.intercept == pytest.approx(level, rel=1e-8, abs=1e-9)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("leaving", [0, 1])
def test_rows_that_come_and_leave_after_a_fold(intercept, leaving):
    X, y, w = rows(200)
    with small_trees():
        solver = EventSolver(3, Fixed(0.5), intercept=intercept)
        solver.extend(X[:60], y[:60], w[:60])
        for t in range(60, 200):
            alive = slice(leaving * (t - 60), t)
            check(solver, X[alive], y[alive], w[alive])
            solver.learn(X[t], y[t], leaving, w[t])
        assert solver.residues() == []


@pytest.mark.parametrize("intercept", [False, True])
def test_rows_that_leave_from_anywhere_are_overwritten_with_what_was_derived(intercept):
    X, y, w = rows(120)
    rng, alive = np.random.default_rng(1), np.arange(120)
    with small_trees():
        solver = EventSolver(3, Fixed(0.5), intercept=intercept)
        solver.extend(X, y, w)
        for _ in range(20):
            check(solver, X[alive], y[alive], w[alive])
            gone = np.sort(rng.choice(alive[1:-1], size=3, replace=False))
            solver.sum_up()
            solver.blank(gone, (0, 0))
            alive = np.setdiff1d(alive, gone)
            assert not solver.features[gone].any()
            assert solver.residues() == []
        check(solver, X[alive], y[alive], w[alive])


def test_gaps_at_the_ends_are_cut_off():
    X, y, w = rows(80)
    with small_trees():
        solver = EventSolver(3, Fixed(0.5), intercept=True)
        solver.extend(X, y, w)
        solver.sum_up()
        solver.blank(np.array([0, 1, 78, 79]), (2, 2))
        assert solver.n_rows == 76
        check(solver, X[2:78], y[2:78], w[2:78])
        assert solver.residues() == []

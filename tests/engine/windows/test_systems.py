"""The normal equations of eight windows at once, each against NumPy on its own rows."""

import numpy as np
import pytest

from efface.engine.jit.records import words
from efface.engine.jit.simd import LANES, TILE, aligned
from efface.engine.jit.views import weighed
from efface.engine.sums.sliding import depth_for, lay_out_sums, start_sums
from efface.engine.windows.problem import Problem
from efface.engine.windows.systems import (
    EXPLAINED,
    INVERSE,
    LENGTH,
    NUMBERS,
    SPREAD,
    SQUARES,
    Batch,
    add_moments,
    factorise,
    form,
    offsets_for,
    solve,
    trace_inverse,
    write_measured_rows,
)

S, N = 30, 45


class Systems:
    """A batch of windows of S rows, formed by the kernels."""

    def __init__(self, d, windows, intercept):
        rng = np.random.default_rng(d)
        self.X, self.y = rng.normal(size=(N, d)) + 2.0, rng.normal(size=N) + 5.0
        self.batch, self.intercept = Batch(S, windows), intercept
        self.at = offsets_for(d, intercept, False)
        self._store = aligned(self.at.size * LANES)
        self.f = self._store.reshape(-1, LANES)
        depth = depth_for(S, LANES)
        self._sums = np.zeros(words(lay_out_sums, d, depth))
        sums = lay_out_sums(self._sums, 0, d, depth)[0]
        start_sums(sums, False)
        problem = Problem(self.X, weighed(self.y), S, 0.0, intercept)
        assert form(self.f, self.at, sums, problem, self.batch)
        write_measured_rows(self.f, self.at, sums.centre, problem, self.batch)
        add_moments(self.f, self.at, sums, problem, self.batch)
        self.centre = sums.centre[d + 1] if intercept else 0.0

    def number(self, which, lane):
        return self.f[self.at.numbers + which, lane]

    def window(self, lane):
        """The rows and responses of a window, centred if there is an intercept."""
        X, y = self.X[lane : lane + S], self.y[lane : lane + S]
        return (X - X.mean(axis=0), y - y.mean()) if self.intercept else (X, y)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(("d", "windows"), [(1, 8), (4, 8), (5, 3), (9, 1)])
def test_each_lane_is_the_system_of_its_window(d, windows, intercept):
    systems = Systems(d, windows, intercept)
    f, at = systems.f, systems.at
    penalties = np.linspace(0.0, 3.0, LANES)
    f[at.penalty] = penalties
    factorise(f, at, TILE)
    forward = f[at.factor + (at.m + 1) * at.step - 1 :][: at.m + 1].copy()
    solve(f, at)
    trace_inverse(f, at, d)
    for lane in range(windows):
        X, y = systems.window(lane)
        gram = X.T @ X + penalties[lane] * np.eye(d)
        coef = np.linalg.solve(gram, X.T @ y)
        found = f[at.factor + at.m * at.step :][:d, lane]
        np.testing.assert_allclose(found, coef, rtol=1e-11)
        assert systems.number(INVERSE, lane) == pytest.approx(np.trace(np.linalg.inv(gram)))
        left = systems.number(SQUARES, lane) - systems.number(EXPLAINED, lane)
        assert left == pytest.approx(y @ y - coef @ X.T @ y)
        new = systems.X[S + lane] - (systems.X[lane : lane + S].mean(axis=0) if intercept else 0.0)
        leverage = new @ np.linalg.solve(gram, new) + intercept / S
        assert forward[:, lane] @ forward[:, lane] == pytest.approx(leverage)
        assert systems.number(SPREAD, lane) == pytest.approx((X**2).sum())
        assert f[at.margin, lane] > 0.05


@pytest.mark.parametrize("intercept", [False, True])
def test_a_system_can_be_factorised_again_with_another_penalty(intercept):
    systems, other = (Systems(5, 8, intercept) for _ in range(2))
    f, at = systems.f, systems.at
    for penalty in (7.0, 0.25):
        f[at.penalty] = penalty
        factorise(f, at, TILE)
        solve(f, at)
    other.f[at.penalty] = 0.25
    factorise(other.f, at, TILE)
    solve(other.f, at)
    rows = slice(at.factor, at.inverse)
    assert (f[rows] == other.f[rows]).all()


def test_parts_do_not_overlap():
    for d in range(1, 29):
        at = offsets_for(d, True, False)
        starts = [
            at.matrix,
            at.factor,
            at.inverse,
            at.unit,
            at.own,
            at.weights,
            at.penalty,
            at.numbers,
        ]
        assert starts == sorted(starts)
        assert at.m >= d
        assert at.size == at.numbers + NUMBERS


def test_sum_of_squared_features():
    systems = Systems(3, 8, intercept=False)
    for lane in range(LANES):
        assert systems.number(LENGTH, lane) == pytest.approx((systems.window(lane)[0] ** 2).sum())

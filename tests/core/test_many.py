"""Fixed penalties and many features: ranges of an array, and one event at a time.

A result that is called sound must be right: it is compared with exact fractions.
"""

from __future__ import annotations

import numpy as np
import pytest
from conformance.oracle import Spec, solve

from efface.core import core

WIDTH, WINDOW, ROWS = 34, 90, 260


def plain(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X = rng.normal(size=(ROWS, WIDTH))
    Y = X @ rng.normal(size=(WIDTH, 2)) + rng.normal(size=(ROWS, 2))
    return X, Y, np.ones(ROWS)


def scaled(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, Y, w = plain(rng)
    return X * 10.0 ** rng.integers(-4, 5, WIDTH), Y, w


def shifted(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, Y, w = plain(rng)
    return X + 1e6, Y - 1e5, w


def drifting(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, Y, w = plain(rng)
    return X.cumsum(axis=0), Y.cumsum(axis=0), w


def giant(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, Y, w = plain(rng)
    X[120] *= 1e8
    Y[120] *= 1e8
    X[150, 3] = 1e7
    return X, Y, w


def weighted(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, Y, w = plain(rng)
    w = rng.uniform(0.0, 3.0, ROWS) * (rng.random(ROWS) > 0.1)
    w[130] = 1e8
    return X, Y, w


def dummies(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, Y, w = plain(rng)
    X[:, 2] = 3.5
    X[:, 5] = rng.random(ROWS) < 0.02
    X[:, 7] = np.arange(ROWS) == 140
    return X, Y, w


DESIGNS = [plain, scaled, shifted, drifting, giant, weighted, dummies]


def fixed_windows() -> tuple[np.ndarray, np.ndarray]:
    hi = np.arange(WINDOW, ROWS + 1)
    return hi - WINDOW, hi


def growing() -> tuple[np.ndarray, np.ndarray]:
    hi = np.arange(20, ROWS + 1)
    return np.zeros_like(hi), hi


def varying() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    lo = np.minimum(np.cumsum(rng.integers(0, 3, 150)), ROWS - 10)
    hi = np.minimum(np.maximum.accumulate(lo + rng.integers(0, 120, 150)), ROWS)
    return lo, np.maximum(lo, hi)


def check_answer(
    X: np.ndarray,
    Y: np.ndarray,
    w: np.ndarray,
    spec: Spec,
    coef: np.ndarray,
    level: np.ndarray,
) -> None:
    for response in range(Y.shape[1]):
        answer = solve(X, Y[:, response], spec, w)
        assert answer.coefficient_error(coef[response]) <= 1.0
        assert answer.intercept_error(level[response]) <= 1.0


def spec_of(alpha: float, intercept: bool) -> Spec:
    return Spec("Ridge" if alpha else "OLS", alpha=alpha, intercept=intercept)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 2.0])
@pytest.mark.parametrize("ranges", [fixed_windows, growing, varying])
@pytest.mark.parametrize("design", DESIGNS)
def test_sound_ranges_are_right(design, ranges, alpha, intercept):
    X, Y, w = design(np.random.default_rng(1))
    lo, hi = ranges()
    coef, level, sound = core.solve_many(X, Y, w, lo, hi, alpha, intercept)
    assert coef.shape == (len(lo), 2, WIDTH)
    assert level.shape == (len(lo), 2)
    spec = spec_of(alpha, intercept)
    chosen = np.flatnonzero(sound)
    for i in chosen[:: max(1, len(chosen) // 3)]:
        live = slice(lo[i], hi[i])
        check_answer(X[live], Y[live], w[live], spec, coef[i], level[i])


@pytest.mark.parametrize("alpha", [0.0, 2.0])
@pytest.mark.parametrize("design", [plain, scaled, shifted])
def test_ordinary_windows_are_all_sound(design, alpha):
    X, Y, w = design(np.random.default_rng(2))
    lo, hi = fixed_windows()
    _, _, sound = core.solve_many(X, Y, w, lo, hi, alpha, True)
    assert sound.all()


def test_windows_are_sound_again_when_a_giant_row_has_left():
    X, Y, w = plain(np.random.default_rng(3))
    X[120] *= 1e8
    lo, hi = fixed_windows()
    _, _, sound = core.solve_many(X, Y, w, lo, hi, 0.0, True)
    assert sound[lo > 120].all()
    assert sound[hi <= 120].all()


def test_dependent_features_are_never_sound():
    X, Y, w = plain(np.random.default_rng(4))
    X[:, 5] = X[:, 6] - 2.0 * X[:, 7]
    X[:, 9] = X[:, 8] * (1.0 + 1e-9) + 1e-9 * X[:, 10]
    lo, hi = fixed_windows()
    _, _, sound = core.solve_many(X, Y, w, lo, hi, 0.0, True)
    assert not sound.any()


def test_too_few_rows_are_never_sound_without_a_penalty():
    X, Y, w = plain(np.random.default_rng(5))
    hi = np.arange(10, 100)
    _, _, sound = core.solve_many(X, Y, w, np.maximum(hi - WIDTH, 0), hi, 0.0, True)
    assert not sound.any()


class Events:
    """A window of rows beside the solver that is tested."""

    def __init__(self, window: int, alpha: float, intercept: bool) -> None:
        self.core = core.LiveCore(WIDTH, 2, window, alpha, intercept)
        self.window, self.spec = window, spec_of(alpha, intercept)
        self.first = self.end = 0

    def learn(self, X: np.ndarray, Y: np.ndarray, w: np.ndarray) -> None:
        self.core.learn(X[self.end], Y[self.end], w[self.end])
        self.end += 1
        if self.end - self.first > self.window:
            self.core.drop(1)
            self.first += 1

    def check(self, X: np.ndarray, Y: np.ndarray, w: np.ndarray) -> bool:
        coef, level, sound = self.core.solve()
        live = slice(self.first, self.end)
        if sound:
            check_answer(X[live], Y[live], w[live], self.spec, coef, level)
        return bool(sound)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 2.0])
@pytest.mark.parametrize("design", DESIGNS)
def test_sound_events_are_right(design, alpha, intercept):
    X, Y, w = design(np.random.default_rng(6))
    events = Events(WINDOW, alpha, intercept)
    checked = 0
    for i in range(ROWS):
        events.learn(X, Y, w)
        if i % 41 == 40:
            checked += events.check(X, Y, w)
        else:
            events.core.solve()
    assert checked or design is not plain


def test_events_of_ordinary_rows_are_sound_once_there_are_enough():
    X, Y, w = plain(np.random.default_rng(7))
    events = Events(WINDOW, 0.0, True)
    for i in range(ROWS):
        events.learn(X, Y, w)
        assert events.core.solve()[2] or i < 2 * WIDTH


def words(memory: bytes) -> np.ndarray:
    return np.frombuffer(memory, np.uint64)


@pytest.mark.parametrize("alpha", [0.0, 2.0])
@pytest.mark.parametrize("seed", range(3))
def test_nothing_of_rows_that_left_decides_what_is_in_memory(seed, alpha):
    """Two histories that differ in rows that have left: all memory has the same bits."""
    rng = np.random.default_rng(seed)
    X, Y, w = plain(rng)
    other_x, other_y = X.copy(), Y.copy()
    gone = 60
    other_x[:gone] = rng.normal(size=(gone, WIDTH)) * 100.0
    other_y[:gone] = rng.normal(size=(gone, 2))
    one, two = Events(WINDOW, alpha, True), Events(WINDOW, alpha, True)
    compared = 0
    for i in range(ROWS):
        one.learn(X, Y, w)
        two.learn(other_x, other_y, w)
        if rng.random() < 0.7:
            one.core.solve()
            two.core.solve()
        if i >= gone - 1 + WINDOW:
            assert np.array_equal(words(one.core.memory()), words(two.core.memory()))
            compared += 1
    assert compared > 50


def test_all_memory_is_zero_after_all_rows_have_left():
    X, Y, w = plain(np.random.default_rng(9))
    events = Events(WINDOW, 0.0, True)
    for _ in range(ROWS):
        events.learn(X, Y, w)
        events.core.solve()
    assert words(events.core.memory()).any()
    events.core.drop(WINDOW)
    assert not words(events.core.memory()).any()


@pytest.mark.parametrize("features", [130, 300])
def test_wide_windows_agree_with_least_squares(features):
    rng = np.random.default_rng(features)
    n = 2 * features + 120
    X = rng.normal(size=(n, features))
    Y = X @ rng.normal(size=(features, 1)) + rng.normal(size=(n, 1))
    hi = np.arange(n - 60, n + 1)
    lo = hi - 2 * features
    coef, level, sound = core.solve_many(X, Y, np.ones(n), lo, hi, 0.0, True)
    assert sound.all()
    for i in range(0, len(lo), 9):
        A = np.column_stack([X[lo[i] : hi[i]], np.ones(hi[i] - lo[i])])
        expected = np.linalg.lstsq(A, Y[lo[i] : hi[i], 0])[0]
        np.testing.assert_allclose(
            np.append(coef[i, 0], level[i, 0]), expected, rtol=1e-9, atol=1e-11
        )

"""The pilot fit: its noise level and degrees of freedom, in the primal and the dual form."""

from dataclasses import replace

import numpy as np
import pytest
from twins import regression as naive

from efface.engine.events.pilot import AUTO, RESIDUAL, RESPONSE
from efface.live.event_solver import EventSolver
from efface.live.penalties import Lemma3
from efface.live.trace import Asked

BOTH = Lemma3(theta_max=AUTO, noise=RESIDUAL)


def direct(X, y, intercept, w):
    """The penalty from singular values, where rational arithmetic would be too slow."""
    X, y, w = X[w > 0], y[w > 0], w[w > 0]
    (m, d), n = X.shape, w.sum()
    A, b = X, y
    if intercept:
        A, b = X - np.average(X, axis=0, weights=w), y - np.average(y, weights=w)
    largest = np.abs(A).max()
    A, b = np.sqrt(w)[:, None] * A, np.sqrt(w) * b
    u, s, vt = np.linalg.svd(A, full_matrices=False)
    trace = (s**2).sum()
    lam = 1e-3 * 2.0 ** np.round(np.log2(trace / n))
    share, c = s**2 / (s**2 + lam), u.T @ b
    freedom = m - intercept - share.sum()
    freedom = freedom + n - m if n >= m else freedom * n / m
    sigma = np.sqrt((b @ b - (share * c * c).sum()) / freedom)
    theta = max(np.abs(vt.T @ (s / (s**2 + lam) * c)).max(), sigma / np.sqrt(trace))
    return np.sqrt(2 * n * np.log(2 * d / 0.05)) * sigma * largest / theta


WEIGHINGS = {
    "all 1": lambda rng, n: np.ones(n),
    "integers": lambda rng, n: rng.integers(0, 4, size=n).astype(float),
    "light": lambda rng, n: rng.uniform(0.05, 0.9, size=n),
    "light and heavy": lambda rng, n: rng.choice([0.0, 0.01, 30.0], size=n),
}


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weighing", list(WEIGHINGS))
@pytest.mark.parametrize(
    ("d", "s"),
    [*((12, s) for s in (7, 12, 13, 14, 60)), *((40, s) for s in (20, 41, 60)), (1, 12)],
)
def test_a_sliding_window_equals_its_singular_values(d, s, weighing, intercept):
    rng = np.random.default_rng([d, s])
    X = rng.normal(size=(2 * s + 30, d))
    y = X @ rng.normal(size=d) + rng.normal(size=len(X)) + 2.0
    w = WEIGHINGS[weighing](rng, len(X))
    pilot, twin = (EventSolver(d, BOTH, intercept=intercept) for _ in range(2))
    after = (np.arange(len(y)) >= s).astype(np.int64)
    asked = Asked(coef=False, diagnostics=False, gauges=False)
    penalties = twin.replay(X, y, 0 * after, after, asked, w).penalty
    for t in range(len(y) - 1):
        pilot.learn(X[t], y[t], int(after[t]), w[t])
        live = slice(max(0, t + 1 - s), t + 1)
        if t > 2 and w[live].sum() >= 2 and np.count_nonzero(w[live]) > 2:
            want = direct(X[live], y[live], intercept, w[live])
            assert pilot.penalty_value == pytest.approx(want, rel=1e-8)
        assert penalties[t + 1] == pytest.approx(pilot.penalty_value, rel=1e-9)


@pytest.mark.parametrize("noise", [RESPONSE, RESIDUAL])
def test_fewer_than_two_rows_have_no_penalty(noise):
    pilot = EventSolver(2, Lemma3(theta_max=AUTO, noise=noise), intercept=True)
    assert pilot.penalty_value == 0.0
    pilot.learn(np.ones(2), 1.0, 0)
    assert pilot.penalty_value == 0.0


@pytest.mark.parametrize("intercept", [False, True])
def test_degenerate_rows_have_a_finite_penalty(intercept):
    for noise in (RESPONSE, RESIDUAL):
        penalty = Lemma3(theta_max=AUTO, noise=noise)
        cases = {
            "constant response": (np.eye(4), np.full(4, 0.1)),
            "no response": (np.eye(4), np.zeros(4)),
            "no feature": (np.zeros((4, 4)), np.arange(4.0)),
            "constant features": (np.full((4, 4), 0.3), np.arange(4.0)),
            "no relation": (np.array([[1.0], [-1.0], [1.0], [-1.0]]), np.array([1.0, 1, -1, -1])),
            "no noise": (np.eye(4)[[0, 1, 2, 3, 0, 1, 2, 3]], np.tile([1.0, 2.0, 3.0, 5.0], 2)),
        }
        for name, (X, y) in cases.items():
            pilot = EventSolver(X.shape[1], penalty, intercept=intercept)
            pilot.extend(X, y)
            found = pilot.penalty_value
            noise_name = {RESPONSE: "response", RESIDUAL: "residual"}[noise]
            expected = naive.plugged_penalty(X, y, 0.05, noise_name, "auto", intercept)
            assert np.isfinite(found), name
            assert found == pytest.approx(expected, rel=1e-9, abs=1e-20), name


def test_coefficients_of_zero_give_the_largest_penalty():
    X, y = np.array([[1.0], [-1.0], [1.0], [-1.0]]), np.array([1.0, 1.0, -1.0, -1.0])
    pilot = EventSolver(1, BOTH, intercept=False)
    pilot.extend(X, y)
    assert pilot.penalty_value == pytest.approx(np.sqrt(8 * np.log(40)) * 2.0)


def test_there_is_no_penalty_past_the_switch():
    rng = np.random.default_rng(0)
    pilot = EventSolver(3, replace(BOTH, switch_at=2.0), intercept=True)
    for t in range(9):
        assert (pilot.penalty_value > 0.0) == (2 <= t <= 6)
        pilot.learn(rng.normal(size=3), float(rng.normal()), 0)


def test_an_iteration_from_the_penalty_of_the_paper_diverges():
    """Why the pilot fit has a tiny penalty: refits at each new penalty shrink all coefficients."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 5))
    y = X @ np.full(5, 10.0) + rng.normal(size=60)
    scale = np.sqrt(120 * np.log(200)) * np.abs(X).max()
    lam = [scale * y.std(ddof=1)]
    for _ in range(30):
        hat = X @ np.linalg.solve(X.T @ X + lam[-1] * np.eye(5), X.T)
        theta = np.abs(np.linalg.solve(X.T @ X + lam[-1] * np.eye(5), X.T @ y)).max()
        sigma = np.sqrt((y @ y - y @ hat @ y) / (60 - np.trace(hat)))
        lam.append(scale * sigma / theta)
    pilot = EventSolver(5, BOTH, intercept=False)
    pilot.extend(X, y)
    assert max(lam[20:]) > 1e3 * pilot.penalty_value
    assert pilot.penalty_value < 3 * scale / 10.0

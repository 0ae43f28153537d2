import numpy as np
import pytest

from efface.engine.events.state import tail_for
from efface.live.event_solver import EventSolver
from efface.live.penalties import Fixed
from efface.live.trace import Asked


def test_tails_grow_with_the_number_of_features():
    lengths = [tail_for(width) for width in (1, 10, 100, 300, 1000)]
    assert lengths == sorted(lengths)
    assert lengths[0] < lengths[-1]


@pytest.mark.parametrize("width", [3, 40])
def test_a_second_prediction_equals_the_first(width):
    rng = np.random.default_rng(1)
    solver = EventSolver(width, Fixed(), intercept=True)
    solver.extend(rng.normal(size=(60, width)), rng.normal(size=60))
    x = rng.normal(size=width)
    assert solver.predict(x) == solver.predict(x)
    assert solver.coef.tolist() == solver.coef.tolist()


@pytest.mark.parametrize(("kind", "s"), [("plain", 20), ("scaled", 60), ("rotated", 20)])
def test_windows_of_changing_rank_equal_least_squares(kind, s):
    rng = np.random.default_rng(s)
    X = np.eye(20)[rng.integers(0, 20, size=200)]
    if kind == "scaled":
        X = X * rng.uniform(0.1, 10.0, size=(200, 1))
    if kind == "rotated":
        X = X @ np.linalg.qr(rng.normal(size=(20, 20)))[0]
    y = rng.normal(size=200)
    solver = EventSolver(20, Fixed(), intercept=False)
    for t in range(200):
        solver.learn(X[t], y[t], int(solver.n_rows == s))
        live = slice(max(0, t + 1 - s), t + 1)
        answer, _, rank, _ = np.linalg.lstsq(X[live], y[live], rcond=None)
        np.testing.assert_allclose(solver.coef, answer, atol=1e-10)
        assert solver.rank == rank


@pytest.mark.slow
@pytest.mark.parametrize("s", [20, 60])
@pytest.mark.parametrize("kind", ["plain", "scaled", "rotated"])
def test_five_thousand_windows_of_changing_rank_equal_least_squares(kind, s):
    rng = np.random.default_rng(s + 1)
    X = np.eye(20)[rng.integers(0, 20, size=5000)]
    if kind == "scaled":
        X = X * rng.uniform(0.1, 10.0, size=(5000, 1))
    if kind == "rotated":
        X = X @ np.linalg.qr(rng.normal(size=(20, 20)))[0]
    y, after = rng.normal(size=5000), (np.arange(5000) >= s).astype(np.int64)
    solver = EventSolver(20, Fixed(), intercept=False)
    trace = solver.replay(X, y, 0 * after, after, Asked(True, False, False))
    for t in range(1, 5000):
        live = slice(max(0, t - s), t)
        answer, _, rank, _ = np.linalg.lstsq(X[live], y[live], rcond=None)
        np.testing.assert_allclose(trace.coef[t], answer, atol=1e-10)
        assert trace.rank[t] == rank

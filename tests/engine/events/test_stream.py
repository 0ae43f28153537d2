import numpy as np
import pytest

from efface.engine.events.stream import block_for
from efface.live.memory import Memory, Penalty


def test_tails_grow_with_the_number_of_features():
    lengths = [block_for(width) for width in (1, 10, 100, 300, 1000)]
    assert lengths == sorted(lengths)
    assert lengths[0] < lengths[-1]


@pytest.mark.parametrize("width", [3, 40])
def test_asking_twice_changes_nothing(width):
    rng = np.random.default_rng(1)
    memory = Memory(width, Penalty(), intercept=True)
    memory.extend(rng.normal(size=(60, width)), rng.normal(size=60))
    x = rng.normal(size=width)
    assert memory.predict(x) == memory.predict(x)
    assert memory.coef.tolist() == memory.coef.tolist()


@pytest.mark.parametrize(("kind", "s"), [("plain", 20), ("scaled", 60), ("rotated", 20)])
def test_rank_swings_event_by_event(kind, s):
    rng = np.random.default_rng(s)
    X = np.eye(20)[rng.integers(0, 20, size=200)]
    if kind == "scaled":
        X = X * rng.uniform(0.1, 10.0, size=(200, 1))
    if kind == "rotated":
        X = X @ np.linalg.qr(rng.normal(size=(20, 20)))[0]
    y = rng.normal(size=200)
    memory = Memory(20, Penalty(), intercept=False)
    for t in range(200):
        memory.learn(X[t], y[t], int(memory.n_rows == s))
        live = slice(max(0, t + 1 - s), t + 1)
        answer, _, rank, _ = np.linalg.lstsq(X[live], y[live], rcond=None)
        np.testing.assert_allclose(memory.coef, answer, atol=1e-10)
        assert memory.rank == rank


@pytest.mark.slow
@pytest.mark.parametrize("s", [20, 60])
@pytest.mark.parametrize("kind", ["plain", "scaled", "rotated"])
def test_rank_swings_for_five_thousand_steps(kind, s):
    rng = np.random.default_rng(s + 1)
    X = np.eye(20)[rng.integers(0, 20, size=5000)]
    if kind == "scaled":
        X = X * rng.uniform(0.1, 10.0, size=(5000, 1))
    if kind == "rotated":
        X = X @ np.linalg.qr(rng.normal(size=(20, 20)))[0]
    y, after = rng.normal(size=5000), (np.arange(5000) >= s).astype(np.int64)
    memory = Memory(20, Penalty(), intercept=False)
    trace = memory.replay(X, y, 0 * after, after, coef=True, diagnostics=False)
    for t in range(1, 5000):
        live = slice(max(0, t - s), t)
        answer, _, rank, _ = np.linalg.lstsq(X[live], y[live], rcond=None)
        np.testing.assert_allclose(trace.coef[t], answer, atol=1e-10)
        assert trace.rank[t] == rank

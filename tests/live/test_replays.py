"""Replays of live rows against a model that refits at every row."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import pytest
from twins import regression as naive

from efface.live.live_rows import LiveRows
from efface.live.penalties import Fixed
from efface.live.policies import FIFD, AddDrop, KeepAll, KeepFor
from efface.live.replays import replay_rows

POLICIES = {
    "rows": (FIFD(4), ("rows", 4)),
    "age": (KeepFor(6), ("age", 6)),
    "add": (AddDrop(3, 1), ("add", 3, 1, 0)),
    "add after a start": (AddDrop(2, 2, start=5), ("add", 2, 2, 5)),
    "all": (KeepAll(), ("all",)),
    "calendar age": (KeepFor("6s"), ("age", 6)),
}
START = datetime(2024, 5, 1)


def twins(name):
    """Live rows, and the model that refits."""
    policy, plain = POLICIES[name]
    live = LiveRows(2, Fixed(), intercept=True, policy=policy)
    return live, naive.NaiveModel(("OLS", {}), plain, True, 2)


def moment(name, second):
    """A time as the policy wants it."""
    return START + timedelta(seconds=second) if name == "calendar age" else float(second)


def data(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)), rng.normal(size=n)


@pytest.mark.parametrize("in_order", [False, True], ids=["late", "in order"])
@pytest.mark.parametrize("name", list(POLICIES))
def test_a_replay_predicts_each_row_from_the_rows_live_then(name, in_order):
    live, twin = twins(name)
    X, y = data(30)
    seconds = np.random.default_rng(2).integers(0, 20, size=30).tolist()
    if in_order:
        seconds.sort()
    at = [moment(name, second) for second in seconds]
    trace = replay_rows(live, live.arrivals(X, y, None, at), coef=True, diagnostics=True)
    prediction, _, rank, n_rows, coef = naive.replay(twin, X, y, at=seconds)
    assert trace.prediction == pytest.approx(prediction, rel=1e-9, abs=1e-9)
    assert (trace.rank == rank).all()
    assert (trace.n_rows == n_rows).all()
    assert np.abs(trace.coef - coef).max() < 1e-9
    assert live.index.ids == twin.ids
    for got, want in zip(live.solver.values(), (twin.X, twin.y), strict=False):
        assert (got == want).all()


def test_intervals_see_the_rows_that_were_alive_at_each_row():
    live, _ = twins("rows")
    X, y = data(9)
    live.learn(live.arrivals(X[:3], y[:3], None, None))
    seen = []

    class Half:
        needs_coef = False

        def bounds(self, prediction, gauges, live, windows):
            seen.extend(y.tolist() for _, y, *_ in windows.each())
            return prediction - 0.5, prediction + 0.5

    new = live.arrivals(X[3:], y[3:], None, None)
    trace = replay_rows(live, new, coef=False, diagnostics=False, intervals=Half())
    assert seen == [y[max(0, t - 4) : t].tolist() for t in range(3, 9)]
    assert trace.upper - trace.lower == pytest.approx(np.ones(6))

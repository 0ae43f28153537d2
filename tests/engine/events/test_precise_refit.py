"""Refits of live rows from sums in double-double precision, against refits of the rows."""

from __future__ import annotations

import numpy as np
import pytest
from designs import sample

from efface import OLS, AdaptiveRidge, Ridge, replay
from efface.engine.events.pilot import RESIDUAL, refit_pilot
from efface.engine.events.precise_refit import refit_precisely
from efface.engine.events.rows import SPAN, span_of
from efface.engine.events.state import PILOT, Rule, allocate, open_stream, reset, stream_state
from efface.engine.events.stream import refit_rows
from efface.engine.jit.views import weighed
from efface.engine.sums.precise_sums import allocate_precise


def prepared(X, rule, penalty):
    """A store whose rows ask for a refit, and the span of all rows."""
    store, span = allocate(X.shape[1], True, True, len(X)), np.zeros(SPAN, np.int64)
    reset(store, rule, rule.kind == PILOT)
    span_of(span).end = len(X)
    state = stream_state(store)
    state.penalty = penalty
    return store, span, state


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("penalty", [0.0, 3.0])
@pytest.mark.parametrize("name", ["copied column", "correlation 0.99999", "one-hot"])
def test_a_precise_refit_equals_that_of_the_rows(name, penalty, weighted):
    X, y = sample(name, 50, seed=1)
    w = np.random.default_rng(0).choice([0.0, 1.0, 2.5], size=50) if weighted else None
    one, span, state = prepared(X, Rule(alpha=penalty), penalty)
    other, _, right = prepared(X, Rule(alpha=penalty), penalty)
    sums = allocate_precise(X.shape[1], True, 50)
    span_of(span).weightless = 0 if w is None else np.count_nonzero(w == 0.0)
    assert refit_precisely(X, weighed(y, w), span, one, sums, False)
    refit_rows(X, weighed(y, w), span, other)
    assert open_stream(one).coef == pytest.approx(open_stream(other).coef, rel=1e-9, abs=1e-12)
    assert state.intercept == pytest.approx(right.intercept, rel=1e-9, abs=1e-12)
    assert (state.rank, state.solved_end, state.used) == (right.rank, 50, 1)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["copied column", "correlation 0.99999", "constant column"])
def test_the_penalty_of_a_pilot_fit_equals_that_of_the_rows(name, weighted):
    X, y = sample(name, 50, seed=2)
    w = np.random.default_rng(0).uniform(0.2, 3.0, size=50) if weighted else None
    rule = Rule(PILOT, theta_max=0.0, noise=RESIDUAL)
    found = []
    for precise in (True, False):
        store, span, state = prepared(X, rule, 0.01)
        state.variance, state.largest, state.trace_phi = 2.0, 3.0, 100.0
        if precise:
            sums = allocate_precise(X.shape[1], True, 50)
            assert refit_precisely(X, weighed(y, w), span, store, sums, True)
        else:
            refit_pilot(X, weighed(y, w), span, store)
        assert state.refitted == 1
        found.append(float(state.plugged))
    assert found[0] == pytest.approx(found[1], rel=1e-10)
    assert found[0] > 0.0


def test_few_rows_are_left_to_the_rows():
    X, y = np.eye(4)[:, :3], np.arange(4.0)
    store, span, _ = prepared(X, Rule(), 0.0)
    assert not refit_precisely(X, weighed(y), span, store, allocate_precise(3, True, 4), False)


@pytest.mark.parametrize("kind", [OLS, Ridge, AdaptiveRidge])
@pytest.mark.parametrize("name", ["copied column", "rank swings", "nearly a copy", "bid and ask"])
def test_replays_predict_as_events_do(name, kind):
    X, y = sample(name, 300, seed=3)
    one, other = (kind(window=40).fit(X[:60], y[:60]) for _ in range(2))
    found, right = replay(one, X[60:], y[60:]).prediction, []
    for row, response in zip(X[60:], y[60:], strict=True):
        right.append(other.predict_one(row))
        other.learn_one(row, response)
    assert found == pytest.approx(np.array(right), rel=1e-8, abs=1e-8 * np.abs(y).max())

"""A memory with a pilot fit beside it: both hold the same rows, whatever happens to them."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from row_events import event_lists, run_events
from twins import regression as naive

from efface.engine.events.penalty import PILOT
from efface.engine.events.pilot import AUTO, RESIDUAL
from efface.live.memory import ADAPTIVE, SWITCHING, Memory, Penalty
from efface.live.plugin import PluggedMemory, memory_for

PENALTY = Penalty(ADAPTIVE, theta_max=AUTO, noise=RESIDUAL)
RULE = ("AdaptiveRidge", {"delta": 0.05, "noise": "residual", "theta_max": "auto"})


def test_only_a_penalty_that_needs_a_pilot_has_one():
    for penalty in (Penalty(), Penalty(ADAPTIVE)):
        assert type(memory_for(2, penalty, intercept=True, shrinks=True)) is Memory
    for penalty in (Penalty(ADAPTIVE, theta_max=AUTO), Penalty(ADAPTIVE, noise=RESIDUAL)):
        assert type(memory_for(2, penalty, intercept=True, shrinks=True)) is PluggedMemory


@settings(deadline=None, max_examples=25)
@given(events=event_lists("llllredb", 40), intercept=st.booleans(), seed=st.integers(0, 99))
def test_any_interleaving_of_events_equals_a_refit(events, intercept, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 3)) * [1.0, 10.0, 0.1]
    y = X @ [1.0, -0.2, 3.0] + rng.normal(size=200)
    memory = PluggedMemory(3, PENALTY, intercept=intercept)
    run_events(memory, events, X, y, partial(check, intercept=intercept))


def check(memory, X, y, intercept):
    coef, level, penalty, _ = naive.refit(X, y, RULE, intercept)
    assert memory.penalty_value == pytest.approx(penalty, rel=1e-9)
    np.testing.assert_allclose(memory.coef, coef, rtol=1e-9, atol=1e-9)
    assert memory.intercept == pytest.approx(level, rel=1e-9, abs=1e-9)
    assert memory.n_rows == memory._pilot.n_rows == len(y)


def test_removed_rows_leave_neither_memory_nor_pilot():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(40, 2)), rng.normal(size=40)
    X[7] = 12345.678
    seen, never = (PluggedMemory(2, PENALTY, intercept=True) for _ in range(2))
    for t in range(40):
        seen.append(X[t], y[t])
        seen.predict(X[t])
    seen.remove(np.array([7, 30]))
    keep = np.delete(np.arange(40), [7, 30])
    never.extend(X[keep], y[keep])
    for memory in (seen, seen._pilot):
        for kept in (memory._x, memory._floats):
            assert 12345.678 not in kept
    assert seen.coef.tolist() == never.coef.tolist()
    for t in range(10):
        seen.learn(X[t], y[t], 1)
        never.learn(X[t], y[t], 1)
        assert seen.coef.tolist() == never.coef.tolist()
        assert seen.penalty_value == never.penalty_value


def test_the_working_store_counts_the_pilot():
    memory, plain = PluggedMemory(3, PENALTY, intercept=True), Memory(3, Penalty(), intercept=True)
    for each in (memory, plain):
        each.extend(np.eye(3), np.ones(3))
    assert memory.working_store > 2 * plain.working_store


def test_other_rows_in_the_place_of_all_are_in_both():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    memory, never = (PluggedMemory(2, PENALTY, intercept=True) for _ in range(2))
    memory.extend(X[:30], y[:30])
    memory.predict(X[0])
    memory.replace(X[40:], y[40:])
    never.extend(X[40:], y[40:])
    assert memory.n_rows == memory._pilot.n_rows == 20
    assert memory.penalty_value == never.penalty_value
    assert memory.coef.tolist() == never.coef.tolist()


def test_the_rule_is_that_of_the_pilot_as_long_as_there_is_a_penalty():
    switching = Penalty(SWITCHING, theta_max=AUTO, switch_at=3.0)
    memory = memory_for(2, switching, intercept=True, shrinks=True)
    assert Penalty(*memory.rule(6)) == switching._replace(kind=PILOT)
    assert Penalty(*memory.rule(7)) == Penalty()
    always = memory_for(2, PENALTY, intercept=True, shrinks=True)
    assert Penalty(*always.rule(10**6)) == PENALTY._replace(kind=PILOT, switch_at=np.inf)

"""The state of an event solver: its layout, and what is left in it when rows have left."""

from __future__ import annotations

import numpy as np
import pytest

from efface.engine.events.state import (
    FIXED,
    GIVEN,
    LEMMA_3,
    Rule,
    allocate,
    mark_unsolved,
    open_stream,
    reset,
    set_rule,
    shift,
    stream_state,
    tail_for,
)
from efface.live.event_solver import EventSolver
from efface.live.penalties import Fixed, Lemma3

SHAPE = (
    *("width", "has_intercept", "tail", "shrinks", "depth", "sums_at", "outside_at", "fold_from"),
    *("averages", "standardizes"),
)
PENALTIES = [Fixed(), Fixed(2.0), Lemma3()]


def leaves(parts, name=""):
    """The records and arrays of nested tuples, by name."""
    if not isinstance(parts, tuple):
        return {name: parts}
    found = {}
    for field, part in zip(parts._fields, parts, strict=True):
        found |= leaves(part, f"{name}.{field}".strip("."))
    return found


def numbers(stream):
    """The arrays of a stream that hold numbers derived from rows, not places of rows."""
    return {
        name: part
        for name, part in leaves(stream).items()
        if isinstance(part, np.ndarray) and part.dtype == np.float64
    }


def solved(penalty, n=30, d=3, intercept=True):
    rng = np.random.default_rng([n, d])
    solver = EventSolver(d, penalty, intercept=intercept)
    solver.extend(rng.normal(size=(n, d)) + 3.0, rng.normal(size=n))
    assert solver.coef.size == d
    return solver


@pytest.mark.parametrize("shrinks", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("d", [1, 4, 40])
def test_the_parts_of_a_stream_fill_the_store_and_do_not_overlap(d, intercept, shrinks):
    store = allocate(d, intercept, shrinks, 100)
    assert [int(getattr(stream_state(store), name)) for name in SHAPE[:4]] == [
        *(d, intercept, tail_for(d), shrinks)
    ]
    parts = leaves(open_stream(store))
    assert parts.pop("core.centre").__array_interface__ == (
        parts["sums.centre"].__array_interface__
    )
    for name in ("solved", "formed", "observed"):  # several parts as one array
        parts.pop(name)
    store[:] = 0.0
    for part in parts.values():
        if isinstance(part, np.ndarray):
            part.view(np.int64)[...] += 1
        else:
            for name, (kind, _) in part.dtype.fields.items():
                setattr(part, name, np.int64(1).view(kind))
    assert (store.view(np.int64) == 1).all()


@pytest.mark.parametrize("kind", [FIXED, LEMMA_3])
def test_a_reset_store_is_a_new_one(kind):
    rule = Rule(kind, alpha=0.5, theta_max=3.0)
    store, fresh = (allocate(3, True, True, 50) for _ in range(2))
    state = stream_state(store)
    shape = [getattr(state, name) for name in SHAPE]
    store[:] = 7.5
    for name, value in zip(SHAPE, shape, strict=True):
        setattr(state, name, value)
    reset(store, rule, kind != FIXED)
    reset(fresh, rule, kind != FIXED)
    assert store.tobytes() == fresh.tobytes()
    assert not any(part.any() for part in numbers(open_stream(store)).values())


def test_a_rule_is_read_back_and_marks_the_solution_as_old():
    store = allocate(2, False, True, 10)
    state = stream_state(store)
    state.solved_end = 4
    rule = Rule(LEMMA_3, 0.25, 0.1, 2.0, 5.0, 1, 0.5)
    set_rule(state, rule)
    names = ("rule", "alpha", "delta", "theta_max", "switch_at", "noise", "unit")
    assert tuple(getattr(state, name) for name in names) == rule
    assert state.solved_end == -1
    state.solved_end = 4
    mark_unsolved(store)
    assert state.solved_end == -1


@pytest.mark.parametrize("penalty", PENALTIES)
def test_a_shift_moves_every_place_and_no_number(penalty):
    solver = solved(penalty)
    (store, *_) = solver.stores
    before = store.copy()
    shift(store, -7)
    places = ("tail_start", "core_start", "core_end", "placed", "solved_head", "solved_end")
    for name in places:
        moved = getattr(stream_state(store), name) - getattr(stream_state(before), name)
        assert moved == 7, name
    for name, part in numbers(open_stream(store)).items():
        assert part.tobytes() == numbers(open_stream(before))[name].tobytes(), name
    shift(store, 7)
    assert store.tobytes() == before.tobytes()


@pytest.mark.parametrize("penalty", PENALTIES)
def test_rows_that_move_in_their_array_keep_their_solution(penalty):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(200, 3)), rng.normal(size=200)
    solver = EventSolver(3, penalty, intercept=True)
    for t in range(200):  # more rows than places
        solver.learn(X[t], y[t], int(t >= 12))
        fresh = EventSolver(3, penalty, intercept=True)
        fresh.extend(X[max(0, t - 11) : t + 1], y[max(0, t - 11) : t + 1])
        np.testing.assert_allclose(solver.coef, fresh.coef, rtol=1e-9, atol=1e-11)
    assert solver.rows.capacity < 200


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize(("n", "d"), [(30, 3), (4, 6)])
def test_no_number_is_left_when_all_rows_have_left(penalty, n, d, intercept):
    solver = solved(penalty, n, d, intercept)
    solver.drop(n)
    (store, *_) = solver.stores
    stream = open_stream(store)
    found = {name: part[np.isfinite(part)].any() for name, part in numbers(stream).items()}
    assert [name for name, left in found.items() if left] == []  # bounds of no row are infinite
    state = stream.state
    for name in ("intercept", "penalty", "variance", "largest", "trace_phi"):
        assert getattr(state, name) == 0.0, name
    assert state.solved_end == -1


@pytest.mark.parametrize("penalty", PENALTIES)
def test_a_row_that_leaves_from_the_tail_is_overwritten_in_the_tail_alone(penalty):
    solver = solved(penalty)
    (store, *_) = solver.stores
    stream = open_stream(store)
    outside, stats = stream.outside, stream.stats
    kept = outside.rows[2:].copy()
    solver.drop(2)
    assert stream.state.valid == 1
    assert not outside.rows[:2].any()
    assert not outside.images[:2].any()
    assert not outside.schur[:2].any()
    assert not outside.schur[:, :2].any()
    assert not stats.tail_moments[:2].any()
    assert (outside.rows[2:] == kept).all()
    assert not stream.coef.any()


def test_a_penalty_that_is_given_for_each_event_does_not_stay():
    solver = solved(Fixed(1.0))
    (store, *_) = solver.stores
    state = stream_state(store)
    state.rule, state.alpha = GIVEN, 0.75
    solver.drop(1)
    assert state.alpha == 0.0

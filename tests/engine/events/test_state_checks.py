"""The checks of an event solver's state find damage, and nothing in a healthy state."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from row_events import event_lists, rows_of, run_events

from efface import OLS, replay
from efface.engine.events.state import open_stream
from efface.engine.events.state_checks import residues
from efface.live.event_solver import EventSolver
from efface.live.penalties import Fixed, Lemma3

PENALTIES = {"OLS": Fixed(), "ridge": Fixed(0.5), "adaptive": Lemma3()}


def found(solver):
    return residues(*solver.rows.arrays, solver.stores[0])


def solved(n, d, penalty="ridge"):
    rng = np.random.default_rng([n, d])
    solver = EventSolver(d, PENALTIES[penalty], intercept=True)
    solver.extend(rng.normal(size=(n, d)) + 1.0, rng.normal(size=n))
    assert solver.coef.size == d
    assert found(solver) == []
    return solver, open_stream(solver.stores[0])


@settings(deadline=None, max_examples=15)
@given(
    st.sampled_from(list(PENALTIES)),
    st.booleans(),
    st.sampled_from(["plain", "scaled", "duplicated"]),
    event_lists("lllledr", most=25),
)
def test_a_state_after_random_events_is_healthy(name, intercept, kind, events):
    X, y = rows_of(kind, 120, 3, np.random.default_rng(len(events)))
    solver = EventSolver(3, PENALTIES[name], intercept=intercept)

    def check(solver, X, y):
        assert found(solver) == []
        assert solver.coef.size == 3
        assert found(solver) == []

    run_events(solver, events, X, y, check)
    assert found(solver) == []


@pytest.mark.parametrize("part", ["theta", "factor", "weights", "vectors"])
def test_a_number_in_unused_work_space_is_found(part):
    solver, stream = solved(30, 3)
    solver.drop(1)
    getattr(stream.work, part)[0, 0] = 1.5
    assert found(solver) == [f"work.{part}"]


def test_coefficients_of_rows_that_have_left_are_found():
    solver, stream = solved(30, 3)
    solver.drop(1)
    stream.coef[1] = 1.5
    assert found(solver) == ["coef"]


@pytest.mark.parametrize(
    ("part", "name"),
    [
        (lambda s: s.core.scratch, "core.scratch"),
        (lambda s: s.outside.rows, "outside"),
        (lambda s: s.outside.images, "outside"),
        (lambda s: s.outside.weight, "outside"),
        (lambda s: s.sums.rows, "sums.rows"),
        (lambda s: s.sums.stack, "sums.stack[{last}]"),
    ],
)
def test_a_number_in_a_free_place_is_found(part, name):
    solver, stream = solved(30, 3)
    part(stream).reshape(-1)[-1] = 1.5
    assert found(solver) == [name.format(last=stream.sums.starts.size - 1)]


@pytest.mark.parametrize(
    ("part", "name"),
    [
        (lambda s: s.core.inverse, "core"),
        (lambda s: s.core.theta, "core"),
        (lambda s: s.outside.schur, "outside"),
        (lambda s: s.stats.tail_moments, "stats"),
        (lambda s: s.sums.total, "sums.total"),
        (lambda s: s.sums.centre, "sums.centre"),
    ],
)
def test_a_number_in_a_state_without_a_core_is_found(part, name):
    solver, stream = solved(30, 3)
    solver.drop(30)
    assert found(solver) == []
    part(stream).reshape(-1)[0] = 1.5
    assert found(solver) == [name]


def test_a_changed_row_of_the_tail_is_found():
    solver, stream = solved(30, 3)
    stream.outside.rows[1, 2] += 1e-9
    assert found(solver) == ["outside.rows"]


def test_a_changed_row_of_a_dual_core_is_found():
    solver, stream = solved(12, 20)
    assert stream.core.state.dual == 1
    stream.core.rows[0, 3] += 1e-9
    assert found(solver) == ["core.rows"]


def test_a_changed_sum_is_found():
    solver, stream = solved(30, 3)
    stream.sums.total[1, 0] += 1e-3
    assert found(solver) == ["sums.total"]


@pytest.mark.parametrize(("n", "d"), [(30, 3), (12, 20)])
def test_a_core_with_rows_that_have_left_is_found(n, d):
    solver, stream = solved(n, d)
    solver.rows.drop(int(stream.state.core_start) + 1)  # the state is not released
    assert "core" in found(solver)
    assert "outside" in found(solver)


@pytest.mark.parametrize("seed", range(40))
def test_a_sound_model_has_no_residue_after_a_replay(seed):
    rng = np.random.default_rng(seed)
    model = OLS(window=None if seed % 2 else 4)
    for _ in range(rng.integers(1, 8)):
        model.learn_one(rng.normal(size=2), rng.normal(), weight=float(rng.integers(0, 3)))
    n = int(rng.integers(1, 7))
    weights = rng.integers(0, 3, size=n).astype(float)
    replay(model, rng.normal(size=(n, 2)), rng.normal(size=n), sample_weight=weights)
    assert model._live.solver.residues() == []

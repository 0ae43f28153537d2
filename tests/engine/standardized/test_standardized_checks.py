"""The checks of a standardised solver's state find damage, and nothing in a healthy state."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from row_events import event_lists, rows_of, run_events

from efface.engine.standardized.standardized_checks import standard_residues
from efface.engine.standardized.standardized_fit import open_standard
from efface.live.penalties import Fixed, Lemma3
from efface.live.standardized_solver import StandardizedSolver

PENALTIES = {"OLS": Fixed(), "ridge": Fixed(0.5), "adaptive": Lemma3()}


def found(solver):
    return standard_residues(*solver.rows.arrays, solver.stores[0])


def solved():
    rng = np.random.default_rng(0)
    solver = StandardizedSolver(3, PENALTIES["ridge"], intercept=True)
    solver.extend(rng.normal(size=(30, 3)) + 1.0, rng.normal(size=30))
    assert solver.coef.size == 3
    assert found(solver) == []
    return solver, open_standard(solver.stores[0])


@settings(deadline=None, max_examples=15)
@given(
    st.sampled_from(list(PENALTIES)),
    st.booleans(),
    st.sampled_from(["plain", "scaled", "duplicated"]),
    event_lists("lllledr", most=25),
)
def test_a_state_after_random_events_is_healthy(name, intercept, kind, events):
    X, y = rows_of(kind, 120, 3, np.random.default_rng(len(events)))
    solver = StandardizedSolver(3, PENALTIES[name], intercept=intercept)

    def check(solver, X, y):
        assert found(solver) == []
        assert solver.coef.size == 3
        assert found(solver) == []

    run_events(solver, events, X, y, check)
    assert found(solver) == []


@pytest.mark.parametrize("part", ["products", "system", "shift", "coef", "row", "scratch"])
def test_a_number_in_an_unused_frame_is_found(part):
    solver, stream = solved()
    solver.drop(1)
    getattr(stream.frame, part).reshape(-1)[0] = 1.5
    assert found(solver) == ["frame"]


def test_coefficients_of_rows_that_have_left_are_found():
    solver, stream = solved()
    solver.drop(1)
    stream.coef[0] = 1.5
    assert found(solver) == ["coef"]


@pytest.mark.parametrize("part", ["total", "recent"])
def test_a_changed_sum_is_found(part):
    solver, stream = solved()
    getattr(stream.sums, part)[1, 0] += 1e-3
    assert f"sums.{part}" in found(solver)


def test_a_centre_without_sums_is_found():
    solver, stream = solved()
    solver.drop(30)
    assert found(solver) == []
    stream.sums.centre[0] = 1.5
    assert found(solver) == ["sums.centre"]


def test_sums_of_rows_that_have_left_are_found():
    solver, _ = solved()
    solver.rows.drop(1)  # the state is not released
    assert "sums.total" in found(solver)

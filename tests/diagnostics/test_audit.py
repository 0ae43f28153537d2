"""The audit: holds after random events, and finds damage done on purpose."""

from __future__ import annotations

import ctypes
import json
from dataclasses import replace

import numpy as np
import pytest
from designs import DESIGNS, sample
from hypothesis import given, settings
from random_models import HISTORIES, MODELS, after_events
from twins import diagnostics as naive_diagnostics

from efface import OLS, KeepFor, audit, diagnose, load


@settings(deadline=None, max_examples=150)
@given(HISTORIES)
def test_the_audit_holds_after_random_events(history):
    model, X, gone = after_events(*history, choices=(0.0, 1e-3, 1.0, 3.0, 1e4))
    found = audit(model, gone)
    assert found.holds, found.verdict
    assert found.canonical
    assert found.remembered == ()
    assert found.error <= found.tolerance
    assert (found.n_rows, found.rank) == (len(X), model.rank_)
    assert found.verdict.startswith(f"holds: {len(X)} live row")


def test_the_verdict_states_rows_error_tolerance_and_forgotten_ids():
    model = OLS(window=500).fit(np.random.default_rng(0).normal(size=(504, 2)), np.arange(504.0))
    found = audit(model, forgotten=range(4))
    assert found.error < 1e-12
    assert found.verdict == (
        f"holds: 500 live rows, coefficients within {found.error:.2g} of a refit (allowed 1e-09), "
        "none of the 4 forgotten ids is alive"
    )


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", DESIGNS)
def test_models_of_every_design_hold(name, intercept):
    X, y = sample(name, 90, seed=1)
    for units in (1.0, np.geomspace(1e-12, 1e12, X.shape[1])):
        model = OLS(window=30, fit_intercept=intercept).fit(X[:40] * units, y[:40])
        assert audit(model).holds
        for row, response in zip(X[40:] * units, y[40:], strict=True):
            model.learn_one(row, response)
        found = audit(model)
        assert found.holds, found.verdict
        assert diagnose(model).rank == model.rank_


@pytest.mark.parametrize(("d", "s"), [(30, 30), (60, 61), (100, 101), (160, 161)])
def test_about_as_many_rows_as_features_hold(d, s):
    rng = np.random.default_rng(d)
    X = rng.normal(size=(s + 6, d))
    y = X @ rng.normal(size=d) + rng.normal(size=s + 6)
    model = OLS(window=s).fit(X[:s], y[:s])
    for row, response in zip(X[s:], y[s:], strict=True):
        model.learn_one(row, response)
        found = audit(model)
        assert found.holds, found.verdict
        assert found.error < 1e-9


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("standardize", [False, True])
def test_constant_features_among_few_rows_hold_and_have_coefficient_0(standardize, weighted):
    rng = np.random.default_rng(5)
    for _ in range(100):
        d = int(rng.integers(2, 14))
        n = int(rng.integers(2, d + 2))
        X, y = rng.normal(size=(n, d)), rng.normal(size=n) + 1e3
        constant = int(rng.integers(d))
        X[:, constant] = rng.choice([1.0, 1 / 3, 1e3, 1e6, 1e9])
        w = rng.uniform(0.1, 3.0, size=n) if weighted else None
        model = OLS(standardize=standardize).fit(X, y, sample_weight=w)
        assert model.coef_[constant] == 0.0
        found = audit(model)
        assert found.holds, found.verdict


def test_forgotten_ids_that_are_alive_are_named():
    model = OLS().fit(np.eye(3), [1.0, 2.0, 3.0], ids=["ann", "bob", 7])
    found = audit(model, forgotten=["bob", "eve", 7])
    assert not found.holds
    assert found.remembered == ("bob", 7)
    assert found.verdict == "fails: 2 of the 3 forgotten ids are alive: 'bob', 7"
    assert audit(model, "ann").verdict == "fails: 1 of the 1 forgotten id is alive: 'ann'"


def fitted(kind="Ridge", n=30):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(n, 3))
    return MODELS[kind](window=n).fit(X, X @ [1.0, -2.0, 0.5] + 4.0 + 0.1 * rng.normal(size=n))


X_PLACE, Y_PLACE, WEIGHT, OWN_WEIGHT, SOLUTION, TREE = range(6)  # in the memory of a window


def spoil(model, part, at, value):
    """Write a number into memory that is offered read-only."""
    memory = model._live.solver.window.memory()[part]
    ctypes.c_double.from_address(memory.ctypes.data + 8 * at).value = value


def held(model, part, at):
    return float(model._live.solver.window.memory()[part][at])


def test_an_altered_coefficient_is_found():
    model = fitted()
    assert audit(model).holds
    assert model.coef_.size
    spoil(model, SOLUTION, 1, held(model, SOLUTION, 1) * (1 + 1e-6))
    found = audit(model)
    assert not found.holds
    assert found.canonical  # the file that save would write is right
    assert 1e-8 < found.error < 1e-5
    assert found.verdict.startswith("fails: coefficients differ from a refit on the live rows by")
    assert diagnose(model).residue == found.error


def test_an_altered_intercept_is_found():
    model = fitted()
    assert model.coef_.size
    spoil(model, SOLUTION, 3, held(model, SOLUTION, 3) + 1e-6)
    assert not audit(model).holds


def test_an_altered_row_is_found():
    model = fitted()
    assert model.coef_.size
    spoil(model, X_PLACE, 12, held(model, X_PLACE, 12) + 1e-3)
    found = audit(model)
    assert not found.holds
    assert found.error > 1e-6


def test_an_altered_weight_is_found():
    model = fitted()
    model.partial_fit(np.eye(3), np.zeros(3), sample_weight=[2.0, 0.5, 0.0])
    assert audit(model).holds
    assert model.coef_.size  # solved before the rows are altered
    head = int(np.flatnonzero(model._live.solver.window.memory()[WEIGHT])[0])
    for place in (head + 27, head + 28):
        weight = held(model, WEIGHT, place)
        for part in (WEIGHT, OWN_WEIGHT):
            spoil(model, part, place, weight * 1.01)
        found = audit(model)
        assert not found.holds
        assert found.error > 1e-6
        for part in (WEIGHT, OWN_WEIGHT):
            spoil(model, part, place, weight)
    assert audit(model).holds
    spoil(model, OWN_WEIGHT, head + 29, 0.01)  # this row had the weight 0
    assert not audit(model).holds


def test_a_negative_weight_is_found():
    model = fitted()
    spoil(model, OWN_WEIGHT, 3, -1.0)
    assert audit(model).verdict == (
        "fails: its state is inconsistent (weights that are no weights)"
    )


def test_a_weight_that_differs_from_the_given_one_is_found():
    model = fitted()
    assert model.coef_.size
    spoil(model, WEIGHT, 3, 1.001)
    found = audit(model)
    assert not found.canonical
    assert found.residues == ("tree",)


def test_a_penalty_that_does_not_follow_from_the_live_rows_is_found():
    model = fitted("AdaptiveRidge, the paper's")
    right = model.penalty_
    live = model._live
    rule = replace(live.solver.penalty, theta_max=0.5)  # half of it doubles the penalty
    other = type(live.solver)(3, rule, intercept=True)
    other.use_walls(live.index.walls)
    other.extend(*live.solver.values())
    live.solver = other
    found = audit(model)
    assert not found.holds
    assert f"'penalty_' is {2 * right:.6g} but the live rows give {right:.6g}" in found.verdict


def test_a_value_in_a_free_cell_is_found():
    model = fitted()
    spoil(model, X_PLACE, model._live.solver.window.memory()[X_PLACE].size - 1, 1.0)
    found = audit(model)
    assert not found.holds
    assert not found.canonical
    text = "fails: its state is not that of a fresh model given the live rows"
    assert found.verdict == f"{text} ('rows')"


@pytest.mark.parametrize(
    ("damage", "finding"),
    [
        (lambda live: live.index.drop(1), "rows, responses and ids differ in number"),
        (lambda live: setattr(live, "phase", -1), "a phase that is not a whole number"),
    ],
)
def test_an_inconsistent_state_is_found(damage, finding):
    model = fitted()
    damage(model._live)
    found = audit(model, forgotten=[3])
    assert not found.holds
    assert not found.canonical
    assert found.verdict == f"fails: its state is inconsistent ({finding})"


def test_an_audit_gives_the_same_result_twice_and_after_loading(tmp_path):
    model = fitted()
    model.forget([3, 4])
    model.save(tmp_path / "model")
    assert audit(load(tmp_path / "model"), [3, 4]).holds
    assert audit(model, [3, 4]) == audit(model, [3, 4])


def test_the_tolerance_of_ill_conditioned_rows_is_the_effect_of_their_last_digit():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 3))
    X[:, 2] = X[:, 0] + 1e-6 * rng.normal(size=40)
    found = audit(OLS().fit(X, rng.normal(size=40)))
    assert found.holds
    assert 1e-8 < found.tolerance < 1e-1
    assert found.condition == pytest.approx(naive_diagnostics.condition(X, True), rel=1e-6)


def test_parameters_changed_since_the_fit_are_ignored():
    model = fitted()
    model.set_params(alpha=100.0, fit_intercept=False, window=2)
    assert audit(model).holds
    assert diagnose(model).penalty == 0.7


def test_an_audit_is_readable_in_a_terminal():
    model = OLS(fit_intercept=False).fit([[2.0, 0.0], [0.0, 1.0], [0.0, 1.0]], [2.0, 1.0, 3.0])
    lines = repr(audit(model, [1])).splitlines()
    assert lines[0] == "Audit fails: 1 of the 1 forgotten id is alive: 1"
    assert "  remembered  1" in lines
    many = repr(audit(OLS().fit(np.eye(9), np.arange(9.0)), range(9)))
    assert "0, 1, 2, 3, 4 and 4 more" in many


def test_a_value_that_is_not_finite_is_found():
    model = fitted()
    spoil(model, X_PLACE, 5, np.nan)
    text = "fails: its state is inconsistent (values that are not finite)"
    assert audit(model).verdict == text


def test_a_sum_that_contains_another_row_is_found():
    model = fitted()
    assert model.coef_.size
    tree = model._live.solver.window.memory()[TREE]
    spoil(model, TREE, int(np.flatnonzero(tree)[0]), 1e-3)
    found = audit(model)
    assert not found.holds
    assert found.residues == ("tree",)


def test_a_sliding_sum_that_contains_another_row_is_found():
    model = fitted()
    for row in np.random.default_rng(8).normal(size=(60, 3)):
        model.predict_one(row)
        model.learn_one(row, 1.0)
    assert audit(model).holds
    sums = model._live.solver.window.memory()[TREE:]
    place = max(range(len(sums)), key=lambda part: np.count_nonzero(sums[part])) + TREE
    count = np.flatnonzero(model._live.solver.window.memory()[place])
    spoil(model, place, int(count[count.size // 2]), 0.125)
    assert audit(model).residues in (("sums",), ("tree",))


def test_a_number_in_scratch_is_found():
    model = fitted()
    assert model.coef_.size
    last = len(model._live.solver.window.memory()) - 1
    spoil(model, last, 7, 1.5)
    assert audit(model).residues == ("scratch",)


@pytest.mark.parametrize("kind", sorted(MODELS))
def test_the_audit_holds_with_fewer_rows_than_features(kind):
    X = np.random.default_rng(3).normal(size=(4, 6)) + 2.0
    model = MODELS[kind](window=9).fit(X, X[:, 0])
    assert model.coef_.size == 6
    assert audit(model).residues == ()


def test_the_audit_holds_after_a_late_row_of_a_standardised_model():
    X = np.random.default_rng(4).normal(size=(10, 3))
    model = OLS(KeepFor(30.0), standardize=True)
    for t in range(8):
        model.learn_one(X[t], 1.0 * t, at=1.0 * t)
    assert model.coef_.size == 3
    for t, time in ((8, 10.0), (9, 9.5)):  # the last row comes late
        model.learn_one(X[t], 1.0, at=time)
    assert audit(model).residues == ()


def test_forgotten_owners_are_searched():
    X = np.random.default_rng(3).normal(size=(9, 2))
    model = OLS().fit(X, X[:, 0], owners=["ann", "bob", "eve"] * 3, until=[None, 9.0, 8.0] * 3)
    model.forget(owner="ann")
    found = audit(model, forgotten_owners="ann")
    assert found.holds
    assert found.verdict.endswith(", none of the 1 forgotten owner has a live row")
    again = audit(model, forgotten=[0, 1], forgotten_owners=["ann", "eve", "bob"])
    assert not again.holds
    assert (again.remembered, again.remembered_owners) == ((1,), ("eve", "bob"))
    assert "1 of the 2 forgotten ids is alive: 1" in again.verdict
    assert "2 of the 3 forgotten owners have live rows: 'eve', 'bob'" in again.verdict


def test_an_owner_and_an_end_of_a_departed_row_are_found():
    X = np.random.default_rng(3).normal(size=(6, 2))
    model = OLS().fit(X, X[:, 0], owners=["ann", "bob"] * 3, until=range(6))
    assert audit(model).residues == ()
    model._live.marks.owners.add(["gone"], ["ann"])
    model._live.marks.consents.add(["gone"], [4.0])
    found = audit(model)
    assert not found.canonical
    assert found.residues == ("owners", "ends")


def test_an_audit_is_a_dict_that_json_can_hold():
    model = OLS().fit([[1.0], [2.0]], [1.0, 2.0])
    found = audit(model, forgotten=[1]).to_dict()
    assert json.loads(json.dumps(found)) == found
    assert found["remembered"] == [1]
    assert found["holds"] is False

"""Diagnosis and audit: against dense algebra in 50 digits, and against damage done on purpose."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from twins import diagnostics as naive_diagnostics

from efface import (
    FIFD,
    OLS,
    AdaptiveRidge,
    AddDrop,
    KeepAll,
    KeepFor,
    Ridge,
    SwitchingRidge,
    audit,
    diagnose,
    forecast_forgetting,
    load,
)
from efface.engine.events import stream
from efface.errors import BadRow, InvalidValue, NotFitted

MODELS = {
    "OLS": OLS,
    "Ridge": lambda **given: Ridge(alpha=0.7, **given),
    "AdaptiveRidge": AdaptiveRidge,
    "AdaptiveRidge, the paper's": lambda **given: AdaptiveRidge(
        noise="response", theta_max=1.0, **given
    ),
    "SwitchingRidge": lambda **given: SwitchingRidge(switch_at=1.5, **given),
}
POLICIES = [FIFD(9), FIFD(2), KeepFor(12.0), AddDrop(3, 1, 4), KeepAll()]


def plain(rng, n, d):
    return rng.normal(size=(n, d))


STREAMS = {
    "plain": plain,
    "columns from 1e-4 to 1e4": lambda rng, n, d: plain(rng, n, d) * np.geomspace(1e-4, 1e4, d),
    "large means": lambda rng, n, d: plain(rng, n, d) + 1e6 * rng.normal(size=d),
    "repeated rows": lambda rng, n, d: rng.integers(-2, 3, (3, d))[rng.integers(0, 3, n)] * 1.0,
    "unit vectors": lambda rng, n, d: np.eye(d)[rng.integers(0, d, n)] * rng.integers(1, 4, (n, 1)),
    "tiny": lambda rng, n, d: 1e-12 * plain(rng, n, d),
    "huge": lambda rng, n, d: 1e12 * plain(rng, n, d),
}


def lived(kind, policy, intercept, rows, seed, d=3, n=26, choices=(0.0, 0.5, 1.0, 3.0)):
    """A model after a random life of learning, forgetting and expiring; its rows; who has left.

    Every other life has weights.
    """
    rng = np.random.default_rng([seed, d])
    X = STREAMS[rows](rng, n, d)
    y = X @ (rng.normal(size=d) / np.abs(X).max()) + rng.normal(size=n)
    model = MODELS[kind](window=policy, fit_intercept=intercept)
    timed = isinstance(policy, KeepFor)
    names = [f"r{t}" for t in range(n)]
    weights = rng.choice(choices, size=n) if seed % 2 else np.ones(n)
    for t in range(n - rng.integers(0, n)):
        at = float(t) if timed else None
        model.learn_one(X[t], y[t], id=names[t], at=at, weight=weights[t])
        if rng.random() < 0.15 and model.n_rows_:
            model.forget(model.ids_[rng.integers(model.n_rows_)])
        if rng.random() < 0.1 and timed:
            model.expire(t + float(rng.integers(0, 14)))
    alive = [names.index(id) for id in model.ids_]
    gone = [id for id in names if id not in model.ids_]
    return model, X[alive], gone


lives = st.tuples(
    st.sampled_from(sorted(MODELS)),
    st.sampled_from(POLICIES),
    st.booleans(),
    st.sampled_from(sorted(STREAMS)),
    st.integers(0, 10**6),
)


# -- diagnose ----------------------------------------------------------------------------------


@settings(deadline=None, max_examples=150)
@given(lives)
def test_a_diagnosis_is_what_dense_algebra_says(life):
    model, X, _ = lived(*life)
    x = np.abs(X).max(initial=1.0) * np.array([1.0, -0.5, 0.25])
    found = diagnose(model, x)
    w = model._live.memory.weights
    assert found.n_rows == model.n_rows_ == len(X) == len(w)
    assert found.penalty == model.penalty_
    if not len(X):
        assert found.leverage_oldest is found.leverage_new is found.frt is None
        return
    twin = naive_diagnostics.Window(X, life[2], model.penalty_, w)
    close = lambda value: pytest.approx(float(value), rel=1e-7, abs=1e-300)  # noqa: E731
    assert found.rank == model.rank_ == twin.rank
    assert found.smallest_eigenvalue == close(twin.values[-1])
    assert found.largest_eigenvalue == close(twin.values[0])
    if twin.heft:
        assert found.phi2 == close((twin.values[-1] + twin.lam) / twin.heft)
    assert found.condition == (
        close(twin.values[0] / twin.values[-1]) if twin.rank == 3 else math.inf
    )
    share = lambda value: pytest.approx(float(value), rel=1e-7, abs=1e-20)  # noqa: E731
    assert found.leverage_oldest == share(w[0] * twin.inner(X[0], X[0]))  # less is rounding
    assert found.leverage_new == share(twin.inner(x, x))
    assert found.frt == share(twin.frt(X[0], x, w[0]))
    assert found.degrees_of_freedom == close(twin.degrees_of_freedom)
    assert found.residue <= audit(model).tolerance


def test_a_diagnosis_without_an_arrival_leaves_its_part_out():
    model = OLS().fit(np.eye(3), [1.0, 2.0, 3.0])
    found = diagnose(model)
    assert found.leverage_new is None
    assert found.frt is None
    assert found.leverage_oldest == pytest.approx(1.0)  # no other row spans it


def test_one_row_says_all_of_itself():
    model = Ridge().fit([[3.0, 4.0]], [2.0])
    found = diagnose(model, [0.0, 0.0])
    assert (found.n_rows, found.rank, found.condition) == (1, 0, math.inf)
    assert found.smallest_eigenvalue == found.largest_eigenvalue == 0.0
    assert found.degrees_of_freedom == 1.0  # the intercept
    assert found.leverage_oldest == 1.0
    bare = diagnose(Ridge(alpha=5.0, fit_intercept=False).fit([[3.0, 4.0]], [2.0]))
    assert bare.largest_eigenvalue == pytest.approx(25.0)
    assert bare.leverage_oldest == bare.degrees_of_freedom == pytest.approx(25 / 30)
    assert bare.penalised_condition == pytest.approx(6.0)
    assert bare.phi2 == pytest.approx(5.0)


def test_fewer_rows_than_features_are_deficient_and_the_penalty_makes_up():
    X = np.random.default_rng(0).normal(size=(4, 9))
    found = diagnose(Ridge(alpha=2.0, fit_intercept=False).fit(X, np.arange(4.0)))
    assert (found.rank, found.smallest_eigenvalue, found.condition) == (4, 0.0, math.inf)
    assert found.penalised_condition == pytest.approx(found.largest_eigenvalue / 2 + 1)
    hat = X @ np.linalg.inv(X.T @ X + 2 * np.eye(9)) @ X.T
    assert found.degrees_of_freedom == pytest.approx(np.trace(hat), rel=1e-12)
    assert found.leverage_oldest == pytest.approx(hat[0, 0], rel=1e-12)


@pytest.mark.parametrize("factor", [1e-150, 1e150])
def test_leverages_do_not_depend_on_units(factor):
    X = np.random.default_rng(1).normal(size=(8, 3))
    found = [diagnose(OLS().fit(rows, np.arange(8.0)), rows[3] * 2) for rows in (X, X * factor)]
    for name in ("rank", "condition", "leverage_oldest", "leverage_new", "frt"):
        assert getattr(found[1], name) == pytest.approx(getattr(found[0], name), rel=1e-12)


def test_an_arrival_is_checked():
    model = OLS().fit(np.eye(2), [1.0, 2.0])
    with pytest.raises(InvalidValue, match=r"'x' is \(3,\): expected the shape \(2,\)"):
        diagnose(model, [1.0, 2.0, 3.0])
    with pytest.raises(BadRow, match="'x' at column 1 is NaN"):
        diagnose(model, [1.0, math.nan])


@pytest.mark.parametrize("ask", [diagnose, audit, lambda model: forecast_forgetting(model, 1)])
def test_a_model_without_a_life_cannot_be_asked(ask):
    with pytest.raises(NotFitted, match="'OLS' is not fitted"):
        ask(OLS())


@pytest.mark.parametrize("kind", sorted(MODELS))
def test_asking_changes_nothing(kind, tmp_path):
    model, _, _ = lived(kind, FIFD(9), True, "plain", 3)
    other, _, _ = lived(kind, FIFD(9), True, "plain", 3)
    before = model.coef_
    diagnose(model, np.ones(3)), audit(model), forecast_forgetting(model, 4)
    assert (model.coef_ == before).all()
    for each in (model, other):
        each.learn_one(np.array([1.0, 2.0, 3.0]), 4.0)
        each.save(tmp_path / ("a" if each is model else "b"))
    assert (model.coef_ == other.coef_).all()
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


# -- audit -------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=150)
@given(lives)
def test_every_life_stands_an_audit(life):
    model, X, gone = lived(*life, choices=(0.0, 1e-3, 1.0, 3.0, 1e4))
    found = audit(model, gone)
    assert found.holds, found.verdict
    assert found.canonical
    assert found.remembered == ()
    assert found.error <= found.tolerance
    assert (found.n_rows, found.rank) == (len(X), model.rank_)
    assert found.verdict.startswith(f"holds: {len(X)} live row")


def test_the_verdict_gives_the_figures():
    model = OLS(window=500).fit(np.random.default_rng(0).normal(size=(504, 2)), np.arange(504.0))
    found = audit(model, forgotten=range(4))
    assert found.error < 1e-12
    assert found.verdict == (
        f"holds: 500 live rows, coefficients within {found.error:.2g} of a refit (allowed 1e-09), "
        "none of the 4 forgotten ids is alive"
    )


def test_rows_that_were_to_be_forgotten_and_are_alive_are_named():
    model = OLS().fit(np.eye(3), [1.0, 2.0, 3.0], ids=["ann", "bob", 7])
    found = audit(model, forgotten=["bob", "eve", 7])
    assert not found.holds
    assert found.remembered == ("bob", 7)
    assert found.verdict == "fails: 2 of the 3 forgotten ids are alive: 'bob', 7"
    assert audit(model, "ann").verdict == "fails: 1 of the 1 forgotten id is alive: 'ann'"


def healthy(kind="Ridge", n=30):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(n, 3))
    return MODELS[kind](window=n).fit(X, X @ [1.0, -2.0, 0.5] + 4.0 + 0.1 * rng.normal(size=n))


def test_an_altered_coefficient_is_found():
    model = healthy()
    assert audit(model).holds
    memory = model._live.memory
    stream.solution(memory._floats, memory.width)[1][1] *= 1 + 1e-6
    found = audit(model)
    assert not found.holds
    assert found.canonical  # what would be saved is still right
    assert 1e-8 < found.error < 1e-5
    assert found.verdict.startswith("fails: coefficients differ from a refit on the live rows by")
    assert diagnose(model).residue == found.error


def test_an_altered_intercept_is_found():
    model = healthy()
    memory = model._live.memory
    assert model.coef_.size
    stream.solution(memory._floats, memory.width)[0][:] += 1e-6
    assert not audit(model).holds


def test_an_altered_row_is_found():
    model = healthy()
    assert model.coef_.size
    model._live.memory._x[model._live.memory._span[0] + 4, 0] += 1e-3
    found = audit(model)
    assert not found.holds
    assert found.error > 1e-6


def test_an_altered_weight_is_found():
    model = healthy()
    model.partial_fit(np.eye(3), np.zeros(3), sample_weight=[2.0, 0.5, 0.0])
    assert audit(model).holds
    memory = model._live.memory
    last = memory._span[1] - 1
    for row in memory._y[last - 2 : last]:
        row[1:] = np.sqrt(row[2] * 1.01), row[2] * 1.01
        found = audit(model)
        assert not found.holds
        assert found.error > 1e-6
        row[1:] = np.sqrt(row[2] / 1.01), row[2] / 1.01
    memory._y[last, 1:] = 0.1, 0.01  # a row that was to say nothing
    assert not audit(model).holds


def test_a_weight_that_is_none_contradicts_itself():
    model = healthy()
    model._live.memory._y[3, 2] = -1.0
    assert audit(model).verdict == (
        "fails: its state contradicts itself (weights that are no weights)"
    )


def test_a_root_that_is_not_that_of_its_weight_is_found():
    model = healthy()
    assert model.coef_.size
    model._live.memory._y[3, 1] += 1e-3
    found = audit(model)
    assert not found.canonical
    assert found.verdict == "fails: its state is not that of a fresh model given the live rows"


def test_a_penalty_that_remembers_is_found():
    model = healthy("AdaptiveRidge, the paper's")
    right = model.penalty_
    memory = model._live.memory
    memory._penalty[3] = 0.5  # theta_max: as if the largest entry had been twice as large
    memory.rebuild()
    found = audit(model)
    assert not found.holds
    assert f"'penalty_' is {2 * right:.6g} where the rows ask for {right:.6g}" in found.verdict


def test_numbers_left_in_the_place_of_a_row_are_found():
    model = healthy()
    model._live.memory._x[-1, 0] = 1.0
    found = audit(model)
    assert not found.holds
    assert not found.canonical
    assert found.verdict == "fails: its state is not that of a fresh model given the live rows"


@pytest.mark.parametrize(
    ("damage", "finding"),
    [
        (lambda live: live.ledger.drop(1), "rows, responses and ids differ in number"),
        (lambda live: live.memory._x.fill(np.nan), "values that are not finite"),
        (lambda live: setattr(live, "phase", -1), "a phase that is not a whole number"),
    ],
)
def test_a_state_that_contradicts_itself_is_found(damage, finding):
    model = healthy()
    damage(model._live)
    found = audit(model, forgotten=[3])
    assert not found.holds
    assert not found.canonical
    assert found.verdict == f"fails: its state contradicts itself ({finding})"


def test_an_audit_can_be_repeated_and_survives_a_file(tmp_path):
    model = healthy()
    model.forget([3, 4])
    model.save(tmp_path / "model")
    assert audit(load(tmp_path / "model"), [3, 4]).holds
    assert audit(model, [3, 4]) == audit(model, [3, 4])


def test_ill_conditioned_rows_are_allowed_what_their_last_digit_does():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 3))
    X[:, 2] = X[:, 0] + 1e-6 * rng.normal(size=40)
    found = audit(OLS().fit(X, rng.normal(size=40)))
    assert found.holds
    assert 1e-8 < found.tolerance < 1e-1
    assert found.condition == pytest.approx(naive_diagnostics.condition(X, True), rel=1e-6)


def test_parameters_in_force_decide_not_those_set_since():
    model = healthy()
    model.set_params(alpha=100.0, fit_intercept=False, window=2)
    assert audit(model).holds
    assert diagnose(model).penalty == 0.7


# -- what people see ---------------------------------------------------------------------------


def test_results_read_well_in_a_terminal():
    model = OLS(fit_intercept=False).fit([[2.0, 0.0], [0.0, 1.0], [0.0, 1.0]], [2.0, 1.0, 3.0])
    lines = repr(diagnose(model, [0.0, 2.0])).splitlines()
    assert lines[0] == "Diagnosis of 3 live rows"
    assert "  rank                        2" in lines
    assert "  condition                   2" in lines
    assert "  forgetting regret term      3" in lines
    assert not any("leverage of x" in line for line in repr(diagnose(model)).splitlines())
    lines = repr(audit(model, [1])).splitlines()
    assert lines[0] == "Audit fails: 1 of the 1 forgotten id is alive: 1"
    assert "  remembered  1" in lines
    many = repr(audit(OLS().fit(np.eye(9), np.arange(9.0)), range(9)))
    assert "0, 1, 2, 3, 4 and 4 more" in many

"""Models with ``standardize=True`` equal a refit on the standardised live rows at every step."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from histories import (
    CLASSES,
    KINDS,
    MILD,
    MODELS,
    RULES,
    WILD,
    build,
    condition,
    history_strategies,
    pilot_of,
    promised,
    run_history,
    step_by_step,
    streams,
    weighed_system,
)
from hypothesis import given, settings
from samples import data
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from twins import intervals as naive_intervals
from twins import regression as naive
from twins import scaling as naive_scaling

from efface import (
    FIFD,
    OLS,
    AdaptiveRidge,
    Ridge,
    WindowScaler,
    audit,
    diagnose,
    load,
    replay,
)
from efface.engine.events.state import stream_state
from efface.engine.standardized.standardized_fit import open_standard
from efface.errors import InvalidValue
from efface.live.solvers import solver_for
from efface.live.standardized_solver import StandardizedSolver


def twin_of(name, policy, intercept, width):
    rule = name.split(",")[0], RULES[name]
    return naive_scaling.StandardizedTwin(rule, policy, intercept, width)


def rounded(Z, y, lam, weights):
    """The relative error of coefficients that the rounding of z allows.

    Up to a condition k of 1e4 it is the promised one. Beyond, errors of a few EPS in rows and
    responses change the least squares by EPS (2 k / cos + k^2 tan), where the angle is that between
    the responses and the span of the rows (Golub and Van Loan, theorem 5.3.1).
    """
    k = condition(Z, lam, True, weights)
    if k <= 1e4 or promised(k) == math.inf:
        return promised(k)
    A, _ = weighed_system(Z, lam, True, weights)
    b = np.sqrt(weights) * (y - np.average(y, weights=weights))
    b = np.append(b, np.zeros(Z.shape[1]))
    fitted = np.linalg.norm(A @ np.linalg.lstsq(A, b, rcond=None)[0])
    left = np.sqrt(max(b @ b - fitted**2, 0.0))
    if fitted == 0:
        return math.inf
    share = 2 * k * np.linalg.norm(b) / fitted + k**2 * left / fitted
    return max(promised(k), 8 * naive_scaling.EPS * np.sqrt(Z.shape[1]) * share)


def check_exact(model, twin):
    """Compare a model with a refit on the scaled rows of its twin.

    The refit has the penalty of the model, as in ``histories``.
    """
    lam = twin.penalty()
    coef, level, rank = twin.regress(model.penalty_)
    assert model.ids_ == twin.ids
    X, y, weights = naive.weighted_rows(twin.X, twin.y, twin.weights)
    if not len(X):
        assert model.penalty_ == lam
        assert not model.coef_.any()
        assert model.intercept_ == 0.0
        return
    Z, mean, sd = naive_scaling.standardise(X, weights)
    pilot = pilot_of(Z, weights, twin.rule)
    rel = 1e-9 if pilot is None else rounded(Z, y, pilot, weights)
    assert model.penalty_ == pytest.approx(lam, rel=rel, abs=0)
    bound = rounded(Z, y, lam, weights)
    if bound == math.inf:
        return
    assert model.rank_ == rank
    largest = np.abs(coef * sd).max() or np.abs(y).max()
    assert np.abs((model.coef_ - coef) * sd).max() <= bound * largest
    size = max(abs(level), np.abs(y).max(), np.abs(coef * mean).max())
    assert abs(model.intercept_ - level) <= bound * size


def equals_a_refit(name, kind, window, intercept, d, **history):
    model = build(name, window=window[0], fit_intercept=intercept, standardize=True)
    run_history(
        model, twin_of(name, window[1], intercept, d), kind, d=d, check=check_exact, **history
    )


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("name", list(RULES))
@given(**history_strategies(MILD))
@settings(deadline=None, max_examples=3)
def test_learning_forgetting_and_expiring_equal_a_refit_on_scaled_rows(name, kind, **history):
    equals_a_refit(name, kind, **history)


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("name", list(RULES))
@given(**history_strategies(WILD))
@settings(deadline=None, max_examples=3, derandomize=True)
def test_so_they_do_where_weights_are_many_powers_of_ten_apart(name, kind, **history):
    equals_a_refit(name, kind, **history)


def test_a_history_with_weights_from_1e_6_to_1e6_equals_a_refit_on_scaled_rows():
    steps = [*[("learn", 1)] * 4, ("learn", 4), ("learn many", 9), ("learn", 4)]
    equals_a_refit(
        "SwitchingRidge, residual and auto",
        "a giant row of weight 0",
        window=(FIFD(5), ("rows", 5)),
        intercept=False,
        d=3,
        steps=steps,
        weighing="from 1e-6 to 1e6",
        seed=60,
    )


@pytest.mark.parametrize("name", list(RULES))
def test_no_number_of_a_huge_row_remains(name):
    X, y = data(60, 4)
    X[20] *= 1e8
    model = build(name, window=15, standardize=True)
    twin = twin_of(name, ("rows", 15), True, 4)
    step_by_step(model, twin, X, y, check_exact)


@pytest.mark.parametrize("name", list(RULES))
@pytest.mark.parametrize("intercept", [False, True])
def test_a_model_equals_a_window_scaler_and_a_refit_at_every_step(name, intercept):
    X, y = data(50, 3)
    X = X * [1.0, 100.0, 1e-3] + [0.0, 500.0, 1.0]
    model = build(name, window=12, fit_intercept=intercept, standardize=True)
    scaler = WindowScaler(window=12)
    for t in range(50):
        model.learn_one(X[t], y[t])
        scaler.learn_one(X[t])
        if t < 4:
            continue
        live = slice(max(0, t - 11), t + 1)
        behind = build(name, fit_intercept=intercept).fit(scaler.transform(X[live]), y[live])
        assert model.penalty_ == pytest.approx(behind.penalty_, rel=1e-9)
        expected = behind.predict(scaler.transform(X))
        assert np.abs(model.predict(X) - expected).max() <= 1e-9 * np.abs(expected).max()


@pytest.mark.parametrize("name", list(RULES))
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("flaw", ["none", "a constant feature", "a copied feature", "few rows"])
def test_a_replay_equals_a_loop(name, intercept, flaw):
    X, y = data(70, 4)
    if flaw == "a constant feature":
        X[:, 1] = 0.1
    if flaw == "a copied feature":
        X[:, 2] = X[:, 0]
    window = 4 if flaw == "few rows" else 15
    model = build(name, window=window, fit_intercept=intercept, standardize=True)
    trace = replay(clone(model), X, y, coef=True, diagnostics=True, interval=0.9)
    plain = replay(clone(model), X, y)
    for t in range(70):
        if t:
            found, interval = diagnose(model, X[t]), model.predict_interval(X[t : t + 1], 0.9)
            assert np.abs(trace.coef[t] - model.coef_).max() <= 1e-9 * np.abs(y).max()
            assert trace.penalty[t] == pytest.approx(model.penalty_, rel=1e-9)
            assert trace.prediction[t] == pytest.approx(model.predict_one(X[t]), rel=1e-8)
            assert trace.rank[t] == model.rank_ == found.rank
            assert trace.leverage_new[t] == pytest.approx(found.leverage_new, rel=1e-7)
            assert trace.leverage_old[t] == pytest.approx(found.leverage_oldest, rel=1e-7)
            assert trace.frt[t] == pytest.approx(found.frt, rel=1e-7)
            assert trace.lower[t] == pytest.approx(interval.lower[0], rel=1e-7, abs=1e-9)
            assert trace.upper[t] == pytest.approx(interval.upper[0], rel=1e-7, abs=1e-9)
            assert found.residue <= 1e-9
        model.learn_one(X[t], y[t])
    assert np.abs(plain.prediction - trace.prediction).max() <= 1e-9 * np.abs(y).max()
    if flaw == "none":
        condition = np.linalg.cond(naive_scaling.standardise(X[54:69])[0])
        assert trace.condition[-1] == pytest.approx(condition, rel=1e-9)


@pytest.mark.parametrize("method", ["gaussian", "self-normalized", "local"])
@pytest.mark.parametrize("name", ["OLS", "Ridge", "AdaptiveRidge, residual and auto"])
def test_intervals_are_those_of_scaled_rows(name, method):
    X, y = data(60, 3)
    X = X * [1.0, 100.0, 1e-3] + [0.0, 500.0, 1.0]
    Z = naive_scaling.standardise(X)[0]
    found = build(name, standardize=True).fit(X, y).predict_interval(X, 0.8, method)
    behind = build(name).fit(Z, y).predict_interval(Z, 0.8, method)
    assert np.isfinite(found.lower).all()
    assert found.lower == pytest.approx(behind.lower, rel=1e-8)
    assert found.upper == pytest.approx(behind.upper, rel=1e-8)


@pytest.mark.parametrize("name", ["OLS", "Ridge", "AdaptiveRidge, residual and auto"])
def test_conformal_scores_use_the_scaled_rows_before_each_row(name):
    X, y = data(60, 3)
    X = X * [1.0, 100.0, 1e-3] + [0.0, 500.0, 1.0]
    scores = []
    for t in range(40, 60):
        before = build(name, standardize=True).fit(X[:t], y[:t])
        leverage = diagnose(before, X[t]).leverage_new
        scores.append(abs(y[t] - before.predict_one(X[t])) / math.sqrt(1 + leverage))
    model = build(name, standardize=True).fit(X, y)
    leverages = np.array([diagnose(model, x).leverage_new for x in X[:5]])
    alpha = 1 - 0.8
    half = naive_intervals.adapted(scores, alpha, alpha / 5) * np.sqrt(1 + leverages)
    found = model.predict_interval(X[:5], 0.8, "conformal")
    assert found.upper - found.prediction == pytest.approx(half, rel=1e-7)


@pytest.mark.parametrize("name", list(RULES))
def test_the_units_of_the_features_do_not_matter(name):
    X, y = data(40, 4)
    units = np.array([1e-3, 1.0, 7.0, 1e4])
    one, other = (build(name, standardize=True).fit(rows, y) for rows in (X, X * units + units))
    assert other.penalty_ == pytest.approx(one.penalty_, rel=1e-9)
    assert other.coef_ * units == pytest.approx(one.coef_, rel=1e-9)


def test_least_squares_of_full_rank_does_not_depend_on_scaling():
    X, y = data(40, 4)
    scaled, plain = (OLS(standardize=s).fit(X * [1, 10, 100, 1000], y) for s in (True, False))
    assert scaled.coef_ == pytest.approx(plain.coef_, rel=1e-9)
    assert scaled.intercept_ == pytest.approx(plain.intercept_, rel=1e-9)


def test_least_squares_of_deficient_rank_has_the_smallest_scaled_coefficients():
    X = np.array([[1.0, 100.0], [2.0, 200.0], [4.0, 400.0]])
    model = OLS(standardize=True).fit(X, [1.0, 2.0, 4.0])
    assert model.rank_ == 1
    assert model.coef_ == pytest.approx([0.5, 0.005])  # halves, each in its own units


@pytest.mark.parametrize("name", list(RULES))
@pytest.mark.parametrize("level", [0.0, 1.0, 0.1, 1e6])
def test_a_constant_feature_has_the_coefficient_0(name, level):
    X, y = data(30, 3)
    X[:, 1] = level
    model = build(name, window=20, standardize=True)
    for x, target in zip(X, y, strict=True):
        model.learn_one(x, target)
        assert model.coef_[1] == 0.0
        live = model._live.solver
        solved_by_sums = not stream_state(live.stores[0]).refit
        assert live.rows.n_rows < 4 or solved_by_sums
    assert model.rank_ == 2
    without = build(name, standardize=True).fit(X[-20:][:, [0, 2]], y[-20:])
    if name in ("OLS", "Ridge"):  # the others count features
        assert model.coef_[[0, 2]] == pytest.approx(without.coef_, rel=1e-9)


@pytest.mark.parametrize("name", list(RULES))
def test_no_row_and_one_row(name):
    model = build(name, standardize=True).partial_fit(np.empty((0, 2)), [])
    assert model.predict_one([5.0, 5.0]) == 0.0
    model.learn_one([1.0, 2.0], 3.0)
    assert model.predict_one([5.0, 5.0]) == 3.0
    assert (model.rank_, model.coef_.tolist()) == (0, [0.0, 0.0])
    model.forget(0)
    assert model.predict_one([5.0, 5.0]) == 0.0


def test_a_standard_scaler_that_is_not_refitted_depends_on_deleted_rows():
    X, y = data(30, 2)
    X[7] = 1e6
    pipeline = make_pipeline(StandardScaler(), Ridge()).fit(X, y)
    pipeline[-1].forget(7)
    assert pipeline[0].mean_[0] > 1e4  # row 7, still
    model = Ridge(standardize=True).fit(X, y)
    model.forget(7)
    never = Ridge(standardize=True).fit(np.delete(X, 7, axis=0), np.delete(y, 7))
    assert (model.coef_ == never.coef_).all()
    assert model.intercept_ == never.intercept_


@pytest.mark.parametrize("name", list(RULES))
def test_forgetting_leaves_the_bytes_of_a_model_that_never_saw_the_rows(name, tmp_path):
    X, y = data(40, 3)
    ids = [f"row {k}" for k in range(40)]
    gone = [3, 17, 39]
    model = build(name, standardize=True).fit(X, y, ids=ids)
    model.predict_one(X[0])
    model.forget([ids[k] for k in gone])
    kept = [k for k in range(40) if k not in gone]
    never = build(name, standardize=True).fit(X[kept], y[kept], ids=[ids[k] for k in kept])
    assert (model.coef_ == never.coef_).all()
    model.save(tmp_path / "one")
    never.save(tmp_path / "other")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()
    assert audit(model, forgotten=[ids[k] for k in gone]).holds


@pytest.mark.parametrize("name", list(RULES))
def test_a_saved_or_pickled_model_continues_bit_for_bit(name, tmp_path):
    X, y = data(80, 4)
    model = build(name, window=25, standardize=True)
    replay(model, X[:50], y[:50])
    model.save(tmp_path / "model")
    others = [load(tmp_path / "model"), pickle.loads(pickle.dumps(model))]
    for t in range(50, 80):
        expected = model.predict_one(X[t])
        model.learn_one(X[t], y[t])
        for other in others:
            assert other.predict_one(X[t]) == expected
            other.learn_one(X[t], y[t])
    assert all((other.coef_ == model.coef_).all() for other in others)


@pytest.mark.parametrize("name", ["OLS", "Ridge", "AdaptiveRidge, residual and auto"])
@pytest.mark.parametrize("kind", CLASSES)
def test_an_audit_holds_on_every_kind_of_rows(name, kind):
    X, y = streams(kind, 60, 4, 1)
    model = build(name, window=25, standardize=True)
    replay(model, X, y)
    found = audit(model)
    assert found.holds, found
    assert found.rank == model.rank_


def test_an_audit_finds_a_model_that_depends_on_a_deleted_row():
    X, y = data(30, 3)
    model = Ridge(standardize=True).fit(X, y)
    expected = model.coef_
    open_standard(model._live.solver.stores[0]).coef[:] = expected * 1.001
    assert not audit(model).holds


def test_rows_that_have_left_are_overwritten():
    X, y = data(40, 3)
    model = AdaptiveRidge(window=10, standardize=True).fit(X, y)
    model.predict_one(X[0])
    solver = model._live.solver
    assert solver.rows.clean
    model.forget(39)
    assert not any(part.any() for part in open_standard(solver.stores[0]).frame[1:])
    assert solver.rows.clean


def test_the_solver_is_chosen_by_the_parameter():
    X, y = data(10, 2)
    assert isinstance(Ridge(standardize=True).fit(X, y)._live.solver, StandardizedSolver)
    assert not isinstance(Ridge().fit(X, y)._live.solver, StandardizedSolver)
    assert solver_for.__kwdefaults__ == {"standardize": False, "fades": False}
    with pytest.raises(InvalidValue, match="'standardize' is 1: expected True or False"):
        Ridge(standardize=1).fit(X, y)


@parametrize_with_checks([kind(standardize=True) for kind in MODELS])
def test_scikit_learn_accepts_the_estimators(estimator, check):
    check(estimator)


def test_a_grid_search_over_penalties_and_scaling():
    X, y = data(120, 3)
    X = X * [1.0, 1e3, 1e-3]
    grid = {"alpha": [0.01, 1.0, 100.0], "standardize": [False, True]}
    found = GridSearchCV(Ridge(window=40), grid, cv=TimeSeriesSplit(4)).fit(X, y)
    assert found.best_params_["standardize"]
    assert set(KINDS) == {kind.__name__ for kind in MODELS}


def test_late_rows_are_placed_by_their_time():
    X, y = data(30, 3)
    order = np.random.default_rng(0).permutation(30)
    one = Ridge("20d", standardize=True).fit(
        X, y, at=np.arange(30) * np.timedelta64(1, "D") + np.datetime64("2026-01-01")
    )
    other = Ridge("20d", standardize=True)
    for k in order:
        other.learn_one(X[k], y[k], at=np.datetime64("2026-01-01") + np.timedelta64(int(k), "D"))
    assert other.coef_ == pytest.approx(one.coef_, rel=1e-12)

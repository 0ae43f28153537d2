"""The diagnosis against dense algebra in 50 digits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from random_models import HISTORIES, MODELS, after_events
from twins import diagnostics as naive_diagnostics

from efface import FIFD, OLS, AutoRidge, Ridge, audit, diagnose, forecast_forgetting
from efface.errors import BadRow, InvalidValue, NotFitted


def scales(model, X, w, intercept):
    """What the features are multiplied by before they are penalised."""
    if not isinstance(model, AutoRidge) or not w.any():
        return np.ones(X.shape[1])
    kept, total = X[w > 0.0], w.sum()
    shares = w[w > 0.0] / total
    mean = shares @ kept if intercept else 0.0
    deviation = np.sqrt(shares @ (kept - mean) ** 2)
    constant = (kept == kept[0]).all(axis=0) if intercept else ~kept.any(axis=0)
    power = 1.0 if model.average else 0.5
    return np.where(constant, 1.0, deviation) ** -power


@settings(deadline=None, max_examples=150)
@given(HISTORIES)
def test_a_diagnosis_equals_dense_algebra_in_50_digits(history):
    model, X, _ = after_events(*history)
    x = np.abs(X).max(initial=1.0) * np.array([1.0, -0.5, 0.25])
    found = diagnose(model, x)
    w = model._live.solver.weights
    assert found.n_rows == model.n_rows_ == len(X) == len(w)
    assert found.penalty == model.penalty_
    if not len(X):
        assert found.leverage_oldest is found.leverage_new is found.frt is None
        return
    scale = scales(model, X, w, history[2])
    X, x = X * scale, x * scale
    exact = naive_diagnostics.Window(X, history[2], model.penalty_, w)
    close = lambda value: pytest.approx(float(value), rel=1e-7, abs=1e-300)  # noqa: E731
    assert found.rank == model.rank_ == exact.rank
    assert found.smallest_eigenvalue == close(exact.values[-1])
    assert found.largest_eigenvalue == close(exact.values[0])
    if exact.total_weight:
        assert found.phi2 == close((exact.values[-1] + exact.lam) / exact.total_weight)
    assert found.condition == (
        close(exact.values[0] / exact.values[-1]) if exact.rank == 3 else math.inf
    )
    share = lambda value: pytest.approx(float(value), rel=1e-7, abs=1e-20)  # noqa: E731
    assert found.leverage_oldest == share(w[0] * exact.inner(X[0], X[0]))  # less is rounding
    assert found.leverage_new == share(exact.inner(x, x))
    assert found.frt == share(exact.frt(X[0], x, w[0]))
    assert found.degrees_of_freedom == close(exact.degrees_of_freedom)
    assert found.residue <= audit(model).tolerance


def test_a_diagnosis_without_x_has_no_leverage_of_x():
    model = OLS().fit(np.eye(3), [1.0, 2.0, 3.0])
    found = diagnose(model)
    assert found.leverage_new is None
    assert found.frt is None
    assert found.leverage_oldest == pytest.approx(1.0)  # no other row spans it


def test_one_row_has_leverage_1_unless_it_is_penalised():
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


def test_with_fewer_rows_than_features_only_the_penalised_condition_is_finite():
    X = np.random.default_rng(0).normal(size=(4, 9))
    found = diagnose(Ridge(alpha=2.0, fit_intercept=False).fit(X, np.arange(4.0)))
    assert (found.rank, found.smallest_eigenvalue, found.condition) == (4, 0.0, math.inf)
    assert found.penalised_condition == pytest.approx(found.largest_eigenvalue / 2 + 1)
    hat = X @ np.linalg.inv(X.T @ X + 2 * np.eye(9)) @ X.T
    assert found.degrees_of_freedom == pytest.approx(np.trace(hat), rel=1e-12)
    assert found.leverage_oldest == pytest.approx(hat[0, 0], rel=1e-12)


@pytest.mark.parametrize("factor", [1e-150, 1e149])
def test_leverages_do_not_depend_on_units(factor):
    X = np.random.default_rng(1).normal(size=(8, 3))
    found = [diagnose(OLS().fit(rows, np.arange(8.0)), rows[3] * 2) for rows in (X, X * factor)]
    for name in ("rank", "condition", "leverage_oldest", "leverage_new", "frt"):
        assert getattr(found[1], name) == pytest.approx(getattr(found[0], name), rel=1e-12)


def test_x_is_validated():
    model = OLS().fit(np.eye(2), [1.0, 2.0])
    with pytest.raises(InvalidValue, match=r"'x' is \(3,\): expected the shape \(2,\)"):
        diagnose(model, [1.0, 2.0, 3.0])
    with pytest.raises(BadRow, match="'x' at column 1 is NaN"):
        diagnose(model, [1.0, math.nan])


@pytest.mark.parametrize("function", [diagnose, audit, lambda model: forecast_forgetting(model, 1)])
def test_a_model_that_is_not_fitted_is_refused(function):
    with pytest.raises(NotFitted, match="'OLS' is not fitted"):
        function(OLS())


@pytest.mark.parametrize("kind", sorted(MODELS))
def test_diagnostics_do_not_change_the_model(kind, tmp_path):
    model, _, _ = after_events(kind, FIFD(9), True, "plain", 3)
    other, _, _ = after_events(kind, FIFD(9), True, "plain", 3)
    before = model.coef_
    diagnose(model, np.ones(3)), audit(model), forecast_forgetting(model, 4)
    assert (model.coef_ == before).all()
    for each in (model, other):
        each.learn_one(np.array([1.0, 2.0, 3.0]), 4.0)
        each.save(tmp_path / ("a" if each is model else "b"))
    assert (model.coef_ == other.coef_).all()
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_diagnosis_is_readable_in_a_terminal():
    model = OLS(fit_intercept=False).fit([[2.0, 0.0], [0.0, 1.0], [0.0, 1.0]], [2.0, 1.0, 3.0])
    lines = repr(diagnose(model, [0.0, 2.0])).splitlines()
    assert lines[0] == "Diagnosis of 3 live rows"
    assert "  rank                        2" in lines
    assert "  condition                   2" in lines
    assert "  forgetting regret term      3" in lines
    assert not any("leverage of x" in line for line in repr(diagnose(model)).splitlines())

"""Selection from the rows themselves: scales, penalties and coefficients."""

from __future__ import annotations

import numpy as np
import pytest

from efface.engine.selection.direct import candidates, scaled_rows


@pytest.mark.parametrize("halved", [False, True])
def test_rows_are_divided_by_deviations_or_their_roots(halved):
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(9, 3)) * [1.0, 100.0, 1e-3] + 4.0, rng.uniform(0.5, 2.0, size=9)
    X[:, 2] = 0.1
    power = 0.5 if halved else 1.0
    around = scaled_rows(X, w, centred=True, halved=halved)
    mean = np.average(X, axis=0, weights=w)
    deviation = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=w))[:2] ** power
    assert around.rows[:, :2] == pytest.approx((X - mean)[:, :2] / deviation, rel=1e-12)
    assert not around.rows[:, 2].any()
    plain = scaled_rows(X, w, centred=False, halved=halved)
    length = np.sqrt(np.average(X**2, axis=0, weights=w)) ** power
    assert plain.rows == pytest.approx(X / length, rel=1e-12)
    assert plain.of(X[0]) == pytest.approx(plain.rows[0], rel=1e-14)


@pytest.mark.parametrize("unit", [1e-120, 1e-30, 1.0, 1e30, 1e120])
def test_no_unit_changes_which_penalty_is_selected(unit):
    rng = np.random.default_rng(1)
    Z, y = rng.normal(size=(12, 3)), rng.normal(size=12)
    one, other = candidates(Z, y, 12.0, 11.0), candidates(unit * Z, unit * y, 12.0, 11.0)
    assert other.log_weights == pytest.approx(one.log_weights, abs=1e-9)
    weights = np.full(21, 1 / 21)
    assert other.mean_coef(weights) == pytest.approx(one.mean_coef(weights), rel=1e-12)
    expected = one.penalty(0.0) * unit * unit
    assert other.penalty(0.0) == pytest.approx(expected, rel=1e-12)


def test_a_response_of_zeros_is_explained_by_every_penalty_alike():
    rng = np.random.default_rng(2)
    found = candidates(rng.normal(size=(40, 2)), np.zeros(40), 40.0, 39.0)
    assert np.isfinite(found.log_weights).all()
    assert found.log_weights.argmax() > 12  # large penalties cost nothing

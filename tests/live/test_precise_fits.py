"""Sums in double-double precision are made when fits need them, and discarded when none does."""

from __future__ import annotations

import numpy as np
import pytest
from designs import sample

from efface import OLS, audit
from efface.live.precise_fits import PreciseFits
from efface.live.rows import RowStore


def solved(model, X, y):
    for row, response in zip(X, y, strict=True):
        model.learn_one(row, response)
        model.predict_one(row)


@pytest.mark.parametrize("standardize", [False, True])
def test_sums_are_kept_only_while_the_rows_need_them(standardize):
    X, y = sample("copied column", 80)
    model = OLS(window=30, standardize=standardize).fit(X[:30], y[:30])
    solver = model._live.solver
    solved(model, X[30:], y[30:])
    assert solver._precise.active
    assert solver.working_store > solver._precise.nbytes > 0
    assert audit(model).holds
    plain = np.random.default_rng(0).normal(size=(200, 4))
    solved(model, plain, plain.sum(axis=1))
    assert not solver._precise.active
    assert not solver._releases
    assert audit(model).holds


@pytest.mark.parametrize("standardize", [False, True])
def test_no_sum_outlives_a_request_to_forget(standardize):
    X, y = sample("one-hot", 80)
    model = OLS(window=30, standardize=standardize).fit(X[:30], y[:30])
    solved(model, X[30:], y[30:])
    solver = model._live.solver
    kept = solver._precise.kept
    model.forget(model.ids_[4])
    assert not kept.any()
    assert solver._precise.kept is None
    assert audit(model).holds


def test_late_rows_discard_sums_that_contain_later_ones():
    X, y = sample("copied column", 60)
    model = OLS(window=30)
    for t in range(60):
        model.learn_one(X[t], y[t], at=float(2 * t))
        model.predict_one(X[t])
    solver = model._live.solver
    assert solver._precise.active
    model.learn_one(X[0], y[0], at=101.0)
    assert not solver._precise.active
    assert audit(model).holds


def test_residues_are_found():
    X, y = sample("copied column", 60)
    model = OLS(window=30).fit(X[:30], y[:30])
    solved(model, X[30:], y[30:])
    solver = model._live.solver
    assert solver.residues() == []
    solver._precise.kept[-1] = 1.0
    assert solver.residues() == ["precise sums.system"]


def test_sums_serve_more_rows_than_unknowns():
    rows = RowStore(2)
    rows.extend(np.ones((3, 2)), np.ones((3, 3)))
    assert not PreciseFits(2, centred=True).serve(rows)
    assert PreciseFits(2, centred=False).serve(rows)

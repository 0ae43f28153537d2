"""Robust variances of windows, against the sandwich of dense matrices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from twins.robust import sandwich

from efface.batch.groups import RowArrays
from efface.batch.inference import RobustErrors, robust_variances

KINDS = ["HC0", "HC1", "HC2", "HC3", "HAC"]


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    d, intercept = draw(st.integers(1, 5)), draw(st.booleans())
    X = rng.normal(size=(40, d)) * 10.0 ** rng.integers(-3, 4, size=d)
    y = X @ rng.normal(size=d) + rng.normal(size=40) * rng.uniform(0.1, 3.0, size=40)
    X += draw(st.sampled_from([0.0, 100.0])) * intercept * np.abs(X).max(axis=0)
    weights = rng.uniform(0.1, 4.0, size=40) if draw(st.booleans()) else None
    if weights is not None:
        weights[rng.random(40) < 0.1] = 0.0
    return X, y, weights, intercept


@given(
    problems(),
    st.sampled_from(KINDS),
    st.sampled_from([None, 0, 3, 60]),
    st.integers(16, 40),
)
@settings(deadline=None, max_examples=60)
def test_every_window_equals_the_sandwich(problem, kind, lags, window):
    X, y, weights, intercept = problem
    starts = np.maximum(np.arange(40) - window + 1, 0)
    ends = np.arange(20, 40, 4)
    errors = RobustErrors(KINDS.index(kind), -1 if lags is None else lags)
    found = robust_variances(RowArrays(X, y, weights), starts, ends, intercept, errors)
    for t in ends:
        rows = slice(starts[t], t + 1)
        w = None if weights is None else weights[rows]
        expected = sandwich(X[rows], y[rows], intercept, kind, lags, w)
        ours = np.append(found.variance[t], found.base[t])[: len(expected)]
        # With about as many lags as rows the products nearly cancel: HC0 has their size.
        size = sandwich(X[rows], y[rows], intercept, "HC0", None, w)
        assert (np.abs(ours - expected) <= 1e-9 * np.maximum(expected, size)).all()
    others = np.setdiff1d(np.arange(40), ends)
    assert np.isnan(found.variance[others]).all()


def test_a_constant_feature_is_an_intercept():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)) + 1e3, rng.normal(size=30)
    starts, ends = np.zeros(30, dtype=np.int64), np.array([29])
    design = np.column_stack([np.full(30, 2.0), X])
    ours = robust_variances(RowArrays(design, y), starts, ends, False, RobustErrors(3))
    model = robust_variances(RowArrays(X, y), starts, ends, True, RobustErrors(3))
    np.testing.assert_allclose(ours.variance[29, 1:], model.variance[29], rtol=1e-9)
    np.testing.assert_allclose(ours.variance[29, 0], model.base[29] / 4.0, rtol=1e-9)


@pytest.mark.parametrize("kind", [2, 3])
def test_a_row_that_alone_determines_a_coefficient_has_no_jackknife_variance(kind):
    X, y = np.ones((6, 2)), np.arange(6.0)
    X[:, 1] = [0, 0, 0, 0, 0, 1]
    starts, ends = np.zeros(6, dtype=np.int64), np.array([5])
    found = robust_variances(RowArrays(X, y), starts, ends, False, RobustErrors(kind))
    assert np.isnan(found.variance[5]).all()


def test_a_dependent_column_has_no_variances():
    X = np.zeros((6, 2))
    X[:, 0] = 1.0
    starts, ends = np.zeros(6, dtype=np.int64), np.array([5])
    found = robust_variances(RowArrays(X, np.arange(6.0)), starts, ends, False, RobustErrors(0))
    assert np.isnan(found.variance).all()

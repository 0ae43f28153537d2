"""One event at a time on standardised features, where only double-double sums are enough."""

from __future__ import annotations

import numpy as np
import pytest

from efface.engine.events.rows import SPAN, span_of
from efface.engine.events.state import Rule, reset
from efface.engine.jit.views import weighed
from efface.engine.standardized.standardized_fit import (
    allocate_standard,
    open_standard,
    refit_standard,
    refit_standard_precisely,
)
from efface.engine.sums.precise_sums import allocate_precise


def fitted(refit, X, y, alpha, *more):
    """Coefficients, intercept and rank of all rows, by one of the refits."""
    store = allocate_standard(X.shape[1], True, len(y))
    reset(store, Rule(alpha=alpha), True)
    span = np.zeros(SPAN, np.int64)
    span_of(span).end = len(y)
    done = refit(X, weighed(y), span, store, *more)
    s = open_standard(store)
    return done, s.coef.copy(), float(s.state.intercept), int(s.state.rank)


@pytest.mark.parametrize("alpha", [0.0, 2.0])
def test_a_precise_refit_equals_that_of_the_rows(alpha):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4)) * [1.0, 30.0, 8.0, 1.0] + [0.0, 1e5, 0.0, 0.0]
    X[:, 2] = 8.0 * X[:, 0]
    y = X @ rng.normal(size=4) + rng.normal(size=40)
    sums = allocate_precise(4, True, 40)
    done, coef, level, rank = fitted(refit_standard_precisely, X, y, alpha, sums)
    _, right, base, full = fitted(refit_standard, X, y, alpha)
    assert done
    assert coef == pytest.approx(right, rel=1e-11)
    assert level == pytest.approx(base, rel=1e-11)
    assert rank == full


def test_fewer_rows_than_unknowns_are_left_to_the_rows():
    X, y = np.eye(4)[:, :3], np.arange(4.0)
    assert not fitted(refit_standard_precisely, X, y, 0.0, allocate_precise(3, True, 4))[0]

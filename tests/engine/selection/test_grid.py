"""The penalties of a grid: their weights by the formulas, whichever way they are computed."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp
from twins import selection as twin

from efface.engine.selection import grid
from efface.engine.selection.direct import EXPONENTS, candidates


def test_the_grid_of_the_engine_is_that_of_the_rule():
    assert list(EXPONENTS) == list(twin.EXPONENTS)
    assert EXPONENTS[-1] == grid.LAST


@pytest.mark.parametrize("noise", [1e-4, 0.1, 10.0])
@pytest.mark.parametrize("rows", [3, 6, 30])
def test_the_log_weights_are_those_in_sixty_digits(rows, noise):
    rng = np.random.default_rng(rows)
    Z = rng.normal(size=(rows, 4))
    y = Z @ np.arange(4.0) + noise * rng.normal(size=rows)
    found = candidates(Z, y, float(rows), float(rows))
    with mp.workdps(twin.DIGITS):
        columns, ones = [twin.vector(c) for c in Z.T], twin.vector(np.ones(rows))
        expected = twin.Scaled(columns, twin.vector(y), ones, float(rows))
    logs = np.array([float(log) for log in expected.log_weights])
    assert found.log_weights - found.log_weights.max() == pytest.approx(logs - logs.max(), abs=1e-9)
    assert found.penalty(0.0) == pytest.approx(float(expected.base), rel=1e-13)


def test_rows_without_spread_have_no_candidates():
    assert candidates(np.zeros((3, 2)), np.ones(3), 3.0, 2.0) is None

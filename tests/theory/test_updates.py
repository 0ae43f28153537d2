"""The incremental update against inverses, and its cost by counting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from twins import findings as naive

from efface.theory.updates import slide_inverse, update_multiplications


@settings(deadline=None)
@given(st.integers(1, 6), st.integers(0, 10_000))
def test_the_corrected_update_equals_the_inverse(d, seed):
    X = np.random.default_rng(seed).standard_normal((d + 20, d))
    start = np.linalg.inv(X[:-1].T @ X[:-1])
    found = slide_inverse(start, X[0], X[-1])
    np.testing.assert_allclose(found, np.linalg.inv(X[1:].T @ X[1:]), rtol=1e-8, atol=1e-10)


def test_the_printed_update_is_wrong_for_one_column_and_undefined_for_two():
    assert np.isnan(slide_inverse(np.eye(2), [1.0, 0.0], [0.0, 1.0], printed=True)).all()
    (found,) = slide_inverse([[0.1]], [3.0], [2.0], printed=True).ravel()
    assert found == pytest.approx(1 / 14 + (3 / 14) ** 2 / (1 - 3 / 14))
    (right,) = slide_inverse([[0.1]], [3.0], [2.0]).ravel()
    assert right == pytest.approx(1 / 5)
    assert found != pytest.approx(right)


@pytest.mark.parametrize("d", [1, 3, 8])
def test_multiplications_are_counted(d):
    assert update_multiplications(d) == naive.multiplications(d)

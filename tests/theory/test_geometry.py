"""The spectrum of a window and its rank against dense linear algebra."""

from __future__ import annotations

import math

import numpy as np
import pytest
from twins import theory as naive

from efface.theory.geometry import (
    WindowSpectrum,
    directions,
    rank_of,
    spectra,
    spectrum,
    whiten,
)


def window(n, d, seed=0):
    return np.random.default_rng([seed, n, d]).standard_normal((n, d))


@pytest.mark.parametrize("shape", [(3, 7), (5, 5), (30, 4)])
def test_spectrum_equals_the_eigenvalues_of_the_gram_matrix(shape):
    X = window(*shape)
    dense = np.linalg.eigvalsh(X.T @ X)[::-1]
    found = spectrum(X)
    assert found.values == pytest.approx(np.where(dense > 1e-10, dense, 0), rel=1e-9)
    assert found.rank == min(shape)
    assert found.x_max == np.abs(X).max()


def test_spectrum_of_a_stack_equals_the_spectrum_of_each_window():
    stack = np.stack([window(6, 3, seed) for seed in range(4)])
    for together in (spectrum(stack), spectra(stack)):
        for k, X in enumerate(stack):
            alone = spectrum(X)
            assert together.values[k] == pytest.approx(alone.values, rel=1e-14)
            assert together.x_max[k] == alone.x_max
            assert together.q(0.5)[k] == pytest.approx(float(alone.q(0.5)), rel=1e-14)


def test_a_slice_of_a_stack_is_a_spectrum():
    stack = spectra(np.stack([window(6, 3, seed) for seed in range(4)]))
    part = stack[1:3]
    assert isinstance(part, WindowSpectrum)
    assert (part.values == stack.values[1:3]).all()


@pytest.mark.parametrize("penalty", [0.0, 0.4])
def test_log_det_equals_an_evaluation_in_50_digits(penalty):
    X = window(9, 4)
    assert float(spectrum(X).log_det(penalty)) == pytest.approx(
        float(naive.log_det(X, penalty)), rel=1e-13
    )


def test_log_det_of_a_singular_window_is_minus_infinity():
    assert spectrum(np.ones((3, 2))).log_det() == -math.inf


@pytest.mark.parametrize(("n", "penalty"), [(9, 0.0), (9, 2.0), (3, 2.0)])
def test_products_of_whitened_rows_equal_products_in_the_inverse(n, penalty):
    X, vectors = window(n, 4), window(2, 4, seed=5)
    a, b = whiten(X, vectors, penalty=penalty)
    for left, right, pair in [(a, a, (0, 0)), (a, b, (0, 1)), (b, b, (1, 1))]:
        direct = naive.inner(X, vectors[pair[0]], vectors[pair[1]], penalty)
        assert left @ right == pytest.approx(float(direct), rel=1e-11)


def test_directions_have_unit_length_at_any_scale():
    rows = np.array([[3e-200, 4e-200], [3e200, 4e200], [0.0, 0.0], [-6.0, 8.0]])
    assert directions(rows) == pytest.approx(
        np.array([[0.6, 0.8], [0.6, 0.8], [0, 0], [-0.6, 0.8]])
    )


def test_rank_of_no_rows_is_0():
    assert rank_of(np.empty((0, 3)), rows=1) == 0


def test_a_small_penalty_does_not_amplify_rounding():
    X = 1e20 * window(3, 6)
    whitened = whiten(X, X, penalty=1.0)
    assert (whitened**2).sum(axis=1) == pytest.approx(np.ones(3), rel=1e-12)

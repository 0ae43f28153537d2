"""The spectrum of a window, its rank and its norms against dense linear algebra."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from twins import theory as naive

from efface.theory.geometry import (
    Spectrum,
    binary_unit,
    deviations,
    directions,
    dust,
    gram_norm,
    rank_of,
    spectra,
    spectrum,
    standardized,
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


def test_stack_equals_one_window_at_a_time():
    stack = np.stack([window(6, 3, seed) for seed in range(4)])
    for together in (spectrum(stack), spectra(stack)):
        for k, X in enumerate(stack):
            alone = spectrum(X)
            assert together.values[k] == pytest.approx(alone.values, rel=1e-14)
            assert together.x_max[k] == alone.x_max
            assert together.q(0.5)[k] == pytest.approx(float(alone.q(0.5)), rel=1e-14)


def test_slice_of_a_stack():
    stack = spectra(np.stack([window(6, 3, seed) for seed in range(4)]))
    part = stack[1:3]
    assert isinstance(part, Spectrum)
    assert (part.values == stack.values[1:3]).all()


@pytest.mark.parametrize("penalty", [0.0, 0.4])
def test_log_det_in_fifty_digits(penalty):
    X = window(9, 4)
    assert float(spectrum(X).log_det(penalty)) == pytest.approx(
        float(naive.log_det(X, penalty)), rel=1e-13
    )


def test_log_det_of_a_singular_window():
    assert spectrum(np.ones((3, 2))).log_det() == -math.inf


@pytest.mark.parametrize(("n", "penalty"), [(9, 0.0), (9, 2.0), (3, 2.0)])
def test_whitened_products_are_those_of_the_inverse(n, penalty):
    X, vectors = window(n, 4), window(2, 4, seed=5)
    a, b = whiten(X, vectors, penalty=penalty)
    for left, right, pair in [(a, a, (0, 0)), (a, b, (0, 1)), (b, b, (1, 1))]:
        direct = naive.inner(X, vectors[pair[0]], vectors[pair[1]], penalty)
        assert left @ right == pytest.approx(float(direct), rel=1e-11)


def test_gram_norm_equals_the_quadratic_form():
    X, v = window(7, 3), window(1, 3, seed=5)[0]
    phi = X.T @ X + 1.5 * np.eye(3)
    assert gram_norm(X, v, penalty=1.5) == pytest.approx(math.sqrt(v @ phi @ v), rel=1e-14)


def test_directions_have_unit_length_at_any_scale():
    rows = np.array([[3e-200, 4e-200], [3e200, 4e200], [0.0, 0.0], [-6.0, 8.0]])
    assert directions(rows) == pytest.approx(
        np.array([[0.6, 0.8], [0.6, 0.8], [0, 0], [-0.6, 0.8]])
    )


def test_rank_of_no_rows():
    assert rank_of(np.empty((0, 3)), rows=1) == 0


@pytest.mark.parametrize("mean", [0.0, 1e6, 1e12])
def test_deviations_are_those_of_50_digits(mean):
    X = window(12, 3) + mean
    other = X[:2] * 2
    rows, others = deviations(X, other)
    exact = [[Fraction(float(v)) for v in row] for row in X]
    means = [sum(column) / 12 for column in zip(*exact, strict=True)]
    assert rows == pytest.approx(
        np.array([[float(v - m) for v, m in zip(row, means, strict=True)] for row in exact]),
        rel=1e-15,
        abs=0,
    )
    assert others[1] == pytest.approx(
        [float(Fraction(float(v)) - m) for v, m in zip(other[1], means, strict=True)], rel=1e-15
    )


@pytest.mark.parametrize("value", [0.1, 1e6 + 0.1, 1e300])
def test_a_constant_column_has_no_deviations(value):
    X = np.full((3001, 1), value)
    assert not deviations(X)[0].any()
    X[::3] = np.nextafter(value, np.inf)
    assert not deviations(X)[0].any()
    X[5] += 1e-9 * value
    assert deviations(X)[0].all()


def test_dust_is_rounding_of_the_mean():
    rows = np.array([[1e-15, 1e-14], [-1e-15, 0.0]])
    assert dust(rows, np.array([1.0, 1.0])).tolist() == [True, False]


def test_a_binary_unit_bounds_the_numbers():
    assert binary_unit(np.array([0.75])) == 0
    assert binary_unit(np.array([-1e300, 2.0])) == math.frexp(1e300)[1]
    assert binary_unit(np.zeros((0, 2))) == 0


def test_a_small_penalty_makes_nothing_of_rounding():
    X = 1e20 * window(3, 6)
    whitened = whiten(X, X, penalty=1.0)
    assert (whitened**2).sum(axis=1) == pytest.approx(np.ones(3), rel=1e-12)


def test_scores_have_no_mean_and_a_deviation_of_one_or_are_zero():
    X = window(20, 4) * [1e-200, 1.0, 1e200, 1.0] + [0.0, 1e6, 0.0, 0.0]
    X[:, 3] = 0.1
    found = standardized(X)
    assert np.abs(found.rows.mean(axis=0)).max() <= 1e-15
    assert found.rows.std(axis=0) == pytest.approx([1.0, 1.0, 1.0, 0.0], rel=1e-14)
    assert found.deviation[3] == 1.0
    assert found.of(X[5]) == pytest.approx(found.rows[5], rel=1e-12)
    assert found.mean == pytest.approx(X.mean(axis=0), rel=1e-12)

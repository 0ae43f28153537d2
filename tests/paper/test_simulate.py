"""Streams: seeded, nested, paired, and with the stated distributions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from twins import experiments as naive

from efface.errors import InvalidValue
from efface.paper.simulate import READINGS, linear_stream, unit_vectors


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("df", [None, 5])
def test_a_stream_equals_the_slow_implementation(reading, df):
    stream = linear_stream(7, 3, 40, 6, reading=reading, sigma=2.0, df=df)
    X, y, theta = naive.draw(7, 3, 40, 6, reading, 2.0, df)
    np.testing.assert_allclose(stream.X, X, rtol=1e-12)
    np.testing.assert_allclose(stream.theta, theta, rtol=1e-12)
    np.testing.assert_allclose(stream.y, y, rtol=1e-9)


def test_only_the_same_seed_and_run_give_the_same_stream():
    one, same = linear_stream(1, 2, 30, 4), linear_stream(1, 2, 30, 4)
    assert one.X.tobytes() == same.X.tobytes()
    assert one.y.tobytes() == same.y.tobytes()
    for other in (linear_stream(1, 3, 30, 4), linear_stream(2, 2, 30, 4)):
        assert not np.isclose(one.X, other.X).any()


def test_a_longer_stream_starts_with_the_rows_of_a_shorter_one():
    short, long = linear_stream(0, 0, 20, 5), linear_stream(0, 0, 90, 5)
    np.testing.assert_array_equal(long.X[:20], short.X)
    np.testing.assert_array_equal(long.theta, short.theta)
    np.testing.assert_allclose(long.y[:20], short.y, rtol=1e-12)


def test_settings_of_a_run_share_contexts_coefficients_and_the_signs_of_noise():
    gaussian, student = linear_stream(0, 0, 50, 5), linear_stream(0, 0, 50, 5, sigma=3.0, df=4)
    np.testing.assert_array_equal(gaussian.X, student.X)
    np.testing.assert_array_equal(
        np.sign(gaussian.y - gaussian.signal), np.sign(student.y - student.signal)
    )


def test_coefficients_have_length_1_and_the_signal_is_x_times_theta():
    stream = linear_stream(0, 0, 50, 5)
    assert np.linalg.norm(stream.theta) == pytest.approx(1.0)
    np.testing.assert_allclose(stream.signal, stream.X @ stream.theta)


@pytest.mark.parametrize(("df", "law"), [(None, stats.norm()), (5, stats.t(5)), (15, stats.t(15))])
def test_noise_has_the_stated_distribution(df, law):
    stream = linear_stream(11, 0, 20_000, 1, sigma=2.0, df=df)
    assert stats.kstest((stream.y - stream.signal) / 2.0, law.cdf).pvalue > 0.01


def test_noise_is_finite_far_in_the_tails():
    noise = linear_stream(0, 0, 100_000, 1, df=1)
    assert np.isfinite(noise.y).all()


def test_unit_vectors_are_uniform():
    X = unit_vectors(0, 0, 20_000, 10)
    np.testing.assert_array_equal(np.sort(X, axis=1)[:, -1], 1.0)
    np.testing.assert_array_equal(X.sum(axis=1), 1.0)
    assert stats.chisquare(X.sum(axis=0)).pvalue > 0.01


def test_an_unknown_reading_is_refused():
    with pytest.raises(InvalidValue, match="'reading' is 'whitened'"):
        linear_stream(0, 0, 10, 2, reading="whitened")


def test_other_units_have_the_same_coefficients_and_noise():
    stream = linear_stream(0, 0, 50, 5)
    other = stream.rescaled(100.0)
    np.testing.assert_array_equal(other.X, 100 * stream.X)
    np.testing.assert_array_equal(other.theta, stream.theta)
    np.testing.assert_allclose(other.signal, other.X @ other.theta)
    np.testing.assert_allclose(other.y - other.signal, stream.y - stream.signal, atol=1e-12)

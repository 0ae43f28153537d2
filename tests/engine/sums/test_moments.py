"""Mean and variance of a sliding range, against rational arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from efface.engine.sums import moments as kernel
from efface.engine.sums.moments import SECTION, empty_range, range_state, update_moments
from efface.live.feature_moments import FeatureMoments, exact_moments

STREAMS = {
    "plain": lambda rng, n: rng.normal(size=(n, 3)),
    "shifted": lambda rng, n: rng.normal([1e6, -1e9, 1e12], size=(n, 3)),
    "whole numbers": lambda rng, n: rng.integers(-3, 4, size=(n, 3)).astype(float),
    "hundredths": lambda rng, n: rng.integers(-300, 400, size=(n, 3)) / 100,
    "huge": lambda rng, n: rng.normal(size=(n, 3)) * 1e100,
    "tiny": lambda rng, n: rng.normal(size=(n, 3)) * 1e-100,
    "an outlier": lambda rng, n: (
        rng.normal(size=(n, 3)) * np.where(np.arange(n) == n // 2, 1e8, 1)[:, None]
    ),
    "constant": lambda rng, n: np.tile([0.1, 1e6, 3.0], (n, 1)),
    "squares out of range": lambda rng, n: rng.normal(size=(n, 3)) * [1e200, 1e-200, 1e-160],
}


def is_neighbour(value, exact):
    """Is ``value`` a double next to the exact number, and not far from the nearer one?"""
    away = abs(Fraction(float(value)) - exact)
    gap = Fraction(float(np.spacing(abs(float(value))))) if value else Fraction(1, 10**300)
    return away <= Fraction(SECTION) * gap * Fraction(1000001, 1000000)


# Without compilation, NumPy warns of overflows.
overflows = pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered:RuntimeWarning")


@overflows
@pytest.mark.parametrize("stream", list(STREAMS))
@pytest.mark.parametrize("window", [1, 2, 16, 30])
def test_a_sliding_window_gives_the_bits_of_exact_sums(stream, window):
    X = STREAMS[stream](np.random.default_rng(1), 70)
    moments = FeatureMoments(3)
    for t in range(70):
        moments.learn(X[t], 0.0, 1 if t >= window else 0)
        if t % 3 == 0:
            rows = X[max(0, t + 1 - window) : t + 1]
            expected = np.array([exact_moments(column) for column in rows.T]).T
            assert moments.mean.tobytes() == expected[0].tobytes()
            assert moments.variance.tobytes() == expected[1].tobytes()


@pytest.mark.parametrize("stream", [name for name in STREAMS if name != "squares out of range"])
def test_mean_and_variance_are_doubles_next_to_the_exact_numbers(stream):
    X = STREAMS[stream](np.random.default_rng(2), 40)
    moments = FeatureMoments(3)
    moments.extend(X, np.zeros(40))
    for j, column in enumerate(X.T):
        numbers = [Fraction(v) for v in column.tolist()]
        mean = sum(numbers) / 40
        variance = sum((v - mean) ** 2 for v in numbers) / 40
        assert is_neighbour(moments.mean[j], mean) or abs(mean) ** 2 < variance / 10**40
        assert is_neighbour(moments.variance[j], variance)


def range_of(values):
    """A range whose live rows have one feature."""
    r = empty_range(np.zeros((len(values), 1)), shrinks=True)
    r.x[:, 0], range_state(r.state).end = values, len(values)
    return r


def test_a_mean_near_the_golden_section_is_certain():
    gap = np.spacing(1.0)
    values = np.array([1.0, 1.0 + 2 * gap, 1.0, 1.0 + 2 * gap, 1.0 + gap, 1.0, 1.0, 1.0])
    r = range_of(values)
    assert update_moments(r) == kernel.DONE  # 5/8 is not 0.618
    assert r.moments[0, 0] == exact_moments(values)[0] == 1.0 + gap


def test_squares_that_lose_digits_are_doubtful():
    r = range_of(np.array([1e-150, 3e-150]))
    assert update_moments(r) == kernel.DOUBTFUL
    assert r.moments[2].tolist() == [1.0]
    assert range_state(r.state).known == 0


@pytest.mark.parametrize("count", [1, 3, 4])
def test_rows_that_leave_are_overwritten_in_every_array(count):
    X = np.random.default_rng(3).normal(size=(4, 2))
    r = empty_range(np.zeros((8, 2)), shrinks=True)
    for row in X:
        assert kernel.learn_row(r, row, 0)
    assert update_moments(r) == kernel.DONE
    kernel.drop_oldest(r, count)
    assert not r.x[:count].any()
    assert not r.suffixes[:count].any()
    assert not r.moments.any()
    assert (r.x[count:4] == X[count:]).all()
    if count == 4:  # the row of the centre has left
        assert not any(part.any() for part in (r.x, r.suffixes, r.recent, r.centre))


def test_a_full_array_takes_no_more_rows():
    r = range_of(np.arange(3.0))
    assert not kernel.learn_row(r, np.ones(1), 0)
    none, out = np.zeros(2, np.int64), np.empty((2, 1))
    found = kernel.scale_rows(r, np.ones((2, 1)), none, none, (True, True, False), out, 0, -1)
    assert tuple(found) == (0, kernel.FULL)

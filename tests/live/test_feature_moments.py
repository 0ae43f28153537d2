"""Mean and variance of live rows, whatever rows have come and left."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from twins import scaling as naive_scaling

from efface.core import core
from efface.live.feature_moments import FeatureMoments, exact_moments


def test_doubtful_moments_come_from_exact_sums():
    tiny = FeatureMoments(1)
    tiny.extend(np.array([[1e-170], [3e-170]]), np.zeros(2))
    assert tiny.mean.tolist() == [2e-170]
    assert tiny.variance.tolist() == [0.0]  # 1e-340 underflows
    huge = FeatureMoments(1)
    huge.extend(np.array([[1e200], [3e200], [1e200]]), np.zeros(3))
    assert huge.mean == pytest.approx([5e200 / 3])
    assert np.isinf(huge.variance).all()


@pytest.mark.parametrize("shrinks", [True, False])
def test_rows_may_come_and_leave_in_any_way(shrinks):
    rng = np.random.default_rng(0)
    X, moments, live = rng.normal(size=(300, 2)), FeatureMoments(2, shrinks=shrinks), []
    for t in range(300):
        way = rng.integers(0, 6)
        if way == 0 and live:
            at = int(rng.integers(0, len(live)))
            moments.insert(at, X[t], 0.0)
            live.insert(at, t)
        elif way == 1 and live:
            at = np.unique(rng.integers(0, len(live), size=3))
            moments.keep(np.delete(np.arange(len(live)), at))
            live = [k for place, k in enumerate(live) if place not in at]
        elif way == 2 and shrinks:
            count = int(rng.integers(0, len(live) + 1))
            moments.drop(count)
            live = live[count:]
        else:
            moments.extend(X[t : t + 1], np.zeros(1))
            live.append(t)
        rows, responses, _ = moments.values()
        assert (rows == X[live]).all()
        assert not responses.any()
        assert moments.n_rows == len(live)
        if live:
            mean, variance = naive_scaling.moments(X[live])
            assert moments.mean == pytest.approx(mean, rel=5e-16)
            assert moments.variance == pytest.approx(variance, rel=5e-16, abs=1e-300)


def test_a_window_that_never_shrinks_keeps_no_suffix_sums():
    keeping, shrinking = FeatureMoments(4, shrinks=False), FeatureMoments(4)
    for moments in (keeping, shrinking):
        moments.extend(np.random.default_rng(0).normal(size=(500, 4)), np.zeros(500))
    assert keeping.mean.tobytes() == shrinking.mean.tobytes()
    assert len(keeping._range.suffixes) == 1


# -- against rational arithmetic -------------------------------------------------------------------

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
    return away <= Fraction(core.SECTION) * gap * Fraction(1000001, 1000000)


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


def moments_of(values):
    moments = FeatureMoments(1)
    moments.extend(np.array(values)[:, np.newaxis], np.zeros(len(values)))
    return moments


def test_a_mean_near_the_golden_section_is_certain():
    gap = np.spacing(1.0)
    values = np.array([1.0, 1.0 + 2 * gap, 1.0, 1.0 + 2 * gap, 1.0 + gap, 1.0, 1.0, 1.0])
    moments = moments_of(values)
    assert moments._range.compiled.update() == 0  # 5/8 is not 0.618
    assert moments.mean[0] == exact_moments(values)[0] == 1.0 + gap


def test_squares_that_lose_digits_are_doubtful():
    moments = moments_of([1e-150, 3e-150])
    assert moments._range.compiled.update() == 1
    assert moments._range.moments[2].tolist() == [1.0]


@pytest.mark.parametrize("count", [1, 3, 4])
def test_rows_that_leave_are_overwritten_in_every_array(count):
    X = np.random.default_rng(3).normal(size=(4, 2))
    moments = FeatureMoments(2)
    for row in X:
        moments.learn(row, 0.0, 0)
    assert np.isfinite(moments.mean).all()
    r = moments._range
    r.compiled.drop(count)
    assert not r.x[:count].any()
    assert not r.suffixes[:count].any()
    assert not r.moments.any()
    assert (r.x[count:4] == X[count:]).all()
    if count == 4:  # the row of the centre has left
        assert not any(part.any() for part in (r.x, r.suffixes, r.recent, r.centre))


def test_a_full_array_takes_no_more_rows():
    moments = FeatureMoments(1)
    places = len(moments._range.x)
    moments.extend(np.ones((places, 1)), np.zeros(places))
    assert not moments._range.compiled.learn(np.ones(1), 0)
    none, out = np.zeros(2, np.int64), np.empty((2, 1))
    rows = np.ones((2, 1)), none, none, True, True, False, out, 0, -1
    assert moments._range.compiled.scale_rows(*rows) == (0, 2)

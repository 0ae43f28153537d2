"""Mean and variance, rounded once from the exact sums, whatever rows have come and gone."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from twins import scaling as naive_scaling

from efface.engine.sums import moments as kernel
from efface.engine.sums.moments import END, SECTION, range_of, settle_range
from efface.live.spread import Spread, exact_moments

WORLDS = {
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
    "beyond squares": lambda rng, n: rng.normal(size=(n, 3)) * [1e200, 1e-200, 1e-160],
}


def between(value, exact):
    """Is ``value`` a double next to the exact number, and not far from the nearer one?"""
    away = abs(Fraction(float(value)) - exact)
    gap = Fraction(float(np.spacing(abs(float(value))))) if value else Fraction(1, 10**300)
    return away <= Fraction(SECTION) * gap * Fraction(1000001, 1000000)


# As plain Python, NumPy warns of what compiled code just computes.
beyond = pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered:RuntimeWarning")


@beyond
@pytest.mark.parametrize("world", list(WORLDS))
@pytest.mark.parametrize("window", [1, 2, 16, 30])
def test_sliding_gives_the_bits_of_exact_sums(world, window):
    X = WORLDS[world](np.random.default_rng(1), 70)
    spread = Spread(3)
    for t in range(70):
        spread.learn(X[t], 0.0, 1 if t >= window else 0)
        if t % 3 == 0:
            rows = X[max(0, t + 1 - window) : t + 1]
            expected = np.array([exact_moments(column) for column in rows.T]).T
            assert spread.mean.tobytes() == expected[0].tobytes()
            assert spread.variance.tobytes() == expected[1].tobytes()


@pytest.mark.parametrize("world", [w for w in WORLDS if w != "beyond squares"])
def test_both_are_doubles_next_to_the_exact_numbers(world):
    X = WORLDS[world](np.random.default_rng(2), 40)
    spread = Spread(3)
    spread.extend(X, np.zeros(40))
    for j, column in enumerate(X.T):
        numbers = [Fraction(v) for v in column.tolist()]
        mean = sum(numbers) / 40
        variance = sum((v - mean) ** 2 for v in numbers) / 40
        assert between(spread.mean[j], mean) or abs(mean) ** 2 < variance / 10**40
        assert between(spread.variance[j], variance)


@beyond
def test_doubts_are_decided_by_exact_sums():
    # a mean that lies on the golden section between two doubles, as far as a double can tell
    gap = np.spacing(1.0)
    r = range_of(np.zeros((8, 1)), shrinks=True)
    values = np.array([1.0, 1.0 + 2 * gap, 1.0, 1.0 + 2 * gap, 1.0 + gap, 1.0, 1.0, 1.0])
    r.x[:, 0], r.dials[END] = values, 8
    assert settle_range(r) == kernel.DONE  # 5/8 is not 0.618
    assert r.found[0, 0] == exact_moments(values)[0] == 1.0 + gap
    faint = Spread(1)
    faint.extend(np.array([[1e-170], [3e-170]]), np.zeros(2))
    assert faint.mean.tolist() == [2e-170]
    assert faint.variance.tolist() == [0.0]  # 1e-340 is no double
    huge = Spread(1)
    huge.extend(np.array([[1e200], [3e200], [1e200]]), np.zeros(3))
    assert huge.mean == pytest.approx([5e200 / 3])
    assert np.isinf(huge.variance).all()


@pytest.mark.parametrize("shrinks", [True, False])
def test_rows_may_come_and_leave_in_any_way(shrinks):
    rng = np.random.default_rng(0)
    X, spread, live = rng.normal(size=(300, 2)), Spread(2, shrinks=shrinks), []
    for t in range(300):
        way = rng.integers(0, 6)
        if way == 0 and live:
            at = int(rng.integers(0, len(live)))
            spread.insert(at, X[t], 0.0)
            live.insert(at, t)
        elif way == 1 and live:
            at = np.unique(rng.integers(0, len(live), size=3))
            spread.remove(at)
            live = [k for place, k in enumerate(live) if place not in at]
        elif way == 2 and shrinks:
            count = int(rng.integers(0, len(live) + 1))
            spread.drop(count)
            live = live[count:]
        else:
            spread.extend(X[t : t + 1], np.zeros(1))
            live.append(t)
        rows, responses, _ = spread.values()
        assert (rows == X[live]).all()
        assert not responses.any()
        assert spread.n_rows == len(live)
        if live:
            mean, variance = naive_scaling.moments(X[live])
            assert spread.mean == pytest.approx(mean, rel=5e-16)
            assert spread.variance == pytest.approx(variance, rel=5e-16, abs=1e-300)


def test_a_window_that_never_shrinks_keeps_no_end_pieces():
    keeping, shrinking = Spread(4, shrinks=False), Spread(4)
    for spread in (keeping, shrinking):
        spread.extend(np.random.default_rng(0).normal(size=(500, 4)), np.zeros(500))
    assert keeping.mean.tobytes() == shrinking.mean.tobytes()
    assert len(keeping._range.pieces) == 1

"""Mean and variance of live rows, whatever rows have come and left."""

from __future__ import annotations

import numpy as np
import pytest
from twins import scaling as naive_scaling

from efface.live.feature_moments import FeatureMoments


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

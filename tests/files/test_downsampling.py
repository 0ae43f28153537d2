"""A digest keeps means and extremes of equal bins, however the rows arrive."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from efface.files.downsampling import Digest


def naive(values, bins):
    """Bins of the least power of two that fits, one after the other."""
    width = 1
    while -(-len(values) // width) > bins:
        width *= 2
    parts = [values[k : k + width] for k in range(0, len(values), width)]
    known = [[v for v in part if v == v] for part in parts]
    nan = float("nan")
    return (
        width,
        [sum(part) / len(part) if part else nan for part in known],
        [min(part, default=nan) for part in known],
        [max(part, default=nan) for part in known],
    )


numbers = st.floats(-1e6, 1e6) | st.just(float("nan"))


@settings(deadline=None)
@given(st.lists(st.lists(numbers, max_size=30), min_size=1, max_size=6), st.sampled_from([2, 4, 8]))
def test_a_digest_equals_its_naive_twin(chunks, bins):
    digest = Digest(bins)
    for chunk in chunks:
        digest.add({"v": np.array(chunk)})
    values = [v for chunk in chunks for v in chunk]
    if not values:
        return
    width, means, lows, highs = naive(values, bins)
    assert digest.width == width
    np.testing.assert_allclose(digest.mean("v"), means, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(digest.low("v"), lows)
    np.testing.assert_array_equal(digest.high("v"), highs)


def test_a_single_peak_survives_a_million_rows():
    digest, values = Digest(128), np.zeros(1_000_000)
    values[123_456] = 7.0
    for part in np.array_split(values, 7):
        digest.add({"v": part})
    assert digest.high("v").max() == 7.0
    assert len(digest.mean("v")) <= 128

"""A binned series keeps mean, minimum and maximum of equal bins, however rows arrive."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from efface.charts.downsampling import BinnedSeries


def naive(values, bins):
    """Bins whose width is the smallest power of two that fits."""
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
def test_bins_equal_those_of_a_naive_implementation(chunks, bins):
    series = BinnedSeries(bins)
    for chunk in chunks:
        series.add({"v": np.array(chunk)})
    values = [v for chunk in chunks for v in chunk]
    if not values:
        return
    width, means, lows, highs = naive(values, bins)
    assert series.width == width
    np.testing.assert_allclose(series.mean("v"), means, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(series.low("v"), lows)
    np.testing.assert_array_equal(series.high("v"), highs)


def test_a_single_peak_is_kept_among_a_million_rows():
    series, values = BinnedSeries(128), np.zeros(1_000_000)
    values[123_456] = 7.0
    for part in np.array_split(values, 7):
        series.add({"v": part})
    assert series.high("v").max() == 7.0
    assert len(series.mean("v")) <= 128

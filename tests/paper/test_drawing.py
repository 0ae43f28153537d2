"""What figures share."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from efface.paper.drawing import WIDTH, extent, log_ticks, new_figure, values_of


@given(st.floats(0.5, 1.0), st.floats(1.05, 90.0))
def test_ticks_are_inside_apart_and_include_1(low, high):
    ticks = log_ticks(low, high)
    assert 1 in ticks
    assert all(low <= tick <= high for tick in ticks)
    assert all(b / a >= (high / low) ** (1 / 6) - 1e-9 for a, b in pairwise(ticks))


def test_a_figure_has_the_width_of_a_page():
    assert new_figure(3.0).get_figwidth() == WIDTH < 8.3


def test_the_extent_includes_error_bars():
    rows = [{"l2_mean": 1.0, "l2_se": 0.5}, {"l2_mean": 2.0, "l2_se": math.nan}]
    assert extent(rows, "l2") == (pytest.approx(0.5), 2.0)


def test_values_are_distinct_and_in_order():
    assert values_of([{"s": 3}, {"s": 1}, {"s": 3}], "s") == [3, 1]

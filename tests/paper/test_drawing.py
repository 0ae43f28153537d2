"""What figures share."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from efface.paper.drawing import figure, final_values, new_figure, separated, values_of


@given(st.lists(st.floats(-1, 5), min_size=1, max_size=9))
def test_labels_are_apart_in_order_and_inside(heights):
    placed = separated(sorted(heights))
    assert placed == sorted(placed)
    assert placed[-1] <= 1.0
    assert all(b - a >= 0.0949 for a, b in pairwise(placed))


def test_values_stand_beside_the_axes_in_their_colours():
    axis = new_figure(3, 2).subplots()
    axis.set_ylim(0, 10)
    final_values(axis, [(5.0, 0.25, "red"), (25.0, 0.0, "blue")])
    assert [(text.get_text(), text.get_color()) for text in axis.texts] == [
        ("5.00 ± 0.25", "red"),
        ("25.0 ↑", "blue"),
    ]


@pytest.mark.parametrize(
    ("value", "text"), [(12345.6, "12,346"), (99.94, "99.9"), (9.994, "9.99"), (0.5, "0.50")]
)
def test_a_figure_has_few_digits(value, text):
    assert figure(value) == text


def test_values_are_distinct_and_in_order():
    assert values_of([{"s": 3}, {"s": 1}, {"s": 3}], "s") == [3, 1]

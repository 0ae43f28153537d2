"""Results as text: aligned entries, numbers, counts and lists of ids."""

from __future__ import annotations

import math

import pytest

from efface.diagnostics.text import aligned, counted, figure, listed


def test_entries_are_aligned_and_those_that_are_none_are_left_out():
    text = aligned("Rows", {"rank": 2, "condition": 1.25, "leverage of x": None, "frt": 0.0})
    assert text.splitlines() == [
        "Rows",
        "  rank           2",
        "  condition      1.25",
        "  frt            0",
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1 / 3, "0.333333"),
        (123456789.0, "1.23457e+08"),
        (1.23456e-9, "1.2e-09"),
        (-1.23456e-9, "-1.2e-09"),
        (0.0, "0"),
        (math.inf, "inf"),
        (123456789, "123456789"),
        (True, "True"),
        ("ann", "ann"),
    ],
)
def test_floats_have_six_digits_and_tiny_ones_two(value, text):
    assert figure(value) == text


def test_a_noun_follows_its_count():
    assert [counted(count, "row") for count in (0, 1, 2)] == ["0 rows", "1 row", "2 rows"]


def test_at_most_five_ids_are_listed():
    assert listed(()) == ""
    assert listed(("ann", 7)) == "'ann', 7"
    assert listed(tuple(range(5))) == "0, 1, 2, 3, 4"
    assert listed(tuple(range(8))) == "0, 1, 2, 3, 4 and 3 more"

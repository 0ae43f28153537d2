"""The checks of sliding sums find damage, and nothing in healthy sums."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from efface.engine.jit.records import words
from efface.engine.jit.views import weighed
from efface.engine.sums.sliding import depth_for, lay_out_sums, slide_to, start_sums
from efface.engine.sums.sum_checks import wrong_sums

ROWS, D = 200, 3
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(ROWS, D)) + 5.0, RNG.normal(size=ROWS)
RESPONSES = weighed(Y, RNG.choice([0.0, 0.3, 1.0, 4.0], size=ROWS))


def no_sums(unit=1):
    depth = depth_for(ROWS, unit)
    sums, _ = lay_out_sums(np.zeros(words(lay_out_sums, D, depth)), 0, D, depth)
    start_sums(sums, True)
    return sums


def slid():
    """The sums over [12, 60), with entries on the stack and rows since the turn."""
    sums = no_sums()
    for start in range(13):
        slide_to(sums, X, RESPONSES, start, 48 + start, 1, True)
    assert list(wrong(sums)) == []
    return sums


def wrong(sums, head=12, summed=(12, 60)):
    return list(wrong_sums(sums, X, RESPONSES, head, summed))


@settings(deadline=None, max_examples=30)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=20),
    st.integers(1, 8),
    st.booleans(),
)
def test_sums_of_a_range_that_slides_are_right(moves, unit, centred):
    sums, a, b = no_sums(unit), 0, 1
    for leave, come in moves:
        b += come
        a = min(a + leave, b - 1)
        slide_to(sums, X, RESPONSES, a, b, unit, centred)
        assert wrong(sums, a, (a, b)) == []


def test_sums_before_the_first_row_are_right():
    assert wrong(no_sums(), 0, None) == []


@pytest.mark.parametrize("part", ["total", "recent"])
def test_a_changed_sum_is_found(part):
    sums = slid()
    getattr(sums, part)[2, 1] += 1e-3
    assert wrong(sums) == [f"sums.{part}"]


def test_a_changed_stack_entry_is_found():
    sums = slid()
    sums.stack[0, 0] += 1e-3
    assert wrong(sums) == ["sums.stack[0]"]


def test_a_number_in_a_free_stack_entry_is_found():
    sums = slid()
    last = sums.starts.size - 1
    sums.stack[last, 0] = 1e-3
    assert wrong(sums) == [f"sums.stack[{last}]"]


def test_a_number_in_the_scratch_rows_is_found():
    sums = slid()
    sums.rows[0, 0] = 1.0
    assert wrong(sums) == ["sums.rows"]


@pytest.mark.parametrize("part", ["bounds", "recent_bounds", "stack_bounds"])
def test_bounds_of_no_live_row_are_found(part):
    sums = slid()
    getattr(sums, part)[0, 0] = 123.0
    assert wrong(sums) == ["sums.bounds"]


def test_sums_that_contain_rows_before_the_head_are_found():
    sums = slid()
    assert "sums.total" in wrong(sums, head=13)


def test_a_total_that_must_be_zero_is_found():
    assert wrong(slid(), summed=None) == ["sums.total"]

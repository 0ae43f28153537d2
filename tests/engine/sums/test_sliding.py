import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from efface.engine.jit.records import words
from efface.engine.jit.views import weighed
from efface.engine.sums.sliding import (
    depth_for,
    lay_out_sums,
    shift_down,
    slide_to,
    start_sums,
)


def made(d, rows, unit):
    depth = depth_for(rows, unit)
    held = np.zeros(words(lay_out_sums, d, depth))
    sums, end = lay_out_sums(held, 0, d, depth)
    assert end == held.size
    start_sums(sums, False)
    return sums, held


def direct(sums, x, y, a, b, weights=None):
    """The Gram matrix of the rows around the centre of the sums, by NumPy."""
    rows = np.column_stack([x[a:b], np.ones(b - a), y[a:b]]) - sums.centre
    weights = np.ones(b - a) if weights is None else weights[a:b]
    return np.tril(rows.T @ (weights[:, None] * rows))


moves = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=25)


@settings(deadline=None, max_examples=40)
@given(
    moves=moves,
    d=st.integers(1, 4),
    centred=st.booleans(),
    unit=st.integers(1, 8),
    weighed_=st.booleans(),
)
def test_sums_equal_a_direct_sum_wherever_the_range_slides(moves, d, centred, unit, weighed_):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(300, d)) + 5.0, rng.normal(size=300)
    w = rng.choice([0.0, 0.3, 1.0, 4.0], size=300) if weighed_ else None
    sums, _held = made(d, 300, unit)
    a, b = 0, 1
    for leave, come in moves:
        b += come
        a = min(a + leave, b - 1)
        slide_to(sums, x, weighed(y, w), a, b, unit, centred)
        np.testing.assert_allclose(np.tril(sums.total), direct(sums, x, y, a, b, w), atol=1e-10)


def test_the_centre_of_a_constant_feature_is_its_value_to_the_last_bit():
    x, y = np.full((30, 2), 0.1), np.arange(30.0)
    x[3, 1] = 7.0
    w = np.where(np.arange(30) == 3, 0.0, 0.7)
    for weights in (None, w):
        sums, _held = made(2, 30, 1)
        slide_to(sums, x, weighed(y, weights), 0, 30, 1, True)
        assert sums.centre[0] == 0.1
        assert sums.total[0, 0] == 0.0
        assert (sums.centre[1] == 0.1) == (weights is not None)


def test_no_number_of_a_huge_row_remains_once_it_is_out_of_range():
    x, y = np.ones((60, 2)), np.ones(60)
    x[5] = 1e8
    sums, floats = made(2, 60, 4)
    for a in range(0, 20, 2):
        slide_to(sums, x, weighed(y), a, a + 30, 2, False)
    assert np.abs(floats[np.isfinite(floats)]).max() < 1e3


def test_a_huge_row_without_weight_changes_neither_centre_nor_bounds():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 2)), rng.normal(size=40)
    x[5], y[5] = 1e8, 1e8
    w = np.where(np.arange(40) == 5, 0.0, 1.0)
    sums, _held = made(2, 40, 2)
    start_sums(sums, True)
    slide_to(sums, x, weighed(y, w), 0, 40, 2, True)
    kept = np.delete(np.arange(40), 5)
    np.testing.assert_allclose(sums.centre, [*x[kept].mean(axis=0), 0.0, y[kept].mean()])
    assert sums.bounds[0].tolist() == x[kept].max(axis=0).tolist()


def test_bounds_follow_the_range_when_the_largest_row_leaves():
    x, y = np.arange(40.0)[::-1, None].copy(), np.zeros(40)
    sums, _held = made(1, 40, 2)
    start_sums(sums, True)
    for a in range(30):
        slide_to(sums, x, weighed(y), a, a + 5, 2, False)
        assert sums.bounds[:, 0].tolist() == [39.0 - a, 35.0 - a]


def test_the_stack_stays_within_its_documented_depth():
    assert depth_for(1000, 1) <= 2 + 2 * 32
    assert depth_for(10**6, 8) <= 2 + 4 * 32


def test_rows_that_move_in_their_array_keep_their_sums():
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(50, 2)), rng.normal(size=50)
    sums, _held = made(2, 50, 2)
    slide_to(sums, x, weighed(y), 10, 30, 2, False)
    x[:40], y[:40] = x[10:].copy(), y[10:].copy()
    shift_down(sums, 10)
    slide_to(sums, x, weighed(y), 4, 25, 2, False)
    np.testing.assert_allclose(np.tril(sums.total), direct(sums, x, y, 4, 25), atol=1e-12)


@pytest.mark.parametrize("centred", [True, False])
def test_features_are_centred_only_on_request(centred):
    x, y = np.full((10, 1), 7.0), np.full(10, 3.0)
    sums, _held = made(1, 10, 1)
    slide_to(sums, x, weighed(y), 0, 10, 1, centred)
    assert sums.centre.tolist() == pytest.approx([7.0 if centred else 0.0, 0.0, 3.0])


@pytest.mark.parametrize("unit", [1, 3, 8])
def test_the_stack_never_is_full(unit):
    """With a full stack the time per slide would grow with the range."""
    x, y = np.ones((6000, 1)), np.ones(6000)
    sums, _held = made(1, 1500, unit)
    for a in range(0, 4500, unit):
        slide_to(sums, x, weighed(y), a, a + 1500, unit, False)
        assert sums.state.entries < sums.starts.size - 1

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from efface.live.walls import (
    as_key,
    as_keys,
    walls_among,
    walls_in_range,
)


@given(start=st.integers(0, 10**9), count=st.integers(1, 3000), bits=st.integers(1, 8))
def test_walls_of_a_range_are_those_of_its_numbers(start, count, bits):
    keys = np.arange(start, start + count).astype(np.uint64)
    for found, expected in zip(
        walls_in_range(start, start + count, bits), walls_among(keys, bits), strict=True
    ):
        assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("bits", [6, 8])
def test_consecutive_numbers_have_one_wall_per_leaf(bits):
    places, heights = walls_in_range(0, 1 << (bits + 10), bits)
    assert (places >> bits).tolist() == list(range(1 << 10))
    assert np.count_nonzero(heights > 1) == 1 << 8
    assert np.count_nonzero(heights > 2) == 1 << 6


def test_names_have_about_one_wall_per_leaf():
    keys = np.array([as_key(f"customer {k}") for k in range(64_000)], dtype=np.uint64)
    places, heights = walls_among(keys, 6)
    assert 850 < places.size < 1150
    assert 170 < np.count_nonzero(heights > 1) < 330


def test_a_wall_does_not_depend_on_its_neighbours():
    keys = np.random.default_rng(0).integers(0, 2**63, size=5000).astype(np.uint64)
    places, heights = walls_among(keys, 4)
    for place, height in zip(places[:50], heights[:50], strict=True):
        assert walls_among(keys[place : place + 1], 4)[1].tolist() == [height]


@pytest.mark.parametrize("id", [0, -1, 7, 10**30, "ann", "", "ü"])
def test_every_id_has_a_key_of_64_bits(id):
    assert 0 <= as_key(id) < 2**64


@pytest.mark.parametrize("ids", [[3, -5, 2**62], [3, "3", "ann"], ["é", ""], [2**70, 1], []])
def test_the_key_of_an_id_does_not_depend_on_the_others(ids):
    assert as_keys(ids).tolist() == [as_key(id) for id in ids]

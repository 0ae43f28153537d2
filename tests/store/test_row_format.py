"""The plaintext of rows comes back as it was, whatever they have."""

from __future__ import annotations

from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from efface.store.row_format import BLOCK, StoredRows, decode, encode, random_ids

NAMES = st.one_of(
    st.integers(),
    st.text(max_size=50),
    st.uuids().map(str),
    st.uuids().map(lambda u: str(u).upper()),
)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
NEVER = np.iinfo(np.int64).max


@st.composite
def stored_rows(draw):
    count, width = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    numbers = [
        draw(arrays(np.float64, shape, elements=FLOATS)) for shape in ((count, width), count, count)
    ]
    names = st.lists(st.none() | NAMES, min_size=count, max_size=count)
    ids = draw(st.lists(NAMES, min_size=count, max_size=count))
    calendar = draw(st.booleans())
    times = ends = None
    if draw(st.booleans()):
        values = st.integers(-(2**62), 2**62) if calendar else FLOATS
        times = draw(arrays(np.int64 if calendar else np.float64, count, elements=values))
    if draw(st.booleans()):
        none = NEVER if calendar else np.inf
        values = st.just(none) | (st.integers(-(2**62), 2**62) if calendar else FLOATS)
        ends = draw(arrays(np.int64 if calendar else np.float64, count, elements=values))
    owners, keys = (draw(st.none() | names) for _ in range(2))
    return StoredRows(*numbers, ids, times, ends, owners, keys)


def none_if_all(values, none):
    """A column that says nothing comes back as None."""
    return None if values is None or all(value == none for value in values) else list(values)


@given(stored_rows())
def test_rows_come_back_bit_for_bit(rows):
    texts = encode(rows)
    assert all(len(text) % BLOCK == 0 for text in texts)
    back = decode(texts, rows.X.shape[1])
    for name in ("X", "y", "weights"):
        assert getattr(back, name).tobytes() == getattr(rows, name).tobytes()
    assert back.ids == rows.ids
    assert back.owners == none_if_all(rows.owners, None)
    assert back.keys == none_if_all(rows.keys, None)
    if rows.times is None:
        assert back.times is None
    else:
        assert back.times.dtype == rows.times.dtype
        assert back.times.tobytes() == rows.times.tobytes()
    never = NEVER if rows.untils is not None and rows.untils.dtype == np.int64 else np.inf
    wanted = none_if_all(rows.untils, never)
    assert (None if back.untils is None else back.untils.tolist()) == wanted


def test_a_short_row_takes_one_block_more_than_its_numbers():
    rows = StoredRows(np.zeros((1, 10)), np.zeros(1), np.ones(1), [7], owners=["ann"])
    assert [len(text) for text in encode(rows)] == [192]


def test_lone_surrogates_are_names_too():
    rows = StoredRows(np.zeros((1, 1)), np.zeros(1), np.ones(1), ["\udc80"])
    assert decode(encode(rows), 1).ids == ["\udc80"]


def test_drawn_ids_are_uuids_of_version_4():
    ids = random_ids(50, np.random.default_rng(0).bytes(16 * 50))
    assert len(set(ids)) == 50
    assert {UUID(id).version for id in ids} == {4}
    assert [str(UUID(id)) for id in ids] == ids


@pytest.mark.parametrize("count", [0, 3])
def test_no_rows(count):
    assert len(decode([], 2)) == 0
    assert StoredRows.none(2).X.shape == (0, 2)

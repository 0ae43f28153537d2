"""The plaintext of rows comes back as it was, whatever they have."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from efface.errors import InvalidValue
from efface.store.row_format import BLOCK, decode, encode, random_ids, refuse_long
from efface.store.stored_rows import StoredRows

NAMES = st.one_of(
    st.integers(),
    st.text(max_size=50),
    st.uuids().map(str),
    st.uuids().map(lambda u: str(u).upper()),
    st.text(min_size=36, max_size=36),
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
    each = draw(st.sampled_from([NAMES, st.uuids().map(str), st.text(max_size=50), st.integers()]))
    ids = draw(st.lists(each, min_size=count, max_size=count))
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
    phases = draw(st.none() | arrays(np.int64, count, elements=st.integers(0, 2**40)))
    return StoredRows(*numbers, ids, times, ends, owners, keys, phases)


def none_if_all(values, none):
    """A column that says nothing comes back as None."""
    return None if values is None or all(value == none for value in values) else list(values)


@given(stored_rows())
def test_rows_come_back_bit_for_bit(rows):
    texts = encode(rows)
    assert all(len(text) % BLOCK == 0 for text in texts)
    alone = [encode(rows.take(np.array([k])))[0] for k in range(len(rows))]
    for one, text in zip(alone, texts, strict=True):  # a single row has a way of its own
        assert text == one + bytes(len(text) - len(one))
        assert len(text) - len(one) in (0, BLOCK)
    back = decode(texts, rows.X.shape[1])
    for name in ("X", "y", "weights"):
        assert getattr(back, name).tobytes() == getattr(rows, name).tobytes()
    assert back.ids == rows.ids
    assert back.owners == none_if_all(rows.owners, None)
    assert back.keys == none_if_all(rows.keys, None)
    assert (None if rows.phases is None else rows.phases.tolist()) == (
        None if back.phases is None else back.phases.tolist()
    )
    if rows.times is None:
        assert back.times is None
    else:
        assert back.times.dtype == rows.times.dtype
        assert back.times.tobytes() == rows.times.tobytes()
    never = NEVER if rows.untils is not None and rows.untils.dtype == np.int64 else np.inf
    wanted = none_if_all(rows.untils, never)
    assert (None if back.untils is None else back.untils.tolist()) == wanted


def test_a_short_row_is_padded_to_whole_blocks():
    rows = StoredRows(np.zeros((1, 10)), np.zeros(1), np.ones(1), [7], owners=["ann"])
    assert [len(text) for text in encode(rows)] == [128]


@pytest.mark.parametrize(
    ("names", "lengths"),
    [
        (["a", "a" * 20], [128, 128]),  # of nearly the same length: nobody sees which is longer
        (["a", "a" * 200, "b"], [64, 256, 64]),
    ],
)
def test_rows_of_one_batch_are_padded_alike(names, lengths):
    rows = StoredRows(np.ones((len(names), 3)), *np.ones((2, len(names))), names)
    assert [len(text) for text in encode(rows)] == lengths
    assert decode(encode(rows), 3).ids == names


@given(stored_rows(), st.lists(st.integers(0, 1), min_size=12, max_size=12))
def test_rows_of_different_batches_are_read_together(rows, choice):
    ended = replace(rows, untils=np.full(len(rows), 5.0), times=None)
    plain = replace(rows, untils=None, times=None)
    both = encode(ended), encode(plain)
    mixed = [both[choice[k]][k] for k in range(len(rows))]
    back = decode(mixed, rows.X.shape[1])
    assert back.X.tobytes() == rows.X.tobytes()
    assert back.ids == rows.ids
    assert back.owners == none_if_all(rows.owners, None)
    wanted = [np.inf if choice[k] else 5.0 for k in range(len(rows))]
    assert (back.untils is None and set(wanted) == {np.inf}) or back.untils.tolist() == wanted


def test_names_that_are_too_long_are_refused():
    refuse_long(["a" * 16_383, 7, None], "ids")
    with pytest.raises(InvalidValue, match="ids"):
        refuse_long(["a" * 16_384], "ids")


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

"""Records: named fields in a flat array, in Python and in compiled code."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from efface.engine.jit.compilation import KERNEL, carving
from efface.engine.jit.records import Ruler, as_ints, record, words
from efface.engine.jit.views import part, take

UNCACHED = {**KERNEL, "cache": False}
state_of, WORDS = record(floats=["level", "slope"], ints=["rank", "head"])


@carving
def lay_out(store, at, n):
    """A record, n integers and an (n, 2) matrix."""
    counts = at + WORDS
    matrix = counts + n
    views = state_of(part(store, at, counts)), as_ints(part(store, counts, matrix))
    return (*views, take(store, matrix, n, 2)), matrix + 2 * n


@numba.njit(**UNCACHED)
def write(store, level, rank):
    state = state_of(store)
    state.level, state.rank = level, rank
    state.slope = 2.0 * state.level
    state.head += 1


@numba.njit(**UNCACHED)
def read(store):
    state = state_of(store)
    return state.rank, state.head, state.level, state.slope


@numba.njit(**UNCACHED)
def write_parts(store, at, n):
    (state, counts, matrix), end = lay_out(store, at, n)
    state.head = 5
    for i in range(n):
        counts[i] = -i
        matrix[i, 1] = 0.5 * i
    return end


def test_a_record_has_one_word_per_field_integers_first():
    store = np.zeros(WORDS + 1)
    state = state_of(store)
    state.rank, state.head, state.level, state.slope = 3, -4, 0.5, 1.5
    assert WORDS == 4
    assert store.view(np.int64)[:2].tolist() == [3, -4]
    assert store[2:].tolist() == [0.5, 1.5, 0.0]


def test_a_record_of_integers_can_lie_in_an_integer_array():
    span_of, size = record(ints=["head", "end"])
    span = np.zeros(size, np.int64)
    span_of(span).end = 7
    assert span.tolist() == [0, 7]


def test_a_kernel_writes_what_python_reads():
    store = np.zeros(WORDS)
    state_of(store).head = 41
    write(store, 0.25, 9)
    state = state_of(store)
    assert (state.rank, state.head, state.level, state.slope) == (9, 42, 0.25, 0.5)


def test_a_kernel_reads_what_python_writes():
    store = np.zeros(WORDS)
    state = state_of(store)
    state.rank, state.head, state.level, state.slope = 2**62, -1, -0.0, np.inf
    assert tuple(read(store)) == (2**62, -1, 0.0, np.inf)


def test_an_unknown_field_is_refused():
    with pytest.raises(AttributeError):
        state_of(np.zeros(WORDS)).level_of_water  # noqa: B018


@pytest.mark.parametrize("n", [0, 1, 5])
def test_words_are_the_size_of_the_layout(n):
    assert words(lay_out, n) == WORDS + 3 * n
    store = np.zeros(words(lay_out, n))
    assert lay_out(store, 0, n)[1] == store.size


def test_a_ruler_stands_for_every_view_of_an_array():
    ruler = Ruler()
    assert ruler[3:9] is ruler.reshape(2, 3) is ruler.view(np.int64) is ruler


def test_a_layout_gives_the_same_views_in_python_and_in_a_kernel():
    store, n = np.zeros(3 + words(lay_out, 4)), 4
    assert write_parts(store, 3, n) == store.size
    (state, counts, matrix), _ = lay_out(store, 3, n)
    assert state.head == 5
    assert counts.tolist() == [0, -1, -2, -3]
    assert matrix.tolist() == [[0.0, 0.5 * i] for i in range(n)]
    assert not store[:3].any()

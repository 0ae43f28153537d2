"""Chunks keep every row in order, and whole keys are whole."""

from __future__ import annotations

from itertools import chain, pairwise

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from efface.spark.key_chunks import chunks, first_run, last_run, whole_keys

keys = st.lists(st.integers(0, 4), max_size=40).map(sorted)
cuts = st.lists(st.integers(0, 40), max_size=6).map(sorted)


def cut(values, places):
    edges = [0, *(min(place, len(values)) for place in places), len(values)]
    keys = (pa.array(values[a:b], pa.int64()) for a, b in pairwise(edges))
    return [pa.record_batch({"key": each}) for each in keys]


@given(keys, cuts, st.integers(1, 10))
@settings(deadline=None)
def test_chunks_have_all_rows_in_order(values, places, rows):
    found = [table["key"].to_pylist() for table in chunks(cut(values, places), rows)]
    assert list(chain.from_iterable(found)) == values
    assert all(len(each) >= rows for each in found[:-1])


@given(keys, cuts, st.integers(1, 10))
@settings(deadline=None)
def test_whole_keys_are_never_divided(values, places, rows):
    found = [table["key"].to_pylist() for table in whole_keys(cut(values, places), "key", rows)]
    assert list(chain.from_iterable(found)) == values
    seen = [set(each) for each in found]
    assert sum(map(len, seen)) == len(set(values))


@given(keys, cuts, st.integers(1, 10), st.integers(1, 10))
@settings(deadline=None)
def test_keys_are_divided_if_they_are_longer_than_allowed(values, places, rows, longest):
    tables = whole_keys(cut(values, places), "key", rows, longest)
    found = [table["key"].to_pylist() for table in tables]
    assert list(chain.from_iterable(found)) == values
    for one, other in pairwise(found):
        if one[-1] == other[0]:
            assert len(one) > longest


def test_runs():
    column = pa.chunked_array([["a"], ["a", "b"]])
    assert (first_run(column, "a"), first_run(column, "b"), first_run(column, None)) == (2, 0, 0)
    assert (last_run(column), last_run(pa.chunked_array([["a", "a"]]))) == (2, 0)

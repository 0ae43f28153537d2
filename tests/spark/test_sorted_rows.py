"""Rows come out sorted, whether they fit in memory or wait in files."""

from __future__ import annotations

import math
import os
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from efface.spark.sorted_rows import sorted_rows

names = st.one_of(st.none(), st.text("aé😀", max_size=2))
floats = st.one_of(st.none(), st.sampled_from([math.nan, -math.inf, -1.5, 0.0, 2.0]))
rows = st.lists(st.tuples(names, floats), max_size=60)
cuts = st.lists(st.integers(0, 60), max_size=6).map(sorted)


def batches_of(values, places):
    """Record batches of the values, which are numbered in their order."""
    keys, ids = ([row[column] for row in values] for column in (0, 1))
    columns = {
        "key": pa.array(keys, pa.string()),
        "id": pa.array(ids, pa.float64()),
        "number": pa.array(range(len(values)), pa.int64()),
    }
    edges = [0, *(min(place, len(values)) for place in places), len(values)]
    whole = pa.record_batch(columns)
    return [whole.slice(a, b - a) for a, b in pairwise(edges)]  # some are empty


def in_order(row):
    key, number = row
    last = number is None, number is not None and math.isnan(number)
    return key is None, key or "", *last, 0.0 if any(last) else number


@given(rows, cuts, st.sampled_from([1, 200, 1 << 27]), st.integers(1, 5))
@settings(deadline=None)
def test_rows_are_those_of_a_plain_sort(values, places, limit, block):
    found = list(sorted_rows(batches_of(values, places), ["key", "id"], limit, block))
    numbers = [number for batch in found for number in batch["number"].to_pylist()]
    assert sorted(numbers) == list(range(len(values)))
    keys = [in_order(values[number]) for number in numbers]
    assert keys == sorted(keys)


def test_times_are_sorted_as_instants_where_a_clock_is_turned_back():
    """An hour occurs twice in local time; local times would be merged out of order."""
    start = 1_793_493_000_000_000  # 2026-11-01 00:30 UTC, New York turns its clocks at 06:00 UTC
    micros = [start + 600_000_000 * (17 * step % 60) for step in range(60)]
    times = pa.array(micros, pa.timestamp("us", "America/New_York"))
    batches = pa.table({"at": times}).to_batches(max_chunksize=7)
    found = pa.Table.from_batches(sorted_rows(batches, ["at"], limit=100, block=3))["at"]
    assert found.cast(pa.int64()).to_pylist() == sorted(micros)


@pytest.fixture
def pool():
    """A pool that counts what Arrow allocates in a test."""
    usual = pa.default_memory_pool()
    counted = pa.proxy_memory_pool(usual)
    pa.set_memory_pool(counted)
    yield counted
    pa.set_memory_pool(usual)


def test_memory_is_bounded_whatever_the_number_of_rows(pool):
    limit, block, count = 1 << 20, 1 << 8, 16 * 20

    def made():
        rng = np.random.default_rng(0)
        for _ in range(count):
            keys = pc.add(pa.array(rng.integers(0, 99, 4_096)), 0)  # a copy, which Arrow allocates
            yield pa.record_batch({"key": keys, "id": pc.add(keys, 1)})

    rows = sum(batch.num_rows for batch in sorted_rows(made(), ["key"], limit, block))
    assert rows == count * 4_096  # of 16 bytes: twenty times the limit
    assert 2 * limit < pool.max_memory() < 4 * limit


def test_files_are_in_the_folder_of_spark_and_no_folder_lists_them(tmp_path, monkeypatch):
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path},/nowhere")
    batches = batches_of([("a", float(-n)) for n in range(50)], [10, 20, 30, 40])
    found = sorted_rows(batches, ["key", "id"], limit=1, block=4)
    first = next(found)
    assert first["number"][0].as_py() == 49
    assert list(tmp_path.iterdir()) == []
    if os.path.isdir("/proc/self/fd"):
        assert open_in(tmp_path)
        found.close()
        del found
        assert not open_in(tmp_path)


def open_in(folder):
    links = []
    for name in os.listdir("/proc/self/fd"):
        try:
            links.append(os.readlink(f"/proc/self/fd/{name}"))
        except FileNotFoundError:  # the listing itself
            continue
    return [link for link in links if link.startswith(f"{folder}/")]


def test_a_folder_that_is_missing_is_an_error(monkeypatch):
    monkeypatch.setenv("SPARK_LOCAL_DIRS", "/nowhere")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        list(sorted_rows(batches_of([("a", 1.0), ("b", 2.0)], [1]), ["key"], limit=1))

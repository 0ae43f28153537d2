"""The row store of many keys: blocks, slots, indexes, and no trace of what has left."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from efface.live.hash_table import ABSENT
from efface.live.keyed_rows import KeyedChange, KeyedRows, block_sizes, spread
from efface.live.row_table import RowTable, joined

MARKED = 3.14159e77  # a value that occurs nowhere else


def change(held, key, came, stay):
    """The rows ``came`` join those of a key, of which the places ``stay`` live on."""
    keys, ids = held.keys.encode([key]), held.ids.encode(came)
    n, slots = len(came), held.slots_of(keys.codes)
    new = RowTable(np.full((n, 2), MARKED), np.ones(n), np.ones(n), ids.codes)
    rows = joined([held.table.take(held.places(slots)), new])
    flags = np.arange(len(rows)) >= len(rows) - n
    counts, phases = np.array([len(stay)]), np.array([0])
    order = np.array(stay, np.int64)
    return KeyedChange(keys.codes, slots, rows, flags, order, counts, phases, keys.new, ids.new, {})


EVENTS = st.lists(
    st.tuples(st.sampled_from([1, 2, "a", "b"]), st.integers(0, 12), st.integers(0, 2**16)),
    max_size=25,
)


@settings(deadline=None)
@given(EVENTS, st.booleans())
def test_is_a_dict_of_lists(events, named):
    held, expected, number = KeyedRows(2), {}, 0
    for key, count, chosen in events:
        came = [f"r{number + k}" if named else number + k for k in range(count)]
        number += count
        rows = [*expected.get(key, []), *came]
        stay = [place for place in range(len(rows)) if chosen >> (place % 16) & 1]
        held.apply(change(held, key, came, stay))
        expected[key] = [rows[place] for place in stay]
        expected = {name: ids for name, ids in expected.items() if ids}
        assert held.residues() == []
        assert len(held) == len(expected)
        assert held.n_rows == sum(map(len, expected.values()))
        for name, ids in expected.items():
            slots = held.slots_of(held.keys.find([name]))
            places = held.places(slots)
            assert held.ids.decode(held.table.ids[places]) == ids
            assert (held.slots_of_ids(held.table.ids[places]) == slots[0]).all()
        ints = [id for ids in expected.values() for id in ids if isinstance(id, int)]
        assert held.next_id() == max(ints, default=-1) + 1
        names = held.keys.decode(held.codes(held.slots()))
        assert names == sorted(expected, key=lambda name: (isinstance(name, str), str(name)))


def test_nothing_of_rows_that_left_remains():
    held = KeyedRows(2)
    held.apply(change(held, "ann", list(range(40)), list(range(40))))
    held.apply(change(held, "bob", list(range(100, 130)), list(range(30))))
    held.apply(change(held, "ann", [], []))
    assert held.slots_of(held.keys.find(["ann"]))[0] == ABSENT
    assert np.count_nonzero(held.table.X == MARKED) == 60
    assert "ann" not in repr(vars(held.keys))
    held.apply(change(held, "bob", [], []))
    assert len(held.table) == 0
    assert held.residues() == []


def test_blocks_are_used_again_and_move_together():
    held = KeyedRows(2)
    for number in range(200):
        key = number % 20
        held.apply(change(held, key, [number], list(range(number // 20 + 1))))
        used = int(block_sizes(held.counts(held.slots())).sum())
        assert len(held.table) <= 2 * used + 200
    assert held.residues() == []


def test_a_residue_is_found():
    held = KeyedRows(2)
    held.apply(change(held, "ann", [1, 2, 3], [0, 2]))
    free = np.setdiff1d(np.arange(len(held.table)), held.live())
    held.table.X[free[0], 1] = MARKED
    assert held.residues() == ["rows"]


@pytest.mark.parametrize("count", [1, 2, 5, 8, 9, 20, 21, 1000, 10**6])
def test_blocks_waste_at_most_a_quarter(count):
    (size,) = block_sizes(np.array([count]))
    assert count <= size <= 1.25 * count
    assert block_sizes(np.array([size]))[0] == size


def test_spread_counts_from_each_start():
    assert spread(np.array([3, 9]), np.array([0, 2])).tolist() == [9, 10]

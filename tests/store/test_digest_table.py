"""A table of digests finds what a dictionary would, in a few bytes per digest."""

from __future__ import annotations

import hashlib

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from efface.store.digest_table import DigestTable

names = st.integers(0, 30)
batches = st.lists(
    st.tuples(st.lists(names, max_size=8, unique=True), st.integers(0, 6), st.booleans()),
    max_size=25,
)


def digest(name):
    return hashlib.sha256(str(name).encode()).digest()


@given(batches)
def test_it_finds_the_last_number_of_each_digest(batches):
    table, twin = DigestTable(np.uint16), []
    for chosen, number, drop in batches:
        table.add([digest(name) for name in chosen], number)
        twin += [(name, number) for name in chosen]
        if drop:
            table.keep(lambda numbers, limit=number: numbers > limit)
            twin = [(name, value) for name, value in twin if value > number]
        found = table.find([digest(name) for name in range(31)])
        assert found == [dict(twin).get(name) for name in range(31)]
        assert len(table) == len(twin)


def test_it_needs_the_bytes_of_a_digest_and_of_a_number():
    table = DigestTable(np.uint16)
    for first in range(0, 20_000, 50):
        table.add([digest(name) for name in range(first, first + 50)], first % 7)
    assert len(table) == 20_000
    assert sum(run.digests.nbytes + run.numbers.nbytes for run in table._runs) == 200_000
    assert len(table._runs) < 12
    assert table.find([digest(150), digest(-1)]) == [150 % 7, None]


def test_one_number_per_digest_may_be_given():
    table = DigestTable(np.uint64)
    table.add([digest(1), digest(2)], [2**40, 5])
    assert table.find([digest(2), digest(1)]) == [5, 2**40]
    table.add([], [])
    assert len(table) == 2

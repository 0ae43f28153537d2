"""Codes of names: ints are their own, others are numbered while they are used."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from efface.live.names import NOBODY, UNKNOWN, Names

NAME = st.one_of(st.integers(-5, 5), st.integers(2**61, 2**64), st.text("ab", max_size=2))
USES = st.lists(st.tuples(st.booleans(), st.lists(NAME, max_size=6)), max_size=12)


@settings(deadline=None)
@given(USES)
def test_names_leave_with_their_last_use(uses):
    names, used = Names(), []
    for comes, given_ in uses:
        if comes:
            coded = names.encode(given_)
            names.retain(*coded)
            used += given_
        else:
            gone = [name for name in dict.fromkeys(given_) if name in used]
            names.release(names.find(gone))
            for name in gone:
                used.remove(name)
        codes = names.find(used)
        assert names.decode(codes) == used
        assert names.consistent(codes)
        assert len(set(codes.tolist())) == len(set(used))
        named = {name for name in used if isinstance(name, str) or abs(name) >= 2**62}
        assert len(names) == len(named)


def test_what_is_encoded_but_not_retained_leaves_nothing():
    names = Names()
    coded = names.encode(["ann", 3, None])
    assert coded.codes[2] == NOBODY
    assert len(names) == 0
    assert names.find(["ann"]).tolist() == [UNKNOWN]
    assert vars(names) == vars(Names())


def test_an_array_of_ints_is_encoded_at_once():
    codes = Names().encode(np.array([5, -7, 0])).codes
    assert codes.tolist() == [10, -14, 0]
    large = Names().encode(np.array([2**62 + 1, 1]))
    assert large.new == {1: 2**62 + 1}
    assert large.codes.tolist() == [1, 2]

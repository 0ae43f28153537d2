"""The ends of live rows, compared with a plain dict."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from efface.errors import BadTime
from efface.live.consents import Consents

BATCHES = st.lists(
    st.dictionaries(st.integers(0, 99) | st.sampled_from("abc"), st.integers(0, 30), max_size=60)
)


@given(BATCHES, st.integers(0, 30))
def test_ends_equal_a_dict(batches, now):
    consents, ends = Consents(), {}
    for batch in batches:
        gone, new = [id for id in batch if id in ends], [id for id in batch if id not in ends]
        consents.remove(gone)
        ends = {id: end for id, end in ends.items() if id not in gone}
        consents.add(new, [float(batch[id]) for id in new])
        ends |= {id: float(batch[id]) for id in new}
        assert len(consents) == len(ends)
        assert consents.earliest == min(ends.values(), default=None)
        assert set(consents.due(float(now))) == {id for id, end in ends.items() if end <= now}
        assert consents.of(range(100)) == [ends.get(id, math.inf) for id in range(100)]
        assert consents.consistent(set(ends))


def test_rows_without_an_end_are_not_kept():
    consents = Consents()
    consents.add([1, 2], [math.inf, 2**63 - 1])
    assert len(consents) == 0
    assert consents.kind is consents.earliest is None
    consents.remove([1, 2])


def test_ends_have_the_kind_of_the_times_of_rows_or_of_other_ends():
    consents = Consents()
    consents.refuse_kind(int, None)
    consents.add(["a"], [5])
    consents.refuse_kind(int, int)
    with pytest.raises(BadTime, match="'until' is numbers: expected calendar times, as for the ot"):
        consents.refuse_kind(float, None)
    with pytest.raises(BadTime, match="'until' is calendar times: expected numbers, as for 'at'"):
        consents.refuse_kind(int, float)


def test_rows_that_are_not_alive_are_found():
    consents = Consents()
    consents.add([1, 2], [3.0, 4.0])
    assert consents.consistent({1, 2, 3})
    assert not consents.consistent({1})
    consents._order.append((9.0, False, 2))
    assert not consents.consistent({1, 2})

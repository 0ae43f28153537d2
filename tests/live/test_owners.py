"""The owners of live rows, compared with a plain list of pairs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from efface.errors import UnknownOwner
from efface.live.owners import OwnerIndex

EVENTS = st.lists(st.tuples(st.integers(0, 12), st.sampled_from([None, "ann", "bob", 3, 4])))


@given(EVENTS)
def test_owners_equal_a_list_of_pairs(events):
    owners, pairs = OwnerIndex(), []
    for id, owner in events:
        if id in [each for each, _ in pairs]:
            owners.remove([id])
            pairs = [pair for pair in pairs if pair[0] != id]
        else:
            owners.add([id], [owner])
            pairs.append((id, owner))
        owned = [pair for pair in pairs if pair[1] is not None]
        assert len(owners) == len(owned)
        assert owners.of(range(13)) == [dict(pairs).get(each) for each in range(13)]
        for each in {owner for _, owner in owned}:
            assert owners.ids_of(each) == [id for id, owner in owned if owner == each]
        assert owners.consistent({id for id, _ in pairs})


def test_an_owner_leaves_with_the_last_row():
    owners = OwnerIndex()
    owners.add([1, 2], ["ann", "ann"])
    owners.remove([1])
    assert "ann" in owners
    owners.remove([2, 5])
    assert "ann" not in owners
    with pytest.raises(UnknownOwner, match="'owner' is 'ann': no live row has it; 'owners_' lists"):
        owners.ids_of("ann")


def test_rows_that_are_not_alive_are_found():
    owners = OwnerIndex()
    owners.add([1, 2], ["ann", "bob"])
    assert owners.consistent({1, 2, 3})
    assert not owners.consistent({1})
    owners._rows["eve"] = {}
    assert not owners.consistent({1, 2})

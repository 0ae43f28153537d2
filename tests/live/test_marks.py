"""Owners and ends of rows, compared with plain lists and dicts, and kept together by row id."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from efface.errors import BadTime, UnknownOwner
from efface.live.marks import Consents, OwnerIndex, RowMarks, refuse_end_kind

EVENTS = st.lists(st.tuples(st.integers(0, 12), st.sampled_from([None, "ann", "bob", 3, 4])))
BATCHES = st.lists(
    st.dictionaries(st.integers(0, 99) | st.sampled_from("abc"), st.integers(0, 30), max_size=60)
)


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


def test_owners_of_rows_that_are_not_alive_are_found():
    owners = OwnerIndex()
    owners.add([1, 2], ["ann", "bob"])
    assert owners.consistent({1, 2, 3})
    assert not owners.consistent({1})
    owners._rows["eve"] = {}
    assert not owners.consistent({1, 2})


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
    refuse_end_kind(int, None, consents.kind)
    consents.add(["a"], [5])
    refuse_end_kind(int, int, consents.kind)
    with pytest.raises(BadTime, match="'until' is numbers: expected calendar times, as for the ot"):
        refuse_end_kind(float, None, consents.kind)
    with pytest.raises(BadTime, match="'until' is calendar times: expected numbers, as for 'at'"):
        refuse_end_kind(int, float, consents.kind)


def test_ends_of_rows_that_are_not_alive_are_found():
    consents = Consents()
    consents.add([1, 2], [3.0, 4.0])
    assert consents.consistent({1, 2, 3})
    assert not consents.consistent({1})
    consents._order.append((9.0, False, 2))
    assert not consents.consistent({1, 2})


def test_marks_are_those_of_the_rows_that_remain():
    marks = RowMarks()
    marks.add(["a", "b", "c"], ["ann", None, "ann"], [5, 2**63 - 1, 7])
    assert marks.some
    assert marks.owner_of_each(["c", "b"]) == ["ann", None]
    assert marks.until_of_each(["c", "b"]).tolist() == [7, 2**63 - 1]
    assert marks.until_of_each("c").dtype == np.int64
    marks.remove(["a", "c"])
    assert not marks.some
    assert marks.owner_of_each("b") is marks.until_of_each("b") is None


def test_marks_of_rows_that_are_not_alive_are_named():
    marks = RowMarks()
    marks.add(["a", "b"], ["ann", None], [5.0, 6.0])
    assert marks.residues(["a", "b"]) == []
    assert marks.residues(["a"]) == ["ends"]
    assert marks.residues(["b"]) == ["owners", "ends"]

"""Records of the database: checked, and bound to their store and name."""

from __future__ import annotations

import pytest

from efface.errors import DamagedStore
from efface.store.records import RecordSeal, State

SEAL = RecordSeal(b"s" * 16, b"secret")


def test_a_record_comes_back():
    assert SEAL.decode("note 1", SEAL.encode("note 1", {"a": [1, None]})) == {"a": [1, None]}
    assert "secret" not in repr(SEAL)


def test_any_changed_byte_another_name_and_another_store_are_refused():
    body = SEAL.encode("state", [1, 2])
    altered = [body[:at] + bytes([body[at] ^ 4]) + body[at + 1 :] for at in range(len(body))]
    for wrong in (*altered, body[:-1], b"", None):
        with pytest.raises(DamagedStore, match="state"):
            SEAL.decode("state", wrong)
    for seal, name in ((SEAL, "other"), (RecordSeal(b"t" * 16, b"secret"), "state")):
        with pytest.raises(DamagedStore, match="another store"):
            seal.decode(name, body)


def test_the_state_counts_transactions_and_comes_back():
    state = State(next_seq=5).after(phases={1: 0, 3: 2}, chain="ab")
    assert state.transaction == 1
    back = State.from_plain(state.to_plain())
    assert back.phase(3) == 2
    assert back.phase(1) == 0
    assert back == state.after(phases={3: 2}).__class__(1, 5, 0, "ab", 0, {3: 2})


def test_a_state_that_only_gained_rows_is_told_by_them_and_has_a_higher_version():
    before = State(4, 10, receipts=2, phases={1: 3})
    after = before.after(rows_alone=True, next_seq=13, receipts=2)
    assert (after.transaction, after.next_seq) == (4, 13)
    assert before.with_rows(13) == after
    assert before.with_rows(7) == before
    assert after.version > before.version
    for more in ({"receipts": 3}, {"phases": {1: 4}}, {"refused": 1}, {"chain": "ab"}):
        assert before.after(rows_alone=True, next_seq=13, **more).transaction == 5
    assert before.after(next_seq=13).transaction == 5

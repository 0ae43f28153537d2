"""Keys that are drawn ahead: each is taken once, and the slots that hold some are known."""

from __future__ import annotations

from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from efface.store.key_pool import AHEAD, KeyPool
from efface.store.key_segments import SLOT

COMMITS = st.lists(st.tuples(st.integers(0, 7), st.booleans()), max_size=20)


@given(COMMITS)
def test_every_row_has_a_key_of_its_own_that_was_written_to_its_slot(commits):
    numbers = count(1)
    pool = KeyPool(3, 1, lambda wanted: bytes(next(numbers) for _ in range(wanted)))
    slots, used, next_seq = {}, [], 0
    for rows, succeeds in commits:
        room = pool.room(rows)
        taken = pool.take(next_seq, rows)
        slots.update(enumerate(taken.unwritten, taken.first))
        assert not taken.unwritten or taken.first + len(taken.unwritten) == next_seq + room
        assert list(taken.keys) == [slots[next_seq + k] for k in range(rows)]
        used += taken.keys
        if succeeds:
            next_seq += rows
            pool.keep(taken)
        assert {seq for seq in slots if seq >= next_seq} <= set(pool.slots(next_seq))
        assert len(pool.slots(next_seq)) <= 7
    assert len(set(used)) == len(used)
    pool.drop(next_seq)
    assert not pool.slots(next_seq)


def test_keys_are_random_and_no_text_shows_them():
    pool = KeyPool()
    taken = pool.take(0, 1)
    assert len(taken.keys) == SLOT
    assert len({taken.rest[at : at + SLOT] for at in range(0, len(taken.rest), SLOT)}) == AHEAD - 1
    pool.keep(taken)
    assert repr(pool) == f"KeyPool({AHEAD - 1} keys)"

"""Owners that must not come back, and ids of rows that left."""

from __future__ import annotations

import pytest

from efface.errors import DamagedStore
from efface.store.refusals import HEADER, KEPT, LeftIds, RefusedOwners

SECRET = b"b" * 32


def refused(tmp_path):
    path = tmp_path / "refused.bin"
    if not path.exists():
        path.write_bytes(HEADER)
    return RefusedOwners(path, SECRET)


def test_owners_are_refused_after_reading_again(tmp_path):
    owners = refused(tmp_path)
    assert not owners.refuses(["ann"])
    owners.add([owners.hash("ann"), owners.hash(7), owners.hash("ann")])
    again = refused(tmp_path)
    assert len(again) == 2
    assert again.refuses([None, "bob", "ann"])
    assert not again.refuses(["bob", "7", None])
    assert again.has([again.hash(7)])
    assert not again.has([again.hash("bob")])
    assert b"ann" not in (tmp_path / "refused.bin").read_bytes()


def test_an_entry_that_is_not_whole_is_left_out_and_overwritten(tmp_path):
    owners = refused(tmp_path)
    owners.add([owners.hash("ann")])
    path = tmp_path / "refused.bin"
    whole = path.read_bytes()
    for rest in (b"half", bytes(40)):
        path.write_bytes(whole + rest)
        assert len(refused(tmp_path)) == 1
    again = refused(tmp_path)
    again.add([again.hash("bob")])
    assert refused(tmp_path).refuses(["bob"])


def test_altered_entries_do_not_count_and_another_file_is_refused(tmp_path):
    owners = refused(tmp_path)
    owners.add([owners.hash(name) for name in "abc"])
    path = tmp_path / "refused.bin"
    content = bytearray(path.read_bytes())
    content[len(HEADER) + 45] ^= 1
    path.write_bytes(bytes(content))
    assert len(refused(tmp_path)) == 1
    path.write_bytes(b"something else")
    with pytest.raises(DamagedStore):
        refused(tmp_path)


def test_ids_that_left_are_known_for_seven_days():
    left = LeftIds(SECRET)
    first = left.record([(1, ["a", 7]), (2, ["b"])], now=1_000)
    left.enter("left 1", first)
    left.enter("left 2", left.record([(1, ["c", "a"])], now=2_000))
    assert left.among(1, ["x", "a", 7, "7", "b"]) == [1, 2]
    assert left.among(2, ["b", "a"]) == [0]
    assert left.outdated(1_000 + KEPT - 1) == []
    assert left.outdated(1_000 + KEPT) == ["left 1"]
    assert left.among(1, ["a", 7, "c"]) == [0, 2]  # "a" left again later
    assert left.outdated(10_000 + KEPT) == ["left 2"]
    assert len(left) == 0


def test_many_ids_take_little_memory():
    left, count = LeftIds(SECRET), 20_000
    for first in range(0, count, 1_000):
        ids = range(first, first + 1_000)
        left.enter(f"left {first}", left.record([(1, ids)], now=first))
    held = left._table.nbytes + sum(codes.nbytes for _, _, codes in left._records)
    assert held < 40 * count
    assert left.among(1, [0, count, count - 1]) == [0, 2]
    assert len(left.outdated(KEPT + count // 2)) == 11
    assert left.among(1, range(0, count, 1_000)) == list(range(11, 20))

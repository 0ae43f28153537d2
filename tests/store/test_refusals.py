"""Owners that must not come back."""

from __future__ import annotations

import pytest

from efface.errors import DamagedStore
from efface.store.refusals import HEADER, RefusedOwners

SECRET = b"b" * 32


def refused(tmp_path):
    path = tmp_path / "refused.owners"
    if not path.exists():
        path.write_bytes(HEADER)
    return RefusedOwners([tmp_path], SECRET)


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
    assert b"ann" not in (tmp_path / "refused.owners").read_bytes()


def test_an_entry_that_is_not_whole_is_left_out_and_overwritten(tmp_path):
    owners = refused(tmp_path)
    owners.add([owners.hash("ann")])
    path = tmp_path / "refused.owners"
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
    path = tmp_path / "refused.owners"
    content = bytearray(path.read_bytes())
    content[len(HEADER) + 45] ^= 1
    path.write_bytes(bytes(content))
    assert len(refused(tmp_path)) == 1
    path.write_bytes(b"something else")
    with pytest.raises(DamagedStore):
        refused(tmp_path)

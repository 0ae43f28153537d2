"""The names in the folders of keys: what is unknown is overwritten, removed, and fails an audit."""

from __future__ import annotations

import os

import pytest
from store_cases import filled, slots, traces

from efface.errors import DamagedStore
from efface.store import Store
from efface.store.key_folder import make_equal, strange_names, wipe_strange

STRAY = (".0001-000000.bin.0123456789abcdef", "0002-000000.bin", "notes.txt")


@pytest.mark.parametrize("name", [*STRAY, "0001-000000.bin.0123456789abcdef.partial"])
@pytest.mark.parametrize("place", ["orders/keys", "second"])
def test_unknown_names_fail_an_audit_and_are_overwritten_at_open(tmp_path, place, name):
    folder, stray = tmp_path / "orders", tmp_path / place / name
    with filled(folder, mirror=tmp_path / "second") as store:
        stray.write_bytes((folder / "keys" / "0001-000000.bin").read_bytes())
        with pytest.raises(DamagedStore, match="hidden or unknown"):
            store.audit()
        keys = list(slots(folder).values())
    os.link(stray, tmp_path / "block")  # the same bytes of the disk
    with Store(folder) as store:
        assert store.audit()["demand"].holds
        store.forget(owner="person 3")
    assert not stray.exists()
    assert traces(tmp_path, [keys[3]]) == []
    assert not any((tmp_path / "block").read_bytes())


def test_folders_and_links_among_the_keys_are_removed_and_not_followed(tmp_path):
    filled(tmp_path / "orders").close()
    keys, outside = tmp_path / "orders" / "keys", tmp_path / "outside"
    outside.write_bytes(b"precious")
    (keys / "folder").mkdir()
    (keys / "folder" / "copy").write_bytes(b"key")
    (keys / "link").symlink_to(outside)
    Store(tmp_path / "orders").close()
    assert strange_names(keys, 1) == []
    assert outside.read_bytes() == b"precious"


def test_nothing_is_wiped_while_the_keys_are_not_those_of_the_rows(tmp_path):
    filled(tmp_path / "orders").close()
    keys = tmp_path / "orders" / "keys"
    os.rename(keys / "0001-000000.bin", keys / "0002-000000.bin")  # store.json is older
    before = (keys / "0002-000000.bin").read_bytes()
    with pytest.raises(DamagedStore):
        Store(tmp_path / "orders")
    assert (keys / "0002-000000.bin").read_bytes() == before


def test_a_folder_is_made_equal(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        folder.mkdir()
    (one / "0001-000000.bin").write_bytes(b"abc")
    (one / "000007.left").write_bytes(b"ids")
    (two / "0001-000000.bin").write_bytes(b"xyz")
    (two / "000006.left").write_bytes(b"old")
    (two / "instance.json").touch()
    make_equal(one, two, 1)
    wipe_strange(two, 1, keep=frozenset({"instance.json"}))
    assert sorted(os.listdir(two)) == ["000007.left", "0001-000000.bin", "instance.json"]
    assert (two / "0001-000000.bin").read_bytes() == b"abc"

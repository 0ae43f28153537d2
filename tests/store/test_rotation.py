"""Rotation of the master key: older copies of the keys cannot be read, also after a crash."""

from __future__ import annotations

import shutil

import pytest
from store_cases import copied, data, filled, slots, slots_of_rows

from efface.errors import DamagedStore, UnsafeStorage, WrongMasterKey
from efface.store import Store, durable, file_systems, rotation

OLD, NEW = b"o" * 32, b"n" * 32


def test_an_old_copy_of_the_keys_fails_after_rotation(tmp_path):
    folder = tmp_path / "orders"
    with filled(folder, master_key=OLD) as store:
        shutil.copytree(folder / "keys", tmp_path / "old keys")
        store.forget(owner="person 1")
        store.rotate(NEW)
        store.learn("demand", *data(2, seed=4))  # it goes on
        assert store.status()["epoch"] == 2
    assert [path.name for path in (folder / "keys").glob("*.bin")] == ["0002-000000.bin"]
    with pytest.raises(WrongMasterKey):
        Store(folder, master_key=OLD)
    with Store(folder, master_key=NEW) as store:
        assert store.status()["rows"] == 37
        assert store.audit()["demand"].holds
    old = (tmp_path / "old keys" / "0001-000000.bin").read_bytes()
    (folder / "keys" / "0002-000000.bin").write_bytes(old)  # only the old master key reads it
    with pytest.raises(DamagedStore):
        Store(folder, master_key=NEW)


def test_a_master_key_can_be_added_and_removed(tmp_path, monkeypatch):
    folder = tmp_path / "orders"
    with filled(folder) as store:
        plain = slots_of_rows(store)
        store.rotate(NEW)
        wrapped = slots(folder)
        assert wrapped.keys() == plain.keys()
        assert not set(wrapped.values()) & set(plain.values())
        store.rotate(None)
        assert slots(folder) == plain
        monkeypatch.setattr(file_systems.sys, "platform", "darwin")
        with pytest.raises(UnsafeStorage):
            store.rotate(None)


@pytest.mark.parametrize("broken", ["wipe_strange", "KeySegments"])
def test_a_rotation_that_is_interrupted_is_finished_at_open(tmp_path, monkeypatch, broken):
    def interrupt(*_, **options):
        raise KeyboardInterrupt

    folder = tmp_path / "orders"
    store = filled(folder, master_key=OLD)
    with monkeypatch.context() as patched:
        patched.setattr(rotation, broken, interrupt)
        with pytest.raises(KeyboardInterrupt):
            store.rotate(NEW)
    store.close()
    with Store(folder, master_key=NEW) as store:
        assert store.status()["rows"] == 40
    assert len(list((folder / "keys").glob("*.bin"))) == 1


def test_a_rotation_that_is_interrupted_early_is_undone_at_open(tmp_path, monkeypatch):
    folder = tmp_path / "orders"
    store = filled(folder, master_key=OLD)

    def crash(disk, master):
        slots, trailer = rotation.rewrapped(disk.keys, 0, master)
        disk.keys.path(0, 2).write_bytes(slots + trailer)
        copied(folder, tmp_path / "crashed")

    monkeypatch.setattr(durable, "rotate", crash)
    store.rotate(NEW)
    store.close()
    with Store(tmp_path / "crashed", master_key=OLD) as store:
        assert store.status()["rows"] == 40
    assert [path.name for path in (tmp_path / "crashed" / "keys").glob("*.bin")] == [
        "0001-000000.bin"
    ]

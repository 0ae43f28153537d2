"""The folder of a store: how it is made, and what is refused."""

from __future__ import annotations

import json
import os
import time

import pytest
from store_cases import files, filled

from efface.errors import (
    DamagedStore,
    InvalidValue,
    NewerFile,
    StorageFailure,
    UnsafeStorage,
    WrongMasterKey,
)
from efface.store import Store, file_systems
from efface.store.layout import About


def modes(folder):
    paths = [folder, *folder.rglob("*")]
    return {(path.is_dir(), path.stat().st_mode & 0o777) for path in paths}


def test_folders_and_files_are_their_owners_alone(tmp_path):
    old = os.umask(0)
    try:
        with filled(tmp_path / "orders") as store:
            store.forget(owner="person 1", forever=True)
            assert modes(tmp_path / "orders") == {(True, 0o700), (False, 0o600)}
        assert modes(tmp_path / "orders") == {(True, 0o700), (False, 0o600)}
    finally:
        os.umask(old)
    assert set(files(tmp_path / "orders")) == {
        *("blind.key", "keys/0001-000000.bin", "keys/0001.days", "keys/refused.owners"),
        *("lock", "receipts.jsonl", f"keys/{int(time.time()) // 86_400:06d}.left"),
        *("rows.db", "signing.key", "store.json"),
    }


def test_a_store_is_there_as_a_whole_or_not_at_all(tmp_path, monkeypatch):
    listed = tmp_path / "mountinfo"
    listed.write_text("22 1 254:0 / / rw - zfs pool rw\n")
    monkeypatch.setattr(file_systems, "_MOUNTS", listed)
    with pytest.raises(UnsafeStorage):
        Store(tmp_path / "orders")
    with pytest.raises(StorageFailure):
        Store(tmp_path / "orders", "postgresql://localhost:1/none", master_key=b"m" * 32)
    assert os.listdir(tmp_path) == ["mountinfo"]
    Store(tmp_path / "orders", master_key=b"m" * 32).close()


def test_a_folder_with_other_files_is_no_place_for_a_store(tmp_path):
    (tmp_path / "orders").mkdir()
    Store(tmp_path / "orders").close()  # an empty one is
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    for place in ("full", "full/file", "absent/orders"):
        with pytest.raises(InvalidValue):
            Store(tmp_path / place)
    assert os.listdir(tmp_path / "full") == ["file"]


def test_the_master_key_is_that_of_the_store(tmp_path):
    filled(tmp_path / "wrapped", master_key=b"m" * 32).close()
    filled(tmp_path / "plain").close()
    before = files(tmp_path / "wrapped")
    for name, key in (("wrapped", None), ("wrapped", b"x" * 32), ("plain", b"m" * 32)):
        with pytest.raises(WrongMasterKey):
            Store(tmp_path / name, master_key=key)
    assert files(tmp_path / "wrapped") == before
    with Store(tmp_path / "wrapped", master_key=b"m" * 32) as store:
        assert store.status()["rows"] == 40


@pytest.mark.parametrize("name", ["signing.key", "blind.key"])
def test_secrets_of_another_store_are_refused(tmp_path, name):
    filled(tmp_path / "orders").close()
    path = tmp_path / "orders" / name
    for content in (b"x" * 32, b"short"):
        path.write_bytes(content)
        with pytest.raises(DamagedStore, match=name):
            Store(tmp_path / "orders")
    path.unlink()
    with pytest.raises(DamagedStore, match="missing"):
        Store(tmp_path / "orders")


def test_store_json_is_checked(tmp_path):
    Store(tmp_path / "orders").close()
    about, path = About.read(tmp_path / "orders"), tmp_path / "orders" / "store.json"
    plain = json.loads(path.read_text())
    path.write_text(json.dumps({**plain, "epoch": 2}))
    with pytest.raises(DamagedStore, match="altered"):
        About.read(tmp_path / "orders")
    path.write_text("{")
    with pytest.raises(DamagedStore, match="JSON"):
        About.read(tmp_path / "orders")
    About(about.store, about.signer, about.blind, format=2).write(tmp_path / "orders")
    with pytest.raises(NewerFile, match="upgrade"):
        Store(tmp_path / "orders")

"""Copies and restores: forgotten rows do not come back; nothing changes unless confirmed."""

from __future__ import annotations

import os
import shutil

import pytest
from store_cases import data, files, filled, slots, traces

from efface.errors import DamagedStore, InvalidValue, WrongMasterKey
from efface.store import RestoreCounts, Store, restore
from efface.store.backups import read_destroyed
from efface.store.layout import About

PERSON_3 = [f"order-{k}" for k in range(3, 40, 8)]


def ids(folder, **options):
    with Store(folder, **options) as store:
        assert all(audit.holds for audit in store.audit().values())
        return store._models["demand"].model.ids_


def test_a_copy_of_the_rows_holds_no_key_and_no_secret(tmp_path):
    with filled(tmp_path / "orders") as store:
        store.forget(owner="person 0")
        store.backup(tmp_path / "copy")
        with pytest.raises(InvalidValue, match="exists"):
            store.backup(tmp_path / "copy")
    assert set(files(tmp_path / "copy")) == {
        "receipts.jsonl",
        "refused.bin",
        "rows.db",
        "store.json",
    }
    secret = [(tmp_path / "orders" / name).read_bytes() for name in ("signing.key", "blind.key")]
    assert traces(tmp_path / "copy", [*slots(tmp_path / "orders").values(), *secret]) == []


def test_rows_come_back_from_a_copy_and_forgotten_ones_do_not(tmp_path):
    folder = tmp_path / "orders"
    with filled(folder) as store:
        store.backup(tmp_path / "copy")
        receipt = store.forget(owner="person 3")
        store.learn("demand", *data(2, seed=8), ids=["late-1", "late-2"])
    (folder / "rows.db").unlink()
    with pytest.raises(DamagedStore):
        Store(folder)
    before, shown = files(folder), []
    expected = RestoreCounts(kept=35, forgotten=5, unreadable=0, without_row=2)
    assert (
        restore(folder, tmp_path / "copy", confirm=lambda counts: shown.append(counts)) == expected
    )
    assert shown == [expected]
    assert files(folder) == before  # not confirmed
    assert restore(folder, tmp_path / "copy") == expected
    left = ids(folder)
    assert len(left) == 35
    assert not set(PERSON_3) & set(left)
    with Store(folder) as store:
        assert store.receipts() == [receipt]
        store.learn("demand", *data(1, seed=8), ids=["later"])
        assert min(slots(folder)) == 0
        assert max(slots(folder)) >= 65_536  # no number comes again
    assert len(ids(folder)) == 36


def test_a_whole_copy_needs_the_destroyed_numbers(tmp_path):
    log = tmp_path / "destroyed.log"
    with filled(tmp_path / "orders", destroyed=log) as store:
        store.backup(tmp_path / "copy", keys=True)
        store.forget(owner="person 3")
        store.forget(ids=["order-0"])
    os.rename(tmp_path / "orders", tmp_path / "lost")
    assert len(read_destroyed(log, About.read(tmp_path / "copy").store)) == 6
    assert read_destroyed(log, "another store") == set()
    counts = restore(
        tmp_path / "orders", tmp_path / "copy", destroyed=log, confirm=lambda counts: False
    )
    assert counts == (34, 6, 0, 0)
    assert not (tmp_path / "orders").exists()
    assert restore(tmp_path / "orders", tmp_path / "copy", destroyed=log) == counts
    assert not {*PERSON_3, "order-0"} & set(ids(tmp_path / "orders"))
    assert len(slots(tmp_path / "orders")) == 34
    assert len(slots(tmp_path / "copy")) == 40
    assert restore(tmp_path / "careless", tmp_path / "copy").kept == 40  # why the log matters


def test_a_copy_without_keys_needs_the_folder_with_the_keys(tmp_path):
    with filled(tmp_path / "orders") as store:
        store.backup(tmp_path / "copy")
    with pytest.raises(InvalidValue, match="without keys"):
        restore(tmp_path / "new", tmp_path / "copy")
    for place, copy in ((tmp_path / "new", None), (tmp_path / "orders", tmp_path)):
        with pytest.raises(InvalidValue, match=r"no store|no copy"):
            restore(place, copy)
    assert not (tmp_path / "new").exists()


def test_damaged_rows_are_given_up_when_that_is_confirmed(tmp_path):
    folder = tmp_path / "orders"
    filled(folder).close()
    keys = sorted((folder / "keys").glob("*.bin"))[0]
    flipped = bytearray(keys.read_bytes())
    flipped[32 * 7] ^= 1
    keys.write_bytes(bytes(flipped))
    with pytest.raises(DamagedStore, match="1 rows"):
        Store(folder)
    assert restore(folder) == (39, 0, 1, 0)
    assert "order-7" not in ids(folder)


def test_rows_of_another_store_are_refused(tmp_path):
    filled(tmp_path / "orders").close()
    with filled(tmp_path / "other") as store:
        store.backup(tmp_path / "copy")
    before = slots(tmp_path / "orders")
    with pytest.raises(DamagedStore, match="another store"):
        restore(tmp_path / "orders", tmp_path / "copy")
    assert slots(tmp_path / "orders") == before


def test_wrapped_keys_are_restored_under_their_master_key(tmp_path):
    with filled(tmp_path / "orders", master_key=b"m" * 32) as store:
        store.backup(tmp_path / "copy", keys=True)
    shutil.rmtree(tmp_path / "orders")
    with pytest.raises(WrongMasterKey):
        restore(tmp_path / "orders", tmp_path / "copy")
    assert restore(tmp_path / "orders", tmp_path / "copy", master_key=b"m" * 32).kept == 40
    assert len(ids(tmp_path / "orders", master_key=b"m" * 32)) == 40


def test_a_log_of_destroyed_numbers_is_checked(tmp_path):
    log = tmp_path / "log"
    log.write_text("a 3 2\nb 1 1\na 9 1\na 7")  # the last line is not whole
    assert read_destroyed(log, "a") == {3, 4, 9}
    log.write_text("something else\n")
    with pytest.raises(DamagedStore, match="log"):
        read_destroyed(log, "a")

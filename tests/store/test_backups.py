"""Copies and restores: forgotten rows do not come back; nothing changes unless confirmed."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace

import pytest
from store_cases import data, files, filled, slots, traces

from efface.errors import (
    DamagedStore,
    InvalidValue,
    RefusedRow,
    StoreInUse,
    WrongMasterKey,
)
from efface.store import RestoreCounts, Store, restore
from efface.store.backups import read_destroyed
from efface.store.durable_files import PathLock
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
    assert len(read_destroyed(log, About.read(tmp_path / "copy"))) == 6
    other = replace(About.read(tmp_path / "copy"), instance="other")
    with pytest.raises(DamagedStore, match="another instance"):
        read_destroyed(log, other)
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
    log, about = tmp_path / "log", About("a", "", "", instance="i")
    log.write_text("efface destroyed 1 a i\n3 2\n9 1\n7")  # the last line is not whole
    assert read_destroyed(log, about) == {3, 4, 9}
    for wrong in ("something else\n", "efface destroyed 1 a i\n3 x\n", "efface anchor 1 a i\n"):
        log.write_text(wrong)
        with pytest.raises(DamagedStore, match="log"):
            read_destroyed(log, about)


def test_a_relearn_after_a_restore_does_not_bring_the_forgotten_back(tmp_path):
    """Older rows know nothing of who left since; the keys do."""
    folder, (X, y) = tmp_path / "orders", data(40)
    owners = [f"person {k % 8}" for k in range(40)]
    with filled(folder) as store:
        store.backup(tmp_path / "copy")
        store.forget(owner="person 3")
        store.forget(owner="person 4", forever=True)
    (folder / "rows.db").unlink()
    restore(folder, tmp_path / "copy")
    with Store(folder) as store:
        again = [f"order-{k}" for k in range(40)]
        mine = [k for k in range(40) if k % 8 == 3]
        with pytest.raises(RefusedRow, match="5 ids"):
            store.learn("demand", X[mine], y[mine], ids=[again[k] for k in mine])
        with pytest.raises(RefusedRow, match="for ever"):
            store.learn("demand", X[:1], y[:1], ids=["new"], owners=["person 4"])
        others = [k for k in range(40) if k % 8 != 4]
        about = {"ids": [again[k] for k in others], "owners": [owners[k] for k in others]}
        found = store.learn("demand", X[others], y[others], **about, left="skip")
        assert (found.learned, store.status()["rows"]) == (0, 30)


def test_a_drill_leaves_production_alone(tmp_path):
    """A restored copy is another instance: nothing elsewhere belongs to it."""
    places = {kind: tmp_path / kind for kind in ("anchor", "destroyed", "mirror")}
    with filled(tmp_path / "orders", **places) as store:
        store.backup(tmp_path / "copy", keys=True)
    before = files(tmp_path / "mirror"), *(places[k].read_bytes() for k in ("anchor", "destroyed"))
    restore(tmp_path / "drill", tmp_path / "copy")
    with Store(tmp_path / "drill") as drill:
        drill.forget(owner="person 1")
        assert not drill.status()["mirror"]
    for kind, place in places.items():
        with pytest.raises(DamagedStore, match="another instance"):
            Store(tmp_path / "drill", **{kind: place})
    assert before == (
        files(tmp_path / "mirror"),
        *(places[k].read_bytes() for k in ("anchor", "destroyed")),
    )
    with Store(tmp_path / "orders") as store:
        assert store.status()["rows"] == 40


def test_a_folder_copy_is_refused_before_anything_is_written(tmp_path):
    with filled(tmp_path / "orders", mirror=tmp_path / "second") as store:
        shutil.copytree(tmp_path / "orders", tmp_path / "copy")
        store.learn("demand", *data(200, seed=9))
    before = files(tmp_path / "second"), files(tmp_path / "copy")
    with pytest.raises(DamagedStore, match="copy of a store"):
        Store(tmp_path / "copy")
    assert (files(tmp_path / "second"), files(tmp_path / "copy")) == before
    restore(tmp_path / "copy")
    with Store(tmp_path / "copy") as store:
        assert not store.status()["mirror"]
        assert store.status()["rows"] == 40
    assert files(tmp_path / "second") == before[0]
    os.rename(tmp_path / "orders", tmp_path / "moved")  # is no copy
    with Store(tmp_path / "moved") as store:
        assert store.status()["mirror"]


def test_what_is_elsewhere_is_locked(tmp_path):
    anchor = tmp_path / "anchor"
    with filled(tmp_path / "orders", anchor=anchor), pytest.raises(StoreInUse, match="anchor"):
        PathLock(anchor)


def test_a_copy_has_no_address_and_no_password(tmp_path):
    with filled(tmp_path / "orders") as store:
        store._disk.about = replace(store._disk.about, rows="postgresql://me:secret@host/db")
        store._disk.about.write(store.path)
        for name, keys in (("rows", False), ("all", True)):
            store.backup(tmp_path / name, keys=keys)
            assert traces(tmp_path / name, [b"secret", b"postgresql"]) == []

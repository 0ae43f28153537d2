"""A mirror of the keys: written and destroyed together with them, and a restore from it."""

from __future__ import annotations

import shutil

import pytest
from store_cases import copied, data, filled, slots

from efface.errors import DamagedStore, InvalidValue, StorageFailure
from efface.store import Store, restore
from efface.store.key_segments import KeySegments


def segments(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.bin"))}


@pytest.fixture
def orders(tmp_path):
    filled(tmp_path / "orders", mirror=tmp_path / "second").close()
    return tmp_path / "orders"


def test_keys_are_written_to_and_destroyed_in_the_mirror(tmp_path, orders):
    second = tmp_path / "second"
    assert second.stat().st_mode & 0o777 == 0o700
    with Store(orders) as store:
        before = slots(orders)
        gone = [store._models["demand"].seqs[f"order-{k}"] for k in range(3, 40, 8)]
        assert all(before[seq] in segments(second)["0001-000000.bin"] for seq in gone)
        store.forget(owner="person 3")
        there = segments(second)["0001-000000.bin"]
        assert not any(before[seq] in there for seq in gone)
        store.learn("demand", *data(2, seed=3))
        assert segments(second) == segments(orders / "keys")


def test_a_mirror_is_synced_before_the_receipt(tmp_path, orders, monkeypatch):
    order = []
    synced, append = KeySegments.synced, "efface.store.receipts.ReceiptChain.append"
    monkeypatch.setattr(
        KeySegments, "synced", lambda keys: (synced(keys), order.append(keys.folder.name))
    )
    with Store(orders) as store:
        order.clear()
        real = type(store._disk.chain).append
        monkeypatch.setattr(append, lambda *given: (order.append("receipt"), real(*given))[1])
        store.forget(owner="person 3")
    assert order[:3] == ["keys", "second", "receipt"]


def test_a_mirror_that_a_crash_left_behind_is_made_equal_at_open(tmp_path, orders):
    second = tmp_path / "second"
    old = segments(second)["0001-000000.bin"]
    with Store(orders) as store:
        store.forget(owner="person 3")
    (second / "0001-000000.bin").write_bytes(old)  # the zeros were not there yet
    (second / "0001-000007.bin").write_bytes(old)
    Store(orders).close()
    assert segments(second) == segments(orders / "keys")
    (second / "0001-000000.bin").write_bytes(old[:1000])
    Store(orders).close()
    assert segments(second) == segments(orders / "keys")


def test_keys_that_do_not_belong_to_the_rows_leave_the_mirror_as_it_is(tmp_path, orders):
    before = segments(tmp_path / "second")
    for path in (orders / "keys").iterdir():
        content = bytearray(path.read_bytes())
        content[:32] = bytes(32)
        path.write_bytes(content)
    with pytest.raises(DamagedStore):
        Store(orders)
    assert segments(tmp_path / "second") == before


def test_lost_keys_come_back_from_the_mirror(tmp_path, orders):
    with Store(orders) as store:
        store.forget(owner="person 3")
    shutil.rmtree(orders / "keys")
    with pytest.raises((DamagedStore, StorageFailure)):
        Store(orders)
    second = tmp_path / "second"
    shown = restore(orders, mirror=second, confirm=lambda counts: False)
    assert (shown.kept, (orders / "keys").exists()) == (35, False)
    assert restore(orders, mirror=second) == (35, 0, 0, 0)
    with Store(orders) as store:
        assert store.audit()["demand"].holds
        assert segments(second) == segments(orders / "keys")


def test_a_mirror_follows_another_master_key_and_can_stop(tmp_path, orders):
    second = tmp_path / "second"
    with Store(orders) as store:
        store.rotate(b"m" * 32)
        assert segments(second) == segments(orders / "keys")
        assert list(segments(second)) == ["0002-000000.bin"]
    shutil.rmtree(second)
    with pytest.raises(DamagedStore, match="mirror"):
        Store(orders, master_key=b"m" * 32)
    with Store(orders, master_key=b"m" * 32, mirror=False) as store:
        assert not store.status()["mirror"]
    Store(orders, master_key=b"m" * 32).close()


def test_only_new_folders_outside_of_the_store_are_mirrors(tmp_path, orders):
    full = copied(orders, tmp_path / "full")
    for place in (orders, orders / "keys" / "second", full, tmp_path / "none" / "second"):
        with pytest.raises(InvalidValue, match="mirror"):
            Store(orders, mirror=place)
    Store(orders).close()


def test_a_copy_with_keys_does_not_share_the_mirror(tmp_path, orders):
    with Store(orders) as store:
        store.backup(tmp_path / "copy", keys=True)
    restore(tmp_path / "new", tmp_path / "copy")
    with Store(tmp_path / "new") as store:
        assert not store.status()["mirror"]

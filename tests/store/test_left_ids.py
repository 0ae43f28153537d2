"""Ids of rows that left are known for seven days, hidden under a key per day."""

from __future__ import annotations

import os
import time

import pytest
from store_cases import data, filled, traces

from efface.errors import DamagedStore, RefusedRow
from efface.store import Store
from efface.store.day_keys import DayKeys, encode_days
from efface.store.left_ids import DAY, DAYS, LeftIds
from efface.store.master_key import MasterKey

SECRET, NONE = bytes(range(32)), MasterKey(None)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "0001.days").write_bytes(encode_days({}, NONE))
    return tmp_path


def opened(folder, secret=SECRET):
    left = LeftIds(secret, DayKeys([folder], 1, NONE))
    left.trim()
    return left


def leave(left, model_ids, now):
    gone = left.hidden(model_ids, now)
    left.enter(gone)
    left.write([gone])
    return gone


def test_ids_that_left_are_found_by_model_and_kind_also_after_opening_again(folder):
    left = opened(folder)
    assert left.among(1, ["a"]) == []
    leave(left, [(1, ["a", 7]), (2, ["b"])], now=0)
    leave(left, [(1, ["c"])], now=3 * DAY)
    for each in (left, opened(folder)):
        assert each.among(1, ["x", "a", 7, "7", "b", "c"]) == [1, 2, 5]
        assert each.among(2, ["b", "a"]) == [0]
        assert len(each) == 4
    assert opened(folder, bytes(32)).among(1, ["a", 7]) == []


def test_a_day_is_over_after_seven_days_and_its_key_is_destroyed(folder):
    left = opened(folder)
    gone = leave(left, [(1, ["a"])], now=5)
    leave(left, [(1, ["b"])], now=DAY)
    (key, _) = left._keys.keys.values()
    assert traces(folder, [key]) != []
    left.end_days((DAYS + 1) * DAY - 1)
    assert left.among(1, ["a", "b"]) == [0, 1]
    left.end_days((DAYS + 1) * DAY)
    assert left.among(1, ["a", "b"]) == [1]
    assert traces(folder, [key, gone.digests]) == []
    assert sorted(os.listdir(folder)) == ["000001.left", "0001.days"]


def test_a_record_that_is_not_whole_is_seen_and_overwritten(folder):
    left = opened(folder)
    leave(left, [(1, ["a"])], now=0)
    end = left._days[0].end
    leave(left, [(1, ["b", "c"])], now=0)
    path = folder / "000000.left"
    content = bytearray(path.read_bytes())
    content[end + 20] ^= 1
    path.write_bytes(content)
    torn = LeftIds(SECRET, DayKeys([folder], 1, NONE))
    assert torn.torn
    torn.trim()
    assert opened(folder).among(1, ["a", "b"]) == [0]
    assert not opened(folder).torn
    path.unlink()
    with pytest.raises(DamagedStore, match="missing"):
        opened(folder)


def test_many_ids_let_the_file_grow(folder):
    left = opened(folder)
    leave(left, [(1, range(20_000))], now=0)
    assert len(opened(folder).among(1, range(20_001))) == 20_000


def test_nobody_can_test_an_id_after_seven_days(tmp_path, monkeypatch):
    """Also with blind.key and what free pages of the database and old copies of it hold."""
    folder, (X, y) = tmp_path / "orders", data(1)
    with filled(folder) as store:
        store.forget(ids=["order-0"])
        gone = store._disk.left.hidden([(1, ["order-0"])], int(time.time()))
        key = store._disk.days.keys[gone.day]
        monkeypatch.setattr("time.time", lambda: (gone.day + 9.0) * DAY)
        assert store.expire() == {}  # the service calls it every minute
        assert store._disk.days.keys == {}
        store.learn("demand", X, y, ids=["order-0"])
    assert traces(folder, [key]) == []
    assert traces(folder / "keys", [gone.digests]) == []


def test_altered_records_refuse_to_open(tmp_path):
    with filled(tmp_path / "orders") as store:
        store.forget(ids=["order-0"])
    (path,) = (tmp_path / "orders" / "keys").glob("*.left")
    content = bytearray(path.read_bytes())
    content[17] ^= 1
    path.write_bytes(content)
    with pytest.raises(DamagedStore, match="altered"):
        Store(tmp_path / "orders")


def test_ids_that_left_are_mirrored_and_survive_a_rotation(tmp_path):
    folder, (X, y) = tmp_path / "orders", data(1)
    with filled(folder, mirror=tmp_path / "second") as store:
        store.forget(ids=["order-0"])
        store.rotate(b"m" * 32)
        store.forget(ids=["order-1"])
    for kind in ("*.left", "*.days", "refused.owners"):
        (one,), (two,) = (folder / "keys").glob(kind), (tmp_path / "second").glob(kind)
        assert one.read_bytes() == two.read_bytes()
    with Store(folder, master_key=b"m" * 32) as store:
        for id in ("order-0", "order-1"):
            with pytest.raises(RefusedRow):
                store.learn("demand", X, y, ids=[id])

"""Opening: rows are decrypted and models rebuilt; what does not fit is refused."""

from __future__ import annotations

import gc
import sqlite3

import pytest
from store_cases import NAMES, data, filled, slots

from efface import OLS, AddDrop
from efface.errors import DamagedStore
from efface.store import Store
from efface.store.key_pool import KeyPool


def test_the_phase_of_a_policy_survives(tmp_path):
    twin = OLS(window=AddDrop(3, 1)).empty(3)
    for k in range(7):
        with Store(tmp_path / "orders") as store:
            if not k:
                store.add("demand", OLS(window=AddDrop(3, 1)), features=NAMES)
            X, y = data(1, seed=k)
            store.learn("demand", X, y, ids=[k])
            twin.partial_fit(X, y, ids=[k])
            assert store._models["demand"].model.ids_ == twin.ids_
            assert store._models["demand"].model.live_rows.phase == twin.live_rows.phase


def test_rows_in_many_segments_are_read(tmp_path, monkeypatch):
    for module in ("key_segments", "opening", "writer"):
        monkeypatch.setattr(f"efface.store.{module}.SLOTS", 16)
    monkeypatch.setattr("efface.store.key_segments.LENGTH", 32 * 16 + 64)
    monkeypatch.setattr("efface.store.writer.KeyPool", lambda: KeyPool(ahead=8))
    filled(tmp_path / "orders").close()
    assert len(list((tmp_path / "orders" / "keys").glob("*.bin"))) == 3
    with Store(tmp_path / "orders") as store:
        assert store.status()["rows"] == 40
        store.forget(ids=[f"order-{k}" for k in range(17)])
    assert len(list((tmp_path / "orders" / "keys").glob("*.bin"))) == 3
    with Store(tmp_path / "orders") as store:  # a segment without keys is removed
        assert len(list((tmp_path / "orders" / "keys").glob("*.bin"))) == 2
        assert store.audit()["demand"].holds
    (tmp_path / "orders" / "keys" / "0001-000001.bin").unlink()
    with pytest.raises(DamagedStore, match="15 rows"):
        Store(tmp_path / "orders")


def test_rows_of_a_model_that_is_not_there_are_refused(tmp_path):
    filled(tmp_path / "orders").close()
    before = slots(tmp_path / "orders")
    database = sqlite3.connect(tmp_path / "orders" / "rows.db")
    with database:
        database.execute("update rows set model = 9 where seq = 3")
    database.close()
    with pytest.raises(DamagedStore, match="1 rows"):
        Store(tmp_path / "orders")
    assert slots(tmp_path / "orders") == before


def test_the_collector_is_left_as_it_was(tmp_path):
    filled(tmp_path / "orders").close()
    assert gc.isenabled()

"""Opening: rows are decrypted and models rebuilt; what does not fit is refused."""

from __future__ import annotations

import gc
import sqlite3
import subprocess
import sys

import pytest
from store_cases import NAMES, data, filled, slots

from efface import OLS, AddDrop, Ridge
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


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_the_memory_and_the_disk_of_a_row_are_those_of_the_page(tmp_path):
    """Up to 1,000 bytes in memory and about 200 on the disk, for rows of 10 features."""
    count = 100_000
    with Store(tmp_path / "orders") as store:
        store.add("demand", Ridge(), features=10)
        for first in range(0, count, 10_000):
            ids = [f"order-{k}" for k in range(first, first + 10_000)]
            owners = [f"person {k % 5_000}" for k in range(first, first + 10_000)]
            store.learn("demand", *data(10_000, width=10), ids=ids, owners=owners)
    assert 150 < (tmp_path / "orders" / "rows.db").stat().st_size / count < 250
    code = """
import sys
from efface.store import Store
def memory():
    return 4_096 * int(open("/proc/self/statm").read().split()[1])
Store(sys.argv[2]).close()  # code is loaded
before = memory()
with Store(sys.argv[1]):
    print(memory() - before)
"""
    with Store(tmp_path / "small") as store:
        store.add("demand", Ridge(), features=10)
        store.learn("demand", *data(100, width=10))
    command = [sys.executable, "-c", code, tmp_path / "orders", tmp_path / "small"]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert 200 < int(found.stdout) / count < 1_000

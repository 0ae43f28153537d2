"""Tests of efface.service.application."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

from service_cases import FEATURES, Running, add_demand, rows

from efface.service.application import Options
from efface.store import Store


def test_rows_expire_on_a_timer(tmp_path):
    add_demand(tmp_path / "orders", 0)
    with Running(tmp_path / "orders", options=Options(expire_every=0.05)) as running:
        content = rows(4)
        end = datetime.now(UTC) + timedelta(seconds=0.5)
        content[0]["until"] = end.isoformat().replace("+00:00", "Z")
        client = running.client()
        client.post("/models/demand/rows", json={"rows": content}).raise_for_status()
        until = time.monotonic() + 30
        while client.get("/models/demand").json()["rows"] != 3:
            assert time.monotonic() < until
            time.sleep(0.02)


def test_the_store_is_closed_and_open_again_after_a_stop(tmp_path):
    add_demand(tmp_path / "orders", 10)
    with Running(tmp_path / "orders") as running:
        assert running.store.status()["rows"] == 10
    with Store(tmp_path / "orders") as store:
        assert store.models()["demand"]["features"] == FEATURES


def test_interactive_pages_of_the_framework_are_off(tmp_path):
    with Running(tmp_path / "orders") as running:
        for path in ("/docs", "/redoc", "/docs/oauth2-redirect", "/models/"):
            assert running.client().get(path).status_code == 404

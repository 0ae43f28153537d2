"""Tests of efface.service.operation_routes."""

from __future__ import annotations

import threading
import time

from service_cases import Running, add_demand, rows

from efface.service.application import Options


def test_health_tells_a_failed_store(tmp_path):
    with Running(tmp_path / "orders") as running:
        client = running.client("")
        assert client.get("/health").status_code == 200
        running.backend.failed = True
        found = client.get("/health")
        assert (found.status_code, found.json()) == (503, {"status": "failed"})


def test_metrics_count_what_happened(tmp_path):
    add_demand(tmp_path / "orders", 20)
    with Running(tmp_path / "orders") as running:
        client = running.client()
        body = {"rows": rows(10, first=50)}
        for _ in range(2):
            client.post("/models/demand/rows", json=body)
        client.post("/erasures", json={"owner": "person 0"})
        text = client.get("/metrics").text
    for line in (
        "efface_rows_learned_total 10.0",
        "efface_rows_skipped_total 10.0",
        "efface_rows_forgotten_total 6.0",
        "efface_erasures_total 1.0",
        "efface_rows 24.0",
        "efface_requests_waiting 0.0",
        'efface_requests_total{method="POST",route="/models/{name}/rows",status="200"} 2.0',
    ):
        assert line in text


def test_a_write_that_hangs_makes_the_service_not_ready_but_alive(tmp_path):
    options = Options(expire_every=3600.0, probe_every=0.05, late=0.3)
    held = threading.Event()
    with Running(tmp_path / "orders", options=options) as running:
        client = running.client("")
        assert client.get("/ready").json()["status"] == "ready"
        running.backend._queue._put(held.wait)
        until = time.monotonic() + 30
        while (found := client.get("/ready")).status_code == 200:
            assert time.monotonic() < until
            time.sleep(0.01)
        assert found.json()["reasons"] == ["a write waits too long"]
        assert found.json()["oldest_write_seconds"] > 0.3
        found = client.get("/health")
        about = {"status": "read-only", "reasons": ["a write waits too long"]}
        assert (found.status_code, found.json()) == (200, about)
        held.set()
        while client.get("/ready").status_code != 200:
            assert time.monotonic() < until
            time.sleep(0.01)


def test_a_disk_that_takes_no_write_makes_the_service_not_ready(tmp_path):
    options = Options(expire_every=3600.0, probe_every=0.02, late=0.5)
    with Running(tmp_path / "orders", options=options) as running:
        client, until = running.client(""), time.monotonic() + 30
        running.folder.rename(tmp_path / "elsewhere")
        while (found := client.get("/ready")).status_code == 200:
            assert time.monotonic() < until
            time.sleep(0.01)
        assert found.json()["reasons"][0] == "the disk takes no write"
        (tmp_path / "elsewhere").rename(running.folder)

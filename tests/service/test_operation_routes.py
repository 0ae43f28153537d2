"""Tests of efface.service.operation_routes."""

from __future__ import annotations

from service_cases import Running, add_demand, rows


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

"""Tests of efface.service.metrics."""

from __future__ import annotations

from efface.service.metrics import Metrics


def test_requests_are_counted_by_route_and_status():
    metrics = Metrics()
    for status in (200, 200, 404):
        metrics.observe("GET", "/models/{name}", status, 0.002)
    metrics.learned.inc(5)
    text = metrics.text().decode()
    assert 'efface_requests_total{method="GET",route="/models/{name}",status="200"} 2.0' in text
    assert 'efface_request_seconds_count{method="GET",route="/models/{name}"} 3.0' in text
    assert "efface_rows_learned_total 5.0" in text


def test_two_services_of_a_process_count_on_their_own():
    first, second = Metrics(), Metrics()
    first.erasures.inc()
    assert "efface_erasures_total 1.0" in first.text().decode()
    assert "efface_erasures_total 0.0" in second.text().decode()

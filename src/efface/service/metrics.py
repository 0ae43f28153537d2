"""Metrics for Prometheus: counts and times by route, no value of a row, no name of a person."""

from __future__ import annotations

from functools import partial
from typing import final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)


@final
class Metrics:
    """The metrics of one service."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        labels = ("method", "route", "status")
        counter, gauge = partial(Counter, registry=registry), partial(Gauge, registry=registry)
        self._requests = counter("efface_requests", "Requests.", labels)
        self._seconds = Histogram(
            "efface_request_seconds",
            "Time to answer a request.",
            labels[:2],
            buckets=_SECONDS,
            registry=registry,
        )
        self._bound: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        self.learned = counter("efface_rows_learned", "Rows learned.")
        self.skipped = counter("efface_rows_skipped", "Rows known already.")
        self.forgotten = counter("efface_rows_forgotten", "Rows forgotten.")
        self.expired = counter("efface_rows_expired", "Rows that fell due.")
        self.erasures = counter("efface_erasures", "Requests to forget.")
        self.commits = counter("efface_commits", "Commits of rows.")
        self.rows = gauge("efface_rows", "Live rows.")
        self.waiting = gauge("efface_requests_waiting", "Requests before the writer.")
        self.overdue = gauge("efface_expiry_refused", "1 if over half of a model's rows are due.")

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request; ``route`` is its template."""
        bound = self._bound.get((method, route, status))
        if bound is None:
            bound = (
                self._requests.labels(method, route, status),
                self._seconds.labels(method, route),
            )
            self._bound[method, route, status] = bound
        bound[0].inc()
        bound[1].observe(seconds)

    def text(self) -> bytes:
        """All metrics in the format of Prometheus."""
        return generate_latest(self._registry)

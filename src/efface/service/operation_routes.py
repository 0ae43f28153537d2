"""Routes of operation: health, metrics, the OpenAPI document."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

import efface
from efface.service.access import GuardedRoute, answer, needs
from efface.service.documents import openapi
from efface.service.metrics import CONTENT_TYPE

router = APIRouter(route_class=GuardedRoute)


@router.get("/health")
@needs(open_to_all=True)
async def health(request: Request) -> Response:
    """Whether the process works; open to all. A process whose store failed does not."""
    failed = request.app.state.service.backend.failed
    return answer({"status": "failed" if failed else "ok"}, 503 if failed else 200)


@router.get("/ready")
@needs(open_to_all=True)
async def ready(request: Request) -> Response:
    """Whether writes get through; open to all."""
    service = request.app.state.service
    disk, oldest = service.disk, service.backend.oldest
    reasons = {
        "the store failed": service.backend.failed,
        "a write waits too long": oldest > service.late,
        "the disk takes no write": disk.error is not None,
        "the disk does not answer": disk.age > service.late,
    }
    found = [reason for reason, holds in reasons.items() if holds]
    about = {
        "status": "not ready" if found else "ready",
        "reasons": found,
        "oldest_write_seconds": round(oldest, 3),
        "last_sync_seconds": round(disk.age, 3),
        "free_bytes": disk.free,
    }
    return answer(about, 503 if found else 200)


@router.get("/metrics")
@needs("read")
async def metrics(request: Request) -> Response:
    """Metrics for Prometheus."""
    service = request.app.state.service
    service.metrics.waiting.set(service.backend.waiting)
    service.metrics.rows.set(sum(model.rows for model in service.backend.models.values()))
    return Response(service.metrics.text(), media_type=CONTENT_TYPE)


@router.get("/openapi.json")
@needs("read")
async def document(request: Request) -> Response:
    """The OpenAPI document."""
    return answer(openapi(request.app, efface.__version__))

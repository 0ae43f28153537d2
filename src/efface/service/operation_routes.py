"""Routes of operation: health, metrics, the OpenAPI document."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

import efface
from efface.errors import invalid
from efface.service.access import GuardedRoute, answer, needs, read_body
from efface.service.bodies import BackupRequest
from efface.service.documents import described_body, openapi
from efface.service.metrics import CONTENT_TYPE
from efface.service.problems import RefusedRequest

router = APIRouter(route_class=GuardedRoute)


@router.get("/health")
@needs(open_to_all=True)
async def health(request: Request) -> Response:
    """Whether the process works, and whether it only reads; open to all.

    A process whose store failed does not work. One whose disk is full or hangs does.
    """
    service = request.app.state.service
    if service.backend.failed:
        return answer({"status": "failed"}, 503)
    reasons = _reasons(service)
    return answer({"status": "read-only", "reasons": reasons} if reasons else {"status": "ok"})


@router.get("/ready")
@needs(open_to_all=True)
async def ready(request: Request) -> Response:
    """Whether writes get through; open to all."""
    service = request.app.state.service
    found = _reasons(service)
    about = {
        "status": "not ready" if found else "ready",
        "reasons": found,
        "oldest_write_seconds": round(service.backend.oldest, 3),
        "last_sync_seconds": round(service.disk.age, 3),
        "free_bytes": service.disk.free,
    }
    return answer(about, 503 if found else 200)


def _reasons(service: Any) -> list[str]:
    """Why writes do not get through."""
    state, disk = service.backend.state, service.disk
    reasons = {
        "the store failed": service.backend.failed,
        f"the store is {state.state}: {state.reason}": state.state != "writable",
        "a write waits too long": service.backend.oldest > service.late,
        "the disk takes no write": disk.error is not None,
        "the disk does not answer": disk.age > service.late,
    }
    return [reason for reason, holds in reasons.items() if holds]


@router.post("/backups", openapi_extra=described_body(BackupRequest))
@needs("admin")
async def write_backup(request: Request) -> Response:
    """Write a copy of the store below the folder of copies, while the service goes on."""
    body, service = await read_body(request, BackupRequest), request.app.state.service
    if service.backups is None:
        raise RefusedRequest(409, "No folder for copies: start 'efface serve --backups DIR'.")
    if body.target in (".", "..") or Path(body.target).name != body.target:
        raise invalid("target", body.target, "the name of a new folder", "leave out other folders")
    await service.backend.backup(service.backups / body.target, keys=body.keys)
    return answer({"target": body.target, "keys": body.keys}, 201)


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

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
    """Whether the store works; open to all."""
    failed = request.app.state.service.backend.failed
    return answer({"status": "failed" if failed else "ok"}, 503 if failed else 200)


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

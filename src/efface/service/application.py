"""The application: a store, its tokens, and all routes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import final

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from efface.service import (
    dashboard_routes,
    model_routes,
    operation_routes,
    people_routes,
    proof_routes,
)
from efface.service.access import log
from efface.service.backend import MODEL_BYTES, Backend
from efface.service.body_budget import BodyBudget
from efface.service.disk_probe import EVERY, DiskProbe
from efface.service.http_rules import HttpRules
from efface.service.metrics import Metrics
from efface.service.problems import TITLES, problem
from efface.service.sessions import Sessions
from efface.service.tokens import TokenFile
from efface.store import Store

HOSTS = ("127.0.0.1", "localhost", "[::1]")
_ROUTES = (model_routes, people_routes, proof_routes, operation_routes, dashboard_routes)


def _nothing() -> None:
    """Nothing is done."""


@final
@dataclass(frozen=True)
class Options:
    """How a service runs. ``secure`` is for TLS, its own or that of a proxy."""

    hosts: Sequence[str] = HOSTS
    secure: bool = False
    expire_every: float = 60.0  # seconds
    probe_every: float = EVERY  # seconds
    late: float = 10.0  # seconds after which a write that waits makes the service not ready
    model_bytes: int = MODEL_BYTES  # that one model may need
    backups: Path | None = None  # the folder below which copies are written


@final
class Service:
    """What routes find in ``app.state.service``."""

    backend: Backend
    disk: DiskProbe

    def __init__(self, store: Store, options: Options) -> None:
        self.tokens = TokenFile(store.path)
        self.sessions = Sessions(self.tokens, secure=options.secure)
        self.metrics = Metrics()
        self.bodies = BodyBudget()
        self.late = options.late
        self.backups = options.backups


def create_app(
    store: Store, options: Options | None = None, on_failure: Callable[[], None] = _nothing
) -> FastAPI:
    """The ASGI application of a store, which it closes at its end."""
    chosen = options or Options()
    service = Service(store, chosen)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        service.backend = Backend(store, service.metrics, on_failure, chosen.model_bytes)
        service.disk = DiskProbe(store.path, chosen.probe_every)
        timer = asyncio.create_task(_expire(service.backend, chosen.expire_every))
        try:
            yield
        finally:
            timer.cancel()
            service.disk.close()
            await service.backend.close()

    app = FastAPI(
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        telemetry={"tracing": False, "metrics": False, "logs": False},  # they may name a person
    )
    app.state.service = service
    for routes in _ROUTES:  # in one list, since nested routers are searched slowly
        app.router.routes.extend(routes.router.routes)
    app.middleware_stack = HttpRules(  # alone: the stack of FastAPI costs a fifth of a prediction
        _with_problems(app.router), chosen.hosts, secure=chosen.secure
    )
    return app


async def _expire(backend: Backend, every: float) -> None:
    while True:
        await asyncio.sleep(every)
        try:
            await backend.expire()
        except Exception as error:  # the next round tries again; a failed store ends the process
            log(task="expire", error=type(error).__name__)


def _with_problems(router: ASGIApp) -> ASGIApp:
    """The routes, and problems for what the router refuses: an unknown address, another method.

    A route turns all other errors into problems itself.
    """

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await router(scope, receive, send)
        except HTTPException as error:
            status = error.status_code if error.status_code in TITLES else 400
            text = f"{TITLES[status]}: GET /openapi.json lists the routes."
            await problem(status, text)(scope, receive, send)

    return app

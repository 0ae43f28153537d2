"""Who may call a route: every route names its roles, and is checked before its body is read."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar
from urllib.parse import unquote

from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from efface.errors import invalid
from efface.service.bodies import parsed
from efface.service.body_budget import SMALL
from efface.service.problems import RefusedRequest, from_error
from efface.service.tokens import Token

LOG = logging.getLogger("efface.service")
LIMIT = 16 << 20  # bytes of a body
GONE = 499  # the status in logs and metrics if the client hung up
JSON = "application/json"
Handler = Callable[[Request], Coroutine[Any, Any, Response]]
B = TypeVar("B", bound=BaseModel)
F = TypeVar("F", bound=Callable[..., Any])
_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
_QUIET = ("predictions", "rows", "events")  # successes of these routes are counted, not logged


def needs(*roles: str, open_to_all: bool = False) -> Callable[[F], F]:
    """Say which roles a route needs: all of them."""
    if not roles and not open_to_all:
        raise invalid("roles", roles, "at least one role", "or say that the route is open")

    def mark(endpoint: F) -> F:
        endpoint.__dict__["roles"] = roles
        return endpoint

    return mark


class GuardedRoute(APIRoute):
    """A route that checks the caller, turns errors into problems, and counts.

    Its function takes the request and reads the body itself. FastAPI would read it before the
    caller is known.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        handle = self.get_route_handler()

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            response = await handle(Request(scope, receive, send))
            await response(scope, receive, send)

        self.app = app  # without the stacks of FastAPI, which no function here uses

    def get_route_handler(self) -> Handler:
        handle: Handler = self.endpoint
        roles: tuple[str, ...] = self.endpoint.__dict__["roles"]
        template, method = self.path, min(self.methods or {"GET"})
        quiet = template.endswith(_QUIET)

        async def guarded(request: Request) -> Response:
            started, error, token = time.perf_counter(), None, None
            try:
                if roles:
                    token = request.scope["token"] = authenticated(request)
                    refuse_without(token, *roles)
                response = await handle(request)
            except ClientDisconnect:  # no failure of the service; nobody reads the response
                error, response = "ClientDisconnect", Response(status_code=GONE)
            except Exception as raised:
                error, response = type(raised).__name__, from_error(raised)
            finally:
                if "body_bytes" in request.scope:
                    request.app.state.service.bodies.give_back(request.scope["body_bytes"])
            seconds, status = time.perf_counter() - started, response.status_code
            request.app.state.service.metrics.observe(method, template, status, seconds)
            if status >= 400 or (method != "GET" and not quiet):
                who = None if token is None else token.id
                id = request.scope.get("request_id")
                about = {"method": method, "route": template, "status": status}
                log(request=id, **about, token=who, error=error)
            return response

        return guarded


def log(**about: Any) -> None:
    """Write a line of JSON to the log: no address, no value of a request."""
    LOG.info(json.dumps({"time": round(time.time(), 3), **about}))


def refuse_without(token: Token | None, *roles: str) -> None:
    """Raise unless a token is there and has these roles."""
    if token is None:
        raise RefusedRequest(401, "A valid token is needed: send 'Authorization: Bearer eff_...'.")
    if not token.may(*roles):
        raise RefusedRequest(
            403, f"The token lacks the role {' or '.join(roles)}: use another one."
        )


def authenticated(request: Request) -> Token | None:
    """The token that a request carries, or that its session stands for."""
    service = request.app.state.service
    kind, _, text = header(request, b"authorization").partition(" ")
    if text:
        found: Token | None = service.tokens.find(text) if kind.lower() == "bearer" else None
        return found
    id = request.cookies.get(service.sessions.cookie)
    if id is None:
        return None
    if request.method not in ("GET", "HEAD"):
        refuse_foreign_origin(request)
    session: Token | None = service.sessions.find(id)
    return session


def refuse_foreign_origin(request: Request) -> None:
    """A write from a browser must come from a page of this service."""
    _, _, origin = request.headers.get("origin", "").partition("://")
    if not origin or origin != request.headers.get("host"):
        raise RefusedRequest(403, "The request comes from a page of another origin: it is refused.")


async def read_bytes(request: Request, limit: int = LIMIT) -> bytes | bytearray:
    """The body of a request, up to a limit; a large one counts until it is answered."""
    if header(request, b"content-encoding", "identity") != "identity":
        raise RefusedRequest(415, "The body is compressed: send it as it is.")
    length = header(request, b"content-length", "0")
    if not length.isdigit() or int(length) > limit:
        raise _too_large(limit)
    _count_body(request, int(length))
    content, size, whole = None, 0, False
    while not whole:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        part, whole = message.get("body", b""), not message.get("more_body", False)
        if size + len(part) > limit:
            raise _too_large(limit)
        if content is None:
            if whole:
                return bytes(part)
            content = bytearray(int(length))
        _count_body(request, size + len(part))
        content[size : size + len(part)] = part
        size += len(part)
    assert content is not None
    del content[size:]
    return content


def _count_body(request: Request, size: int) -> None:
    """Count the bytes of a large body: all that it names, or those that came so far."""
    if size <= SMALL:
        return
    counted = request.scope.get("body_bytes", 0)
    if size > counted:
        request.app.state.service.bodies.take(size - counted)
        request.scope["body_bytes"] = size


def _too_large(limit: int) -> RefusedRequest:
    return RefusedRequest(413, f"The body is larger than {limit:,} bytes: send it in parts.")


def header(request: Request, name: bytes, default: str = "") -> str:
    """The first header of this name; ``Request.headers`` takes several times as long."""
    for known, value in request.scope["headers"]:
        if known == name:
            return str(value, "latin-1")
    return default


async def read_body(request: Request, kind: type[B], limit: int = LIMIT) -> B:
    """The body of a request as JSON, checked."""
    media_type(request, JSON)
    return parsed(kind, await read_bytes(request, limit))


def media_type(request: Request, *known: str) -> str:
    """The content type without parameters; raises unless it is one of these."""
    found = header(request, b"content-type").partition(";")[0].strip().lower()
    if found not in known:
        raise RefusedRequest(415, f"The content type must be {' or '.join(known)}.")
    return found


def model_name(request: Request) -> str:
    """The name of the model in an address; routes match the address before it is decoded."""
    return unquote(request.path_params["name"])


def answer(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A response with JSON; numbers in it are finite."""
    return Response(_encode(content).encode("ascii"), status, headers, media_type=JSON)

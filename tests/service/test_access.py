"""Tests of efface.service.access."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest
from starlette.requests import Request

from efface.errors import InvalidValue
from efface.service import application
from efface.service.access import (
    GuardedRoute,
    answer,
    media_type,
    model_name,
    needs,
    read_bytes,
    refuse_foreign_origin,
)
from efface.service.body_budget import BodyBudget
from efface.service.problems import RefusedRequest


def request(headers=None, chunks=(b"",), budget=1 << 20, **scope):
    """A request as a server would pass it on."""
    messages = [
        {"type": "http.request", "body": chunk, "more_body": at + 1 < len(chunks)}
        for at, chunk in enumerate(chunks)
    ]

    async def receive():
        return messages.pop(0)

    found = [(name.encode(), value.encode()) for name, value in (headers or {}).items()]
    about = {"type": "http", "method": "POST", "path": "/", "query_string": b"", "headers": found}
    service = SimpleNamespace(bodies=BodyBudget(budget))
    app = SimpleNamespace(state=SimpleNamespace(service=service))
    return Request({**about, "app": app, **scope}, receive)


def test_every_route_names_its_roles():
    routes = [route for module in application._ROUTES for route in module.router.routes]
    assert len(routes) > 15
    assert all(isinstance(route, GuardedRoute) for route in routes)
    opened = {route.path for route in routes if not route.endpoint.__dict__["roles"]}
    assert opened == {"/", "/assets/{file}", "/session", "/health", "/ready"}
    with pytest.raises(InvalidValue, match="at least one role"):
        needs()


def test_bodies_are_read_up_to_a_limit():
    assert asyncio.run(read_bytes(request(chunks=(b"ab", b"cd")), limit=4)) == b"abcd"
    for headers, chunks in (
        ({}, (b"ab", b"cde")),
        ({"content-length": "5"}, (b"",)),
        ({"content-length": "-1"}, (b"",)),
        ({"content-length": "x"}, (b"",)),
    ):
        with pytest.raises(RefusedRequest, match="larger than 4 bytes"):
            asyncio.run(read_bytes(request(headers, chunks), limit=4))
    with pytest.raises(RefusedRequest, match="compressed"):
        asyncio.run(read_bytes(request({"content-encoding": "br"})))


def test_bodies_that_arrive_stay_below_a_budget():
    chunks = (bytes(120_000), b"end")
    fitting = request(chunks=chunks)
    assert len(asyncio.run(read_bytes(fitting))) == 120_003
    assert fitting.app.state.service.bodies.held == fitting.scope["body_bytes"] == 120_003
    arriving = request(chunks=chunks, budget=100_000)
    with pytest.raises(RefusedRequest, match="on their way") as refused:
        asyncio.run(read_bytes(arriving))
    assert refused.value.status == 503
    assert arriving.app.state.service.bodies.held == arriving.scope.get("body_bytes", 0) == 0


def test_writes_of_browsers_come_from_a_page_of_the_service():
    host = {"host": "127.0.0.1:8000"}
    refuse_foreign_origin(request({**host, "origin": "http://127.0.0.1:8000"}))
    for origin in ("http://127.0.0.1:9000", "http://evil.example", "http://[", "null", ""):
        with pytest.raises(RefusedRequest, match="another origin"):
            refuse_foreign_origin(request({**host, "origin": origin}))


def test_names_and_types_are_read_from_the_request():
    assert model_name(request(path_params={"name": "a%2Fb%20%E2%82%AC"})) == "a/b €"
    plain = request({"content-type": "Application/JSON; charset=utf-8"})
    assert media_type(plain, "text/plain", "application/json") == "application/json"
    with pytest.raises(RefusedRequest, match="must be text/plain or text/csv"):
        media_type(plain, "text/plain", "text/csv")


def test_an_answer_holds_no_number_that_json_does_not_have():
    assert answer({"a": 1.5}).body == b'{"a":1.5}'
    with pytest.raises(ValueError, match="JSON"):
        answer({"a": float("inf")})

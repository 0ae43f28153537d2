"""Tests of efface.service.http_rules."""

from __future__ import annotations

import asyncio

import pytest
from starlette.responses import PlainTextResponse

from efface.service.http_rules import HttpRules

HOSTS = ("127.0.0.1", "localhost", "[::1]", "efface.example")


def ask(host, path=b"/models/a%2Fb", *, secure=False, hosts=1):
    """What comes back, and the path that the application saw."""
    sent, seen = [], []

    async def app(scope, receive, send):
        seen.append(scope["path"])
        await PlainTextResponse("ok")(scope, receive, send)

    async def send(message):
        sent.append(message)

    headers = [(b"host", host)] * hosts
    scope = {"type": "http", "method": "GET", "path": "/x", "raw_path": path, "headers": headers}
    asyncio.run(HttpRules(app, HOSTS, secure=secure)(scope, None, send))
    return sent[0]["status"], dict(sent[0]["headers"]), seen


@pytest.mark.parametrize(
    "host", [b"127.0.0.1", b"localhost:8000", b"[::1]:8000", b"EFFACE.example"]
)
def test_its_own_hosts_are_answered_at_the_address_as_it_was_sent(host):
    status, _, seen = ask(host)
    assert (status, seen) == (200, ["/models/a%2Fb"])


@pytest.mark.parametrize(
    "host", [b"", b"evil.example", b"127.0.0.1.evil.example", b"127.0.0.1@e:1"]
)
def test_other_hosts_are_refused(host):
    status, headers, seen = ask(host)
    assert (status, seen) == (421, [])
    assert b"content-security-policy" in headers


def test_two_hosts_are_none():
    assert ask(b"localhost", hosts=2)[0] == 421
    assert ask(b"localhost", hosts=0)[0] == 421


def test_browsers_stay_with_https_once_it_is_used():
    assert b"strict-transport-security" in ask(b"localhost", secure=True)[1]
    assert b"strict-transport-security" not in ask(b"localhost")[1]


def test_other_protocols_pass():
    seen = []

    async def app(scope, receive, send):
        seen.append(scope["type"])

    asyncio.run(HttpRules(app, HOSTS, secure=False)({"type": "lifespan"}, None, None))
    assert seen == ["lifespan"]

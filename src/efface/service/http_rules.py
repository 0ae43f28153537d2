"""Rules for every request, whatever its route: which hosts are answered, and security headers."""

from __future__ import annotations

import random
from collections.abc import Collection
from typing import Any, final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from efface.service.problems import problem

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = [
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"content-security-policy", POLICY.encode("ascii")),
]
_RANDOM = random.Random()  # ids are no secrets, and the system is slow to draw them
_SECURE = (b"strict-transport-security", b"max-age=31536000")


@final
class HttpRules:
    """Refuses requests for other hosts, and adds headers to every response.

    Every request gets a random id, which its response and the log have. An id of the client is not
    used, since it may name a person. Routes match the address as it was sent: a name may then
    contain an encoded slash.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str], *, secure: bool) -> None:
        self._app, self._hosts = app, {host.lower() for host in hosts}
        self._headers = [*_HEADERS, _SECURE] if secure else _HEADERS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        app: ASGIApp = self._app
        id = scope["request_id"] = f"{_RANDOM.getrandbits(64):016x}"
        if host_of(scope) not in self._hosts:
            app = problem(421, "The host is not one of this service: see --allow-host.")
        raw = scope.get("raw_path") or scope["path"].encode("utf-8")
        scope["path"] = raw.decode("latin-1")

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = (b"x-request-id", id.encode("ascii"))
                message["headers"] = [*message["headers"], *self._headers, own]
            await send(message)

        await app(scope, receive, send_with_headers)


def host_of(scope: Any) -> str:
    """The host of a request without its port.

    >>> host_of({"headers": [(b"host", b"[::1]:8000")]}), host_of({"headers": []})
    ('[::1]', '')
    """
    hosts = [value for name, value in scope["headers"] if name == b"host"]
    if len(hosts) != 1:
        return ""
    text = hosts[0].decode("latin-1").lower()
    name, colon, port = text.rpartition(":")
    return str(name if colon and port.isdigit() else text)

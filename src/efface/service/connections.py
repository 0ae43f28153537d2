"""Limits of connections: how many, how long a client may take, and how large headers may be.

A client without a token must not be able to take the memory or the descriptors of the service. At
the limit of connections, a new one takes the place of the one that waits longest for its client.
The store keeps ``RESERVED`` descriptors, which no connection can take.
"""

from __future__ import annotations

import math
import resource
from typing import Any, ClassVar, final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from efface.errors import invalid
from efface.service.problems import problem

HEAD = 65_536  # bytes of an address with all headers
PIPELINED = 16  # requests that a client may send before the first is answered
BACKLOG = 128  # connections that the system accepts before the service does
RESERVED = 384  # descriptors of the store, and of connections that are accepted at once
MOST = 1_000  # connections
_WANTED = 8_192  # descriptors


@final
class Connections:
    """The connections of a service that wait for their clients, the longest wait first."""

    def __init__(
        self, most: int = MOST, *, head: float = 10.0, body: float = 60.0, write: float = 20.0
    ) -> None:
        self.most = most
        self.head, self.body, self.write = head, body, write  # seconds
        self.waiting: dict[LimitedProtocol, None] = {}
        self.all: set[LimitedProtocol] = set()

    def make_room(self) -> bool:
        """End the connection that waits longest if there are too many; False if none waits."""
        if len(self.all) <= self.most:
            return True
        oldest = next(iter(self.waiting), None)
        if oldest is not None:
            oldest.end()
        return oldest is not None

    def end_late(self, now: float) -> None:
        """End the connections whose clients are too slow."""
        for each in [each for each in self.all if each.deadline < now]:
            each.end()

    def protocol(self) -> type[LimitedProtocol]:
        """The protocol of uvicorn with these limits."""
        return type("ServiceProtocol", (LimitedProtocol,), {"limits": self})


class _TooLarge(Exception):
    """Headers above the limit; httptools turns it into an error of the parser."""


class LimitedProtocol(HttpToolsProtocol):
    """HTTP/1.1 with limits. ``deadline`` is when the client must have done its part.

    The methods that every request passes name their base class, since ``super`` takes longer.
    """

    limits: ClassVar[Connections]
    deadline = math.inf
    _fed = 0  # bytes that came since the message began
    _loose = 0  # bytes that came since its head was whole, or since a part of its body
    _size = 0  # bytes that the parser reads now
    _begun = 0  # messages
    _in_head = True
    _complete = True  # the message
    _large = False

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.limits.all.add(self)
        self._wait(self.limits.head)
        if not self.limits.make_room():
            self.end()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forgotten()
        super().connection_lost(exc)

    def end(self) -> None:
        """End the connection at once, whatever its client does."""
        self._forgotten()
        self.transport.abort()

    def _forgotten(self) -> None:
        self.limits.all.discard(self)
        self.limits.waiting.pop(self, None)
        self.deadline = math.inf

    def _wait(self, seconds: float) -> None:
        self.deadline = self.loop.time() + seconds
        self.limits.waiting.pop(self, None)
        self.limits.waiting[self] = None

    # -- what the parser finds -------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        begun, in_head, between = self._begun, self._in_head, self._complete
        self._size = len(data)
        self._fed, self._loose = self._fed + self._size, self._loose + self._size
        HttpToolsProtocol.data_received(self, data)
        if self._complete or self.transport.is_closing():  # most requests come whole
            return
        new = self._begun - begun
        if new and (new > 1 or not between):  # what came before it is not its own
            self._fed = 0
        if new or in_head != self._in_head:
            self._wait(self.limits.head if self._in_head else self.limits.body)
        if (self._fed if self._in_head else self._loose) > HEAD:
            self._large = True
            self.send_400_response("")

    def on_message_begin(self) -> None:
        if len(self.pipeline) > PIPELINED:
            raise _TooLarge
        self._fed, self._begun = self._size, self._begun + 1
        self._in_head, self._complete = True, False
        HttpToolsProtocol.on_message_begin(self)

    def on_headers_complete(self) -> None:
        self._in_head, self._loose = False, 0
        if self._fed > HEAD:
            parts = (len(name) + len(value) for name, value in self.headers)
            if len(self.url) + sum(parts) > HEAD:
                self._large = True
                raise _TooLarge
        HttpToolsProtocol.on_headers_complete(self)

    def on_body(self, body: bytes) -> None:
        self._loose = 0
        HttpToolsProtocol.on_body(self, body)

    def on_message_complete(self) -> None:
        self._complete = True
        HttpToolsProtocol.on_message_complete(self)
        if self.cycle.response_complete:
            self._wait(self.limits.head)
        else:
            self.deadline = math.inf
            self.limits.waiting.pop(self, None)

    def on_response_complete(self) -> None:
        HttpToolsProtocol.on_response_complete(self)
        if self in self.limits.all and self._complete and not self.pipeline:
            self._wait(self.limits.head)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP, or too large."""
        large = self._large
        status = 431 if large else 400
        text = f"The headers exceed {HEAD:,} bytes." if large else "The request is no HTTP/1.1."
        body = problem(status, text).body
        phrase = "Request Header Fields Too Large" if large else "Bad Request"
        head = f"HTTP/1.1 {status} {phrase}\r\ncontent-type: application/problem+json\r\n"
        head += f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        self.transport.write(head.encode("ascii") + bytes(body))
        self.transport.close()

    # -- slow readers, and the end ---------------------------------------------------------------

    def pause_writing(self) -> None:
        super().pause_writing()
        self._wait(self.limits.write)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self in self.limits.all and self._complete:
            self.deadline = math.inf
            self.limits.waiting.pop(self, None)

    def shutdown(self) -> None:
        """Answer what was sent whole; end what waits for its client."""
        if self in self.limits.waiting:
            self.end()
        else:
            super().shutdown()


def most_connections() -> int:
    """How many connections the descriptors of this process allow, besides those of the store."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < _WANTED:
        more = _WANTED if hard == resource.RLIM_INFINITY else min(hard, _WANTED)
        soft = max(soft, more)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    limit = _WANTED if soft == resource.RLIM_INFINITY else soft
    if limit < RESERVED + 128:
        expected = f"at least {RESERVED + 128} descriptors"
        raise invalid("ulimit -n", limit, expected, "raise it (LimitNOFILE= of systemd)")
    return min(MOST, limit - RESERVED)

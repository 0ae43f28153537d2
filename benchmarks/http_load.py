"""Load on a server of this machine: requests over kept connections, one at a time on each."""

from __future__ import annotations

import json
import os
import selectors
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

_TICKS = os.sysconf("SC_CLK_TCK")


def request(path: str, body: Any, token: str = "") -> bytes:
    """The bytes of a POST request."""
    content = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        f"authorization: Bearer {token}\r\ncontent-length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content


@dataclass
class Measured:
    """What came of a load: seconds per answer, wall seconds, and the server's CPU seconds."""

    latencies: list[float] = field(default_factory=list)
    wall: float = 0.0
    cpu: float = 0.0

    @property
    def rate(self) -> float:
        """Answers per second."""
        return len(self.latencies) / self.wall

    @property
    def cpu_rate(self) -> float:
        """Answers per second of the server's processor time."""
        return len(self.latencies) / self.cpu if self.cpu else float("nan")

    def quantile(self, share: float) -> float:
        """A quantile of the latencies."""
        order = sorted(self.latencies)
        return order[min(len(order) - 1, int(share * len(order)))]


class Connection:
    """A kept connection with at most one request under way."""

    def __init__(self, port: int, requests: Sequence[bytes], pause: float = 0.0) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._requests, self._next, self.pause = requests, 0, pause
        self._buffer = b""
        self.sent = 0.0

    def send(self) -> None:
        """Send the next request."""
        content = self._requests[self._next % len(self._requests)]
        self._next += 1
        self.sent = time.perf_counter()
        self.socket.sendall(content)

    def received(self) -> bool:
        """Read what is there; whether the answer is complete."""
        self._buffer += self.socket.recv(1 << 18)
        head, end, rest = self._buffer.partition(b"\r\n\r\n")
        if not end:
            return False
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
        if len(rest) < length:
            return False
        if not head.startswith((b"HTTP/1.1 200", b"HTTP/1.1 201")):
            raise RuntimeError(self._buffer[:500].decode())
        self._buffer = b""
        return True


def drive(
    connections: Sequence[Connection], seconds: float, cpu: Callable[[], float]
) -> list[Measured]:
    """Keep all connections busy for some seconds; one result per connection."""
    selector, found = selectors.DefaultSelector(), [Measured() for _ in connections]
    before, start = cpu(), time.perf_counter()
    waiting: list[tuple[float, int]] = []
    for at, connection in enumerate(connections):
        selector.register(connection.socket, selectors.EVENT_READ, at)
        connection.send()
    busy = len(connections)
    while busy or waiting:
        now = time.perf_counter()
        due = [at for when, at in waiting if when <= now]
        waiting = [(when, at) for when, at in waiting if when > now]
        for at in due:
            if now - start < seconds:
                connections[at].send()
                busy += 1
        timeout = max(0.0, min((when for when, _ in waiting), default=now + 1.0) - now)
        for key, _ in selector.select(timeout if busy or waiting else 0.0):
            at = key.data
            if not connections[at].received():
                continue
            busy -= 1
            now = time.perf_counter()
            found[at].latencies.append(now - connections[at].sent)
            if now - start >= seconds:
                continue
            if connections[at].pause:
                waiting.append((now + connections[at].pause, at))
            else:
                connections[at].send()
                busy += 1
    for measured in found:
        measured.wall, measured.cpu = time.perf_counter() - start, cpu() - before
    selector.close()
    for connection in connections:
        connection.socket.close()
    return found


def joined(parts: Sequence[Measured]) -> Measured:
    """The answers of several connections that ran at the same time."""
    latencies = [each for part in parts for each in part.latencies]
    return Measured(latencies, max(p.wall for p in parts), max(p.cpu for p in parts))


def processor_seconds(process: subprocess.Popen[str]) -> Callable[[], float]:
    """The processor time of a process so far."""

    def seconds() -> float:
        try:
            with open(f"/proc/{process.pid}/stat", encoding="ascii") as file:
                fields = file.read().rpartition(")")[2].split()
        except FileNotFoundError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / _TICKS

    return seconds

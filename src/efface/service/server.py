"""Runs the service: one process, one address, a clean stop."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import uvicorn

from efface.errors import InvalidValue, StorageFailure, invalid
from efface.service.application import HOSTS, Options, create_app
from efface.service.backend import MODEL_BYTES
from efface.service.connections import BACKLOG, Connections, most_connections
from efface.service.service_manager import notify
from efface.store import Store

LOOPBACK = ("127.0.0.1", "::1", "localhost")
_NOT_DUMPABLE = (4, 0)  # PR_SET_DUMPABLE
_SWITCH = 0.001  # seconds after which the writer's thread lets a prediction run
_THRESHOLDS = (50_000, 20, 100)  # of the collector: rows are objects without cycles
_STOP = 5  # seconds for responses that clients do not read when the service stops


@final
@dataclass(frozen=True)
class Listen:
    """Where a service listens: on this machine only, unless TLS protects what goes further."""

    host: str = "127.0.0.1"
    port: int = 8000
    certificate: Path | None = None
    key: Path | None = None
    behind_proxy: bool = False
    hosts: tuple[str, ...] = ()
    backups: Path | None = None
    model_bytes: int = MODEL_BYTES

    def __post_init__(self) -> None:
        if (self.certificate is None) != (self.key is None):
            expected = "both --tls-cert and --tls-key, or none"
            raise invalid("tls", "one of the two files", expected, "name the other file too")
        if self.host not in LOOPBACK and not self.secure:
            text = f"'host' is {self.host!r}: expected 127.0.0.1, since nothing is encrypted"
            advice = "pass --tls-cert and --tls-key, or --behind-proxy if a proxy encrypts"
            raise InvalidValue(f"{text}; {advice}.")

    @property
    def secure(self) -> bool:
        """Whether browsers reach it by HTTPS."""
        return self.certificate is not None or self.behind_proxy

    @property
    def options(self) -> Options:
        """The options of the application."""
        own = self.host if ":" not in self.host else f"[{self.host}]"
        hosts = (*HOSTS, own, *self.hosts)
        return Options(
            hosts=hosts, secure=self.secure, backups=self.backups, model_bytes=self.model_bytes
        )


def refuse_workers() -> None:
    """One process owns a store: more workers would be refused by its lock."""
    if os.environ.get("WEB_CONCURRENCY", "1") not in ("", "1"):
        text = f"'WEB_CONCURRENCY' is {os.environ['WEB_CONCURRENCY']!r}: expected 1"
        raise InvalidValue(f"{text}, since one process owns a store; unset it.")


def protect_memory() -> None:
    """Let no other process of this user read the memory, where the system can do that."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(*_NOT_DUMPABLE, 0, 0, 0)


def _prepare_interpreter() -> None:
    """Let threads take turns often, and let the collector not walk the rows of the store."""
    sys.setswitchinterval(_SWITCH)
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)


def bind(listen: Listen) -> socket.socket:
    """The socket of a service; port 0 takes a free one."""
    family = socket.AF_INET6 if ":" in listen.host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((listen.host, listen.port))
    except OSError as error:
        found.close()
        text = f"'port' is {listen.port}: {error.strerror or 'it cannot be used'}"
        raise InvalidValue(f"{text}; expected a free one, pass --port.") from error
    return found


def serve(
    store: Store,
    listen: Listen,
    ready: Callable[[str], None],
    wrap: Callable[[Any], Any] | None = None,
) -> None:
    """Serve a store until SIGTERM or SIGINT; ``ready`` gets the address.

    The compiled code of its models is loaded before that, and compiled after an installation.
    ``wrap`` may put more around the lifespan of the application.
    """
    refuse_workers()
    protect_memory()
    _log_to_stderr()
    with bind(listen) as where:
        _prepare_interpreter()
        port = where.getsockname()[1]
        host = listen.host if ":" not in listen.host else f"[{listen.host}]"
        scheme = "https" if listen.certificate is not None else "http"
        server = _server(store, listen)
        if wrap is not None:
            wrap(server.config.app)
        _run(server, where, lambda: ready(f"{scheme}://{host}:{port}"))
    if server.config.app.state.service.backend.failed:  # type: ignore[union-attr]
        raise StorageFailure(f"'{store.path}' failed: repair the disk, then start the service.")


def _server(store: Store, listen: Listen) -> uvicorn.Server:
    def stop() -> None:
        server.should_exit = True

    app = create_app(store, listen.options, on_failure=stop)
    connections = Connections(most_connections())

    async def tick() -> None:
        connections.end_late(asyncio.get_running_loop().time())
        notify("WATCHDOG=1")

    config = uvicorn.Config(
        app,
        access_log=False,
        log_config=None,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_STOP,
        ssl_certfile=listen.certificate,
        ssl_keyfile=listen.key,
        ws="none",
        http=connections.protocol(),
        backlog=BACKLOG,
        callback_notify=tick,
        timeout_notify=0,
    )
    server = uvicorn.Server(config)
    return server


def _run(server: uvicorn.Server, where: socket.socket, ready: Callable[[], None]) -> None:
    async def run() -> None:
        asyncio.get_running_loop().set_exception_handler(_quiet)
        task = asyncio.create_task(server.serve(sockets=[where]))
        while not server.started and not task.done():
            await asyncio.sleep(0.01)
        if server.started:
            ready()
            notify("READY=1")
        await task
        notify("STOPPING=1")

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    for number in before:  # uvicorn raises the signal again once it has stopped
        signal.signal(number, lambda *_: None)
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(run())
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


def _quiet(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """An error outside of a request: its name only, since its text may name a person."""
    error = context.get("exception")
    logging.getLogger("efface.service").error("%s", type(error).__name__ if error else "error")


def _log_to_stderr() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(message)s"))
    log = logging.getLogger("efface.service")
    log.handlers, log.propagate = [handler], False
    log.setLevel(logging.INFO)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)

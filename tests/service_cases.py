"""A running service for tests: a store, one token per role, and clients on the loopback address."""

from __future__ import annotations

import hashlib
import socket
import threading
import time
from pathlib import Path

import httpx
import numpy as np
import uvicorn

from efface import Ridge
from efface.service.application import Options, create_app
from efface.service.tokens import ROLES, TokenFile
from efface.store import Store

FEATURES = ["temp", "hum"]
JSON = {"content-type": "application/json"}


class Running:
    """A service in a thread of this process; leaving the block stops it cleanly."""

    def __init__(self, folder, *, options=None, port=0):
        self.folder = Path(folder)
        self.store = Store(self.folder)
        self.tokens = TokenFile(self.folder)
        known = {tuple(token.roles) for token in self.tokens.all()}
        self.token = {role: self.tokens.create([role]) for role in ROLES} if not known else {}
        self.all = self.tokens.create(ROLES)
        self.app = create_app(self.store, options or Options(expire_every=3600.0))
        self._socket = socket.create_server(("127.0.0.1", port))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        config = uvicorn.Config(self.app, log_config=None, access_log=False, ws="none")
        self.server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self.server.run, kwargs={"sockets": [self._socket]}, daemon=True
        )
        self._clients = []

    def __enter__(self):
        self._thread.start()
        until = time.monotonic() + 60
        while not self.server.started:
            assert time.monotonic() < until, "the service did not start"
            time.sleep(0.005)
        return self

    def __exit__(self, *_):
        for client in self._clients:
            client.close()
        self.server.should_exit = True
        self._thread.join(60)
        self._socket.close()
        assert not self._thread.is_alive()

    @property
    def backend(self):
        return self.app.state.service.backend

    def client(self, token=None):
        """A client with a token; "" for none."""
        chosen = self.all if token is None else self.token.get(token, token)
        headers = {"authorization": f"Bearer {chosen}"} if chosen else {}
        made = httpx.Client(base_url=self.url, headers=headers, timeout=60, trust_env=False)
        self._clients.append(made)
        return made


def rows(count, *, seed=0, first=0, people=5):
    """The JSON of rows of the model "demand"."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, len(FEATURES)))
    y = X.sum(axis=1) + 0.1 * rng.normal(size=count)
    return [
        {"x": x, "y": value, "id": f"r{first + k}", "owner": f"person {(first + k) % people}"}
        for k, (x, value) in enumerate(zip(X.tolist(), y.tolist(), strict=True))
    ]


def add_demand(folder, count=20, **parameters):
    """A store with the model "demand" and rows of five people."""
    with Store(folder) as store:
        store.add("demand", Ridge(**parameters), features=FEATURES)
        if count:
            content = rows(count)
            store.learn(
                "demand",
                [row["x"] for row in content],
                [row["y"] for row in content],
                ids=[row["id"] for row in content],
                owners=[row["owner"] for row in content],
            )


def add_sales(folder, count=12):
    """The keyed model "sales" of a store, with rows of three shops."""
    with Store(folder) as store:
        store.add("sales", Ridge(window=5), features=FEATURES, keyed=True)
        content = rows(count, seed=1)
        store.learn(
            "sales",
            [row["x"] for row in content],
            [row["y"] for row in content],
            ids=[f"s{k}" for k in range(count)],
            owners=[row["owner"] for row in content],
            keys=[f"shop {k % 3}" for k in range(count)],
        )


def fingerprint(folder):
    """The digest of every file of a store; the log of the database counts as part of it."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file()
    }

"""Tests of efface.service.service_manager."""

from __future__ import annotations

import socket

from service_load import Server

from efface.service.service_manager import notify
from efface.store import Store


def test_states_go_to_the_socket_of_the_manager(tmp_path, monkeypatch):
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    assert not notify("READY=1")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        assert notify("READY=1")
        assert manager.recv(100) == b"READY=1"
    (tmp_path / "notify").unlink()
    assert not notify("READY=1")


def test_a_service_says_that_it_is_ready_alive_and_stopping(tmp_path, monkeypatch):
    Store(tmp_path / "orders").close()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(30)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        server, seen = Server(tmp_path / "orders"), set()
        while seen < {b"READY=1", b"WATCHDOG=1"}:
            seen.add(manager.recv(100))
        assert server.stop() == 0
        while b"STOPPING=1" not in seen:
            seen.add(manager.recv(100))
    assert seen == {b"READY=1", b"WATCHDOG=1", b"STOPPING=1"}

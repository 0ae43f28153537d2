"""Tests of efface.service.server; test_service.py starts and stops the process."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

from efface.errors import InvalidValue
from efface.service.server import Listen, bind, refuse_workers


def test_only_this_machine_is_served_without_encryption(tmp_path):
    for host in ("0.0.0.0", "::", "192.168.0.1", "efface.example"):
        with pytest.raises(InvalidValue, match="--behind-proxy"):
            Listen(host)
    assert not Listen("127.0.0.1").secure
    assert Listen("0.0.0.0", behind_proxy=True).secure
    assert Listen("0.0.0.0", certificate=tmp_path / "c", key=tmp_path / "k").secure
    with pytest.raises(InvalidValue, match="both --tls-cert and --tls-key"):
        Listen(certificate=tmp_path / "c")


def test_the_hosts_are_its_own_and_those_that_were_named():
    assert Listen("::1", hosts=("efface.example",)).options.hosts == (
        "127.0.0.1",
        "localhost",
        "[::1]",
        "[::1]",
        "efface.example",
    )


def test_more_than_one_worker_is_refused(monkeypatch):
    monkeypatch.setenv("WEB_CONCURRENCY", "4")
    with pytest.raises(InvalidValue, match="'WEB_CONCURRENCY' is '4'"):
        refuse_workers()


def test_a_port_that_is_used_is_refused():
    with socket.create_server(("127.0.0.1", 0)) as used:
        port = used.getsockname()[1]
        with pytest.raises(InvalidValue, match=f"'port' is {port}"):
            bind(Listen(port=port))


@pytest.mark.skipif(sys.platform != "linux", reason="PR_SET_DUMPABLE is of Linux")
def test_other_processes_cannot_read_the_memory():
    code = (
        "import ctypes; from efface.service.server import protect_memory; protect_memory(); "
        "print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))"  # PR_GET_DUMPABLE
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "0\n"

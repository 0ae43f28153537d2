"""Tests of efface.service.connections: clients without a token cannot take the service away."""

from __future__ import annotations

import re
import resource
import socket
import subprocess
import sys
import threading
import time

import httpx
import pytest
from command_line import COMMAND
from service_cases import add_demand
from service_load import Server

from efface.errors import InvalidValue
from efface.service import connections
from efface.service.connections import HEAD, MOST, RESERVED, most_connections
from efface.service.tokens import ROLES, TokenFile

PEOPLE, MEMORY = 400, 300 << 20


class SmallServer(Server):
    """A service with at most 1,024 descriptors."""

    def __init__(self, folder):
        code = "import os, resource as r, sys; r.setrlimit(r.RLIMIT_NOFILE, (1024, 1024)); "
        code += "os.execv(sys.argv[1], sys.argv[1:])"
        self._log = open(f"{folder}.log", "ab")  # noqa: SIM115
        command = [sys.executable, "-c", code, *COMMAND, "serve", str(folder), "--port", "0"]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=self._log, text=True
        )
        line = self.process.stdout.readline()
        assert " at http" in line, (line, self.process.poll())
        self.url = line.split(" at ")[1].strip()


class Attack(threading.Thread):
    """Opens connections that send something and then no more, until it is over."""

    def __init__(self, address, head, part, count):
        super().__init__(daemon=True)
        self.address, self.head, self.part, self.count = address, head, part, count
        self.over, self.made = threading.Event(), 0

    def run(self):
        found = []
        while not self.over.is_set():
            if len(found) < self.count:
                try:
                    made = socket.create_connection(self.address, timeout=5)
                except OSError:
                    continue
                made.setblocking(False)
                found.append(made)
                self.made += 1
                self._send(made, self.head)
            else:
                self.over.wait(0.001)
            some = found[self.made % max(1, len(found))]
            if not self._send(some, self.part):
                some.close()
                found.remove(some)
        for each in found:
            each.close()

    def _send(self, connection, content):
        try:
            connection.send(content)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return True


def attacks(host, token):
    start = f"POST /models/demand/rows HTTP/1.1\r\nhost: {host}\r\n"
    known = f"{start}authorization: Bearer {token}\r\ncontent-type: application/json\r\n"
    body = f"{known}content-length: {16 << 20}\r\n\r\n"
    page = f"GET /assets/charts.js HTTP/1.1\r\nhost: {host}\r\n\r\n"
    return {
        "descriptors": (start.encode(), b"", 1_500),
        "headers": (start.encode() + b"x: ", b"a" * 60_000, 300),
        "bodies": (body.encode(), b" " * 250_000, 60),
        "bodies without a token": (body.replace(token, "x").encode(), b" " * 250_000, 200),
        "slow headers": (start.encode(), b"x: y\r\n", 900),
        "slow readers": (page.encode() * 16, page.encode(), 300),
    }


def memory(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return int(re.search(r"VmRSS:\s+(\d+) kB", file.read())[1]) * 1024


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_erasures_are_answered_within_a_second_under_attack(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4_096), hard))
    folder = tmp_path / "orders"
    add_demand(folder, PEOPLE)
    token = TokenFile(folder).create(ROLES)
    server = SmallServer(folder)
    host = server.url.removeprefix("http://")
    address = host.split(":")[0], int(host.split(":")[1])
    headers, number = {"authorization": f"Bearer {token}"}, 0
    try:
        with httpx.Client(base_url=server.url, headers=headers, trust_env=False) as client:
            for k in range(3):  # compiled code is loaded
                client.post("/erasures", json={"ids": [f"r{k}"]}).raise_for_status()
            start, slowest, largest = memory(server.process.pid), {}, {}
            number = 3
            for name, attack in attacks(host, token).items():
                running = Attack(address, *attack)
                running.start()
                until, times = time.monotonic() + 4, []
                while time.monotonic() < until:
                    began = time.monotonic()
                    with httpx.Client(base_url=server.url, headers=headers, trust_env=False) as new:
                        found = new.post("/erasures", json={"ids": [f"r{number}"]})
                    times.append(time.monotonic() - began)
                    assert found.status_code == 200, (name, found.text)
                    number += 1
                    largest[name] = max(largest.get(name, 0), memory(server.process.pid) - start)
                    time.sleep(0.1)
                running.over.set()
                running.join(30)
                assert running.made > 50
                slowest[name] = max(times)
            assert max(slowest.values()) < 1.0, slowest
            assert max(largest.values()) < MEMORY, largest
            assert client.get("/models/demand").json()["rows"] == PEOPLE - number
        print({name: (round(slowest[name], 3), largest[name] >> 20) for name in slowest})
    finally:
        assert server.stop() == 0
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_headers_above_the_limit_are_refused_whole_or_in_parts(tmp_path):
    add_demand(tmp_path / "orders", 0)
    server = Server(tmp_path / "orders")
    host, port = server.url.removeprefix("http://").split(":")
    whole = b"".join(b"x%d: %s\r\n" % (k, b"a" * 900) for k in range(HEAD // 900 + 1))
    for content in (b"x: " + b"a" * (2 * HEAD + 9), whole + b"\r\n"):
        with socket.create_connection((host, int(port)), timeout=30) as connection:
            connection.sendall(b"GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\n" + content)
            assert connection.recv(1_000).startswith(b"HTTP/1.1 431 ")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(b"HELO mail\r\n\r\n")
        assert connection.recv(1_000).startswith(b"HTTP/1.1 400 ")
    assert server.stop() == 0


def test_a_stop_takes_less_than_ten_seconds_whatever_clients_do(tmp_path):
    add_demand(tmp_path / "orders", 0)
    token = TokenFile(tmp_path / "orders").create(ROLES)
    server = Server(tmp_path / "orders")
    host = server.url.removeprefix("http://")
    address = host.split(":")[0], int(host.split(":")[1])
    opened = []
    for head, part, _ in attacks(host, token).values():
        for _ in range(10):
            opened.append(socket.create_connection(address))
            opened[-1].setblocking(False)
            for content in (head, part):
                try:
                    opened[-1].send(content)
                except BlockingIOError:
                    break
    began = time.monotonic()
    assert server.stop() == 0
    assert time.monotonic() - began < 10
    for each in opened:
        each.close()


def test_the_store_keeps_descriptors(monkeypatch):
    limits = [(1_024, 1_024)]
    monkeypatch.setattr(connections.resource, "getrlimit", lambda _: limits[-1])
    monkeypatch.setattr(connections.resource, "setrlimit", lambda _, both: limits.append(both))
    assert most_connections() == 1_024 - RESERVED
    limits.append((1_024, 4_096))
    assert most_connections() == MOST
    assert limits[-1] == (4_096, 4_096)
    limits.append((256, 256))
    with pytest.raises(InvalidValue, match=r"'ulimit -n' is 256: expected at least"):
        most_connections()

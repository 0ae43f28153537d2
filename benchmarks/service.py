"""The service on the loopback address: predictions, durable rows, erasures under load."""

from __future__ import annotations

import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.http_load import Connection, Measured, drive, joined, processor_seconds, request
from benchmarks.report import Goal, Report, Table, figure
from benchmarks.settings import Settings
from benchmarks.workloads import gaussian

DIMS, PER_PERSON = 10, 10
LEAST_SHARE, LEAST_ROWS, MOST_PREDICT, MOST_ERASE = 0.6, 50_000, 0.015, 0.025
CONNECTIONS = 16
NOTE = "Server and clients share the machine's cores; per CPU second counts the server alone."


def run(settings: Settings) -> Report:
    """All four loads; each is bounded."""
    os.sched_setaffinity(0, range(os.cpu_count() or 1))  # the server has a core of its own
    report = Report("service")
    rounds, seconds = (2, 1.0) if settings.quick else (5, 3.0)
    with tempfile.TemporaryDirectory() as folder:
        path, token = _store(Path(folder) / "small", 10_000)
        with _served(path) as (port, process), _bare() as (bare, other):
            _predictions(report, rounds, seconds, (port, process, token), (bare, other))
            _learning(report, rounds, seconds, port, process, token)
            _mixed(report, rounds * seconds, port, process, token)
        rows = 100_000 if settings.quick else 1_000_000
        path, token = _store(Path(folder) / "large", rows)
        with _served(path) as (port, process):
            _erasures(report, 50 if settings.quick else 400, rows, port, process, token)
    return report


# -- the loads -------------------------------------------------------------------------------------


def _predictions(
    report: Report, rounds: int, seconds: float, service: Any, bare: tuple[int, Any]
) -> None:
    port, process, token = service
    body = {"rows": [{"x": [0.5] * DIMS}]}
    found: dict[str, list[Measured]] = {"efface": [], "bare FastAPI": []}
    for _ in range(rounds):
        asked = [request("/models/demand/predictions", body, token)]
        found["efface"].append(_load(port, process, asked, seconds))
        plain = [request("/predictions", body)]
        found["bare FastAPI"].append(_load(bare[0], bare[1], plain, seconds))
    pairs = zip(found["efface"], found["bare FastAPI"], strict=True)
    shares = [(a.rate / b.rate, a.cpu_rate / b.cpu_rate) for a, b in pairs]
    rows = [(name, *_cells(parts)) for name, parts in found.items()]
    columns = ("contender", "per second", "per CPU second", "p50 ms", "p99 ms")
    report.tables.append(Table("Single predictions", columns, rows, NOTE))
    share = statistics.median(each[0] for each in shares)
    by_cpu = statistics.median(each[1] for each in shares)
    report.goals.append(
        Goal("single predictions beside a bare route", share, "at least", LEAST_SHARE, "x")
    )
    report.goals.append(
        Goal("the same per CPU second of the server", by_cpu, "at least", LEAST_SHARE, "x")
    )


def _learning(
    report: Report, rounds: int, seconds: float, port: int, process: Any, token: str
) -> None:
    asked = _batches(token)
    _warm(port, asked)
    parts = [_load(port, process, asked, seconds) for _ in range(rounds)]
    rows = [("rows in batches of 100", *(_cells(parts, 100)))]
    columns = ("load", "rows per second", "per CPU second", "p50 ms", "p99 ms")
    report.tables.append(Table("Durable rows", columns, rows, NOTE))
    best = max(part.rate for part in parts) * 100
    by_cpu = statistics.median(part.cpu_rate for part in parts) * 100
    report.goals.append(Goal("durable rows per second, best round", best, "at least", LEAST_ROWS))
    report.goals.append(Goal("durable rows per CPU second", by_cpu, "at least", LEAST_ROWS))


def _mixed(report: Report, seconds: float, port: int, process: Any, token: str) -> None:
    """Predictions at a bounded rate, while rows are learned and people forgotten."""
    ask = [request("/models/demand/predictions", {"rows": [{"x": [0.5] * DIMS}]}, token)]
    people = [{"owner": f"person {k}", "missing": "ok"} for k in range(1_000)]
    _warm(port, [*ask, _batches(token)[0], request("/erasures", people[-1], token)])
    connections = [Connection(port, ask, pause=0.005) for _ in range(2)]
    connections += [Connection(port, _batches(token)) for _ in range(4)]
    connections.append(
        Connection(port, [request("/erasures", b, token) for b in people], pause=1.0)
    )
    found = drive(connections, seconds, processor_seconds(process))
    asked, learned, erased = joined(found[:2]), joined(found[2:6]), found[6]
    rows = [
        ("predictions", *_cells([asked])),
        ("batches of 100 rows", *_cells([learned])),
        ("erasures", *_cells([erased])),
    ]
    columns = ("load", "per second", "per CPU second", "p50 ms", "p99 ms")
    report.tables.append(Table("All at the same time", columns, rows, NOTE))
    report.goals.append(
        Goal(
            "p99 of predictions while rows are learned and people forgotten",
            1e3 * asked.quantile(0.99),
            "at most",
            1e3 * MOST_PREDICT,
            " ms",
        )
    )


def _erasures(report: Report, count: int, rows: int, port: int, process: Any, token: str) -> None:
    people = [request("/erasures", {"owner": f"person {k}"}, token) for k in range(count + 5)]
    _warm(port, people[count:])
    people = people[:count]
    connection = Connection(port, people)
    found, start = Measured(), time.perf_counter()
    cpu = processor_seconds(process)
    before = cpu()
    for _ in people:
        connection.send()
        while not connection.received():
            pass
        found.latencies.append(time.perf_counter() - connection.sent)
    found.wall, found.cpu = time.perf_counter() - start, cpu() - before
    connection.socket.close()
    cells = [(f"{PER_PERSON} rows of {rows:,}", *_cells([found]))]
    columns = ("erasure", "per second", "per CPU second", "p50 ms", "p99 ms")
    report.tables.append(Table("Erasures", columns, cells, NOTE))
    report.goals.append(
        Goal(
            f"p99 of an erasure of {PER_PERSON} rows in {rows:,}",
            1e3 * found.quantile(0.99),
            "at most",
            1e3 * MOST_ERASE,
            " ms",
        )
    )


def _warm(port: int, requests: list[bytes]) -> None:
    """Send each request once: kernels are loaded, and compiled if they never were."""
    connection = Connection(port, requests)
    for _ in requests:
        connection.send()
        while not connection.received():
            pass
    connection.socket.close()


def _load(port: int, process: Any, requests: list[bytes], seconds: float) -> Measured:
    connections = [Connection(port, requests) for _ in range(CONNECTIONS)]
    return joined(drive(connections, seconds, processor_seconds(process)))


def _cells(parts: list[Measured], each: int = 1) -> tuple[str, ...]:
    latencies = Measured([value for part in parts for value in part.latencies])
    rate = each * statistics.median(part.rate for part in parts)
    by_cpu = each * statistics.median(part.cpu_rate for part in parts)
    low, high = 1e3 * latencies.quantile(0.5), 1e3 * latencies.quantile(0.99)
    return f"{rate:,.0f}", f"{by_cpu:,.0f}", figure(low), figure(high)


def _batches(token: str) -> list[bytes]:
    """Requests of 100 rows with owners; the store gives ids."""
    X, y = gaussian(1_000, DIMS)
    rows = [
        {"x": x, "y": value, "owner": f"person {k}"}
        for k, (x, value) in enumerate(zip(X.tolist(), y.tolist(), strict=True))
    ]
    path = "/models/demand/rows"
    return [request(path, {"rows": rows[at : at + 100]}, token) for at in range(0, 1_000, 100)]


# -- servers ---------------------------------------------------------------------------------------


def _store(path: Path, rows: int) -> tuple[Path, str]:
    """A store with rows of people who have ten rows each, far from each other."""
    from efface import Ridge
    from efface.service.tokens import ROLES, TokenFile
    from efface.store import Store

    X, y = gaussian(rows, DIMS)
    people = rows // PER_PERSON
    with Store(path) as store:
        store.add("demand", Ridge(), features=DIMS)
        for first in range(0, rows, 50_000):
            part = slice(first, first + 50_000)
            numbers = np.arange(rows)[part]
            owners = [f"person {k % people}" for k in numbers.tolist()]
            store.learn("demand", X[part], y[part], ids=numbers.tolist(), owners=owners)
    return path, TokenFile(path).create(ROLES)


@contextmanager
def _served(path: Path) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    command = "from efface.cli.main import main; main()"
    arguments = [sys.executable, "-c", command, "serve", str(path), "--port", "0"]
    process = subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline().rpartition(":")[2]), process
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


@contextmanager
def _bare() -> Iterator[tuple[int, subprocess.Popen[str]]]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "benchmarks.bare_service", str(port)]
    process = subprocess.Popen(command, text=True)
    try:
        until = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except ConnectionRefusedError:
                assert time.monotonic() < until
                time.sleep(0.05)
        yield port, process
    finally:
        process.terminate()
        process.wait()

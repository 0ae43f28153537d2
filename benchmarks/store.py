"""Durable rows: learn, forget and open, beside plain SQLite with synchronous=FULL on the same disk.

The folder is in the current directory, since a folder in memory would need no syncs.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import Goal, Report, Table, figure
from benchmarks.settings import Settings
from benchmarks.subject import efface
from benchmarks.timing import busy_notes, interleave
from benchmarks.workloads import gaussian

FEATURES, BATCH, OWNED = 10, 1_000, 10
BATCHES_GOAL, SINGLE_GOAL = 0.35, 0.4  # of the rows per second of plain inserts
FORGET_GOAL, FORGET_99 = 4.0, 10.0  # milliseconds
VACUUM_GOAL = 150.0  # times as fast
OPEN_GOAL = 8.0  # seconds
SINGLES, PEOPLE = 100, 200  # commits per round; people who are forgotten


def run(settings: Settings) -> Report:
    """Learn in batches and row by row, forget people, delete and vacuum, open."""
    report = Report("store")
    n = 50_000 if settings.quick else 1_000_000
    with folder() as place:
        plain, store = PlainRows(place / "plain.db"), StoredRows(place / "orders")
        try:
            measure(report, n, plain, store, settings)
        finally:
            plain.connection.close()
            store.store.close()
    return report


def measure(
    report: Report, n: int, plain: PlainRows, store: StoredRows, settings: Settings
) -> None:
    """All measurements on stores that grow to ``n`` rows."""
    rows = Rows(n + 2 * SINGLES * (settings.rounds + 2))
    batches(report, rows, n, plain, store)
    single_rows(report, rows, n, plain, store, settings)
    forget_people(report, n, plain, store)
    open_again(report, store)


@contextmanager
def folder() -> Iterator[Path]:
    """A new folder on the disk of the current directory."""
    place = Path(tempfile.mkdtemp(prefix=".store-benchmark-", dir="."))
    try:
        yield place
    finally:
        shutil.rmtree(place)


class Rows:
    """Rows with ids and owners; each owner has ten, scattered over the table."""

    def __init__(self, count: int) -> None:
        self.X, self.y = gaussian(count, FEATURES)
        self.ids = list(range(count))
        people = np.random.default_rng(5).permutation(count) // OWNED
        self.owners = [f"person {k}" for k in people.tolist()]


class PlainRows:
    """The same rows as plain values in SQLite, synced at every commit."""

    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(path, isolation_level=None)
        columns = ", ".join(f"x{j} real" for j in range(FEATURES))
        for statement in (
            "pragma journal_mode=wal",
            "pragma synchronous=full",
            f"create table rows (id integer primary key, owner text, {columns}, y real)",
        ):
            self.connection.execute(statement)
        self._insert = f"insert into rows values ({', '.join('?' * (FEATURES + 3))})"

    def learn(self, rows: Rows, first: int, last: int) -> None:
        """Insert rows in one transaction."""
        part = slice(first, last)
        values = zip(
            rows.ids[part],
            rows.owners[part],
            rows.X[part].tolist(),
            rows.y[part].tolist(),
            strict=True,
        )
        self.connection.execute("begin")
        self.connection.executemany(self._insert, ((id, who, *x, y) for id, who, x, y in values))
        self.connection.execute("commit")

    def forget(self, owner: str) -> None:
        """Delete rows, and what the file and the log keep of them."""
        for statement in ("pragma secure_delete=on", "begin"):
            self.connection.execute(statement)
        self.connection.execute("delete from rows where owner = ?", (owner,))
        for statement in ("commit", "vacuum", "pragma wal_checkpoint(truncate)"):
            self.connection.execute(statement)


class StoredRows:
    """The same rows in a store, with a model that learns them."""

    def __init__(self, path: Path) -> None:
        from efface.store import Store

        self.path, self._open = path, Store
        self.store: Any = Store(path)
        self.store.add("demand", efface("Ridge")(), features=FEATURES)

    def learn(self, rows: Rows, first: int, last: int) -> None:
        """Learn rows in one transaction."""
        part = slice(first, last)
        keys = {"ids": rows.ids[part], "owners": rows.owners[part]}
        self.store.learn("demand", rows.X[part], rows.y[part], **keys)

    def open_again(self) -> float:
        """Close the store and open it; the seconds to open."""
        self.store.close()
        start = time.perf_counter()
        self.store = self._open(self.path)
        return time.perf_counter() - start


def batches(report: Report, rows: Rows, n: int, plain: PlainRows, store: StoredRows) -> None:
    """Fill both with batches of 1,000 rows, in turn."""
    seconds = {"plain SQLite": 0.0, "efface store": 0.0}
    for first in range(0, n, BATCH):
        for name, contender in zip(seconds, (plain, store), strict=True):
            start = time.perf_counter()
            contender.learn(rows, first, first + BATCH)
            seconds[name] += time.perf_counter() - start
    speed = {name: n / took for name, took in seconds.items()}
    share = speed["efface store"] / speed["plain SQLite"]
    title = f"Durable rows per second, batches of {BATCH:,}, {FEATURES} features, {n:,} rows"
    table = [(name, f"{rate:,.0f}") for name, rate in speed.items()]
    report.tables.append(Table(title, ("contender", "rows/s"), table, "the store learns a model"))
    report.measurements.append({"n": n, "batches": speed})
    report.goals.append(Goal("batches: of plain inserts", share, "at least", BATCHES_GOAL, "x"))


def single_rows(
    report: Report, rows: Rows, n: int, plain: PlainRows, store: StoredRows, settings: Settings
) -> None:
    """One row per transaction."""
    place = {"plain SQLite": n, "efface store": n}

    def turn(name: str, contender: Any) -> None:
        for row in range(place[name], place[name] + SINGLES):
            contender.learn(rows, row, row + 1)
        place[name] += SINGLES

    contenders = {"plain SQLite": plain, "efface store": store}
    runs = {name: (lambda name=name, c=c: turn(name, c)) for name, c in contenders.items()}
    timings = interleave(runs, settings.rounds)  # type: ignore[arg-type]
    speed = {name: SINGLES / timing.median for name, timing in timings.items()}
    share = speed["efface store"] / speed["plain SQLite"]
    table = [(name, f"{rate:,.0f}") for name, rate in speed.items()]
    notes = "; ".join(busy_notes(timings.values()))
    report.tables.append(Table("Single durable rows", ("contender", "rows/s"), table, notes))
    report.measurements.append({"n": n, "single": speed})
    report.goals.append(Goal("single rows: of plain inserts", share, "at least", SINGLE_GOAL, "x"))


def forget_people(report: Report, n: int, plain: PlainRows, store: StoredRows) -> None:
    """Forget people with ten rows each, with a receipt; delete, vacuum and checkpoint."""
    took, vacuumed = [], []
    for k in range(PEOPLE + 1):
        start = time.perf_counter()
        store.store.forget(owner=f"person {k}", missing="ok")
        took.append(time.perf_counter() - start)
    for k in range(3):
        start = time.perf_counter()
        plain.forget(f"person {k}")
        vacuumed.append(time.perf_counter() - start)
    median, high = (1e3 * float(np.quantile(took[1:], share)) for share in (0.5, 0.99))
    other = 1e3 * float(np.median(vacuumed))
    title = f"Forget one person with {OWNED} rows of {n:,}, durably"
    table = [
        ("efface store, with a receipt", figure(median), figure(high)),
        ("DELETE + VACUUM + checkpoint", figure(other), ""),
    ]
    report.tables.append(Table(title, ("contender", "median ms", "p99 ms"), table))
    report.measurements.append({"n": n, "forget_ms": median, "p99_ms": high, "vacuum_ms": other})
    report.goals += [
        Goal("forget: median ms", median, "at most", FORGET_GOAL),
        Goal("forget: p99 ms", high, "at most", FORGET_99),
        Goal("forget: DELETE + VACUUM / store", other / median, "at least", VACUUM_GOAL, "x"),
    ]


def open_again(report: Report, store: StoredRows) -> None:
    """Open the store: decrypt all rows and rebuild the model."""
    took = store.open_again()
    rows = store.store.status()["rows"]
    title = "Open: decrypt all rows, rebuild the model"
    report.tables.append(Table(title, ("rows", "seconds"), [(f"{rows:,}", figure(took))]))
    report.measurements.append({"n": rows, "open_s": took})
    report.goals.append(Goal("open: seconds", took, "at most", OPEN_GOAL))

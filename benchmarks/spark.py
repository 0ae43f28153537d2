"""Backfill on Spark: rows per second beside ``groupBy.applyInPandas`` with the same model.

It runs where PySpark is: ``.venv-spark/bin/python -m benchmarks spark`` after ``make test-spark``.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import Goal, Report, Table, figure
from benchmarks.settings import Settings

ROOT = Path(__file__).parent.parent
KEYS, WINDOW, FEATURES = 1_000, 100, 5
ROUNDS = 5  # Java compiles its code in the first ones
NAMES = [f"x{j}" for j in range(FEATURES)]
STREAM_KEYS, SIZES = 2_000, (1, 1, 1, 1, 1, 10, 10)  # events per key in each batch
EVENTS = "key long, id long, at timestamp, y double, " + ", ".join(f"{n} double" for n in NAMES)
VALUES = {"prediction": "double", "penalty": "double", "intercept": "double", "n_rows": "long"}
RESULT = ", ".join(["key long", "id long", *(f"{name} {kind}" for name, kind in VALUES.items())])


def run(settings: Settings) -> Report:
    """Measure a backfill, and check that it equals the library."""
    if find_spec("pyspark") is None:
        text = "PySpark is not installed here: run .venv-spark/bin/python -m benchmarks spark"
        return Report("spark", [Table("spark: skipped", ("why",), [(text,)])])
    rows = 100_000 if settings.quick else 1_000_000
    with tempfile.TemporaryDirectory() as folder, session() as spark:
        place = write_rows(Path(folder) / "rows", rows)
        found = backfill(spark, place, rows)
        found.tables.append(stream(spark, Path(folder)))
        return found


@contextmanager
def session() -> Iterator[Any]:
    """Spark on two cores of this machine."""
    from pyspark.sql import SparkSession

    if hasattr(os, "sched_setaffinity"):  # two tasks need two cores, whatever --threads says
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    os.environ["PYTHONPATH"] = paths  # Python processes of Spark import this module
    builder = SparkSession.builder.master("local[2]").appName("efface")
    for name, value in {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.shuffle.partitions": "4",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    try:
        yield spark
    finally:
        spark.stop()


def write_rows(folder: Path, count: int) -> str:
    """Parquet files with rows of all keys in a random order of keys."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir()
    rng = np.random.default_rng(0)
    keys, X = rng.integers(0, KEYS, count), rng.normal(size=(count, FEATURES))
    y = X @ np.arange(1.0, FEATURES + 1) + rng.normal(size=count)
    table = pa.table(
        {
            "key": keys,
            "id": np.arange(count),
            "y": y,
            **{name: X[:, j] for j, name in enumerate(NAMES)},
        }
    )
    for part in range(8):
        start = part * count // 8
        piece = table.slice(start, (part + 1) * count // 8 - start)
        pq.write_table(piece, folder / f"{part}.parquet")
    return str(folder)


def per_group(frame: Any) -> Any:
    """What ``applyInPandas`` calls for each key: the same model and columns, by the library."""
    import efface

    ordered = frame.sort_values("id")
    rows, y = ordered[NAMES].to_numpy(), ordered["y"].to_numpy()
    found = efface.replay(efface.Ridge(window=WINDOW), rows, y)
    return ordered[["key", "id"]].assign(**{name: getattr(found, name) for name in VALUES})


def backfill(spark: Any, place: str, rows: int) -> Report:
    """Both contenders, in turn; each result is counted by a sink that keeps nothing."""
    import efface
    from efface.spark import replay

    df = spark.read.parquet(place)
    ours = replay(df, key="key", y="y", x=NAMES, ids="id", model=efface.Ridge(window=WINDOW))
    theirs = df.groupBy("key").applyInPandas(per_group, RESULT)
    contenders = {"efface.spark.replay": ours, "groupBy.applyInPandas": theirs}
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in contenders}
    for turn in range(ROUNDS + 1):  # the first starts Python processes and loads kernels
        for name, found in contenders.items():
            taken = timed(lambda found=found: consume(found))
            if turn:
                times[name].append(taken)
    best = {
        name: [rows / min(each) for each in zip(*found, strict=True)]
        for name, found in times.items()
    }
    return report(best, difference(ours, place), rows)


def consume(found: Any) -> None:
    """Compute every row and every column."""
    found.write.format("noop").mode("overwrite").save()


def timed(call: Callable[[], object]) -> tuple[float, float]:
    """Wall seconds, and processor seconds of Java and of all Python processes."""
    start, used = time.perf_counter(), processor_seconds()
    call()
    return time.perf_counter() - start, processor_seconds() - used


def processor_seconds() -> float:
    """Processor seconds of this process and of those it started, which do the work."""
    facts = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parts = path.read_text("utf-8").rpartition(")")[2].split()
            facts[int(path.parent.name)] = int(parts[1]), sum(map(int, parts[11:15]))
    family = {os.getpid()}
    while more := {pid for pid, (parent, _) in facts.items() if parent in family} - family:
        family |= more
    ticks = sum(facts[pid][1] for pid in family if pid in facts)
    return ticks / os.sysconf("SC_CLK_TCK")


def difference(found: Any, place: str) -> float:
    """The largest difference of predictions from the library, in standard deviations."""
    import pyarrow.parquet as pq

    import efface

    table = pq.read_table(place).sort_by("id")
    fleet = efface.Fleet(efface.Ridge(window=WINDOW))
    wanted = np.asarray(fleet.replay(X=table, y="y", by="key", x=NAMES).prediction)
    ours = found.select("id", "prediction").toPandas().sort_values("id")["prediction"].to_numpy()
    return float(np.abs(ours - wanted).max() / wanted.std())


def report(best: dict[str, list[float]], error: float, rows: int) -> Report:
    """The table and the goals."""
    ours, theirs = (rates[0] for rates in best.values())
    lines = [(name, *(f"{rate:,.0f}" for rate in rates)) for name, rates in best.items()]
    title = f"spark: backfill of {rows:,} rows, {KEYS:,} keys, Ridge(window={WINDOW}), local[2]"
    note = f"d = {FEATURES}; largest difference from the library {figure(error)} sd"
    goals = [
        Goal("rows per second", ours, "at least", 150_000),
        Goal("times groupBy.applyInPandas", ours / theirs, "at least", 3),
        Goal("largest difference from the library", error, "at most", 1e-12),
    ]
    measurements = [{"rows": rows, "rates": best, "difference": error}]
    return Report(
        "spark",
        [Table(title, ("contender", "rows/s", "rows per core and second"), lines, note)],
        goals,
        measurements,
    )


def write_events(folder: Path) -> None:
    """One file of events per batch."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir()
    rng, first = np.random.default_rng(1), 0
    for batch, size in enumerate(SIZES):
        count = STREAM_KEYS * size
        ids = np.arange(first, first + count)
        X = {name: rng.normal(size=count) for name in NAMES}
        times = pa.array(ids * 1_000_000, pa.timestamp("us", "UTC"))
        keys = {"key": ids % STREAM_KEYS, "id": ids, "at": times, "y": rng.normal(size=count)}
        path = folder / f"{batch}.parquet"
        pq.write_table(pa.table({**keys, **X}), path)
        os.utime(path, (1_000_000 + batch, 1_000_000 + batch))
        first += count


def stream(spark: Any, folder: Path) -> Table:
    """Events per second of a stream, for batches with one and with ten events per key."""
    import efface
    from efface.spark import stream as stream_events

    write_events(folder / "events")
    source = spark.readStream.schema(EVENTS).option("maxFilesPerTrigger", 1)
    found = stream_events(
        source.parquet(str(folder / "events")),
        **{"key": "key", "y": "y", "x": NAMES, "id": "id", "at": "at", "timers": False},
        model=efface.Ridge(window=20),
    )
    sink = found.writeStream.format("noop").option("checkpointLocation", str(folder / "state"))
    query = sink.trigger(availableNow=True).start()
    query.awaitTermination()
    seconds: dict[int, list[float]] = {}  # of the batches but the first, which starts processes
    for size, progress in list(zip(SIZES, query.recentProgress, strict=False))[1:]:
        seconds.setdefault(size, []).append(progress["durationMs"]["addBatch"] / 1_000)
    lines: list[tuple[str, ...]] = []
    for size, best in ((size, min(found)) for size, found in seconds.items()):
        rates = STREAM_KEYS * size / best, 1e3 * 2 * best / STREAM_KEYS
        lines.append((f"{size} per key", f"{rates[0]:,.0f}", f"{rates[1]:.2f} ms"))
    title = f"spark: stream, {STREAM_KEYS:,} keys in each batch, Ridge(window=20), local[2]"
    return Table(title, ("events", "events/s", "seconds times cores, per key"), lines)
